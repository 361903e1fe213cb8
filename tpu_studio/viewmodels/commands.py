"""“Show me the commands”: a launch as the gcloud script that does the same, to read, to copy and to keep as a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.domain.observable import Observable
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire.plainfiles import write_named

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks


@dataclass(frozen=True)
class CommandsView:
    """*text* is "" until it was made; *saved*: the file that was written last."""

    text: str = ""
    problem: Problem | None = None
    saved: str = ""


class CommandsViewModel:
    """Commands: `look`, `save`.

    Args:
        name: Of the run.
        make: The script; blocks, for it asks the cloud the time and may read the data. Raises StudioError.
    """

    def __init__(self, tasks: Tasks, name: str, make: Callable[[], str], *, practice: bool) -> None:
        self.state = Observable(CommandsView())
        self.name, self.practice = name, practice
        self._tasks, self._make = tasks, make

    @property
    def file_name(self) -> str:
        return f"{self.name}-commands.sh"

    def look(self) -> None:
        self._change(text="", problem=None, saved="")
        self._tasks.submit(self._make, done=lambda text: self._change(text=text), failed=self._failed)

    def save(self, path: Path) -> None:
        text = self.state.value.text

        def work() -> None:
            write_named(path, text.encode())

        self._change(problem=None, saved="")
        self._tasks.submit(work, done=lambda _: self._change(saved=str(path)), failed=self._failed)

    def _failed(self, error: Exception) -> None:
        self._change(problem=problem_of(error))

    def _change(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))
