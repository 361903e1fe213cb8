"""A check is one bounded subprocess: what it told before it broke counts, and nothing of it stays behind."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.fakes.looks import HANDS, NOW, counted, job
from tests.fakes.making import make_plan, with_compiler
from tests.fakes.plans import plan
from tpu_studio.domain.sentences import say_finding
from tpu_studio.local.engine import EngineState
from tpu_studio.local.modelfacts import ModelFacts
from tpu_studio.local.preflight import TAG, Bounds, Preflight, Slice
from tpu_studio.wire.errors import NotReady, StudioError
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan

SLEEP = f'["sleep", "600", "0.{os.getpid()}"]'  # tests run side by side, each looks for its own only
ONE_CHIP = Slice("v6e-1", "v6e", "1x1", 1, 256)
TELL = "import json, os, sys, time\ndef tell(**told): print(json.dumps(told), flush=True)\n"
TRACED = 'tell(answer="traced", problems=[], operations=[])\n'
COMPILED = 'tell(answer="compiled", fits=True, device_bytes=5, limit_bytes=9)\n'


class Here:
    """An environment that is this Python."""

    def __init__(self, status: Any = "ready") -> None:
        self._state = EngineState(status, versions={"jax": "0.10.2", "libtpu": "0.0.42.1"})

    def state(self) -> EngineState:
        return self._state

    def python(self) -> Path:
        if not self._state.is_ready:
            raise NotReady("engine-not-ready")
        return Path(sys.executable)


def preflight(home: Path, program: str, *, compiler: Any = "ready", **bounds: Any) -> Preflight:
    return Preflight(
        home, Here(), Here(compiler), bounds=Bounds(**bounds) if bounds else None, command=("-c", TELL + program)
    )


def own_plan() -> Plan:
    """Of a person's own model."""
    tree = {
        "format": 1,
        "name": "own",
        "model": {"file": "/me/model.py"},
        "data": {"kind": "digits"},
        "training": {"epochs": 1},
    }
    return replace(plan(), job=parse(tree))


def with_batch(batch: int) -> Plan:
    made = plan()
    return replace(made, job=made.job.with_values({"training.global_batch": batch}))


def test_an_answer_is_kept_for_the_same_question_only(tmp_path: Path) -> None:
    asked = preflight(tmp_path, TRACED + COMPILED)
    assert asked.known(plan(), ONE_CHIP) is None
    assert asked.ask(plan(), ONE_CHIP)["compiled"]["fits"]
    kept = asked.known(plan(name="another name", limits={"hours": 9.0}), ONE_CHIP)
    assert kept is not None
    assert kept["compiled"]["device_bytes"] == 5
    assert asked.known(with_batch(8), ONE_CHIP) is None
    assert asked.known(plan(), Slice("v5litepod-1", "v5e", "1x1", 1)) is None
    assert asked.known(plan(), None) is None
    assert preflight(tmp_path, "", compiler="missing").known(plan(), ONE_CHIP) is None


def test_what_a_check_counted_in_the_model_is_known_to_later_plans(tmp_path: Path) -> None:
    first, later = (
        make_plan(job("small-cnn", "images", training={"global_batch": batch}), HANDS, now=NOW) for batch in (32, 64)
    )
    program = f"tell(answer='traced', problems=[], operations=[], work={counted(5, 6.0)!r})\n"
    preflight(tmp_path, program).ask(first, None)
    found = ModelFacts(tmp_path).of(later)
    assert found is not None
    assert (found["params"], found["flops"]) == (5, 6.0)


def test_a_damaged_answer_is_asked_again(tmp_path: Path) -> None:
    asked = preflight(tmp_path, TRACED + COMPILED)
    asked.ask(plan(), ONE_CHIP)
    (kept,) = (tmp_path / "checks").iterdir()
    kept.write_text('{"traced": ')
    assert asked.known(plan(), ONE_CHIP) is None


def test_without_a_compiler_the_engine_answers_and_nothing_is_compiled(tmp_path: Path) -> None:
    program = "import pathlib\nasked = json.loads(pathlib.Path(sys.argv[2]).read_text())\n" + (
        'tell(answer="traced", problems=[], operations=[], target=asked["target"])\n'
    )
    told = preflight(tmp_path, program, compiler="missing").ask(plan(), ONE_CHIP)
    assert told["traced"]["target"] is None
    assert told["compiler"] == "missing"


