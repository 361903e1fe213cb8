"""Initial weights, drawn by numpy: the same numbers for a seed in every framework and in any order of layers.

Each weight has its own stream, named by the seed and the weight's path, so that changing one layer leaves the
others alone. Biases, scales and running means keep the zeros and ones that Keras gave them.
"""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tpu_studio.wire import frameworks

Scale = Callable[[str, Sequence[int]], float]
_draws = True


def fill(model: Any, seed: int, scale: Scale) -> None:
    """Draw every kernel and every embedding table of *model* anew from a normal distribution.

    Args:
        scale: Path and shape of a weight → its standard deviation.
    """
    if not draws():
        return
    for weight in model.trainable_weights:
        if weight.path.rsplit("/", 1)[-1] in ("kernel", "embeddings"):
            drawn = stream(seed, weight.path).standard_normal(tuple(weight.shape), dtype=np.float32)
            weight.assign(drawn * np.float32(scale(weight.path, weight.shape)))


@contextlib.contextmanager
def to_fill() -> Iterator[None]:
    """A model built inside is given to `fill` afterwards: what that draws begins as zeros. JAX would compile a program
    for the random numbers of each shape, 15 seconds of a processor for fifty convolutions."""
    from keras import initializers
    from keras.src.initializers.random_initializers import RandomInitializer

    def value(initializer: object, shape: Sequence[int]) -> np.ndarray[Any, Any] | None:
        if isinstance(initializer, (RandomInitializer, initializers.Zeros)):
            return np.zeros(shape, np.float32)
        return np.ones(shape, np.float32) if isinstance(initializer, initializers.Ones) else None

    with _initializing(value):
        yield


@contextlib.contextmanager
def without_weights() -> Iterator[None]:
    """Models of ours built inside get zeros for initial weights: 124 million random numbers take longer than to build
    and trace the model. Not for a person's own, which may look at its weights."""
    global _draws
    _draws = False
    try:
        with _initializing(lambda initializer, shape: np.zeros(shape, np.float32)):
            yield
    finally:
        _draws = True


@contextlib.contextmanager
def _initializing(value: Callable[[object, Sequence[int]], np.ndarray[Any, Any] | None]) -> Iterator[None]:
    """Variables of a framework that is traced begin as *value* says of their initializer and shape; None: as ever."""
    import keras
    from keras.src.backend.common.variables import Variable as Base

    initialize = Base._initialize_with_initializer

    def initialized(self: Any, initializer: object) -> None:
        begins = value(initializer, self._shape)
        if begins is None:
            initialize(self, initializer)
        else:
            self._initialize(self._convert_to_tensor(begins, dtype=self._dtype))

    if frameworks.by_id(keras.backend.backend()).is_traced:
        Base._initialize_with_initializer = initialized
    try:
        yield
    finally:
        Base._initialize_with_initializer = initialize


def draws() -> bool:
    """Whether models that are built now get their weights."""
    return _draws


def stream(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def seed_of(seed: int, name: str) -> int:
    """A seed for a layer that draws while training (dropout)."""
    return int(stream(seed, name).integers(2**31 - 1))


def he(shape: Sequence[int]) -> float:
    """Standard deviation before a ReLU (He et al. 2015, equation 10)."""
    return math.sqrt(2.0 / _fans(shape)[0])


def glorot(shape: Sequence[int]) -> float:
    """Standard deviation of a linear layer (Glorot and Bengio 2010, equation 16)."""
    return math.sqrt(2.0 / sum(_fans(shape)))


def _fans(shape: Sequence[int]) -> tuple[int, int]:
    receptive = math.prod(shape[:-2])
    return shape[-2] * receptive, shape[-1] * receptive
