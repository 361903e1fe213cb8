"""A disk filled to the last byte: room is made there by delete, undo and removing for good, by the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.clouddesk import CloudDesk, trains
from tests.fakes.disks import fill, small_disk
from tests.fakes.fuzz.runs import finished
from tests.fakes.skies import Sky
from tests.fakes.terminal import JOB, Terminal
from tests.fakes.views import view_of
from tpu_studio.cli import running
from tpu_studio.domain.sentences import say
from tpu_studio.wire.errors import RunError


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", megabytes=8) as folder:
        yield folder


def free(disk: Path) -> int:
    return shutil.disk_usage(disk).free


@pytest.mark.parametrize("for_good", [False, True])
def test_room_is_made_on_a_disk_without_any(disk: Path, for_good: bool):
    terminal = Terminal(disk / "home")
    code, told = terminal.json("run", JOB)
    assert code == 0
    run = told["run"]
    (disk / "home" / "runs" / run / "result" / "big").write_bytes(b"x" * (1 << 20))
    fill(disk)
    if for_good:
        assert terminal.json("delete", "digits", "--for-good") == (0, {"run": run})
    else:
        done = terminal.run("delete", "digits")
        assert done.returncode == 0 and "--empty-trash" in done.stderr, done.stderr
        fill(disk)
        assert terminal.json("delete", "--undo", run) == (0, {"run": run})
        assert (disk / "home" / "runs" / run / "result" / "big").stat().st_size == 1 << 20
        assert terminal.json("delete", run) == (0, {"run": run})
        fill(disk)
        code, told = terminal.json("runs", "--empty-trash")
        assert (code, told["error"]["id"]) == (2, "needs-yes-to-empty")
        assert terminal.json("runs", "--empty-trash", "--yes") == (0, {"removed": 1})
    assert free(disk) > 1 << 20
    assert terminal.json("runs") == (0, {"runs": []})


def test_what_takes_room_is_still_refused_there_by_its_reason(disk: Path):
    terminal = Terminal(disk / "home")
    code, told = terminal.json("run", JOB)
    fill(disk)
    code, told = terminal.json("extend", told["run"], "--epochs", "1")
    assert (code, told["error"]["id"]) == (1, "disk-full"), json.dumps(told)


def test_a_plan_on_a_disk_that_is_nearly_full_says_what_is_needed_and_what_is_free(disk: Path):
    terminal = Terminal(disk / "home")
    assert "nearly full" not in terminal.run("plan", JOB).stderr
    (disk / "big").write_bytes(b"x" * (free(disk) - (300 << 10)))
    done = terminal.run("plan", JOB)
    assert done.returncode == 0
    words = " ".join((done.stdout + done.stderr).split())
    assert "This computer's disk is nearly full" in words and "are free. There is no room for one checkpoint" in words
    _, told = terminal.json("plan", JOB)
    (check,) = [check for check in told["checks"] if check["id"] == "disk-nearly-full"]
    assert check["level"] == "warning"


def test_of_a_rented_run_that_goes_on_list_and_show_say_that_the_disk_here_is_full(tmp_path: Path):
    desk = CloudDesk(tmp_path / "there", Sky())
    trains(desk)
    desk.turn()
    desk.die()
    with small_disk(tmp_path / "disk", megabytes=8) as disk:
        terminal = Terminal(disk / "home")
        shutil.copytree(desk.folder, disk / "home" / "runs" / desk.folder.name)
        assert "disk" not in (done := terminal.run("runs")).stdout + done.stderr
        filler = fill(disk)
        done = terminal.run("runs")
        assert f"{desk.folder.name}" in done.stdout and "disk full here" in done.stdout
        assert "limits hold as before" in done.stderr and "Free some space" in done.stderr
        done = terminal.run("show", desk.folder.name)
        assert "This computer's disk is full" in done.stdout and "Its machine goes on" in done.stdout
        filler.unlink()
        assert "disk is full" not in (done := terminal.run("show", desk.folder.name)).stdout + done.stderr


def test_who_runs_or_watches_a_rented_run_reads_once_what_a_full_disk_means():
    problem = RunError("run-not-recorded", run="r", full=True, place="practice", rented=False)
    services: Any = SimpleNamespace(driver=SimpleNamespace(problems={"r": problem}))
    told = running._lost(services, "r", view_of())
    assert "none is rented until there is room" in told and "Free some space" in told


def test_beside_a_full_disk_no_stop_from_outside_is_promised_that_a_launch_went_without():
    told = str(say(RunError("run-not-recorded", run="r", full=True, place="cloud", rented=True)))
    assert "by its shut-off timers where it was launched with them" in told


def test_a_run_on_this_computer_that_found_its_disk_full_speaks_of_no_rented_machine_and_names_the_verb(tmp_path: Path):
    terminal, source = Terminal(tmp_path / "home"), finished(tmp_path / "there")
    folder = terminal.home / "runs" / source.name
    shutil.copytree(source, folder)
    (events,) = (folder / "events").glob("a0001-*.jsonl")
    kept = [line for line in events.read_text().splitlines() if '"kind":"end"' not in line]
    log = {"t": 2e9, "kind": "log", "text": "OSError: [Errno 28] No space left on device"}
    end = {"t": 2e9, "kind": "end", "attempt": 1, "status": "failed", "reason": "disk-full", "steps": 12, "final": {}}
    told = [json.dumps(one) for one in (log, {**end, "facts": {"saved_step": 10}})]
    events.write_text("\n".join([*kept, *told]) + "\n")
    shown = terminal.run("show", source.name).stdout
    assert "The disk is full" in shown and "Its log shows: " in shown and "it ran on this computer" in shown
    assert "rented" not in shown and "TPU" not in shown
    assert f"Free some space, then choose “Resume” (tpu-studio resume {source.name})." in shown
