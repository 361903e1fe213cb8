"""In a packaged program ``sys.executable`` is no Python: supervisors have a door, machines get the system's python3."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tpu_studio.practice.machines import fleet, image


@pytest.fixture
def packaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where programs of the system are; no engine, and only what machines need besides Python."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/usr/lib/tpu-studio/tpu-studio")
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("sh", "curl", "nice"):
        _program(tmp_path / name)
    return tmp_path


def test_its_supervisors_come_in_by_the_programs_own_door(packaged: Path) -> None:
    assert fleet.supervisor_program() == ["/usr/lib/tpu-studio/tpu-studio", "--practice-machine"]


def test_from_sources_they_are_a_module() -> None:
    assert fleet.supervisor_program() == [sys.executable, "-P", "-m", "tpu_studio.practice.machines"]


def test_without_any_python_there_are_no_machines_and_it_says_why(packaged: Path) -> None:
    assert "python3" in image.unsupported()
    _program(packaged / "python3")
    assert image.unsupported() == ""
    assert image._plain_python() == str(packaged / "python3")


def test_the_python_that_the_engine_was_made_from_comes_first(packaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(packaged / "python3")
    _program(packaged / "python3.12")
    engine = packaged / "engine"
    (engine / "main" / "bin").mkdir(parents=True)
    (engine / "main" / "bin" / "python").symlink_to(packaged / "python3.12")
    (engine / "engine.json").write_text("{}")
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(engine))
    assert image._plain_python() == os.path.realpath(packaged / "python3.12")


def _program(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
