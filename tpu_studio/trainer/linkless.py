"""Keras's reader of HDF5 weights, without a look at what a link in the file leads to, and bounded.

Keras 3.15 refuses to read through a link, and asks before whether a path is there: with a link in its middle, that
opens whatever file the link names, which may be a pipe or another computer's. Here each step of a path is looked at
before it is taken. Keras 2.13's other place for layers is not looked for.

A stranger may have written them. Of a table only its head is read before it is known to be what Keras writes: numbers
that lie in the file one after another, no more of them than there may be. One that is packed, or has holes, could be
a few bytes that become gigabytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keras.src.saving import saving_lib


class Linkless(saving_lib.H5IOStore):  # type: ignore[misc]  # Keras is not typed
    """Its methods raise ValueError where a path has a link in it, or a table has more than `most` numbers."""

    most = 0

    def __getitem__(self, key: str) -> Any:
        table = saving_lib.safe_get_h5_dataset(self._h5_entry_group, key)
        count, kind = math.prod(table.shape), table.dtype
        if count > self.most:
            raise ValueError(f"{table.name} has {count:,} numbers, of which at most {self.most:,} belong there")
        if kind.kind not in "fViub" or kind.hasobject or kind.itemsize > 8:
            raise ValueError(f"{table.name} holds {kind}")
        if "dtype" in table.attrs and table.attrs.get_id("dtype").shape != ():  # Keras reads it, whatever it takes
            raise ValueError(f"{table.name} has a list where a word belongs")
        if table.chunks is not None or table.id.get_storage_size() < count * kind.itemsize:
            raise ValueError(f"{table.name} is packed, or not there as a whole")
        return super().__getitem__(key)

    def get(self, path: str) -> Any:
        held = self._group(f"{path}/vars" if path else "vars")
        self._h5_entry_path, self._h5_entry_initialized = path, True
        self._h5_entry_group = {} if held is None else held
        return self

    def has_path(self, path: str) -> bool:
        return self._group(path) is not None

    def _group(self, path: str) -> Any:
        try:
            return saving_lib.safe_get_h5_group(self.h5_file, path)
        except KeyError:
            return None


@contextmanager
def linkless(most: int) -> Iterator[None]:
    """Within, what Keras loads is read so, of tables of up to *most* numbers."""
    theirs = saving_lib.H5IOStore
    saving_lib.H5IOStore = type("Bounded", (Linkless,), {"most": most})
    try:
        yield
    finally:
        saving_lib.H5IOStore = theirs
