"""Drives runs in the cloud: gathers what is true, asks ``decide``, acts, records; one run a `Driver.turn`.

The app's background loop and the command line's watch call `turn` again and again; a lock on the run's plan sees to it
that one process drives a run at a time. Nothing is remembered that cannot be read again: a driver killed at any
instant is followed by a fresh one that finishes. Order of every billable act: intent in the journal, intent in our
events file, the same in the bucket, the call, and both closed.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tpu_studio.wire.controls import Controls
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, NotReady, RunError, StudioError
from tpu_studio.wire.events import event, from_record
from tpu_studio.wire.limits import Limits, limits_of
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan, loads
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import PLAN, claim_file, ledger_file, result_folder, write_atomically
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns import asking, decide
from tpu_studio.workflow.cloudruns.decide import Action, Rules, Seen
from tpu_studio.workflow.cloudruns.mirror import Mirror, Words, desk_events
from tpu_studio.workflow.cloudruns.ports import CloudPlace, CloudSide, MachineSeen, Ref
from tpu_studio.workflow.cloudruns.receipt import receipt
from tpu_studio.workflow.cloudruns.state import Guard, Machine, State, apply, fold, with_guard
from tpu_studio.workflow.ports import Journal

PLACES = ("practice", "cloud")
WATCHED_HOLDS_S = 10.0
ACTS_A_TURN = 40
LOOK_EVERY_S = (10.0, 60.0)  # at a machine that is ready, while watched and otherwise
POLL_S = (1.0, 15.0)  # watched: with the guardian's 2 s an event is here within 3 s, 95 times in 100
HEARTBEAT_EVERY_S = 30.0
GONE_AFTER_END_S = 30.0  # what a machine's own deletion usually takes
STOPS_TRIES = 4
DELETE_FAILS_BEFORE_NOTICE = 2
UPLOAD_TRIES = 6
_log = logging.getLogger(__name__)


@dataclass
class _Watched:
    """What is remembered of a run between turns; all of it can be made anew."""

    folder: Path
    plan: Plan
    side: CloudSide
    mirror: Mirror
    words: Words
    sizes: dict[str, int] = field(default_factory=dict)
    state: State = field(default_factory=State)
    looks: dict[str, tuple[MachineSeen | None, float]] = field(default_factory=dict)
    heard: dict[int, tuple[int, float]] = field(default_factory=dict)
    there_at: dict[str, float] = field(default_factory=dict)
    caught_up: bool = False
    foreign: bool = False
    unheard: StudioError | None = None
    bucket_gone: bool = False
    beat_at: float = float("-inf")
    stop: tuple[str, float] = ("", 0.0)
    failures: int = 0
    stops_failed: dict[str, int] = field(default_factory=dict)
    unlookable: set[str] = field(default_factory=set)
    upload_failed: int = 0
    asked_why: tuple[str, ...] = ()


class Driver:
    """All methods block and may be called from any thread; one turn of a run at a time.

    Args:
        home: Folder of ``runs/``.
        places: Rented places by their name in a plan.
    """

    def __init__(self, home: Path, *, places: Mapping[str, CloudPlace], journal: Journal) -> None:
        self.home, self._places, self._journal = home, dict(places), journal
        self._runs: dict[str, _Watched] = {}
        self._looked_at: dict[str, float] = {}
        self.problems: dict[str, StudioError] = {}
        self.uploads: dict[str, tuple[int, int]] = {}

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
            return max(0.1, min(real, POLL_S[0]))
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

    @property
    def _install(self) -> str:
        return desk.install_id(self.home)

    def _take_up(self, folder: Path) -> _Watched:
        known = self._runs.get(folder.name)
        if known is None:
            plan = loads((folder / PLAN).read_bytes())
            side = self.side(plan)
            known = _Watched(folder, plan, side, Mirror(folder, self._install, side.mailbox), Words(folder))
            self._runs[folder.name] = known
        self._refresh(known)
        return known

    def _refresh(self, run: _Watched) -> None:
        """Read the desktops' events again if any has grown."""
        sizes = _desk_sizes(run.folder)
        if sizes != run.sizes:
            run.state, run.sizes = fold(desk_events(run.folder)), sizes

    def _turn(self, run: _Watched) -> float:
        if run.state.settled:
            self._tidy_journal(run, everything=True)
            return 0.0
        if run.state.opened and not run.caught_up:
            run.foreign = not run.mirror.owns()
            if run.foreign:
                run.mirror.desk_files()
                self._refresh(run)
            for attempt in range(1, run.state.attempt + 1):
                run.mirror.pull(attempt, asking.workers_of(run.plan), catch_up=True)
            run.mirror.pull_controls()
            run.caught_up = not run.foreign
        if run.foreign:  # another desktop drives it: here it is only watched
            return POLL_S[0]
        self._try_exchange(run)
        limits = self._limits(run)
        rules = self._rules(run, limits)
        now = run.side.clock.now()
        every = LOOK_EVERY_S[0] if self._is_watched(run.folder.name) else LOOK_EVERY_S[1]
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
                    self._say_waiting(run, rules)
                self._try_exchange(run, up_only=True)
                return action.seconds
            if isinstance(action, decide.Done):
                self._tidy_journal(run, everything=True)
                return 0.0
            pause = self._act(run, action, rules, limits)
            if pause:
                return pause
        return 0.5

    def _decide(self, run: _Watched, rules: Rules) -> Action:
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

    def _guard(self, run: _Watched) -> Guard:
        """With the time, by the cloud's clock, at which this desktop last heard anything new."""
        attempt = run.state.attempt
        guard = run.words.guard(attempt)
        if not guard.spoke:
            return guard
        size = hash((guard.spoke, guard.end is not None))
        if run.heard.get(attempt, (0, 0.0))[0] != size:
            run.heard[attempt] = (size, run.side.clock.now())
        return replace(guard, spoke=run.heard[attempt][1])

    def _try_exchange(self, run: _Watched, *, up_only: bool = False) -> None:
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

    def _exchange(self, run: _Watched, *, up_only: bool = False) -> None:
        """Events down; our events, controls and "somebody looks" up."""
        if not run.state.opened:
            self._read_stop(run)
            return
        machine = run.state.machine
        if not up_only and machine is not None and machine.asked is not None:
            came = run.mirror.pull(machine.attempt, asking.workers_of(run.plan))
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

    def _read_stop(self, run: _Watched) -> None:
        asked = [one for one in Controls(run.folder).read() if one.get("verb") == "stop"]
        mine = [one for one in asked if int(one.get("attempt") or run.state.attempt) == run.state.attempt]
        if not mine:
            run.stop = ("", 0.0)
        elif not run.stop[0] or not mine[-1].get("keep", True):
            at = run.stop[1] or run.side.clock.now()
            run.stop = ("keep" if mine[-1].get("keep", True) else "discard", at)

    def _limits(self, run: _Watched) -> Limits:
        return limits_of(run.plan, Controls(run.folder).read())

    def _rules(self, run: _Watched, limits: Limits) -> Rules:
        return asking.rules_of(run.plan, limits)

    # ------------------------------------------------------------------------------------------------------ recording

    def _say(self, run: _Watched, kind: str, **fields: Any) -> None:
        t = run.side.clock.now()
        if run.state.end is not None:
            t = max(t, run.state.end.t + 0.001)
        alone = _desk_sizes(run.folder) == run.sizes
        desk.write_event(run.folder, self._install, kind, t=t, **fields)
        said = from_record(event(kind, t=t, **fields))
        if alone and said is not None:
            run.state, run.sizes = apply(run.state, said), _desk_sizes(run.folder)
        else:
            self._refresh(run)

    def _begin(self, run: _Watched, action: str, machine: Machine, **facts: Any) -> int:
        """Journal, our events file, and the bucket: after this the call may be made."""
        facts = {
            "name": machine.ref.name,
            "zone": machine.ref.zone,
            "backend": machine.ref.backend,
            "attempt": machine.attempt,
            "try": machine.number,
            **facts,
        }
        id = f"{action}/{machine.ref.name}"
        number = self._journal.open(
            action,
            run.folder.name,
            {"id": id, **facts, **({"plan": run.plan.to_json()} if action == "create" else {})},
            time.time(),
        )
        self._say(run, "intent", id=id, action=action, **facts)
        try:
            run.mirror.push_desk()
        except (CloudRefused, CloudUnclear):
            if action == "create":
                raise
        return number

    def _end(self, run: _Watched, number: int, action: str, name: str, outcome: str, **more: Any) -> None:
        self._say(run, "intent-closed", id=f"{action}/{name}", outcome=outcome, **more)
        self._journal.close(number, outcome, time.time())

    def _tidy_journal(self, run: _Watched, *, everything: bool = False) -> None:
        """Close what an earlier process had left open and what has been settled since."""
        for intent in self._journal.open_intents():
            if intent.run != run.folder.name or intent.action not in ("stops", "lease-stops", "create", "delete"):
                continue
            machine = run.state.of(str(intent.facts.get("name")))
            if everything or machine is None or machine.gone is not None:
                self._journal.close(intent.number, "settled", time.time())

    def _say_phase(self, run: _Watched, action: Action) -> None:
        phase = _phase(with_guard(run.state, self._guard(run)), run.words.guard(run.state.attempt), action)
        if phase is None or (phase[0].value, phase[1]) == run.state.phase:
            return
        self._say(run, "phase", phase=phase[0].value, detail=phase[1], attempt=run.state.attempt)

    def _say_waiting(self, run: _Watched, rules: Rules) -> None:
        """Which zones were asked since when, and why there is no machine yet."""
        tried = run.state.tried
        told = tuple(f"{one.ref.zone}:{one.refusal or one.leaving or one.state or 'asked'}" for one in tried)
        if not tried or told == run.asked_why:
            return
        run.asked_why = told
        why = next((one.refusal for one in reversed(tried) if one.refusal), "")
        asked = list(dict.fromkeys(one.ref.zone for one in tried))
        self._say(run, "waiting", zones=asked, since=run.state.since, why=why or "no-capacity", tries=len(tried))

    # ----------------------------------------------------------------------------------------------------------- acts

    def _act(self, run: _Watched, action: Action, rules: Rules, limits: Limits) -> float:
        """Do one thing and record it; seconds to pause by the cloud's clock, 0 to go on."""
        match action:
            case decide.Open():
                return self._open(run)
            case decide.Prepare():
                return self._prepare(run)
            case decide.SetStops(name, zone, number):
                return self._set_stops(run, name, zone, number, rules, limits)
            case decide.Create(machine, repeat):
                return self._create(run, machine, repeat, rules, limits)
            case decide.Look(machine):
                cloud = self._look(run, machine)
                run.looks[machine.ref.name] = (cloud, run.side.clock.now())
                if cloud is not None:
                    run.there_at[machine.ref.name] = run.side.clock.now()
            case decide.Accept(machine):
                self._say(run, "intent-closed", id=f"create/{machine.ref.name}", outcome="accepted")
            case decide.Notice(machine, seen):
                self._say(
                    run, "cloud", name=machine.ref.name, zone=machine.ref.zone, state=seen.state, raw=seen.raw,
                    created=seen.created,
                )  # fmt: skip
            case decide.SetLeaseStops(machine):
                return self._set_lease_stops(run, machine, limits)
            case decide.Leave(machine, why, facts):
                self._say(run, "leaving", name=machine.ref.name, why=why, facts=dict(facts))
            case decide.Delete(machine):
                return self._delete(run, machine, limits)
            case decide.Gone(machine):
                self._gone(run, machine, rules, limits)
            case decide.RemoveStops(machine):
                return self._remove_stops(run, machine)
            case decide.NextAttempt(reason):
                self._last_words(run)
                self._say(run, "attempt-over", attempt=run.state.attempt, reason=reason.value)
                run.asked_why = ()
            case decide.Declare(reason, facts):
                self._declare(run, reason, facts)
            case decide.Finish():
                self._finish(run, limits)
        return 0.0

    def _look(self, run: _Watched, machine: Machine) -> MachineSeen | None:
        """GET by name. Where looking is refused for the very reason for which asking was, nothing can be there."""
        try:
            found: MachineSeen | None = self._machines(run, machine).look(machine.ref)
        except CloudRefused as error:
            if machine.outcome != "refused" or machine.unclear or machine.made or error.id != machine.error:
                raise
            run.unlookable.add(machine.ref.name)
            return None
        return found

    def _machines(self, run: _Watched, machine: Machine) -> Any:
        return run.side.machines[machine.ref.backend]

    def _open(self, run: _Watched) -> float:
        owner = {**desk.read_owner(run.folder), "install": self._install}
        try:
            mine = run.mirror.open(owner)
        except CloudRefused as error:
            self._declare(run, Reason.BUCKET_GONE if error.id == "not-found" else Reason.LAUNCH_REFUSED, error.facts)
            return 0.0
        if not mine:
            raise RunError("run-taken-over", run=run.folder.name)
        self._say(run, "opened", bucket=run.side.mailbox.bucket, project=run.side.project)
        run.caught_up = True
        return 0.0

    def _prepare(self, run: _Watched) -> float:
        name, told = run.folder.name, [0.0]

        def progress(done: int, total: int) -> None:
            self.uploads[name] = (done, total)
            if time.monotonic() - told[0] >= 1.0:
                told[0] = time.monotonic()
                self._say(run, "upload", done=done, total=total)

        try:
            pieces = self._place(run.plan.place).preparing.upload(run.side, run.plan, name, progress)
        except CloudUnclear as error:
            run.upload_failed += 1
            if run.upload_failed < UPLOAD_TRIES:
                raise
            self._declare(run, Reason.UPLOAD_FAILED, error.facts)
            return 0.0
        except NotReady:
            raise
        except StudioError as error:
            id = {"not-found": Reason.BUCKET_GONE}.get(error.id, Reason.UPLOAD_FAILED)
            self._declare(run, id, {**error.facts, "error": error.id})
            return 0.0
        finally:
            self.uploads.pop(name, None)
        self._say(run, "prepared", pieces=dict(pieces))
        return 0.0

    def _set_stops(self, run: _Watched, name: str, zone: str, number: int, rules: Rules, limits: Limits) -> float:
        known = run.state.of(name)
        machine = known or Machine(Ref(name, zone, rules.backend), run.state.attempt, number)
        if run.plan.limits.get("without_outside_stop"):
            intent = self._begin(run, "stops", machine)
            self._end(run, intent, "stops", name, "set", facts={"stops": []})
            return 0.0
        intent = self._begin(run, "stops", machine)
        now = run.side.clock.now()
        times = asking.before_times(now, run.state, rules, limits)
        try:
            standing = [stop for stop, at in run.side.stops.of(machine.ref).items() if at >= times[0] - 120.0]
            if len(standing) < asking.STOPS:
                standing = list(run.side.stops.set(machine.ref, "b", times))
            if len(standing) < asking.STOPS:
                raise CloudRefused("precondition", raw="the stops were not there when they were read back")
        except CloudRefused as error:
            self._declare(run, Reason.NO_OUTSIDE_STOP, {**error.facts, "error": error.id})
            self._journal.close(intent, "refused", time.time())
            return 0.0
        self._end(run, intent, "stops", name, "set", facts={"stops": standing})
        return 0.0

    def _create(self, run: _Watched, machine: Machine, repeat: bool, rules: Rules, limits: Limits) -> float:
        name = machine.ref.name
        if not run.mirror.owns():
            raise RunError("run-taken-over", run=run.folder.name)
        preparing = self._place(run.plan.place).preparing
        if not preparing.is_current(run.state.pieces or {}):  # another version of the app prepared it
            return self._prepare(run)
        if repeat:
            open_ones = [one.number for one in self._journal.open_intents() if one.facts.get("id") == f"create/{name}"]
            number = open_ones[0] if open_ones else self._begin(run, "create", machine, request_id=machine.request_id)
        else:
            machine = replace(machine, request_id=str(uuid.uuid4()))
            number = self._begin(run, "create", machine, request_id=machine.request_id)
        machine = run.state.of(name) or machine
        now = run.side.clock.now()
        stops = list(run.side.stops.of(machine.ref)) if not run.plan.limits.get("without_outside_stop") else None
        if stops is not None and not stops:
            raise CloudUnclear("unreadable-reply", raw="the stops that were set are not there")
        config = asking.config(
            machine, plan=run.plan, state=run.state, side=run.side, install=self._install, limits=limits, stops=stops,
            now=now,
        )  # fmt: skip
        metadata = preparing.metadata(config, asking.bare_deadline(now, run.state, rules, limits))
        wanted = asking.wanted(
            machine, metadata, plan=run.plan, rules=rules, limits=limits, state=run.state, side=run.side,
            install=self._install, now=now,
        )  # fmt: skip
        run.looks.pop(name, None)
        try:
            self._machines(run, machine).create(wanted)
        except CloudRefused as error:
            if error.id == "exists":
                self._end(run, number, "create", name, "accepted")
                return 0.0
            self._end(run, number, "create", name, "refused", error=error.id, facts=dict(error.facts))
            return 0.0
        except StudioError:
            if not machine.unclear:
                self._say(run, "cloud", name=name, zone=machine.ref.zone, state="unclear", raw="")
            raise
        self._end(run, number, "create", name, "accepted")
        return 0.0

    def _set_lease_stops(self, run: _Watched, machine: Machine, limits: Limits) -> float:
        """Whoever sees the node first sets the stops at the lease's true end; the guardian may have done so."""
        if run.plan.limits.get("without_outside_stop"):
            self._say(run, "intent-closed", id=f"lease-stops/{machine.ref.name}", outcome="none")
            return 0.0
        name = machine.ref.name
        standing = run.side.stops.of(machine.ref)
        lease = [one for one in standing if _kind(one, name) == "l"]
        if not lease:
            times = asking.lease_times(machine, run.state, limits, run.side.clock.now())
            try:
                lease = list(run.side.stops.set(machine.ref, "l", times))
            except CloudRefused as error:  # the earlier ones stand
                self._say(run, "notice", id="stops-missing", level="warning", facts={"raw": error.facts.get("raw")})
                lease = []
        if lease:
            run.side.stops.remove([one for one in standing if _kind(one, name) == "b"])
        self._say(run, "intent-closed", id=f"lease-stops/{name}", outcome="set" if lease else "kept")
        return 0.0

    def _delete(self, run: _Watched, machine: Machine, limits: Limits) -> float:
        number = self._begin(run, "delete", machine)
        name = machine.ref.name
        run.looks.pop(name, None)
        try:
            self._machines(run, machine).delete(machine.ref)
        except (CloudRefused, CloudUnclear) as error:
            self._end(run, number, "delete", name, "failed", error=error.id)
            failed = (run.state.of(name) or machine).delete_failed
            if failed >= DELETE_FAILS_BEFORE_NOTICE and (failed - DELETE_FAILS_BEFORE_NOTICE) % 10 == 0:
                facts = {"name": name, "usd_per_hour": limits.usd_per_hour, "raw": error.facts.get("raw")}
                self._say(run, "notice", id="delete-failing", level="error", facts=facts)
            return 5.0
        self._end(run, number, "delete", name, "accepted")
        return 0.0

    def _gone(self, run: _Watched, machine: Machine, rules: Rules, limits: Limits) -> None:
        failing = machine.delete_failed >= DELETE_FAILS_BEFORE_NOTICE
        if machine.outcome != "refused" or machine.made:
            self._last_words(run)
        guard = run.words.guard(machine.attempt)
        created = machine.created
        if created is None and guard.first and _claimed_by(run.folder, machine):
            created = max(_since(run.folder, machine, guard), machine.asked or 0.0)
        until = self._billed_until(run, machine, guard, rules, limits)
        self._tell_unseen(run, machine, rules, limits)
        self._say(
            run, "deleted", name=machine.ref.name, zone=machine.ref.zone,
            proof="refused" if machine.ref.name in run.unlookable else "404",
            made=machine.made or created is not None, created=created, billed_until=until,
        )  # fmt: skip
        if failing:
            self._say(run, "notice", id="delete-proved", level="info", facts={"name": machine.ref.name})
        run.looks.pop(machine.ref.name, None)
        if created is not None and limits.usd_per_hour is not None:
            self._money(run, limits)
        if run.state.end is None and created is None and (machine.refusal or machine.leaving == "hunt"):
            self._say_waiting(run, rules)
        self._tidy_journal(run)

    def _billed_until(self, run: _Watched, machine: Machine, guard: Guard, rules: Rules, limits: Limits) -> float:
        """Now where it was seen a moment ago; else what its last words, or the first stop from outside, allow."""
        now = run.side.clock.now()
        if machine.node_gone is not None and (machine.created is not None or not guard.preempted):
            return min(now, machine.node_gone)
        if guard.preempted:
            return min(now, run.words.guard(machine.attempt).spoke + GONE_AFTER_END_S)
        if now - run.there_at.get(machine.ref.name, float("-inf")) < 120.0:
            return now
        if guard.end is not None and (lived := _lived_until(run.folder, machine)) > guard.end.t:
            return min(now, lived + GONE_AFTER_END_S)
        if guard.end is not None:
            return min(now, max(guard.end.t, guard.spoke) + GONE_AFTER_END_S)
        return min(now, self._first_stop(run, machine, guard, rules, limits) + GONE_AFTER_END_S)

    def _first_stop(self, run: _Watched, machine: Machine, guard: Guard, rules: Rules, limits: Limits) -> float:
        """When the first stop from outside was due for a machine that nobody saw go."""
        asked = machine.asked or run.side.clock.now()
        if machine.created is None and not guard.first:
            return asking.before_times(asked, run.state, rules, limits)[0]
        began = machine.created or _since(run.folder, machine, guard) or asked
        return asking.lease_times(replace(machine, created=began), run.state, limits, began)[0]

    def _tell_unseen(self, run: _Watched, machine: Machine, rules: Rules, limits: Limits) -> None:
        """It was asked for and is gone without a word, and not by us: it may have come, hung, and been charged for."""
        guard, now = run.words.guard(machine.attempt), run.side.clock.now()
        unseen = machine.created is None and not guard.first and machine.outcome != "refused"
        ended = self._first_stop(run, machine, guard, rules, limits)
        if not unseen or machine.asked is None or now < ended or limits.usd_per_hour is None:
            return
        usd = round((ended + 120.0 - machine.asked) / 3600.0 * limits.usd_per_hour, 6)
        facts = {"name": machine.ref.name, "usd_at_most": usd}
        self._say(run, "notice", id="cost-unseen", level="warning", facts=facts)

    def _money(self, run: _Watched, limits: Limits) -> None:
        now = run.side.clock.now()
        usd = run.state.usd(limits.usd_per_hour, now)
        rate = limits.usd_per_hour if run.state.there else 0.0
        self._say(run, "money", usd=round(usd, 6), usd_per_hour=rate, proved=not run.state.there)

    def _remove_stops(self, run: _Watched, machine: Machine) -> float:
        name, left = machine.ref.name, list[str]()
        try:
            standing = list(run.side.stops.of(machine.ref))
            run.side.stops.remove(standing)
            left = list(run.side.stops.of(machine.ref))
            if left:
                raise CloudUnclear("precondition", raw="some stops are still there")
        except (CloudRefused, CloudUnclear):
            failed = run.stops_failed[name] = run.stops_failed.get(name, 0) + 1
            if failed < STOPS_TRIES:
                raise
            self._say(run, "notice", id="stops-left", level="info", facts={"name": name})
            left = left or ["unknown"]
        self._say(run, "stops-removed", name=name, left=left)
        return 0.0

    def _last_words(self, run: _Watched) -> None:
        """All that an attempt said, to the last byte."""
        try:
            run.mirror.pull(run.state.attempt, asking.workers_of(run.plan), catch_up=True)
            run.mirror.records(run.state.attempt)
        except CloudRefused as error:  # the bucket is gone: what has come is all there is
            _log.info("run %s: its last words cannot be read: %s", run.folder.name, error)

    def _declare(self, run: _Watched, reason: Reason, facts: Mapping[str, Any]) -> None:
        if run.state.opened and run.state.machines:
            self._last_words(run)
        guard = run.words.guard(run.state.attempt)
        if guard.end is not None:  # it had said its end itself
            return
        self._say(
            run, "end", attempt=run.state.attempt, status=reason.status.value, reason=reason.value,
            steps=0, final={}, facts={"result": False, **facts},
        )  # fmt: skip

    def _finish(self, run: _Watched, limits: Limits) -> None:
        """The result here, the receipt here and in the bucket, then phase done. Repeatable."""
        if run.state.opened:
            try:
                for attempt in range(1, run.state.attempt + 1):
                    run.mirror.pull(attempt, asking.workers_of(run.plan), catch_up=True)
                    run.mirror.records(attempt)
                run.mirror.result()
            except CloudRefused as error:
                _log.warning("run %s: its result cannot be fetched: %s", run.folder.name, error)
        now = run.side.clock.now()
        left = [str(one) for one in _stops_left(run.folder)]
        state = with_guard(run.state, run.words.guard(run.state.attempt))
        record = receipt(
            run.plan, state, bucket=run.side.mailbox.bucket, usd_per_hour=limits.usd_per_hour, left=left, now=now,
            unseen_usd=sum(_unseen_usd(run.folder)),
        )  # fmt: skip
        data = json.dumps(record, indent=1).encode() + b"\n"
        write_atomically(result_folder(run.folder) / "receipt.json", data)
        if run.state.opened:
            try:
                run.mirror.put("result/receipt.json", data)
            except CloudRefused as error:
                _log.warning("run %s: its receipt cannot be written to the bucket: %s", run.folder.name, error)
        if limits.usd_per_hour is not None:
            self._money(run, limits)
        end = state.end
        self._say(
            run, "phase", phase=Phase.DONE.value, detail="", attempt=run.state.attempt,
            status=end.get("status") if end else None,
        )  # fmt: skip
        if run.state.opened:
            try:
                run.mirror.push_desk()
            except (CloudRefused, CloudUnclear) as error:
                _log.info("run %s: its last event is on this disk only: %s", run.folder.name, error)


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


