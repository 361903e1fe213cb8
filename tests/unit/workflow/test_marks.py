"""Names that a person gives runs, and numbers for names that are taken."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import pytest

from tpu_studio.domain.mark import NAME_LETTERS, Mark, noted, tagged
from tpu_studio.wire.claims import try_lock
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.workflow import marks


def test_what_a_newer_version_has_noted_besides_stays(tmp_path: Path) -> None:
    run = {"name": "birch", "rating": 5}
    tree = {
        "format": 2,
        "colors": ["red"],
        "runs": {"a-1": run, "b-2": {"tags": ["x"], "rating": 3}, "c-3": {"rating": 1}},
    }
    (tmp_path / marks.FILE).write_text(json.dumps(tree))
    marks.rename(tmp_path, "a-1", "oak")
    found = json.loads((tmp_path / marks.FILE).read_text())
    assert (found["format"], found["colors"]) == (2, ["red"])
    assert found["runs"]["a-1"] == {"name": "oak", "rating": 5}
    assert found["runs"]["b-2"] == {"tags": ["x"], "rating": 3} and found["runs"]["c-3"] == {"rating": 1}
    marks.forget(tmp_path, ["b-2"])
    assert "b-2" not in json.loads((tmp_path / marks.FILE).read_text())["runs"]


def test_what_a_killed_writer_left_goes_with_the_next_change(tmp_path: Path) -> None:
    left = tmp_path / f".{marks.FILE}.0123456789abcdef.tmp"
    left.write_bytes(b"half")
    marks.rename(tmp_path, "a-1", "oak")
    assert not left.exists() and marks.names(tmp_path) == {"a-1": "oak"}


def test_bytes_that_are_no_letters_are_refused(tmp_path: Path) -> None:
    """They became question marks."""
    for change in (lambda mark: noted(mark, "caf\udce9"), lambda mark: tagged(mark, ["ok", "caf\udce9"])):
        with pytest.raises(BadInput) as refused:
            marks.change(tmp_path, "a-1", change)
        assert refused.value.id == "mark-not-text" and not (tmp_path / marks.FILE).exists()


def test_a_name_is_kept_until_it_is_taken_out(tmp_path: Path) -> None:
    assert marks.names(tmp_path) == {}
    assert marks.rename(tmp_path, "digits-k3f7", "  with\twarm-up\n ") == "with warm-up"
    marks.rename(tmp_path, "plays-aaaa", "Hamlet")
    assert marks.names(tmp_path) == {"digits-k3f7": "with warm-up", "plays-aaaa": "Hamlet"}
    assert marks.rename(tmp_path, "digits-k3f7", " ") == ""
    assert marks.rename(tmp_path, "digits-k3f7", "\u3164\u115f") == ""  # letters that show as nothing are no name
    assert marks.names(tmp_path) == {"plays-aaaa": "Hamlet"}


def test_a_name_is_one_line_without_what_is_unseen_and_not_endless(tmp_path: Path) -> None:
    assert marks.rename(tmp_path, "a-aaaa", "x\u202e\x1b[31m" + "y" * 500).startswith("xyyy")
    assert len(marks.names(tmp_path)["a-aaaa"]) == NAME_LETTERS


@pytest.mark.parametrize("odd", [5, {"name": 5}, None])
def test_an_odd_entry_costs_its_own_name_and_no_other(tmp_path: Path, odd: object) -> None:
    marks.rename(tmp_path, "b-bbbb", "two")
    told = json.loads((tmp_path / marks.FILE).read_bytes())
    told["runs"]["a-aaaa"] = odd
    (tmp_path / marks.FILE).write_text(json.dumps(told))
    assert marks.names(tmp_path) == {"b-bbbb": "two"}
    marks.rename(tmp_path, "c-cccc", "three")
    assert marks.names(tmp_path) == {"b-bbbb": "two", "c-cccc": "three"}


@pytest.mark.parametrize("bad", [b"", b"[]", b"{", b'{"runs": []}', b'{"runs": {"a-aaaa": {"name": "mine"}}'])
def test_a_damaged_file_names_nothing_and_is_put_aside_before_a_new_one_is_written(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / marks.FILE).write_bytes(bad)
    assert marks.names(tmp_path) == {}
    marks.rename(tmp_path, "b-bbbb", "two")
    assert json.loads((tmp_path / marks.FILE).read_bytes())["runs"] == {"b-bbbb": {"name": "two"}}
    assert [one.read_bytes() for one in tmp_path.glob("marks.damaged-*.json")] == [bad]


def test_a_second_damaged_file_is_put_beside_the_first_under_the_name_that_was_told(tmp_path: Path) -> None:
    assert marks.problem(tmp_path) is None
    for number in (1, 2):
        (tmp_path / marks.FILE).write_text(f"{{ {number}")
        problem = marks.problem(tmp_path)
        assert problem is not None and problem.facts["aside"] == f"marks.damaged-{number}.json"
        marks.rename(tmp_path, "b-bbbb", "two")
        assert marks.problem(tmp_path) is None
        assert (tmp_path / f"marks.damaged-{number}.json").read_text() == f"{{ {number}"


def test_a_damaged_file_is_not_put_aside_because_the_trash_is_emptied(tmp_path: Path) -> None:
    (tmp_path / marks.FILE).write_text("{")
    marks.forget(tmp_path, ["a-aaaa"])
    assert (tmp_path / marks.FILE).read_text() == "{"


def test_a_file_that_cannot_be_read_for_a_moment_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, limit: int) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(marks, "read_json", refuse)
    problem = marks.problem(tmp_path)
    assert problem is not None and (problem.id, problem.facts["raw"]) == ("marks-unreadable", "Too many open files")


def test_name_tags_note_and_star_of_a_run_are_changed_one_by_one(tmp_path: Path) -> None:
    marks.rename(tmp_path, "a-aaaa", "mine")
    before, after = marks.change(tmp_path, "a-aaaa", lambda mark: tagged(mark, ["x"]))
    assert (before, after) == (Mark("mine"), Mark("mine", ("x",)))
    marks.change(tmp_path, "a-aaaa", lambda mark: noted(mark, "ä note"))
    assert marks.read(tmp_path) == {"a-aaaa": Mark("mine", ("x",), "ä note")}
    marks.forget(tmp_path, ["a-aaaa"])
    assert marks.read(tmp_path) == {}


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    marks.rename(tmp_path, "a-aaaa", "mine")
    written = (tmp_path / marks.FILE).read_bytes()
    with pytest.raises(BadInput):
        marks.change(tmp_path, "a-aaaa", lambda mark: noted(mark, "x" * 10_000))
    assert (tmp_path / marks.FILE).read_bytes() == written


def test_more_notes_than_the_file_has_room_for_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "MOST_BYTES", 3000)
    marks.change(tmp_path, "a-aaaa", lambda mark: noted(mark, "x" * 2000))
    with pytest.raises(BadInput, match="marks-full"):
        marks.change(tmp_path, "b-bbbb", lambda mark: noted(mark, "x" * 2000))
    assert list(marks.read(tmp_path)) == ["a-aaaa"]


def test_only_notes_of_runs_that_are_named_are_forgotten(tmp_path: Path) -> None:
    for run in ("a-aaaa", "b-bbbb"):
        marks.rename(tmp_path, run, run)
    marks.forget(tmp_path, ["a-aaaa", "c-cccc"])
    assert list(marks.read(tmp_path)) == ["b-bbbb"]


def test_two_windows_that_rename_at_once_lose_nothing(tmp_path: Path) -> None:
    named = [threading.Thread(target=marks.rename, args=(tmp_path, f"r-{n:04}", f"run {n}")) for n in range(20)]
    for thread in named:
        thread.start()
    for thread in named:
        thread.join()
    assert len(marks.names(tmp_path)) == 20


def test_whoever_holds_the_file_is_waited_for_some_seconds_and_then_nothing_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tag, note, star or name waited for ever."""
    marks.rename(tmp_path, "a-aaaa", "mine")
    monkeypatch.setattr(marks, "BUSY_S", 0.1)
    held = os.open(tmp_path / marks.LOCK, os.O_RDWR)
    try:
        assert try_lock(held)
        with pytest.raises(RunError) as refused:
            marks.rename(tmp_path, "a-aaaa", "yours")
        assert (refused.value.id, refused.value.facts["run"]) == ("run-busy", "a-aaaa")
        with pytest.raises(RunError, match="run-busy"):
            marks.forget(tmp_path, ["a-aaaa"])
        threading.Timer(0.1, os.close, [os.dup(held)]).start()
    finally:
        os.close(held)
    assert marks.names(tmp_path) == {"a-aaaa": "mine"}
    monkeypatch.setattr(marks, "BUSY_S", 10.0)
    assert marks.rename(tmp_path, "a-aaaa", "yours") == "yours"  # let go of meanwhile


@pytest.mark.parametrize(
    ("name", "taken", "free"),
    [
        ("digits", [], "digits"),
        ("digits", ["digits"], "digits (2)"),
        ("digits", ["digits", "digits (2)", "digits (4)"], "digits (3)"),
        ("digits (2)", ["digits", "digits (2)"], "digits (3)"),
        ("GPT 2", ["GPT 2"], "GPT 2 (2)"),
        ("digits (2)", ["digits"], "digits (2)"),
    ],
)
def test_a_name_that_is_taken_gets_the_next_number(name: str, taken: list[str], free: str) -> None:
    assert marks.numbered(name, taken) == free
