"""What the trainer gets: two sources of examples with their shapes, and what predict needs to know later.

``data.sources.open_data`` makes them. A source is random access: the trainer chooses the indices, so that order,
shuffling and resuming are its own business and a batch is a pure function of indices and generator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tpu_studio.data.arrays import Array
from tpu_studio.data.looked import Broken

Spec = dict[str, tuple[tuple[int, ...], str]]


@dataclass(frozen=True)
class Share:
    """What one machine of several reads of each batch: the examples at *places* of the *of* that a batch has."""

    places: Array
    of: int


class Source(ABC):
    """Examples by number.

    Attributes:
        spec: "x", "y" (and "weight" where each part of an example counts by itself) → shape and dtype of one.
        in_memory: True when a batch is copied, False when it is decoded or read from the disk.
        tokens_a_byte: Of a text to continue; 1 but where it is cut into pieces.
    """

    spec: Spec
    in_memory: bool
    tokens_a_byte: float = 1.0

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def batch(
        self, indices: Array, *, rng: np.random.Generator | None = None, share: Share | None = None
    ) -> dict[str, Array]:
        """The examples of these numbers, or *share* of them, stacked.

        *rng* matters only where an example is drawn (text windows): for each of *indices*, so that a machine's share
        is the same as in the whole batch.
        """


class ArraySource(Source):
    """Examples that lie in arrays: in memory, or in a file that the system pages in."""

    def __init__(self, arrays: Mapping[str, Array], *, in_memory: bool = True) -> None:
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise ValueError(f"arrays of different lengths: {sorted(lengths)}")
        self.arrays = dict(arrays)
        self.in_memory = in_memory
        self.spec = {name: (array.shape[1:], str(array.dtype)) for name, array in arrays.items()}

    def __len__(self) -> int:
        return len(self.arrays["x"])

    def batch(
        self, indices: Array, *, rng: np.random.Generator | None = None, share: Share | None = None
    ) -> dict[str, Array]:
        mine = of_share(indices, share)
        return {name: array.take(mine, axis=0) for name, array in self.arrays.items()}


def of_share(values: Array, share: Share | None) -> Array:
    """Of one value for each example of a batch, those of *share*."""
    return values if share is None else values[share.places]


@dataclass
class Opened:
    """An opened data set.

    Attributes:
        task: An id of `wire.tasks`.
        description: JSON: all that predict needs later; see ``data.predicting``.
        files: What is kept beside the model, by name: how its text is cut up.
        broken: What was left out; a source that decodes on the fly adds to it while training.
    """

    task: str
    train: Source
    validation: Source
    description: dict[str, Any]
    broken: list[Broken] = field(default_factory=list)
    broken_count: int = 0
    files: Mapping[str, bytes] = field(default_factory=dict)
