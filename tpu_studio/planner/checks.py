"""What is looked at before a launch: each finding a `Check` with a plain title and, where one press helps, its fix.

Levels: ``error`` stops the launch (bad job or data), ``warning`` asks to look, ``info`` is good to know. A model
that does not fit into memory is a warning with ``fits`` false in the plan. The longer words of each id stand in
``domain.sentences``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tpu_studio.domain.catalogue import FLEX_START_MOST_S
from tpu_studio.domain.generations import region_of
from tpu_studio.domain.sentences import say_finding
from tpu_studio.planner import driving
from tpu_studio.planner.auto import Resolved, power_of_two_below
from tpu_studio.planner.estimate import Estimate
from tpu_studio.planner.facts import DataFacts
from tpu_studio.planner.installed import importable
from tpu_studio.planner.rented import Rented, cents_up
from tpu_studio.planner.work import Memory, Work
from tpu_studio.wire import frameworks, kinds, loans, places, tasks
from tpu_studio.wire.extras import Extras, reserve_of
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.models import BY_NAME, MODELS
from tpu_studio.wire.plan import Check
from tpu_studio.wire.planparts import PlanPrice
from tpu_studio.wire.stops import MOST_HOURS

FEW_OF_A_KIND = 10
LONGEST_BOOT_H = 1200.0 / 3600.0  # from a machine that is there to its guardian's first word
LONG_HOURS = 12.0
UNUSUAL_RATE = 20.0  # times the recommended rate
UNUSUAL_LIMIT, LARGE_USD = 20.0, 50.0  # times what is expected; below that much nobody need look twice
FLEX_MOST_HOURS = math.floor(FLEX_START_MOST_S / 3600.0 - LONGEST_BOOT_H)
"""Google counts the start, too, which is asked for besides."""


def of_model_and_data(job: Job, facts: DataFacts) -> Iterator[Check]:
    """Whether this model can learn from this data, and whether there is enough of it."""
    model = BY_NAME.get(job.model.id)
    if model is not None:
        fitting = next(
            (other.name for other in MODELS if facts.kind in other.takes and facts.task in other.tasks), None
        )
        fix = {"model.name": fitting} if fitting else None
        if facts.kind not in model.takes:
            yield Check(
                "model-data-mismatch",
                "error",
                f"{model.title} cannot learn from {kinds.by_id(facts.kind).material}",
                fix,
                {"model": model.name, "kind": facts.kind, "takes": list(model.takes)},
            )
        elif facts.task not in model.tasks:
            yield Check(
                "model-task-mismatch",
                "error",
                f"{model.title} does not do {tasks.by_id(facts.task).doing}",
                fix,
                {"model": model.name, "task": facts.task, "tasks": list(model.tasks)},
            )
    if facts.train < 1 or facts.validation < 1:
        yield Check(
            "data-too-small",
            "error",
            f"Too few {facts.noun} to keep some aside for testing",
            None,
            {"train": facts.train, "validation": facts.validation},
        )
    elif facts.train < (usual := _few(facts)):
        noun = "characters" if tasks.by_id(facts.task).continues else facts.noun
        title = f"Only {facts.train:,} {noun} to learn from"
        yield Check("tiny-data", "warning", title, None, {"train": facts.train, "usual": usual})
    elif tasks.by_id(facts.task).has_classes and 0 < facts.class_least < FEW_OF_A_KIND:
        yield Check(
            "near-empty-class",
            "warning",
            f"One class has only {facts.class_least} {facts.noun}",
            None,
            {"least": facts.class_least, "usual": FEW_OF_A_KIND},
        )


def _few(facts: DataFacts) -> int:
    kind = kinds.by_id(facts.kind)
    return kind.few_characters if tasks.by_id(facts.task).continues else kind.few


def of_own_model(job: Job, model_facts: Mapping[str, Any], consent: str) -> Iterator[Check]:
    """The user's own model file: there, agreed to, and able to be built."""
    if not job.model.is_own:
        return
    if model_facts.get("missing"):
        facts = {"file": str(job.model.file), "instead": model_facts.get("instead") or ""}
        yield _own("model-file-missing", "error", facts)
        return
    if not consent or model_facts.get("sha256", consent) != consent:
        yield Check(
            "model-file-consent",
            "warning",
            "Your model file runs only after you agree",
            None,
            {"file": str(job.model.file)},
        )
    if line := model_facts.get("secret_line"):
        title = "Your model file seems to hold a password or an access key"
        yield Check("model-file-secret", "warning", title, None, {"file": str(job.model.file), "line": line})
    yield from _of_text(job, model_facts)
    if problem := model_facts.get("problem"):
        why = dict(model_facts.get("facts") or {})
        yield Check(str(problem), "error", say_finding(str(problem), why).title, None, why)


