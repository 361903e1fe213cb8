"""Training from a KerasHub folder: what a kill leaves, what a copy holds, what becomes of a folder that changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.fakes.presets import unpacked
from tests.trainer.in_engine import ROOT, run_in_engine
from tests.trainer.test_starting import PROGRAM, newest, tensors
from tests.trainer.training import Training, curve, put
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.wire import plan as plans
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job

pytestmark = [pytest.mark.engine, pytest.mark.slow]
STEPS, UNFREEZE_AT = 12, 6


@pytest.fixture
def hands(tmp_path: Path) -> Path:
    """Pictures of two kinds."""
    for kind in ("2", "7"):
        (tmp_path / "hands" / kind).mkdir(parents=True)
        for picture in sorted((ROOT / "resources" / "samples" / "sign-digits" / kind).iterdir())[:24]:
            shutil.copy(picture, tmp_path / "hands" / kind)
    return tmp_path / "hands"


def planned(folder: Path, hands: Path, framework: str, **training: object) -> Plan:
    rhythm = {"steps": STEPS, "unfreeze_at": UNFREEZE_AT, "checkpoint_every": 3, "evaluate_every": 3}
    tree = {
        "name": "hands",
        "model": {"name": "kerashub-backbone", "preset": str(folder)},
        "data": {"kind": "images", "path": str(hands), "image_size": 32},
        "training": rhythm | {"framework": framework} | training,
    }
    job = parse(tree)
    plan = plan_job(Draft(job, look(job)), Sources(SHIPPED), 0.0).plan
    assert not plan.blocking
    return plans.from_json({**plan.to_json(), "run": "test-0000"})


def train(run: Path, attempt: int = 1) -> Training:
    with Training(run, attempt, {"TPU_STUDIO_HOME": str(run.parent)}) as training:
        assert training.outcome()["status"] == "finished", training.outcome()
    return training


@pytest.mark.parametrize(
    ("framework", "name", "killed_at"),
    [
        pytest.param("jax", "vit", 9, id="after"),
        pytest.param("tensorflow", "vit", 9, id="after, in TensorFlow", marks=pytest.mark.thorough),
        pytest.param("jax", "resnet-vd", 3, id="before", marks=pytest.mark.thorough),
    ],
)
def test_killed_on_either_side_of_the_unfreezing_it_goes_on_bit_for_bit(
    tmp_path: Path, hands: Path, framework: str, name: str, killed_at: int
) -> None:
    folder = unpacked(name, tmp_path)
    plan = planned(folder, hands, framework)
    whole = train(put(tmp_path / "whole", plan))
    arrays, position, _ = newest(whole.run)
    assert position["base"] == plan.preset_sha256 == reading.read(folder).sha256
    assert any(not key.endswith(("answer/kernel", "answer/bias")) for key in arrays)  # all of it learned
    assert not any("moving_mean" in key and key.startswith("weights/") for key in arrays)

    run = put(tmp_path / "killed", plan)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(tmp_path)}) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= killed_at)
        killed.kill()
    resumed = train(run, 2)
    for metric in ("loss", "val_loss", "learning_rate"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric

    made = run_in_engine(PROGRAM, "opened", str(whole.run), backend="jax")  # with Keras alone
    assert made["input"] == [None, 32, 32, 3] and made["output"] == [None, 2]
    card = json.loads((whole.run / "result" / "model.json").read_text())
    assert card["began_from"] == {"network": reading.read(folder).kind, "sha256": plan.preset_sha256}


def test_a_frozen_base_is_not_in_a_copy(tmp_path: Path, hands: Path) -> None:
    run = train(put(tmp_path / "run", planned(unpacked("vit", tmp_path), hands, "tensorflow", freeze="backbone"))).run
    arrays = tensors(newest(run)[2] / "state.safetensors")
    assert {name.split("/")[-2] for name in arrays if name.startswith("weights/")} == {"answer"}


def test_a_folder_that_changed_since_the_plan_trains_nothing(tmp_path: Path, hands: Path) -> None:
    folder = unpacked("vit", tmp_path)
    run = put(tmp_path / "run", planned(folder, hands, "jax"))
    weights = folder / "model.weights.h5"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    with Training(run, 1, {"TPU_STUDIO_HOME": str(tmp_path)}) as training:
        outcome = training.outcome()
    assert (outcome["reason"], outcome["facts"]["error"]) == ("model-refused", "preset-changed")
