"""A training that is killed and started again gives what it would have given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.trainer.training import DIGITS, Training, curve, planned, put, train

pytestmark = [pytest.mark.engine, pytest.mark.slow]

CNN = {
    "name": "digits",
    "model": {"name": "small-cnn", "options": {"blocks": 2, "width": 8, "dropout": 0.2}},
    "data": {"kind": "digits"},
}


@pytest.mark.parametrize(
    ("framework", "model", "every", "steps", "devices"),
    [
        ("jax", DIGITS, 64, 2000, 1),
        pytest.param("tensorflow", CNN, 20, 400, 1, marks=pytest.mark.thorough),
        pytest.param("tensorflow", DIGITS, 64, 2000, 1, marks=pytest.mark.thorough),
        pytest.param("tensorflow", DIGITS, 64, 600, 2, marks=pytest.mark.thorough),
        pytest.param("jax", CNN, 20, 130, 1, marks=pytest.mark.thorough),
    ],
)
def test_killed_at_any_moment_and_resumed_gives_the_same_losses_bit_for_bit(
    tmp_path: Path, framework: str, model: dict[str, Any], every: int, steps: int, devices: int
) -> None:
    plan = planned(
        model, devices=devices, framework=framework, steps=steps, checkpoint_every=every, evaluate_every=every * 2
    )
    anew = {"JAX_ENABLE_COMPILATION_CACHE": "0" if model is DIGITS else "1"}  # compiled again is the same, too
    whole = train(put(tmp_path / "whole", plan), cold=True, **anew)

    killed = Training(put(tmp_path / "killed", plan), environment=anew, cold=True)
    with killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= steps // 3)
        killed.kill()
    resumed = train(tmp_path / "killed", 2, cold=True, **anew)

    resume = resumed.kinds("resume")[0]
    assert resume["attempt"] == 2
    assert steps // 3 <= resume["step"] < steps
    for name in ("loss", "grad_norm", "accuracy", "val_loss", "val_accuracy"):
        assert curve(killed, resumed, name=name) == curve(whole, name=name)
    assert sorted(curve(whole)) == list(range(1, steps + 1))
