"""A run, or a comparison, that was saved as one page, opened again: to be looked at, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.onepage import data
from tpu_studio.viewmodels.onepage.data import Told
from tpu_studio.viewmodels.problem import Problem, problem_of

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks


@dataclass(frozen=True)
class SavedView:
    """*told* is None while *file* is read, and where there is a *problem*."""

    file: Path | None = None
    told: Told | None = None
    problem: Problem | None = None

    @property
    def title(self) -> str:
        return self.told.title if self.told is not None else self.file.name if self.file else ""

    @property
    def sentence(self) -> str:
        """Where it comes from: whoever made the file wrote what stands in it."""
        if self.told is None or self.file is None:
            return ""
        return f"Saved as one page, {self.file.name}: to look at. What it says is the word of whoever made it."


class SavedViewModel:
    """Command: `open`."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self.state = Observable(SavedView())

    def open(self, file: Path) -> None:
        self.state.set(SavedView(file))

        def done(told: Told) -> None:
            self._answer(SavedView(file, told))

        def failed(error: Exception) -> None:
            self._answer(SavedView(file, problem=problem_of(error)))

        self._tasks.submit(lambda: data.read(file), done=done, failed=failed)

    def _answer(self, view: SavedView) -> None:
        if view.file == self.state.value.file:  # else another was opened meanwhile
            self.state.set(view)
