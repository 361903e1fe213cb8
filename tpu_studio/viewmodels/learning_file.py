"""`learn.json` in the program's home: what somebody did in Learn, so that it can be left and taken up.

A damaged file is kept as `learn.json.broken` and counts as nothing; of a newer version's file what is known counts, and
its other keys stay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_studio.domain.learning.progress import DONE, STARTED, Deed
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
    """What *path* holds, and one sentence where it could not be read ("" else). Never raises for a bad file."""
    try:
        tree = read_json(path, LARGEST_BYTES)
    except FileNotFoundError:
        return Kept(), ""
    except (OSError, NotJson):
        tree = None
    if not isinstance(tree, dict):
        return Kept(), (
            "What you had done in Learn could not be read, so its chapters begin anew. Your runs are not affected. The "
            "old file is kept as learn.json.broken."
        )
    deeds = tree.get("deeds")
    read = [_deed(one) for one in deeds] if isinstance(deeds, list) else []
    active = tree.get("active")
    return Kept(
        tuple(one for one in read if one is not None)[-MOST_DEEDS:],
        active if isinstance(active, str) else "",
        tree.get("put_off") is True,
    ), ""


def save(path: Path, kept: Kept) -> None:
    """Write *kept* atomically. Raises OSError when the disk refuses."""
    more: Mapping[str, Any] = {}
    if path.exists():
        try:
            before = read_json(path, LARGEST_BYTES)
        except NotJson:
            before = None
        if isinstance(before, dict):
            more = before
        else:
            os.replace(path, path.with_name(path.name + ".broken"))
    version = more.get("format", FORMAT)
    deeds = [{"step": one.key, "kind": one.kind, "run": one.run, "at": one.at} for one in kept.deeds[-MOST_DEEDS:]]
    tree = {**more, "format": version, "active": kept.active, "put_off": kept.put_off, "deeds": deeds}
    write_atomically(path, json.dumps(tree, indent=1).encode())


def _deed(one: object) -> Deed | None:
    if not isinstance(one, dict):
        return None
    key, kind, run, at = (one.get(name) for name in ("step", "kind", "run", "at"))
    at = float(at) if isinstance(at, (int, float)) and is_time(at) else 0.0  # some are larger than any float
    if not isinstance(key, str) or kind not in (STARTED, DONE):
        return None
    return Deed(key, kind, run if isinstance(run, str) else "", at)
