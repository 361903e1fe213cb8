"""Each number of the estimate explained: what it is, its formula with this run's values, its source and age."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from tpu_studio.domain import figures
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.planwhere import Option, WhereView, price_age
from tpu_studio.wire import places
from tpu_studio.wire.plan import Plan

if TYPE_CHECKING:
    from tpu_studio.planner.estimate import Estimate


@dataclass(frozen=True)
class Explained:
    """*formula* holds this run's values; *source* says where they come from, and their age where they have one."""

    title: str
    formula: str
    source: str


def explained(plan: Plan, parts: Estimate, today: date) -> dict[str, Explained]:
    """By the label of the row; ``headline`` and ``Memory`` besides."""
    noun, batch = figures.noun(plan.job.data.kind, plan.task), plan.job.training.global_batch
    by = parts.why or plan.reasons.get("estimate", "")
    told = {
        "Each chip gets": Explained(
            "What each chip gets in a step",
            f"{figures.count(batch)} {noun} in a step ÷ {plan.devices} = {_each(batch, plan.devices)}",
            "Counted: the batch of this plan, shared out over the slice.",
        ),
        "Setting up, before training": Explained(
            "Setting up", planwords.time_range(parts.setup_s), "Starting, reading the data, compiling. " + _setup(plan)
        ),
    }
    if plan.examples_per_s:
        rate = plan.examples_per_s
        step_s = batch / rate.expected
        told["Speed"] = Explained(
            "Speed",
            f"{figures.count(batch)} {noun} in a step ÷ about {_short(step_s)} a step = about "
            f"{planwords.count_range(rate).rpartition('about ')[2]} {noun}/s",
            by,
        )
        told["Training"] = Explained(
            "Training",
            f"{figures.count(plan.steps)} steps × about {_short(step_s)} a step, checks on unseen {noun} and saving "
            f"added: {planwords.time_range(parts.training_s)}",
            by,
        )
    if plan.time_s:
        told["headline"] = _headline(plan, parts, today, by)
    memory, need = plan.memory, plan.memory.device_bytes
    held = memory.parts
    sizes = " + ".join(f"{name} {figures.size(size)}" for name, size in held.items() if size)
    told["Memory"] = Explained(
        "Memory",
        f"{f'{sizes} = ' if sizes else ''}{figures.size(need)} of {figures.size(memory.limit_bytes)}",
        _memory_source(plan, bool(held)),
    )
    return told


def _memory_source(plan: Plan, parts: bool) -> str:
    counted = "Counted from the model's layers, the batch size and the precision"
    if plan.memory.compiled:
        more = "" if parts else " Its refusal names the need, not what it is made of."
        return f"The TPU compiler's own figures for exactly this step, on one chip.{more}"
    if places.by_id(plan.place).local:
        return f"{counted}, and the program as it was measured; the limit is this computer's memory."
    share = " A chip's share of the batch counts." if plan.devices > 1 else ""
    return (
        f"{counted}; of gradients and activations the lesser counts half, as one comes while the other goes.{share} "
        "The limit is the TPU compiler's own; asked, it knows the need exactly."
    )


def greyed_out(where: WhereView) -> tuple[tuple[str, str], ...]:
    """What cannot be picked, each with its reason."""
    lists: tuple[tuple[Option, ...], ...] = (
        where.generations,
        where.sizes,
        where.tiers,
        where.regions,
        where.zones,
        where.lenders,
    )
    return tuple((one.words, one.why) for options in lists for one in options if not one.enabled and one.why)


def _headline(plan: Plan, parts: Estimate, today: date, by: str) -> Explained:
    assert plan.time_s is not None
    time = planwords.time_range(plan.time_s)
    sum_ = f"setting up {planwords.time_range(parts.setup_s)} + training {planwords.time_range(parts.training_s)}"
    usd = plan.price.usd_per_hour if plan.price else 0.0
    if plan.cost_usd is None or not usd:
        return Explained("How long it takes", f"{sum_} = {time}", by)
    return Explained(
        "What it costs",
        f"{time} ({sum_}) × {figures.money(usd)} an hour = {planwords.money_range(plan.cost_usd)}",
        f"{price_age(plan, today)} {by}".strip(),
    )


def _setup(plan: Plan) -> str:
    if places.by_id(plan.place).charges:
        return "A machine's start and the packages are usual times; nobody promises them."
    return (
        "Usual times."
        if not places.by_id(plan.place).local
        else "Measured where real steps were timed, else usual times."
    )


def _short(seconds: float) -> str:
    return f"{figures.figure(seconds * 1000, 2)} ms" if seconds < 1 else f"{figures.figure(seconds, 2)} s"


def _each(batch: int, devices: int) -> str:
    return figures.count(batch // devices) if batch % devices == 0 else figures.figure(batch / devices)
