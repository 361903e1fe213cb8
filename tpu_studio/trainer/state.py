"""The whole state of a training as named numpy arrays: what a checkpoint holds and what moves between frameworks.

A name is `weights/<path>`, `others/<path>` (batch statistics, random state) or `optimizer/<slot>/<path>`, where the
path is the Keras variable's own. Both step modules take their lists apart and put them together by `Layout`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tpu_studio.trainer.recipe import Recipe, falls_under_decay
from tpu_studio.wire.errors import StudioError

T = TypeVar("T")
Arrays = dict[str, npt.NDArray[np.generic]]
_TABLES = ("kernel", "bias", "embeddings", "scale", "gamma", "beta")  # beside which small matrices learn


class StateMismatch(StudioError):
    """A checkpoint that is whole but of another model; facts: ``missing``, ``unexpected``, ``shapes``."""


@dataclass(frozen=True)
class Layout:
    """Names, in order, of the tensors that a step takes and gives back; *frozen*: those of `names` that it leaves as
    they are."""

    weights: tuple[str, ...]
    others: tuple[str, ...]
    slots: tuple[str, ...]
    decays: tuple[bool, ...]
    frozen: frozenset[str] = frozenset()

    @property
    def saved(self) -> tuple[bool, ...]:
        """Of each of `names`, whether a copy holds it: what never changes comes from where the model began."""
        return tuple(name not in self.frozen for name in self.names)

    @property
    def names(self) -> list[str]:
        return [
            *(f"weights/{path}" for path in self.weights),
            *(f"others/{path}" for path in self.others),
            *(f"optimizer/{slot}/{path}" for slot in self.slots for path in self.weights),
        ]

    def split(self, flat: Sequence[object]) -> tuple[list[object], list[object], list[list[object]]]:
        """Weights, others and one list per slot out of tensors in the order of `names`."""
        count, others = len(self.weights), len(self.others)
        rest = list(flat[count + others :])
        slots = (
            [rest[start : start + count] for start in range(0, count * len(self.slots), count)]
            if count
            else [[] for _ in self.slots]
        )
        return list(flat[:count]), list(flat[count : count + others]), slots

    @staticmethod
    def join(weights: Sequence[T], others: Sequence[T], slots: Sequence[Sequence[T]]) -> list[T]:
        return [*weights, *others, *(tensor for slot in slots for tensor in slot)]


def layout(model: Any, recipe: Recipe) -> Layout:
    weights, others = model.trainable_variables, model.non_trainable_variables
    weight_paths = _unique([variable.path for variable in weights])
    decays = tuple(
        falls_under_decay(path, variable.shape) for path, variable in zip(weight_paths, weights, strict=True)
    )
    paths = _unique([variable.path for variable in others])
    adapted = any(getattr(layer, "lora_enabled", False) for layer in model._flatten_layers())
    frozen = {f"others/{path}" for path in paths if adapted and path.rpartition("/")[2] in _TABLES}
    return Layout(weight_paths, paths, recipe.slots, decays, frozenset(frozen))


def initial(model: Any, shape: Layout) -> Arrays:
    """The state before the first step: the model's own initial values, and zeros for the optimizer."""
    weights = [np.array(variable) for variable in model.trainable_variables]
    others = [np.array(variable) for variable in model.non_trainable_variables]
    slots = [[np.zeros(weight.shape, np.float32) for weight in weights] for _ in shape.slots]
    return dict(zip(shape.names, Layout.join(weights, others, slots), strict=True))


def give_up_values(model: Any) -> None:
    """Have the variables of *model* keep shape and number format only, until `put_into_model` gives them values again.

    A training holds its state elsewhere: on a TPU the model's own weights would lie on the first chip beside it.
    """
    for variable in (*model.trainable_variables, *model.non_trainable_variables):
        value = variable.value
        variable._value = np.broadcast_to(np.zeros((), value.dtype), value.shape)  # no memory, whatever the shape


def ordered(
    shape: Layout, arrays: Mapping[str, npt.NDArray[np.generic]], like: Mapping[str, Any]
) -> list[npt.NDArray[np.generic] | None]:
    """*arrays* in the order of `names`, with the shapes and in the number formats of *like*: random state is wider in
    TensorFlow. None for what is frozen and not among them.

    Raises:
        StateMismatch: A name is missing or a shape differs.
    """
    missing = [name for name in shape.names if name not in arrays and name not in shape.frozen]
    differs = [name for name in shape.names if name in arrays and arrays[name].shape != like[name].shape]
    if missing or differs:
        raise StateMismatch("checkpoint-other-model", missing=missing[:5], shapes=differs[:5])
    found = ((arrays.get(name), like[name].dtype) for name in shape.names)
    return [None if value is None else np.asarray(value).astype(dtype) for value, dtype in found]


def put_into_model(model: Any, shape: Layout, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
    """Give the Keras model the weights and statistics in *arrays*."""
    for path, variable in zip(shape.weights, model.trainable_variables, strict=True):
        variable.assign(arrays[f"weights/{path}"])
    for path, variable in zip(shape.others, model.non_trainable_variables, strict=True):
        if (name := f"others/{path}") in arrays or name not in shape.frozen:
            variable.assign(arrays[name])


def _unique(paths: Sequence[str]) -> tuple[str, ...]:
    """*paths* with "#2" and so on behind repeated ones; layers of a person's own model may share a name."""
    seen: dict[str, int] = {}
    names = []
    for path in paths:
        seen[path] = seen.get(path, 0) + 1
        names.append(path if seen[path] == 1 else f"{path}#{seen[path]}")
    return tuple(names)
