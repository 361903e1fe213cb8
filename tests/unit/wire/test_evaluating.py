"""How many unseen examples are evaluated at once."""

from __future__ import annotations

import pytest

from tpu_studio.planner import work
from tpu_studio.wire.evaluating import NUMBERS, batch_of

GPT_124M = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50_257}


def test_wide_outputs_are_evaluated_as_many_at_once_as_in_training() -> None:
    widest = work.gpt(GPT_124M, tokens=1024).widest
    assert batch_of(8, widest, 1, 1000) == 8
    assert batch_of(8, widest, 8, 1000) == 8


def test_attention_between_many_positions_counts_as_wide() -> None:
    narrow = work.gpt({"layers": 2, "width": 64, "heads": 4, "vocabulary": 256}, tokens=1024).widest
    assert narrow == 4 * 1024 * 1024
    assert batch_of(2, narrow, 1, 1000) == 2


def test_narrow_models_take_more_at_once_than_in_training() -> None:
    assert batch_of(32, 256, 1, 100_000) > 1000


@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("examples", [1, 7, 217, 300, 1025, 5000])
def test_places_that_stay_empty_are_fewer_than_the_devices_a_call(examples: int, devices: int) -> None:
    batch = batch_of(32, NUMBERS // 64, devices, examples)
    calls = -(-examples // batch)
    assert batch % devices == 0
    assert calls * batch - examples < devices * calls


def test_where_a_model_hides_its_inside_a_part_of_a_step_is_the_measure() -> None:
    assert batch_of(16, None, 1, 10_000) == 16
    assert batch_of(16, None, 8, 10_000) == 16
