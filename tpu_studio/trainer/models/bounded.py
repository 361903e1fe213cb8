"""A network that somebody described is made no larger, and works no more, than one can in earnest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np


@contextmanager
def weights_at_most(count: int) -> Iterator[None]:
    """Raises ValueError before the weight is made with which a network inside would have more than *count* numbers."""
    add, left = keras.Layer.add_weight, count

    def counted(layer: keras.Layer, shape: Sequence[int] | None = None, *given: Any, **named: Any) -> Any:
        nonlocal left
        left -= math.prod(shape or ())
        if left < 0:
            raise ValueError(f"it has more than {count:,} weights")
        return add(layer, shape, *given, **named)

    keras.Layer.add_weight = counted
    try:
        yield
    finally:
        keras.Layer.add_weight = add


@dataclass
class Budget:
    """Of one example. Attributes:
    each, total: Numbers that one layer gives, and all of them.
    work: Multiplications.
    """

    each: int
    total: int
    work: int

    def __post_init__(self) -> None:
        self._rows: dict[int, int] = {}  # of a tensor by its identity: how many rows are one example's, where not one
        self._kept: list[Any] = []  # so that no other gets it

    def spend(self, operation: Any, tensors: Sequence[Any], taken: Sequence[Any]) -> None:
        """Raises ValueError: *operation* gives *tensors* of what it has *taken*, and that is too much, or cannot be
        counted."""
        rows = self._rows_of(operation, tensors, taken)
        for one in tensors:
            if None in one.shape[1:]:
                raise ValueError("a layer of it gives tensors of no known size")
            if rows > 1 and _is_open(one):
                self._rows[id(one)] = rows
        self._kept += tensors
        if isinstance(operation, keras.Model):  # what is in it was counted when it was built, of one example
            if rows > 1 or any(one.shape and (one.shape[0] or 1) > 1 for one in taken):
                raise ValueError("a part of it is asked about many rows of one example")
            return
        given = sum(_numbers(one) * self._rows.get(id(one), 1) for one in tensors)
        if given > self.each:
            raise ValueError(f"a layer of it makes {given:,} numbers of one example")
        self.total -= given
        self.work -= given * _each(operation, taken)
        if self.total < 0 or self.work < 0:
            raise ValueError("it works far more than a model of its size")

    def _rows_of(self, operation: Any, tensors: Sequence[Any], taken: Sequence[Any]) -> int:
        """How many rows of what is given are one example's."""
        rows, kind = max((self._rows.get(id(one), 1) for one in taken), default=1), type(operation).__name__
        before, after = ([one for one in many if _is_open(one)] for many in (taken, tensors))
        if before and after and kind in _TURNS:
            rows = -(-rows * _numbers(before[0]) // max(1, _numbers(after[0])))
        along = getattr(operation, "axis", None) if kind == "Concatenate" else None
        padded = getattr(operation, "pad_width", None) if kind == "Pad" else None
        if before and (along in (0, -len(before[0].shape)) or (padded is not None and any(np.ravel(padded[0])))):
            raise ValueError("it puts rows of several examples together")
        return rows


_TURNS = ("Reshape", "Transpose")  # what lies in a row may lie in several then


@contextmanager
def within(budget: Budget) -> Iterator[None]:
    """Raises ValueError as soon as a model that is built inside goes beyond *budget*."""
    from keras.src.ops.node import Node

    init = Node.__init__

    def counted(node: Any, operation: Any, call_args: Any = None, call_kwargs: Any = None, outputs: Any = None) -> None:
        init(node, operation, call_args=call_args, call_kwargs=call_kwargs, outputs=outputs)
        budget.spend(operation, node.outputs, node.arguments.keras_tensors)

    Node.__init__ = counted
    try:
        yield
    finally:
        Node.__init__ = init


def _each(operation: Any, taken: Sequence[Any]) -> int:
    """Multiplications for one number that *operation* gives."""
    kernel = getattr(operation, "kernel", None)
    if kernel is not None:
        depthwise = isinstance(operation, keras.layers.DepthwiseConv2D)
        return math.prod(kernel.shape[:2] if depthwise else kernel.shape[:-1])
    if (pool := getattr(operation, "pool_size", None)) is not None:
        return math.prod(pool)
    if type(operation).__name__ == "Matmul" or isinstance(operation, keras.layers.ReversibleEmbedding):
        return int(taken[0].shape[-1] or 1) if taken and taken[0].shape else 1
    return 1


def _is_open(tensor: Any) -> bool:
    """Whether its first axis has as many places as examples come."""
    return bool(tensor.shape) and tensor.shape[0] is None


def _numbers(tensor: Any) -> int:
    """Of one row."""
    return math.prod(size or 1 for size in tensor.shape)
