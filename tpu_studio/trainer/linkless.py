"""Keras's reader of HDF5 weights, without a look at what a link in the file leads to.

Keras 3.15 refuses to read through a link, and asks before whether a path is there: with a link in its middle, that
opens whatever file the link names, which may be a pipe or another computer's. Here each step of a path is looked at
before it is taken. Keras 2.13's other place for layers is not looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keras.src.saving import saving_lib


class Linkless(saving_lib.H5IOStore):  # type: ignore[misc]  # Keras is not typed
    """Its methods raise ValueError where a path has a link in it."""

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
def linkless() -> Iterator[None]:
    """Within, what Keras loads is read so."""
    theirs = saving_lib.H5IOStore
    saving_lib.H5IOStore = Linkless
    try:
        yield
    finally:
        saving_lib.H5IOStore = theirs
