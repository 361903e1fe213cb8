"""A network that began from a KerasHub folder, begun from as its run has left it: what is planned, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bases import RUN, pictured, run
from tests.fakes.looks import HANDS, NOW, job
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.wire import plan as plans
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job

MODEL, PRESET = "kerashub-backbone", f"run:{RUN}"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    return tmp_path


def planned(model: str = MODEL, **tables: Any) -> Plan:
    tables["model"] = {"preset": PRESET}
    return plan_job(Draft(job(model, "images", **tables), HANDS), Sources(SHIPPED), NOW).plan


@pytest.mark.parametrize("name", ["resnet", "efficientnet", "mobilenet", "vit", "dinov2"])
def test_it_is_planned_though_its_folder_is_gone(home: Path, name: str) -> None:
    side = 24 if name == "dinov2" else 32
    folder = run(home, pictured(name, home, side))
    plan = planned()
    assert not plan.blocking and plan.preset_sha256 == reading.read(folder / "result").sha256
    assert plan.job.data.image_size == side and plans.loads(plans.dumps(plan)) == plan
    (check,) = (one for one in plan.checks if one.id == "base-taken-over")
    assert check.facts["head"] is True


def test_one_with_places_sees_pictures_of_that_size_alone(home: Path) -> None:
    run(home, pictured("dinov2", home, 24))
    (check,) = planned(data={"image_size": 40}).blocking
    assert (check.id, check.fix) == ("base-one-size", {"data.image_size": "auto"})


def test_another_model_is_one_press_away(home: Path) -> None:
    run(home, pictured("resnet", home))
    (check,) = planned("small-cnn").blocking
    assert (check.id, check.fix) == ("base-of-another-model", {"model.name": MODEL, "model.preset": PRESET})
