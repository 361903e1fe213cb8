"""Words for the advice of a plan, and for the verdict whether a TPU is worth it. Each figure is the planner's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import title_of
from tpu_studio.domain.sentences.sentence import NOTHING_CHARGED, Entry, Facts, Sentence
from tpu_studio.wire import places

DECODE_ONCE = (
    "Decode them once, for all trainings: “tpu-studio convert PICTURES NEW --decoded”, then train on NEW. Decoding is "
    "what takes the time."
)


@dataclass(frozen=True)
class Told:
    """A place to train, with expected seconds and dollars. *measured*: real steps were timed."""

    title: str
    time_s: float
    usd: float
    measured: bool = False


def about(seconds: float) -> str:
    """Without false precision: two figures, as a person says them."""
    if seconds >= 2 * 86_400:
        return f"{float(f'{seconds / 86_400:.2g}'):,.0f} days"
    for limit, unit in ((90, 5.0), (600, 30.0), (5400, 60.0), (36_000, 600.0)):
        if seconds < limit:
            return figures.duration(max(unit, round(seconds / unit) * unit) if seconds >= unit else max(1.0, seconds))
    return figures.duration(round(seconds / 3600) * 3600)


def dollars(usd: float) -> str:
    return figures.money(usd) if usd >= 0.01 else "less than a cent"


# -------------------------------------------------------------------------------------------------------- the verdict


def cannot_start(title: str) -> str:
    return f"It cannot start yet: {title}."


def nothing_holds_it(needed_bytes: int) -> str:
    return (
        f"It needs {figures.size(needed_bytes)} on one chip, more than this computer, free Colab, a single GPU or any TPU "
        "of one machine with a known price has: take fewer examples in a step, bfloat16 or a smaller model."
    )


def does_not_fit(accelerator: str) -> str:
    if accelerator == "cpu":
        return "It does not fit into this computer's memory."
    return f"It does not fit into the memory of {title_of(accelerator)}."


def practised(seconds: float) -> str:
    """Why the figure of a practice plan is another than its TPU's."""
    return f"Practised, it takes about {about(seconds)}: the practice machine is a process on this computer."


def why_best(place: str, best: Told, here: Told | None, tpu: Told | None) -> str:
    """One sentence: what the best place takes, and what the others would."""
    took = f"about {about(best.time_s)}"
    if places.by_id(place).local:
        said = f"This computer does it in {took} at no cost"
        basis = "" if best.measured else " (estimated, not timed yet)"
        if tpu is None:
            return f"{said}{basis}."
        verb = "would take" if tpu.time_s < best.time_s else "would need"
        cost = f"and cost about {dollars(tpu.usd)}" if tpu.usd else "and cost nothing either"
        return f"{said}{basis}; {tpu.title} {verb} about {about(tpu.time_s)} with its start {cost}."
    cost = "at no cost" if not best.usd else f"for about {dollars(best.usd)}"
    said = f"{best.title[:1].upper() + best.title[1:] if not places.by_id(place).charges else best.title} does it in {took} {cost}"
    if places.by_id(place).notebook:
        said += ", within what a free session lasts"
    told = []
    if here is not None:
        told.append(f"this computer would need about {about(here.time_s)}")
    else:
        told.append("it does not fit into this computer's memory")
    if not places.by_id(place).charges and tpu is not None:
        told.append(f"{tpu.title} would cost about {dollars(tpu.usd)} and take {about(tpu.time_s)}")
    return f"{said}; {' and '.join(told)}."


# --------------------------------------------------------------------------------------------------------- the advice


def saving(f: Facts) -> str:
    """`saves about 12 min and $0.40`, or nothing."""
    told = []
    ranges = [one if isinstance(one, Mapping) else {} for one in (f.raw("saves_s"), f.raw("saves_usd"))]
    time, usd = (_number(one.get("expected")) for one in ranges)
    if time >= 1:
        told.append(about(time))
    if usd >= 0.005:
        told.append(dollars(usd))
    unsure = any(one and not _number(one.get("low")) for one in ranges)
    return f"{'may save' if unsure else 'saves'} about {' and '.join(told)}" if told else ""


def _advice(title: str, why: str, f: Facts, action: str = "") -> Sentence:
    saved = saving(f)
    return Sentence(f"{title}: {saved}" if saved else title, why, action)


def _number(value: object) -> float:
    """0 where it is none, as in facts of another version."""
    whole = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if whole else 0.0  # type: ignore[arg-type]


def _n(f: Facts, name: str) -> str:
    return f.text(name, "this")


def _tpu(f: Facts) -> str:
    return title_of(f.text("accelerator", "another TPU"))


