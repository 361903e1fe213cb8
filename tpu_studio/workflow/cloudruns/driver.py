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
from dataclasses import replace
from pathlib import Path

from tpu_studio.wire.controls import Controls
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, NotReady, RunError, StudioError
from tpu_studio.wire.limits import Limits, limits_of
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan, loads
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns import asking, decide
from tpu_studio.workflow.cloudruns.acts import Acts
from tpu_studio.workflow.cloudruns.closing import Closing
from tpu_studio.workflow.cloudruns.decide import Action, Rules, Seen
from tpu_studio.workflow.cloudruns.mirror import Mirror, Words, desk_events
from tpu_studio.workflow.cloudruns.ports import CloudPlace, CloudSide, Ref
from tpu_studio.workflow.cloudruns.recording import Records, Watched
from tpu_studio.workflow.cloudruns.state import Guard, State, fold, with_guard
from tpu_studio.workflow.ports import Journal

PLACES = ("practice", "cloud")
WATCHED_HOLDS_S = 10.0
ACTS_A_TURN = 40
LOOK_EVERY_S = (10.0, 60.0)  # at a machine that is ready: while watched and silent, and otherwise
POLL_S = (1.0, 15.0)  # watched, and otherwise
HEARTBEAT_EVERY_S = 30.0
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
        self._looked_at: dict[str, float] = {}
        self.problems: dict[str, StudioError] = {}
        self.uploads: dict[str, tuple[int, int]] = {}
        self._records = Records(home, journal)
        self._acts = Acts(self._records, Closing(self._records), self._place, self.uploads)

    # -------------------------------------------------------------------------------------------------------- public

    def side(self, plan: Plan) -> CloudSide:
        """Raises NotReady ``place-not-available``, and whatever connecting raises."""
        return self._place(plan.place).connect(plan)

    def watch(self, run: str) -> None:
        """Somebody looks at this run now (holds for 10 s): everything is faster."""
        self._looked_at[run] = time.monotonic()

    def turn(self, run: str) -> float:
        """Do what is to be done now; seconds of real time until the next turn, 0 when the run is settled.

        Errors of the cloud are kept in `problems` and tried again; those of the disk are raised as RunError.
        """
        folder = self.home / "runs" / run
        wait = 0.0
        try:
            with desk.driving(folder) as alone:
                if not alone:
                    return POLL_S[0]
                if desk.read_owner(folder).get("imported"):  # brought here as a folder: nobody agreed to its price
                    return 0.0 if self.state(run).settled else POLL_S[1]
                watched = self._take_up(folder)
                wait = self._turn(watched)
        except (CloudUnclear, CloudRefused, NotReady) as error:
            known = self._runs.get(run)
            if known is not None:
                known.failures += 1
                known.looks.clear()
                if known.failures % 3 == 0:
                    self._runs.pop(run)  # connect anew: credentials, or the practice cloud's port, may have changed
            if self.problems.get(run) is None or self.problems[run].id != error.id:
                _log.info("run %s: %s", run, error)
            self.problems[run] = error
            failures = known.failures if known is not None else 3
            speed = known.side.speed if known is not None else 1.0
            return max(0.2, float(2 ** min(failures, 6)) / speed)
        except OSError as error:
            self._runs.pop(run, None)
            raise RunError("folder-unwritable", folder=str(folder), raw=str(error)) from error
        watched.failures = 0
        self.problems.pop(run, None)
        if watched.unheard is not None:
            self.problems[run] = watched.unheard
        if watched.state.settled:
            self._runs.pop(run, None)
            return 0.0
        real = wait / watched.side.speed
        if self._is_watched(run):
            return max(0.1, min(real, watched.rhythm.pause(time.monotonic())))
        return max(0.5, real, POLL_S[1] / watched.side.speed)

    def state(self, run: str) -> State:
        """What the records on this disk say; the cloud is not asked."""
        folder = self.home / "runs" / run
        state = fold(desk_events(folder))
        return with_guard(state, Words(folder).guard(state.attempt))

    def is_unsettled(self, run: str) -> bool:
        return not self.state(run).settled

    def recover(self) -> list[str]:
        """Delete what the journal says was begun for a run whose folder is gone; names that could not be settled."""
        left = []
        for intent in self._journal.open_intents():
            if intent.action != "create" or (self.home / "runs" / intent.run / PLAN).exists():
                continue
            facts = intent.facts
            name = str(facts.get("name"))
            try:
                plan = loads(json.dumps(facts["plan"]).encode())
                side = self.side(plan)
                ref = Ref(name, str(facts["zone"]), str(facts["backend"]))
                machines = side.machines[ref.backend]
                if machines.look(ref) is not None:
                    machines.delete(ref)
                if machines.look(ref) is not None:
                    left.append(name)
                    continue
                side.stops.remove(list(side.stops.of(ref)))
            except (StudioError, KeyError) as error:
                _log.warning("%s could not be settled: %s", name, error)
                left.append(name)
                continue
            self._journal.close(intent.number, "deleted", time.time())
        return left

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
            plan = loads((folder / PLAN).read_bytes())
            side = self.side(plan)
            known = Watched(folder, plan, side, Mirror(folder, self._records.install, side.mailbox), Words(folder))
            self._runs[folder.name] = known
        self._records.refresh(known)
        return known

    def _turn(self, run: Watched) -> float:
        if run.state.settled:
            self._records.tidy(run, everything=True)
            return 0.0
        if not run.caught_up or not run.state.opened:
            try:
                self._catch_up(run)
            except CloudRefused as error:
                if run.foreign or (run.state.opened and error.id != "not-found"):
                    raise
                _log.info("run %s: without its bucket it is looked after all the same: %s", run.folder.name, error)
        if run.foreign:  # another desktop drives it: here it is only watched
            return POLL_S[0]
        self._try_exchange(run)
        limits = self._limits(run)
        rules = self._rules(run, limits)
        now = run.side.clock.now()
        speaks = run.rhythm.speaks(time.monotonic())
        every = LOOK_EVERY_S[0] if self._is_watched(run.folder.name) and not speaks else LOOK_EVERY_S[1]
        if run.words.guard(run.state.attempt).preempted:
            every = 0.0  # it goes within half a minute, and its bill ends then
        run.looks = {
            name: look
            for name, look in run.looks.items()
            if look[0] is not None and look[0].state == "ready" and now - look[1] < every and not run.state.end
        }
        for _ in range(ACTS_A_TURN):
            action = self._decide(run, rules)
            self._say_phase(run, action)
            if isinstance(action, decide.Wait):
                if action.why:
                    self._records.say_waiting(run)
                self._try_exchange(run, up_only=True)
                return action.seconds
            if isinstance(action, decide.Done):
                self._records.tidy(run, everything=True)
                return 0.0
            pause = self._acts.do(run, action, rules, limits)
            if pause:
                return pause
        return 0.5

    def _catch_up(self, run: Watched) -> None:
        """What this disk has lost of our own records, then what the guardians and other desktops said."""
        if not run.foreign and run.mirror.restore():
            self._records.refresh(run)
        if not run.state.opened:
            return
        run.foreign = not run.mirror.owns()
        if run.foreign:
            run.mirror.desk_files()
            self._records.refresh(run)
        for attempt in range(1, run.state.attempt + 1):
            run.mirror.pull(attempt, asking.workers_of(run.plan), catch_up=True)
        run.mirror.pull_controls()
        run.caught_up = not run.foreign

    def _decide(self, run: Watched, rules: Rules) -> Action:
        guard = self._guard(run)
        seen = Seen(
            now=run.side.clock.now(),
            looks={name: look[0] for name, look in run.looks.items()},
            heard=run.unheard is None,
            bucket_gone=run.bucket_gone,
            guard=guard,
            stop=run.stop[0],
            stop_at=run.stop[1],
        )
        return decide.decide(with_guard(run.state, guard), seen, rules, run.folder.name)

    def _guard(self, run: Watched) -> Guard:
        """With the time, by the cloud's clock, at which this desktop last heard anything new."""
        attempt = run.state.attempt
        guard = run.words.guard(attempt)
        if not guard.spoke:
            return guard
        size = hash((guard.spoke, guard.end is not None))
        if run.heard.get(attempt, (0, 0.0))[0] != size:
            run.heard[attempt] = (size, run.side.clock.now())
        return replace(guard, spoke=run.heard[attempt][1])

    def _try_exchange(self, run: Watched, *, up_only: bool = False) -> None:
        """A mailbox that does not answer keeps no machine from being looked at and deleted."""
        name = run.folder.name
        try:
            self._exchange(run, up_only=up_only)
        except (CloudRefused, CloudUnclear) as error:
            run.unheard = run.unheard or error
            run.bucket_gone = isinstance(error, CloudRefused) and error.id == "not-found"
            self._read_stop(run)
            _log.info("run %s: the bucket does not answer: %s", name, error)
        else:
            run.unheard, run.bucket_gone = None if up_only is False else run.unheard, False

    def _exchange(self, run: Watched, *, up_only: bool = False) -> None:
        """Events down; our events, controls and "somebody looks" up."""
        if not run.state.opened:
            self._read_stop(run)
            return
        machine = run.state.machine
        if not up_only and machine is not None and machine.asked is not None:
            one = run.rhythm.has_just_missed(time.monotonic())
            came = run.mirror.pull(machine.attempt, asking.workers_of(run.plan), one=one)
            run.rhythm.asked(came, time.monotonic())
            if machine.unclear and not machine.outcome:
                run.mirror.records(machine.attempt)
            now = run.side.clock.now()
            if not came and machine.ready is not None and now - run.beat_at >= HEARTBEAT_EVERY_S:
                run.beat_at = now
                run.mirror.heartbeat(machine.attempt)
        run.mirror.push_controls()
        run.mirror.push_desk()
        if self._is_watched(run.folder.name) and not run.state.end:
            run.mirror.watching(run.side.clock.now())
        self._read_stop(run)

    def _read_stop(self, run: Watched) -> None:
        asked = [one for one in Controls(run.folder).read() if one.get("verb") == "stop"]
        mine = [one for one in asked if int(one.get("attempt") or run.state.attempt) == run.state.attempt]
        if not mine:
            run.stop = ("", 0.0)
        elif not run.stop[0] or not mine[-1].get("keep", True):
            at = run.stop[1] or run.side.clock.now()
            run.stop = ("keep" if mine[-1].get("keep", True) else "discard", at)

    def _limits(self, run: Watched) -> Limits:
        return limits_of(run.plan, Controls(run.folder).read())

    def _rules(self, run: Watched, limits: Limits) -> Rules:
        return asking.rules_of(run.plan, limits)

    def _say_phase(self, run: Watched, action: Action) -> None:
        phase = _phase(with_guard(run.state, self._guard(run)), run.words.guard(run.state.attempt), action)
        if phase is None or (phase[0].value, phase[1]) == run.state.phase:
            return
        self._records.say(run, "phase", phase=phase[0].value, detail=phase[1], attempt=run.state.attempt)


def _phase(state: State, guard: Guard, action: Action) -> tuple[Phase, str] | None:
    """The phase that the desktop knows of, None while the guardian tells."""
    if state.settled or isinstance(action, decide.Done):
        return None
    if state.end is not None:
        return Phase.CLEANING_UP, ""
    machine = state.machine
    if guard.spoke and machine is not None and machine.gone is None and not machine.leaving:
        return None
    if machine is not None and machine.leaving == "preempted":
        return Phase.QUEUED, "waiting-for-a-computer"
    if machine is None or machine.gone is not None or machine.outcome != "accepted":
        if isinstance(action, decide.Prepare):
            return Phase.QUEUED, "uploading"
        return (Phase.QUEUED, action.why) if isinstance(action, decide.Wait) and action.why else _queued(state)
    if machine.leaving:
        return None
    if machine.state in ("provisioning", "ready"):
        return Phase.PROVISIONING, "starting" if machine.state == "ready" else ""
    return Phase.QUEUED, action.why if isinstance(action, decide.Wait) and action.why else "submitted"


def _queued(state: State) -> tuple[Phase, str] | None:
    """A wait that is over between two calls is not worth a word."""
    return None if state.phase[0] == Phase.QUEUED.value else (Phase.QUEUED, "submitted")
