"""The Plan page's words and figures: ranges as people read them, one-line summaries, the rows of the estimate."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import title_of
from tpu_studio.domain.sentences.bases import begins_from
from tpu_studio.wire import frameworks, hub, kinds, places, tasks
from tpu_studio.wire.job import Job
from tpu_studio.wire.models import BY_NAME
from tpu_studio.wire.plan import Plan, Range
from tpu_studio.wire.presets import Preset

if TYPE_CHECKING:
    from tpu_studio.data.looked import Look
    from tpu_studio.planner.estimate import Estimate
    from tpu_studio.planner.own import OwnRuns

FRAMEWORK_WORDS = {framework.id: framework.title for framework in frameworks.all_frameworks()}


_UNITS = ((100.0, 1.0, "s"), (6_000.0, 60.0, "min"), (172_800.0, 3600.0, "h"), (float("inf"), 86_400.0, "days"))


def time_range(value: Range) -> str:
    """`50 – 80 s`, `1.5 – 2.5 min`, `27 – 34 min`, `3 – 4.5 h`: two figures at most, never false precision."""
    size, unit = next((size, unit) for limit, size, unit in _UNITS if value.high < limit)
    if unit == "s":
        low, high = f"{max(1, value.low):.0f}", f"{max(1, value.high):.0f}"
    else:
        low, high = _plain_figure(value.low / size), _plain_figure(value.high / size)
    if value.low < 0.75 * size and unit != "s":
        smaller = _UNITS[[one for _, _, one in _UNITS].index(unit) - 1]
        return f"{_plain_figure(value.low / smaller[1])} {smaller[2]} – {high} {unit}"
    return f"about {high} {unit}" if low == high else f"{low} – {high} {unit}"


def _plain_figure(value: float) -> str:
    """Halves below ten, whole numbers to a hundred, then tens."""
    if value >= 100:
        return f"{round(value, -1):,.0f}"
    if value >= 9.75:
        return f"{value:.0f}"
    return f"{max(0.5, round(value * 2) / 2):g}"


def about_time(value: Range) -> str:
    return figures.duration(_round_time(value.expected))


def _round_time(seconds: float) -> float:
    """No false precision: 5 s, 10 s and whole minutes as the time grows."""
    for limit, unit in ((20, 1.0), (60, 5.0), (180, 30.0), (3600, 60.0), (36_000, 600.0)):
        if seconds < limit:
            return max(unit, round(seconds / unit) * unit)
    return round(seconds / 3600) * 3600


def count_range(value: Range) -> str:
    low, high = _two(value.low), _two(value.high)
    return f"{low} – {high}" if low != high else f"about {low}"


def _two(value: float) -> str:
    rounded = float(f"{value:.2g}")
    return figures.count(rounded) if rounded >= 10 else f"{rounded:g}"


def money_range(value: Range) -> str:
    low, high = figures.money(value.low), figures.money(value.high)
    return f"{low} – {high}" if low != high else f"about {low}"


def hours(value: float) -> str:
    """A limit in hours as people say it: 3 min, 1 h 30, 12 h."""
    return figures.duration(round(value * 3600 / 60) * 60 if value * 3600 >= 60 else value * 3600)


def model_title(job: Job) -> str:
    if job.model.file is not None:
        return os.path.basename(str(job.model.file))
    if hub.is_name(str(job.model.preset)):
        return str(job.model.preset).removeprefix(hub.PREFIX)
    model = BY_NAME.get(str(job.model.name))
    return model.title if model else (job.model.name or "")


def model_note(job: Job, plan: Plan | None) -> str:
    """`391,000 weights · good first choice`"""
    parts = []
    params = plan.memory.params if plan else 0
    if params and (job.model.file is None or plan is not None):
        learn = " learn (LoRA)" if plan is not None and plan.job.model.rank else ""
        parts.append(f"{weights(int(params))} weights{learn}")
    if job.model.file is not None:
        parts = ["your own Keras file"]
    if base := begins_from(job.model.starts_from):
        parts.append(base)
    return " · ".join(parts)


def weights(params: int) -> str:
    """391 thousand, 124 million: as people say large numbers."""
    for size, word in ((1_000_000_000, "billion"), (1_000_000, "million"), (1_000, "thousand")):
        if params >= size:
            shown = params / size
            return f"{shown:.0f} {word}" if shown >= 10 else f"{shown:.1f} {word}"
    return f"{params:,}"


def data_title(job: Job, look: Look | None) -> str:
    kind = kinds.find(job.data.kind)
    if kind is None:
        return ""
    if kind.is_built_in:
        return "Handwritten digits"
    name = os.path.basename((job.data.path or "").rstrip("/\\"))
    for suffix in kind.suffixes:
        name = name.removesuffix(suffix)
    if look and tasks.by_id(look.task).has_names and look.classes:
        noun = "labels" if tasks.by_id(look.task).has_labels else "classes"
        return f"{name}, {len(look.classes)} {noun}"
    if look and look.target and not tasks.by_id(look.task).has_chats:
        return f"{name}: {look.target}"
    return name


def data_note(look: Look) -> str:
    """`2,062 pictures · 11 MB`"""
    if tasks.by_id(look.task).continues:
        characters = look.numbers.get("characters") or look.numbers.get("tokens") or 0
        return f"{figures.count(characters)} characters · {figures.size(look.bytes_on_disk)}"
    about, noun = "about " if look.sampled else "", figures.noun(look.kind, look.task)
    return f"{about}{figures.count(look.examples)} {noun} · {figures.size(look.bytes_on_disk)}"


def learned(look: Look) -> str:
    """What the model will learn, in a sentence."""
    if tasks.by_id(look.task).has_classes and look.classes:
        classes = f"{len(look.classes)} classes"
        return f"Predicts “{look.target}” ({classes})." if look.target else f"Predicts one of {classes}."
    if tasks.by_id(look.task).has_labels:
        return f"Predicts which of {figures.count(len(look.classes))} labels a picture has, perhaps several."
    if tasks.by_id(look.task).has_number:
        return f"Predicts “{look.target}” (a number)."
    if tasks.by_id(look.task).has_chats:
        return f"Learns to answer as “{look.target}” does."
    return "Predicts the next token: it writes on in the way of your text."


def fix_words(fix: Mapping[str, object]) -> str:
    """What a repair's button says: "Use 1,024", "Use TensorFlow", "Leave it out"."""
    path, value = next(iter(fix.items()))
    if path in ("data.columns", "where.usd_per_hour"):
        return "Leave it out"
    if path == "model.name":
        model = BY_NAME.get(str(value))
        return f"Use {model.title}" if model else f"Use {value}"
    if path == "where.place":
        return "Train here" if places.by_id(value).local else "Rent it"
    if path == "model.options":
        return "Change the model"
    if path == "where.zones":
        return "Rent it there"
    if path == "data.image_size" and value != "auto":
        return f"Use {value} px"
    if path == "where.accelerator" and value != "auto":
        return f"Use {title_of(str(value))}"
    if path in ("training.seed", "data.validation"):
        return "Keep the same aside"
    if value == "auto":
        return "Use recommended"
    if path == "training.evaluate_every":
        return f"Check every {value:,}"
    word = FRAMEWORK_WORDS.get(str(value))
    return f"Use {word or (format(value, ',') if isinstance(value, int) else value)}"


