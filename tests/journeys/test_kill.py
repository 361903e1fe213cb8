"""Killing things: whatever dies, a run goes on or ends with its reason; no point is missing, none is there twice.

With the trainer that counts instead of training these take seconds; one uses the real one when the engine is there.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.disks import fill, small_disk
from tests.fakes.plans import plan
from tests.fakes.processes import alive
from tests.fakes.studio import Studio, loss_points
from tests.fakes.waiting import eventually
from tpu_studio.wire.claims import is_guarded, read_claim
from tpu_studio.wire.runfolder import claim_file, events_file

ROOT = Path(__file__).resolve().parents[2]

APP = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from tests.fakes.plans import plan
    from tests.fakes.studio import Studio
    studio = Studio(Path(sys.argv[1]), *sys.argv[2:])
    run = studio.runs.launch(plan(steps=120))
    print(run, flush=True)
    following = studio.runs.follow(run)
    while True:
        following.poll()
        time.sleep(0.01)
""")


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    made = Studio(tmp_path / "home", "--steps", "120", "--step-s", "0.01")
    yield made
    go(made)
    for row in made.runs.list():
        if row.alive and not row.over:
            made.runs.stop(row.run, keep=False)
            made.wait(row.run)
    made.close()


def until_told(studio: Studio, step: int) -> str:
    """For a trainer that has made *step* and waits for `go`: no test need be quicker than it is."""
    return f"{step}:hold={studio.home / 'go'}"


def go(studio: Studio) -> None:
    (studio.home / "go").touch()


def guardian_of(studio: Studio, run: str, attempt: int = 1) -> int:
    claim = read_claim(claim_file(studio.runs.folder(run), attempt))
    assert claim is not None
    return int(claim["pid"])


def trainer_of(guardian: int) -> int:
    return int(Path(f"/proc/{guardian}/task/{guardian}/children").read_text().split()[0])


