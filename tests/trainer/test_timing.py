"""`time`: what the estimate on the Plan page rests on, asked of the real program."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.fakes.looks import HANDS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tests.fakes.waiting import PATIENCE_S
from tests.trainer.in_engine import engine_python, environment
from tests.trainer.training import planned
from tpu_studio.wire import plan as plans

pytestmark = [pytest.mark.engine]


def test_a_timing_tells_of_every_part_of_a_run_how_long_it_takes_and_leaves_nothing(tmp_path: Path) -> None:
    file, home = tmp_path / "plan.json", tmp_path / "room"
    home.mkdir()
    file.write_bytes(plans.dumps(planned()))
    argv = [str(engine_python()), "-m", "tpu_studio.trainer", "time", "--plan", str(file), "--seconds", "0.3"]
    around = {**environment("tensorflow"), "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(argv, env=around, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout)
    parts = ("setup_s", "compile_s", "step_time_s", "evaluation_s", "checkpoint_s", "result_s")
    assert {name for name in parts if told[name] > 0} == set(parts)
    assert told["steps"] > 0
    assert list(home.iterdir()) == []


def test_a_model_is_described_with_pictures_of_the_size_that_it_is_trained_with(tmp_path: Path) -> None:
    plan = make_plan(job("mlp", "images"), HANDS, now=NOW, computer=LAPTOP)
    assert (plan.job["data.image_size"], HANDS.input_shape) == (32, (64, 64, 3))
    file = tmp_path / "plan.json"
    file.write_bytes(plans.dumps(plan))
    argv = [str(engine_python()), "-m", "tpu_studio.trainer", "inspect", "--plan", str(file)]
    done = subprocess.run(argv, env=environment("jax"), capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout)["params"] == plan.memory["params"]
