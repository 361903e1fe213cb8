"""What a dropped path probably is: kind, path, and for a table its target and task, as values for a job.

Used by `tpu-studio convert SRC` and by the window when someone drops a folder or a file on it. A guess opens little:
names, the first bytes of a file, for a table its sample.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from tpu_studio.data import csvfile, encodings, tables, texts
from tpu_studio.data.described import NAME
from tpu_studio.data.imaging import SUFFIXES
from tpu_studio.data.paths import check_ordinary, path_error
from tpu_studio.data.watching import Watch
from tpu_studio.wire import kinds, models
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job, parse

_TABLES = {".csv", ".tsv", ".tab", ".psv"}
_LOOKED_AT = 2000  # names in a folder


def guess(path: Path) -> dict[str, Any]:
    """`data.*` keys and values of a job for *path*: kind and path, for a table also target and task.

    Raises:
        DataError: data-missing, data-empty, data-unknown-kind, or why the table cannot be read.
    """
    path = Path(os.path.expanduser(path)).absolute()
    check_ordinary(path)
    if path.is_dir():
        return _folder(path)
    if path.name == NAME:
        return {"data.kind": "tfrecord", "data.path": str(path.parent)}
    if path.suffix.lower() in SUFFIXES:
        raise DataError("data-single-picture", path=str(path), folder=str(path.parent.parent))
    if path.suffix.lower() in _TABLES:
        return _table(path)
    encodings.detect(path)
    if path.suffix.lower() in texts.SUFFIXES:
        return {"data.kind": "text", "data.path": str(path)}
    try:
        return _table(path)
    except DataError:
        return {"data.kind": "text", "data.path": str(path)}


def guess_job(path: Path, *, name: str | None = None) -> Job:
    """A job of the data at *path* with the kind's first model and everything else by default. Raises as `guess`."""
    values = guess(path)
    values.pop("data.task", None)
    kind = values["data.kind"]
    tree: dict[str, Any] = {
        "name": name or Path(path).stem or "run",
        "model": {"name": kinds.by_id(kind).model or models.MODELS[0].name},
    }
    tree["data"] = {key.removeprefix("data."): value for key, value in values.items()}
    return parse(tree)


def _folder(path: Path) -> dict[str, Any]:
    if (path / NAME).is_file():
        return {"data.kind": "tfrecord", "data.path": str(path)}
    counts = {"images": 0, "table": 0, "text": 0}
    kinds = {
        **dict.fromkeys(SUFFIXES, "images"),
        **dict.fromkeys(_TABLES, "table"),
        **dict.fromkeys(texts.SUFFIXES, "text"),
    }
    first: dict[str, Path] = {}
    seen = 0
    for name in islice(_files(path), _LOOKED_AT):
        seen += 1
        kind = kinds.get(name[name.rfind(".") :].lower())
        if kind:
            counts[kind] += 1
            first.setdefault(kind, Path(name))
    if counts["images"]:
        return {"data.kind": "images", "data.path": str(path)}
    if counts["table"] == 1:
        return _table(first["table"])
    if counts["text"] and not counts["table"]:
        return {"data.kind": "text", "data.path": str(path)}
    if not seen:
        raise DataError("data-empty", path=str(path), others=0)
    raise DataError("data-unknown-kind", path=str(path), files=seen, tables=counts["table"])


def _files(path: Path) -> Iterator[str]:
    def unreadable(error: OSError) -> None:
        if Path(error.filename or "") == path:
            raise path_error(path, error) from error

    for root, folders, names in os.walk(path, onerror=unreadable):
        folders.sort()
        for name in sorted(names):
            if not name.startswith("."):
                yield os.path.join(root, name)


def _table(path: Path) -> dict[str, Any]:
    csvfile.sniff(path)
    job = parse({"model": {"name": "mlp"}, "data": {"kind": "table", "path": str(path)}})
    judged = tables.examine(path, job, Watch()).judged
    return {"data.kind": "table", "data.path": str(path), "data.target": judged.target.name, "data.task": judged.task}
