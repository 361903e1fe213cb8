"""The notebook that trains one launched plan on a free Colab TPU: text, settings, and the job's bundle inside.

What its cells call is `trainer.notebook`, which comes with the bundle. Data of 20 MB and less is inside as well; larger
data is written as one file beside the notebook, for Drive or an upload. The same plan gives the same notebook.
"""

from __future__ import annotations

import base64
import errno
import gzip
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from tpu_studio.cloud.bundle import Piece, bundle, data_pieces
from tpu_studio.cloud.startup import uv
from tpu_studio.domain.sentences import colab as words
from tpu_studio.planner.places.notebook import known
from tpu_studio.wire.errors import BadInput, DataError, RunError
from tpu_studio.wire.heldfolder import HeldFolder
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import inner, rows, whole
from tpu_studio.wire.runfolder import beside

DATA_BYTES = 20_000_000
OPEN_URL = "https://colab.research.google.com/#create=true"
_LINE = 2000  # characters of base64 in a line of a cell


@dataclass(frozen=True)
class Written:
    """*data*: the file with the data beside the notebook; None where the notebook holds it, or there is none."""

    notebook: Path
    bytes: int
    data: Path | None = None
    data_bytes: int = 0


def write(plan: Plan, path: Path) -> Written:
    """Write the notebook of *plan*, a launched one (it has its run id), to *path*; both files or none.

    Raises:
        BadInput: ``notebook-exists``.
        DataError, ModelError: As `bundle.bundle` and `bundle.data_pieces`.
        RunError: ``folder-unwritable``, ``disk-full``.
    """
    path = Path(os.path.expanduser(path)).absolute()
    pieces = data_pieces(plan.job, piece_bytes=sys.maxsize)
    piece = pieces[0] if pieces else None
    data = path.with_name(f"{path.stem}-data{piece.suffix}") if piece is not None else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with HeldFolder(path.parent) as held:  # others may write there, too
            there = {*held.names()}
            for one in (path, data):
                if one is not None and one.name in there:
                    raise BadInput("notebook-exists", file=str(one))
            return _write(plan, path, piece, data, held)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise RunError("disk-full" if full else "folder-unwritable", folder=str(path.parent), raw=str(error)) from error


def _write(plan: Plan, path: Path, piece: Piece | None, data: Path | None, held: HeldFolder) -> Written:
    """What was written so far is removed where it fails, and the data where the notebook holds it."""
    made = [beside(PurePath(one.name), "new") for one in (path, data) if one is not None]
    try:
        record, packed = None, b""
        if piece is not None and data is not None:
            record = _written(piece, data.name, made[1], held)
            packed = (
                gzip.compress(_read_back(made[1], record, held), 6, mtime=0) if record["bytes"] <= DATA_BYTES else b""
            )
        text = _notebook(plan, record, packed)
        if packed and len(text) > whole(known()["notebook_bytes"]):
            text, packed = _notebook(plan, record, b""), b""
        with held.create(made[0]) as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        held.replace(made[0], path.name)
        if data is not None and not packed:
            try:
                held.replace(made[1], data.name)
            except OSError:
                held.remove(PurePath(path.name))
                raise
    finally:
        for one in made:
            held.remove(one)
    if data is None or packed or record is None:
        return Written(path, len(text))
    return Written(path, len(text), data, int(record["bytes"]))


def _written(piece: Piece, name: str, to: PurePath, held: HeldFolder) -> dict[str, Any]:
    """Write the data, which is going to be called *name*, as *to*; ``data`` of the notebook's config."""
    with held.create(to) as out:
        sha256 = piece.write(out)
        size = out.tell()
    return {
        "name": name,
        "sha256": sha256,
        "bytes": size,
        "folder": piece.folder,
        "file": piece.file,
        "single": piece.single,
    }


def _read_back(name: PurePath, record: dict[str, Any], held: HeldFolder) -> bytes:
    """What was written, and nothing that has taken its place. Raises DataError ``data-changed``; OSError."""
    content = held.read(name, int(record["bytes"]) + 1)
    if hashlib.sha256(content).hexdigest() != record["sha256"]:
        raise DataError("data-changed", path=str(held.path / name))
    return content


