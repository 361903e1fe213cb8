"""A network that somebody described is made no larger than it can be in earnest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import keras


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
