"""The widest array that a model makes of one example, read from its graph: what bounds the batch of an evaluation."""

from __future__ import annotations

import math
from typing import Any

import keras


def widest(model: object) -> int | None:
    """Numbers of one example in the widest array between inputs and outputs; None where a layer hides its inside.

    A layer hides what it makes when it is a person's own, holds layers of its own without telling their graph
    (recurrent and attention layers do), or compares all positions with each other.
    """
    if not isinstance(model, keras.src.models.functional.Functional):
        return _of_chain(model) if isinstance(model, keras.Sequential) else None
    most = 0
    for operation in model.operations:
        inside = _inside(operation)
        if inside is None:
            return None
        made = (_numbers(tensor) for node in operation._inbound_nodes for tensor in node.output_tensors)
        most = max(most, inside, *made)
    return most


def _of_chain(model: object) -> int | None:
    graph = getattr(model, "_functional", None)
    return widest(graph) if graph is not None else None


def _inside(operation: object) -> int | None:
    """Of what *operation* makes before its outputs; 0: nothing wider than these."""
    if isinstance(operation, keras.Model):
        return widest(operation)
    if not isinstance(operation, keras.layers.Layer):
        return 0
    hides = "attention" in type(operation).__name__.lower() or any(True for _ in operation._flatten_layers(False))
    ours = type(operation).__module__.partition(".")[0] == "keras"
    return 0 if ours and not hides else None


def _numbers(tensor: Any) -> int:
    return math.prod(size for size in tensor.shape if size is not None)