def of_work(job: Job, work: Work, consent: str, *, measured: bool) -> Iterator[Check]:
    """Whether anything is known of the model's work. A file that may not run says so by itself."""
    if work.is_guess and not measured and (consent or not job.model.is_own):
        yield Check("model-not-counted", "info", say_finding("model-not-counted", {}).title)


def _of_text(job: Job, model_facts: Mapping[str, Any]) -> Iterator[Check]:
    """What the file asks for and the trainer, or the machine that trains, does not have or does not use."""
    file, framework = str(job.model.file), job.training.framework
    if line := model_facts.get("backend_line"):
        yield _own("model-sets-backend", "info", {"file": file, "line": line})
    if line := model_facts.get("weights_line"):
        yield _own("model-weighs-examples", "error", {"file": file, "line": line})
    if line := model_facts.get("compile_line"):
        yield _own("model-compiles", "warning", {"file": file, "line": line})
    if not places.by_id(job.where.place).has_chips:
        return
    framework = frameworks.for_chips().id if framework == AUTO else framework
    imports = dict(model_facts.get("imports") or {})
    missing = sorted(set(imports) - importable(framework))
    if missing:
        facts = {"file": file, "line": imports[missing[0]], "packages": ", ".join(missing), "count": len(missing)}
        yield _own("model-imports-missing", "error", facts)
    elif framework == frameworks.for_chips().id and "tensorflow" in imports:
        yield _own("model-imports-tensorflow", "error", {"file": file, "line": imports["tensorflow"]})


def _own(id: str, level: str, facts: dict[str, object]) -> Check:
    return Check(id, level, say_finding(id, facts).title, None, facts)


