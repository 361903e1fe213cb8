"""`learn.json` in the program's home: what somebody did in Learn, so that it can be left and taken up.

A damaged file counts as nothing and is put aside at the next save, under a name of its own; one that cannot be read for
a moment stays as it is. Of a newer version's file what is known counts, and everything else in it stays.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_studio.domain.learning.progress import DONE, STARTED, Deed
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.events import is_time
from tpu_studio.wire.jsonfile import NotJson, read_json
from tpu_studio.wire.runfolder import write_atomically

FORMAT = 1
MOST_DEEDS = 2000
LARGEST_BYTES = 1_000_000


@dataclass(frozen=True)
class Kept:
    """*active*: the chapter that is under way, "" for none. *put_off*: the offer on Home was turned down."""

    deeds: tuple[Deed, ...] = ()
    active: str = ""
    put_off: bool = False


def load(path: Path) -> tuple[Kept, str]:
    """What *path* holds, and one sentence where it is damaged ("" else).

    Raises:
        RunError: ``learn-unreadable``: it cannot be read now, and may hold anything.
    """
    tree = _read(path)
    if tree is None:
        return Kept(), (
            "What you had done in Learn could not be read, so its chapters begin anew. Your runs are not affected. The "
            f"old file is kept as {_aside(path).name}."
        )
    read = [_deed(one) for one in tree.get("deeds", [])]
    active = tree.get("active")
    return Kept(
        tuple(one for one in read if one is not None)[-MOST_DEEDS:],
        active if isinstance(active, str) else "",
        tree.get("put_off") is True,
    ), ""


def save(path: Path, kept: Kept) -> None:
    """Write *kept* whole or not at all. What is there and damaged is put aside.

    Raises:
        RunError: ``learn-unreadable`` (what is there cannot be read now, and is not written over), ``disk-full``,
            ``folder-unwritable``, ``learn-full``.
    """
    before = _read(path)
    tree = {"format": FORMAT, **(before or {})}
    for name, value in (("active", kept.active), ("put_off", kept.put_off)):
        if value or isinstance(tree.get(name, value), type(value)):  # else a newer version's stays
            tree[name] = value
    tree["deeds"] = list(_records(tree.get("deeds", []), kept.deeds[-MOST_DEEDS:]))
    data = json.dumps(tree, indent=1).encode()
    if len(data) > LARGEST_BYTES:
        raise RunError("learn-full", file=str(path))
    try:
        if before is None:
            os.replace(path, _aside(path))
        write_atomically(path, data)
    except OSError as error:
        from tpu_studio.workflow.desk import disk_error

        raise disk_error(error, path.parent) from error


def _read(path: Path) -> dict[str, Any] | None:
    """{} where there is none; None: it is damaged. Raises RunError ``learn-unreadable``."""
    try:
        tree = read_json(path, LARGEST_BYTES)
    except FileNotFoundError:
        return {}
    except NotJson:
        return None
    except OSError as error:
        raise RunError("learn-unreadable", file=str(path), raw=error.strerror or str(error)) from error
    return tree if isinstance(tree, dict) and isinstance(tree.get("deeds", []), list) else None


def _aside(path: Path) -> Path:
    """Where *path* is put when it is damaged: no such file is there yet."""
    broken, number = path.with_name(f"{path.name}.broken"), 1
    while os.path.lexists(broken):
        number += 1
        broken = path.with_name(f"{path.name}.broken-{number}")
    return broken


def _records(before: Sequence[object], deeds: Sequence[Deed]) -> Iterator[object]:
    """*deeds* as they are written, those of *before* in their places; what is no deed here is a newer version's."""
    left = Counter(deeds)
    for record in before:
        deed = _deed(record)
        if deed is None:
            yield record
        elif left[deed]:
            left[deed] -= 1
            yield {**record, **_record(deed)} if isinstance(record, dict) else record
    for deed in deeds:
        if left[deed]:
            left[deed] -= 1
            yield _record(deed)


def _record(deed: Deed) -> dict[str, object]:
    return {"step": deed.key, "kind": deed.kind, "run": deed.run, "at": deed.at}


def _deed(one: object) -> Deed | None:
    if not isinstance(one, dict):
        return None
    key, kind, run, at = (one.get(name) for name in ("step", "kind", "run", "at"))
    at = float(at) if isinstance(at, (int, float)) and is_time(at) else 0.0  # some are larger than any float
    if not isinstance(key, str) or kind not in (STARTED, DONE):
        return None
    return Deed(key, kind, run if isinstance(run, str) else "", at)
