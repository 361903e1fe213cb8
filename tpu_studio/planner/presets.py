"""What is looked at of the weights that a model begins from: are they here, whole, and of use where it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tpu_studio.data.looked import Look
from tpu_studio.domain.sentences import say_finding
from tpu_studio.planner import bases, bringing, unseen
from tpu_studio.planner.auto import Resolved
from tpu_studio.planner.known import Known
from tpu_studio.planner.rented import Rented
from tpu_studio.planner.work import Memory, Work
from tpu_studio.wire import hub, places, presets
from tpu_studio.wire.bases import PROBLEMS as OF_BASES
from tpu_studio.wire.hub import DOWNLOADED, LOOKED_UP
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.models import BY_NAME
from tpu_studio.wire.plan import Check


def of_starter(resolved: Resolved, rented: Rented | None, problem: str) -> Iterator[Check]:
    """Whether the weights that the model begins from are here, and are trained with where it runs."""
    preset, place = resolved.job.model.starts_from, places.by_id(resolved.job.where.place)
    if not preset:
        return
    facts = {"preset": preset, "model": resolved.job.model.id}
    if place.notebook:
        id, fix = "starter-not-in-notebook", {"where.place": places.default().id}
        yield Check(id, "error", say_finding(id, facts).title, fix, facts)
    elif rented is not None and rented.slice.vms > 1:
        id, fix = "starter-one-machine", {"where.accelerator": AUTO}
        yield Check(id, "error", say_finding(id, facts).title, fix, facts)
    if problem:
        yield Check(problem, "error", say_finding(problem, facts).title, None, facts)


def of_folder(
    resolved: Resolved, rented: Rented | None, known: Known, work: Work, memory: Memory, look: Look
) -> Iterator[Check]:
    """Whether there is a folder for a model that begins from one, whether it is what it should be, and has room."""
    model, preset = BY_NAME.get(resolved.job.model.id), known.preset
    if model is None or not (model.from_folder or resolved.job.model.folder):
        return
    if known.preset_problem is not None:
        yield _check(known.preset_problem.id, "error", known.preset_problem.facts)
    elif preset is None:
        yield _check("preset-not-chosen", "error", {"model": model.title})
    else:
        yield from bases.checks(resolved, preset.base, look) if preset.base else _of_preset(resolved, preset)
        if preset.base:
            yield from unseen.checks(resolved.asked, int(resolved.job.training.seed), preset.base, look)
        if rented is not None:
            place = str(resolved.job.where.place)
            yield from bringing.room(preset, rented, work, memory, place, look.bytes_on_disk, known.free_bytes)
        seen = known.model_facts  # by the engine, where it could not build it
        if (problem := str(seen.get("problem") or "")) in (*presets.PROBLEMS, *OF_BASES):
            facts = seen.get("facts")
            yield _check(problem, "error", facts if isinstance(facts, Mapping) else {})


def _of_preset(resolved: Resolved, preset: presets.Preset) -> Iterator[Check]:
    side, reads = resolved.job.data.image_size, preset.network.reads
    if preset.absent:
        of_hub = hub.entry(preset.folder)
        lacking = {"preset": resolved.job.model.starts_from, "size": preset.absent}
        id = DOWNLOADED if of_hub else LOOKED_UP
        yield _check(id, "error", lacking | ({"licence": of_hub.licence} if of_hub else {}))
    facts: dict[str, object] = {"path": str(preset.folder), "file": preset.name}
    (wanted,) = BY_NAME[resolved.job.model.id].examples
    if wanted != reads:
        other = next((one for one in BY_NAME.values() if one.from_folder and reads in one.examples), None)
        told = {"network": preset.network.title, "reads": reads, "wanted": wanted, "of": other.title if other else ""}
        yield _check("preset-reads-other", "error", facts | told)
        return
    if reads == "picture" and not preset.takes(side):
        fix = {"data.image_size": AUTO} if "data.image_size" in resolved.asked.given else None
        yield _check("preset-one-size", "error", facts | {"side": preset.nearest(side), "given": side}, fix)
    if reads == "picture" and not preset.says_scale:
        yield _check("preset-without-scale", "info", facts)


def _check(id: str, level: str, facts: Mapping[str, object], fix: Mapping[str, object] | None = None) -> Check:
    return Check(id, level, say_finding(id, facts).title, fix, facts)