ERRORS: dict[str, Entry] = {
    "file-exists": lambda f: Sentence(
        f"{f.file('file', 'The file')} is there already",
        f"Nothing was written over it. {NOTHING_CHARGED}",
        "Choose another name, or give --force to write over it.",
    ),
    "place-no-file": lambda f: Sentence(
        f"{f.file('file', 'It')} is {f.text('what', 'no file')}",
        f"A file is written there, and nothing else gives way to it. {NOTHING_CHARGED}",
        "Give the name of a file.",
    ),
    "plan-report-unwritable": lambda f: Sentence(
        f"The page could not be written to {f.file()}",
        f"{NOTHING_CHARGED} {f.text('raw')}".strip(),
        "Choose another place for it.",
    ),
}
CHECKS: dict[str, Entry] = {
    "advice-train-here": lambda f: _advice(
        "Train on this computer", "Nothing is charged here; “Is a TPU worth it?” has the comparison.", f
    ),
    "advice-rent": lambda f: _advice(
        f"Rent {_tpu(f)} for about {dollars(_number(f.raw('usd')))}",
        f.text("why", "A rented TPU would do it in a fraction of the time."),
        f,
    ),
    "advice-slice": lambda f: _advice(
        f"Rent {_tpu(f)} instead",
        f"There it takes about {about(_number(f.raw('time_s')))} and costs about {dollars(_number(f.raw('usd')))}"
        + ("; its memory holds the model." if f.raw("too_big") else "; a larger model would use this one better."),
        f,
    ),
    "advice-spot": lambda f: _advice(
        "Rent it as spot",
        f"Spot: Google may take it back, assumed once in {_n(f, 'hours')} hours; the run then goes on from its last copy, and "
        "what is lost is counted in.",
        f,
    ),
    "advice-no-spot": lambda f: Sentence(
        "Spot is not worth it here",
        f"It would cost about {dollars(_number(f.raw('spot_usd')))} instead of {dollars(_number(f.raw('usd')))}, with what "
        f"is lost when Google takes the machine back (assumed once in {_n(f, 'hours')} hours) counted in: too little for "
        "a run that may be interrupted.",
        "",
    ),
    "advice-flex-start": lambda f: _advice(
        "Rent it as flex-start",
        "It waits its turn at Google at no cost, is cheaper, and is not taken back for others.",
        f,
    ),
    "advice-on-demand": lambda f: _advice(
        "Rent it on-demand", "Spot is not cheaper here once what is lost when it is taken back is counted in.", f
    ),
    "advice-bfloat16": lambda f: _advice(
        "Compute in bfloat16",
        "A TPU multiplies bfloat16 natively and takes several passes for float32; weights and sums stay float32.",
        f,
    ),
    "advice-batch": lambda f: _advice(
        f"Take {_n(f, 'batch')} examples in a step",
        f"Each core works on rows of 8, so {_n(f, 'share')} to a device are computed as {_n(f, 'padded')}."
        + (" The learning rate goes with it, by the " + _n(f, "rule") + "." if "rule" in f else ""),
        f,
    ),
    "advice-pad-width": lambda f: _advice(
        f"Make the model {_n(f, 'width')} wide",
        f"The chip computes in tiles of 128, so a width of {_n(f, 'was')} costs as much as {_n(f, 'padded')}.",
        f,
    ),
    "advice-vocabulary": lambda f: _advice(
        f"Give the model {_n(f, 'vocabulary')} tokens instead of {_n(f, 'was')}",
        f"Text is read as bytes, of which there are {_n(f, 'vocabulary')}: the other rows are computed and never used.",
        f,
    ),
    "advice-smaller-model": lambda f: _advice(
        f"Take {_n(f, 'title')}",
        f"{f.count('params', 'weight', 'weights')} for {f.count('tokens', 'token', 'tokens')} of text: even "
        f"{_n(f, 'times')} epochs, that is less than one token for each weight, so it would memorise the text (overfit).",
        f,
    ),
    "advice-learning-rate": lambda f: _advice(
        f"A learning rate of {_n(f, 'recommended')} suits {_n(f, 'batch')} examples in a step",
        f"By the {_n(f, 'rule')}; {_n(f, 'rate')} would fit about {_n(f, 'fits')} in a step.",
        f,
    ),
    "advice-steps-per-call": lambda f: _advice(
        f"Hand over {_n(f, 'steps')} steps at once",
        "A step is short here, and between two calls the chip waits for Python.",
        f,
    ),
    "advice-checkpoint": lambda f: _advice(
        f"Save a checkpoint every {_n(f, 'steps')} steps",
        f"About every {about(_number(f.raw('every_s')))} loses least when a machine is taken back once in "
        f"{_n(f, 'hours')} hours (Young 1974, Daly 2006).",
        f,
    ),
    "advice-early-stopping": lambda f: _advice(
        f"Stop after {_n(f, 'checks')} checks without progress",
        "Training that no longer improves on unseen data ends by itself; how much that saves is not known before.",
        f,
    ),
    "advice-epochs": lambda f: _advice(
        f"Train {_n(f, 'usual')} epochs instead of {_n(f, 'times')}",
        "More rarely helps with this much data: the model begins to memorise it (overfit).",
        f,
    ),
    "advice-warmup": lambda f: _advice(
        "Start gently",
        "Without a gentle start, large first corrections can ruin the run; the recommended share of the steps is enough.",
        f,
    ),
    "advice-input": lambda f: _advice(
        f"Reading the data is too slow: {f.share('share')} of the time is waiting",
        "Measured with real steps on this computer; a faster chip would wait longer.",
        f,
        DECODE_ONCE,
    ),
    "advice-tpu-waits": lambda f: _advice(
        f"The TPU would wait {f.share('share')} of the time for pictures",
        "At this size they are too many to lie in memory, and its machine reads about "
        f"{figures.figure(_number(f.raw('per_s')), 2)} a second, as timed here."
        + (
            f" {_n(f, 'fitting')} pixels wide, all of them lie in memory and are read once."
            if "fitting" in f
            else f" {DECODE_ONCE}"
            if f.raw("files")
            else ""
        ),
        f,
    ),
    "advice-region": lambda f: _advice(
        f"Rent it in {_n(f, 'region')}, where your bucket is",
        "Data and copies then travel within one region, which is quick and free of charge.",
        f,
    ),
}
