"""Which examples are kept aside for testing: a pure function of names (or row numbers), seed and share.

The same names and seed give the same split on every machine and in every numpy: keys are hashes, never a
generator's stream. Each class gives its share, and never its last example.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tpu_studio.data.arrays import Array, Bools

Keys = npt.NDArray[np.uint64]


def keys_of_names(names: Iterable[str], seed: int) -> Keys:
    """One 64-bit key per name; names may hold undecodable bytes (surrogates)."""
    salt = seed.to_bytes(8, "little")
    digests = b"".join(hashlib.blake2b(os.fsencode(name), digest_size=8, key=salt).digest() for name in names)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def keys_of_rows(count: int, seed: int) -> Keys:
    """One 64-bit key per row number: SplitMix64 (Steele, Lea, Flood 2014), vectorised."""
    state = np.arange(1, count + 1, dtype=np.uint64) + np.uint64((seed * 0x2545F4914F6CDD1D) % 2**64)
    mixed = state * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


def validation_count(examples: int, share: float, groups: int = 1) -> int:
    """How many of *examples* are kept aside: the share, at least one, and at least one of each group stays."""
    if examples < 2:
        return 0
    return max(1, min(round(examples * share), max(1, examples - groups)))


def validation_mask(keys: Keys, share: float, groups: Array | None = None) -> Bools:
    """True where an example is kept aside; *groups* are class indices, each of which gives its share."""
    count = len(keys)
    mask = np.zeros(count, dtype=np.bool_)
    if count < 2:
        return mask
    codes = np.zeros(count, dtype=np.int64) if groups is None else np.asarray(groups, dtype=np.int64)
    order = np.lexsort((keys, codes))
    sizes = np.bincount(codes)
    starts = np.concatenate(([0], np.cumsum(sizes)))[:-1]
    rank = np.arange(count) - starts[codes[order]]
    size = sizes[codes[order]]
    place = (rank + 0.5) / size
    place[rank == size - 1] = 2.0  # the last of its class stays in training while others can go
    chosen = order[np.lexsort((keys[order], place))]
    wanted = validation_count(count, share, int(np.count_nonzero(sizes)))
    mask[chosen[:wanted]] = True
    return mask
