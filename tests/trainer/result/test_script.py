"""A run as a Keras script: it trains by itself, and its model is the run's; of real trainings, in the engine.

How near two trainings come that differ in their random numbers was seen of five of each: accuracies lay within 0.02,
R² within 0.01, nats within 0.1 of each other. What is allowed here is three times that, or ten examples.
"""

from __future__ import annotations

import csv
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.fakes.waiting import PATIENCE_S
from tests.trainer.in_engine import engine_python, run_in_engine
from tests.trainer.results_of import OWN
from tests.trainer.training import planned, put, train
from tpu_studio.local import formats
from tpu_studio.wire import exports
from tpu_studio.wire.errors import RunError

pytestmark = [pytest.mark.engine, pytest.mark.slow]
FORM = exports.by_id("keras-script")
COLOURS = {"red": (190, 60, 60), "green": (60, 180, 60), "dark 'n' blue": (60, 60, 200)}


@dataclass(frozen=True)
class Case:
    """*near*: how far the script's metric may be from the run's."""

    model: Mapping[str, Any]
    data: Mapping[str, Any]
    training: Mapping[str, Any]
    metric: str
    near: float


CASES = {
    "digits": Case({"name": "mlp", "options": {"width": 64, "layers": 2}}, {}, {"epochs": 12}, "val_accuracy", 0.06),
    "houses": Case({"name": "mlp", "options": {"width": 64, "layers": 2}}, {}, {"epochs": 40}, "val_r2", 0.05),
    "pictures": Case(
        {"name": "small-cnn", "options": {"blocks": 2, "width": 8}},
        {"image_size": 16},
        {"epochs": 30, "evaluate_every": 60},
        "val_accuracy",
        0.42,  # of 24 unseen ones
    ),
    "play": Case(
        {"name": "gpt-nano", "options": {"layers": 2, "width": 32, "heads": 2}},
        {"sequence_length": 32},
        {"steps": 150, "evaluate_every": 70},
        "val_nats_per_token",
        0.3,
    ),
}


def data_of(name: str, folder: Path) -> dict[str, Any]:
    dice = np.random.default_rng(0)
    match name:
        case "digits":
            return {"kind": "digits"}
        case "houses":
            path = folder / 'houses of "Zoë".csv'
            with open(path, "w", newline="") as file:
                writer = csv.writer(file, delimiter=";")
                writer.writerow(["size", "kind", "age", "price"])
                for number in range(400):
                    size, age = dice.uniform(10, 200), int(dice.integers(0, 90))
                    kind = ("house", "flat", "hut")[number % 3]
                    price = 3 * size + {"house": 200, "flat": 80, "hut": 0}[kind] - age + dice.normal(0, 10)
                    writer.writerow([f"{size:.1f}" if number % 17 else "", kind, age, f"{price:,.2f} €"])
            return {"kind": "table", "path": str(path), "target": "price"}
        case "pictures":
            for label, colour in COLOURS.items():
                (folder / label).mkdir()
                for number in range(40):
                    noise = dice.integers(-60, 60, (40, 52 + number, 3))
                    made = Image.fromarray(np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8))
                    made.save(folder / label / f"{number}.{('png', 'jpg')[number % 2]}")
            return {"kind": "images", "path": str(folder)}
        case _:
            path = folder / "play.txt"
            path.write_text("To be, or not to be — that is the question: whether 'tis nobler\r\n" * 300, newline="")
            return {"kind": "text", "path": str(path)}


@dataclass(frozen=True)
class Trained:
    run: Path
    script: Path
    final: Mapping[str, float]
    written: formats.Written


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Trained]:
    found = {}
    for name, case in CASES.items():
        folder = tmp_path_factory.mktemp(name)
        tree = {"name": name, "model": dict(case.model), "data": {**data_of(name, folder), **case.data}}
        run = put(tmp_path_factory.mktemp("runs") / name, planned(tree, framework="jax", **case.training))
        final = train(run).events[-1]["final"]
        script = folder.parent / f"{name}.py"
        found[name] = Trained(run, script, final, formats.write(engine_python(), run, FORM, script))
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_script_trains_by_itself_to_about_the_same(trained: dict[str, Trained], name: str, tmp_path: Path) -> None:
    one, case = trained[name], CASES[name]
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "KERAS", "TPU_STUDIO"))}
    argv = [str(engine_python()), "-I", str(one.script)]
    env = clean | {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "error"}
    done = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "tpu_studio" not in one.script.read_text(encoding="utf-8")
    printed = dict(re.findall(r"^(val_\w+) = (\S+)", done.stdout, re.MULTILINE))
    assert float(printed[case.metric]) == pytest.approx(one.final[case.metric], abs=case.near)


def test_it_has_the_models_of_the_runs_by_name_and_size_and_they_answer_alike(trained: dict[str, Trained]) -> None:
    pairs = [str(path) for one in trained.values() for path in (one.run, one.script)]
    told = run_in_engine(Path(__file__).with_name("program_script.py"), *pairs, backend="jax")
    for name, seen in zip(trained, told, strict=True):
        assert seen["counts"][0] == seen["counts"][1] > 0 and seen["tensors"][0] == seen["tensors"][1], name
        assert seen["difference"] <= 1e-5 < seen["spread"], name


def test_what_was_checked_before_it_is_there(trained: dict[str, Trained]) -> None:
    for name, examples in (("digits", 1797), ("houses", 400), ("pictures", 120)):
        written = trained[name].written
        assert (written.checked, written.count) == ("script", examples) and written.difference <= 1e-5


def test_a_model_of_ones_own_is_refused_without_being_run(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text(OWN)
    plan = planned({"name": "own", "model": {"file": str(own)}, "data": {"kind": "digits"}}, consent="0" * 64, epochs=1)
    run = put(tmp_path / "run", plan)
    (run / "result").mkdir()
    (run / "result" / "model.keras").write_bytes(b"not opened")
    card = '{"format": 1, "task": "classification", "data": {"kind": "digits"}, "own": {"sha256": "0"}}'
    (run / "result" / "model.json").write_text(card)
    with pytest.raises(RunError) as refused:
        formats.write(engine_python(), run, FORM, tmp_path / "own.py")
    assert (refused.value.id, refused.value.facts["why"]) == ("export-no-script", "own-model")
    assert not (tmp_path / "own.py").exists()
