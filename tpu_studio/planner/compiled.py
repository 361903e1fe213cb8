"""What `check` found, laid over a plan: the TPU compiler's memory instead of the estimate, and its findings as checks.

Pure. The answer is `local.preflight`'s; a plan without one stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.domain.sentences import say_finding
from tpu_studio.planner.broken import without_money
from tpu_studio.planner.checks import TIGHT_SHARE
from tpu_studio.planner.floor import not_below
from tpu_studio.wire import families, frameworks, loans, models, places
from tpu_studio.wire.plan import Check, Plan
from tpu_studio.wire.planparts import COMPILER, PlanMemory
from tpu_studio.wire.records import inner, items, rows, whole

_MEMORY_CHECKS = ("memory-does-not-fit", "memory-tight")
_CANNOT = (
    "compiler-refused",
    "check-compiler-crashed",
    "check-compiler-slow",
    "check-compiler-memory",
    "check-slow",
    "check-failed",
)
_WORDS = 2000  # of the compiler's in a plan, which is kept with the run; the answer has them all


def with_compiler(plan: Plan, answer: Mapping[str, object], known: Catalogue) -> Plan:
    """*plan* with what *answer* knows better, its checks in order of weight. *known*: the catalogue of its place."""
    memory = plan.memory
    compiled = inner(answer.get("compiled"))
    checks = list(plan.checks)
    if "fits" in compiled:
        memory = _memory(plan, compiled)
        checks = [check for check in checks if check.id not in _MEMORY_CHECKS]
        checks += of_compiled(plan, compiled, inner(answer.get("largest_batch")), known)
    ids = {check.id for check in checks}
    checks += [check for check in of_traced(plan, answer) if check.id not in ids]
    checks += [check for check in of_compiler(plan, answer) if check.id not in ids]
    order = {"error": 0, "warning": 1, "info": 2, "ok": 3}
    made = replace(plan, memory=memory, checks=tuple(sorted(checks, key=lambda check: order.get(check.level, 2))))
    return without_money(not_below(made, inner(inner(compiled.get("programs")).get("train")), known))


def of_traced(plan: Plan, answer: Mapping[str, object]) -> Iterator[Check]:
    """Problems of the model on the first real examples, and operations that a TPU does badly."""
    traced = inner(answer.get("traced"))
    for problem in rows(traced.get("problems")):
        yield _check(str(problem["id"]), "error", inner(problem.get("facts")))
    for one in rows(traced.get("operations")):
        facts = {name: value for name, value in inner(one.get("facts")).items() if name != "words"}
        yield _check(str(one["id"]), str(one["level"]), facts)
    if traced and not traced.get("problems"):
        yield _check("shapes-meet", "ok", {"programs": traced.get("programs", 0)})
    unclear = inner(traced.get("work")).get("unclear")
    if isinstance(unclear, list) and unclear:
        charges = places.by_id(plan.place).charges
        facts = {"what": [str(one) for one in unclear], "charges": charges, "limit_usd": plan.limits.money_usd}
        yield _check("work-unclear", "warning" if charges else "info", facts)
    ended = inner(answer.get("ended"))
    if ended and ended["id"] not in _CANNOT:
        yield _check(str(ended["id"]), "error", inner(ended.get("facts")))


def of_compiled(
    plan: Plan, compiled: Mapping[str, object], largest: Mapping[str, object], known: Catalogue
) -> Iterator[Check]:
    """Whether it fits, by the compiler's word, with one press that makes it fit."""
    needs, limit = whole(compiled["device_bytes"]), whole(compiled["limit_bytes"])
    facts: dict[str, object] = {"needs_bytes": needs, "limit_bytes": limit, "by": COMPILER}
    if compiled.get("words"):
        facts["raw"] = str(compiled["words"])[:_WORDS]
    best = largest.get("largest_batch")
    smaller = best if best is not None else largest.get("guess")  # compiled, else in proportion
    if smaller:
        facts["largest_batch"] = smaller
    if not compiled["fits"]:
        yield Check(
            "memory-does-not-fit",
            "warning",
            "This does not fit into the memory of this TPU",
            {"training.global_batch": smaller} if smaller else None,
            facts,
        )
        yield from proposals(plan, needs, limit, known)
    elif needs > TIGHT_SHARE * limit:
        yield Check("memory-tight", "info", "Memory is tight, and enough", None, facts)
    batch = plan.job.training.global_batch
    if compiled["fits"] and batch < whole(best) < plan.steps_per_epoch * batch:  # a batch needs that many examples
        yield _check("batch-can-grow", "info", {"largest_batch": best}, {"training.global_batch": best})


