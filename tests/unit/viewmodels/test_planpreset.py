"""The folder that a model begins from is read behind the window, once as long as it stays as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import job
from tests.fakes.presets import unpacked
from tests.fakes.tasks import InlineTasks, LaterTasks
from tpu_studio.viewmodels.planlook import data_key
from tpu_studio.viewmodels.planpreset import Presets
from tpu_studio.wire.pretrained import reading


def of(folder: Path) -> Any:
    return job("kerashub-backbone", "images", model={"preset": str(folder)})


def test_until_it_was_read_the_plan_says_so_and_is_made_anew_then(tmp_path: Path) -> None:
    tasks, again = LaterTasks(), list[str]()
    known = Presets(tasks, lambda: again.append("planned"))
    asked = of(unpacked("vit", tmp_path))

    for _ in range(2):  # asked twice, read once
        preset, problem = known.of(asked)
        assert preset is None and problem is not None and problem.id == "preset-being-read"
    tasks.finish_all()
    preset, problem = known.of(asked)
    assert preset is not None and problem is None and again == ["planned"]


def test_a_folder_that_changes_is_read_again_and_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, folder, read = Presets(InlineTasks(), lambda: None), unpacked("vit", tmp_path), list[Path]()
    real = reading.read
    monkeypatch.setattr(reading, "read", lambda path: (read.append(path), real(path))[1])
    assert known.of(of(folder))[0] is not None and known.of(of(folder))[0] is not None
    assert len(read) == 1
    (folder / "model.weights.h5").write_bytes(b"torn")
    preset, problem = known.of(of(folder))
    assert preset is None and problem is not None and (problem.id, len(read)) == ("preset-in-part", 2)


def test_a_folder_of_another_computer_is_refused_without_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.scandir", lambda *_: pytest.fail("it was looked at"))
    _, problem = Presets(InlineTasks(), lambda: None).of(of(Path("//host/share/vit")))
    assert problem is not None and problem.id == "preset-in-a-share"


def test_a_text_is_looked_at_anew_for_another_folder_with_pieces_of_its_own() -> None:
    keys = {data_key(job("pretrained-lm", "text", model={"preset": one})) for one in ("./a", "./b")}
    assert len(keys) == 2
    same = {data_key(job("kerashub-backbone", "images", model={"preset": one})) for one in ("./a", "./b")}
    assert len(same) == 1
