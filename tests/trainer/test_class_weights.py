"""Rare classes count more while a model learns, in every framework; what is measured of it stays what it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import HANDS, NOW, job
from tests.fakes.making import make_plan
from tests.trainer.in_engine import run_in_engine
from tests.trainer.training import Training, curve, planned, put
from tpu_studio.data.looked import Look
from tpu_studio.wire import frameworks, plan
from tpu_studio.wire.plan import Plan

PROGRAM = Path(__file__).with_name("program_class_weights.py")
UNEVEN = replace(HANDS, classes=(("cat", 900), ("dog", 100), ("owl", 20)), outputs=3)


def asked(look: Look, **training: Any) -> Plan:
    return make_plan(job("small-cnn", "images", training=training), look, now=NOW)


def test_the_plan_weighs_classes_that_are_not_as_frequent_as_each_other() -> None:
    uneven, even = asked(UNEVEN), asked(HANDS)
    assert uneven.job.training.class_weights == "balanced" and even.job.training.class_weights == "none"
    assert uneven.reasons["training.class_weights"] == (
        "The most frequent class has 45 times as many pictures as the rarest."
    )
    assert asked(UNEVEN, class_weights="none").job.training.class_weights == "none"


def test_where_there_are_no_classes_weights_for_them_are_pointed_out() -> None:
    from tests.fakes.looks import DIAMONDS

    prices = make_plan(job("mlp", "table", training={"class_weights": "balanced"}), DIAMONDS, now=NOW)
    found = {check.id: check.fix for check in prices.checks}
    assert found["class-weights-unused"] == {"training.class_weights": "auto"}


@pytest.mark.engine
@pytest.mark.parametrize("framework", frameworks.IDS)
def test_each_example_counts_as_rare_as_its_class_is_and_accuracy_does_not(tmp_path: Path, framework: str) -> None:
    looks = [UNEVEN, replace(UNEVEN, classes=(("cat", 9), ("dog", 9), ("owl", 9)))]
    files = [tmp_path / name for name in ("uneven", "even")]
    for file, look in zip(files, looks, strict=True):
        file.write_bytes(plan.dumps(asked(look, framework=framework)))

    measured = run_in_engine(PROGRAM, "measured", *map(str, files), backend=framework)
    for told, look in zip(measured, looks, strict=True):
        counts = [count for _, count in look.classes]
        weights = [sum(counts) / (3 * count) for count in counts]
        assert told["weights"] == (pytest.approx(weights) if look is UNEVEN else [])
        assert sum(one * count for one, count in zip(weights, counts, strict=True)) == pytest.approx(sum(counts))
        for side, found in told["found"].items():
            assert found == pytest.approx(told["wanted"][side], rel=1e-5), (look.classes, side)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_a_rare_class_is_learned_and_a_kill_changes_nothing(tmp_path: Path, framework: str) -> None:
    """Two classes that overlap, 20 times as many of the one: without weights the other is hardly ever named."""
    import random

    rng, rows = random.Random(0), ["x,y,kind"]
    for number in range(840):
        rare = number % 21 == 0
        rows.append(f"{rng.gauss(rare * 1.5, 1):.4f},{rng.gauss(0, 1):.4f},{'rare' if rare else 'usual'}")
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    tree = {
        "name": "rare",
        "model": {"name": "mlp", "options": {"width": 16, "layers": 1}},
        "data": {"kind": "table", "path": str(tmp_path / "table.csv"), "target": "kind"},
    }
    rhythm = {"steps": 120, "checkpoint_every": 40, "evaluate_every": 40, "framework": framework, "learning_rate": 0.02}
    accuracy = {}
    for weights in ("none", "auto"):
        made = planned(tree, **rhythm, class_weights=weights)
        assert made.job.training.class_weights == ("none" if weights == "none" else "balanced")
        with Training(put(tmp_path / weights, made)) as training:
            assert training.outcome()["status"] == "finished"
        accuracy[weights] = curve(training, name="val_accuracy")[120]
        whole = training
    assert accuracy["none"] > 0.93  # 20 of 21 are right without ever naming the rare one
    assert 0.6 < accuracy["auto"] < 0.9  # it is named, and as often wrongly as the classes overlap

    run = put(tmp_path / "killed", made)
    with Training(run) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 40)
        killed.kill()
    with Training(run, 2) as resumed:
        assert resumed.outcome()["status"] == "finished"
    for metric in ("loss", "accuracy", "val_loss"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric
