"""Weights of a result of ours into a model of the same kind that learns from other data (transfer learning).

Each weight goes where one of the same path stands. The answer's are taken over where the classes are the same, in the
same order, and are drawn anew else; statistics of normalisation go along. The result is opened by the closed reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from tpu_studio.trainer.models import initial
from tpu_studio.trainer.models.pretrained import SHOWN
from tpu_studio.wire import bases
from tpu_studio.wire.errors import ModelError, RunError, words_of
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.records import items

ANSWER, TOKENS = "answer/", "tokens/embeddings"
COLOURS = 3


_kept: dict[str, dict[str, Any]] = {}


def fill(model: keras.Model, preset: Preset, description: Mapping[str, object], *, again: bool) -> None:
    """Give every weight of *model* what the result has, and the answer's where *description* names the same classes.

    Args:
        again: It is asked for again, when all of the model begins to learn: the values stay in memory for that.

    Raises:
        ModelError: ``base-damaged``: the closed reader refuses it; ``base-unfit``: its weights have other sizes;
            ``preset-needs-memory``.
    """
    assert preset.base is not None
    values = _kept.get(preset.sha256) or _weights(preset)
    if again:
        _kept[preset.sha256] = values
    head = keeps_answer(preset.base, description)
    for weight in model.weights:
        if weight.path.startswith(ANSWER) and not head:
            continue
        if weight.path in values:
            weight.assign(_fitting(values[weight.path], tuple(weight.shape), weight.path, preset))
        elif not _draws_while_training(weight):
            raise _unfit(preset, f"It has no {weight.path}")


def give(weights: Mapping[str, Any], preset: Preset) -> None:
    """Give each of *weights*, by path, what the result has: a language model's, one at a time, in the machine's memory.

    Raises:
        ModelError: as `fill`.
    """
    with keras.device("cpu"):
        found = {weight.path: weight for weight in _opened(preset).weights}
    for path, weight in weights.items():
        if path not in found:
            raise _unfit(preset, f"It has no {path}")
        values, shape = np.array(found.pop(path), np.float32), tuple(weight.shape)
        if values.shape != shape:
            raise _unfit(preset, f"{path} has {values.shape} and needs {shape}")
        weight.assign(values)


def keeps_answer(base: bases.Base, description: Mapping[str, object]) -> bool:
    """Whether what the last layer has learned means the same for the data of that *description*."""
    classes = tuple(map(str, items(description.get("classes"))))
    return base.answers(str(description.get("task")), str(description.get("target") or ""), classes)


def _weights(preset: Preset) -> dict[str, Any]:
    found = _opened(preset)
    try:
        return {weight.path: np.array(weight) for weight in found.weights}
    except (ValueError, TypeError) as error:
        raise _unfit(preset, words_of(error)) from error


def _opened(preset: Preset) -> keras.Model:
    from tpu_studio.trainer.result import loading

    try:
        with initial.to_fill():
            return loading.load_base(preset.folder)
    except RunError as error:
        if isinstance(error.__cause__, MemoryError):
            raise ModelError("preset-needs-memory", path=str(preset.folder), file=bases.MODEL) from error
        why = str(error.facts.get("raw") or error.id)[:SHOWN]
        raise ModelError("base-damaged", path=str(preset.folder), file=bases.MODEL, why=why) from error


def _fitting(values: Any, shape: tuple[int, ...], path: str, preset: Preset) -> Any:
    """*values* in that *shape*: the places of a shorter text are the first ones, rows that stand for no token are left
    out or stay as nothing, and a grey picture is seen as one of three equal colours."""
    if values.shape == shape:
        return values
    fewer = path.endswith("/embeddings") and values.shape[1:] == shape[1:] and shape[0] <= len(values)
    if fewer or (path == TOKENS and values.shape[1:] == shape[1:]):
        rows = np.zeros(shape, values.dtype)
        least = min(len(values), len(rows))
        rows[:least] = values[:least]
        return rows
    if (found := _recoloured(values, shape)) is not None:
        return found
    raise _unfit(preset, f"{path} has {values.shape} and needs {shape}")


def _recoloured(values: Any, shape: tuple[int, ...]) -> Any | None:
    """Of the first layer, with as many colours as *shape* has; None where it differs in more than these."""
    *outer, incoming, outgoing = values.shape
    if [*outer, outgoing] != [*shape[:-2], shape[-1]]:
        return None
    if incoming == COLOURS * shape[-2]:
        return values.reshape(*outer, shape[-2], COLOURS, outgoing).sum(axis=-2)
    if shape[-2] == COLOURS * incoming:
        return np.repeat(values / COLOURS, COLOURS, axis=-2)
    return None


def _draws_while_training(weight: Any) -> bool:
    """The state of a layer that switches something off at random."""
    return "seed_generator" in weight.path


def _unfit(preset: Preset, why: str) -> ModelError:
    return ModelError("base-unfit", path=str(preset.folder), file=bases.MODEL, why=f"{why}."[:SHOWN])
