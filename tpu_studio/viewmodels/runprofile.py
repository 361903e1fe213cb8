"""The profile of a run on the Run page and the command line: its sentences, and the one thing that would help. Pure.

A run that goes on keeps its settings, so what helps is a new plan with them: the press opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tpu_studio.domain import figures
from tpu_studio.domain.profiles import Profile
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences.profile import not_made, three
from tpu_studio.domain.sentences.sentence import Sentence
from tpu_studio.wire import families, kinds, models, places
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan

STEPS = 20  # at least, in whole calls: as `trainer.profile` makes them
LABEL = f"Profile {STEPS} steps"
HINT = (
    "Records what the device does in the next steps, and tells where their time goes (a profile). Training goes on "
    "meanwhile; the recording takes a second or two, writing it down about as long."
)
STANDS_OUT = 0.15  # of the time: what takes less is not worth a change
ROOM = 0.45  # of a chip's memory: where no more is in use, twice the batch fits
MOST_PER_CALL = 512
LEAST_SIDE = 32  # pixels
NAMES = {
    "matrix": "multiplying matrices",
    "memory": "the rest of a step",
    "collectives": "between chips",
    "data": "waiting for data",
    "host": "waiting for the program",
    "compile": "compiling",
}


@dataclass(frozen=True)
class Remedy:
    """*press* is the button's label, "" where nothing can be pressed; *changes*: `table.key` → value of a new plan."""

    text: str
    press: str = ""
    changes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Card:
    """What the page shows. *parts*: (kind, name, share), of those that have one.

    *progress*: While it is being made, the share of its steps that are done.
    """

    title: str
    sentences: tuple[str, ...] = ()
    parts: tuple[tuple[str, str, float], ...] = ()
    remedy: Remedy | None = None
    trace: str = ""
    progress: float | None = None


def may_ask(view: RunView) -> bool:
    """Whether steps are being made that could be profiled, and none are yet."""
    return view.phase is Phase.TRAINING and view.step > 0 and not (view.trained or view.profiling)


def card_of(plan: Plan, view: RunView) -> Card | None:
    """None while nobody asked for a profile."""
    profile = view.profiled
    if view.profiling:
        done = 0 if view.profile_from is None else min(STEPS, max(0, view.step - view.profile_from))
        doing = f"{done} of {STEPS} steps so far." if done < STEPS else "The steps are recorded and being read."
        return Card("Profiling…", (f"{doing} Training goes on meanwhile.",), progress=done / STEPS)
    if profile is None:
        failed = failure(view)
        return None if failed is None else Card(failed.title, (f"{failed.meaning} {failed.action}".strip(),))
    noun = figures.noun(plan.job.data.kind, plan.task)
    parts = tuple((kind, NAMES[kind], profile.shares[kind]) for kind in NAMES if profile.shares[kind] >= 0.005)
    title = f"Where the time of {figures.count(profile.steps)} steps went"
    return Card(title, three(profile, noun), parts, remedy(plan, view, profile), profile.path)


def failure(view: RunView) -> Sentence | None:
    """Why the profile that was asked for last was not made."""
    told = view.profile_failed
    return not_made(str(told.get("why")), str(told.get("raw") or "")) if told else None


def remedy(plan: Plan, view: RunView, profile: Profile) -> Remedy:
    """What the largest loss asks for that can be changed; else what the largest loss is."""
    losses = sorted(_REMEDIES, key=lambda kind: -profile.shares[kind])
    found = [made for kind in losses if profile.shares[kind] >= STANDS_OUT and (made := _REMEDIES[kind](plan, view))]
    for one in found:
        if one.changes:
            return one
    return found[0] if found else Remedy("Nothing stands out that a setting would change.")


def _for_data(plan: Plan, view: RunView) -> Remedy | None:
    side = plan.job.data.image_size
    if not kinds.by_id(plan.job.data.kind).has_picture_files:
        return Remedy("The examples are made ready too slowly; the data on a faster disk helps.")
    smaller = side * 3 // 4 // 8 * 8
    if smaller < LEAST_SIDE:
        return Remedy("The pictures are decoded too slowly; files that are smaller help.")
    text = f"Pictures of {smaller} × {smaller} instead of {side} × {side} are ready in about half the time."
    return Remedy(text, f"Plan it with {smaller} px", {"data.image_size": smaller})


def _for_host(plan: Plan, view: RunView) -> Remedy | None:
    """More steps a call, so that Python stays out of them; on processors what convolves makes one a call anyway."""
    now = plan.job.training.steps_per_call
    more = min(MOST_PER_CALL, 4 * now)
    model = models.BY_NAME.get(plan.job.model.id)  # one of one's own may convolve
    one_at_a_time = places.by_id(plan.place).on_this_computer and (not model or families.by_id(model.family).convolves)
    if more <= now or one_at_a_time:
        return _larger_batch(plan, view)
    text = f"With {more} steps a call instead of {now}, the program comes between them less often."
    return Remedy(text, f"Plan it with {more} steps a call", {"training.steps_per_call": more})


def _for_memory(plan: Plan, view: RunView) -> Remedy | None:
    profile = view.profiled
    if profile is None or profile.shares["memory"] < profile.shares["matrix"]:
        return None  # some of it is part of any step
    if profile.on_tpu and plan.job.training.precision == "float32":
        text = (
            "In bfloat16 the numbers between the operations take half the memory, and the TPU multiplies them faster."
        )
        return Remedy(text, "Plan it in bfloat16", {"training.precision": "bfloat16"})
    return _larger_batch(plan, view)


def _larger_batch(plan: Plan, view: RunView) -> Remedy | None:
    fullest = view.chips.fullest or view.fullest
    batch = plan.job.training.global_batch
    if fullest is not None and fullest.share > ROOM:
        return Remedy("A larger batch would help, but a chip’s memory has no room for twice as many examples.")
    noun = figures.noun(plan.job.data.kind, plan.task)
    text = (
        f"A step of {figures.count(2 * batch)} {noun} instead of {figures.count(batch)} spends more of it multiplying."
    )
    return Remedy(text, f"Plan it with {figures.count(2 * batch)} a step", {"training.global_batch": 2 * batch})


def _for_compiling(plan: Plan, view: RunView) -> Remedy | None:
    return Remedy("A program was compiled while it trained: your own model should have fixed shapes.")


_REMEDIES: dict[str, Callable[[Plan, RunView], Remedy | None]] = {
    "data": _for_data,
    "host": _for_host,
    "memory": _for_memory,
    "collectives": _larger_batch,
    "compile": _for_compiling,
}
