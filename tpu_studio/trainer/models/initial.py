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
def without_weights() -> Iterator[None]:
    """Models of ours built inside get zeros for initial weights: 124 million random numbers take longer than to build
    and trace the model. Not for a person's own, which may look at its weights."""
    import keras
    from keras.src.backend.common.variables import Variable as Base

    global _draws
    initialize = Base._initialize_with_initializer

    def zeros(self: Any, initializer: object) -> None:
        self._initialize(self._convert_to_tensor(np.zeros(self._shape, np.float32), dtype=self._dtype))

    _draws = False
    if frameworks.by_id(keras.backend.backend()).is_traced:
        Base._initialize_with_initializer = zeros
    try:
        yield
    finally:
        _draws, Base._initialize_with_initializer = True, initialize


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
