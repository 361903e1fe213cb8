"""Runs that a notebook trains: they wait for the zip that it makes, are completed by it, or given up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tpu_studio.planner.colab import PLACE as COLAB
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import bringing, desk, zips
from tpu_studio.workflow.ports import Progress, RunIndex

WAITING_FOR_COLAB = "waiting-for-colab"


class NotebookRuns:
    """Args:
    root: ``runs/``.
    say: Writes an event of this desktop into a run folder: folder, kind, fields.
    install, now: Name of this installation, and the time.
    """

    def __init__(
        self,
        root: Path,
        index: RunIndex,
        say: Callable[..., None],
        install: Callable[[], str],
        now: Callable[[], float],
    ) -> None:
        self._root, self._index, self._say, self._install, self._now = root, index, say, install, now

    def is_one(self, folder: Path) -> bool:
        return plans.read(folder).place == COLAB

    def import_zip(self, path: Path, progress: Progress | None, expected: str) -> bringing.Imported:
        """Args:
        expected: Id of the run that it must be; "" takes any.
        """
        try:
            with zips.unzipped(path, self._root, progress) as brought:
                if expected and brought.plan.run != expected:
                    raise RunError("zip-other-run", file=str(path), run=expected, found=brought.plan.run)
                folder = self._root / brought.folder.name
                if not (folder / PLAN).exists():
                    made = bringing.bring(brought.folder, self._root, self._install(), self._now())
                    self._await_rest(self._root / made.run)
                    return replace(made, left_out=brought.left_out)
                if plans.frozen(folder) != brought.frozen:
                    raise RunError("zip-other-plan", file=str(path), run=folder.name)
                if brought.plan.place != COLAB:
                    return bringing.Imported(folder.name, already=True)
                return replace(self._complete(folder, brought.folder, path), left_out=brought.left_out)
        except OSError as error:
            raise desk.disk_error(error, self._root) from error

    def _complete(self, folder: Path, brought: Path, path: Path) -> bringing.Imported:
        """Take what a notebook has made of the run at *folder*; what it says of the end is said here again."""
        with desk.driving(folder) as alone:
            if not alone:
                raise RunError("run-busy", run=folder.name)
            found = zips.relation(folder, brought)
            if found == "nothing-new":
                return bringing.Imported(folder.name, already=True)
            if found == "other" and zips.last_word(folder) is not None:
                raise RunError("zip-other-course", file=str(path), run=folder.name)
            end = zips.last_word(brought)
            zips.take(folder, brought)
            self._index.forget(folder.name)
            row = self._index.summary(folder)
            if end is not None and row.reason != end.get("reason"):
                self._say(folder, "end", **end.fields)  # something here was said after it
            self._await_rest(folder)
        return bringing.Imported(folder.name)

    def _await_rest(self, folder: Path) -> None:
        """A notebook's run that has not come to its end waits for the next zip."""
        row = self._index.summary(folder)
        if self.is_one(folder) and not row.over and row.status != Phase.QUEUED.value:
            self._say(folder, "phase", phase=Phase.QUEUED.value, detail=WAITING_FOR_COLAB)

    def give_up(self, folder: Path, keep: bool) -> None:
        """No longer wait for a notebook's result; a zip that comes all the same is taken in."""
        row = self._index.summary(folder)
        reason = Reason.STOPPED_BY_USER if keep and row.step else Reason.DISCARDED
        self._say(
            folder,
            "end",
            attempt=row.attempt,
            status=reason.status.value,
            reason=reason.value,
            steps=row.step,
            final={},
            facts={},
        )
