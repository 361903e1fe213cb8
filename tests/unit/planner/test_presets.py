"""A model that begins from a KerasHub folder: what is planned with it, and what is said before anything is rented."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import HANDS, NOW, job
from tests.fakes.presets import unpacked
from tpu_studio.data.looked import ImageSizes, Look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.planner.modelwork import key_of_plan
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import JobError, RunError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import reading
from tpu_studio.workflow.planning import Draft, Sources, plan_job

MODEL = "kerashub-backbone"
LARGE = replace(HANDS, image_sizes=ImageSizes(400, 400, 400, 400, 400, 400))


def planned(
    preset: str | None,
    look: Look = HANDS,
    model: str = MODEL,
    base: str = "",
    free_bytes: int | None = None,
    **tables: Any,
) -> Plan:
    tables["model"] = tables.get("model", {}) | ({"preset": preset} if preset else {})
    asked = job(model, look.kind, **tables)
    return plan_job(Draft(replace(asked, base=base), look), Sources(SHIPPED, free_bytes=lambda: free_bytes), NOW).plan


@pytest.fixture
def vit(tmp_path: Path) -> Path:
    return unpacked("vit", tmp_path)


@pytest.fixture
def resnet(tmp_path: Path) -> Path:
    return unpacked("classifier", tmp_path)


def ids(plan: Plan) -> set[str]:
    return {check.id for check in plan.checks}


def test_it_is_planned_as_starter_weights_are_and_carries_the_base(resnet: Path) -> None:
    plan = planned(str(resnet))
    assert not plan.blocking
    assert plan.job.training.freeze == "head-first" and 0 < plan.job.training.unfreeze_at < plan.steps
    assert plan.preset_sha256 == plan.own_sha256 == reading.read(resnet).sha256
    assert plans.loads(plans.dumps(plan)) == plan


def test_a_path_beside_the_job_is_whole_in_the_plan(resnet: Path) -> None:
    plan = planned(f"./{resnet.name}", base=str(resnet.parent))
    assert Path(plan.job.model.preset) == resnet and not plan.blocking


def test_pictures_are_no_larger_than_it_learned_with(resnet: Path) -> None:
    assert planned(str(resnet), LARGE).job.data.image_size == 96
    edit = json.loads((resnet / "image_converter.json").read_text())
    edit["config"]["image_size"] = [300, 300]
    (resnet / "image_converter.json").write_text(json.dumps(edit))
    assert planned(str(resnet), LARGE).job.data.image_size == 288


def test_a_network_for_one_size_gets_pictures_of_that_size(vit: Path) -> None:
    plan = planned(str(vit))
    assert plan.job.data.image_size == 32 and "this size, and no others" in plan.reasons["data.image_size"]
    (check,) = planned(str(vit), data={"image_size": 64}).blocking
    assert (check.id, check.fix) == ("preset-one-size", {"data.image_size": "auto"})


def test_a_network_of_patches_gets_whole_ones(tmp_path: Path) -> None:
    dino = unpacked("dinov2", tmp_path)
    assert planned(str(dino), LARGE).job.data.image_size == 224
    (check,) = planned(str(dino), data={"image_size": 100}).blocking
    assert (check.id, check.facts["side"]) == ("preset-one-size", 96)


def test_it_says_where_the_folder_does_not_say_how_pictures_are_scaled(vit: Path, resnet: Path) -> None:
    assert "preset-without-scale" in ids(planned(str(vit))) and "preset-without-scale" not in ids(planned(str(resnet)))


@pytest.mark.parametrize("preset", [None, "none"])
def test_without_a_folder_it_is_not_begun(preset: str | None) -> None:
    assert {check.id for check in planned(preset).blocking} == {"preset-not-chosen"}


def test_what_is_wrong_with_the_folder_stands_in_the_plan(tmp_path: Path) -> None:
    (check,) = planned(str(tmp_path / "nothing")).blocking
    assert (check.id, check.facts["path"]) == ("preset-missing", str(tmp_path / "nothing"))
    (check,) = planned(str(unpacked("text", tmp_path))).blocking
    assert check.id == "preset-other-network" and "BertBackbone" in check.title


@pytest.mark.parametrize("model", ["small-cnn", "efficientnet-lite0"])
def test_a_folder_is_no_other_model_s(model: str, resnet: Path) -> None:
    with pytest.raises(JobError) as refused:
        planned(str(resnet), model=model)
    assert (refused.value.id, refused.value.facts["of"]) == ("job-preset-of-another", MODEL)


@pytest.mark.parametrize("preset", ["resnet_50", "hf://keras/resnet_50", "starter:efficientnet-lite0"])
def test_a_name_is_no_folder(preset: str) -> None:
    with pytest.raises(JobError):
        planned(preset)


@pytest.mark.parametrize("place", ["practice", "cloud"])
def test_a_rented_machine_is_brought_what_its_disk_has_room_for(
    place: str, resnet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = reading.read(resnet)
    for size, refused in ((seen.size_bytes, False), (5_000_000_000, False), (71_000_000_000, True)):
        monkeypatch.setattr(reading, "read", lambda _, size=size: replace(seen, size_bytes=size, files_bytes=size))
        plan = planned(str(resnet), free_bytes=100_000_000_000, where={"place": place})
        assert ["preset-needs-disk"] * refused == [check.id for check in plan.blocking][:1], plan.blocking
        assert plan.preset_bytes == size


@pytest.mark.parametrize("place", ["practice", "cloud"])
def test_what_it_is_brought_counts_for_time_and_money(
    place: str, resnet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, told = reading.read(resnet), []
    for size in (10_000_000, 4_010_000_000):
        monkeypatch.setattr(reading, "read", lambda _, size=size: replace(seen, size_bytes=size, files_bytes=size))
        told.append(planned(str(resnet), where={"place": place}))
    small, large = told
    gigabytes, seconds = 4, large.time_s.expected - small.time_s.expected
    assert seconds == pytest.approx(gigabytes * (1000 / 80 + 3 * 1000 / 400), rel=0.01)  # fetched, and read three times
    assert small.extras and large.extras
    kept = [plan.extras.usd("storage") for plan in told]
    assert kept[1] - kept[0] > gigabytes * 0.0186  # a month of it, in the cheapest region


def test_a_notebook_is_brought_none(resnet: Path) -> None:
    assert "starter-not-in-notebook" in {check.id for check in planned(str(resnet), where={"place": "colab"}).blocking}


def test_what_was_counted_counts_for_the_same_base_wherever_it_is(resnet: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(resnet, tmp_path / "moved")
    here, there = planned(str(resnet)), planned(str(moved))
    assert key_of_plan(here) == key_of_plan(there)
    weights = moved / "model.weights.h5"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    assert key_of_plan(planned(str(moved))) != key_of_plan(here)


@pytest.mark.parametrize("value", [7, "sha256", "A" * 64])
def test_a_plan_whose_base_is_no_hash_is_none(resnet: Path, value: object) -> None:
    with pytest.raises(RunError, match="plan-unreadable"):
        plans.from_json({**planned(str(resnet)).to_json(), "preset_sha256": value})
