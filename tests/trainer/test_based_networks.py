"""A network of a KerasHub folder that has learned one set of photographs is what the next training begins from.

The folder is gone in each of these: the result says the network. What is taken over, and what is drawn anew.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.presets import names, unpacked
from tests.trainer.in_engine import ROOT
from tests.trainer.test_based import train
from tests.trainer.test_based_kinds import differing
from tests.trainer.test_starting import newest
from tests.trainer.training import Training, curve, put
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.wire import plan as plans
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job

pytestmark = [pytest.mark.engine, pytest.mark.slow]
BASE = "hands-ab12"
LEARNS = {"steps": 6, "learning_rate": 0.003, "evaluate_every": 3, "checkpoint_every": 3}
STILL = {"steps": 1, "learning_rate": 1e-9, "weight_decay": 0.0, "evaluate_every": 1, "checkpoint_every": 1}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    return tmp_path


def hands(to: Path, *kinds: str) -> Path:
    for kind in kinds:
        (to / kind).mkdir(parents=True)
        for picture in sorted((ROOT / "resources" / "samples" / "sign-digits" / kind).iterdir())[:16]:
            shutil.copy(picture, to / kind)
    return to


def planned(run: str, preset: str, data: Path, framework: str = "tensorflow", **training: Any) -> Plan:
    size = {"image_size": reading.read(Path(preset)).nearest(32)} if not preset.startswith("run:") else {}
    tree = {
        "name": "hands",
        "model": {"name": "kerashub-backbone", "preset": preset},
        "data": {"kind": "images", "path": str(data)} | size,
        "training": {"framework": framework, "precision": "float32", "freeze": "none"} | training,
    }
    job = parse(tree)
    plan = plan_job(Draft(job, look(job)), Sources(SHIPPED), 0.0).plan
    assert not plan.blocking, plan.blocking
    return plans.from_json({**plan.to_json(), "run": run})


def trained(home: Path, run: str, preset: str, data: Path, framework: str = "tensorflow", **training: Any) -> Training:
    return train(put(home / "runs" / run, planned(run, preset, data, framework, **training)))


def card(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "result" / "model.json").read_text())
    return found


OTHERS = [one for one in names() if one not in ("resnet", "dinov2")]


@pytest.mark.parametrize(
    "name", ["resnet", "dinov2", *(pytest.param(one, marks=pytest.mark.thorough) for one in OTHERS)]
)
def test_it_begins_where_the_other_run_ended_though_the_folder_is_gone(home: Path, name: str) -> None:
    """On the same pictures, without a step worth the name, the loss on what is kept aside is the same one."""
    data = hands(home / "hands", "2", "7")
    first = trained(home, BASE, str(unpacked(name, home)), data, **LEARNS).run
    shutil.rmtree(home / name)
    still = STILL | {"freeze": "backbone"}  # a step moves the averages of normalisation, however small it is
    again = trained(home, "again-cd34", f"run:{BASE}", data, "jax", **still)
    assert card(again.run)["data"]["image_size"] == card(first)["data"]["image_size"]
    losses = curve(again, name="val_loss")
    assert losses[max(losses)] == pytest.approx(card(first)["trained"]["final"]["val_loss"], rel=1e-4)
    assert card(again.run)["network"] == card(first)["network"]
    assert card(again.run)["began_from"]["run"] == BASE


@pytest.mark.parametrize("freeze", ["backbone", pytest.param("none", marks=pytest.mark.thorough)])
def test_other_pictures_have_a_last_layer_of_their_own_and_the_rest_is_the_runs(home: Path, freeze: str) -> None:
    first = trained(home, BASE, str(unpacked("resnet", home)), hands(home / "one", "2", "7"), **LEARNS).run
    shutil.rmtree(home / "resnet")
    more = STILL | {"freeze": freeze}
    second = trained(home, "second", f"run:{BASE}", hands(home / "two", "1", "3", "5"), **more).run
    if freeze == "none":
        assert not {one for one in differing(first, second) if "moving_" not in one}
    third = trained(home, "third", "run:second", home / "two", **STILL).run  # a chain
    assert card(third)["network"] == card(first)["network"] and newest(third)[1]["base"]


def test_killed_it_goes_on_bit_for_bit(home: Path) -> None:
    trained(home, BASE, str(unpacked("vit", home)), hands(home / "hands", "2", "7"), **LEARNS)
    shutil.rmtree(home / "vit")
    rhythm = {"steps": 12, "unfreeze_at": 6, "checkpoint_every": 3, "evaluate_every": 3, "freeze": "head-first"}
    plan = planned("any", f"run:{BASE}", home / "hands", "jax", **rhythm)
    whole = train(put(home / "runs" / "whole", plan))
    run = put(home / "runs" / "killed", plan)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 3)
        killed.kill()
    resumed = train(run, 2)
    for metric in ("loss", "val_loss"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric
