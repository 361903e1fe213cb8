"""The work of a planned model: as the engine counted it, else by its family's formula, else a guess.

A formula, one row for an id of ``wire.families``, gives a figure at once; a family needs none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tpu_studio.data.looked import Look
from tpu_studio.planner import decoders, work
from tpu_studio.planner.auto import Resolved
from tpu_studio.planner.facts import DataFacts
from tpu_studio.wire import families, tasks
from tpu_studio.wire.models import BY_NAME
from tpu_studio.wire.models import options as model_options
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.presets import is_folder
from tpu_studio.wire.pretrained import decoder
from tpu_studio.wire.schema import work_values

_GUESS = work.Work(1_000_000, 6e6, 8 << 20, is_guess=True)


def work_of(resolved: Resolved, facts: DataFacts, counted: Mapping[str, Any], params: int = 0) -> work.Work:
    """Weights, operations and memory of one example.

    Args:
        counted: By the engine in this very model (``trainer.work.model``); empty where it has not looked.
        params: Its weights, 0 where that is not known either.
    """
    formula = _FORMULAS.get(resolved.family)
    known = formula(resolved, facts, _answers(resolved, facts)) if formula else _guess(resolved, counted, params)
    if "flops" not in counted:
        return known
    counts = replace(
        known,
        params=int(counted["params"]),
        frozen=int(counted.get("frozen") or 0),
        wide=_wide(resolved) if counted.get("frozen") else 0,
        flops=float(counted["flops"]),
        recomputed=float(counted["flops"]) / float(counted["model_flops"]) if counted["model_flops"] else 1.0,
        convolutions=bool(counted["convolutions"]),
        is_guess=False,
    )
    if formula:
        return counts  # a formula knows better what a TPU's compiler keeps
    in_float32 = 2 if counted["precision"] == "bfloat16" else 1
    return _while_frozen(
        resolved,
        replace(
            counts,
            activation_bytes=int(counted["activation_bytes"] * in_float32),
            widest=counted["widest"],
            seen_bytes=int(counted["evaluation_bytes"]),
        ),
    )


def _wide(resolved: Resolved) -> int:
    """The layer that makes the scores computes in float32 where it has a table of its own."""
    if resolved.preset is None or not resolved.preset.is_decoder:
        return 0
    network = decoder.describe(resolved.preset.config)
    return 0 if network.tied else network.vocabulary * network.width


def _while_frozen(resolved: Resolved, whole: work.Work) -> work.Work:
    """Of a mean step, where what stands before the last layer stays as it is at first: each example goes through that
    once, forward only (a third of a step's work), and the last layer's own work is next to nothing."""
    still = min(1.0, resolved.job.training.unfreeze_at / resolved.steps)
    if not still:
        return whole
    once = (resolved.train + resolved.validation) / (resolved.steps * resolved.batch) / 3
    kept = whole.activation_bytes if still < 1 else whole.seen_bytes
    return replace(whole, flops=whole.flops * (1 - still + once), activation_bytes=kept)


def model_key(values: Mapping[str, object], options: Mapping[str, object], look: Look, own: str) -> str:
    """Of all that the model's work for one example depends on.

    Args:
        values: Of the job, "auto" resolved.
        own: sha256 of a person's own file, or of the folder that the model begins from.
    """
    seen = [look.kind, look.input_shape, look.outputs, len(look.classes)]
    if "vocabulary" in look.numbers:
        seen += [values["data.tokenizer"], look.numbers["vocabulary"]]
    depends, folder = work_values(values), is_folder(str(values["model.preset"]))
    if folder:
        del depends["model.preset"]  # wherever it is
    content = [
        depends,
        options,
        own if values["model.file"] or folder else "",
        seen,
    ]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:32]


def key_of_plan(plan: Plan) -> str:
    return model_key(plan.job.values, plan.options, Look.from_json(plan.data), plan.own_sha256)


def needs_engine(plan: Plan) -> bool:
    """Whether only the engine can count this model's work."""
    return plan.job.model.is_own or BY_NAME[plan.job.model.id].family not in _FORMULAS


def usual_params(name: str) -> int | None:
    """Weights of the model of that name as it comes; None where they follow from the data, too, or nobody knows."""
    model = BY_NAME[name]
    if not families.by_id(model.family).reads_tokens:
        return None
    return work.gpt(model_options(name, {}), tokens=model.sequence_length or 64).params


def _guess(resolved: Resolved, counted: Mapping[str, Any], params: int) -> work.Work:
    begins = resolved.preset
    if begins is not None and begins.is_decoder:
        return decoders.guess(begins.config, resolved.tokens, resolved.job.model.rank, _GUESS)
    params = int(counted.get("params") or params)
    return replace(_GUESS, params=params, flops=6.0 * params) if params else _GUESS


def _answers(resolved: Resolved, facts: DataFacts) -> int:
    return facts.answers if tasks.by_id(resolved.job.data.task).has_names else 1


def _pixels(resolved: Resolved) -> int:
    return resolved.job.data.image_size


def _dense(resolved: Resolved, facts: DataFacts, answers: int) -> work.Work:
    inputs = _pixels(resolved) ** 2 * facts.channels if facts.has_pictures else max(1, facts.inputs)
    return work.mlp(resolved.options, inputs=inputs, answers=answers)


def _convolution(resolved: Resolved, facts: DataFacts, answers: int) -> work.Work:
    return work.small_cnn(resolved.options, size=_pixels(resolved), channels=facts.channels, answers=answers)


def _transformer(resolved: Resolved, facts: DataFacts, answers: int) -> work.Work:
    return work.gpt(
        resolved.options,
        tokens=resolved.job.data.sequence_length,
        rematerialize=resolved.job.training.rematerialize,
    )


_FORMULAS: dict[str, Callable[[Resolved, DataFacts, int], work.Work]] = {
    "mlp": _dense,
    "cnn": _convolution,
    "gpt": _transformer,
}
