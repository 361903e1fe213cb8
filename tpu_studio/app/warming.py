"""Fetches what the pages are made of before anybody asks for them: libraries in a thread, the window's own parts one by
one between two events. A page that is opened before they are there waits for them, and the window does not.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

if TYPE_CHECKING:
    from tpu_studio.gui.bridge import QtTasks

SWITCH_S = 0.0005  # each call of Qt lets other threads run; with Python's 5 ms a busy thread stops the window
PAUSE_MS = 30
LIBRARIES = (
    "tpu_studio.data.look",
    "tpu_studio.planner.make",
    "tpu_studio.viewmodels.run",
    "tpu_studio.viewmodels.plan",
    "tpu_studio.viewmodels.colab",
    "tpu_studio.cloud.colab",
    "tpu_studio.local.predictor",
    "pyqtgraph",
)
PLAN = tuple(
    f"tpu_studio.gui.{name}"
    for name in (
        "kit.rows",
        "kit.choose",
        "kit.fields",
        "plan.preview",
        "plan.data_section",
        "plan.estimate",
        "plan.model_section",
        "plan.settings_section",
        "plan.where_section",
        "plan.page",
    )
)
RUN = tuple(
    f"tpu_studio.gui.{name}"
    for name in (
        "kit.rows",
        "kit.numbers",
        "kit.timeline",
        "plots.drawn",
        "plots.marks",
        "plots.canvas",
        "plots.plot",
        "kit.events",
        "run.charts",
        "run.rented",
        "run.trying",
        "run.page",
    )
)
OTHERS = tuple(
    f"tpu_studio.gui.{name}"
    for name in (
        "account.sheets",
        "account.page",
        "runs.page",
        "settings.page",
        "help.page",
        "learn.page",
        "models.page",
        "shell.palette",
        "sweep.sheet",
    )
)
GOOGLE = "tpu_studio.places.accounts"

_libraries_there = threading.Event()


def import_libraries() -> None:
    """Blocks for about half a second the first time; for any thread."""
    for name in LIBRARIES:
        importlib.import_module(name)
    _libraries_there.set()


class Warming(QObject):
    def __init__(self, tasks: QtTasks, parent: QObject) -> None:
        super().__init__(parent)
        self._tasks = tasks

    def begin(self) -> None:
        """Fetch everything, slowly."""

        def google() -> None:
            self._tasks.submit(lambda: importlib.import_module(GOOGLE))

        self.fetch((*PLAN, *RUN, *OTHERS), google, self, PAUSE_MS)

    def fetch(self, parts: Sequence[str], then: Callable[[], None], owner: QObject, pause_ms: int = 0) -> None:
        """Call *then* in an event of its own when the libraries and *parts* are there; never if *owner* has gone."""
        if not _libraries_there.is_set():
            self._tasks.submit(import_libraries, owner=owner, done=lambda _: self.fetch(parts, then, owner, pause_ms))
            return
        missing = next((name for name in parts if name not in sys.modules), None)
        if missing is None:
            QTimer.singleShot(0, owner, then)
            return
        importlib.import_module(missing)
        QTimer.singleShot(pause_ms, owner, lambda: self.fetch(parts, then, owner, pause_ms))
