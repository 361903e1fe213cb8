"""Which examples make up which step: a pure function of seed and step number, so that resuming needs no replay.

Each epoch is one permutation of the training set; the examples left over at its end, too few for a batch, are not
used in that epoch (every step has one fixed shape). Evaluation goes through all examples once, the last batch padded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tpu_studio.data.split import keys_of_rows

Indices = npt.NDArray[np.int64]


class Order:
    """Training order. The permutation of the current epoch is kept; any thread may ask."""

    def __init__(self, examples: int, batch: int, seed: int) -> None:
        if examples < 1:
            raise ValueError("no examples to put into an order")
        self.examples, self.batch, self.seed = examples, batch, seed
        self.steps_per_epoch = max(1, examples // batch)
        self._kept: tuple[int, Indices] = (-1, np.empty(0, np.int64))

    def indices(self, step: int) -> Indices:
        """The B examples of the step after *step* steps were made."""
        epoch, place = divmod(step, self.steps_per_epoch)
        whole = self._epoch(epoch)
        if self.examples < self.batch:  # fewer than one batch: some stand in it more than once
            return np.resize(whole, self.batch)
        return whole[place * self.batch : (place + 1) * self.batch]

    def _epoch(self, epoch: int) -> Indices:
        kept = self._kept
        if kept[0] != epoch:
            # Sorting hashes instead of numpy's shuffle: its stream may change from version to version, this may not.
            keys = keys_of_rows(self.examples, self.seed * 1_000_003 + epoch + 1)
            self._kept = kept = (epoch, np.argsort(keys))
        return kept[1]


def evaluation_batches(examples: int, batch: int) -> Iterator[tuple[Indices, npt.NDArray[np.float32]]]:
    """Every example once: indices [B] and weights [B], 0 where a place only fills up the last batch."""
    for start in range(0, examples, batch):
        indices = np.arange(start, start + batch, dtype=np.int64)
        counts = indices < examples
        yield np.where(counts, indices, 0), counts.astype(np.float32)


def generator(seed: int, step: int, purpose: int) -> np.random.Generator:
    """The random numbers of one step: 0 draws examples, 1 varies pictures."""
    return np.random.default_rng([seed, step, purpose])