def proposals(plan: Plan, needs: int, limit: int, known: Catalogue) -> Iterator[Check]:
    """Other ways than a smaller batch: recompute, bfloat16, parts of a batch, a larger TPU."""
    job = plan.job
    model = models.BY_NAME.get(job.model.id)
    if model and families.by_id(model.family).reads_tokens and job.training.rematerialize is not True:
        yield _check("fit-rematerialize", "info", {}, {"training.rematerialize": True})
    if job.training.precision != "bfloat16":
        yield _check("fit-bfloat16", "info", {}, {"training.precision": "bfloat16"})
    batch, parts = job.training.global_batch, job.training.accumulate
    more = parts * 2 ** max(1, (-(-needs // max(1, limit)) - 1).bit_length())
    if batch % (plan.devices * more) == 0:
        yield _check("fit-accumulate", "info", {"parts": more}, {"training.accumulate": more})
    larger = larger_slice(plan, needs, known)
    if larger is not None:
        yield _check("fit-larger-slice", "info", {"accelerator": larger}, {"where.accelerator": larger})


def larger_slice(plan: Plan, needs: int, known: Catalogue) -> str | None:
    """The smallest slice of one machine whose devices, each with its share of the batch, should hold it."""
    parts = plan.memory.parts
    weights = sum(parts.get(name, 0) for name in ("weights", "gradients", "optimizer"))
    batch = plan.job.training.global_batch
    found: list[tuple[float, int, str]] = []
    for one in known.offered():
        if (
            one.control_plane != "cloud-tpu"
            or not one.compiles
            or not known.possible(one.id, plan.framework, loans.usual().word).possible
            or not known.drives(one.id, plan.framework)
        ):
            continue
        for part in one.slices:
            if part.vms != 1 or batch % part.devices or part.accelerator_type == plan.accelerator:
                continue
            share = weights + max(0, needs - weights) * plan.devices / part.devices
            if share <= one.program_bytes:
                zone = next((each.zone for each in one.zones), "")
                price = known.price(one.id, part.chips, zone) if zone else None
                usd = price.usd_per_hour(part.chips) if price else float("inf")
                found.append((usd, part.chips, part.accelerator_type))
    return min(found)[2] if found else None


def of_compiler(plan: Plan, answer: Mapping[str, object]) -> Iterator[Check]:
    """Why the memory is only an estimate, where it is."""
    compiled, ended = inner(answer.get("compiled")), inner(answer.get("ended"))
    if compiled.get("replica") and plan.devices > 1:
        yield _check("compiled-replica", "info", {"devices": plan.devices})
    if "fits" in compiled or places.by_id(plan.place).local:
        return
    level = "warning" if answer.get("compiler") == "broken" else "info"
    facts = {"status": answer.get("compiler"), **inner(answer.get("compiler_problem"))}
    if ended.get("id") in _CANNOT:
        yield _check(str(ended["id"]), "warning", inner(ended.get("facts")))
    elif compiled.get("problem"):
        yield _check(str(compiled["problem"]), "warning", compiled)
    elif not frameworks.by_id(plan.framework).leads_on_chip and answer.get("compiler") != "ready":
        missing = list(items(answer.get("missing"))) or ["tf-tpu-compiler"]
        yield _check("estimate-tensorflow", level, {**facts, "missing": missing})
    elif answer.get("compiler") != "ready":
        yield _check("estimate-no-compiler", level, facts)


def _memory(plan: Plan, compiled: Mapping[str, object]) -> PlanMemory:
    needs, limit = whole(compiled["device_bytes"]), whole(compiled["limit_bytes"])
    return replace(
        plan.memory,
        device_bytes=needs,
        limit_bytes=limit,
        by=COMPILER,
        fits=bool(compiled["fits"]),
        tight=bool(compiled["fits"]) and needs > TIGHT_SHARE * limit,
        parts=_summing_to(needs, inner(compiled.get("parts"))),
    )


def _summing_to(needs: int, parts: Mapping[str, object]) -> dict[str, int]:
    """*parts* so that they sum up to *needs*: the compiler's peak is not the sum of all that it ever keeps, and its
    program takes some. Temporaries give way first. A refusal names no parts."""
    told = {name: whole(size) for name, size in parts.items()}
    over = sum(told.values()) - needs
    if told and over < 0:
        told["temporaries"] = told.get("temporaries", 0) - over
    for name in ("temporaries", "activations", "data"):
        less = min(told.get(name, 0), max(0, over))
        if less:
            told[name] -= less
            over -= less
    return told


def _check(id: str, level: str, facts: Mapping[str, object], fix: Mapping[str, object] | None = None) -> Check:
    return Check(id, level, say_finding(id, facts).title, fix, dict(facts))
