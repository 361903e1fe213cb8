"""`trainer.check` in the real frameworks: a person's mistakes are named with layer, shapes, file and line."""

from __future__ import annotations

import contextlib
import hashlib
import json
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.making import make_plan
from tests.fakes.waiting import PATIENCE_S
from tests.trainer.in_engine import done_in_engine, engine_python, environment
from tpu_studio.data.look import look
from tpu_studio.domain import jobfile
from tpu_studio.local.engine import compiler, tf_compiler
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.resources import resource_path

ENGINE_LIMIT_S = int(PATIENCE_S)


IMPORTS = {
    "jax": "import keras\nimport jax\nimport jax.numpy as jnp",
    "tensorflow": "import keras\nimport tensorflow as tf\n",
}


def check(
    python: Path,
    tmp_path: Path,
    body: str,
    *,
    target: dict[str, Any] | None = None,
    framework: str = "jax",
    options: Mapping[str, object] | None = None,
    **more: str,
) -> dict[str, Any]:
    """The answers about a model file whose `build_model` is *body*, by name; the body begins in line 6."""
    file = tmp_path / "model.py"
    source = f"{IMPORTS[framework]}\n\n\n{body}"
    file.write_text(source, encoding="utf-8")
    job = parse(
        {
            "format": 1,
            "name": "own",
            "model": {"file": str(file), "options": dict(options or {})},
            "data": {"kind": "digits"},
            "training": {"framework": framework, "epochs": 1, "global_batch": 64, "steps_per_call": 4},
        }
    )
    consent = hashlib.sha256(source.encode()).hexdigest()
    plan = make_plan(job, look(job), now=time.time(), consent=consent)
    return ask(python, tmp_path, plan, target=target, **more)


def ask(
    python: Path, tmp_path: Path, plan: Plan, *, target: dict[str, Any] | None = None, **more: str
) -> dict[str, Any]:
    question = tmp_path / "question.json"
    asked = {"plan": replace(plan, place="cloud").to_json(), "target": target, "build_limit_s": ENGINE_LIMIT_S} | more
    question.write_text(json.dumps(asked))
    argv, around = ["-m", "tpu_studio.trainer.check", "--question", str(question)], environment(plan.framework)
    if python == engine_python() and plan.framework == "jax":  # what TensorFlow asks before it is imported is set there
        with contextlib.chdir(tmp_path):
            done = done_in_engine(argv, around, "jax")
    else:
        done = subprocess.run(
            [str(python), *argv],
            env=around,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=ENGINE_LIMIT_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-3000:]
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["answer"]: line for line in told if "answer" in line}


MISMATCH = """\
def build_model(job):
    inputs = keras.Input((8, 8, 1))
    x = keras.layers.Flatten(name="flat")(inputs)
    head = keras.layers.Dense(10, name="head")
    head.build((None, 32))
    return keras.Model(inputs, head(x))
"""
CALLBACK = """\
class Print(keras.layers.Layer):
    def call(self, x):
        jax.debug.print("{}", x.sum())
        return x


def build_model(job):
    inputs = keras.Input((8, 8, 1))
    x = Print(name="print")(keras.layers.Flatten()(inputs))
    return keras.Model(inputs, keras.layers.Dense(10)(x))
"""
DYNAMIC = """\
class Positive(keras.layers.Layer):
    def call(self, x):
        return x + jnp.sum(x[x > 0])

    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, x.dtype)


def build_model(job):
    inputs = keras.Input((8, 8, 1))
    x = Positive(name="positive")(keras.layers.Flatten()(inputs))
    return keras.Model(inputs, keras.layers.Dense(10)(x))
"""


@pytest.mark.engine
def test_shapes_that_do_not_meet_are_told_with_layer_and_line(engine_python: Path, tmp_path: Path) -> None:
    (problem,) = check(engine_python, tmp_path, MISMATCH)["traced"]["problems"]
    assert problem["id"] == "model-shapes"
    facts = problem["facts"]
    assert (facts["layer"], facts["wanted"], facts["got"]) == ("head", "32", "(None, 64)")
    assert facts["line"] == 11
    assert facts["file"] == str(tmp_path / "model.py")


@pytest.mark.engine
def test_a_call_back_into_python_is_found_with_its_line(engine_python: Path, tmp_path: Path) -> None:
    traced = check(engine_python, tmp_path, CALLBACK)["traced"]
    assert traced["problems"] == []
    (found,) = [one for one in traced["operations"] if one["id"] == "op-host-callback"]
    assert found["level"] == "error"
    assert found["facts"]["line"] == 8


@pytest.mark.engine
def test_a_size_that_depends_on_values_is_found_with_its_line(engine_python: Path, tmp_path: Path) -> None:
    (problem,) = check(engine_python, tmp_path, DYNAMIC)["traced"]["problems"]
    assert problem["id"] == "op-dynamic-shape"
    assert problem["facts"]["line"] == 8
    assert problem["facts"]["layer"] == "positive"


