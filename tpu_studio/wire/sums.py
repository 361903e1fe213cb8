"""Whether the model in a result is the one that the run wrote: its card holds the sha256 of each of its files.

That shows what a disk, a stick or a copying program has damaged. It is no seal: whoever changes a model on purpose can
change the card, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import open_below
from tpu_studio.wire.sizes import PLAN_BYTES

CARD, KEY = "model.json", "sha256"
_FILES_AT_MOST = 1000  # a SavedModel of ours has five


def of_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """sha256 of each file below *folder*, by its name with slashes. Raises OSError."""
    return {name: _sha256(folder, PurePosixPath(name)) for name in names}


def damaged_file(result: Path) -> str | None:
    """The first file of *result* that is missing or not as its card says; None: all are, or the card tells no sums, as
    that of earlier versions."""
    try:
        sums: dict[str, object] = read_json(result / CARD, PLAN_BYTES)[KEY]
        told = [(name, str(wanted)) for name, wanted in sums.items() if _is_name(name)][:_FILES_AT_MOST]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # without a readable card nothing is known; who needs the card says so
    read: set[str] = set()
    for name, wanted in told:
        if name.casefold() in read:  # no file twice, however large: "A" is "a" on most disks of macOS and Windows
            continue
        read.add(name.casefold())
        try:
            if _sha256(result, PurePosixPath(name)) != wanted:
                return name
        except (OSError, ValueError):
            return name
    return None


def _is_name(name: str) -> bool:
    """Whether a file of a result is called so: in ASCII, below it, and in one way only, without `./`."""
    path = PurePosixPath(name)
    return (
        name.isascii() and str(path) == name and bool(path.parts) and not path.is_absolute() and ".." not in path.parts
    )


def _sha256(folder: Path, name: PurePosixPath) -> str:
    with open_below(folder, name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
