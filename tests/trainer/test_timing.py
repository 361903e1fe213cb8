"""`time`: what the estimate on the Plan page rests on, asked of the real program."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, HANDS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tests.fakes.waiting import PATIENCE_S
from tests.trainer.in_engine import done_in_engine, engine_python, environment
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
    argv = ["-m", "tpu_studio.trainer", "inspect", "--plan", str(file)]
    done = done_in_engine(argv, environment("jax"), "jax")
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout)
    assert told["params"] == plan.memory.params
    assert told["flops"] == pytest.approx(plan.basis.flops_per_example)


OWN = """\
import keras

def build_model(job):
    inputs = keras.Input(job.input_shape)
    x = keras.layers.Flatten()(inputs)
    {body}
    return keras.Model(inputs, keras.layers.Dense(job.outputs)(x))
"""
LOOPS = "x = keras.layers.SimpleRNN(16)(keras.ops.cast(keras.layers.Reshape((8, 8))(inputs), 'float32'))"


def inspected(tmp_path: Path, framework: str, body: str = LOOPS) -> dict[str, Any]:
    """What is told of a model of one's own, of 64 pixels, to 10 digits."""
    source = OWN.format(body=body)
    (tmp_path / "model.py").write_text(source)
    asked = job(None, "digits", model={"file": str(tmp_path / "model.py")}, training={"framework": framework})
    plan = make_plan(asked, DIGITS, now=NOW, computer=LAPTOP, consent=hashlib.sha256(source.encode()).hexdigest())
    file = tmp_path / "plan.json"
    file.write_bytes(plans.dumps(plan))
    argv = ["-m", "tpu_studio.trainer", "inspect", "--plan", str(file)]
    done = done_in_engine(argv, environment(framework), framework)
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("framework", ["jax", "tensorflow"])
def test_a_model_of_ones_own_is_counted_by_its_steps_in_either_framework(tmp_path: Path, framework: str) -> None:
    told = inspected(tmp_path, framework)
    forward = 2 * (8 * (8 * 16 + 16 * 16) + 16 * 10)  # eight rows of 8 to 16, each beside the 16 before it
    assert told["params"] == 8 * 16 + 16 * 16 + 16 + 170
    assert told["forward_flops"] == forward
    assert told["flops"] == told["model_flops"] == pytest.approx(3 * forward, rel=0.2)
    assert told["activation_bytes"] > 4 * 8 * 16
    assert told["unclear"] == []


LATE = """\
class Late(keras.layers.Layer):
        def call(self, x, training=False):
            assert not training
            return x

    x = Late()(x)"""


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_a_model_that_fails_in_its_step_only_is_a_problem_with_its_line(tmp_path: Path, framework: str) -> None:
    told = inspected(tmp_path, framework, LATE)
    assert told["problem"] == "model-raises"
    assert told["facts"]["line"] == 8
    assert "flops" not in told
