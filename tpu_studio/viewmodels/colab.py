"""The free path for the window: how Colab's TPUs work and end, a plan's notebook, and the zip that comes back.

State only; the window draws it, opens the browser (`OPEN_URL`) and hands over what was dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from tpu_studio.domain.observable import Observable
from tpu_studio.domain.sentences import colab as words
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.notebooks import Launcher, launched
from tpu_studio.workflow.ports import Tasks

OPEN_URL = "https://colab.research.google.com/#create=true"


class WrittenLike(Protocol):
    """`cloud.colab.Written`."""

    @property
    def notebook(self) -> Path: ...
    @property
    def data(self) -> Path | None: ...


class RunsLike(Launcher, Protocol):
    def import_folder(self, path: Path, *, run: str = "") -> object: ...


@dataclass(frozen=True)
class ColabView:
    """*busy*: what is being done now. *run*, *notebook*, *data*: of the latest notebook, *data* beside it if any."""

    busy: str = ""
    run: str = ""
    notebook: Path | None = None
    data: Path | None = None
    problem: Problem | None = None

    @property
    def limits(self) -> tuple[str, ...]:
        """How free TPUs work and end, each sentence with its date."""
        return words.LIMITS

    @property
    def steps(self) -> tuple[str, ...]:
        """What the person does next; () before there is a notebook."""
        if self.notebook is None:
            return ()
        return tuple(words.steps(self.notebook.name, self.data.name if self.data is not None else ""))


class ColabViewModel:
    """Args:
    write: `cloud.colab.write`: the notebook of a launched plan.
    brought: Called with the id of a run that its zip has completed.
    """

    def __init__(
        self,
        tasks: Tasks,
        runs: RunsLike,
        write: Callable[[Plan, Path], WrittenLike],
        brought: Callable[[str], None] = lambda run: None,
    ) -> None:
        self.state = Observable(ColabView())
        self.made: Callable[[str], None] = lambda run: None  # the notebook of that run is written
        self._tasks, self._runs, self._write, self._brought = tasks, runs, write, brought

    def begin(self) -> None:
        """Another plan is to be sent: what was written before is told elsewhere."""
        if not self.state.value.busy:
            self.state.set(ColabView())

    def make(self, plan: Plan, folder: Path) -> None:
        """Freeze *plan* as a run that waits for its zip and write its notebook into *folder*."""
        if self.state.value.busy:
            return
        self.state.set(ColabView(busy="Writing the notebook"))

        def work() -> tuple[str, WrittenLike]:
            return launched(self._runs, plan, lambda frozen: self._write(frozen, folder / f"{frozen.run}.ipynb"))

        def done(made: tuple[str, WrittenLike]) -> None:
            run, written = made
            self.state.set(ColabView(run=run, notebook=written.notebook, data=written.data))
            self.made(run)

        self._tasks.submit(work, done=done, failed=self._failed)

    def bring(self, path: Path, run: str = "") -> None:
        """Take in the zip at *path*; *run*: the one that it must be, "" for any."""
        if self.state.value.busy:
            return
        self.state.set(replace(self.state.value, busy="Taking in the zip", problem=None))

        def done(imported: Any) -> None:
            self.state.set(replace(self.state.value, busy=""))
            self._brought(str(imported.run))

        self._tasks.submit(lambda: self._runs.import_folder(path, run=run), done=done, failed=self._failed)

    def _failed(self, error: Exception) -> None:
        self.state.set(replace(self.state.value, busy="", problem=problem_of(error)))
