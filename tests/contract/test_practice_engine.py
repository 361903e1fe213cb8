"""A practice cloud that was started before there was a training engine: a run brings word of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tpu_studio.places import reaching
from tpu_studio.practice import daemon
from tpu_studio.practice.machines import image
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    (tmp_path / "engine" / "main" / "bin").mkdir(parents=True)
    (tmp_path / "engine" / "main" / "bin" / "python").touch()
    (tmp_path / "engine" / "engine.json").write_text("{}")
    return tmp_path / "engine"


def test_its_machines_get_the_engine_instead_of_installing_from_the_network(
    home: Path, engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(tmp_path / "nowhere"))
    with Practice(Settings(home / "practice", machines=False)) as practice:
        monkeypatch.setattr(daemon, "start_or_join", lambda home: practice.ready())
        reaching.practice_for_runs(home)
        assert image._engine_python() is None  # nobody knows of one

        daemon.lend_engine(practice.ready(), engine)
        assert image._engine_python() == engine / "main" / "bin" / "python"

        daemon.lend_engine(practice.ready(), tmp_path / "another")
        assert image._engine_python() == engine / "main" / "bin" / "python"


def test_a_run_lends_the_engine_of_its_own_surroundings(home: Path, engine: Path, monkeypatch: pytest.MonkeyPatch):
    lent: list[Any] = []
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(engine))
    monkeypatch.setattr(daemon, "start_or_join", lambda home: {"project": "p", "url": "u", "token": "t"})
    monkeypatch.setattr(daemon, "lend_engine", lambda record, root: lent.append((record["url"], root)))
    assert reaching.practice_for_runs(home)["project"] == "p"
    assert lent == [("u", engine)]
