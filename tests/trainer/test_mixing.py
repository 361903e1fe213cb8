"""Mixup and CutMix: two classes at once, each by its share, in every framework, on one device and on several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import DIAMONDS, HANDS, NOW, job
from tests.fakes.making import make_plan
from tests.trainer.in_engine import WELL_COMPILED, run_in_engine
from tests.trainer.training import Training, curve, planned, put, train
from tpu_studio.wire import frameworks

CNN: dict[str, Any] = {
    "name": "digits",
    "model": {"name": "small-cnn", "options": {"blocks": 2, "width": 16, "dropout": 0.0}},
    "data": {"kind": "digits", "augment": False},
}
RHYTHM = {"steps": 40, "evaluate_every": 20, "checkpoint_every": 20, "global_batch": 32}


@pytest.mark.parametrize(
    ("model", "kind", "look", "more"),
    [("mlp", "table", DIAMONDS, {}), ("small-cnn", "images", HANDS, {"freeze": "backbone"})],
    ids=["no pictures", "last layer alone"],
)
def test_where_nothing_is_mixed_that_is_pointed_out(model: str, kind: str, look: Any, more: dict[str, Any]) -> None:
    asked = make_plan(job(model, kind, training={"mix": "cutmix", **more}), look, now=NOW)
    assert {check.id: check.fix for check in asked.checks}["mix-unused"] == {"training.mix": "none"}
    pictures = make_plan(job("small-cnn", "images", training={"mix": "cutmix"}), HANDS, now=NOW)
    assert "mix-unused" not in {check.id for check in pictures.checks}


@pytest.mark.engine
@pytest.mark.parametrize("framework", frameworks.IDS)
def test_the_loss_is_that_of_both_classes_each_by_its_share(framework: str) -> None:
    told = run_in_engine(Path(__file__).with_name("program_mixing.py"), framework, backend=framework)
    assert told["loss"] == pytest.approx(told["wanted"], rel=1e-5)
    assert told["right"] == told["wanted_right"]
    assert told["whole"] == pytest.approx(told["plain"], rel=1e-6)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_it_learns_from_mixed_pictures_and_a_kill_changes_nothing(tmp_path: Path, framework: str) -> None:
    tree = {**CNN, "training": {"mix": "cutmix"}}
    made = planned(tree, framework=framework, **{**RHYTHM, "steps": 400, "evaluate_every": 100})
    whole = train(put(tmp_path / "whole", made), **WELL_COMPILED)
    final = whole.events[-1]["final"]
    assert final["val_accuracy"] > 0.9
    assert curve(whole, name="accuracy")[400] < final["val_accuracy"]  # no picture is wholly of its class

    with Training(put(tmp_path / "killed", made), environment=WELL_COMPILED) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 100)
        killed.kill()
    resumed = train(tmp_path / "killed", 2, **WELL_COMPILED)
    for name in ("loss", "accuracy", "val_loss"):
        assert curve(killed, resumed, name=name) == curve(whole, name=name), name


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("how", ["mixup", pytest.param("cutmix", marks=pytest.mark.thorough)])
def test_two_devices_mix_as_one_does(tmp_path: Path, how: str) -> None:
    """The first picture of the second device is mixed with the last of the first."""
    tree = {**CNN, "training": {"mix": how}}
    one, two = (
        train(put(tmp_path / str(devices), planned(tree, framework="jax", devices=devices, **RHYTHM)))
        for devices in (1, 2)
    )
    assert list(curve(two).values()) == pytest.approx(list(curve(one).values()), rel=1e-3)
