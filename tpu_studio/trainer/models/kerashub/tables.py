"""The tables of a KerasHub folder's weights, by Keras's own readers; no link in a file is followed (`linkless`).

In a folder of several files each table is in the one that the index names.
"""

from __future__ import annotations

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
    def __getitem__(self, key: str) -> Any:
        kind = saving_lib.safe_get_h5_dataset(self._h5_entry_group, key).dtype
        if kind.kind not in "fV":
            raise ValueError(f"it holds {kind}")
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
