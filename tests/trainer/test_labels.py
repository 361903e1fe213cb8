"""Pictures with several labels each: what is learned of them, measured, saved and answered, in every framework."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes.labelled import NAMES, mosaics
from tests.fakes.looks import HANDS, NOW, job
from tests.fakes.making import make_plan
from tests.fakes.presets import unpacked
from tests.trainer.in_engine import run_in_engine
from tests.trainer.test_pretrained import planned as begun
from tests.trainer.test_pretrained import train as begun_train
from tests.trainer.training import Training, curve, planned, put, train
from tpu_studio.data.looked import Look
from tpu_studio.trainer import recipe
from tpu_studio.trainer.evaluation import better, macro_f1
from tpu_studio.wire import frameworks

LABELLED = "multi-label"
LABELS = replace(HANDS, task=LABELLED, classes=(("beach", 600), ("dog", 100)), outputs=2, examples=1_000)
RHYTHM = {"steps": 180, "evaluate_every": 60, "checkpoint_every": 60, "global_batch": 16, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("labelled") / "photos"
    mosaics(root, 200)
    return root


def tree(photos: Path, **training: Any) -> dict[str, Any]:
    return {
        "name": "mosaics",
        "model": {"name": "small-cnn", "options": {"blocks": 2, "width": 8, "dropout": 0.0}},
        "data": {"kind": "images", "path": str(photos), "augment": False},
        "training": training,
    }


# ---------------------------------------------------------------------------------------------------------- in numbers


def test_macro_f1_is_the_mean_over_the_labels_that_any_example_has() -> None:
    """Of three: found three of four and said one too many; never said; and one that nobody has."""
    assert macro_f1([[3, 4, 4], [0, 0, 5], [0, 2, 0]]) == pytest.approx((0.75 + 0.0) / 2)
    assert math.isnan(macro_f1([[0, 0, 0]]))


def test_a_check_is_better_by_macro_f1_and_of_equals_by_its_loss() -> None:
    def of(f1: float, loss: float) -> dict[str, float]:
        return {"val_macro_f1": f1, "val_loss": loss}

    assert better(LABELLED, of(0.5, 2.0), of(0.4, 1.0))
    assert not better(LABELLED, of(0.4, 1.0), of(0.5, 2.0))
    assert better(LABELLED, of(0.5, 1.0), of(0.5, 2.0))
    assert better(LABELLED, of(math.nan, 1.0), of(math.nan, 2.0))


def test_what_weights_of_a_label_are_is_worked_out_as_of_two_classes() -> None:
    plan = make_plan(job("small-cnn", "images", training={"class_weights": "balanced"}), LABELS, now=NOW)
    made = recipe.from_plan(plan)
    assert made.class_weights == pytest.approx((1000 / 1200, 1000 / 200))
    assert made.absent_weights == pytest.approx((1000 / 800, 1000 / 1800))
    for count, present, absent in zip((600, 100), made.class_weights, made.absent_weights, strict=True):
        assert count * present + (1000 - count) * absent == pytest.approx(1000)  # 1 in the mean


def test_the_plan_leaves_probabilities_as_they_are_unless_asked() -> None:
    usual = make_plan(job("small-cnn", "images"), LABELS, now=NOW)
    assert (usual.task, usual.job.training.class_weights, usual.job.training.label_smoothing) == (LABELLED, "none", 0.0)
    asked = make_plan(
        job("small-cnn", "images", training={"class_weights": "balanced", "mix": "mixup"}), LABELS, now=NOW
    )
    assert not {"class-weights-unused", "mix-unused", "model-task-mismatch"} & {check.id for check in asked.checks}


@pytest.mark.parametrize("model", ["small-cnn", "efficientnet-lite0"])
def test_networks_for_pictures_can_learn_it(model: str) -> None:
    checks = make_plan(job(model, "images"), LABELS, now=NOW).checks
    assert not [check for check in checks if check.level == "error" and check.id.startswith("model-")]


def test_a_network_for_tables_cannot_and_that_is_said_with_what_can() -> None:
    told = {check.id: check for check in make_plan(job("mlp", "images"), LABELS, now=NOW).checks}
    assert told["model-task-mismatch"].title == "Simple network does not do multi-label classification"


@pytest.mark.engine
@pytest.mark.parametrize("framework", frameworks.IDS)
def test_loss_and_counts_are_those_of_the_formulas(framework: str) -> None:
    told = run_in_engine(Path(__file__).with_name("program_labels.py"), backend=framework)
    for name, (found, wanted) in told.items():
        assert np.asarray(found) == pytest.approx(np.asarray(wanted), rel=1e-5), name


# ------------------------------------------------------------------------------------------------------------ trained


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("framework", ["tensorflow", pytest.param("jax", marks=pytest.mark.thorough)])
def test_it_learns_labels_and_a_kill_changes_nothing(tmp_path: Path, photos: Path, framework: str) -> None:
    made = planned(tree(photos), framework=framework, **RHYTHM)
    assert made.task == LABELLED
    whole = train(put(tmp_path / "whole", made))
    final = whole.events[-1]["final"]
    assert final["val_macro_f1"] > 0.7
    assert curve(whole, name="val_macro_f1")[180] == pytest.approx(final["val_macro_f1"])

    with Training(put(tmp_path / "killed", made)) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 60)
        killed.kill()
    resumed = train(tmp_path / "killed", 2)
    for name in ("loss", "val_macro_f1", "val_loss"):
        assert curve(killed, resumed, name=name) == curve(whole, name=name), name

    card = json.loads((tmp_path / "whole" / "result" / "model.json").read_text())
    assert (
        json.loads((tmp_path / "killed" / "result" / "model.json").read_text())["trained"]["labels"]
        == (card["trained"]["labels"])
    )
    told = card["trained"]["labels"]
    assert [one["name"] for one in told] == card["classes"] == list(NAMES)
    f1 = [2 * one["precision"] * one["recall"] / (one["precision"] + one["recall"]) for one in told]
    assert sum(f1) / len(f1) == pytest.approx(final["val_macro_f1"])
    kept = dict(Look.from_json(made.data).classes)
    assert all(0 < one["examples"] < kept[one["name"]] for one in told)
    page = (tmp_path / "whole" / "result" / "report.html").read_text()
    assert "Labels on unseen data" in page and "Validation macro F1" in page
    assert f"<td>{told[0]['examples']:,}</td>" in page.split("Labels on unseen data")[1]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "more",
    [
        {"mix": "cutmix", "label_smoothing": 0.1, "class_weights": "balanced"},
        pytest.param({}, marks=pytest.mark.thorough),
    ],
)
def test_two_devices_learn_as_one_does(tmp_path: Path, photos: Path, framework: str, more: dict[str, Any]) -> None:
    rhythm = {**RHYTHM, "steps": 8, "evaluate_every": 4, "checkpoint_every": 8}
    one, two = (
        train(
            put(tmp_path / str(devices), planned(tree(photos, **more), framework=framework, devices=devices, **rhythm))
        )
        for devices in (1, 2)
    )
    alike = 1e-3 if framework == "jax" else 0.3  # TensorFlow normalises over each device's own share
    for name in ("loss", "val_loss"):
        assert list(curve(two, name=name).values()) == pytest.approx(list(curve(one, name=name).values()), rel=alike)
    assert set(curve(two, name="val_macro_f1")) == {4, 8}


@pytest.mark.engine
@pytest.mark.slow
def test_the_best_check_is_kept_with_what_it_found_of_each_label(tmp_path: Path, photos: Path) -> None:
    made = planned(tree(photos), framework="jax", **{**RHYTHM, "steps": 60, "evaluate_every": 6}, early_stopping=2)
    run = train(put(tmp_path / "run", made))
    checks = curve(run, name="val_macro_f1")
    card = json.loads((tmp_path / "run" / "result" / "model.json").read_text())
    assert max(checks.values()) == checks[card["trained"]["steps"]]
    assert card["trained"]["final"]["val_macro_f1"] == pytest.approx(max(checks.values()))
    f1 = [
        2 * one["precision"] * one["recall"] / (one["precision"] + one["recall"]) if one["precision"] else 0.0
        for one in card["trained"]["labels"]
    ]
    assert sum(f1) / len(f1) == pytest.approx(max(checks.values()))


@pytest.mark.engine
@pytest.mark.slow
def test_a_last_layer_on_a_network_of_ones_own_learns_labels_from_features_and_then_all_of_it(
    tmp_path: Path, photos: Path
) -> None:
    plan = begun(unpacked("vit", tmp_path), photos, "jax")
    assert (plan.task, plan.job.training.freeze) == (LABELLED, "head-first")
    run = begun_train(put(tmp_path / "run", plan))
    assert set(curve(run, name="val_macro_f1")) == {3, 6, 9, 12}
    card = json.loads((tmp_path / "run" / "result" / "model.json").read_text())
    assert [one["name"] for one in card["trained"]["labels"]] == card["classes"]
