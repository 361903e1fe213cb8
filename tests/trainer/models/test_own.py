"""A model of the user's own: runs only as agreed to, within its time, and refusals name the line in their file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import run_in_engine

pytestmark = pytest.mark.engine

GOOD = """import keras
def build_model(job):
    print("a model prints here")
    return keras.Sequential([keras.Input(job.input_shape), keras.layers.Flatten(), keras.layers.Dense(job.outputs)])
"""
FILES = {
    "good": GOOD,
    "example": (Path(__file__).parents[3] / "resources" / "examples" / "model.py").read_text(),
    "stateful": """import keras
def build_model(job):
    inputs = keras.Input(batch_shape=(32, *job.input_shape))
    x = keras.layers.LSTM(4, stateful=True, name="memory")(keras.layers.Reshape((8, 8))(inputs))
    return keras.Model(inputs, keras.layers.Dense(job.outputs)(x))
""",
    "two inputs": """import keras
def build_model(job):
    one, two = keras.Input(job.input_shape), keras.Input((3,))
    both = keras.layers.Concatenate()([keras.layers.Flatten()(one), two])
    return keras.Model([one, two], keras.layers.Dense(job.outputs)(both))
""",
    "two outputs": """import keras
def build_model(job):
    inputs = keras.Input(job.input_shape)
    x = keras.layers.Flatten()(inputs)
    return keras.Model(inputs, [keras.layers.Dense(job.outputs)(x), keras.layers.Dense(3)(x)])
""",
    "named outputs": """import keras
def build_model(job):
    inputs = keras.Input(job.input_shape)
    x = keras.layers.Flatten()(inputs)
    return keras.Model(inputs, {name: keras.layers.Dense(job.outputs)(x) for name in ("main", "side")})
""",
    "raises": """import keras
def helper():
    raise RuntimeError('no such thing')
def build_model(job):
    return helper()
""",
    "raises in Keras": """import keras
def build_model(job):
    x = keras.Input(job.input_shape)
    return keras.layers.Dense(-1)(x)
""",
    "shapes": """import keras
class Product(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.kernel = self.add_weight(shape=(32, 4))
    def call(self, inputs):
        return keras.ops.matmul(inputs, self.kernel)
def build_model(job):
    inputs = keras.Input(job.input_shape)
    return keras.Model(inputs, Product()(keras.layers.Flatten()(inputs)))
""",
    "raises at import": "import keras\nx = 1 / 0\n",
    "exits": "import sys\ndef build_model(job):\n    sys.exit(3)\n",
    "no function": "import keras\nmodel = keras.Sequential()\n",
    "syntax": "def build_model(job)\n    return 1\n",
    "binary": "\x00\x01",
    "not keras": "def build_model(job):\n    return 'a model'\n",
    "wrong output": GOOD.replace("job.outputs", "7"),
    "wrong input": GOOD.replace("keras.Input(job.input_shape)", "keras.Input((3, 3, 1))"),
    "utf-7 behind a CR": "\r# coding: utf-7\n# +AAo-raise SystemError('unseen')\nraise ValueError('seen')\n",
    "utf-7": "# coding: utf-7\n# +AAo-raise SystemError('a comment on screen, a line for Python')\n" + GOOD,
    "sleeps": "import time\ndef build_model(job):\n    time.sleep(3600)\n",
    "loops": "def build_model(job):\n    while True:\n        pass\n",
    "subclassed": """import keras
class Mine(keras.Model):
    def __init__(self, outputs):
        super().__init__()
        self.flat, self.dense = keras.layers.Flatten(), keras.layers.Dense(outputs)
    def call(self, x):
        return self.dense(self.flat(x))
def build_model(job):
    assert job["model.options"]["width"] == job.options["width"] == 5
    assert (job.classes, job.class_names[3], job.image_size, job.input_max) == (10, "3", 8, 16.0)
    return Mine(job.classes)
""",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("own")
    cases = []
    for name, text in FILES.items():
        path = folder / f"{name}.py"
        path.write_bytes(text.encode())
        cases.append({"name": name, "path": str(path), "consent": hashlib.sha256(text.encode()).hexdigest()})
    changed = folder / "changed.py"
    changed.write_text(GOOD + "# one more line\n")
    cases.append({"name": "changed", "path": str(changed), "consent": hashlib.sha256(GOOD.encode()).hexdigest()})
    cases.append({"name": "never agreed to", "path": str(folder / "good.py"), "consent": ""})
    cases.append({"name": "missing", "path": str(folder / "nowhere.py"), "consent": "0" * 64})
    (folder / "cases.json").write_text(json.dumps(cases))
    return run_in_engine(Path(__file__).with_name("program_own.py"), str(folder / "cases.json"), backend="jax")


def test_a_model_that_keeps_the_rules_is_taken(found: Any) -> None:
    assert found["good"] == {"output": [None, 10]}
    assert found["subclassed"] == {"output": [10]}


def test_the_example_that_comes_with_the_app_is_taken(found: Any) -> None:
    assert found["example"] == {"output": [None, 10]}


@pytest.mark.parametrize("name", ["changed", "never agreed to"])
def test_other_bytes_than_those_agreed_to_do_not_run(found: Any, name: str) -> None:
    assert found[name]["id"] == "model-no-consent"


@pytest.mark.parametrize(
    ("name", "id", "line"),
    [
        ("raises", "model-raises", 3),
        ("raises in Keras", "model-raises", 4),
        ("shapes", "model-shapes", 7),
        ("raises at import", "model-raises", 2),
        ("exits", "model-raises", 3),
        ("syntax", "model-syntax", 1),
        ("utf-7", "model-syntax", None),
        ("utf-7 behind a CR", "model-raises", 4),
        ("sleeps", "model-stuck", 3),
    ],
)
def test_a_failure_names_the_line_in_the_users_own_file(found: Any, name: str, id: str, line: int) -> None:
    assert (found[name]["id"], found[name]["facts"]["line"]) == (id, line)
    assert found[name]["facts"]["file"].endswith(f"{name}.py")


def test_a_failure_is_told_in_the_words_of_the_one_who_raised_it(found: Any) -> None:
    assert found["raises"]["facts"]["raw"] == "RuntimeError: no such thing"
    assert found["raises at import"]["facts"]["raw"] == "ZeroDivisionError: division by zero"


def test_a_loop_without_end_is_left_behind(found: Any) -> None:
    assert found["loops"]["id"] == "model-stuck"
    assert found["loops"]["facts"]["line"] in (2, 3)


def test_a_wrong_shape_is_told_with_the_wanted_one(found: Any) -> None:
    assert found["wrong output"]["id"] == "model-wrong-output"
    assert (found["wrong output"]["facts"]["wanted"], found["wrong output"]["facts"]["got"]) == ([None, 10], [None, 7])
    assert found["wrong input"]["id"] == "model-wrong-input"
    assert found["wrong input"]["facts"]["wanted"] == [None, 8, 8, 1]
    assert found["wrong input"]["facts"]["got"] == [None, 3, 3, 1]


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("no function", "model-no-function"),
        ("not keras", "model-not-keras"),
        ("stateful", "model-stateful"),
        ("two inputs", "model-many-inputs"),
        ("two outputs", "model-many-outputs"),
        ("named outputs", "model-many-outputs"),
        ("binary", "model-syntax"),
        ("missing", "model-file-missing"),
    ],
)
def test_what_is_no_model_file_is_told_apart(found: Any, name: str, id: str) -> None:
    assert found[name]["id"] == id


def test_what_the_file_prints_does_not_reach_stdout(found: Any) -> None:
    assert found["stdout"] == ""
