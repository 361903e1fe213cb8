"""What is remembered of a run between turns, and how what was done is recorded: journal, our events file, bucket.

Order of every billable act: intent in the journal, intent in our events file, the same in the bucket, the call, and
both closed. `driver`, `acts` and `closing` share it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tpu_studio.wire.errors import CloudRefused, CloudUnclear, NotReady, RunError, StudioError
from tpu_studio.wire.events import Event, event, from_record
from tpu_studio.wire.limits import limits_of
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns import asking, brought
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.machine import Machine
from tpu_studio.workflow.cloudruns.mirror import Mirror, Words
from tpu_studio.workflow.cloudruns.others import Place, adopted, taken_from
from tpu_studio.workflow.cloudruns.ports import CloudSide, MachineSeen
from tpu_studio.workflow.cloudruns.recovering import STOPS_LEFT
from tpu_studio.workflow.cloudruns.rhythm import Rhythm
from tpu_studio.workflow.cloudruns.state import TAKEN_IN, State, apply, fold
from tpu_studio.workflow.cloudruns.usage import Usage
from tpu_studio.workflow.ports import Journal

_TIDIED = ("open", "stops", "lease-stops", "create", "delete")
_OBJECT = re.compile(r"data/\w[\w.-]{0,200}", re.ASCII)  # as `preparing` calls what it brings
MOST_NAMES = 64  # of machines that are looked for one by one
SEEN_ENOUGH_S = 120.0  # no machine comes, is charged for and goes with its request between two looks as near as this


@dataclass
class Watched:
    """What is remembered of a run between turns; all of it can be made anew.

    Attributes:
        foreign: Another desktop drives it, the one that *holder* names: here it is only followed.
        there: The run's machines by name, as Google told them by its label when it was asked last.
        stays: It is said to be over, and a machine that this computer has asked for is there.
        holder_at: When that was asked last, by the cloud's clock.
        looked_at, alive_at: When that name was looked for last, and when a look found the machine itself.
        unlooked: Spans between two looks that are long enough for a machine to come, be charged for and go.
        whose: The installation whose records count (`whose`).
        unsaved: Events that the disk refused, oldest first: kind, time, fields. They count all the same.
        disk: Why it refused them.
        sent: Control files of extensions → when they came into the bucket.
        usage: What was asked of the bucket for it from here, and came down.
    """

    folder: Path
    plan: Plan
    frozen: bytes
    side: CloudSide
    mirror: Mirror
    words: Words
    usage: Usage = field(default_factory=Usage)
    whose: str = "*"
    sizes: dict[str, int] = field(default_factory=dict)
    state: State = field(default_factory=State)
    looks: dict[str, tuple[MachineSeen | None, float]] = field(default_factory=dict)
    heard: dict[int, tuple[int, float]] = field(default_factory=dict)
    looked_at: dict[str, float] = field(default_factory=dict)
    unlooked: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    alive_at: dict[str, float] = field(default_factory=dict)
    caught_up: bool = False
    foreign: bool = False
    stays: bool = False
    holder: Mapping[str, object] = field(default_factory=dict)
    holder_at: float = float("-inf")
    unsaved: list[tuple[str, float, dict[str, object]]] = field(default_factory=list)
    disk: StudioError | None = None
    unheard: StudioError | None = None
    bucket_gone: bool = False
    beat_at: float = float("-inf")
    rhythm: Rhythm = field(default_factory=Rhythm)
    stop: tuple[str, float] = ("", 0.0)
    failures: int = 0
    unlookable: set[str] = field(default_factory=set)
    there: Mapping[str, MachineSeen] = field(default_factory=dict)
    asked_why: tuple[str, ...] = ()
    sent: dict[int, float] = field(default_factory=dict)


def note_look(run: Watched, machine: Machine, now: float, *, waits: bool) -> None:
    """*machine* was looked for: a span since the last look, also of a process before this one that found it waiting, or
    since it was asked for, in which it could hide; none where it *waits* still."""
    if waits:
        run.unlooked.pop(machine.ref.name, None)
        run.looked_at[machine.ref.name] = now
        return
    since = max(machine.asked or now, machine.waited, run.looked_at.get(machine.ref.name, 0.0))
    if now - since >= SEEN_ENOUGH_S:
        run.unlooked.setdefault(machine.ref.name, []).append((since, now))
    run.looked_at[machine.ref.name] = now


class Records:
    """Of the runs under *home*."""

    def __init__(self, home: Path, journal: Journal) -> None:
        self.journal, self.home = journal, home

    @property
    def install(self) -> str:
        return desk.install_id(self.home)

    @property
    def key(self) -> bytes:
        return desk.seal_key(self.home)

    def refresh(self, run: Watched) -> None:
        """Read those desktops' events again that count, if any has grown, or others count now."""
        sizes = desk_sizes(run.folder, run.whose)
        if sizes != run.sizes:
            waiting = (from_record(event(kind, t=t, **fields)) for kind, t, fields in run.unsaved)
            known = state_of(run.folder, run.whose, self.install, self.journal)
            run.state, run.sizes = fold((one for one in waiting if one is not None), known), sizes

    def is_to_be_taken_in(self, run: Watched) -> bool:
        """Whether it was taken over, and what others' records say of it is not this computer's own record yet."""
        return not run.foreign and not run.state.taken_in and self.journal.was_taken_over(run.folder.name)

    def names(self, run: Watched) -> list[str]:
        """Of its machines that may be there; of those that others' records tell of all, until they are taken in: who
        may not list what there is looks for each by its name.

        Raises:
            CloudRefused: ``permission-missing``: there are more than can be looked for.
        """
        known = run.state
        if self.is_to_be_taken_in(run):
            theirs, own, now = desk_events(run.folder, but=self.install), self._own(run), run.side.clock.now()
            found = taken_from(theirs, own, run.folder.name, place_of(run.plan), {}, now)
            all_of_them = fold(sorted((*found, *own), key=lambda one: one.t)).machines
            if len(all_of_them) > MOST_NAMES:
                raise CloudRefused("permission-missing", raw="there are too many names to look for each")
            return [one.ref.name for one in all_of_them]
        return [one.ref.name for one in known.there]

    def take_in(self, run: Watched, seen: Mapping[str, MachineSeen]) -> None:
        """What others' records say, as far as it counts (`others.taken_from`): once for each take-over.

        Raises:
            CloudRefused, CloudUnclear: What is in the bucket cannot be asked.
            OSError: Of the disk; nothing is taken in then.
        """
        theirs, own, now = desk_events(run.folder, but=self.install), self._own(run), run.side.clock.now()
        sizes: dict[str, int] = {}

        def bytes_of(name: str) -> int:
            if len(sizes) >= brought.MOST:
                return 0
            if name not in sizes:
                stored = run.side.mailbox.stat(name) if _OBJECT.fullmatch(name) else None
                sizes[name] = 0 if stored is None else stored.size
            return sizes[name]

        found = taken_from(theirs, own, run.folder.name, place_of(run.plan), seen, now, bytes_of, run.plan.created)
        self._put(run, [*found, Event(max([now, *(one.t for one in own)]), TAKEN_IN, {"events": len(found)})])

    def adopt(self, run: Watched, seen: Mapping[str, MachineSeen]) -> None:
        """Machines of the run's that Google has, and that no record tells of. Raises OSError."""
        unknown = {name: one for name, one in seen.items() if run.state.of(name) is None}
        self._put(run, adopted(unknown, run.folder.name, run.side.clock.now()))

    def _own(self, run: Watched) -> list[Event]:
        return list(desk_events(run.folder, self.install))

    def _put(self, run: Watched, events: Sequence[Event]) -> None:
        if events:
            desk.write_events(run.folder, self.install, [(one.kind, one.t, one.fields) for one in events], key=self.key)
            self.refresh(run)

    def save(self, run: Watched) -> None:
        """Write what the disk had refused, in its order."""
        while run.unsaved:
            kind, t, fields = run.unsaved[0]
            try:
                desk.write_event(run.folder, self.install, kind, t=t, key=self.key, **fields)
            except OSError as error:
                run.disk = desk.disk_error(error, run.folder)
                return
            run.unsaved.pop(0)

    def say(self, run: Watched, kind: str, **fields: object) -> None:
        t = run.side.clock.now()
        if run.state.end is not None:
            t = max(t, run.state.end.t + 0.001)
        alone = desk_sizes(run.folder, run.whose) == run.sizes
        waits = bool(run.unsaved)  # they keep their order
        run.unsaved.append((kind, t, fields))
        if not waits:
            self.save(run)
        said = from_record(event(kind, t=t, **fields))
        if alone and said is not None:
            run.state, run.sizes = apply(run.state, said), desk_sizes(run.folder, run.whose)
        else:
            self.refresh(run)

    def begin(self, run: Watched, action: str, machine: Machine, **facts: Any) -> int:
        """Journal, our events file, and the bucket: after this the call may be made.

        Nothing is asked for without all three; a machine is deleted also where no disk takes down that it is.

        Raises:
            NotReady, RunError: Of the disk.
        """
        facts = {
            "name": machine.ref.name,
            "zone": machine.ref.zone,
            "backend": machine.ref.backend,
            **({"queue": machine.ref.queue} if machine.ref.queue else {}),
            **({"alpha": True} if machine.ref.alpha else {}),
            "attempt": machine.attempt,
            "try": machine.number,
            **facts,
        }
        id = f"{action}/{machine.ref.name}"
        known = {"id": id, **facts, **(self._begun(run) if action == "create" else {})}
        try:
            number = self.journal.open(action, run.folder.name, known, time.time())
        except NotReady as error:
            if action != "delete":
                raise
            number, run.disk = 0, error
        if run.unsaved and action != "delete":
            self.journal.close(number, "not-written", time.time())
            raise run.disk or RunError("folder-unwritable", folder=str(run.folder))
        self.say(run, "intent", id=id, action=action, **facts)
        if run.unsaved and action != "delete":
            raise run.disk or RunError("folder-unwritable", folder=str(run.folder))
        try:
            run.mirror.push_desk()
        except (CloudRefused, CloudUnclear, OSError):
            if action == "create":
                raise
        return number

    def end(self, run: Watched, number: int, action: str, name: str, outcome: str, **more: Any) -> None:
        self.say(run, "intent-closed", id=f"{action}/{name}", outcome=outcome, **more)
        try:
            self.journal.close(number, outcome, time.time())
        except NotReady as error:  # `tidy` closes it when its machine is gone
            run.disk = error

    def note_begun(self, run: Watched) -> None:
        """Into the journal: where the run is from now on. Raises NotReady."""
        number = self.journal.open("open", run.folder.name, self._begun(run), time.time())
        self.journal.close(number, "opened", time.time())

    def leave_stops(self, run: Watched, machine: Machine) -> None:
        """Into the journal: stops of *machine*, which is gone, are to be removed when that is possible again."""
        ref = machine.ref
        facts = {
            "id": f"{STOPS_LEFT}/{ref.name}",
            "name": ref.name,
            "zone": ref.zone,
            "backend": ref.backend,
            "queue": ref.queue,
            "alpha": ref.alpha,
            **self._begun(run),
        }
        try:
            self.journal.open(STOPS_LEFT, run.folder.name, facts, time.time())
        except NotReady as error:  # the sweep finds them all the same
            run.disk = error

    def _begun(self, run: Watched) -> dict[str, object]:
        """Where, for whoever finds an intent without its run."""
        return {"plan": json.loads(run.frozen), "project": run.side.project, "bucket": run.side.mailbox.bucket}

    def tidy(self, run: Watched, *, everything: bool = False) -> None:
        """Close what an earlier process had left open and what has been settled since."""
        for intent in self.journal.open_intents():
            if intent.run != run.folder.name or intent.action not in _TIDIED:
                continue
            machine = run.state.of(str(intent.facts.get("name")))
            if everything or machine is None or machine.gone is not None:
                self.journal.close(intent.number, "settled", time.time())

    def say_waiting(self, run: Watched) -> None:
        """Which zones were asked since when, and why there is no machine yet."""
        tried = run.state.tried
        told = tuple(f"{one.ref.zone}:{one.refusal or one.leaving or one.state or 'asked'}" for one in tried)
        if not tried or told == run.asked_why:
            return
        run.asked_why = told
        why = next((one.refusal for one in reversed(tried) if one.refusal), "")
        asked = list(dict.fromkeys(one.ref.zone for one in tried))
        self.say(run, "waiting", zones=asked, since=run.state.since, why=why or "no-capacity", tries=len(tried))


