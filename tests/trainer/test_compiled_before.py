"""The real trainer, with and without what an earlier one has compiled: the same numbers, and it says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.trainer.training import curve, planned, put, train
from tpu_studio.wire import frameworks
from tpu_studio.wire import plan as plans

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_a_program_compiled_before_is_taken_and_a_broken_one_compiled_again(tmp_path: Path) -> None:
    plan = replace(planned(framework="jax", steps=64, evaluate_every=32), place="practice", devices=2)
    plan = plans.from_json(plan.to_json())
    folder = tmp_path / "compiled"
    named = frameworks.by_id("jax").cache_environment
    kept = {name: value.format(folder=folder) for name, value in named.items()}
    kept["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"  # however quick this computer is

    first, second = (train(put(tmp_path / name, plan), **kept) for name in ("first", "second"))
    entries = sorted(folder.glob("jit_run_many-*-cache"))
    assert len(entries) == 1
    for entry in folder.glob("*-cache"):
        entry.write_bytes(entry.read_bytes()[: entry.stat().st_size // 2])
    third = train(put(tmp_path / "third", plan), **kept)

    told = [
        [one["facts"] for one in each.kinds("notice") if one["id"] == "compiled-before"] for each in (first, second)
    ]
    assert told[0] == []
    assert len(told[1]) == 1 and told[1][0]["programs"] >= 1
    assert curve(first) == curve(second) == curve(third)
    assert curve(first, name="val_loss") == curve(third, name="val_loss")
    assert [each.kinds("outcome")[0]["reason"] for each in (first, second, third)] == ["completed"] * 3
