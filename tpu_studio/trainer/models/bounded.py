"""A network that somebody described is made no larger, and works no more, than one can in earnest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import keras
from keras.src import backend


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

    def spend(self, operation: Any, tensors: Sequence[Any], taken: Sequence[Any]) -> None:
        """Raises ValueError: *operation* gives *tensors* of what it has *taken*, and that is too much."""
        given = sum(map(_numbers, tensors))
        if given > self.each:
            raise ValueError(f"a layer of it makes {given:,} numbers of one example")
        self.total -= given
        self.work -= given * _each(operation, taken)
        if self.total < 0 or self.work < 0:
            raise ValueError("it works far more than a model of its size")


def check(model: keras.Model, budget: Budget) -> None:
    """Do nothing for a *model* that stays within *budget* when it is asked about one example.

    While it is built nobody knows how many examples come, and what is folded into their axis, or lies in a model within
    it, counts for little: here each operation is asked what it gives in the sizes that it then has. Nothing runs.

    Raises:
        ValueError: It does not.
    """
    _ask(model, [_example(one) for one in model.inputs], budget)


def _example(tensor: Any) -> Any:
    if not tensor.shape or None in tensor.shape[1:]:
        raise ValueError("what it takes has no known size")
    return keras.KerasTensor((1, *tensor.shape[1:]), tensor.dtype)


def _ask(model: Any, given: Any, budget: Budget) -> Any:
    def counted(operation: Any) -> Callable[..., Any]:
        def ask(*args: Any, **more: Any) -> Any:
            if isinstance(operation, keras.Model):
                return _ask(operation, args[0], budget)
            taken = _tensors((args, more))
            outputs = _traced(operation, args, more, taken)
            tensors = _tensors(outputs)
            if any(None in one.shape for one in tensors):
                raise ValueError("a layer of it gives tensors of no known size")
            budget.spend(operation, tensors, taken)
            return outputs

        return ask

    return model._run_through_graph(given, operation_fn=counted)


def _traced(operation: Any, args: Any, more: Any, taken: Sequence[Any]) -> Any:
    """What it gives, by its own code: what layers say of their sizes is not true of whatever they are given."""
    flat = keras.tree.flatten((args, more))

    def run(*tensors: Any) -> Any:
        left = iter(tensors)
        filled = [next(left) if isinstance(one, keras.KerasTensor) else one for one in flat]
        positional, named = keras.tree.pack_sequence_as((args, more), filled)
        return operation(*positional, **named)

    return backend.compute_output_spec(run, *taken)


def _tensors(structure: Any) -> list[Any]:
    return [one for one in keras.tree.flatten(structure) if isinstance(one, keras.KerasTensor)]


@contextmanager
def within(budget: Budget) -> Iterator[None]:
    """Raises ValueError as soon as a model that is built inside goes beyond *budget*."""
    from keras.src.ops.node import Node

    init = Node.__init__

    def counted(node: Any, operation: Any, call_args: Any = None, call_kwargs: Any = None, outputs: Any = None) -> None:
        init(node, operation, call_args=call_args, call_kwargs=call_kwargs, outputs=outputs)
        if not isinstance(operation, keras.Model):  # what is in one was counted
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


def _numbers(tensor: Any) -> int:
    return math.prod(size or 1 for size in tensor.shape)
