"""Runs that a notebook trains, which a person starts: they wait for the zip it makes, are completed by it, or given up.

Its zip tells how it went, so nothing here ends such a run.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from tpu_studio.wire import places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import bringing, decide, desk, passing, trash, zips
from tpu_studio.workflow.decide import NewAttempt, Seen, SendControl
from tpu_studio.workflow.folders import check_no_links
from tpu_studio.workflow.places import Desktop
from tpu_studio.workflow.ports import Progress

WAITING = "waiting-for-colab"


class NotebookRuns:
    """Only its notebook can go on with such a run."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop, self._root, self._index = desktop, desktop.runs_folder, desktop.index

    def ready(self, plan: Plan, *, notebook: bool) -> float:
        if not notebook:
            raise BadInput("colab-needs-notebook")
        return self._desktop.clock.now()

    def begin(self, folder: Path, plan: Plan, *, beside: bool, now: float) -> str:
        return self._desktop.queue(folder, plan, now, WAITING)

    def check_steerable(self, folder: Path) -> NoReturn:
        raise RunError("run-in-colab", run=folder.name)

    def seen(self, folder: Path) -> Seen:
        return self._desktop.seen(folder, alive=False)

    def stop(self, folder: Path, keep: bool) -> None:
        """No longer wait for its result; a zip that comes all the same is taken in."""
        decide.stop(self.seen(folder), keep)
        row = self._index.summary(folder)
        reason = Reason.STOPPED_BY_USER if keep and row.step else Reason.DISCARDED
        self._desktop.say(
            folder,
            "end",
            attempt=row.attempt,
            status=reason.status.value,
            reason=reason.value,
            steps=row.step,
            final={},
            facts={},
        )

    def extend(self, folder: Path, epochs: float | None, action: Sequence[SendControl]) -> NoReturn:
        self.check_steerable(folder)

    def tell(self, folder: Path, action: SendControl) -> NoReturn:
        self.check_steerable(folder)

    def again(self, folder: Path, action: NewAttempt, verb: str) -> NoReturn:
        self.check_steerable(folder)

    def settle(self, folder: Path) -> bool:
        return False


RUNS = NotebookRuns


def import_zip(
    desktop: Desktop,
    path: Path,
    progress: Progress | None,
    expected: str,
    moving: Callable[[str], None],
    put_away: Callable[[str], str] | None,
) -> bringing.Imported:
    """Take the zip of a run in: a run of its own, or the rest of one that waits for it.

    Args:
        expected: Id of the run that it must be; "" takes any.
        moving, put_away: As of `bringing.bring`.
    """
    root = desktop.runs_folder
    try:
        with zips.unzipped(path, root, progress) as brought:
            if expected and brought.plan.run != expected:
                raise RunError("zip-other-run", file=str(path), run=expected, found=brought.plan.run)
            folder = root / brought.folder.name
            here = (folder / PLAN).exists()
            if here and plans.frozen(folder) != brought.frozen:
                raise RunError("zip-other-plan", file=str(path), run=folder.name)
            found = None
            if here and places.by_id(brought.plan.place).notebook and put_away is None:
                found = _complete(desktop, folder, brought.folder, path)
            if found is None or found.already:
                found = bringing.bring(
                    brought.folder,
                    root,
                    desktop.install,
                    desktop.clock.now(),
                    complete=functools.partial(_await_rest_of_copy, desktop),
                    moving=moving,
                    put_away=put_away,
                )
            return replace(found, left_out=(*found.left_out, *brought.left_out))
    except OSError as error:
        raise desk.disk_error(error, root) from error


def _complete(desktop: Desktop, folder: Path, brought: Path, path: Path) -> bringing.Imported:
    """Take what a notebook has made of the run at *folder*; what it says of the end is said here again."""
    with desk.driving(folder) as alone:
        if not alone:
            raise RunError("run-busy", run=folder.name)
        check_no_links(folder)
        found = zips.relation(folder, brought)
        ended = zips.last_word(folder) is not None
        loses = found == "newer" and not zips.keeps_result(folder, brought)
        if found == "other" or (loses and not zips.goes_on(folder, brought)):
            raise RunError("zip-other-course", file=str(path), run=folder.name, ended=ended)
        end = zips.last_word(brought)
        before = _copied_to_trash(desktop, folder) if loses else ""
        if found != "nothing-new":
            zips.take(folder, brought)
            desktop.index.forget(folder.name)
        row = desktop.index.summary(folder)
        if end is not None and row.reason != end.get("reason"):
            fields = {name: end.get(name) for name in ("attempt", "status", "reason", "steps", "final", "facts")}
            desktop.say(folder, "end", **fields)  # something here was said after it
        _await_rest(desktop, folder)  # also where a first time was interrupted before it
    return bringing.Imported(folder.name, already=found == "nothing-new", replaced=before)


def _copied_to_trash(desktop: Desktop, folder: Path) -> str:
    """The run as it is, for whoever wants it back beside the one that goes on; its name there. Raises OSError."""
    with passing.folder(desktop.runs_folder, "importing") as beside:
        shutil.copytree(folder, beside / folder.name)
        name = trash.free_name(folder.name, [one.run for one in trash.listed(desktop.trash)], desktop.runs_folder)
        trash.put(beside / folder.name, desktop.trash, name)
    return name


def _await_rest_of_copy(desktop: Desktop, copy: Path) -> None:
    try:
        _await_rest(desktop, copy)
    finally:
        desktop.index.forget(copy.name)


def _await_rest(desktop: Desktop, folder: Path) -> None:
    """A notebook's run that has not come to its end waits for the next zip. Of others nothing is read."""
    if not places.by_id(plans.read(folder).place).notebook:
        return
    row = desktop.index.summary(folder)
    if not row.over and row.status != Phase.QUEUED.value:
        desktop.say(folder, "phase", phase=Phase.QUEUED.value, detail=WAITING)
