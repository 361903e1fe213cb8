"""Runs to look at only: for a home that cannot be written, or whose journal cannot be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from tpu_studio.wire.errors import StudioError
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.ports import Intent, Place, RunIndex
from tpu_studio.workflow.runs import Runs


class ClosedJournal:
    """A journal that cannot be had: who only reads needs none, and nothing can be begun with it. Raises *error*."""

    fresh = False
    put_aside: Path | None = None

    def __init__(self, error: StudioError) -> None:
        self._error = error

    def open(self, action: str, run: str, facts: Mapping[str, object], at: float) -> int:
        raise self._error

    def close(self, number: int, outcome: str, at: float) -> None:
        raise self._error

    def open_intents(self) -> Sequence[Intent]:
        return ()

    def begun(self) -> Collection[str]:
        return ()

    def plan_of(self, run: str) -> Mapping[str, object] | None:
        return None

    def begun_at(self, run: str) -> tuple[str, str] | None:
        return None

    def was_taken_over(self, run: str) -> bool:
        return False

    def disconnect(self) -> None:
        """Nothing is held."""


class ReadingRuns(Runs):
    """Lists, follows and exports; every verb that would change something raises *error* before it touches anything.

    Where *error* is a full disk, runs can be deleted, removed for good and brought back: that needs no room.

    Args:
        places, driver: As of `Runs`; they tell whether a run goes on.
    """

    def __init__(
        self,
        home: Path,
        error: StudioError,
        index: RunIndex,
        *,
        places: Mapping[str, Place] | None = None,
        driver: Driver | None = None,
    ) -> None:
        super().__init__(home, places=places or {}, journal=ClosedJournal(error), index=index, driver=driver)
        self.error = error

    def _refuse(self, *arguments: object, **more: object) -> NoReturn:
        raise self.error

    launch = rename = tag = note = star = stop = extend = resume = import_folder = take_over = take_over_from = (
        forget_taught
    ) = _refuse

    def delete(self, run: str) -> str:
        self._needs_only_names()
        return super().delete(run)

    def remove_for_good(self, run: str) -> str:
        self._needs_only_names()
        return super().remove_for_good(run)

    def undo_delete(self, run: str) -> str:
        self._needs_only_names()
        return super().undo_delete(run)

    def empty_trash(self, older_than_s: float = 0.0) -> int:
        self._needs_only_names()
        return super().empty_trash(older_than_s)

    def reconcile(self) -> Sequence[str]:
        return ()

    def settle(self, run: str) -> bool:
        return False

    def _needs_only_names(self) -> None:
        if self.error.id != "disk-full":
            raise self.error