def test_tensorflow_is_lowered_in_one_environment_and_compiled_in_another(tmp_path: Path) -> None:
    program = "import pathlib\nasked = json.loads(pathlib.Path(sys.argv[2]).read_text())\n" + (
        'tell(answer="traced", problems=[], operations=[], target=asked["target"], by=asked.get("compiler_python"))\n'
    )
    tensorflow = replace(plan(), framework="tensorflow")

    def told(lowers: Any, compiles: Any) -> Any:
        return Preflight(
            tmp_path, Here(), Here(compiles), tf_compiler=Here(lowers), command=("-c", TELL + program)
        ).ask(tensorflow, ONE_CHIP)

    both = told("ready", "ready")
    assert both["traced"]["target"]["accelerator"] == "v6e-1"
    assert both["traced"]["by"] == sys.executable
    for lowers, compiles, missing in (("missing", "ready", "tf-tpu-compiler"), ("ready", "broken", "tpu-compiler")):
        one = told(lowers, compiles)
        assert one["traced"]["target"] is None
        assert one["missing"] == [missing]
        assert one["compiler"] != "ready"


def test_a_compiler_that_aborts_takes_nothing_with_it(tmp_path: Path) -> None:
    dies = 'sys.stderr.write("F0000 check failed")\nsys.stderr.flush()\nos.abort()\n'
    program = TRACED + 'tell(stage="compiling")\n' + dies
    asked = preflight(tmp_path, program)
    told = asked.ask(plan(), ONE_CHIP)
    assert told["traced"]["problems"] == []
    assert told["ended"]["id"] == "check-compiler-crashed"
    assert "check failed" in told["ended"]["facts"]["raw"]
    said = say_finding("check-compiler-crashed", told["ended"]["facts"])
    assert "--repair --with tpu-compiler" in said.action  # where it ran, not the training engine
    assert asked.known(plan(), ONE_CHIP) is None


def test_a_program_that_cannot_start_names_the_environment_it_ran_in(tmp_path: Path) -> None:
    told = preflight(tmp_path, 'raise ModuleNotFoundError("No module named jax")\n').ask(plan(), ONE_CHIP)
    said = say_finding("check-failed", told["ended"]["facts"])
    assert "Its last words: ModuleNotFoundError: No module named jax." in said.meaning
    assert "--repair --with tpu-compiler" in said.action and "training engine" not in said.action
    in_engine = preflight(tmp_path, "sys.exit(1)\n", compiler="missing").ask(plan(), ONE_CHIP)
    assert "tpu-studio engine --repair" in say_finding("check-failed", in_engine["ended"]["facts"]).action


def test_a_damaged_environment_is_not_used_and_says_what_is_wrong(tmp_path: Path) -> None:
    compiler = Here("broken")
    compiler._state = EngineState("broken", "package-other", "libtpu 0.0.29 instead of 0.0.42.1")
    told = Preflight(tmp_path, Here(), compiler, command=("-c", TELL + TRACED)).ask(plan(), ONE_CHIP)
    assert told["compiler"] == "broken"
    made = with_compiler(replace(plan(), place="cloud", framework="jax"), told)
    check = next(one for one in made.checks if one.id == "estimate-no-compiler")
    said = say_finding(check.id, check.facts)
    assert check.level == "warning" and "There is libtpu 0.0.29 instead of 0.0.42.1, so it was not used" in said.meaning
    assert "--repair --with tpu-compiler" in said.action


def test_another_libtpu_of_the_surroundings_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TPU_LIBRARY_PATH", "/elsewhere/libtpu.so")
    monkeypatch.setenv("LIBTPU_INIT_ARGS", "--other")
    program = 'tell(answer="traced", problems=[], operations=[], seen=[n for n in os.environ if "TPU_" in n])\n'
    seen = preflight(tmp_path, program).ask(plan(), None)["traced"]["seen"]
    assert "TPU_LIBRARY_PATH" not in seen and "LIBTPU_INIT_ARGS" not in seen