def environment(framework: str) -> dict[str, object]:
    """Versions that go together in Colab's runtime. Raises BadInput ``colab-framework``."""
    for one in rows(known()["environments"]):
        if one["framework"] == framework:
            return {**{key: one[key] for key in ("framework", "python", "lock")}, "uv": uv()}
    raise BadInput("colab-framework", framework=framework)


def _notebook(plan: Plan, data: dict[str, object] | None, packed: bytes) -> bytes:
    held = bundle(plan)
    config = {"run": plan.run, "environment": environment(plan.framework), "data": data}
    cells = [
        _cell("about", words.about(plan.run, plan.job.name, plan.accelerator, outside=data if not packed else None)),
        _cell("settings", _SETTINGS, code=True),
        _cell("contents", _contents(held, config, packed), code=True),
        _cell("keep", _KEEP, code=True),
        _cell("train", _TRAIN, code=True),
        _cell("after", words.AFTER),
    ]
    metadata = inner(known()["metadata"])
    tree = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            "accelerator": metadata["accelerator"],
            "colab": {"provenance": [], "gpuType": metadata["gpuType"], "name": f"{plan.run}.ipynb"},
            "kernelspec": {"name": "python3", "display_name": "Python 3"},
            "language_info": {"name": "python"},
        },
        "cells": cells,
    }
    return json.dumps(tree, indent=1, ensure_ascii=False).encode() + b"\n"


def _cell(name: str, text: str, *, code: bool = False) -> dict[str, object]:
    source = text.strip("\n").splitlines(keepends=True)
    if not code:
        return {"cell_type": "markdown", "id": name, "metadata": {}, "source": source}
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {"cellView": "form"},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


def _contents(held: bytes, config: dict[str, Any], packed: bytes) -> str:
    return _CONTENTS.format(
        bundle=_base64(held),
        sha256=hashlib.sha256(held).hexdigest(),
        config=json.dumps(json.dumps(config, sort_keys=True)),
        data=_base64(packed),
    )


def _base64(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return "\n".join(text[at : at + _LINE] for at in range(0, len(text), _LINE))


_SETTINGS = """
#@title 1 · Where the run is kept { display-mode: "form" }
#@markdown Colab asks before it lets this notebook into your Drive. Without Drive your browser saves copies.
KEEP_IN_DRIVE = True  #@param {type:"boolean"}
COPY_EVERY_MINUTES = 15  #@param {type:"number"}
#@markdown After a lost runtime without Drive: tick this and choose the latest zip that your browser saved.
GO_ON_FROM_ZIP = False  #@param {type:"boolean"}
"""

_CONTENTS = '''
#@title 2 · The job and the training program {{ display-mode: "form" }}
import base64, hashlib, io, json, os, pathlib, sys, tarfile

BUNDLE = """
{bundle}
"""
DATA = """
{data}
"""
SHA256 = "{sha256}"
CONFIG = json.loads({config})
ROOT = pathlib.Path(os.environ.get("TPU_STUDIO_COLAB_ROOT", "/content/tpu-studio"))
packed = base64.b64decode(BUNDLE)
if hashlib.sha256(packed).hexdigest() != SHA256:
    raise SystemExit("This notebook was changed or cut short. Make it again with TPU Studio.")
CODE = ROOT / "code" / SHA256[:16]
if not (CODE / "plan.json").exists():
    CODE.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(CODE, filter="data")
sys.path.insert(0, str(CODE))
from tpu_studio.trainer.notebook import Notebook

notebook = Notebook(CODE, ROOT, CONFIG)
print(CONFIG["run"], "is ready.")
'''

_KEEP = """
#@title 3 · Keep the run, get the data { display-mode: "form" }
notebook.keep(KEEP_IN_DRIVE, COPY_EVERY_MINUTES, GO_ON_FROM_ZIP)
notebook.get_data(DATA.strip())
"""

_TRAIN = """
#@title 4 · Train { display-mode: "form" }
notebook.train();
"""
