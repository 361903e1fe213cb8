"""Deleting runs, and what becomes of them: put in the trash, brought back, removed for good.

None of it needs room on the disk: a full one is where people delete. So an intent that cannot be recorded there keeps
nobody from it; it would only have told what of the index can be forgotten. Used by ``runs.Runs``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tpu_studio.wire import places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.claims import is_guarded
from tpu_studio.wire.errors import RunError, StudioError
from tpu_studio.wire.runfolder import has_plan
from tpu_studio.workflow import consent, decide, desk, trash
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.state import LONGEST_LOAN_S, fold
from tpu_studio.workflow.decide import Seen
from tpu_studio.workflow.folders import RunFolders
from tpu_studio.workflow.ports import Clock, Journal, RunIndex

BUSY_S = 5.0
"""Another program that looks whether the run is lost is done sooner."""


class Deleting:
    """*seen*: what is true of the run in a folder now; raises RunError."""

    def __init__(
        self,
        folders: RunFolders,
        trash_folder: Path,
        journal: Journal,
        index: RunIndex,
        clock: Clock,
        seen: Callable[[Path], Seen],
    ) -> None:
        self._folders, self._trash = folders, trash_folder
        self._journal, self._index, self._clock, self._seen = journal, index, clock, seen

    def delete(self, run: str) -> str:
        """See `Runs.delete`."""
        folder = self._folders.find(run, damaged=True)
        if folder.parent != self._folders.root.absolute():
            raise RunError("run-unknown", run=run)  # a folder elsewhere is none of the list
        with self._going(folder):
            try:
                trash.put(folder, self._trash)
            except OSError as error:
                raise _no_room(error, folder) from error
        return folder.name

    def put_away(self, run: str) -> str:
        """Move the run *run* to the trash, for a copy that comes in its place; the name under which it lies there, and
        comes back beside that.

        Raises:
            RunError: ``import-keeps-own``, and as `Runs.delete`.
        """
        folder = self._folders.root / run
        if has_plan(folder) and places.by_id(plans.read(folder).place).rents and not consent.is_imported(folder):
            raise RunError("import-keeps-own", run=run)
        with self._going(folder):
            name = trash.free_name(run, [one.run for one in self.deleted()], self._folders.root)
            try:
                trash.put(folder, self._trash, name)
            except OSError as error:
                raise _no_room(error, folder) from error
        return name

    def remove(self, run: str) -> str:
        """See `Runs.remove_for_good`."""
        here = [path.name for path in self._folders.all()]
        deleted = [one.run for one in trash.listed(self._trash)]
        name = self._meant(run, [*here, *deleted])
        if name not in here:
            try:
                trash.remove_now(self._trash / name, self._trash)
            except FileNotFoundError as error:
                raise RunError("run-not-in-trash", run=name) from error
            except OSError as error:
                raise desk.disk_error(error, self._trash) from error
            return name
        folder = self._folders.find(name, damaged=True)
        with self._going(folder):
            try:
                trash.remove_now(folder, self._trash)
            except OSError as error:
                raise desk.disk_error(error, folder) from error
        return name

    def undo(self, run: str) -> str:
        """See `Runs.undo_delete`."""
        names = [one.run for one in self.deleted()]
        found = [run] if run in names else [name for name in names if name.startswith(run)]
        if len(found) > 1:
            raise RunError("run-ambiguous", run=run, found=sorted(found))
        run = found[0] if found else run
        try:
            trash.take_back(run, self._trash, self._folders.root)
        except OSError as error:
            raise desk.disk_error(error, self._folders.root) from error
        return run

    def deleted(self) -> Sequence[trash.Deleted]:
        return trash.listed(self._trash)

    def empty(self, older_than_s: float) -> Sequence[str]:
        """See `Runs.empty_trash`; the ids."""
        try:
            return trash.remove_older(self._trash, older_than_s, self._clock.now())
        except OSError as error:
            raise desk.disk_error(error, self._trash) from error

    @contextmanager
    def _going(self, folder: Path) -> Iterator[None]:
        """Inside, nobody begins anything with the run at *folder*, which may be deleted; its index is forgotten after.

        Raises RunError ``run-goes-on``, ``run-elsewhere``, ``run-busy``, ``run-unknown``.
        """
        if not has_plan(folder):
            self._refuse_damaged(folder, RunError("plan-missing", run=folder.name))
            yield
            self._index.forget(folder.name)
            return
        try:
            with desk.driving(folder, BUSY_S) as alone:
                if not alone:
                    raise RunError("run-busy", run=folder.name)
                try:
                    decide.delete(self._seen(folder))
                except RunError as error:
                    self._refuse_damaged(folder, error)
                intent = self._intend(folder.name)
                yield
        except FileNotFoundError as error:
            raise RunError("run-unknown", run=folder.name) from error  # another has just deleted it
        except OSError as error:
            raise desk.disk_error(error, folder) from error
        self._index.forget(folder.name)
        if intent is not None:
            self._close(intent)

    def _refuse_damaged(self, folder: Path, error: RunError) -> None:
        """Raises *error* unless it tells of a damaged run, where nothing goes on any more."""
        if error.id not in ("plan-unreadable", "plan-newer", "plan-missing"):
            raise error
        if any(is_guarded(path) for path in (folder / "claims").glob("a[0-9]*.json")):
            raise RunError("run-goes-on", run=folder.name) from error
        since = self._clock.now() - LONGEST_LOAN_S
        if any((one.asked or 0.0) > since for one in fold(desk_events(folder)).there):
            raise error  # its machine may be there still: put away, nobody would look after it

    def _intend(self, run: str) -> int | None:
        try:
            return self._journal.open("delete", run, {}, self._clock.now())
        except StudioError as error:
            if error.id != "disk-full":
                raise
            return None

    def _close(self, intent: int) -> None:
        try:
            self._journal.close(intent, "done", self._clock.now())
        except StudioError as error:
            if error.id != "disk-full":
                raise  # a full disk: the next start closes it

    def _meant(self, run: str, names: Sequence[str]) -> str:
        """The one of *names* that *run* is or begins. Raises RunError ``run-unknown``, ``run-ambiguous``."""
        found = {run} & set(names) or {name for name in names if run and name.startswith(run)}
        if not found:
            raise RunError("run-unknown", run=run)
        if len(found) > 1:
            raise RunError("run-ambiguous", run=run, found=sorted(found))
        return found.pop()


def _no_room(error: OSError, folder: Path) -> RunError:
    if error.errno in trash.NO_ROOM:
        return RunError("trash-no-room", run=folder.name, raw=str(error))
    if isinstance(error, FileNotFoundError):
        return RunError("run-unknown", run=folder.name)
    return desk.disk_error(error, folder)
