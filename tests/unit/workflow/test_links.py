"""A run's folder from somebody else, with links in it to files of the person who opens it: nothing is written there.

Each of these was carried out against the program: one command, `tpu-studio resume ./dl`, wrote into ~/.bashrc.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.fakes.plans import plan
from tests.fakes.studio import Studio
from tpu_studio.domain.sentences import say
from tpu_studio.wire import claims, controls, limits
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.wire.events import encode, event
from tpu_studio.wire.plainfiles import open_plain, open_to_read
from tpu_studio.wire.plan import dumps
from tpu_studio.wire.runfolder import PLAN, events_file
from tpu_studio.workflow.cloudruns.mirror import Words
from tpu_studio.workflow.desk import _alone_in, write_event

RUN = "friendly-b2b2"
OWN = b"alias ll='ls -l'\nexport EDITOR=vi"  # no newline at its end: that line was cut off


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(tmp_path / "home", "--steps", "5")
    yield made
    made.close()


@pytest.fixture
def bashrc(tmp_path: Path) -> Path:
    path = tmp_path / "person" / ".bashrc"
    path.parent.mkdir()
    path.write_bytes(OWN)
    return path


def strangers(folder: Path) -> Path:
    """A run that has ended and can be gone on with, with a model that is built in: no yes is asked for."""
    (folder / "events").mkdir(parents=True)
    (folder / PLAN).write_bytes(dumps(plan().launched(RUN, 1.0, "1")))
    (folder / "checkpoints" / "00000005").mkdir(parents=True)
    (folder / "checkpoints" / "00000005" / "COMMITTED").touch()
    end = event("end", t=9.0, attempt=1, status="stopped", reason="stopped-by-user", steps=5, final={}, facts={})
    (folder / "events" / "desk-zzzzzzzz.jsonl").write_bytes(encode(end))
    return folder


def linked(folder: Path, name: str, to: Path) -> None:
    path = folder / name
    if path.is_dir():
        for one in sorted(path.rglob("*"), reverse=True):
            one.rmdir() if one.is_dir() else one.unlink()
        path.rmdir()
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(to)


def go_on(studio: Studio, verb: str, run: str) -> None:
    studio.runs.resume(run) if verb == "resume" else studio.runs.extend(run, 1)


FILES = ["events/a0001-w000.jsonl", "guardian.log", "events/desk-{install}.jsonl"]


@pytest.mark.parametrize("verb", ["resume", "extend"])
@pytest.mark.parametrize("name", FILES)
def test_a_strangers_link_to_a_file_of_mine_leads_no_write_there(
    studio: Studio, tmp_path: Path, bashrc: Path, name: str, verb: str
) -> None:
    folder = strangers(tmp_path / "dl")
    linked(folder, name.format(install=studio.runs._install), bashrc)
    with pytest.raises((BadInput, RunError)):
        go_on(studio, verb, str(folder))
    assert bashrc.read_bytes() == OWN
    assert not (folder / "claims").exists()


@pytest.mark.parametrize("name", ["checkpoints", "result", "control", "heartbeat", "claims", "ledger", "events"])
@pytest.mark.parametrize("place", ["elsewhere", "put among my runs by hand"])
def test_a_strangers_link_to_a_folder_of_mine_leads_no_write_there(
    studio: Studio, tmp_path: Path, name: str, place: str
) -> None:
    mine = tmp_path / "person" / "photos"
    mine.mkdir(parents=True)
    (mine / "00000007").mkdir()
    (mine / "00000007" / "COMMITTED").write_text("mine")
    folder = strangers(tmp_path / "dl" if place == "elsewhere" else studio.runs.runs_folder / RUN)
    linked(folder, name, mine)
    before = sorted(path.relative_to(mine) for path in mine.rglob("*"))
    with pytest.raises((BadInput, RunError)):
        studio.runs.resume(str(folder) if place == "elsewhere" else RUN)
    assert sorted(path.relative_to(mine) for path in mine.rglob("*")) == before


def test_a_run_among_mine_with_a_link_begins_nothing_and_says_where_the_link_is(studio: Studio, bashrc: Path) -> None:
    folder = strangers(studio.runs.runs_folder / RUN)
    linked(folder, "events/a0001-w000.jsonl", bashrc)
    with pytest.raises(RunError) as caught:
        studio.runs.resume(RUN)
    assert (caught.value.id, caught.value.facts["file"]) == ("run-has-links", "events/a0001-w000.jsonl")
    assert bashrc.read_bytes() == OWN and not (folder / "claims").exists()


def test_a_run_among_mine_with_a_pipe_begins_nothing(studio: Studio) -> None:
    folder = strangers(studio.runs.runs_folder / RUN)
    os.mkfifo(folder / "guardian.log")
    with pytest.raises(RunError, match="run-has-links"):
        studio.runs.resume(RUN)


@pytest.mark.parametrize("verb", ["resume", "extend", "stop"])
def test_a_run_elsewhere_is_to_be_taken_in_first(studio: Studio, tmp_path: Path, verb: str) -> None:
    folder = strangers(tmp_path / "dl")
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    with pytest.raises(BadInput) as caught:
        studio.runs.stop(str(folder)) if verb == "stop" else go_on(studio, verb, str(folder))
    assert caught.value.id == "run-lies-elsewhere" and caught.value.exit_code == 2
    assert "import" in say(caught.value).action
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before


def test_a_link_among_my_runs_to_a_folder_elsewhere_is_none_of_my_runs(studio: Studio, tmp_path: Path) -> None:
    folder = strangers(tmp_path / "dl")
    studio.runs.runs_folder.mkdir(parents=True)
    (studio.runs.runs_folder / RUN).symlink_to(folder)
    for run in (RUN, str(studio.runs.runs_folder / RUN)):
        with pytest.raises(BadInput, match="run-lies-elsewhere"):
            studio.runs.resume(run)


def test_it_is_looked_at_where_it_lies_and_goes_on_once_it_is_taken_in(studio: Studio, tmp_path: Path) -> None:
    folder = strangers(tmp_path / "dl")
    assert studio.runs.summary(str(folder)).reason == "stopped-by-user"
    assert studio.runs.settle(str(folder)) is False
    run = studio.runs.import_folder(folder).run
    studio.runs.resume(str(studio.runs.runs_folder / run))  # a way to one of ours is as good as its name
    assert studio.wait(run).attempt >= 1 and (studio.runs.folder(run) / "claims").is_dir()


def test_no_end_is_written_into_a_lost_run_elsewhere(studio: Studio, tmp_path: Path, bashrc: Path) -> None:
    folder = strangers(tmp_path / "dl")
    (folder / "events" / "desk-zzzzzzzz.jsonl").write_bytes(encode(event("phase", t=1.0, phase="training", attempt=1)))
    linked(folder, f"events/desk-{studio.runs._install}.jsonl", bashrc)
    (folder / "claims").mkdir()
    (folder / "claims" / "a0001.json").write_text("{}")
    assert studio.runs.settle(str(folder)) is False
    assert bashrc.read_bytes() == OWN


@pytest.mark.parametrize("hard", [False, True], ids=["symlink", "hard link"])
def test_the_desktops_events_follow_no_link(tmp_path: Path, bashrc: Path, hard: bool) -> None:
    folder = strangers(tmp_path / "dl")
    path = folder / "events" / "desk-aaaaaaaa.jsonl"
    os.link(bashrc, path) if hard else path.symlink_to(bashrc)
    with pytest.raises(OSError):
        write_event(folder, "aaaaaaaa", "phase", t=1.0, phase="queued")
    assert bashrc.read_bytes() == OWN


def test_controls_and_claims_follow_no_linked_folder(tmp_path: Path) -> None:
    folder, mine = strangers(tmp_path / "dl"), tmp_path / "mine"
    mine.mkdir()
    linked(folder, "control", mine)
    linked(folder, "claims", mine)
    with pytest.raises(OSError):
        controls.send(folder, {"verb": "stop"})
    with pytest.raises(OSError):
        claims.create_claim(folder / "claims" / "a0002.json", {})
    assert list(mine.iterdir()) == []


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "guardian.log")
    with pytest.raises(OSError):
        open_plain(tmp_path / "guardian.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def test_a_linked_result_is_not_copied_out(studio: Studio, tmp_path: Path) -> None:
    secrets = tmp_path / "person" / ".ssh"
    secrets.mkdir(parents=True)
    (secrets / "id_ed25519").write_text("key")
    folder = strangers(tmp_path / "dl")
    (folder / "result").symlink_to(secrets)
    with pytest.raises(RunError) as caught:
        studio.runs.export(str(folder), tmp_path / "out")
    assert caught.value.id == "import-symlink" and not (tmp_path / "out").exists()


def test_limits_that_a_stranger_asked_for_are_not_brought_with_the_run(studio: Studio, tmp_path: Path) -> None:
    folder = strangers(tmp_path / "dl")
    (folder / "control").mkdir()
    (folder / "control" / "000001.json").write_text(json.dumps({"verb": "limits", "hours": 9000.0, "t": 1.0}))
    run = studio.runs.import_folder(folder).run
    assert not (studio.runs.folder(run) / "control").exists()
    assert not events_file(studio.runs.folder(run), 1).exists()


def test_a_run_that_was_trained_longer_stays_so_when_it_is_brought_here(studio: Studio, tmp_path: Path) -> None:
    folder = strangers(tmp_path / "dl")
    asked: list[object] = [
        {"verb": "limits", "hours": 9000.0},
        {"verb": "extend", "epochs": 2, "hours": 5.0, "attempt": 7},
        {"verb": "stop", "keep": False},
        {"verb": "extend", "epochs": 1e9},
        {"verb": "extend", "epochs": True},
        {"verb": "extend"},
        "[" * 100_000,
        {"verb": "extend", "epochs": 0.5},
    ]
    (folder / "control").mkdir()
    for number, one in enumerate(asked, 1):
        text = one if isinstance(one, str) else json.dumps({**one, "t": 1.0})  # type: ignore[dict-item]
        (folder / "control" / f"{number:06d}.json").write_text(text)
    brought = studio.runs.folder(studio.runs.import_folder(folder).run)
    kept = [json.loads(path.read_text()) for path in sorted((brought / "control").iterdir())]
    assert [{name: value for name, value in one.items() if name != "t"} for one in kept] == [
        {"verb": "extend", "epochs": 2.0},
        {"verb": "extend", "epochs": 0.5},
    ]
    assert controls.extensions(brought) == {1: 2.0, 2: 0.5}
    assert [one["verb"] for one in controls.Controls(brought).read()] == ["extend", "extend"]


def test_a_zip_of_an_extended_run_keeps_its_extension(studio: Studio, tmp_path: Path) -> None:
    folder = strangers(tmp_path / RUN)
    controls.send(folder, {"verb": "extend", "epochs": 3})
    packed = shutil.make_archive(str(tmp_path / "sent"), "zip", tmp_path, RUN)
    run = studio.runs.import_folder(Path(packed)).run
    assert controls.extensions(studio.runs.folder(run)) == {1: 3.0}


@pytest.mark.parametrize("name", ["claims/a0001.json", "events/a0001-w000.jsonl", "events/desk-zzzzzzzz.jsonl"])
def test_a_pipe_in_a_run_holds_up_neither_it_nor_the_list_of_all(studio: Studio, name: str) -> None:
    """`runs`, `show` and the window waited for ever for somebody who would write into it."""
    good = studio.runs.launch(plan())
    studio.wait(good)
    folder = strangers(studio.runs.runs_folder / RUN)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    rows = {row.run: row for row in studio.runs.list()}
    assert rows[good].reason == "completed" and RUN in rows
    studio.runs.reconcile()
    assert limits.used_before(folder, 2) == 0.0
    assert not claims.is_guarded(folder / "claims" / "a0001.json")
    with suppress(OSError):
        Words(folder).guard(1)
    with suppress(OSError, RunError):
        following = studio.runs.follow(RUN)
        following.poll()
        following.close()


def test_a_folder_or_a_pipe_is_not_opened_to_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError):
            open_to_read(path)
    (tmp_path / "x").write_bytes(b"abc")
    with open_to_read(tmp_path / "x") as file:
        assert file.read() == b"abc"


def test_the_lock_of_a_plan_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / PLAN)
    fd = _alone_in(tmp_path / PLAN)
    assert fd is not None
    os.close(fd)
