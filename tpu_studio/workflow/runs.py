"""The life of runs on this desktop: launch, stop, extend, resume, delete, take over after a crash, list, follow.

Plain blocking calls: the window makes them through `Tasks`, the command line directly. Each verb gathers what is true
now, asks ``decide`` (pure), acts, and records: the intent in the journal before the act, the event in the run folder
after it. The truth of a run is its folder; nothing here is remembered between calls.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from tpu_studio import __version__
from tpu_studio.domain.mark import Mark, clean, noted, tagged
from tpu_studio.domain.run import RunView
from tpu_studio.wire import places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import BadInput, NotReady, RunError
from tpu_studio.wire.plan import Plan, dumps
from tpu_studio.wire.runfolder import PLAN, create_once, has_plan, is_run_id, is_torn
from tpu_studio.workflow import bringing, consent, decide, desk, forgetting, marks, packing, passing, trash
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.offer import Offer
from tpu_studio.workflow.cloudruns.plans import any_plan, is_damaged
from tpu_studio.workflow.cloudruns.recovering import STOPS_LEFT
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import NewAttempt, Seen
from tpu_studio.workflow.deleting import Deleting
from tpu_studio.workflow.folders import RunFolders
from tpu_studio.workflow.places import Desktop, PlaceRuns
from tpu_studio.workflow.places.notebook import import_zip
from tpu_studio.workflow.ports import Clock, Following, Journal, Place, Progress, RunIndex, RunSummary
from tpu_studio.workflow.systemclock import SystemClock

_log = logging.getLogger(__name__)

CLOUD_INTENTS = ("stops", "lease-stops", "create", "delete")


class Runs:
    """All verbs of runs. Every method blocks; errors are StudioError; may be called from any thread.

    Args:
        home: Folder of ``runs/`` and ``trash/`` (docs/architecture.md).
        places: Place by its name in a plan: ``computer``.
        driver: Drives runs at the rented places; None: there are none.
        agreed: Which model files of the person's own may run where.
    """

    def __init__(
        self,
        home: Path,
        *,
        places: Mapping[str, Place],
        journal: Journal,
        index: RunIndex,
        clock: Clock | None = None,
        driver: Driver | None = None,
        agreed: consent.Agreed = consent.nothing_agreed,
    ) -> None:
        self.home, self._agreed, self.driver = home, agreed, driver
        self._journal, self._index, self._clock = journal, index, clock or SystemClock()
        self._desktop = Desktop(home, places, driver, journal, index, self._clock)
        mend = driver.plans.mend if driver is not None else lambda folder: False
        self._folders = RunFolders(self.runs_folder, mend, self._called)
        self._deleting = Deleting(self._folders, home / "trash", journal, index, self._clock, self._seen)

    @property
    def runs_folder(self) -> Path:
        return self.home / "runs"

    # -------------------------------------------------------------------------------------------------- start, stop

    def launch(self, plan: Plan, *, beside: bool = False, notebook: bool = False) -> str:
        """Freeze *plan* in a new run folder, begin it as its place does (`workflow.places`), and return the run's id.
        Where a run is called so already, it gets the next number.

        Args:
            beside: Run beside others at once, instead of waiting for one's turn.
            notebook: The caller writes its notebook (`notebooks.launched`); without one nothing would ever train.

        Raises:
            BadInput: ``plan-has-errors`` (facts: checks), ``model-no-consent``, ``colab-needs-notebook``.
            NotReady: the place is not ready.
            RunError: ``folder-unwritable`` or ``disk-full``; in each case nothing was left behind.
        """
        place = places.by_id(plan.place)
        there = self._desktop.runs_at(place)
        if plan.blocking:
            raise BadInput("plan-has-errors", checks=[check.title for check in plan.blocking])
        consent.check_model_file(plan, self._agreed)
        now = there.ready(plan, notebook=notebook)
        plan = marks.called(plan, self._free_name(plan.job.name))
        try:
            folder = self._folders.make(plan.job.name)
            (self.home / "trash").mkdir(exist_ok=True)  # on a full disk there is no room to make it
        except OSError as error:
            raise desk.disk_error(error, self.runs_folder) from error
        run = folder.name
        plan = plan.launched(run, round(now, 3), __version__)
        told = {"plan": plan.to_json()} if place.rents else {}  # with which a damaged plan of a rented run is put back
        with desk.making(folder):  # `reconcile` of another program leaves it alone
            try:
                intent = self._journal.open("launch", run, {"attempt": 1, "beside": beside, **told}, now)
            except NotReady:
                trash.remove(folder)
                raise
            try:
                create_once(folder / PLAN, dumps(plan))
                desk.write_owner(folder, self._install, t=now)
            except OSError as error:
                trash.remove(folder)
                self._journal.close(intent, "failed", self._clock.now())
                raise desk.disk_error(error, folder) from error
        outcome = there.begin(folder, plan, beside=beside, now=now)
        try:
            self._journal.close(intent, outcome, self._clock.now())
        except NotReady as error:  # the run has begun: it stays open, as after a kill, and `reconcile` closes it
            _log.warning("run %s has begun, which the journal could not be told: %s", run, error)
        return run

    def stop(self, run: str, keep: bool = True) -> None:
        """Ask the guardian to end the run; *keep* its result, or discard it. Returns when that is written, not done.

        Raises:
            RunError: ``run-is-over``, ``run-elsewhere``, ``run-unknown``, ``run-imported`` (a rented one of somebody
                else's, which would hear nothing); BadInput ``run-lies-elsewhere``.
        """
        folder = self._folders.own(run)
        self._at(folder).stop(folder, keep)

    def extend(
        self, run: str, epochs: float | None, *, hours: float | None = None, money_usd: float | None = None
    ) -> None:
        """Train *epochs* more: a word to the trainer while it goes on, afterwards a new attempt. None: only limits.

        *hours*, *money_usd*: New limits of the whole run. Time grows with the work by itself, the cost limit never.
        Raises:
            RunError: ``no-checkpoint``, ``extend-by-nothing``, ``limits-of-an-ended-run``, and as `resume`.
        """
        folder, there = self._steerable(run)
        action = decide.extend(there.seen(folder), epochs, hours=hours, money_usd=money_usd)
        attempt = action if isinstance(action, NewAttempt) else there.extend(folder, epochs, action)
        if attempt is not None:
            self._new_attempt(folder, there, attempt, "extend")

    def profile(self, run: str) -> None:
        """Ask for a profile of some steps; the run's events tell what becomes of it.

        Raises:
            RunError: ``profile-stopping``, ``profile-under-way``, ``profile-not-training``, and as `stop`;
                ``run-in-colab``.
        """
        folder, there = self._steerable(run)
        there.tell(folder, decide.profile(there.seen(folder), self._view(folder)))

    def resume(self, run: str, *, hours: float | None = None, money_usd: float | None = None) -> None:
        """Go on with a run that has ended or was lost, as a new attempt from its last checkpoint.

        Raises:
            RunError: ``run-goes-on``, ``run-complete``, ``money-spent``, ``run-elsewhere``, ``run-imported`` (a rented
                one of somebody else's), ``run-in-colab`` (only its notebook can go on with it); BadInput
                ``run-lies-elsewhere``; ModelError ``model-no-consent``; NotReady.
        """
        folder, there = self._steerable(run)
        action = decide.resume(there.seen(folder), hours=hours, money_usd=money_usd)
        self._new_attempt(folder, there, action, "resume")

    def rename(self, run: str, name: str) -> str:
        """Show the run as *name* on this computer; "" as its job called it. What it is called now.

        Raises:
            RunError: ``run-unknown``, ``run-busy``, ``folder-unwritable``, ``disk-full``; BadInput
                ``run-lies-elsewhere``.
        """
        self._mark(run, lambda mark: replace(mark, name=clean(name)))
        return self.summary(run).name

    def tag(self, run: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[Mark, Mark]:
        """Give and take tags of the run; what is noted before and after. Raises as `rename`; BadInput as `tagged`."""
        return self._mark(run, lambda mark: tagged(mark, add, remove))

    def note(self, run: str, text: str) -> tuple[Mark, Mark]:
        """Write *text* as the run's note, "" for none. As `tag`; BadInput ``note-too-long``."""
        return self._mark(run, lambda mark: noted(mark, text))

    def star(self, run: str, on: bool = True) -> tuple[Mark, Mark]:
        """Put a star on the run, or take it off. As `tag`."""
        return self._mark(run, lambda mark: replace(mark, star=on))

    def _mark(self, run: str, how: Callable[[Mark], Mark]) -> tuple[Mark, Mark]:
        folder = self._folders.own(run)
        try:
            return marks.change(self.home, folder.name, how)
        except OSError as error:
            raise desk.disk_error(error, self.home) from error

    def _free_name(self, name: str) -> str:
        """*name*, with a number where a run in the list is called so. The folders of those begin alike, but for those
        that were renamed."""
        noted = marks.read(self.home)
        own = (marks.marked(self._index.glance(folder), noted).name for folder in self._folders.alike(name))
        return marks.numbered(name, [*own, *(mark.name for mark in noted.values() if mark.name)])

    def _called(self, name: str) -> set[str]:
        """The ids of the runs that are called *name* now. All are asked: one that somebody shares may have any id."""
        noted = marks.read(self.home)
        rows = [self._index.glance(folder) for folder in self._folders.all()]
        return {row.run for row in rows if marks.marked(row, noted).name == name}

    # -------------------------------------------------------------------------------------------- delete and bring in

    def delete(self, run: str) -> str:
        """Move the run to the trash, where `undo_delete` finds it; its id. Needs no room on the disk.

        Raises:
            RunError: ``run-goes-on``, ``run-elsewhere``, ``run-busy``, ``run-unknown``, ``run-ambiguous``;
                ``trash-no-room`` when only `remove_for_good` is possible.
        """
        return self._deleting.delete(run)

    def remove_for_good(self, run: str) -> str:
        """Remove a run that is in the list or in the trash, at once and for ever; its id. RunErrors as `delete`."""
        removed = self._deleting.remove(run)
        self._forget_notes([removed])
        return removed

    def undo_delete(self, run: str) -> str:
        """*run*: an id or the beginning of one. The id; raises RunError ``run-not-in-trash``, ``run-ambiguous``."""
        return self._deleting.undo(run)

    def deleted(self) -> Sequence[trash.Deleted]:
        """What `undo_delete` can bring back, deleted last first."""
        given = marks.names(self.home)
        return [replace(one, name=given.get(one.run, one.name)) for one in self._deleting.deleted()]

    def empty_trash(self, older_than_s: float = 0.0) -> int:
        """Delete for good what has been in the trash for so long; how many runs that were. Raises RunError."""
        removed = self._deleting.empty(older_than_s)
        self._forget_notes(removed)
        return len(removed)

    def _forget_notes(self, removed: Sequence[str]) -> None:
        """Of runs that nothing brings back; not of those that are merely not seen now."""
        try:
            marks.forget(self.home, [run for run in removed if not self._may_come_back(run)])
        except (OSError, RunError) as error:  # the runs are gone, and that was asked for
            _log.warning("notes of removed runs stay: %s", error)

    def _may_come_back(self, run: str) -> bool:
        if not self.runs_folder.is_dir():  # away: nobody knows what is there
            return True
        return (self.runs_folder / run).exists() or any(one.run == run for one in self._deleting.deleted())

    def import_folder(
        self,
        path: Path,
        progress: Progress | None = None,
        *,
        run: str = "",
        replace: bool = False,
        moving: Callable[[str], None] = lambda run: None,
    ) -> bringing.Imported:
        """Copy a run folder, or a zip of one, from elsewhere into ours; one that waits for its zip is completed by it.
        *run*: the one that a zip must be of; "" takes any. *replace*: it takes the place of the same run that is here,
        where they differ, and that goes to the trash. *moving*: as of `bringing.bring`.

        Raises:
            RunError: See ``bringing`` and ``zips``; ``zip-other-run``, ``zip-other-plan``, ``zip-other-course``; with
                *replace* ``import-keeps-own`` and as `delete`.
        """

        def begins(run: str) -> None:
            if not replace and run in marks.read(self.home):  # of one that was removed
                self._forget_notes([run])
            moving(run)

        put_away = self._deleting.put_away if replace else None
        if path.is_file() and path.name != PLAN:
            return import_zip(self._desktop, path, progress, self.folder(run).name if run else "", begins, put_away)
        return bringing.bring(
            path, self.runs_folder, self._install, self._clock.now(), progress, moving=begins, put_away=put_away
        )

    def export(self, run: str, destination: Path, progress: Progress | None = None) -> Path:
        """Copy the result of a run, a damaged one's too, to *destination*; the folder it is in now. Raises RunError."""
        return bringing.export(self._folders.find(run, damaged=True), destination, progress)

    def pack(self, run: str, file: Path, progress: Progress | None = None, *, replace: bool = False) -> packing.Packed:
        """The whole of a run that is over as one zip, which `import_folder` takes elsewhere.

        Raises:
            RunError: ``zip-run-goes-on``, and of `packing.pack`.
        """
        folder = self.folder(run)
        row = self._index.summary(folder)
        if not row.over and not row.problem:
            raise RunError("zip-run-goes-on", run=folder.name)
        return packing.pack(folder, file, progress, replace=replace)

    def take_over(self, plan: Plan, run: str) -> str:
        """Drive a rented run of another computer from here on. Raises RunError, NotReady, errors of the cloud."""
        return self._verbs(plan.place).take_over(plan, run).name

    def take_over_from(self, place: str, address: str, offer: Offer | None = None) -> str:
        """The same of ``gs://bucket/runs/run`` at *place*; the run's id. Raises also BadInput ``not-a-run-address``;
        RunError ``run-changed`` where it is no more what was agreed to in *offer*."""
        cloud, run, bucket = self._address(place, address)
        taken = cloud.take_over(any_plan(place), run, bucket=bucket, offer=offer).name
        self._index.forget(taken)  # of a copy that lay under its name
        return taken

    def offer(self, place: str, address: str) -> Offer:
        """What `take_over_from` would go by. Nothing is changed; raises the same."""
        cloud, run, bucket = self._address(place, address)
        return cloud.offer(any_plan(place), run, bucket=bucket)

    def _address(self, place: str, address: str) -> tuple[CloudVerbs, str, str]:
        """Who asks the cloud, the run, and its bucket."""
        bucket, _, rest = address.removeprefix("gs://").partition("/")
        above, _, run = rest.rstrip("/").partition("/")
        if not bucket or above != "runs" or not is_run_id(run):
            raise BadInput("not-a-run-address", address=address)
        return self._verbs(place), run, bucket

    # ------------------------------------------------------------------------------------------------------- looking

    def list(self, told: Callable[[int, int], None] = lambda read, of: None) -> list[RunSummary]:
        """A row for each run folder, newest first; damaged ones with their ``problem``. *told* hears how many are read:
        without its index, after an update for instance, many runs take a while."""
        folders = [path for path in self._folders.all() if has_plan(path) or is_torn(path)]
        names, noted = forgetting.forgotten(self.home), marks.read(self.home)
        rows: list[RunSummary] = []
        for path in folders:
            told(len(rows), len(folders))
            rows.append(marks.marked(forgetting.without(self._index.glance(path), names), noted))
        return sorted(rows, key=lambda row: row.created, reverse=True)

    def forget_taught(self) -> None:
        """What the runs so far have taught the estimate counts no more; the runs stay. Raises RunError."""
        try:
            forgetting.forget(self.home, [*(row.run for row in self.list()), *(one.run for one in self.deleted())])
        except OSError as error:
            raise desk.disk_error(error, self.home) from error

    def summary(self, run: str) -> RunSummary:
        return marks.marked(self._index.summary(self.folder(run)), marks.read(self.home))

    def folder(self, run: str, *, damaged: bool = False) -> Path:
        """The folder of a run: see `RunFolders.find`."""
        return self._folders.find(run, damaged=damaged)

    def new_id(self, name: str) -> str:
        """An id for a run of a job of that name; nothing is made."""
        return self._folders.new_id(name)

    def follow(self, run: str) -> Following:
        """Watch a run, whoever drives it. Raises RunError."""
        return self._index.follow(self.folder(run))

    def plan(self, run: str) -> Plan:
        return plans.read(self.folder(run))

    def shown_plan(self, run: str) -> Plan:
        """As it was frozen, but called what the run is called now: for looking at, and for the next one."""
        folder = self.folder(run)
        plan = plans.read(folder)
        return marks.called(plan, marks.names(self.home).get(folder.name, plan.job.name))

    # --------------------------------------------------------------------------------------------------- after a crash

    def reconcile(self) -> Sequence[str]:
        """At each start: give every run that nobody guards and that never said its end, that end. Their ids.

        Safe beside other desktops and any number of times. Plans of rented runs that are damaged are put back as far
        as the journal knows them, and a journal that was begun anew learns what these runs have open. What an import
        that was killed has left is removed.
        """
        passing.sweep(self.runs_folder, self._clock.now())
        for folder in self._folders.all():
            if self.driver is not None and is_damaged(folder):
                self.driver.plans.mend(folder, ask_cloud=False)
        if self.driver is not None and self._journal.fresh:
            self.driver.tell_journal()
        for intent in self._journal.open_intents():
            if intent.action in (*CLOUD_INTENTS, STOPS_LEFT):
                continue  # the driver closes them when the cloud has been looked at
            if self._settle_intent(intent.action, intent.run):
                self._journal.close(intent.number, "reconciled", self._clock.now())
        return [folder.name for folder in self._folders.all() if has_plan(folder) and self._declare(folder)]

    def settle(self, run: str) -> bool:
        """Give this one run its end if nobody guards it and it never said so; True when this call did."""
        with suppress(BadInput):  # one that lies elsewhere is only looked at
            return self._declare(self._folders.own(run))
        return False

    # -------------------------------------------------------------------------------------------------------- private

    @property
    def _install(self) -> str:
        return self._desktop.install

    def _at(self, folder: Path) -> PlaceRuns:
        return self._desktop.runs_at(places.by_id(plans.read(folder).place))

    def _verbs(self, place: str) -> CloudVerbs:
        if self.driver is None:
            raise NotReady("place-not-available", place=place)
        return CloudVerbs(self.home, self.driver, self._journal)

    def _steerable(self, run: str) -> tuple[Path, PlaceRuns]:
        folder = self._folders.own(run, begins=True)
        there = self._at(folder)
        there.check_steerable(folder)
        return folder, there

    def _view(self, folder: Path) -> RunView:
        following = self._index.follow(folder)
        try:
            following.poll()
            return following.view
        finally:
            following.close()

    def _seen(self, folder: Path) -> Seen:
        return self._at(folder).seen(folder)

    def _new_attempt(self, folder: Path, there: PlaceRuns, action: NewAttempt, verb: str) -> None:
        try:
            plan = plans.read(folder)
        except FileNotFoundError as error:
            raise RunError("run-unknown", run=folder.name) from error  # another has just deleted it
        consent.check_model_file(plan, self._agreed)
        there.again(folder, action, verb)

    def _declare(self, folder: Path) -> bool:
        """Write the end that a lost run never wrote; True when this call wrote it."""
        try:
            if folder.is_symlink():
                return False  # it lies elsewhere
            return self._at(folder).settle(folder)
        except (OSError, RunError, NotReady):
            return False  # unreadable or not writable: its row in the list says so

    def _settle_intent(self, action: str, run: str) -> bool:
        """Finish or take back what a crash left half done; False while another program is still at it.

        Launches that got their plan and lost runs are seen to by `_declare`.
        """
        folder = self.runs_folder / run
        if action == "launch" and not (folder / PLAN).exists():
            with suppress(FileNotFoundError), desk.making(folder) as alone:
                if not alone:
                    return False
                if not (folder / PLAN).exists():
                    trash.remove(folder)
        elif action == "delete" and not folder.exists():
            self._index.forget(run)
        return True
