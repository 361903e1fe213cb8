"""``check``: shapes, operations and memory of a job before anything is rented, by the real TPU compiler where it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tpu_studio.cli.engine import cancelling
from tpu_studio.cli.output import Output
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.planning import note, prepare, runs_on
from tpu_studio.cli.studio import studio
from tpu_studio.domain.renewed import catalogue_at
from tpu_studio.wire import places
from tpu_studio.wire.errors import BadInput, NotReady
from tpu_studio.wire.job import parse_setting
from tpu_studio.wire.plan import Check, Plan
from tpu_studio.wire.records import inner, items, number

SHOWN = 200  # letters of what somebody else said, within a sentence
_STAGES = {
    "starting": "Starting",
    "data": "Reading the first examples",
    "model": "Tracing the model",
    "compiling": "Compiling for the TPU, a minute or so",
    "largest-batch": "Looking for the largest batch that fits",
}


def check(arguments: Arguments, output: Output) -> int:
    """Exit code 0; 1 when it does not fit; 2 when job, data or model is wrong."""
    from tpu_studio.local.preflight import slice_of
    from tpu_studio.planner.compiled import with_compiler
    from tpu_studio.viewmodels.plancheck import own_words

    names_a_tpu = any(parse_setting(text)[0] == "where.accelerator" for text in arguments.set)
    asked_of_the_chip = names_a_tpu and not arguments.on
    if asked_of_the_chip:
        arguments.on = places.charging().id
    with studio() as services:
        made = prepare(services, arguments, output, measure=False, checked=False)
        if asked_of_the_chip:
            made = replace(made, checks=tuple(_not_rented(one) for one in made.checks))
        answer: Mapping[str, object] = {}
        if not made.faults and (made.consent or not made.job.model.is_own):
            target = slice_of(made)
            kept = None if arguments.again else services.preflight.known(made, target)
            if kept is not None and arguments.largest_batch and "largest_batch" not in kept:
                kept = None
            try:
                with cancelling() as cancelled:
                    answer = kept or services.preflight.ask(
                        made,
                        target,
                        largest_batch=arguments.largest_batch,
                        cancelled=cancelled,
                        stage=lambda name: output.progress(None, f"{_STAGES.get(name, name)}…", now=True),
                    )
            except NotReady as error:
                output.say(f"Shapes and operations were not checked: {error.id}.")
            made = with_compiler(made, answer, catalogue_at(made.place))
    text = as_text(made, answer)
    words = own_words(answer)
    if words and arguments.words:
        text += f"\n\n{words}"
    elif len(words) > SHOWN:
        text += "\nThere is more of what was said, in its own words: add --words."
    output.answer(to_json(made, answer), text)
    if made.faults:
        return BadInput.exit_code
    return 0 if made.fits else 1


def _not_rented(found: Check) -> Check:
    """What keeps a TPU from being rented is a warning where only the model is asked about."""
    from tpu_studio.planner.driving import NEEDS_JAX

    return replace(found, level="warning") if found.id == NEEDS_JAX else found


def to_json(made: Plan, answer: Mapping[str, object]) -> dict[str, object]:
    from tpu_studio.planner.floor import mfu_bounds
    from tpu_studio.planner.public import bounds
    from tpu_studio.viewmodels.plancheck import own_words

    compiled = inner(answer.get("compiled"))
    largest = inner(answer.get("largest_batch")).get("largest_batch")
    memory = {name: getattr(made.memory, name) for name in ("device_bytes", "limit_bytes", "by")}
    return {
        "place": made.place,
        "framework": made.framework,
        "accelerator": made.accelerator,
        "batch": made.job.training.global_batch,
        "fits": made.fits,
        "memory": memory | {"parts": dict(made.memory.parts)},
        "checks": [
            {"id": one.id, "level": one.level, "title": one.title, "fix": dict(one.fix) if one.fix else None}
            for one in made.checks
        ],
        "largest_batch": largest,
        **bounds(made),
        "programs": mfu_bounds(made, inner(compiled.get("programs")), catalogue_at(made.place)),
        "compile_s": compiled.get("seconds"),
        "flops": compiled.get("flops"),
        "bytes_accessed": compiled.get("bytes_accessed"),
        "compiler": {"state": answer.get("compiler"), **inner(answer.get("versions"))},
        "compiler_words": own_words(answer) or None,
    }


def as_text(made: Plan, answer: Mapping[str, object]) -> str:
    from tpu_studio.cli.output import table
    from tpu_studio.domain import figures
    from tpu_studio.planner.floor import mfu_bounds

    memory = made.memory
    by = "the TPU compiler" if memory.compiled else "the estimate"
    rows = [
        ["Model", f"{made.job.model.id}, {made.framework}, {runs_on(made)}"],
        ["Batch", f"{made.job.training.global_batch} on {made.devices} device{'s' * (made.devices > 1)}"],
        ["Memory", f"{figures.size(memory.device_bytes)} of {figures.size(memory.limit_bytes)}, by {by}"],
    ]
    parts = memory.parts
    if memory.compiled and made.fits:
        rows.append(["Of it", ", ".join(f"{name} {figures.size(size)}" for name, size in parts.items() if size)])
    programs = inner(inner(answer.get("compiled")).get("programs"))
    train = mfu_bounds(made, programs, catalogue_at(made.place)).get("train", {})
    if bound := items(train.get("mfu_bound")):
        rows.append(["MFU", f"{bound[0]:.0%} to {bound[1]:.0%} at most, by the program's own FLOPs and bytes"])
    if (seconds := inner(answer.get("compiled")).get("seconds")) is not None:
        rows.append(["Compiled in", figures.duration(number(seconds))])
    lines = [made.job.name, table(rows)]
    for one in made.checks:
        if one.level != "ok":
            lines += note(one)
    where = "this TPU" if places.by_id(made.place).rents else "this computer"
    if made.faults:
        return "\n".join(lines)
    lines.append(f"✓ It fits into the memory of {where}." if made.fits else f"✗ It does not fit into {where}.")
    return "\n".join(lines)
