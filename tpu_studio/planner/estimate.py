"""How long and how much: ranges, narrow once a few real steps were timed, wide before.

A range means that eight of ten runs end inside it. Time counts everything from the press of Start to the saved model:
starting, setting up, compiling, steps, checks on unseen data, copies, the result. A timing measures each of these
(``trainer.timing``); without one each has a usual value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from tpu_studio.planner import rules
from tpu_studio.planner.auto import Resolved, significant
from tpu_studio.planner.computer import Computer
from tpu_studio.planner.own import Lesson, OwnRuns
from tpu_studio.planner.own.likeness import Traits
from tpu_studio.planner.timing import Timing
from tpu_studio.planner.work import FLOAT, Work
from tpu_studio.wire import frameworks, kinds
from tpu_studio.wire.plan import Range
from tpu_studio.wire.stops import MOST_HOURS

# Useful work of one processor core in float32 while training, in operations a second: dense layers and convolutions.
# About 60 were seen on each of two shared server cores with small models; laptops differ by far in both directions.
_DENSE = Range(8e9, 40e9, 120e9)
_CONVOLUTION = Range(8e9, 35e9, 70e9)
# From the press of Start to the training program's first word: claim, turn, interpreter. 0.25 to 0.4 s were seen.
_LAUNCH_S = 0.3
# Beside the result itself: curves of a run's length, the last words on the disk, the guardian's end. 0.1 to 0.5 s.
_CLOSE_S = 0.3
_WEIGHTS_WRITTEN = 2  # times in a result: .keras and SavedModel
_PICTURES_PER_S = 1500.0  # read, decoded and made smaller on one core
SAVE_BYTES_PER_S = 100e6

_GUESS = Range(0.5, 1.0, 2.5)  # for a duration nobody measured here
_MEASURED = Range(0.78, 1.0, 1.25)  # other programs come and go
_MEASURED_START = Range(0.6, 1.0, 1.4)  # reading from the disk varies more: the second start finds files in memory
_CONTRADICTS = math.log(1.6)  # a timing and own runs of the same work that are further apart do not agree


@dataclass(frozen=True)
class Estimate:
    """Attributes:
    setup_s: Before the first step: start, data, compiling.
    training_s: Steps, checks, copies, saving.
    measured: Whether real steps were timed.
    waiting: Share of the training in which a TPU waits for the next examples, as expected.
    modelled: What the bare model says: ``step_s``, ``setup_s``, ``compile_s``, here ``result_s`` (`planner.own`).
    lesson: What own runs made of the step; None: there are none like it.
    floor_s: What a step takes at least (`planner.floor`); None: on a processor.
    mfu: Model FLOPs over the chips' peak, 0 to 1; None: on a processor.
    """

    examples_per_s: Range
    setup_s: Range
    training_s: Range
    measured: bool
    why: str
    waiting: float = 0.0
    modelled: Mapping[str, Range] = field(default_factory=dict)
    lesson: Lesson | None = None
    floor_s: float | None = None
    mfu: Range | None = None

    @property
    def time_s(self) -> Range:
        return plus(self.setup_s, self.training_s)

    def cost_usd(self, usd_per_hour: float | None) -> Range:
        return self.time_s.scaled((usd_per_hour or 0.0) / 3600)


def estimate(
    resolved: Resolved, work: Work, computer: Computer, timing: Timing | None, own: OwnRuns, traits: Traits | None
) -> Estimate:
    """Args:
    own: Runs of before; those at the place of *traits* correct what the model says. None: a real TPU's, not ours.
    """
    modelled = _modelled(resolved, work, computer)
    lesson = own.correct("step_s", traits, modelled["step_s"]) if traits else None
    if timing and lesson and not lesson.same:
        lesson = None  # the timing is of this very work
    step = _step_s(modelled["step_s"], timing, lesson)
    job, batch = resolved.job, resolved.batch
    per_s = Range(batch / step.high, batch / step.expected, batch / step.low)
    if timing and (timing.setup_s or timing.compile_s):
        setup = times(_MEASURED_START, _LAUNCH_S + timing.setup_s + timing.compile_s)
    else:
        setup = plus(*(learned(own, name, traits, modelled[name]) for name in ("setup_s", "compile_s")))
    checks = math.ceil(resolved.steps / job.training.evaluate_every)
    copies = math.ceil(resolved.steps / job.training.checkpoint_every)
    if job.training.early_stopping:
        copies = max(copies, checks)  # each model that is better than those before it is kept
    if timing and timing.evaluation_s is not None:
        evaluation = times(_MEASURED, timing.evaluation_s)
    else:
        batches = math.ceil(resolved.validation / batch)
        evaluation = step.scaled(batches / 3)  # forward only: a third of a step's work
    if timing and timing.checkpoint_s is not None:
        copying = times(_MEASURED_START, timing.checkpoint_s)
    else:
        copying = times(_GUESS, 0.05 + work.params * FLOAT * 3 / SAVE_BYTES_PER_S)
    if timing and timing.result_s is not None:
        result = times(_MEASURED_START, timing.result_s + _CLOSE_S)
    else:
        result = learned(own, "result_s", traits, modelled["result_s"])
    training = step.scaled(resolved.steps)
    for part in (evaluation.scaled(checks), copying.scaled(copies), result):
        training = plus(training, part)
    if timing:
        why = "From a short timing of real steps on this computer. Other programs can slow it down."
    elif work.is_guess:
        why = "From the size of the data only. The model's work is counted when the engine has looked at it."
    else:
        why = "From the size of the model and the data only. A short timing of real steps makes it much narrower."
    if lesson:
        beside = " A short timing counts beside them." if timing else ""
        why = f"{lesson.words}{beside} Other programs can slow it down."
    measured = timing is not None or bool(lesson and lesson.well)
    return Estimate(per_s, setup, training, measured, why, 0.0, modelled, lesson)


def learned(own: OwnRuns, quantity: str, traits: Traits | None, modelled: Range) -> Range:
    """*modelled* as own runs correct it, if any are like it."""
    lesson = own.correct(quantity, traits, modelled) if traits else None
    return lesson.seconds if lesson else modelled


def _modelled(resolved: Resolved, work: Work, computer: Computer) -> dict[str, Range]:
    """Seconds of a step, of setting up, of compiling and of the result, from sizes alone."""
    job, framework = resolved.job, frameworks.by_id(resolved.job.training.framework)
    pictures = resolved.train + resolved.validation if kinds.by_id(job.data.kind).has_picture_files else 0
    reading = pictures / (_PICTURES_PER_S * computer.cores)
    return {
        "step_s": _modelled_step_s(resolved, work, computer),
        "setup_s": times(_GUESS, framework.start_s + reading),
        "compile_s": times(_GUESS, resolved.rule.compile_s),
        "result_s": times(_GUESS, framework.result_s + work.params * FLOAT * _WEIGHTS_WRITTEN / SAVE_BYTES_PER_S),
    }


def _step_s(modelled: Range, timing: Timing | None, lesson: Lesson | None) -> Range:
    """A timing is of this very work, and so are some own runs: together if they agree, over both if they do not."""
    if timing is None:
        return lesson.seconds if lesson else modelled
    timed = times(_MEASURED, timing.step_time_s)
    if lesson is None:
        return timed
    apart = math.log(lesson.seconds.expected / timing.step_time_s)
    if abs(apart) > _CONTRADICTS:
        low, high = sorted((timing.step_time_s, lesson.seconds.expected))
        return Range(_MEASURED.low * low, timing.step_time_s, _MEASURED.high * high)
    return times(_MEASURED, timing.step_time_s * math.exp(apart * lesson.same / (lesson.same + 1)))


def _modelled_step_s(resolved: Resolved, work: Work, computer: Computer) -> Range:
    rate = _CONVOLUTION if work.convolutions else _DENSE
    framework = frameworks.by_id(resolved.job.training.framework)
    slower = framework.slower_convolution if work.convolutions else 1.0
    operations = work.flops * resolved.batch * slower / computer.cores
    per_call = resolved.job.training.steps_per_call
    overhead = framework.step_overhead_s * (1.0 if per_call == 1 else 0.2)
    unknown = 5.0 if work.is_guess else 1.0
    return Range(
        (operations / rate.high + overhead / 2) / unknown,
        operations / rate.expected + overhead,
        (operations / rate.low + overhead * 3) * unknown,
    )


def limit_hours(
    time_s: Range,
    wait_hours: float,
    most: float = MOST_HOURS,
    *,
    factor: float = rules.HOURS_FACTOR,
    least: float = rules.HOURS_LEAST,
) -> float:
    """*factor* × the estimate's high end, in hours, as `limits.hours` may be; *most*: so long the loan may last."""
    hours = max(least, factor * time_s.high / 3600)
    return float(min(significant(hours), MOST_HOURS - wait_hours, most))


def limit_usd(cost: Range) -> float:
    """1.5 × the estimate's high end, at least one cent."""
    return max(0.01, math.ceil(rules.HOURS_FACTOR * cost.high * 100) / 100)


def plus(one: Range, other: Range) -> Range:
    return Range(one.low + other.low, one.expected + other.expected, one.high + other.high)


def times(shape: Range, expected: float) -> Range:
    return shape.scaled(expected)
