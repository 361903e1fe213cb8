"""Looks into a `.keras` file before Keras builds what it describes: a few bytes may ask for a terabyte, or for ever.

Standard library only. What it may be made of: ``plainmodel``.
"""

from __future__ import annotations

import lzma
import zipfile
import zlib
from pathlib import Path

from tpu_studio.trainer.result import plainmodel
from tpu_studio.wire import hdf5
from tpu_studio.wire.archives import open_zip
from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.plainfiles import plainly

CONFIG, WEIGHTS = "config.json", "model.weights.h5"
_ENTRIES = {CONFIG, WEIGHTS, "metadata.json"}  # Keras unpacks what else there is, onto the disk
ASSETS = "assets/"  # the words of a layer that looks them up, of a model of one's own
_CONFIG_BYTES, _SMALL_BYTES = 8_000_000, 64_000_000
_NAMES_AT = 26  # in the header before an entry: the length of its name (APPNOTE.TXT 4.3.7)
RATIO_AT_MOST = 4  # weights barely get smaller
_SIZES = ("units", "filters", "input_dim", "output_dim", "key_dim", "num_heads", "depth_multiplier")


REFUSED = (
    ValueError,
    KeyError,
    OSError,
    EOFError,
    RuntimeError,  # encrypted
    NotImplementedError,  # packed in a way that is not known
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""What comes of a file that is damaged, or asks for what it cannot hold."""


def check(path: Path, *, own: bool = False) -> int:
    """Do nothing for a file that describes a model of ours (*own*: any) whose weights it can hold; their bytes.

    Raises:
        REFUSED: It does not, or cannot be read.
    """
    with open_zip(path) as archive:
        names = archive.namelist()
        known = all(name in _ENTRIES or (own and name.startswith(ASSETS)) for name in names)
        if len(names) != len(set(names)) or not known:
            raise ValueError("it has other files than those of a saved model")
        if archive.getinfo(CONFIG).file_size > _CONFIG_BYTES:
            raise ValueError(f"its {CONFIG} is larger than any model's")
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > max(_SMALL_BYTES, RATIO_AT_MOST * path.stat().st_size):
            raise ValueError(f"it would unpack to {unpacked:,} bytes, far more than it can hold")
        _check_tables(path, archive, archive.getinfo(WEIGHTS))
        weights, tree = archive.getinfo(WEIGHTS).file_size, parse_json(archive.read(CONFIG), CONFIG)
        _walk(tree, weights)
        if not own:
            if not isinstance(tree, dict):
                raise ValueError(f"its {CONFIG} is no description")
            plainmodel.check(tree)
        return weights


def _check_tables(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    if entry.compress_type != zipfile.ZIP_STORED:
        return hdf5.check_bytes(archive.read(entry))
    with open(path, "rb", opener=plainly) as file:
        file.seek(entry.header_offset + _NAMES_AT)
        name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
        return hdf5.check(file, entry.header_offset + _NAMES_AT + 4 + name + extra, entry.file_size)


def _walk(tree: object, weights: int) -> None:
    if isinstance(tree, dict):
        for name in _SIZES:
            size = tree.get(name)
            if isinstance(size, int) and size > 8 * weights:  # a bias alone has that many numbers
                raise ValueError(f"a layer of {size:,} {name}, and {weights:,} bytes of weights")
    for inner in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        _walk(inner, weights)
