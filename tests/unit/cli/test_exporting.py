"""``export``: what of a run goes elsewhere, whole or damaged."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.fuzz.runs import finished
from tests.fakes.terminal import Terminal
from tests.unit.workflow.test_bringing import with_model


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = finished(tmp_path_factory.mktemp("there"))
    with_model(folder)
    return folder


@pytest.fixture
def here(tmp_path: Path, trained: Path) -> Iterator[tuple[Terminal, Path]]:
    terminal = Terminal(tmp_path / "home")
    folder = terminal.home / "runs" / trained.name
    shutil.copytree(trained, folder)
    yield terminal, folder


def test_a_run_without_its_plan_gives_its_model_and_says_what_it_has_lost(
    here: tuple[Terminal, Path], tmp_path: Path
) -> None:
    terminal, folder = here
    (folder / "plan.json").unlink()
    done = terminal.run("export", folder.name, tmp_path / "out")
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'out'}\n")
    assert (tmp_path / "out" / "model.keras").read_bytes() == (folder / "result" / "model.keras").read_bytes()
    assert "its model and its curves are there" in done.stderr and "plan.json is missing" in done.stderr