def would_take(job: Job, look: Look, now: float, own: OwnRuns | None = None, begins: Preset | None = None) -> str:
    """`391 thousand weights · about 3 min`: what training *job* would take here, as far as it can be told; weights that
    only the engine can count are not guessed. *begins*: what its model begins from."""
    from tpu_studio.domain.renewed import catalogues
    from tpu_studio.planner.known import Known
    from tpu_studio.planner.make import make_plan
    from tpu_studio.planner.modelwork import needs_engine
    from tpu_studio.wire.errors import StudioError

    try:
        plan = make_plan(job, look, Known(catalogues(), own=own, preset=begins), now=now, advise=False)
    except StudioError:  # the options of another model: the card is still a choice
        return ""
    told = [] if needs_engine(plan) else [f"{weights(plan.memory.params)} weights"]
    if plan.time_s:
        told.append(f"about {about_time(plan.time_s)}")
    return " · ".join(told)


@dataclass(frozen=True)
class Row:
    """A line of the estimate: label left, value right; *why* on hover."""

    label: str
    value: str
    why: str = ""


def estimate_rows(plan: Plan, parts: Estimate) -> tuple[Row, ...]:
    noun = figures.noun(plan.job.data.kind, plan.task)
    steps = f"{figures.count(plan.steps)} steps"
    rows = []
    if not places.by_id(plan.place).local:
        each, batch = max(1, plan.devices), plan.job.training.global_batch
        share = f"{figures.count(batch / each)} {noun} per step"
        rows.append(Row("Each chip gets", share, f"{figures.count(batch)} {noun} in a step, on {each} together."))
    if plan.examples_per_s:
        rows.append(Row("Speed", f"{count_range(plan.examples_per_s)} {noun}/s", parts.why))
    rows.append(Row("Setting up, before training", time_range(parts.setup_s), "Starting, reading the data, compiling."))
    rows.append(Row("Training", time_range(parts.training_s), f"{steps}, checks on unseen {noun}, saving."))
    return tuple(rows)


