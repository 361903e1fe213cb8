"""The real window for tests: every object as in the app, except that a run's trainer only counts (no engine needed)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.fakes.plans import plan
from tests.fakes.studio import TRAINER, ThisPython
from tpu_studio.app import studio, warming
from tpu_studio.local import computer
from tpu_studio.local.computer import Computer
from tpu_studio.viewmodels import runs


class OpenStudio:
    """A window on screen with services behind it; `launch` starts a counting run."""

    def __init__(self, qtbot: QtBot, made: studio.Studio, trainer: list[str]) -> None:
        self.qtbot, self.studio, self._trainer = qtbot, made, trainer
        self.window, self.shell, self.runs = made.window, made.shell, made.runs

    @property
    def page(self) -> Any:
        return self.window.stack.currentWidget()

    def launch(self, name: str = "digits", *trainer: str, steps: int = 20) -> str:
        """Start a run of a trainer that counts to *steps*, 0.02 s each unless *trainer* says otherwise."""
        services = self.studio.services
        assert services is not None
        self._trainer[:] = ["--steps", str(steps), "--step-s", "0.02", *trainer]
        return services.runs.launch(plan(name=name, steps=steps), beside=True)

    def wait_over(self, run: str) -> None:
        """Until the list shows that *run* has ended."""

        def over() -> bool:
            row = self.runs.state.value.row(run)
            return row is not None and row.over

        self.qtbot.waitUntil(over, timeout=20_000)


@contextmanager
def open_studio(qtbot: QtBot, home: Path, path: str = "", *, composed: bool = True) -> Iterator[OpenStudio]:
    """The window, shown, with its services unless *composed* is not; ended afterwards as the app ends it."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    trainer: list[str] = []
    warming.import_libraries()  # once: else a page is there only when they have come

    def argv(folder: Path, attempt: int) -> Sequence[str]:
        return [sys.executable, str(TRAINER), "train", "--run", str(folder), "--attempt", str(attempt), *trainer]

    def counting(home: Path, engine: object) -> Computer:
        return Computer(home, ThisPython(), trainer=argv, guardian=("--grace", "2"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(computer, "Computer", counting)
        patch.setattr(runs, "QUIET_EVERY_S", 0.2)  # what a test starts behind the window's back is on the list soon
        patch.setattr(runs, "LIVE_EVERY_S", 0.2)
        patch.setattr("tpu_studio.app.trouble.catch_everything", lambda tell: None)
        patch.setattr("tpu_studio.app.trouble.start_log", lambda home: None)
        made = studio.Studio(app, home)
        made.show(path)
        try:
            if composed:
                qtbot.waitUntil(lambda: made.services is not None, timeout=15_000)
                qtbot.waitUntil(lambda: made.runs.state.value.rows is not None, timeout=15_000)
            yield OpenStudio(qtbot, made, trainer)
        finally:
            made.end()