def _desk_sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (folder / "events").glob("desk-*.jsonl")}


def _kind(task: str, name: str) -> str:
    """b or l: ``<name>-<kind>-<n>-<deadline>``."""
    return task.rpartition("/")[2].removeprefix(f"{name}-")[:1]


def _lived_until(folder: Path, machine: Machine) -> float:
    """When the machine wrote its ledger last: also after its end, while its deletion fails. 0: no word of that."""
    return _in_ledger(folder, machine, "t")


def _since(folder: Path, machine: Machine, guard: Guard) -> float:
    """When the machine was made, as its guardian tells it; its first word where it did not."""
    since = _in_ledger(folder, machine, "since")
    return guard.since or (since if 0.0 < since <= guard.first else guard.first)


def _in_ledger(folder: Path, machine: Machine, key: str) -> float:
    try:
        record = json.loads(ledger_file(folder, machine.attempt).read_bytes())
        return float(record[key]) if record["name"] == machine.ref.name else 0.0
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def _unseen_usd(folder: Path) -> list[float]:
    notices = [told for told in desk_events(folder) if told.kind == "notice" and told.get("id") == "cost-unseen"]
    found = [told.get("facts") for told in notices]
    return [float(facts.get("usd_at_most") or 0.0) for facts in found if isinstance(facts, dict)]


def _claimed_by(folder: Path, machine: Machine) -> bool:
    """Whether it is this machine that runs, or ran, the attempt; a desktop may have died before it knew of it."""
    try:
        claim = json.loads(claim_file(folder, machine.attempt).read_bytes())
    except (OSError, ValueError):
        return machine.outcome == "accepted"
    return isinstance(claim, dict) and claim.get("name") == machine.ref.name


def _stops_left(folder: Path) -> list[Any]:
    left: list[Any] = []
    for told in desk_events(folder):
        if told.kind == "stops-removed":
            left += told.get("left") or []
    return left
