"""This computer as a place: what a guardian is started with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.studio import ThisPython
from tpu_studio.local.computer import Computer, package_folder, trainer_environment
from tpu_studio.wire.errors import NotReady, RunError


class NoEngine:
    def python(self) -> Path:
        raise NotReady("engine-not-ready", status="missing")


def test_the_environment_leads_neither_python_nor_a_framework_astray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("PYTHONHOME", "/somewhere")
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    environment = trainer_environment()
    assert environment["PYTHONPATH"] == str(package_folder())
    assert "PYTHONHOME" not in environment
    assert "XLA_FLAGS" not in environment
    assert environment["JAX_PLATFORMS"] == "cpu"
    assert environment["OMP_NUM_THREADS"] == "1"  # threads are the person's own business
    assert (Path(environment["PYTHONPATH"]) / "tpu_studio" / "wire" / "events.py").exists()


def test_without_an_engine_the_place_is_not_ready(tmp_path: Path) -> None:
    with pytest.raises(NotReady):
        Computer(tmp_path, NoEngine()).check_ready()


def test_starting_the_same_attempt_twice_starts_one(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "a-aaaa"
    folder.mkdir(parents=True)
    computer = Computer(tmp_path, ThisPython(), trainer=lambda folder, attempt: ["/bin/sleep", "0.5"])
    computer.start(folder, 1, beside=True)
    computer.start(folder, 1, beside=True)
    assert len(list((folder / "claims").glob("a*.json"))) == 1


def test_a_guardian_that_cannot_claim_is_told_with_its_words(tmp_path: Path) -> None:
    folder = tmp_path / "a-aaaa"
    folder.mkdir()
    (folder / "claims").write_text("a file in the way")
    with pytest.raises(RunError) as caught:
        Computer(tmp_path, ThisPython(), trainer=lambda folder, attempt: ["/bin/true"]).start(folder, 1, beside=True)
    assert caught.value.id == "start-failed"
    assert "folder-unwritable" in caught.value.facts["raw"]
