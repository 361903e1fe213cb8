"""Runs to look at only: for a home that cannot be written, or whose journal cannot be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tpu_studio.wire.errors import StudioError
from tpu_studio.workflow.ports import Intent, RunIndex
from tpu_studio.workflow.runs import Runs


class ClosedJournal:
    """A journal that cannot be had: who only reads needs none, and nothing can be begun with it. Raises *error*."""

    fresh = False
    put_aside: Path | None = None

    def __init__(self, error: StudioError) -> None:
        self._error = error

    def open(self, action: str, run: str, facts: Mapping[str, Any], at: float) -> int:
        raise self._error

    def close(self, number: int, outcome: str, at: float) -> None:
        raise self._error

    def open_intents(self) -> Sequence[Intent]:
        return ()

    def plan_of(self, run: str) -> Mapping[str, Any] | None:
        return None

    def disconnect(self) -> None:
        """Nothing is held."""


class ReadingRuns(Runs):
    """Lists, follows and exports; every verb that would change something raises *error* before it touches anything."""

    def __init__(self, home: Path, error: StudioError, index: RunIndex) -> None:
        super().__init__(home, places={}, journal=ClosedJournal(error), index=index)
        self.error = error

    def _refuse(self, *arguments: Any, **more: Any) -> NoReturn:
        raise self.error

    launch = stop = extend = resume = delete = undo_delete = import_folder = take_over = take_over_from = _refuse
    forget_taught = _refuse

    def reconcile(self) -> Sequence[str]:
        return ()

    def settle(self, run: str) -> bool:
        return False

    def empty_trash(self, older_than_s: float = 0.0) -> int:
        return 0