def state_of(folder: Path, counts: str, install: str, journal: Journal) -> State:
    """What the records of *counts* (`whose`) say of a run. What another computer was shown of the shut-off timers
    counts for nothing here."""
    state = fold(desk_events(folder, counts))
    if counts != install:
        state = replace(state, gates=fold(desk_events(folder, install)).gates)
    return replace(state, waiver_over=state.waiver_over or journal.was_taken_over(folder.name))


def desk_sizes(folder: Path, install: str = "*") -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (folder / "events").glob(f"desk-{install}.jsonl")}


def is_anothers(folder: Path, install: str) -> bool:
    """Whether the run's folder says that another computer drives it, or that it is a copy."""
    owner = desk.read_owner(folder)
    return bool(owner.get("imported")) or owner.get("install") not in (None, install)


def place_of(plan: Plan) -> Place:
    """Where *plan* lets machines be."""
    rules = asking.rules_of(plan, limits_of(plan))
    return Place(rules.zones, rules.backend, rules.alpha)


def whose(folder: Path, install: str, *, foreign: bool | None = None) -> str:
    """Whose records of a run count, for `desk_events`: this computer's alone, unless it only follows another that
    drives it now, or looks at a copy. What others had said when it was taken over is in its own (`Records.take_in`).

    Args:
        install: This desktop's.
        foreign: Whether another drives it; None: as the run's folder tells.
    """
    return "*" if (is_anothers(folder, install) if foreign is None else foreign) else install
