"""The tables of a KerasHub folder's weights, by Keras's own readers; no link in a file is followed (`linkless`).

A stranger may have written them. Of a table only its head is read before it is known to be what Keras writes: numbers
that lie in the file one after another, no more of them than the network can hold. One that is packed, or has holes,
could be a few bytes that become gigabytes. In a folder of several files each table is in the one that the index names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from keras.src.saving import saving_lib

from tpu_studio.trainer.linkless import Linkless
from tpu_studio.trainer.models.kerashub.stored import Array, Read
from tpu_studio.wire.presets import Preset

FLOATS = ("float16", "bfloat16", "float32", "float64")


class _Whole(Linkless):
    most = 0

    def __getitem__(self, key: str) -> Any:
        table = saving_lib.safe_get_h5_dataset(self._h5_entry_group, key)
        count, kind = math.prod(table.shape), table.dtype
        if count > self.most:
            raise ValueError(f"{table.name} has {count:,} numbers, of which at most {self.most:,} belong there")
        if kind.kind not in "fV" or kind.hasobject or kind.itemsize > 8:
            raise ValueError(f"{table.name} holds {kind}")
        if table.chunks is not None or table.id.get_storage_size() < count * kind.itemsize:
            raise ValueError(f"{table.name} is packed, or not there as a whole")
        return super().__getitem__(key)


class _Shards(saving_lib.ShardedH5IOStore, _Whole):  # type: ignore[misc]
    def get(self, path: str) -> Any:
        named = self.sharding_config["weight_map"]
        if not (named.get(path) or named.get(f"/{path}/vars")):  # it would be looked for in whatever file is open
            raise ValueError(f"{self.path.name} does not name {path}")
        return super().get(path)


@contextmanager
def opened(preset: Preset, most: int) -> Iterator[Read]:
    """Its tables, of up to *most* numbers each, as float32.

    Raises:
        ValueError, KeyError, OSError: They are not as Keras writes them.
    """
    store = (_Whole if preset.in_one_file else _Shards)(preset.weights, mode="r")
    store.most = most

    def read(group: str, number: int) -> Array:
        held = store.get(group)
        if str(number) not in held:
            raise ValueError(f"there are no weights {number} of {group}")
        values = np.asarray(held[str(number)])
        if values.dtype.name not in FLOATS:
            raise ValueError(f"{group} holds {values.dtype.name}")
        return values.astype(np.float32)

    try:
        yield read
    finally:
        store.close()
