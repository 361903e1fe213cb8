"""All own runs, and the model's answer corrected by them. Pure."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.domain.forecast import TO_EACH_SIDE
from tpu_studio.planner.own.learn import Learner
from tpu_studio.planner.own.likeness import Traits, enough, likeness
from tpu_studio.planner.own.record import QUANTITIES, OwnRun
from tpu_studio.planner.throughput import Throughput, Workload
from tpu_studio.planner.throughput import estimate as throughput
from tpu_studio.planner.throughput.families import family_of
from tpu_studio.planner.throughput.workload import precision_of, stack_of
from tpu_studio.wire import families, frameworks, places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plan import Range

MOST = 16  # of a place the newest so many count
NOISE_OF_STARTS = 0.25  # they vary more than steps (`wire.places`), by what is in memory already
WELL = 2.2  # high over low of runs that agree: no wider than a single one of them states


# The words of a described workload in those of our own plans.
_PRECISIONS = {"bf16": "bfloat16", "fp32": "float32"}
_KINDS = {family.throughput: family.id for family in families.all_families() if family.throughput}
_KINDS["resnet"] = next(family.id for family in families.all_families() if family.convolves)


@dataclass(frozen=True)
class Lesson:
    """What own runs made of one figure of the model.

    Attributes:
        seconds: The corrected figure.
        shift: How many times as long as the model said.
        runs: Ids of the runs that had enough in common with it, newest first.
        newest: When the newest of them was measured.
        same: How many of them were this very work on this kind of machine.
    """

    seconds: Range
    shift: float
    runs: tuple[str, ...]
    newest: float
    same: int

    @property
    def well(self) -> bool:
        """Runs of this very work agree so well that a timing would tell nothing new."""
        return self.same > 0 and self.seconds.high < WELL * self.seconds.low

    @property
    def words(self) -> str:
        """`From 3 of your own runs, newest of 22 Nov 2026.`, for the source of a number."""
        day = clock.strftime("%d %b %Y", clock.localtime(self.newest)).lstrip("0")
        newest = ", newest of" if len(self.runs) > 1 else ", of"
        like = "" if self.same else "; they were like this one, not the same, so the model's own figure counts too"
        return f"From {len(self.runs)} of your own runs{newest} {day}{like}."

    def to_json(self) -> dict[str, Any]:
        day = clock.strftime("%Y-%m-%d", clock.gmtime(self.newest))
        return {
            "runs": len(self.runs),
            "newest": day,
            "same": self.same,
            "well": self.well,
            "times_the_model": round(self.shift, 3),
        }


class OwnRuns:
    """Args:
    runs: Of any place, newest first.
    known: What this version of the model works out their chips' steps by; None: what was said then counts.
    """

    def __init__(self, runs: Sequence[OwnRun] = (), known: Catalogue | None = None) -> None:
        self.runs, self._known = tuple(runs), known
        self._of: dict[tuple[str, str], _Taught | None] = {}

    def __bool__(self) -> bool:
        return bool(self.runs)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(run.run for run in self.runs)

    def correct(self, quantity: str, traits: Traits, modelled: Range) -> Lesson | None:
        """*modelled* seconds, laid over with what runs like it took; None where none had enough in common with it."""
        at = (traits.place, quantity)
        if at not in self._of:
            self._of[at] = _taught(self.runs, self._known, *at)
        taught = self._of[at]
        return taught.correct(traits, modelled) if taught else None


@dataclass(frozen=True)
class Mine:
    """What one plan brings along for its estimate.

    Attributes:
        key: Of its very work (`likeness.key_of`); "" where it is not that work that is asked for.
        model: Digest of the person's own model file, "" for a model of ours.
    """

    runs: OwnRuns
    key: str = ""
    model: str = ""


def _framework_of(stack: str) -> str:
    """Ours that a published *stack* is most like."""
    same = [one.id for one in frameworks.all_frameworks() if stack.startswith(one.id)]
    return same[0] if same else frameworks.for_chips().id


def of_workload(
    own: OwnRuns, workload: Workload, answer: Throughput, known: Catalogue
) -> tuple[Throughput, Lesson | None]:
    """*answer* corrected by runs on rented TPUs, as `tpu-studio estimate --own-runs` gives it."""
    if answer.step_time_s is None or not workload.generation:
        return answer, None
    chips = workload.chips or known.generation(workload.generation).slices[0].chips
    traits = Traits(
        places.charging().id,
        workload.generation,
        _framework_of(stack_of(workload.framework)),
        _PRECISIONS.get(precision_of(workload.precision) or "", ""),
        _KINDS.get(family_of(workload.family).name, ""),
        "",
        (workload.global_batch or chips) / chips,
        chips,
        workload.params or family_of(workload.family).params,
        float(workload.sequence_length or workload.image_size or 1),
        per_call=0,
    )
    lesson = own.correct("step_s", traits, answer.step_time_s)
    return (answer.with_step(lesson.seconds) if lesson else answer), lesson


NOTHING = Mine(OwnRuns())


class _Taught:
    """What the runs of one place teach of one quantity."""

    def __init__(
        self, runs: Sequence[OwnRun], modelled: Mapping[str, Range], place: str, quantity: str, noise: float
    ) -> None:
        self._runs, self._noise = runs, noise
        self._learner = Learner(
            [math.log(run.measured[quantity] / modelled[run.run].expected) for run in runs],
            [stated(modelled[run.run]) for run in runs],
            [[likeness(run.traits, other.traits) for other in runs] for run in runs],
            noise,
            places.by_id(place).person if quantity == "step_s" else 0.0,
        )

    def correct(self, traits: Traits, modelled: Range) -> Lesson | None:
        alike = [likeness(traits, run.traits) for run in self._runs]
        near = [run for run, common in zip(self._runs, alike, strict=True) if enough(traits, common)]
        if not near or not modelled.low > 0:
            return None
        off = self._learner.predict(stated(modelled), alike)
        same = sum(bool(traits.key) and run.traits == traits for run in near)
        seconds = _around(modelled, off.shift, off.width, self._noise)
        return Lesson(seconds, math.exp(off.shift), tuple(run.run for run in near), near[0].at, same)


def _taught(runs: Sequence[OwnRun], known: Catalogue | None, place: str, quantity: str) -> _Taught | None:
    assert quantity in QUANTITIES
    chosen: list[OwnRun] = []
    modelled: dict[str, Range] = {}
    for run in runs:
        told = _modelled(run, quantity, known) if run.traits.place == place and quantity in run.measured else None
        if told is not None and len(chosen) < MOST:
            chosen.append(run)
            modelled[run.run] = told
    noise = places.by_id(place).noise if quantity == "step_s" else NOISE_OF_STARTS
    return _Taught(chosen, modelled, place, quantity, noise) if chosen else None


def _modelled(run: OwnRun, quantity: str, known: Catalogue | None) -> Range | None:
    """A chip's step as this version of the model has it; the rest as it was said then."""
    if known and quantity == "step_s" and places.by_id(run.traits.place).has_chips and run.workload is not None:
        try:
            return throughput(run.workload, known).step_time_s
        except StudioError:
            return None  # a TPU that the catalogue does not know any more
    return run.modelled.get(quantity)


def stated(modelled: Range) -> float:
    """The standard deviation that a range of 80 % stands for, of the logarithm."""
    return math.log(modelled.high / modelled.low) / 2 / TO_EACH_SIDE


def _around(modelled: Range, shift: float, width: float, noise: float) -> Range:
    """The corrected range: as lopsided as the model's while little is known, even once much is."""
    middle = math.exp(shift) * modelled.expected
    down, up = math.log(modelled.expected / modelled.low), math.log(modelled.high / modelled.expected)
    even, least, lopsided = (down + up) / 2, TO_EACH_SIDE * noise, min(1.0, width)
    down, up = (max(least, width * (even + lopsided * (side - even))) for side in (down, up))
    return Range(middle * math.exp(-down), middle, middle * math.exp(up))
