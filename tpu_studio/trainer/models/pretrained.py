"""`kerashub-backbone`: the network of a KerasHub folder on the person's disk, with an answer of its own behind it.

Plain Keras layers (`kerashub`), so the finished file opens anywhere Keras does. The folder's own answers are not used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

import keras

from tpu_studio.trainer import memory
from tpu_studio.trainer.models import initial, plain
from tpu_studio.trainer.models.bounded import weights_at_most
from tpu_studio.trainer.models.kerashub import tables
from tpu_studio.trainer.models.shapes import Shapes
from tpu_studio.wire import models, presets
from tpu_studio.wire.bases import CARD
from tpu_studio.wire.errors import ModelError, words_of
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import reading
from tpu_studio.wire.pretrained.folder import CONFIG

SHOWN = 300  # characters of a message that is not ours
SMALLEST = 2  # bytes of a weight, in float16
SPARE = 100_000_000
"""Weights more than a folder's files have, and numbers more in a table than the network: places of larger pictures."""


def build(shapes: Shapes, options: Mapping[str, Any], seed: int, plan: Plan) -> keras.Model:
    """Raises ModelError: those of `reading.of` and `fill`, ``preset-changed``, ``preset-not-chosen``."""
    preset = preset_of(plan)
    with initial.to_fill(), _blaming(preset, CARD if preset.base else CONFIG):
        model = _built(preset, shapes, options, seed)
    initial.fill(model.get_layer("answer"), seed, lambda path, shape: initial.glorot(shape))
    return model


_BASES: dict[tuple[str, str], Preset] = {}
"""Results that this process began from: a run whose base is deleted, or trained longer, meanwhile ends all the same."""


def preset_of(plan: Plan, *, again: bool = False) -> Preset:
    """*again*: its weights are to be read once more, so they have to be there still."""
    folder = plan.job.model.folder
    if not again and (known := _BASES.get((folder, plan.preset_sha256))) is not None:
        return known
    if not folder:
        raise ModelError("preset-not-chosen", model=plan.job.model.id)
    preset = reading.of(folder, plan.job.base)
    presets.check_same(preset, plan.preset_sha256)
    if preset.base is not None and preset.base.model != plan.job.model.id:
        facts = {"base": preset.base.called, "model": preset.base.title, "name": preset.base.model}
        raise ModelError("base-of-another-model", **facts)
    if preset.network.reads not in models.spec(plan.job.model.id).examples:
        raise ModelError("preset-other-network", path=str(preset.folder), file=CONFIG, network=preset.kind)
    if preset.base is not None:
        _BASES[folder, plan.preset_sha256] = preset
    return preset


def fill(model: keras.Model, preset: Preset) -> None:
    """Give every weight of *model* but the answer's what the folder has.

    Raises:
        ModelError: ``preset-unfit``: its files hold other weights than it says; ``preset-needs-memory``.
    """
    weights = {weight.path: weight for weight in model.weights}
    held = sum(math.prod(weight.shape) for weight in model.weights)
    with (
        memory.held(preset.size_bytes),
        _blaming(preset, preset.weights.name),
        tables.opened(preset, held + SPARE) as read,
    ):
        for path, values in _network(preset).weights(model, preset.config, read):
            if tuple(weights[path].shape) != values.shape:
                raise ValueError(f"{path} has {values.shape} and needs {tuple(weights[path].shape)}")
            weights[path].assign(values)


def _built(preset: Preset, shapes: Shapes, options: Mapping[str, Any], seed: int) -> keras.Model:
    inputs = keras.Input(shapes.input, dtype=shapes.dtype, name="input")
    x = inputs
    if shapes.input[-1] == 1:
        x = keras.layers.Concatenate(name="colours")([x, x, x])
    scale = [one * 255.0 / shapes.white for one in preset.scale]
    x = keras.layers.Rescaling(_each(scale), offset=_each(preset.offset), name="scale")(x)
    with weights_at_most(preset.size_bytes // SMALLEST + SPARE):
        x = _network(preset).body(x, preset.config)
    x = plain.dropout(options["dropout"], seed, "dropout")(x)
    outputs = keras.layers.Dense(shapes.outputs, dtype="float32", name="answer")(x)
    return plain.model(inputs, outputs, preset.network.builder)


def _each(numbers: Sequence[float]) -> float | list[float]:
    """Of all colours, or of each."""
    return numbers[0] if len(numbers) == 1 else list(numbers)


def _network(preset: Preset) -> ModuleType:
    return import_module(f"{__package__}.kerashub.{preset.network.builder}")


@contextmanager
def _blaming(preset: Preset, file: str) -> Iterator[None]:
    """What goes wrong inside is the folder's fault, whose values are anybody's."""
    try:
        yield
    except MemoryError as error:
        raise ModelError("preset-needs-memory", path=str(preset.folder), file=file, raw=words_of(error)) from error
    except (ArithmeticError, KeyError, TypeError, ValueError, IndexError, AttributeError, OSError) as error:
        facts = {"path": str(preset.folder), "file": file, "why": words_of(error)[:SHOWN]}
        raise ModelError("preset-unfit", **facts) from error
