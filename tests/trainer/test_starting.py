"""Training from starter weights: the last layer on features made once, then all of the model.

The weights are drawn by chance (`program_starter`): nothing is fetched, and what they know does not matter here. Most
trainings are of a network that has a few of the blocks (`light_engine`): how deep it is does not matter there either.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.trainer.in_engine import ROOT, engine_python, environment, run_in_engine
from tests.trainer.training import Training, curve, planned, put
from tpu_studio.wire import plan as plans
from tpu_studio.wire.plan import Plan

pytestmark = [pytest.mark.engine, pytest.mark.slow]
PROGRAM = Path(__file__).with_name("models") / "program_starter.py"
STEPS, UNFREEZE_AT = 20, 8
RHYTHM = {"framework": "jax", "steps": STEPS, "unfreeze_at": UNFREEZE_AT, "checkpoint_every": 4, "evaluate_every": 4}


@dataclass(frozen=True)
class Ground:
    """*engine*: the folder in which starter weights of a short network lie; *hands*: 48 photographs of two kinds."""

    engine: Path
    hands: Path

    def plan(self, **training: Any) -> Plan:
        data = {"kind": "images", "path": str(self.hands), "image_size": 32}
        tree = {"name": "hands", "model": {"name": "efficientnet-lite0"}, "data": data}
        return planned(tree, **RHYTHM | training)

    def training(self, run: Path, attempt: int = 1) -> Training:
        return Training(run, attempt, self.environment(run.parent))

    def environment(self, home: Path) -> dict[str, str]:
        told = {"LIGHT_ENGINE_STARTER": "short", "TPU_STUDIO_ENGINE": str(self.engine)}
        return told | {"TPU_STUDIO_HOME": str(home)}

    def train(self, run: Path, attempt: int = 1) -> Training:
        with self.training(run, attempt) as training:
            training.outcome()
        return training


def tensors(file: Path) -> dict[str, Any]:
    """Of a safetensors file: the length of its table, the table, the numbers."""
    data = file.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    table = {name: one for name, one in json.loads(data[8:start]).items() if name != "__metadata__"}
    kinds = {"F32": np.float32, "I64": np.int64, "U32": np.uint32}
    return {
        name: np.frombuffer(data[start:][slice(*one["data_offsets"])], kinds.get(one["dtype"], np.uint8)).reshape(
            one["shape"] if one["dtype"] in kinds else -1
        )
        for name, one in table.items()
    }


def newest(run: Path) -> tuple[dict[str, Any], dict[str, Any], Path]:
    """Tensors and position of the last copy, and where it is."""
    folder = max((run / "checkpoints").iterdir())
    return tensors(folder / "state.safetensors"), json.loads((folder / "data-w000.json").read_bytes()), folder


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    root = tmp_path_factory.mktemp("starting")
    run_in_engine(PROGRAM, "shortened", str(root / "engine" / "starter-weights"))
    for kind in ("2", "7"):
        (root / "hands" / kind).mkdir(parents=True)
        for picture in sorted((ROOT / "resources" / "samples" / "sign-digits" / kind).iterdir())[:24]:
            shutil.copy(picture, root / "hands" / kind)
    return Ground(root / "engine", root / "hands")


def test_every_published_tensor_has_its_place_and_the_norms_stay_as_they_are(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(plans.dumps(ground.plan()))
    python = engine_python()
    monkeypatch.setattr("tests.trainer.in_engine.engine_python", lambda: python)
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path / "engine"))
    made, filled = run_in_engine(PROGRAM, "filled", str(file))

    # What the published one has, with two answers in place of a thousand; from nothing, too, its answers differ.
    assert (made["tensors"], made["params"]) == (245, 4_652_008 - 1281 * 1000 + 1281 * 2)
    assert 1e-3 < made["spread"] < 100
    assert filled == {
        "same": True,
        "tensors": 245,
        "left": ["answer/bias", "answer/kernel"],
        "learn": ["bias", "kernel"],
        "halves": True,
    }


@pytest.fixture(scope="session")
def uninterrupted(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Training]]:
    """``uninterrupted(framework)``: its home, and a training there that nobody killed; one for each framework."""
    made: dict[str, tuple[Path, Training]] = {}

    def of(framework: str) -> tuple[Path, Training]:
        if framework not in made:
            home = tmp_path_factory.mktemp(framework)
            made[framework] = home, ground.train(put(home / "whole", ground.plan(framework=framework)))
        return made[framework]

    return of


@pytest.mark.parametrize(
    ("framework", "killed_at"),
    [
        pytest.param("tensorflow", 4, id="tensorflow, before", marks=pytest.mark.thorough),
        pytest.param("jax", 16, id="jax, after"),
        pytest.param("tensorflow", 16, id="tensorflow, after", marks=pytest.mark.thorough),
        pytest.param("jax", 4, id="jax, before", marks=pytest.mark.thorough),
    ],
)
def test_killed_on_either_side_of_the_unfreezing_it_goes_on_bit_for_bit(
    ground: Ground, uninterrupted: Callable[[str], tuple[Path, Training]], framework: str, killed_at: int
) -> None:
    home, whole = uninterrupted(framework)
    assert sorted(curve(whole)) == list(range(1, STEPS + 1))

    run = put(home / f"killed-{killed_at}", ground.plan(framework=framework))
    with ground.training(run) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= killed_at)
        killed.kill()
    resumed = ground.train(run, 2)

    step = resumed.kinds("resume")[0]["step"]
    assert step <= UNFREEZE_AT if killed_at < UNFREEZE_AT else step >= killed_at
    for metric in ("loss", "grad_norm", "val_loss", "learning_rate"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric
    assert len(list((home / "features").iterdir())) == 1  # of all runs on the same data


def test_features_of_a_picture_that_was_edited_to_equal_size_are_made_anew(ground: Ground, tmp_path: Path) -> None:
    """Data of the same names and sizes is the same to a look; what the network had seen before was trained on."""
    mine = replace(ground, hands=Path(shutil.copytree(ground.hands, tmp_path / "hands")))
    settings: dict[str, Any] = {"freeze": "backbone", "steps": 8}
    for number in range(2):
        mine.train(put(tmp_path / f"run{number}", mine.plan(**settings)))
    assert len(list((tmp_path / "features").iterdir())) == 1
    victim = next(path for path in sorted(mine.hands.rglob("*")) if path.is_file())
    size = victim.stat().st_size
    black = io.BytesIO()
    Image.new("RGB", (64, 64)).save(black, "JPEG")
    victim.write_bytes(black.getvalue().ljust(size, b"\0"))
    assert victim.stat().st_size == size
    mine.train(put(tmp_path / "run2", mine.plan(**settings)))
    assert len(list((tmp_path / "features").iterdir())) == 2


def test_copies_hold_what_learns_and_the_hash_of_what_does_not(ground: Ground, tmp_path: Path) -> None:
    run = put(tmp_path / "run", ground.plan(freeze="backbone", steps=8))
    ground.train(run)

    arrays, position, _ = newest(run)
    assert sorted(name for name in arrays if "seed_generator" not in name) == sorted(
        f"{kind}/answer/{name}" for kind in ("weights", "optimizer/m", "optimizer/v") for name in ("kernel", "bias")
    )
    file = next((ground.engine / "starter-weights").iterdir())
    assert position["base"] == hashlib.sha256(file.read_bytes()).hexdigest()
    before = tensors(file)
    made = run_in_engine(PROGRAM, "opened", str(run), backend="jax")  # all of it is in the result
    assert made == {"input": [None, 32, 32, 3], "output": [None, 2], "weights": len(before) + 2}


def test_after_the_unfreezing_all_of_it_learns_at_the_lower_rate(ground: Ground, tmp_path: Path) -> None:
    run = put(tmp_path / "run", ground.plan(schedule="constant", warmup=0.0))
    training = ground.train(run)

    rates = curve(training, name="learning_rate")
    assert {round(rate / rates[1], 6) for step, rate in rates.items() if step > UNFREEZE_AT} == {0.3}
    arrays, position, _ = newest(run)
    assert (position["step"], position["unfreeze_at"]) == (STEPS, UNFREEZE_AT)
    before = tensors(next((ground.engine / "starter-weights").iterdir()))
    stem = arrays["weights/stem_convolution/kernel"].transpose(3, 2, 0, 1)
    assert (stem != before["_conv_stem.weight"]).mean() > 0.9
    assert (arrays["others/stem_norm/moving_mean"] == before["_bn0.running_mean"]).all()


@pytest.mark.parametrize(("change", "why"), [(None, "starter-missing"), (b"torn", "starter-damaged")])
def test_without_the_published_weights_nothing_is_trained(
    ground: Ground, tmp_path: Path, change: bytes | None, why: str
) -> None:
    file = tmp_path / "engine" / "starter-weights" / "efficientnet-lite0.safetensors"
    if change:
        file.parent.mkdir(parents=True)
        file.write_bytes(change)
    told = {"TPU_STUDIO_ENGINE": str(tmp_path / "engine"), "TPU_STUDIO_HOME": str(tmp_path)}
    with Training(put(tmp_path / "run", ground.plan()), 1, told) as training:
        outcome = training.outcome()

    assert (outcome["reason"], outcome["facts"]["error"]) == ("model-refused", why)


def test_a_run_that_began_from_other_weights_is_not_gone_on_with(ground: Ground, tmp_path: Path) -> None:
    run = put(tmp_path / "run", ground.plan(steps=8, freeze="backbone"))
    ground.train(run)
    _, position, folder = newest(run)
    (folder / "data-w000.json").write_text(json.dumps({**position, "base": "0" * 64}))
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["sha256"]["data-w000.json"] = hashlib.sha256((folder / "data-w000.json").read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))

    with ground.training(run, 2) as training:
        outcome = training.outcome()
    assert (outcome["reason"], outcome["facts"]["error"]) == ("checkpoint-corrupt", "base-differs")


def test_both_stages_are_timed(ground: Ground, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(plans.dumps(ground.plan()))
    light = ROOT / "tests" / "fakes" / "light_engine.py"
    argv = [str(engine_python()), str(light), "time", "--plan", str(file), "--seconds", "0.5"]
    done = subprocess.run(
        argv,
        env=environment("tensorflow") | ground.environment(tmp_path),
        capture_output=True,
        timeout=240,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["steps"] >= 2 and found["step_time_s"] > 0
    published = tensors(next((ground.engine / "starter-weights").iterdir()))
    kernels = [one for one in published.values() if one.ndim == 4]
    features = len(published["_bn1.weight"])
    assert found["params"] == sum(one.size for one in kernels) + 2 * (features + 1)  # what learns: they and the answer
