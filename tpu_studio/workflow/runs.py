"""The life of runs on this desktop: launch, stop, extend, resume, delete, take over after a crash, list, follow.

Plain blocking calls: the window makes them through `Tasks`, the command line directly. Each verb gathers what is true
now, asks ``decide`` (pure), acts, and records: the intent in the journal before the act, the event in the run folder
after it. The truth of a run is its folder; nothing here is remembered between calls.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tpu_studio import __version__
from tpu_studio.planner.colab import PLACE as COLAB
from tpu_studio.wire import controls, places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import BadInput, NotReady, RunError
from tpu_studio.wire.limits import limits_of, used_before
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan, dumps
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runclock import latest_event_s
from tpu_studio.wire.runfolder import COMMITTED, PLAN, create_once, has_plan, is_run_id, is_torn, latest_attempt
from tpu_studio.workflow import bringing, consent, decide, desk, forgetting, trash
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.mirror import Words
from tpu_studio.workflow.cloudruns.plans import any_plan, is_damaged
from tpu_studio.workflow.cloudruns.recovering import STOPS_LEFT
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.colabruns import WAITING_FOR_COLAB, NotebookRuns
from tpu_studio.workflow.decide import NewAttempt, Seen, SendControl
from tpu_studio.workflow.deleting import BUSY_S, Deleting
from tpu_studio.workflow.folders import RunFolders
from tpu_studio.workflow.ports import Clock, Following, Journal, Place, Progress, RunIndex, RunSummary
from tpu_studio.workflow.systemclock import SystemClock

CLOUD_INTENTS = ("stops", "lease-stops", "create", "delete")
ANSWERS_WITHIN_S = 10.0
BEFORE_TRAINING = tuple(one.value for one in (Phase.PLANNED, Phase.QUEUED, Phase.SETTING_UP, Phase.COMPILING))
"""In these a guardian need not say that it heard of an extension: the training program counts it as it begins."""


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
        self.home, self._agreed = home, agreed
        self.driver = driver
        self._cloud = CloudVerbs(home, driver, journal) if driver is not None else None
        self._places, self._journal, self._index = dict(places), journal, index
        self._clock = clock or SystemClock()
        self._folders = RunFolders(self.runs_folder, driver.plans.mend if driver is not None else lambda folder: False)
        self._deleting = Deleting(self._folders, home / "trash", journal, index, self._clock, self._seen)
        self._notebooks = NotebookRuns(
            self.runs_folder, index, self._say, lambda: desk.install_id(home), lambda: self._clock.now()
        )

    @property
    def runs_folder(self) -> Path:
        return self.home / "runs"

    # -------------------------------------------------------------------------------------------------- start, stop

    def launch(self, plan: Plan, *, beside: bool = False, notebook: bool = False) -> str:
        """Freeze *plan* in a new run folder, start its guardian, and return the run's id.

        At the place ``colab`` the person starts it, in a notebook: the run waits for its result (`import_folder`).
        A guardian that cannot be started is told in the run itself: it ends at once as ``start-failed``.

        Args:
            beside: Run beside others at once, instead of waiting for one's turn.
            notebook: The caller writes its notebook (`notebooks.launched`); without one nothing would ever train.

        Raises:
            BadInput: ``plan-has-errors`` (facts: checks), ``model-no-consent``, ``colab-needs-notebook``.
            NotReady: the place is not ready.
            RunError: ``folder-unwritable`` or ``disk-full``; in each case nothing was left behind.
        """
        rents = places.by_id(plan.place).rents and self._cloud is not None
        waits = plan.place == COLAB
        if waits and not notebook:
            raise BadInput("colab-needs-notebook")
        place = None if rents or waits else self._place(plan.place)
        if plan.blocking:
            raise BadInput("plan-has-errors", checks=[check.title for check in plan.blocking])
        consent.check_model_file(plan, self._agreed)
        now = self._clock.now()
        if place is not None:
            place.check_ready()
        elif self._cloud is not None and not waits:
            now = self._cloud.check_ready(plan)  # events carry the cloud's time
        try:
            folder = self._folders.make(plan.job.name)
            (self.home / "trash").mkdir(exist_ok=True)  # on a full disk there is no room to make it
        except OSError as error:
            raise desk.disk_error(error, self.runs_folder) from error
        run = folder.name
        plan = plan.launched(run, round(now, 3), __version__)
        told = {"plan": plan.to_json()} if rents else {}  # with which a damaged plan of a rented run is put back
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
        if place is None:
            desk.write_event(folder, self._install, "target", t=now, steps=plan.steps)
            detail = WAITING_FOR_COLAB if waits else "submitted"
            desk.write_event(folder, self._install, "phase", t=now, phase=Phase.QUEUED.value, detail=detail, attempt=1)
            self._journal.close(intent, "frozen", self._clock.now())
            return run
        with desk.driving(folder):
            outcome = self._start(place, folder, 1, beside, steps=plan.steps)
        self._journal.close(intent, outcome, self._clock.now())
        return run

    def stop(self, run: str, keep: bool = True) -> None:
        """Ask the guardian to end the run; *keep* its result, or discard it. Returns when that is written, not done.

        Raises:
            RunError: ``run-is-over``, ``run-elsewhere``, ``run-unknown``, ``run-imported`` (a rented one of somebody
                else's, which would hear nothing); BadInput ``run-lies-elsewhere``.
        """
        folder = self._folders.own(run)
        if self._rents(folder):
            self._refuse_imported(folder)
            self._rents_or_refuse(folder).stop(folder, keep)
            return
        action = decide.stop(self._seen(folder), keep)
        if self._notebooks.is_one(folder):
            self._notebooks.give_up(folder, keep)
            return
        if isinstance(action, SendControl):
            self._send(folder, "stop", [action.record])
        else:
            self._declare(folder)

    def extend(
        self, run: str, epochs: float | None, *, hours: float | None = None, money_usd: float | None = None
    ) -> None:
        """Train *epochs* more: a word to the trainer while it goes on, afterwards a new attempt. None: only limits.

        *hours*, *money_usd*: New limits of the whole run. Time grows with the work by itself, the cost limit never.
        Raises:
            RunError: ``no-checkpoint``, ``extend-by-nothing``, ``limits-of-an-ended-run``, and as `resume`.
        """
        folder = self._steerable(run)
        action = decide.extend(self._seen(folder), epochs, hours=hours, money_usd=money_usd)
        if isinstance(action, NewAttempt):
            self._new_attempt(folder, action, "extend")
            return
        if self._rents(folder):
            self._rents_or_refuse(folder).extend(folder, action)
            return
        row = self._index.summary(folder)
        numbers = self._send(folder, "extend", [one.record for one in action])
        if row.status not in BEFORE_TRAINING and not self._is_heard(folder, row.attempt, numbers[-1]):
            if epochs is None:
                raise RunError("limits-of-an-ended-run", run=folder.name)
            self._new_attempt(folder, NewAttempt(row.attempt + 1), "extend")  # it was ending at that very moment

    def resume(self, run: str, *, hours: float | None = None, money_usd: float | None = None) -> None:
        """Go on with a run that has ended or was lost, as a new attempt from its last checkpoint.

        Raises:
            RunError: ``run-goes-on``, ``run-complete``, ``money-spent``, ``run-elsewhere``, ``run-imported`` (a rented
                one of somebody else's); BadInput ``run-lies-elsewhere``; ModelError ``model-no-consent``; NotReady.
        """
        folder = self._steerable(run)
        action = decide.resume(self._seen(folder), hours=hours, money_usd=money_usd)
        self._new_attempt(folder, action, "resume")

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
        return self._deleting.remove(run)

    def undo_delete(self, run: str) -> str:
        """*run*: an id or the beginning of one. The id; raises RunError ``run-not-in-trash``, ``run-ambiguous``."""
        return self._deleting.undo(run)

    def deleted(self) -> Sequence[trash.Deleted]:
        """What `undo_delete` can bring back, deleted last first."""
        return self._deleting.deleted()

    def empty_trash(self, older_than_s: float = 0.0) -> int:
        """Delete for good what has been in the trash for so long; how many runs that were. Raises RunError."""
        return self._deleting.empty(older_than_s)

    def import_folder(self, path: Path, progress: Progress | None = None, *, run: str = "") -> bringing.Imported:
        """Copy a run folder, or a zip of one, from elsewhere into ours; one that waits for its zip is completed by it.
        *run*: the one that a zip must be of; "" takes any.

        Raises:
            RunError: See ``bringing`` and ``zips``; ``zip-other-run``, ``zip-other-plan``, ``zip-other-course``.
        """
        if path.is_file() and path.name != PLAN:
            return self._notebooks.import_zip(path, progress, self.folder(run).name if run else "")
        return bringing.bring(path, self.runs_folder, self._install, self._clock.now(), progress)

    def export(self, run: str, destination: Path, progress: Progress | None = None) -> Path:
        """Copy the result of a run, a damaged one's too, to *destination*; the folder it is in now. Raises RunError."""
        return bringing.export(self._folders.find(run, damaged=True), destination, progress)

    def take_over(self, plan: Plan, run: str) -> str:
        """Drive a rented run of another computer from here on. Raises RunError, NotReady, errors of the cloud."""
        if self._cloud is None:
            raise NotReady("place-not-available", place=plan.place)
        return self._cloud.take_over(plan, run).name

    def take_over_from(self, place: str, address: str) -> str:
        """The same of ``gs://bucket/runs/run`` at *place*; the run's id. Raises also BadInput ``not-a-run-address``."""
        bucket, _, rest = address.removeprefix("gs://").partition("/")
        above, _, run = rest.rstrip("/").partition("/")
        if not bucket or above != "runs" or not is_run_id(run):
            raise BadInput("not-a-run-address", address=address)
        if self._cloud is None:
            raise NotReady("place-not-available", place=place)
        return self._cloud.take_over(any_plan(place), run, bucket=bucket).name

    # ------------------------------------------------------------------------------------------------------- looking

    def list(self, told: Callable[[int, int], None] = lambda read, of: None) -> list[RunSummary]:
        """A row for each run folder, newest first; damaged ones with their ``problem``. *told* hears how many are read:
        without its index, after an update for instance, many runs take a while."""
        folders = [path for path in self._folders.all() if has_plan(path) or is_torn(path)]
        names = forgetting.forgotten(self.home)
        rows: list[RunSummary] = []
        for path in folders:
            told(len(rows), len(folders))
            rows.append(forgetting.without(self._index.summary(path), names))
        return sorted(rows, key=lambda row: row.created, reverse=True)

    def forget_taught(self) -> None:
        """What the runs so far have taught the estimate counts no more; the runs stay. Raises RunError."""
        try:
            forgetting.forget(self.home, [*(row.run for row in self.list()), *(one.run for one in self.deleted())])
        except OSError as error:
            raise desk.disk_error(error, self.home) from error

    def summary(self, run: str) -> RunSummary:
        return self._index.summary(self.folder(run))

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

    # --------------------------------------------------------------------------------------------------- after a crash

    def reconcile(self) -> Sequence[str]:
        """At each start: give every run that nobody guards and that never said its end, that end. Their ids.

        Safe beside other desktops and any number of times. Plans of rented runs that are damaged are put back as far
        as the journal knows them, and a journal that was begun anew learns what these runs have open.
        """
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
        return desk.install_id(self.home)

    def _place(self, name: str) -> Place:
        if name not in self._places:
            raise NotReady("place-not-available", place=name)
        return self._places[name]

    def _steerable(self, run: str) -> Path:
        """Raises RunError: ``run-in-colab`` (only its notebook can go on with it), ``run-imported``; as `own`."""
        folder = self._folders.own(run, begins=True)
        if self._rents(folder):
            self._refuse_imported(folder)
        if self._notebooks.is_one(folder):
            raise RunError("run-in-colab", run=folder.name)
        return folder

    def _refuse_imported(self, folder: Path) -> None:
        driver = self.driver
        known = driver.launched_here(folder) if driver else self._journal.plan_of(folder.name) is not None
        consent.check_rented_here(folder, self.runs_folder, launched_here=known)

    def _rents(self, folder: Path) -> bool:
        return places.by_id(plans.read(folder).place).rents

    def _rents_or_refuse(self, folder: Path) -> CloudVerbs:
        if self._cloud is None:
            raise NotReady("place-not-available", place=plans.read(folder).place)
        return self._cloud

    def _seen(self, folder: Path) -> Seen:
        """What is true of a run now. Life is looked at before the events: who is dead writes no more."""
        if self._rents(folder):
            known = self._index.summary(folder)
            return self._rents_or_refuse(folder).seen(folder, not known.problem and self._is_copied(folder), known.usd)
        attempt = latest_attempt(folder)
        owner = desk.read_owner(folder)
        plan = plans.read(folder)
        alive = bool(attempt) and plan.place != COLAB and self._place(plan.place).is_alive(folder, attempt)
        row = self._index.summary(folder)
        limits = limits_of(plan, controls.Controls(folder).read())
        plain = limits_of(plan)
        return Seen(
            run=folder.name,
            attempt=attempt,
            alive=alive,
            over=row.over,
            reason=row.reason,
            usd=row.usd,
            elsewhere=owner.get("install") not in (None, self._install) and not owner.get("imported"),
            has_checkpoint=any((folder / "checkpoints").glob(f"*/{COMMITTED}")),
            used_s=used_before(folder, attempt + 1),
            limit_hours=limits.hours,
            limit_usd=limits.money_usd,
            plan_hours=plain.hours,
            plan_steps=plan.steps,
            steps_per_epoch=plan.steps_per_epoch,
        )

    def _is_copied(self, folder: Path) -> bool:
        following = self._index.follow(folder)
        try:
            following.poll()
            return following.view.checkpoint_step is not None
        finally:
            following.close()

    def _start(self, place: Place, folder: Path, attempt: int, beside: bool, *, steps: int | None = None) -> str:
        """Say that the run waits, start its guardian; "started" or, told in the run, "start-failed"."""
        self._say(folder, "phase", phase=Phase.QUEUED.value, detail="starting", attempt=attempt)
        if steps is not None:
            self._say(folder, "target", steps=steps)
        try:
            place.start(folder, attempt, beside=beside)
        except RunError as error:
            self._say(
                folder,
                "end",
                attempt=attempt,
                status="failed",
                reason=Reason.START_FAILED.value,
                steps=0,
                final={},
                facts=error.facts,
            )
            return "start-failed"
        return "started"

    def _new_attempt(self, folder: Path, action: NewAttempt, verb: str) -> None:
        plan = plans.read(folder)
        consent.check_model_file(plan, self._agreed)
        if places.by_id(plan.place).rents:
            self._rents_or_refuse(folder).again(folder, action)
            return
        place = self._place(plan.place)
        place.check_ready()
        intent = self._journal.open(verb, folder.name, {"attempt": action.attempt}, self._clock.now())
        try:
            with desk.driving(folder, BUSY_S) as alone:
                if not alone or self._seen(folder).attempt >= action.attempt:  # another was quicker to go on with it
                    self._journal.close(intent, "busy", self._clock.now())
                    raise RunError("run-busy", run=folder.name)
                for record in action.controls:
                    controls.send(folder, record)
                added = sum(float(record.get("epochs", 0.0)) for record in action.controls)
                planned = self._index.summary(folder).steps_planned
                steps = planned + max(1, round(added * plan.steps_per_epoch)) if added else None
                outcome = self._start(place, folder, action.attempt, beside=False, steps=steps)
        except FileNotFoundError as error:
            raise RunError("run-unknown", run=folder.name) from error  # another has just deleted it
        except OSError as error:
            raise desk.disk_error(error, folder) from error
        self._journal.close(intent, outcome, self._clock.now())

    def _is_heard(self, folder: Path, attempt: int, number: int) -> bool:
        """False when the attempt has ended without a word of this control file; its guardian answers at once."""
        place, words = self._place(plans.read(folder).place), Words(folder)
        give_up = time.monotonic() + ANSWERS_WITHIN_S
        while time.monotonic() < give_up:
            alive = place.is_alive(folder, attempt)  # before its words are read: who is dead writes no more
            if number in words.guard(attempt).heard:
                return True
            if not alive:
                return False
            time.sleep(0.05)
        return True  # it lives and is busy: it reads them all before it ends

    def _send(self, folder: Path, verb: str, records: Sequence[dict[str, object]]) -> Sequence[int]:
        """Numbers of the control files."""
        intent = self._journal.open(verb, folder.name, {"controls": [*records]}, self._clock.now())
        try:
            numbers = [controls.send(folder, record) for record in records]
        except FileNotFoundError as error:
            raise RunError("run-unknown", run=folder.name) from error  # it ended, and another has deleted it
        except OSError as error:
            raise desk.disk_error(error, folder) from error
        self._journal.close(intent, "sent", self._clock.now())
        return numbers

    def _declare(self, folder: Path) -> bool:
        """Write the end that a lost run never wrote; True when this call wrote it."""
        try:
            if self._rents(folder) or self._notebooks.is_one(folder):
                return False  # its driver looks at the cloud first; a notebook's zip tells how it went
            with desk.driving(folder) as alone:
                action = decide.lost(self._seen(folder)) if alone else None
                if action is None:
                    return False
                self._say(
                    folder,
                    "end",
                    attempt=action.attempt,
                    status=action.reason.status.value,
                    reason=action.reason.value,
                    steps=self._index.summary(folder).step,
                    final={},
                    facts={},
                )
                return True
        except (OSError, RunError, NotReady):
            return False  # unreadable or not writable: its row in the list says so

    def _say(self, folder: Path, kind: str, **fields: object) -> None:
        t = max(self._clock.now(), latest_event_s(folder))  # the clock may have been set back meanwhile
        desk.write_event(folder, self._install, kind, t=t, **fields)

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