GOOD = """\
def build_model(job):
    inputs = keras.Input((8, 8, 1))
    return keras.Model(inputs, keras.layers.Dense(10)(keras.layers.Flatten()(inputs)))
"""


@pytest.mark.compiler
def test_the_compiler_tells_memory_and_limit_of_a_slice(tmp_path: Path) -> None:
    from tests.conftest import ENGINE_ROOT

    environment_of_it = compiler(ENGINE_ROOT)
    if not environment_of_it.state().is_ready:
        pytest.skip("no TPU compiler: tpu-studio engine --install --with tpu-compiler --accept-licence")
    target = {"accelerator": "v5litepod-4", "generation": "v5e", "topology": "2x2", "devices": 4}
    told = check(environment_of_it.python(), tmp_path, GOOD, target=target)["compiled"]
    assert told["fits"]
    assert told["limit_bytes"] == int(15.75 * 2**30)
    assert told["parts"]["weights"] >= 650 * 4  # 64 × 10 weights and 10 biases; Keras's seeds beside them
    assert 0 < told["device_bytes"] < 64 << 20
    train, evaluate = (told["programs"][name] for name in ("train", "evaluate"))
    for program in (train, evaluate):
        assert program["fits"]
        assert 0 < program["memory_bytes"] <= told["device_bytes"]
        assert program["capacity_bytes"] == told["limit_bytes"]
        assert program["compile_s"] > 0
        assert program["bytes_accessed"] > 0
    # 64 × 10 products, forward and for the weights' gradient (the pictures need none), on a quarter of 64 examples.
    assert train["flops"] == pytest.approx(2 * 2 * 640 * 16, rel=0.9)
    assert evaluate["flops"] >= 2 * 640 * evaluate["batch"] / 4
    assert 650 * 4 <= train["collective_bytes"] < 2 * 650 * 4  # the gradients of all weights, once
    assert evaluate["collective_bytes"] < 100  # the sums
    assert train["effort"] == evaluate["effort"] == "full"  # as it will be compiled on the machine


@pytest.mark.compiler
def test_a_gpt_is_compiled_with_its_attention_kernel_whose_work_counts(tmp_path: Path) -> None:
    from tests.conftest import ENGINE_ROOT

    environment_of_it = compiler(ENGINE_ROOT)
    if not environment_of_it.state().is_ready:
        pytest.skip("no TPU compiler: tpu-studio engine --install --with tpu-compiler --accept-licence")
    text = tmp_path / "text.txt"
    text.write_text("All the world is a stage, and all the men and women merely players. " * 4000)
    layers, width, tokens, batch = 2, 128, 1024, 8
    job = parse(
        {
            "format": 1,
            "name": "gpt",
            "model": {"name": "gpt-nano", "options": {"layers": layers, "width": width, "heads": 2}},
            "data": {"kind": "text", "path": str(text), "sequence_length": tokens},
            "training": {"framework": "jax", "steps": 10, "global_batch": batch, "rematerialize": False},
            "where": {"place": "cloud", "accelerator": "v5litepod-4"},
        }
    )
    target = {"accelerator": "v5litepod-4", "generation": "v5e", "topology": "2x2", "devices": 4}
    plan = make_plan(job, look(job), now=time.time())
    told = ask(environment_of_it.python(), tmp_path, plan, target=target)["compiled"]
    train = told["programs"]["train"]
    assert train["effort"] == "full"
    # Products of weights and vocabulary, three times (forward, for weights, for what came in); of attention, seven over
    # the three blocks of four that see anything. A chip has a quarter of the batch.
    mine = batch // 4 * tokens
    products = 6 * mine * (12 * layers * width**2 + 256 * width)
    attention = 7 * 2 * layers * mine * tokens * width * 3 // 4
    assert train["flops"] == pytest.approx(products + attention, rel=0.1)
    scores = 4 * layers * 2 * batch // 4 * tokens**2  # of attention, which never are in memory
    assert train["memory_bytes"] < scores + 20 * mine * width * layers * 4


OUT_OF_SIGHT = """\
class Scores(keras.layers.Layer):
    def call(self, x):
        assert jax.default_backend() == jax.devices()[0].platform == "tpu"
        return keras.ops.matmul(x, keras.ops.transpose(x, (0, 2, 1)))

    def compute_output_spec(self, x):
        return keras.KerasTensor((x.shape[0], x.shape[1], x.shape[1]), x.dtype)


def build_model(job):
    inputs = keras.Input((8, 8, 1))
    x = keras.ops.reshape(keras.ops.cast(inputs, "float32"), (-1, 64, 1))
    x = keras.layers.Flatten()(Scores()(x))
    return keras.Model(inputs, keras.layers.Dense(10)(x))
"""


@pytest.mark.engine
def test_a_model_is_traced_as_on_a_tpu(engine_python: Path, tmp_path: Path) -> None:
    body = OUT_OF_SIGHT.replace("        assert", "        if isinstance(x, jax.core.Tracer):\n            assert")
    traced = check(engine_python, tmp_path, body)["traced"]
    assert traced["problems"] == []
    assert traced["programs"] == 2


