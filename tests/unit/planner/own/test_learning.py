"""What own runs make of the model's next answer."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tpu_studio.planner.own import Lesson, OwnRun, OwnRuns
from tpu_studio.planner.own.likeness import Traits, likeness
from tpu_studio.wire import places
from tpu_studio.wire.plan import Range

HERE = Traits(
    "computer",
    framework="tensorflow",
    precision="float32",
    family="mlp",
    model="mlp",
    batch_per_chip=32,
    params=1e5,
    length=8,
    per_call=4,
    key="this",
)
THERE = replace(HERE, place="cloud", generation="v5e", framework="jax", precision="bfloat16", chips=8)
MODEL = Range(0.002, 0.005, 0.02)


def run(number: int, step_s: float, traits: Traits = HERE, modelled: Range = MODEL) -> OwnRun:
    return OwnRun(f"run-{number}", 1e9 + number, traits, None, {"step_s": step_s}, {"step_s": modelled})


def learned(*step_s: float, traits: Traits = HERE, asked: Traits = HERE) -> Lesson:
    runs = [run(number, seconds, traits) for number, seconds in enumerate(step_s)]
    lesson = OwnRuns(list(reversed(runs))).correct("step_s", asked, MODEL)
    assert lesson is not None
    return lesson


def width(lesson: Lesson) -> float:
    return math.log(lesson.seconds.high / lesson.seconds.low)


def test_without_runs_the_model_stands_alone():
    assert OwnRuns().correct("step_s", HERE, MODEL) is None


def test_one_run_of_the_same_work_brings_the_estimate_close_to_what_was_measured_and_makes_it_narrow():
    lesson = learned(0.010)  # twice as slow as the model expects
    assert lesson.seconds.expected == pytest.approx(0.010, rel=0.1)
    assert lesson.seconds.low < 0.010 < lesson.seconds.high
    assert lesson.same == 1 and lesson.runs == ("run-0",)
    assert width(lesson) < 0.4 * math.log(MODEL.high / MODEL.low)


def test_more_runs_that_agree_make_it_narrower_but_never_narrower_than_one_run_differs_from_the_next():
    widths = [width(learned(*[0.010] * count)) for count in (1, 2, 3, 6, 12)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] >= 2 * 1.28 * places.by_id("computer").noise  # 80 % of a normal of that deviation


@pytest.mark.parametrize("wild", [0.001, 0.1, 1.0])
def test_one_wild_run_among_others_moves_little(wild: float):
    agreeing = (0.0100, 0.0104, 0.0097)
    without, with_it = learned(*agreeing), learned(*agreeing, wild)
    assert with_it.seconds.expected == pytest.approx(without.seconds.expected, rel=0.1)
    assert width(with_it) < 1.5 * width(without)


def test_a_single_run_that_contradicts_the_model_makes_the_range_wide_until_a_second_one_agrees():
    alone, confirmed = learned(0.05), learned(0.05, 0.05)
    assert width(alone) > 2 * width(confirmed)
    assert confirmed.seconds.low < 0.05 < confirmed.seconds.high


def test_runs_that_contradict_each_other_make_the_range_span_them():
    lesson = learned(0.01, 0.01, 0.01, 0.1, 0.1)
    assert lesson.seconds.low < 0.01 * 1.2 and lesson.seconds.high > 0.05


def test_what_is_alike_teaches_less_than_the_same():
    half_the_batch = learned(0.010, traits=replace(HERE, batch_per_chip=16, key="other"))
    assert 0.006 < half_the_batch.seconds.expected < learned(0.010).seconds.expected
    assert width(half_the_batch) > width(learned(0.010))
    assert half_the_batch.same == 0


def test_another_kind_of_work_teaches_nothing():
    other = replace(HERE, framework="jax", family="gpt", model="gpt-nano", precision="bfloat16", params=1e8, key="o")
    assert OwnRuns([run(1, 0.010, other)]).correct("step_s", HERE, MODEL) is None


@pytest.mark.parametrize("place", ["computer", "practice", "colab"])
def test_what_ran_elsewhere_never_informs_a_rented_tpu(place: str):
    elsewhere = [run(number, 5.0, replace(THERE, place=place)) for number in range(6)]
    assert OwnRuns(elsewhere).correct("step_s", THERE, MODEL) is None
    beside = OwnRuns([*elsewhere, run(9, 0.006, THERE)]).correct("step_s", THERE, MODEL)
    alone = OwnRuns([run(9, 0.006, THERE)]).correct("step_s", THERE, MODEL)
    assert beside == alone


def test_times_of_setting_up_and_compiling_are_learned_apart_from_steps():
    starts = OwnRun("r", 1.0, HERE, None, {"setup_s": 20.0}, {"step_s": MODEL, "setup_s": Range(5, 10, 25)})
    assert OwnRuns([starts]).correct("step_s", HERE, MODEL) is None
    setup = OwnRuns([starts]).correct("setup_s", HERE, Range(5, 10, 25))
    assert setup is not None and 14 < setup.seconds.expected < 20.5


def test_any_runs_give_a_range_that_makes_sense():
    """Random runs, 300 times: low < expected < high, and no narrower than the noise."""
    random = np.random.default_rng(4)
    for _ in range(300):
        traits = [
            replace(
                HERE,
                framework=str(random.choice(["jax", "tensorflow"])),
                batch_per_chip=float(2 ** random.integers(0, 10)),
                params=float(10 ** random.uniform(3, 9)),
                key=str(random.integers(0, 5)),
            )
            for _ in range(random.integers(1, 20))
        ]
        runs = [run(at, float(10 ** random.uniform(-5, 2)), one) for at, one in enumerate(traits)]
        lesson = OwnRuns(runs).correct("step_s", traits[0], MODEL)
        assert lesson is not None
        found = lesson.seconds
        assert 0 < found.low < found.expected < found.high < math.inf
        assert width(lesson) >= 2 * 1.28 * places.by_id("computer").noise


def test_likeness_is_a_correlation():
    """1 to itself, the same both ways, and no set of runs has a negative eigenvalue."""
    random = np.random.default_rng(7)
    some = [
        Traits(
            "cloud",
            str(random.choice(["v4", "v5e", "v6e"])),
            "jax",
            "bfloat16",
            str(random.choice(["gpt", "cnn"])),
            "m",
            float(2 ** random.integers(0, 9)),
            int(2 ** random.integers(0, 6)),
            float(10 ** random.uniform(4, 9)),
            64.0,
            8,
            str(random.integers(0, 3)),
        )
        for _ in range(24)
    ]
    matrix = np.array([[likeness(one, other) for other in some] for one in some])
    assert (np.diag(matrix) == 1).all() and np.allclose(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9
