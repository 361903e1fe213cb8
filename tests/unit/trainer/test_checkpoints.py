"""Which folders of checkpoints are removed: ours, and never by a link. Needs nothing of the engine."""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tpu_studio.trainer.progress import Progress


@pytest.fixture
def checkpoints(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with stand-ins where the engine's library is not installed: removing opens no file of it."""
    stand_in, arrays = ModuleType("safetensors"), ModuleType("safetensors.numpy")
    vars(stand_in).update(SafetensorError=ValueError)
    vars(arrays).update(load_file=None, save_file=None)
    monkeypatch.setitem(sys.modules, "safetensors", stand_in)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", arrays)
    monkeypatch.delitem(sys.modules, "tpu_studio.trainer.checkpoints", raising=False)
    yield importlib.import_module("tpu_studio.trainer.checkpoints")
    sys.modules.pop("tpu_studio.trainer.checkpoints", None)


def copy(folder: Path, step: int, *more: str) -> Path:
    path = folder / f"{step:08d}"
    path.mkdir(parents=True)
    for name in ("state.safetensors", "data-w000.json", "manifest.json", "COMMITTED", *more):
        (path / name).write_text("x")
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_linked_folder_of_checkpoints_is_refused_and_keeps_its_own(checkpoints: Any, tmp_path: Path) -> None:
    mine, run = tmp_path / "mine", tmp_path / "run"
    for step in (7, 8, 9, 10):
        copy(mine, step)
    run.mkdir()
    (run / "checkpoints").symlink_to(mine)
    before = names(mine)
    for remove in (lambda: checkpoints.prune(run, None), lambda: checkpoints.drop_after(run, 7)):
        with pytest.raises(OSError):
            remove()
    with pytest.raises(OSError):
        checkpoints.write(run, 11, {}, {})
    assert names(mine) == before


def test_a_linked_checkpoint_and_a_folder_with_more_in_it_stay(checkpoints: Any, tmp_path: Path) -> None:
    run, mine = tmp_path / "run", copy(tmp_path / "mine", 1)
    for step in (8, 9, 10):
        copy(run / "checkpoints", step)
    strange = copy(run / "checkpoints", 2, "holiday.jpg")
    (run / "checkpoints" / "00000001").symlink_to(mine)
    checkpoints.prune(run, None)
    assert names(mine) == ["COMMITTED", "data-w000.json", "manifest.json", "state.safetensors"]
    assert (strange / "holiday.jpg").exists() and (strange / "COMMITTED").exists()
    assert checkpoints.steps(run) == [10, 9, 2, 1]  # of ours, the last two are kept
    checkpoints.drop_after(run, 9)
    assert checkpoints.steps(run) == [9, 2, 1]


ODD = {
    "history": [[5], [{"loss": 1.0}], [{"step": "a"}], {"step": 1}, [{"step": 1, "loss": [1.0]}], [{"step": 2**60}]],
    "step": [7.0, "8", None, True, -8],
    "best_step": ["8", 8.5],
    "best": [{"loss": "x"}, [1.0]],
    "factor": [0, -1.0, "x", 10**400, float("nan")],
    "rollbacks": [None, "2"],
    "base": [None, 7],
    "labels": [[[1.5]], [7], {"a": 1}],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [pytest.param(name, one, id=f"{name} {at}") for name, values in ODD.items() for at, one in enumerate(values)],
)
def test_what_is_no_progress_is_no_checkpoint(checkpoints: Any, tmp_path: Path, name: str, value: object) -> None:
    """A run of somebody else's went on from one, trained for hours and then had no result."""
    checkpoints.load_file = lambda path: {}
    position = Progress(8, 4, {"val_loss": math.inf}, history=[{"step": 4, "val_loss": 0.5}], labels=[[1, 2, 3]])
    path = checkpoints.checkpoint_folder(tmp_path, 8)
    path.mkdir(parents=True)
    for tree, whole in ((position.to_json(), True), (position.to_json() | {name: value}, False), ([], False)):
        (path / "state.safetensors").write_bytes(b"")
        (path / "data-w000.json").write_text(json.dumps(tree))
        files = ("state.safetensors", "data-w000.json")
        sums = {one: hashlib.sha256((path / one).read_bytes()).hexdigest() for one in files}
        (path / "manifest.json").write_text(json.dumps({"sha256": sums}))
        (path / "COMMITTED").touch()
        assert isinstance(checkpoints.read(tmp_path, 8), checkpoints.Loaded) is whole


@pytest.mark.parametrize("name", ["../../../pipe", "/dev/zero", "data-w000.json", "extra"])
def test_a_manifest_that_names_more_has_nothing_else_read(checkpoints: Any, tmp_path: Path, name: str) -> None:
    """Of /dev/zero a sum was made for ever, and on Windows a name may be another computer's share."""
    path = copy(tmp_path / "run" / "checkpoints", 5)
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    checkpoints.sha256 = lambda one: read.append(one.name) or "sum"
    sums = {name: "sum", "state.safetensors": "sum", "data-w000.json": "sum"}
    (path / "manifest.json").write_text(json.dumps({"sha256": sums}))
    (path / "data-w000.json").write_text("{}")
    checkpoints.load_file = lambda one: {}
    assert checkpoints.read(tmp_path / "run", 5).step == 5
    assert read == ["state.safetensors", "data-w000.json"]