ROTATES = """\
class Shout(keras.layers.Layer):
    def call(self, x):
        text = tf.strings.as_string(tf.reduce_sum(x))
        return x + tf.cast(tf.strings.length(text), x.dtype)


def build_model(job):
    inputs = keras.Input((8, 8, 1))
    x = keras.layers.RandomRotation(0.1, name="turn")(inputs)
    x = Shout(name="shout")(keras.layers.Flatten()(x))
    return keras.Model(inputs, keras.layers.Dense(10)(x))
"""


@pytest.mark.engine
def test_tensorflow_operations_that_no_tpu_has_are_looked_up_with_layer_and_line(
    engine_python: Path, tmp_path: Path
) -> None:
    traced = check(engine_python, tmp_path, ROTATES, framework="tensorflow")["traced"]
    assert traced["problems"] == []
    assert traced["by"] == "table"
    refused(traced)


WIDE = """\
def build_model(job):
    inputs = keras.Input((8, 8, 1))
    wide = keras.layers.Lambda(lambda x: tf.cast(tf.sin(tf.cast(x, tf.float64)), x.dtype), name="wide")(inputs)
    return keras.Model(inputs, keras.layers.Dense(10)(keras.layers.Flatten()(wide)))
"""


@pytest.mark.engine
def test_float64_in_tensorflow_is_told_once_with_layer_and_line(engine_python: Path, tmp_path: Path) -> None:
    traced = check(engine_python, tmp_path, WIDE, framework="tensorflow")["traced"]
    (found,) = [one for one in traced["operations"] if one["id"] == "op-float64"]
    assert (found["level"], found["facts"]["layer"], found["facts"]["line"]) == ("warning", "wide", 8)
    assert "float32" in found["facts"]["instead"]


def refused(traced: dict[str, Any]) -> None:
    found = {one["facts"]["operation"]: one for one in traced["operations"] if one["level"] == "error"}
    assert {"AsString", "ImageProjectiveTransformV3"} <= found.keys()
    assert found["AsString"]["facts"]["layer"] == "shout"
    assert found["AsString"]["facts"]["line"] == 8
    assert found["ImageProjectiveTransformV3"]["facts"]["layer"] == "turn"
    assert "in the data" in found["AsString"]["facts"]["instead"]


@pytest.mark.compiler
def test_the_lowering_for_a_tpu_names_what_it_refuses(tmp_path: Path) -> None:
    told = check(lowering_python(), tmp_path, ROTATES, framework="tensorflow")["traced"]
    assert told["by"] == "lowering"
    refused(told)


@pytest.mark.compiler
def test_a_tensorflow_step_is_compiled_for_a_slice_as_one_replica_and_so_is_its_check(tmp_path: Path) -> None:
    from tests.conftest import ENGINE_ROOT

    compiles = compiler(ENGINE_ROOT)
    if not compiles.state().is_ready:
        pytest.skip("no TPU compiler: tpu-studio engine --install --with tpu-compiler --accept-licence")
    target = {"accelerator": "v5litepod-4", "generation": "v5e", "topology": "2x2", "devices": 4}
    python = str(compiles.python())
    told = check(lowering_python(), tmp_path, GOOD, target=target, framework="tensorflow", compiler_python=python)
    compiled = told["compiled"]
    assert compiled["fits"]
    assert compiled["limit_bytes"] == int(15.75 * 2**30)
    assert compiled["parts"]["weights"] >= 650 * 4
    assert 0 < compiled["device_bytes"] < 64 << 20
    assert compiled["replica"]  # what sums over the four is not in it
    train, evaluate = compiled["programs"]["train"], compiled["programs"]["evaluate"]
    assert train["fits"] and evaluate["fits"] and train["flops"] > 0
    assert evaluate["batch"] % 4 == 0


def lowering_python() -> Path:
    from tests.conftest import ENGINE_ROOT

    lowers = tf_compiler(ENGINE_ROOT)
    if not lowers.state().is_ready:
        pytest.skip("no tf-tpu-compiler: tpu-studio engine --install --with tf-tpu-compiler --accept-licence")
    return lowers.python()


@pytest.mark.engine
@pytest.mark.parametrize(
    ("name", "said", "mended"),
    [
        ("operation", "op-not-on-tpu", {"solver": "eigh"}),
        pytest.param("shapes", "model-shapes", {"takes": 64}, marks=pytest.mark.thorough),
    ],
)
def test_the_broken_jobs_of_learn_are_found_and_can_be_mended(
    engine_python: Path, tmp_path: Path, name: str, said: str, mended: dict[str, object]
) -> None:
    job = jobfile.load(resource_path("learn", f"{name}.tpujob"))
    code = resource_path("learn", f"{name}.py").read_text("utf-8")

    def found(options: dict[str, object]) -> list[str]:
        traced = check(engine_python, tmp_path, code, options=options)["traced"]
        return [one["id"] for one in (*traced["problems"], *traced["operations"]) if one.get("level") != "info"]

    assert said in found(dict(job.model.options))
    assert found(mended) == []
