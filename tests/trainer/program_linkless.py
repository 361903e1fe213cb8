"""Run in the engine: opens weights with a link in them, and sees whether what that leads to was opened.

program_linkless.py FOLDER    → {where the link is: {"words", "opened", "at_once"}}

"at_once" are the words of the first look at a file, "words" those of who reads it without.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import keras
from keras.src.saving import saving_lib

from tests.fakes.openings import openings
from tests.fakes.presets import unpacked
from tests.fakes.weights import unlooked
from tpu_studio.trainer.frameworks import without_tensorflow
from tpu_studio.trainer.linkless import Linkless
from tpu_studio.trainer.models.kerashub import tables
from tpu_studio.trainer.models.own import OwnJob
from tpu_studio.trainer.result import loading
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.pretrained import reading

GROUPS = {"vit": "layers/vi_t_patching_and_embedding/patch_embedding", "sharded": "layers/conv2d"}
OWN = """import keras
def build_model(job):
    return keras.Sequential([keras.Input(job.input_shape), keras.layers.Dense(job.outputs)])
"""
JOB = OwnJob("classification", (3,), "float32", 1.0, 2, 2, ("a", "b"), None, None, None, {}, 0, "float32")


def folders(root: Path) -> dict[str, Any]:
    """Of KerasHub, in one file and in several, with a link at each step to a table."""
    found = {}
    for name, group in GROUPS.items():
        whole = unpacked(name, root / "whole")
        for number, at in enumerate(("layers", group, f"{group}/vars", f"{group}/vars/0")):
            folder = Path(shutil.copytree(whole, root / f"{name}-{number}"))
            file = next(iter(sorted(folder.glob("*.h5"))))
            other = link(file, at)
            found[f"{name} {at}"] = seen(lambda f=folder, g=group: read(f, g), other)
        found[name] = seen(lambda f=whole, g=group: read(f, g), whole / "config.json")
    other = link(file := Path(shutil.copy(whole / "model_00000.weights.h5", root / "x.h5")), "layers")
    return found | {"asked for": seen(lambda: Linkless(file).has_path("layers/conv2d"), other)}


def read(folder: Path, group: str) -> None:
    with tables.opened(reading.read(folder), 10**7) as table:
        table(group, 0)


def results(root: Path) -> dict[str, Any]:
    """With a model that is built here and one of a person's own; read from memory and, as large ones are, from disk."""
    found = {}
    enough = saving_lib.is_memory_sufficient
    for own in ("", "own "):
        for number, at in enumerate(("", "layers", "layers/dense", "layers/dense/vars", "layers/dense/vars/0")):
            folder, other = result(root / f"{own or 'built'}-{number}", own, at)
            consent = hashlib.sha256(OWN.encode()).hexdigest()
            for memory in (True, False):
                saving_lib.is_memory_sufficient = enough if memory else lambda _: False
                name = f"{own}result {at or 'whole'}{'' if memory else ', large'}"
                found[name] = seen(lambda f=folder, c=consent: loading.load(f, consent=c), other)
    return found


def result(folder: Path, own: str, at: str) -> tuple[Path, Path]:
    """A result with a link *at* a place in its weights, and what the link leads to."""
    folder.mkdir(parents=True)
    given = keras.Input((3,))
    model = keras.Model(given, keras.layers.Dense(2)(given))
    file = folder / "model.keras"
    with without_tensorflow():
        model.save(file)
    with zipfile.ZipFile(file) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    weights = folder / "w.h5"
    weights.write_bytes(files["model.weights.h5"])
    other = link(weights, at) if at else weights
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in (files | {"model.weights.h5": weights.read_bytes()}).items():
            archive.writestr(name, data)
    takes = {"shape": [None, 4], "dtype": "float32"}
    card = {"format": 1, "task": "classification", "data": {"kind": "table"}, "input": takes}
    (folder / "model.json").write_text(json.dumps(card | ({"own": {"job": asdict(JOB)}} if own else {})))
    (folder / "own_model.py").write_text(OWN)
    return folder, other


def link(file: Path, at: str) -> Path:
    """Puts in the place *at* of *file* a link to the same place of a copy, and gives that."""
    other = Path(shutil.copy(file, file.with_name(f"other-{file.name}")))
    with h5py.File(file, "r+") as changed:
        del changed[at]
        changed[at] = h5py.ExternalLink(str(other), f"/{at}")
    return other


def seen(work: Callable[[], Any], other: Path) -> dict[str, Any]:
    with openings(other) as opened:
        at_once = _words(work)
        with unlooked():
            return {"words": _words(work), "opened": opened(), "at_once": at_once}


def _words(work: Callable[[], Any]) -> str:
    try:
        work()
    except (StudioError, ValueError, KeyError) as error:
        return f"{getattr(error, 'id', '')} {error}"
    return ""


if __name__ == "__main__":
    root = Path(sys.argv[1])
    print(json.dumps(folders(root / "folders") | results(root / "results")))
