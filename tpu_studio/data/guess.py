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

from tpu_studio.data import encodings, labelfile, links, textlayout
from tpu_studio.data.described import NAME
from tpu_studio.data.labelled import has_only_text
from tpu_studio.data.paths import check_ordinary, path_error
from tpu_studio.data.readers import of_kind
from tpu_studio.wire import kinds, models, presets
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job, parse

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
    kind = textlayout.kind_of(path.name)
    if labelfile.beside_pictures(path):
        return _is(kinds.first(lambda kind: kind.has_picture_files), path.parent)
    if path.name == NAME:
        return _is(kinds.first(lambda kind: kind.is_converted), path.parent)
    if kind is not None and kind.has_picture_files:
        raise DataError("data-single-picture", path=str(path), folder=str(path.parent.parent))
    if kind is not None and kind.has_rows:
        of_text = textlayout.has_chats(path) or has_only_text(path)
        return _is(kinds.first(lambda kind: kind.has_text) if of_text else kind, path)
    encodings.detect(path)
    if kind is not None:
        return _is(kind, path)
    try:
        return _is(kinds.first(lambda kind: kind.has_rows), path)
    except DataError:
        return _is(kinds.first(lambda kind: kind.has_text), path)


def guess_kind(path: Path) -> str:
    """`data.kind` of *path*. Raises as `guess`."""
    return str(guess(path)["data.kind"])


def guess_job(path: Path, *, name: str | None = None) -> Job:
    """A job of the data at *path* with the kind's first model and everything else by default. Raises as `guess`."""
    values = guess(path)
    values.pop("data.task", None)
    kind = values["data.kind"]
    tree: dict[str, object] = {
        "name": name or Path(path).stem or "run",
        "model": {"name": _model(kind, path)},
    }
    tree["data"] = {key.removeprefix("data."): value for key, value in values.items()}
    return parse(tree)


def _model(kind: str, path: Path) -> str:
    """The kind's first, of texts the first that does what they are for."""
    if kinds.by_id(kind).has_text:
        task = textlayout.of_path(path).id
        return next(model.name for model in models.MODELS if kind in model.takes and task in model.tasks)
    return kinds.by_id(kind).model or models.MODELS[0].name


def _folder(path: Path) -> dict[str, object]:
    if links.is_file_inside(path, NAME):
        return _is(kinds.first(lambda kind: kind.is_converted), path)
    found: dict[kinds.DataKind, list[str]] = {}
    seen = 0
    for name in islice(_files(path), _LOOKED_AT):
        seen += 1
        if (kind := kinds.of_file(name)) is not None:
            found.setdefault(kind, []).append(name)
    for kind in found:
        if kind.has_picture_files:
            return _is(kind, path)
    if not textlayout.has_shards(path) and textlayout.of_path(path).has_classes:
        return _is(kinds.first(lambda kind: kind.has_text), path)
    if textlayout.has_shards(path):
        kind = kinds.first(lambda kind: kind.has_rows)
        return _is(kinds.first(lambda kind: kind.has_text) if has_only_text(path) else kind, path)
    tables = [(kind, name) for kind, names in found.items() if kind.has_rows for name in names]
    if len(tables) == 1:
        return _is(tables[0][0], Path(tables[0][1]))
    if found and not tables:
        return _is(next(iter(found)), path)
    if not seen:
        raise DataError("data-empty", path=str(path), others=0)
    raise DataError("data-unknown-kind", path=str(path), files=seen, tables=len(tables), weights=presets.lies_in(path))


def _files(path: Path) -> Iterator[str]:
    try:
        for entry in links.entries_below(path):
            if not (entry.name.startswith(".") or links.is_outside(path, entry)) and links.is_file(entry):
                yield entry.path
    except OSError as error:
        raise path_error(path, error) from error


def _is(kind: kinds.DataKind, path: Path) -> dict[str, object]:
    return {"data.kind": kind.id, "data.path": str(path), **of_kind(kind.id).more(path)}
