"""Files of weights as h5py and Keras write them, and some that neither would (`tools/make_hdf5_samples.py`)."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tpu_studio.wire import hdf5

SAMPLES = Path(__file__).with_name("hdf5.zip")


def sample(name: str) -> bytes:
    with zipfile.ZipFile(SAMPLES) as archive:
        return archive.read(f"{name}.h5")


def names() -> list[str]:
    with zipfile.ZipFile(SAMPLES) as archive:
        return [name.removesuffix(".h5") for name in archive.namelist()]


def of_size(size: int) -> bytes:
    """Weights of a network that has none, and *size* bytes."""
    return sample("empty").ljust(size, b"\0")


@contextmanager
def unlooked() -> Iterator[None]:
    """Within, files of weights come to those who read them although they are none that Keras writes."""
    theirs = hdf5._File.check
    hdf5._File.check = lambda self: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        hdf5._File.check = theirs  # type: ignore[method-assign]