def test_a_damaged_compiler_is_asked_again(tmp_path: Path) -> None:
    asked = preflight(tmp_path, TRACED + 'tell(answer="compiled", problem="compiler-damaged", raw="no such file")\n')
    assert asked.ask(plan(), ONE_CHIP)["compiled"]["problem"] == "compiler-damaged"
    assert asked.known(plan(), ONE_CHIP) is None


def test_a_model_that_ends_the_program_is_named(tmp_path: Path) -> None:
    told = preflight(tmp_path, 'tell(stage="model")\nos._exit(3)\n').ask(own_plan(), None)
    assert told["ended"]["id"] == "model-ended"


def test_a_model_that_never_returns_is_ended(tmp_path: Path) -> None:
    told = preflight(tmp_path, 'tell(stage="model")\ntime.sleep(600)\n', trace_s=0.3).ask(own_plan(), None)
    assert told["ended"]["id"] == "model-stuck"


def test_a_slow_computer_is_not_blamed_on_a_model_of_ours(tmp_path: Path) -> None:
    told = preflight(tmp_path, 'tell(stage="model")\ntime.sleep(600)\n', trace_s=0.3).ask(plan(), None)
    assert told["ended"]["id"] == "check-slow"


def test_a_compiler_that_never_returns_is_ended(tmp_path: Path) -> None:
    program = TRACED + 'tell(stage="compiling")\ntime.sleep(600)\n'
    told = preflight(tmp_path, program, compile_s=0.3).ask(plan(), ONE_CHIP)
    assert told["ended"]["id"] == "check-compiler-slow"


def test_a_search_that_takes_too_long_leaves_the_answer_and_its_guess(tmp_path: Path) -> None:
    program = (
        TRACED + COMPILED + ('tell(stage="largest-batch")\ntell(answer="largest-batch", guess=8)\ntime.sleep(600)\n')
    )
    asked = preflight(tmp_path, program, search_s=0.3)
    told = asked.ask(plan(), ONE_CHIP)
    assert told["compiled"]["fits"]
    assert told["largest_batch"]["guess"] == 8
    assert "ended" not in told
    assert asked.known(plan(), ONE_CHIP) is not None


def test_a_flood_of_words_does_not_hold_it_up(tmp_path: Path) -> None:
    program = 'sys.stderr.write("much\\n" * 300_000)\n' + TRACED
    assert preflight(tmp_path, program).ask(plan(), None)["traced"]["problems"] == []


def test_a_model_that_fills_the_memory_is_ended_by_name(tmp_path: Path) -> None:
    program = 'tell(stage="model")\nkept = b"x" * 400_000_000\ntime.sleep(600)\n'
    told = preflight(tmp_path, program, memory_bytes=200_000_000).ask(own_plan(), None)
    assert told["ended"]["id"] == "model-memory"
    assert told["ended"]["facts"]["bytes"] > 200_000_000


def test_programs_that_a_model_starts_are_counted_and_all_ended(tmp_path: Path) -> None:
    program = (
        "import subprocess\n"
        'tell(stage="model")\n'
        f"for _ in range(6): subprocess.Popen({SLEEP}, start_new_session=True)\n"
        "time.sleep(600)\n"
    )
    told = preflight(tmp_path, program, processes=4).ask(own_plan(), None)
    assert told["ended"]["id"] == "model-forks"
    assert left_behind() == []


def test_what_was_started_ends_also_when_the_answer_came(tmp_path: Path) -> None:
    program = f"import subprocess\nsubprocess.Popen({SLEEP}, start_new_session=True)\n" + TRACED
    assert "ended" not in preflight(tmp_path, program).ask(plan(), None)
    assert left_behind() == []


def test_giving_up_ends_it(tmp_path: Path) -> None:
    with pytest.raises(StudioError) as caught:
        preflight(tmp_path, "time.sleep(600)\n").ask(plan(), None, cancelled=lambda: True)
    assert caught.value.id == "check-cancelled"
    assert left_behind() == []


def test_without_any_environment_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotReady):
        Preflight(tmp_path, Here("missing"), Here("missing")).ask(plan(), None)


def left_behind() -> list[int]:
    """Sleepers of this test's checks that still live."""
    found = []
    for process in psutil.process_iter():
        try:
            if TAG in process.environ() and process.cmdline() == json.loads(SLEEP):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found