@dataclass(frozen=True)
class Limit:
    """A limit as a slider: *value* and the estimate's band in the same unit, *top* the right end; *words* the value."""

    path: str
    title: str
    words: str
    value: float
    top: float
    band: tuple[float, float]
    recommended: bool


def limit_of(plan: Plan) -> Limit | None:
    """The cost limit when a price is simulated, else the time limit."""
    money = plan.limits.money_usd
    if plan.price and money is not None and plan.cost_usd:
        cost = plan.cost_usd
        top = nice_top(max(2 * cost.high, float(money), 0.02))
        return Limit(
            "limits.money_usd",
            "Simulated spending limit" if places.by_id(plan.place).rehearses else "Spending limit",
            figures.money(float(money)),
            float(money),
            top,
            (cost.low, cost.high),
            "limits.money_usd" in plan.reasons,
        )
    if not plan.time_s:
        return None
    if not places.by_id(plan.place).local and not plan.price:  # a rented run needs a limit, and none can be guessed
        usd = float(money or 0.0)
        words = figures.money(usd) if usd else "choose one"
        top = nice_top(max(2 * usd, 20.0))
        return Limit("limits.money_usd", "Spending limit", words, usd, top, (0, 0), False)
    value = plan.limits.hours or 0.0
    band = (plan.time_s.low / 3600, plan.time_s.high / 3600)
    usual = max(2 * band[1], 0.1) if plan.price else max(6 * band[1], 2.0)  # what is recommended, and more
    top = nice_top(max(usual, value))
    return Limit("limits.hours", "Stop after", hours(value), value, top, band, "limits.hours" in plan.reasons)


def limit_words(path: str, value: float) -> str:
    """`$5.00` or `1 h 30`; plain zero at the left end."""
    if value <= 0:
        return "$0" if path == "limits.money_usd" else "0"
    return figures.money(value) if path == "limits.money_usd" else hours(value)


def nice_top(value: float) -> float:
    """The next round number: 1, 2 or 5 with zeros."""
    power = 1e-4
    while True:
        for digit in (1, 2, 5):
            if digit * power >= value * 0.999:
                return float(digit * power)
        power *= 10


@dataclass(frozen=True)
class MemoryWords:
    """The memory bar: parts as (name, share of the limit), the total in words, and whether it fits."""

    parts: tuple[tuple[str, float], ...]
    words: str
    fits: str
    tone: str
    spoken: str


def memory_of(plan: Plan) -> MemoryWords:
    memory = plan.memory
    limit = max(1, memory.limit_bytes)
    parts = memory.parts
    noun = figures.noun(plan.job.data.kind, plan.task).capitalize()
    named: tuple[tuple[str, float], ...] = (
        ("Program", parts.get("framework", 0)),
        ("Model", sum(parts.get(name, 0) for name in ("weights", "gradients", "optimizer"))),
        (noun, sum(parts.get(name, 0) for name in ("activations", "temporaries", "data"))),
    )
    if not parts:  # the compiler refused, and names the whole only
        named = (("What it needs", memory.device_bytes),)
    elif not places.by_id(plan.place).local:
        named = named[1:]
    words = f"{figures.size(memory.device_bytes)} of {figures.size(limit)}"
    fits, tone = ("Does not fit", "bad") if not plan.fits else ("Tight", "warn") if memory.tight else ("Fits", "ok")
    return MemoryWords(
        tuple((name, size / limit) for name, size in named), words, fits, tone, f"Memory: about {words}. {fits}."
    )
