"""Makes `tests/fakes/hdf5.zip`: files of weights as h5py and Keras write them, and some that neither would.

    python tools/make_hdf5_samples.py    in an environment with h5py, numpy and, for the file of Keras, keras and jax

Files that are there stay, so that those of other versions are kept: one is `h5py-<its version>.h5`.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

h5py: Any = import_module("h5py")  # no package of the development environment
TO = Path(__file__).resolve().parent.parent / "tests" / "fakes" / "hdf5.zip"
LAYERS = 40  # so that a group's list has several nodes


def tables(file: Any) -> None:
    for number in range(LAYERS):
        group = file.create_group(f"layers/dense_{number}").create_group("vars")
        group.create_dataset("0", data=np.full((5, 4), number, "f4"))
    group = file.create_group("vars")
    for name, values in enumerate(
        [np.array(7, "i8"), np.array([True, False]), np.zeros((0, 3), "f4"), np.ones(2, "f2"), np.ones(2, "f8")]
    ):
        group.create_dataset(str(name), data=values)
    words = np.zeros((3, 4), "V2")
    group.create_dataset("5", data=words).attrs["dtype"] = "bfloat16"
    for number in range(12):
        group.attrs[f"note_{number}"] = "x" * number
    group.attrs["number"] = 5


def packed(file: Any) -> None:
    file.create_dataset("vars/0", data=np.zeros((100, 100)), chunks=(10, 10), compression="gzip")


def growing(file: Any) -> None:
    file.create_dataset("vars/0", data=np.zeros(4), maxshape=(None,))


def linked(file: Any) -> None:
    file["vars/0"] = h5py.SoftLink("/vars/1")


def elsewhere(file: Any) -> None:
    file["vars/0"] = h5py.ExternalLink("other.h5", "/vars/0")


def beside(file: Any) -> None:
    file.create_dataset("vars/0", shape=(4,), dtype="f4", external=[("numbers.bin", 0, 16)])


def circular(file: Any) -> None:
    file.create_group("vars")["vars"] = file


def compound(file: Any) -> None:
    file.create_dataset("vars/0", data=np.zeros(3, [("a", "f4"), ("b", "i4")]))


def texts(file: Any) -> None:
    file.create_dataset("vars/0", data=["a", "b"], dtype=h5py.string_dtype())


def latest(folder: Path) -> Path:
    with h5py.File(folder / "latest.h5", "w", libver="latest") as file:
        tables(file)
    return folder / "latest.h5"


def keras_file(folder: Path) -> Path | None:
    os.environ["KERAS_BACKEND"] = "jax"
    try:
        keras: Any = import_module("keras")
    except ImportError:
        return None
    keras.config.set_dtype_policy("bfloat16")
    parts = [keras.layers.Conv2D(4, 3), keras.layers.BatchNormalization(), keras.layers.Flatten()]
    model = keras.Sequential([keras.Input((8, 8, 1)), *parts, keras.layers.Dropout(0.1, seed=3), keras.layers.Dense(3)])
    model.save_weights(folder / "keras.weights.h5")
    return folder / "keras.weights.h5"


def main() -> None:
    others: list[Callable[[Any], None]] = [
        *(packed, growing, linked, elsewhere, beside, circular, compound, texts),
    ]
    with tempfile.TemporaryDirectory() as work:
        folder, made = Path(work), list[Path]()
        for name, fill in [
            (f"h5py-{h5py.__version__}", tables),
            ("empty", lambda file: None),
            *((one.__name__, one) for one in others),
        ]:
            made.append(folder / f"{name}.h5")
            with h5py.File(made[-1], "w") as file:
                fill(file)
        made += [one for one in (latest(folder), keras_file(folder)) if one]
        there = set(zipfile.ZipFile(TO).namelist()) if TO.exists() else set()
        with zipfile.ZipFile(TO, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for one in made:
                if one.name not in there:
                    archive.writestr(zipfile.ZipInfo(one.name), one.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