@pytest.mark.parametrize("after_steps", [1, 15, 40])
def test_the_app_is_killed_and_the_run_goes_on_for_whoever_watches_next(studio: Studio, after_steps: int) -> None:
    hold = until_told(studio, after_steps)
    app = subprocess.Popen(
        [sys.executable, "-c", APP, str(studio.home), "--steps", "120", "--step-s", "0.01", "--at", hold],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert app.stdout is not None
    run = app.stdout.readline().strip()
    studio.wait(run, lambda row: row.step >= after_steps)
    app.kill()
    app.wait()
    app.stdout.close()
    assert is_guarded(claim_file(studio.runs.folder(run), 1))
    assert list(studio.runs.reconcile()) == []
    go(studio)
    row = studio.wait(run)
    assert (row.status, row.step) == ("finished", 120)
    assert studio.points(run) == loss_points(1, 120)


def test_the_follower_is_killed_at_any_instant_and_the_next_one_has_every_point_once(studio: Studio) -> None:
    run = studio.runs.launch(plan(steps=120))
    watcher = (
        "import sys; from pathlib import Path; from tpu_studio.store.index import Index\n"
        "f = Index(Path(sys.argv[1])).follow(Path(sys.argv[2]))\n"
        "while True: f.poll()"
    )
    folder = studio.runs.folder(run)
    for _ in range(6):
        process = subprocess.Popen([sys.executable, "-c", watcher, str(studio.home), str(folder)], cwd=ROOT)
        time.sleep(0.35)
        process.kill()
        process.wait()
    studio.wait(run)
    assert studio.points(run) == loss_points(1, 120)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends the trainer with its guardian on Linux only")
def test_the_guardian_is_killed_the_trainer_ends_and_resume_makes_one_curve(studio: Studio) -> None:
    studio.trainer = ["--steps", "60", "--step-s", "0.02", "--save-every", "5", "--at", until_told(studio, 13)]
    run = studio.runs.launch(plan(steps=60))
    studio.wait(run, lambda row: row.step > 12)
    guardian = guardian_of(studio, run)
    trainer = trainer_of(guardian)
    os.kill(guardian, signal.SIGKILL)
    eventually(lambda: not alive(trainer))  # ended with the thread that started it: others may still hold the claim
    eventually(lambda: not is_guarded(claim_file(studio.runs.folder(run), 1)))
    go(studio)
    assert list(studio.runs.reconcile()) == [run]
    assert list(studio.runs.reconcile()) == []
    row = studio.runs.summary(run)
    assert (row.status, row.reason) == ("failed", "guardian-gone")
    studio.runs.resume(run)
    row = studio.wait(run, lambda row: row.over and row.attempt == 2)
    assert (row.status, row.step) == ("finished", 60)
    assert studio.points(run) == loss_points(1, 60)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends the trainer with its guardian on Linux only")
def test_killed_before_it_could_write_what_it_was_told_the_guardian_leaves_no_copy_beyond_the_curve(
    studio: Studio,
) -> None:
    studio.trainer = ["--steps", "60", "--step-s", "0.01", "--save-every", "5", "--at", until_told(studio, 8)]
    run = studio.runs.launch(plan(steps=60))
    studio.wait(run, lambda row: row.step > 7)
    guardian = guardian_of(studio, run)
    os.kill(guardian, signal.SIGSTOP)
    go(studio)
    copies = studio.runs.folder(run) / "checkpoints"
    eventually(lambda: any(not (path / "COMMITTED").exists() for path in copies.iterdir()))
    os.kill(guardian, signal.SIGKILL)
    eventually(lambda: list(studio.runs.reconcile()) == [run])
    studio.runs.resume(run)
    row = studio.wait(run, lambda row: row.over and row.attempt == 2)
    assert (row.status, row.step) == ("finished", 60)
    assert studio.points(run) == loss_points(1, 60)


@pytest.mark.skipif(sys.platform != "linux", reason="finds the trainer by /proc")
def test_the_trainer_is_killed_and_started_again_from_its_last_copy(studio: Studio) -> None:
    studio.trainer += ["--at", until_told(studio, 13)]
    run = studio.runs.launch(plan(steps=120))
    studio.wait(run, lambda row: row.step > 12)
    os.kill(trainer_of(guardian_of(studio, run)), signal.SIGKILL)
    go(studio)
    row = studio.wait(run)
    assert (row.status, row.step, row.attempt) == ("finished", 120, 1)
    assert studio.points(run) == loss_points(1, 120)


def test_a_trainer_that_is_killed_before_its_first_copy_ends_with_its_reason_and_can_be_resumed(studio: Studio) -> None:
    studio.trainer = ["--steps", "20", "--at", "3:kill"]
    run = studio.runs.launch(plan())
    row = studio.wait(run)
    assert (row.status, row.reason, row.step) == ("failed", "trainer-killed", 3)
    studio.trainer = ["--steps", "20"]
    studio.runs.resume(run)
    row = studio.wait(run, lambda row: row.over and row.attempt == 2)
    assert row.status == "finished"
    assert studio.points(run) == loss_points(1, 20)


def test_a_corrupt_checkpoint_ends_with_its_reason(studio: Studio) -> None:
    studio.trainer += ["--at", until_told(studio, 8)]
    run = studio.runs.launch(plan(steps=120))
    studio.wait(run, lambda row: row.step > 7)
    studio.runs.stop(run)
    go(studio)
    studio.wait(run)
    last = sorted((studio.runs.folder(run) / "checkpoints").iterdir())[-1]
    (last / "state.safetensors").write_bytes(b"broken")
    studio.runs.resume(run)
    row = studio.wait(run, lambda row: row.over and row.attempt == 2)
    assert (row.status, row.reason) == ("failed", "checkpoint-corrupt")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", megabytes=1) as folder:
        yield folder


def test_a_full_disk_ends_with_its_reason_and_never_hangs(studio: Studio, disk: Path) -> None:
    studio.trainer = ["--steps", "100000", "--step-s", "0.005", "--save-every", "1000000"]
    (studio.home / "runs").symlink_to(disk / "runs")
    (disk / "runs").mkdir(parents=True)
    run = studio.runs.launch(plan(steps=100000))
    studio.wait(run, lambda row: row.step > 5)
    filler = fill(disk)
    row = studio.wait(run)
    assert (row.status, row.reason) == ("failed", "disk-full")
    lines = events_file(studio.runs.folder(run), 1).read_bytes().splitlines()
    assert json.loads(lines[-1])["kind"] == "end"
    steps = [step for step, _ in studio.points(run)]
    assert steps == list(range(1, len(steps) + 1))
    filler.unlink()
    studio.trainer = ["--steps", "20", "--step-s", "0"]
    studio.runs.resume(run)
    assert studio.wait(run, lambda row: row.over and row.attempt == 2).status == "finished"


def test_a_checkpoint_that_does_not_fit_ends_as_disk_full(studio: Studio, disk: Path) -> None:
    studio.trainer = ["--steps", "100000", "--step-s", "0.001", "--save-every", "1"]
    (studio.home / "runs").symlink_to(disk / "runs")
    (disk / "runs").mkdir(parents=True)
    run = studio.runs.launch(plan(steps=100000))
    row = studio.wait(run)
    assert (row.status, row.reason) == ("failed", "disk-full")


def test_a_folder_that_becomes_unwritable_is_told_where_it_can_be_told(studio: Studio, tmp_path: Path) -> None:
    studio.trainer = ["--steps", "100000", "--step-s", "0.005", "--save-every", "10"]
    run = studio.runs.launch(plan(steps=100000))
    studio.wait(run, lambda row: row.step > 5)
    checkpoints = studio.runs.folder(run) / "checkpoints"
    shutil.rmtree(checkpoints, ignore_errors=True)
    checkpoints.write_text("a file where the folder was")
    row = studio.wait(run)
    assert (row.status, row.reason) == ("failed", "folder-unwritable")


def test_the_home_cannot_be_written_and_nothing_is_launched(studio: Studio) -> None:
    from tpu_studio.wire.errors import RunError

    (studio.home / "runs").write_text("a file where the folder should be")
    with pytest.raises(RunError) as caught:
        studio.runs.launch(plan())
    assert caught.value.id == "folder-unwritable"
    (studio.home / "runs").unlink()


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends the trainer with its guardian on Linux only")
def test_with_the_real_trainer_a_killed_guardian_and_a_killed_trainer_leave_one_curve(tmp_path: Path) -> None:
    from tests.fakes.making import make_plan
    from tpu_studio.data.look import look
    from tpu_studio.local.computer import Computer
    from tpu_studio.local.engine import Engine, engine_root
    from tpu_studio.wire.job import parse
    from tpu_studio.workflow.runs import Runs

    engine = Engine(engine_root())
    if not engine.state().is_ready:
        pytest.skip("the training engine is not installed")
    studio = Studio(tmp_path / "home")
    studio.runs = Runs(
        studio.home, places={"computer": Computer(studio.home, engine)}, journal=studio.journal, index=studio.index
    )
    job = parse(
        {
            "name": "digits",
            "model": {"name": "mlp"},
            "data": {"kind": "digits"},
            "training": {"steps": 6000, "checkpoint_every": 200, "global_batch": 16},
            "limits": {"hours": 0.2},
        }
    )
    run = studio.runs.launch(make_plan(job, look(job), now=time.time()))
    checkpoints = studio.runs.folder(run) / "checkpoints"
    studio.wait(run, lambda row: row.over or (row.step > 600 and any(checkpoints.glob("*/COMMITTED"))))
    guardian = guardian_of(studio, run)
    os.kill(guardian, signal.SIGKILL)
    eventually(lambda: not is_guarded(claim_file(studio.runs.folder(run), 1)))
    assert list(studio.runs.reconcile()) == [run]
    assert studio.runs.summary(run).reason == "guardian-gone"
    reached = studio.runs.summary(run).step
    studio.runs.resume(run)
    studio.wait(run, lambda row: row.over or row.step > reached + 600)
    os.kill(trainer_of(guardian_of(studio, run, 2)), signal.SIGKILL)
    row = studio.wait(run, seconds=180)
    assert (row.status, row.step, row.attempt) == ("finished", 6000, 2)
    assert [step for step, _ in studio.points(run)] == list(range(1, 6001))
    studio.close()
