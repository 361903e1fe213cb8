"""Drives runs in the cloud: gathers what is true, asks ``decide``, acts, records; one run a `Driver.turn`.

The app's background loop and the command line's watch call `turn` again and again; a lock on the run's plan sees to it
that one process drives a run at a time. Nothing is remembered that cannot be read again: a driver killed at any
instant is followed by a fresh one that finishes. `acts` does one action, `closing` ends bill and run, `recording` has
the order in which both are written down.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tpu_studio.wire import plan as plans
from tpu_studio.wire.controls import Controls
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, NotReady, RunError, SignedOut, StudioError
from tpu_studio.wire.limits import Limits
from tpu_studio.wire.plan import Plan, loads
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns import asking, believed, decide, recovering, telling
from tpu_studio.workflow.cloudruns.acts import Acts
from tpu_studio.workflow.cloudruns.closing import Closing
from tpu_studio.workflow.cloudruns.decide import Action, Seen
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.machine import Guard
from tpu_studio.workflow.cloudruns.mine import Mine
from tpu_studio.workflow.cloudruns.mirror import Mirror, Words, attempts
from tpu_studio.workflow.cloudruns.plans import Plans, is_damaged, put
from tpu_studio.workflow.cloudruns.ports import CloudPlace, CloudSide
from tpu_studio.workflow.cloudruns.recording import (
    Records,
    Watched,
    state_of,
    whose,
)
from tpu_studio.workflow.cloudruns.rules import Rules
from tpu_studio.workflow.cloudruns.state import State, fold, with_guard
from tpu_studio.workflow.cloudruns.stopped import delete_stopped, read_stop, still_there
from tpu_studio.workflow.cloudruns.usage import CountedMailbox, usage_of
from tpu_studio.workflow.consent import is_foreign
from tpu_studio.workflow.ports import Journal

WATCHED_HOLDS_S = 10.0
ACTS_A_TURN = 40
LOOK_EVERY_S = (10.0, 60.0)  # at a machine that is ready: while watched and silent, and otherwise
POLL_S = (1.0, 15.0)  # watched, and otherwise
HEARTBEAT_EVERY_S = 30.0
SIGNED_OUT_S = 8.0  # until it is tried again; who signs in does not wait a minute for what runs
READING_S = 1.0  # of a turn, at the words of machines: a file of gigabytes is read on in the next
OTHERS_WORD_S = 600.0  # until a run that only others say to be over is asked for again
HOLDER_EVERY_S = 5.0  # at a poll; and, where something is to be done, once more if that is so long ago:
HOLDER_BEFORE_AN_ACT_S = 1.0
_log = logging.getLogger(__name__)


class Driver:
    """All methods block and may be called from any thread; one turn of a run at a time.

    Args:
        home: Folder of ``runs/``.
        places: Rented places by their name in a plan.
    """

    def __init__(self, home: Path, *, places: Mapping[str, CloudPlace], journal: Journal) -> None:
        self.home, self._places, self._journal = home, dict(places), journal
        self._runs: dict[str, Watched] = {}
        self._before: dict[str, Watched] = {}
        self._looked_at: dict[str, float] = {}
        self.problems: dict[str, StudioError] = {}
        self.uploads: dict[str, tuple[int, int]] = {}
        self.plans, self._mine = Plans(home, self._places, journal), Mine(home, journal)
        self._records = Records(home, journal)
        self._acts = Acts(self._records, Closing(self._records), self._place, self.uploads)

    # -------------------------------------------------------------------------------------------------------- public

    def side(self, plan: Plan) -> CloudSide:
        """Where *plan* would be launched now. Raises NotReady ``place-not-available``; whatever connecting raises."""
        return self._place(plan.place).connect(plan)

    def side_of(self, run: str, plan: Plan) -> CloudSide:
        """The project and bucket in which *run* was begun, also when another account or project is chosen by now.

        As the journal has it: what a file in the run's folder says of that may come from anybody, and data goes there.
        """
        at = self._journal.begun_at(run)
        if at is None and (state := self.state(run)).opened:  # begun by an earlier version
            at = state.project, state.bucket
        return self.side(plan) if at is None else self._side_at(plan, *at)

    def _side_at(self, plan: Plan, project: str, bucket: str) -> CloudSide:
        place = self._place(plan.place)
        return place.at(plan, project, bucket) if place.at is not None else place.connect(plan)

    def watch(self, run: str) -> None:
        """Somebody looks at this run now (holds for 10 s): everything is faster."""
        self._looked_at[run] = time.monotonic()

    def turn(self, run: str) -> float:
        """Do what is to be done now; seconds of real time until the next turn, 0 when the run is settled.

        Errors of the cloud and of the disk are kept in `problems`, and tried again.

        Raises:
            RunError: ``plan-missing``, ``plan-unreadable``, ``plan-newer``: nobody knows how to drive it.
        """
        folder = self.home / "runs" / run
        wait = 0.0
        try:
            if is_foreign(folder, launched_here=self.launched_here(folder)):  # nobody here agreed to its price
                self.problems[run] = RunError("run-imported", run=run)
                return POLL_S[1]
            self._put_plan_back(folder)
            with desk.driving(folder) as alone:
                if not alone:
                    return POLL_S[0]
                watched = self._take_up(folder)
                wait = self._turn(watched)
        except (CloudUnclear, CloudRefused, NotReady) as error:
            return self._failed(run, error)
        except RunError as error:
            if error.id not in ("disk-full", "folder-unwritable"):
                raise
            return self._failed(run, error)
        except OSError as error:
            return self._failed(run, desk.disk_error(error, folder))
        watched.failures = 0
        self.problems.pop(run, None)
        if (problem := telling.problem_of(watched)) is not None:
            self.problems[run] = problem
        if not wait and watched.state.settled and not watched.stays and not watched.unsaved:
            self._runs.pop(run, None)
            return 0.0 if self._mine.is_done_with(folder) else OTHERS_WORD_S
        real = wait / watched.side.speed
        if self._is_watched(run):
            return max(0.1, min(real, watched.rhythm.pause(time.monotonic())))
        return max(0.5, real, POLL_S[1] / watched.side.speed)

    def _failed(self, run: str, error: StudioError) -> float:
        """Seconds until it is tried again."""
        known = self._runs.get(run)
        if known is not None:
            known.failures += 1
            known.looks.clear()
            who = isinstance(error, SignedOut) or error.id == "permission-missing"  # somebody may sign in at any moment
            if (who or known.failures % 3 == 0) and not known.unsaved:
                self._before[run] = self._runs.pop(run)  # connect anew: credentials, or the port, may have changed
        if self.problems.get(run) is None or self.problems[run].id != error.id:
            _log.info("run %s: %s", run, error)
        self.problems[run] = telling.of_disk(error, run, known)
        failures = known.failures if known is not None else 3
        speed = known.side.speed if known is not None else 1.0
        most_s = SIGNED_OUT_S if isinstance(error, SignedOut) else 64.0
        return max(0.2, min(most_s, 2.0 ** min(failures, 6)) / speed)

    def state(self, run: str) -> State:
        """What the records on this disk say; the cloud is not asked."""
        folder = self.home / "runs" / run
        install = self._records.install
        state = state_of(folder, whose(folder, install), install, self._journal)
        return with_guard(state, Words(folder, READING_S).guard(state.attempt))

    def is_to_be_taken_in(self, run: str) -> bool:
        """Whether it was taken over, and what others' records say of it is not this computer's own record yet."""
        return self._journal.was_taken_over(run) and not self._mine.own(self.home / "runs" / run).taken_in

    def take_in(self, run: str) -> None:
        """Make it that, once Google was asked; of a run that is over what it has left comes, too.

        Raises as `Acts.find`, and what keeps the run from being connected.
        """
        if not self.is_to_be_taken_in(run):
            return
        known = self._take_up(self.home / "runs" / run)
        self._acts.find(known, lambda: self._bring_what_is_left(known))

    def _bring_what_is_left(self, run: Watched) -> None:
        """Of a run that others say is done: once that is taken in, no turn comes for it any more."""
        said = fold(desk_events(run.folder))
        if said.settled:
            for attempt in attempts(said.attempt):
                run.mirror.pull(attempt, asking.workers_of(run.plan), catch_up=True)
                run.mirror.records(attempt)
            run.mirror.result()

    def own(self, folder: Path) -> State:
        """What this computer's own records alone say of the run."""
        return self._mine.own(folder)

    def counts(self, folder: Path) -> str:
        """Whose records of the run are shown: see `Mine.counts`."""
        return self._mine.counts(folder)

    def is_done_with(self, folder: Path) -> bool:
        """Whether it needs no turn from here any more: see `Mine.is_done_with`."""
        return is_foreign(folder, launched_here=self.launched_here(folder)) or self._mine.is_done_with(folder)

    def is_over(self, folder: Path) -> bool:
        """Whether nothing of the run is left to see to from here, whatever a bucket says."""
        return is_foreign(folder, launched_here=self.launched_here(folder)) or self._mine.is_over(folder)

    def is_unsettled(self, run: str) -> bool:
        return not self.state(run).settled

    def unsettled(self) -> list[str]:
        """The rented runs that need turns from here (`mine`). Raises NotReady of the journal."""
        return self._mine.unsettled()

    def trouble(self, run: str) -> StudioError | None:
        """What keeps *run* from being seen to; of somebody else's, which gets no turns, that it is."""
        folder = self.home / "runs" / run
        foreign = is_foreign(folder, launched_here=self.launched_here(folder))
        return RunError("run-imported", run=run) if foreign else self.problems.get(run)

    def cloud_now(self, run: str) -> float | None:
        """What time it is at the cloud of *run*; the cloud is not asked. None while it has not been reached."""
        known = self._runs.get(run)
        return None if known is None else known.side.clock.carried()

    def launched_here(self, folder: Path) -> bool:
        """Whether the journal knows the run's launch or take-over. One that was lost is told of ours, now."""
        return self._mine.launched_here(folder, driven=folder.name in self._runs)

    def tell_journal(self) -> None:
        """A journal that was begun anew learns from the run folders: each plan, and the create calls without answer."""
        self._mine.tell_journal()

    def recover(self) -> list[str]:
        """Put damaged plans back, and settle what the journal has open of runs that get no turn any more. Names that
        could not be settled."""
        left = []
        folders = [path for path in (self.home / "runs").glob("*") if path.is_dir() and not path.name.startswith(".")]
        for folder in folders:
            if self.launched_here(folder) and is_damaged(folder) and not self.plans.mend(folder):
                left.append(folder.name)
        return left + recovering.recover(self._journal, self.home, self._side_then)

    def _side_then(self, facts: Mapping[str, Any]) -> CloudSide:
        """Of an intent of the journal: where it was begun. Raises KeyError: it does not name its plan."""
        plan = loads(json.dumps(facts["plan"]).encode())
        at = str(facts.get("project", "")), str(facts.get("bucket", ""))
        return self._side_at(plan, *at) if all(at) else self.side(plan)

    # ---------------------------------------------------------------------------------------------------------- turns

    def _place(self, name: str) -> CloudPlace:
        try:
            return self._places[name]
        except KeyError:
            raise NotReady("place-not-available", place=name) from None

    def _is_watched(self, run: str) -> bool:
        return time.monotonic() - self._looked_at.get(run, float("-inf")) < WATCHED_HOLDS_S

    def _take_up(self, folder: Path) -> Watched:
        known = self._runs.get(folder.name)
        if known is None:
            frozen = plans.frozen(folder)
            plan = loads(frozen)
            side = self.side_of(folder.name, plan)
            usage = usage_of(desk_events(folder, whose(folder, self._records.install)))
            side = replace(side, mailbox=CountedMailbox(side.mailbox, usage))
            mirror = Mirror(folder, self._records.install, side.mailbox, self._records.key)
            known = Watched(folder, plan, frozen, side, mirror, Words(folder, READING_S), usage)
            believed.begin(folder)  # before anything comes out of the bucket
            self._runs[folder.name] = known
            if (before := self._before.pop(folder.name, None)) is not None:  # what was seen stays seen
                known.looked_at, known.unlooked, known.alive_at = before.looked_at, before.unlooked, before.alive_at
                known.foreign, known.stop = before.foreign, before.stop
        known.disk = None
        self._records.save(known)
        self._read(known)
        return known

    def _read(self, run: Watched) -> None:
        run.whose = whose(run.folder, self._records.install, foreign=run.foreign)
        self._records.refresh(run)

    def _put_plan_back(self, folder: Path) -> None:
        """Also where the folder has another plan than was agreed to: code, limits and price are the journal's.

        Raises RunError where nobody knows it any more.
        """
        known = self._runs.get(folder.name)
        if known is not None and folder.is_dir():
            try:
                there = plans.frozen(folder)
            except (OSError, RunError):
                there = b""
            if there != known.frozen:
                _log.warning("run %s: its plan was damaged, and is put back", folder.name)
                put(folder, known.frozen)
        elif self.plans.is_another(folder):
            self.plans.mend(folder, ask_cloud=False)
        elif is_damaged(folder) and not self.plans.mend(folder):
            raise RunError("plan-unreadable" if (folder / PLAN).exists() else "plan-missing", run=folder.name)

    def _turn(self, run: Watched) -> float:
        run.stays = False
        if run.state.settled and not self.own(run.folder).settled:  # by the word of others: do they still say so?
            self._look_who_drives(run, 0.0)
            self._read(run)
        if run.state.settled or run.foreign:  # whoever can write to the bucket can say that: it is not waited for
            limits = believed.limits(run.folder, run.plan)
            by = (run, self._records.install, self._acts, self._rules(run, limits), limits)
            run.stays = run.state.settled and still_there(*by)
            if run.state.settled and not run.stays:
                self._records.tidy(run, everything=True)
                return 0.0
            delete_stopped(*by)
        if not run.caught_up or not run.state.opened:
            try:
                self._catch_up(run)
            except CloudUnclear:
                self._carry_out_stop(run)
                raise
            except CloudRefused as error:
                self._carry_out_stop(run)
                if run.foreign or (run.state.opened and error.id not in ("not-found", "project-deleted")):
                    last = run.state.machine
                    over = run.state.end is not None or (last is not None and last.gone is not None)
                    if run.foreign or run.state.there or not over:  # else only stops are to be removed
                        raise
                _log.info("run %s: without its bucket it is looked after all the same: %s", run.folder.name, error)
            except OSError as error:
                run.disk = desk.disk_error(error, run.folder)
                if run.foreign or not run.state.opened:
                    raise
        elif self._look_who_drives(run, HOLDER_EVERY_S):
            run.mirror.controls.push()  # asked for here before that was known
        if run.foreign or run.stays:  # another desktop drives it, or says that it is over: here it is only watched
            return POLL_S[0]
        if self._records.is_to_be_taken_in(run):  # before anything is done; its bucket may be gone
            self._acts.find(run)
        self._try_exchange(run)
        limits = self._limits(run)
        rules = self._rules(run, limits)
        now = run.side.clock.now()
        speaks = run.rhythm.speaks(time.monotonic())
        every = LOOK_EVERY_S[0] if self._is_watched(run.folder.name) and not speaks else LOOK_EVERY_S[1]
        told = run.words.guard(run.state.attempt)
        if told.preempted or with_guard(run.state, told).end:
            every = 0.0  # it goes within half a minute, and its bill ends then
        run.looks = {
            name: look
            for name, look in run.looks.items()
            if look[0] is not None and look[0].state == "ready" and now - look[1] < every
        }
        for _ in range(ACTS_A_TURN):
            guard = run.words.guard(run.state.attempt)
            action = self._decide(run, rules, guard)
            self._say_phase(run, action, guard)
            if isinstance(action, decide.Wait):
                if action.why:
                    self._records.say_waiting(run)
                self._try_exchange(run, up_only=True)
                return action.seconds
            if isinstance(action, decide.Done):
                self._records.tidy(run, everything=True)
                return 0.0
            only_looks = isinstance(action, (decide.Look, decide.Notice))
            if not only_looks and self._look_who_drives(run, HOLDER_BEFORE_AN_ACT_S):
                return POLL_S[0]
            pause = self._acts.do(run, action, rules, limits)
            if pause:
                return pause
        return 0.5

    def _carry_out_stop(self, run: Watched) -> None:
        """By own records, also where the bucket says nothing: a program that was only just started has no other way."""
        if run.state.opened and not run.foreign:
            limits = believed.limits(run.folder, run.plan)
            delete_stopped(run, self._records.install, self._acts, self._rules(run, limits), limits)

    def _catch_up(self, run: Watched) -> None:
        """What this disk has lost of our own records, then what the guardians and other desktops said."""
        if not run.foreign:
            run.mirror.restore()
        self._look_who_drives(run, 0.0)
        if run.holder and (run.foreign or self._records.is_to_be_taken_in(run)):
            run.mirror.desk_files()  # also for a take-over that was cut short: what they have rented is looked for
        self._read(run)
        if run.foreign or run.state.opened or self._records.is_to_be_taken_in(run):
            run.mirror.controls.push()  # asked for here; a machine hears a stop also where Google cannot be asked
        if self._records.is_to_be_taken_in(run):
            self._acts.find(run, lambda: self._bring_what_is_left(run))
        if not run.state.opened:
            return
        for attempt in attempts(run.state.attempt):
            run.mirror.pull(attempt, asking.workers_of(run.plan), catch_up=True)
        run.mirror.controls.pull()
        with suppress(CloudRefused, CloudUnclear):  # where it cannot be asked now, it is in need
            self._acts.find(run)
        run.caught_up = not run.foreign

    def _look_who_drives(self, run: Watched, every_s: float) -> bool:
        """Whether another desktop has taken the run over, asked again after *every_s*; a bucket that does not answer
        changes nothing, for the machine must be seen to."""
        now = run.side.clock.now()
        if now - run.holder_at < every_s or (run.caught_up and not run.state.opened):
            return run.foreign
        try:
            run.holder = run.mirror.holder()
        except (CloudRefused, CloudUnclear) as error:
            _log.info("run %s: who drives it cannot be read: %s", run.folder.name, error)
            return run.foreign
        run.holder_at = now
        run.foreign = run.holder.get("install") not in (None, self._records.install)
        if run.foreign:
            run.caught_up = False  # what the other has done is followed, and looked through if it comes back to us
        holder = run.holder or desk.owner_record(self._records.install, t=now)  # where nobody is named, this one drives
        if desk.read_owner(run.folder).get("install") != holder["install"]:
            try:
                desk.put_owner(run.folder, holder)
            except OSError as error:
                run.disk = desk.disk_error(error, run.folder)
        return run.foreign

    def _decide(self, run: Watched, rules: Rules, told: Guard) -> Action:
        guard = self._guard(run, told)
        unheard = self._unheard(run, guard) if guard.end is not None else ()
        here = believed.extensions(run.folder) if unheard else ()
        seen = Seen(
            now=run.side.clock.now(),
            looks={name: look[0] for name, look in run.looks.items()},
            heard=run.unheard is None,
            bucket_gone=run.bucket_gone,
            guard=guard,
            stop=run.stop[0],
            stop_at=run.stop[1],
            extended=unheard,
            asks_again=tuple(one for one in unheard if one in here),
        )
        return decide.decide(with_guard(run.state, guard), seen, rules, run.folder.name)

    def _unheard(self, run: Watched, guard: Guard) -> tuple[int, ...]:
        """The extensions that were told to the guardian while it trained, of which it has ended without a word; each
        counts once: for no other reason than a person's is another machine asked for."""
        if not guard.trained or run.state.settled:
            return ()
        extensions = [one["number"] for one in Controls(run.folder).read() if one.get("verb") == "extend"]
        asked = [one for one in extensions if one not in run.state.extensions]
        for number in asked:
            if number not in guard.heard and number not in run.sent and run.state.opened:
                try:
                    if (at := run.mirror.controls.sent_at(number)) is not None:
                        run.sent[number] = at
                except CloudRefused as error:
                    _log.info("run %s: the bucket does not tell when it was extended: %s", run.folder.name, error)
        since = guard.trained  # what came earlier the training program counted as it began
        return tuple(one for one in asked if one not in guard.heard and run.sent.get(one, since) >= since)

    def _guard(self, run: Watched, guard: Guard) -> Guard:
        """*guard* with the time, by the cloud's clock, at which this desktop last heard anything new."""
        attempt = run.state.attempt
        if not guard.spoke and not run.mirror.signs:
            return guard
        size = hash((guard.spoke, guard.end is not None, run.mirror.signs))
        if run.heard.get(attempt, (0, 0.0))[0] != size:
            run.heard[attempt] = (size, run.side.clock.now())
        return replace(guard, spoke=run.heard[attempt][1])

    def _try_exchange(self, run: Watched, *, up_only: bool = False) -> None:
        """A mailbox that does not answer keeps no machine from being looked at and deleted."""
        name = run.folder.name
        try:
            self._exchange(run, up_only=up_only)
        except (CloudRefused, CloudUnclear) as error:
            run.unheard = error
            run.bucket_gone = isinstance(error, CloudRefused) and error.id == "not-found"
            read_stop(run)
            _log.info("run %s: the bucket does not answer: %s", name, error)
        except OSError as error:
            run.unheard = run.disk = desk.disk_error(error, run.folder)
            read_stop(run)
        else:
            run.unheard, run.bucket_gone = None if up_only is False else run.unheard, False

    def _exchange(self, run: Watched, *, up_only: bool = False) -> None:
        """Events down; our events, controls and "somebody looks" up."""
        if not run.state.opened:
            read_stop(run)
            return
        machine = run.state.machine
        if not up_only and machine is not None and machine.asked is not None:
            one = run.rhythm.has_just_missed(time.monotonic())
            came = self._pull(run, machine.attempt, one)
            run.rhythm.asked(came, time.monotonic())
            if machine.unclear and not machine.outcome:
                run.mirror.records(machine.attempt)
            now = run.side.clock.now()
            if not came and machine.ready is not None and now - run.beat_at >= HEARTBEAT_EVERY_S:
                run.beat_at = now
                run.mirror.heartbeat(machine.attempt)
        run.mirror.controls.push()
        run.mirror.push_desk()
        if self._is_watched(run.folder.name) and not run.state.end:
            run.mirror.watching(run.side.clock.now())
        read_stop(run)

    def _pull(self, run: Watched, attempt: int, one: bool) -> bool:
        """What cannot be kept on this disk was heard all the same (`Mirror.signs`)."""
        try:
            return run.mirror.pull(attempt, asking.workers_of(run.plan), one=one)
        except OSError as error:
            run.disk = desk.disk_error(error, run.folder)
            return False

    def _limits(self, run: Watched) -> Limits:
        for one in believed.strange(run.folder):
            self._acts.tell_strange(run, one)
        self._acts.tell_left_out(run)
        limits = believed.limits(run.folder, run.plan)
        self._acts.tell_price(run, limits)
        return limits

    def _rules(self, run: Watched, limits: Limits) -> Rules:
        return asking.rules_of(run.plan, limits)

    def _say_phase(self, run: Watched, action: Action, told: Guard) -> None:
        phase = telling.phase_of(with_guard(run.state, self._guard(run, told)), told, action)
        if phase is None or (phase[0].value, phase[1]) == run.state.phase:
            return
        self._records.say(run, "phase", phase=phase[0].value, detail=phase[1], attempt=run.state.attempt)
