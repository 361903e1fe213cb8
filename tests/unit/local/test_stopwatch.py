"""Short questions to the training program: one JSON object back, an error with its id, never a hang."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.plans import plan
from tests.fakes.processes import alive
from tests.fakes.studio import ThisPython
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.local.computer import NICE
from tpu_studio.local.stopwatch import Stopwatch
from tpu_studio.planner.timing import Timing
from tpu_studio.wire.errors import ModelError, RunError, StudioError


def stopwatch(home: Path, program: str) -> Stopwatch:
    return Stopwatch(home, ThisPython(), command=("-c", program))


def test_a_timing_is_remembered_for_the_same_work_only(tmp_path: Path) -> None:
    watch = stopwatch(tmp_path, "print('{\"step_time_s\": 0.5}')")
    assert watch.known(plan()) is None
    assert watch.time(plan(), 1.0)["step_time_s"] == 0.5
    assert watch.known(plan(name="another name", limits={"hours": 9.0})) == {"step_time_s": 0.5}
    other = plan()
    other = replace(other, job=other.job.with_values({"training.global_batch": 8}))
    assert watch.known(other) is None


def test_a_timing_gives_way_to_other_programs_as_the_run_will(tmp_path: Path) -> None:
    program = "import json, sys; print(json.dumps({'step_time_s': 0.5, 'asked': sys.argv[1:]}))"
    asked = stopwatch(tmp_path, program).time(plan(), 1.5)["asked"]
    assert (asked[0], asked[3:]) == ("time", ["--seconds", "1.5", "--nice", str(NICE)])


def test_a_timing_that_cannot_be_remembered_is_still_told(tmp_path: Path) -> None:
    (tmp_path / "timings").write_text("in the way")
    watch = stopwatch(tmp_path, "print('{\"step_time_s\": 0.5}')")
    assert watch.time(plan(), 1.0)["step_time_s"] == 0.5
    assert watch.known(plan()) is None


def test_what_the_trainer_refuses_comes_back_as_that_error(tmp_path: Path) -> None:
    program = 'import sys; print(\'{"error": {"id": "model-raises", "facts": {"line": 3}}}\'); sys.exit(1)'
    with pytest.raises(ModelError) as caught:
        stopwatch(tmp_path, program).time(plan(), 1.0)
    assert (caught.value.id, caught.value.facts) == ("model-raises", {"line": 3})


def test_a_crash_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(RunError) as caught:
        stopwatch(tmp_path, "raise SystemError('no device')").inspect(plan())
    assert "SystemError: no device" in caught.value.facts["raw"]


def test_giving_up_ends_the_program_and_all_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    program = (
        f"import os, subprocess, sys, time; "
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
        f"open({str(mark)!r}, 'w').write(str(child.pid)); time.sleep(60)"
    )
    with pytest.raises(StudioError) as caught:
        stopwatch(tmp_path, program).time(plan(), 1.0, cancelled=lambda: mark.exists() and bool(mark.read_text()))
    assert caught.value.id == "timing-cancelled"
    pid, deadline = int(mark.read_text()), time.monotonic() + PATIENCE_S
    while alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    "odd",
    [
        "[" * 100_000,
        "[1]",
        "{}",
        '{"step_time_s": "x"}',
        '{"step_time_s": 1' + "0" * 400 + "}",
        '{"step_time_s": Infinity}',
        "[" + "[]," * 3_000_000 + "[]]",
    ],
    ids=["deep", "a list", "nothing", "words", "huge", "without end", "many"],
)
def test_what_is_no_timing_is_timed_anew(tmp_path: Path, odd: str) -> None:
    watch = stopwatch(tmp_path, "print('{\"step_time_s\": 0.5}')")
    watch.time(plan(), 1.0)
    [file] = (tmp_path / "timings").iterdir()
    file.write_text(odd)
    assert watch.known(plan()) is None
    file.write_text('{"step_time_s": 0.5, "params": 1' + "0" * 400 + "}")
    assert Timing.from_json(watch.known(plan()) or {}).params == 0
