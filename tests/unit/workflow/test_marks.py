"""Names that a person gives runs, and numbers for names that are taken."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tpu_studio.workflow import marks


def test_a_name_is_kept_until_it_is_taken_out(tmp_path: Path) -> None:
    assert marks.names(tmp_path) == {}
    assert marks.rename(tmp_path, "digits-k3f7", "  with\twarm-up\n ") == "with warm-up"
    marks.rename(tmp_path, "plays-aaaa", "Hamlet")
    assert marks.names(tmp_path) == {"digits-k3f7": "with warm-up", "plays-aaaa": "Hamlet"}
    assert marks.rename(tmp_path, "digits-k3f7", " ") == ""
    assert marks.names(tmp_path) == {"plays-aaaa": "Hamlet"}


def test_a_name_is_one_line_without_what_is_unseen_and_not_endless(tmp_path: Path) -> None:
    assert marks.rename(tmp_path, "a-aaaa", "x\u202e\x1b[31m" + "y" * 500).startswith("xyyy")
    assert len(marks.names(tmp_path)["a-aaaa"]) == marks.NAME_LETTERS


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


def test_two_windows_that_rename_at_once_lose_nothing(tmp_path: Path) -> None:
    named = [threading.Thread(target=marks.rename, args=(tmp_path, f"r-{n:04}", f"run {n}")) for n in range(20)]
    for thread in named:
        thread.start()
    for thread in named:
        thread.join()
    assert len(marks.names(tmp_path)) == 20


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
