"""Which examples make up a step, and how large a correction is: pure functions of the step's number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tpu_studio.trainer.order import Order, evaluation_batches, generator
from tpu_studio.trainer.reports import short
from tpu_studio.trainer.schedule import AGAIN, FLOOR, Schedule, extension_steps


def test_an_epoch_shows_each_example_once_and_leaves_out_what_fills_no_batch() -> None:
    order = Order(103, 10, seed=0)
    seen = np.concatenate([order.indices(step) for step in range(10)])
    assert order.steps_per_epoch == 10
    assert len(seen) == len(set(seen.tolist())) == 100


def test_every_epoch_has_its_own_order_and_every_seed_too() -> None:
    first, second = Order(100, 100, 0), Order(100, 100, 1)
    assert first.indices(0).tolist() != first.indices(1).tolist()
    assert first.indices(0).tolist() != second.indices(0).tolist()


def test_a_step_has_the_same_examples_whatever_was_asked_before() -> None:
    order = Order(1000, 32, 7)
    forwards = [order.indices(step).tolist() for step in range(100)]
    assert [Order(1000, 32, 7).indices(step).tolist() for step in reversed(range(100))] == forwards[::-1]


def test_the_order_stays_the_same_for_ever() -> None:
    assert Order(10, 10, 0).indices(0).tolist() == [3, 9, 6, 1, 2, 8, 7, 5, 0, 4]


def test_fewer_examples_than_a_batch_stand_in_it_more_than_once() -> None:
    assert sorted(Order(3, 8, 0).indices(5).tolist()) in (
        [0, 0, 0, 1, 1, 1, 2, 2],
        [0, 0, 0, 1, 1, 2, 2, 2],
        [0, 0, 1, 1, 1, 2, 2, 2],
    )


@pytest.mark.parametrize(("examples", "batch"), [(10, 4), (8, 4), (1, 4), (7, 7)])
def test_evaluation_counts_every_example_exactly_once(examples: int, batch: int) -> None:
    counted = np.zeros(examples)
    for indices, weight in evaluation_batches(examples, batch):
        assert len(indices) == len(weight) == batch
        np.add.at(counted, indices, weight)
    assert counted.tolist() == [1.0] * examples


def test_the_random_numbers_of_a_step_depend_on_seed_step_and_purpose() -> None:
    drawn = {
        tuple(generator(seed, step, purpose).integers(0, 2**30, 3).tolist())
        for seed in (0, 1)
        for step in (0, 1)
        for purpose in (0, 1)
    }
    assert len(drawn) == 8


def test_the_rate_grows_to_its_peak_then_falls_along_a_cosine() -> None:
    rates = Schedule(1.0, 0.1, "cosine", (100,)).rates(0, 100)
    assert rates[0] == pytest.approx(1 / 11)
    assert rates[10] == pytest.approx(1.0)
    assert rates[55] == pytest.approx(FLOOR + (1 - FLOOR) * 0.5)  # half of the way down
    assert rates[99] == pytest.approx(FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * 89 / 90)))
    assert (np.diff(rates[10:]) < 0).all()


def test_an_extension_is_a_short_cycle_of_its_own_from_a_smaller_peak() -> None:
    first = Schedule(1.0, 0.0, "cosine", (100,))
    longer = first.extended(50)
    assert longer.steps == 150
    assert longer.rates(0, 100).tolist() == first.rates(0, 100).tolist()
    assert longer.rates(100, 50).max() == pytest.approx(AGAIN)
    assert longer.rates(149, 1)[0] < 0.02


def test_a_constant_rate_goes_on_through_an_extension() -> None:
    assert set(Schedule(0.5, 0.0, "constant", (10, 10)).rates(0, 20).tolist()) == {0.5}


def test_an_extension_is_counted_in_epochs() -> None:
    assert extension_steps(3, 44.0) == 132
    assert extension_steps(0.001, 44.0) == 1


def test_numbers_are_told_in_seven_digits_and_as_they_read() -> None:
    assert repr(short(np.float32([0.1, 1 / 3, 12345.678, 3e-9, 0.0]))) == "[0.1, 0.3333333, 12345.68, 3e-09, 0.0]"
    assert [repr(value) for value in short(np.array([np.nan, np.inf, -np.inf]))] == ["nan", "inf", "-inf"]
