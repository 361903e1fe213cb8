"""What the networks of scripts have in common: what goes in, options, the answer, and starter weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpu_studio.trainer.script.parts import Constant, Part
from tpu_studio.wire import models
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.plan import Plan

Card = Mapping[str, Any]
ANSWER = 'outputs = keras.layers.Dense(OUTPUTS, dtype="float32", name="answer")(x)'
DROPPED = ("    return x  # nothing is switched off\n", "    return keras.layers.Dropout(DROPOUT)(x)\n")


def outputs(card: Card) -> int:
    return int(card["output"]["shape"][-1])


def options(plan: Plan, *names: str) -> tuple[Constant, ...]:
    """Constants of the model's options; *dropout* among them only where there is some."""
    known, about = plan.options, {one.name: one.help for one in models.spec(plan.job.model.id).options}
    given = [name for name in names if name != "dropout" or known[name]]
    return tuple(
        Constant(name.upper(), known[name], about[name][:1].lower() + about[name][1:].rstrip(".")) for name in given
    )


def taken(card: Card) -> tuple[Constant, ...]:
    """What goes in, and the largest value of a pixel."""
    shape = Constant("INPUT", tuple(int(size) for size in card["input"]["shape"][1:]), "shape of one example")
    white = card["input"].get("largest")
    return (shape, Constant("WHITE", float(white), "the largest value of a pixel")) if white else (shape,)


def starting(plan: Plan, part: Part, code: str) -> Part:
    """*part*, with what it has learned before where it begins from starter weights.

    Raises:
        ModelError: ``starter-missing``, ``starter-damaged``.
    """
    preset = plan.job.model.starts_from
    if not preset:
        return part
    starter = models.starter(preset)
    if problem := starter.problem():
        raise ModelError(problem, preset=preset, path=str(starter.path))
    where = Constant("STARTER_WEIGHTS", str(starter.path), "what it has learned before, as published")
    imports = part.imports | {"from safetensors.numpy import load_file"}
    return Part((*part.constants, where), part.code + code, imports)


def function(lines: list[str]) -> str:
    return "\n" + "\n".join(lines) + "\n\n"


LOAD_WEIGHTS = '''
def load_starter_weights(model):
    """Give every weight but the answer's what the published file has: (name here, name there, order of the axes)."""
    tensors, weights = load_file(STARTER_WEIGHTS), {weight.path: weight for weight in model.weights}
    for here, there, axes in starter_names():
        weights[here].assign(np.transpose(tensors[there], axes))

'''