def of_settings(resolved: Resolved, facts: DataFacts, devices: int, recommended_rate: float) -> Iterator[Check]:
    """Batch, framework and rates."""
    job, batch, accumulate = resolved.job, resolved.batch, resolved.job.training.accumulate
    if 0 < resolved.train < batch:
        yield Check(
            "batch-above-data",
            "error",
            f"A step of {batch:,} is more than the {resolved.train:,} {facts.noun} there are",
            {"training.global_batch": power_of_two_below(max(1, resolved.train // 4))},
            {"batch": batch, "train": resolved.train, "noun": facts.noun},
        )
    if batch % (devices * accumulate):
        unit = devices * accumulate
        near = nearest_batches(batch, unit, resolved.train)
        yield Check(
            "batch-not-divisible",
            "error",
            f"{batch:,} a step cannot be shared out evenly over {_shares(devices, accumulate)}",
            {"training.global_batch": min(near, key=lambda one: abs(one - batch))},
            {"batch": batch, "parts": unit, "devices": devices, "accumulate": accumulate, "nearest": list(near)},
        )
    slower = frameworks.by_id(job.training.framework).slower_convolution > 1.0
    if resolved.rule.convolves and slower and places.by_id(job.where.place).local:
        yield Check(
            "jax-convolutions-slow",
            "warning",
            "JAX is about three times slower here with pictures",
            {"training.framework": frameworks.for_processors().id},
        )
    if job.training.precision == "bfloat16" and places.by_id(job.where.place).local:
        yield Check(
            "bfloat16-on-processor", "info", "bfloat16 does not speed up a processor", {"training.precision": "float32"}
        )
    if job.training.class_weights == "balanced" and not tasks.by_id(facts.task).has_names:
        title = say_finding("class-weights-unused", {}).title
        yield Check("class-weights-unused", "warning", title, {"training.class_weights": AUTO})
    mixes = facts.has_pictures and tasks.by_id(facts.task).has_names and job.training.freeze != "backbone"
    if job.training.mix != "none" and not mixes:
        title = say_finding("mix-unused", {}).title
        yield Check("mix-unused", "warning", title, {"training.mix": "none"})
    rate = float(job.training.learning_rate)
    if rate > UNUSUAL_RATE * recommended_rate:
        yield Check(
            "learning-rate-high",
            "warning",
            f"A learning rate of {rate:g} is unusually high",
            {"training.learning_rate": recommended_rate},
            {"rate": rate, "recommended": recommended_rate},
        )
    if job.training.early_stopping and resolved.steps < 2 * job.training.evaluate_every:
        yield Check(
            "early-stopping-without-checks",
            "info",
            "There are too few checks on unseen data to stop early",
            {"training.evaluate_every": max(1, resolved.steps // 10)},
        )


def nearest_batches(batch: int, unit: int, examples: int) -> tuple[int, ...]:
    """The two multiples of *unit* nearest to *batch*, the smaller first; one where *examples* are too few for two."""
    below = max(unit, batch // unit * unit)
    above = below + unit
    if 0 < examples < above:
        below, above = below - unit, below
    return (below, above) if below else (above,)


def _shares(devices: int, accumulate: int) -> str:
    over = f"{devices:,} chips" if devices > 1 else ""
    parts = f"{accumulate:,} parts" if accumulate > 1 else ""
    return f"{over} in {parts} each" if over and parts else over or parts


def of_place(resolved: Resolved, rented: Rented | None = None) -> Iterator[Check]:
    place = resolved.job.where.place
    if rented is not None:
        found = list(driving.of_framework(resolved.job, rented))
        yield from found
        if rented.problem and not any(check.level == "error" for check in found):
            yield Check(
                rented.problem,
                "error",
                "This TPU cannot be had like that",
                {"where.accelerator": "auto"},
                {"why": rented.why, "accelerator": rented.title},
            )
        elif rented.slice.vms > 1:
            yield Check(
                "several-machines",
                "info",
                f"{rented.slice.vms} machines train one model together",
                None,
                {"machines": rented.slice.vms},
            )
        if rented.backend == "compute-engine":
            elsewhere = {"where.backend": "tpu-api"} if "tpu-api" in rented.known.lenders(rented.slice) else None
            yield Check(
                "compute-engine-untried",
                "warning",
                "A TPU of Compute Engine may not open",
                elsewhere,
                {"accelerator": rented.title},
            )
        if loans.by_id(rented.tier).spare:
            yield Check(
                "spot-can-end",
                "info",
                "Google may take a spot machine back; the run then goes on with the next",
                None,
                {"place": place},
            )
    elif resolved.job.where.accelerator != "cpu":
        yield Check(
            "accelerator-unused",
            "info",
            "Training on this computer uses no rented accelerator",
            {"where.accelerator": "auto"},
            {"accelerator": resolved.job.where.accelerator},
        )


def of_bucket(resolved: Resolved, extras: Extras | None) -> Iterator[Check]:
    """Machine and bucket in different regions: what they exchange is charged. Refused where its price is unknown and
    real; else priced, and asked for with the plan."""
    home = extras.bucket_region if extras else ""
    zones = list(resolved.job.where.zones)
    apart = list(dict.fromkeys(region for zone in zones if (region := region_of(zone)) != home))
    if extras is None or not home or not apart:
        return
    usd, where = extras.usd("traffic"), ", ".join(apart)
    facts = {"bucket": home, "regions": apart, "usd": usd}
    if usd is None and places.by_id(resolved.job.where.place).charges:
        title = f"What traffic between {home} and {where} costs is not known"
        yield Check("bucket-too-far", "error", title, None, facts)
    else:
        title = f"The machine may come in {where}; the bucket is in {home}"
        yield Check("bucket-elsewhere", "warning", title, None, facts)


def of_time_and_money(
    resolved: Resolved,
    estimate: Estimate,
    hours: float,
    money: float | None,
    given: frozenset[str],
    told: PlanPrice | None = None,
    extras: Extras | None = None,
) -> Iterator[Check]:
    """Limits that would end the run before it is done, and runs that take very long.

    Args:
        told: The plan's price.
        extras: What a rented machine costs besides its chips (``wire.extras``).
    """
    time, price = estimate.time_s, told.usd_per_hour if told else resolved.job.where.usd_per_hour
    place = resolved.job.where.place
    rents = places.by_id(place).rents
    if rents and not price and (money is None or places.by_id(place).charges):
        yield Check("price-unknown", "error", "The price is not known: no cost limit can hold", None, {})
    if rents and hours + resolved.job.limits.wait_hours > MOST_HOURS:
        yield Check(
            "wait-and-hours-too-long",
            "error",
            "Waiting and training together may last 28 days",
            {"limits.wait_hours": 4},
            {"hours": hours},
        )
    if rents and loans.by_id(resolved.job.where.tier).waits and hours > FLEX_MOST_HOURS:
        yield Check(
            "flex-start-too-long",
            "error",
            "Flex-start lends a machine for 7 days at most",
            {"limits.hours": FLEX_MOST_HOURS},
            {"hours": hours, "most_hours": FLEX_MOST_HOURS},
        )
    if "limits.hours" in given and hours * 3600 < time.expected:
        level = "warning" if hours * 3600 < time.low else "info"
        yield Check(
            "time-limit-short",
            level,
            "The time limit may end the run before it is done",
            {"limits.hours": "auto"},
            {"hours": hours, "expected_s": time.expected},
        )
    elif hours * 3600 < time.expected:  # the longest limit there can be
        yield Check(
            "time-limit-longest",
            "warning",
            "The run takes longer than a run may last",
            None,
            {"hours": hours, "expected_s": time.expected},
        )
    if price and money is not None and "limits.money_usd" in given:
        rate, began_h = price + (extras.machine_usd_per_hour if extras else 0.0), estimate.setup_s.low + 60.0
        reserve = reserve_of(extras)
        cost = estimate.cost_usd(rate)
        least = cents_up(reserve.fixed_usd + (reserve.usd_per_hour + rate) * began_h / 3600.0)
        if rents and money < least:  # the start of a machine and a minute of training
            yield Check(
                "money-limit-too-small",
                "error",
                "The cost limit would be used up before training begins",
                {"limits.money_usd": least},
                {"money_usd": money, "least_usd": least},
            )
        elif money < reserve.fixed_usd + cost.expected:
            level = "warning" if money < reserve.fixed_usd + cost.low else "info"
            yield Check(
                "money-limit-short",
                level,
                "The cost limit may end the run before it is done",
                {"limits.money_usd": "auto"},
                {"money_usd": money, "expected_usd": reserve.fixed_usd + cost.expected, "place": place},
            )
        elif rents and money > max(LARGE_USD, UNUSUAL_LIMIT * (reserve.fixed_usd + cost.expected)):
            yield Check(
                "money-limit-large",
                "warning",
                "The cost limit is far above what the run should cost",
                {"limits.money_usd": "auto"},
                {"money_usd": money, "expected_usd": reserve.fixed_usd + cost.expected, "place": place},
            )
    elif not rents and not price and "limits.money_usd" in given and resolved.job.limits.money_usd != "auto":
        yield Check(
            "money-limit-unused",
            "info",
            "Nothing is charged here, so the cost limit does nothing",
            {"limits.money_usd": "auto"},
        )
    if time.low > LONG_HOURS * 3600 and places.by_id(place).local:
        yield Check(
            "very-long",
            "warning",
            "This is a lot of work for this computer",
            None,
            {"low_s": time.low, "high_s": time.high},
        )


def of_memory(
    memory: Memory, needed_bytes: int, limit_bytes: int, resolved: Resolved, devices: int = 1
) -> Iterator[Check]:
    """*needed_bytes*, *limit_bytes*: of this computer, or of one of the slice's *devices*."""
    share = needed_bytes / limit_bytes
    here = places.by_id(resolved.job.where.place).local
    where = "the computer's memory" if here else "the memory of this TPU"
    facts = {"needs_bytes": needed_bytes, "limit_bytes": limit_bytes, **({} if here else {"by": "estimate"})}
    unit = devices * resolved.job.training.accumulate
    room, planned = TIGHT_SHARE * limit_bytes, resolved.batch
    smaller = _batch_within(room, planned, unit, lambda batch: _needs(memory, batch / planned, devices, here))
    fix = {"training.global_batch": smaller} if smaller else None
    if share > 1:
        yield Check(
            "memory-does-not-fit",
            "warning",
            f"This does not fit into {where}",
            fix,
            facts,
        )
    elif share > TIGHT_SHARE:
        yield Check("memory-tight", "warning", "Memory is tight", fix, facts)


TIGHT_SHARE = 0.75


def _needs(memory: Memory, share: float, devices: int, here: bool) -> int:
    """Bytes with this *share* of the planned examples in a step."""
    examples = max(1, round(memory.examples * share))
    smaller = replace(memory, activations=int(memory.activations * share), examples=examples)
    return smaller.total if here else smaller.on_device(devices)


def _batch_within(room: float, batch: int, unit: int, needs: Callable[[int], int]) -> int | None:
    """*batch* halved until it needs no more than *room*, a multiple of *unit*; None: no batch is small enough."""
    while batch // 2 >= unit:
        batch = batch // 2 // unit * unit
        if needs(batch) <= room:
            return batch
    return None
