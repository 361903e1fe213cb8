"""Links in a folder of data. Whoever sent it may have laid links in it to files of ours, whose words would then stand
in plans that are shared, and go along to the cloud: what leads out of the folder is no data.

A link to something in the same folder is followed, and the folder itself may be a link: the person chose that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from tpu_studio.data.paths import leads_outside, path_error
from tpu_studio.wire.errors import DataError

OUTSIDE = "link-outside"


def files_below(root: Path, endings: Collection[str]) -> tuple[list[Path], list[Path]]:
    """Files with these endings at any depth, sorted; and beside them the links among them that lead outside.

    Raises:
        DataError: data-unreadable, data-missing, data-loop.
    """
    try:
        found = sorted(one for one in root.rglob("*") if one.suffix.lower() in endings and one.is_file())
    except OSError as error:
        raise path_error(root, error) from error
    outside = [one for one in found if leads_outside(root, one)]
    left_out = frozenset(outside)
    return [one for one in found if one not in left_out], outside


def all_below(root: Path, endings: Collection[str]) -> list[Path]:
    """As `files_below`, where none may be left out.

    Raises:
        DataError: data-link-outside, data-empty; and those.
    """
    found, outside = files_below(root, endings)
    if outside:
        raise DataError("data-link-outside", path=str(outside[0]))
    if not found:
        raise DataError("data-empty", path=str(root), others=0)
    return found


def check_inside(root: Path, paths: Iterable[Path]) -> None:
    """Raises DataError ``data-link-outside`` for the first that leads outside of *root*."""
    for path in paths:
        if leads_outside(root, path):
            raise DataError("data-link-outside", path=str(path))
