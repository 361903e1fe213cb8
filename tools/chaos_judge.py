"""What a cell of `make chaos` is judged by: the practice cloud's own bill and operations, never what the app believes.

Each part of the judgement has a kind, and says for itself whether it could be judged: a figure of the table counts only
the cells in which it was looked at, and says in how many it was not.
"""

from __future__ import annotations

import itertools
import json
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos_cells import COMPLETED, Cell

from tpu_studio.cloud.connection import practice_side
from tpu_studio.domain.sentences import say_reason
from tpu_studio.practice.compute_checks import KIND as INSTANCE
from tpu_studio.practice.faults import read_fault
from tpu_studio.practice.machines.fleet import Fleet
from tpu_studio.practice.main import Practice
from tpu_studio.practice.meter import whole_usd
from tpu_studio.practice.tpu_show import NODE, QR
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.events import Event, complete_lines, decode
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.state import fold
from tpu_studio.workflow.runs import CLOUD_INTENTS

TOLD_S = 1.0  # of the cloud's time: where its own record of the deletion ends the bill
EXACT = 0.01  # of the bill: so near is as good as right
CENTS = 1e-5  # dollars: what figures lose by being rounded
REAL_LATE_S = 1.5  # real seconds between a thing and the desktop's seeing it on a loaded computer
STOP_LATE_S = 120.0  # of the cloud's time: from the last shut-off timer to an empty cloud

# What a world of doubts may end with: before money was spent, or within so much rent (`make doubts`).
REFUSED = (
    "launch-refused",
    "quota-exceeded",
    "no-outside-stop",
    "stops-unproved",
    "upload-failed",
    "not-entitled",
    "region-limit",
)
SHOWN_BY_A_MACHINE = ("environment-failed", "cannot-delete-itself", "no-capacity")
RENT_S = 900.0

KINDS = {
    "leaked": "nodes, requests, machines or stops leaked",
    "twice": "created twice, or two at a time",
    "events": "events lost or doubled",
    "copies": "a copy not brought up in the time before a machine was taken",
    "cap": "over the cap and the stated margin",
    "rent": "rented for longer than a doubt may cost",
    "late": "deleted too late with the laptop off",
    "cost": "cost shown: neither within 1 % nor in its range",
    "end": "ended otherwise than may be",
    "words": "no reason or next action",
    "unsettled": "not settled while it was waited for",
    "played": "not played as it was meant",
}


@dataclass
class Seen:
    """What the play hands over. Times are the cloud's.

    Attributes:
        kept: The machines' own events files by name, copied as they grow, so that they outlive the machines' disks.
        deadlines: Of every shut-off timer that was ever seen, by task.
        empty_at: When the cloud was seen empty; None: it is not.
        settled: Whether the desktop ended of itself, with the run settled.
        problems: What kept the cell from being played.
        met: Names of the faults that have changed an answer.
        copies: When which saved copy was whole in the bucket: (time, step).
    """

    cell: Cell
    home: Path
    practice: Practice
    plan: Plan
    kept: dict[str, Path]
    deadlines: dict[str, float]
    empty_at: float | None
    settled: bool
    problems: list[str]
    met: set[str]
    copies: list[tuple[float, int]]


@dataclass
class Verdict:
    """Attributes:
    failures: One sentence each; ``kinds``: how many of each of KINDS.
    judged: The kinds that this cell could be judged by.
    """

    failures: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    judged: set[str] = field(default_factory=set)
    facts: dict[str, Any] = field(default_factory=dict)

    def check(self, kind: str, holds: bool, failure: str) -> None:
        self.judged.add(kind)
        if not holds:
            self.failures.append(failure)
            self.kinds[kind] += 1

    def record(self) -> dict[str, Any]:
        judged = sorted(self.judged, key=list(KINDS).index)
        return {"failures": self.failures, "kinds": dict(self.kinds), "judged": judged, **self.facts}


def judge(seen: Seen) -> Verdict:
    return Judgement(seen).make()


class Judgement:
    def __init__(self, seen: Seen) -> None:
        self.seen, self.cell = seen, seen.cell
        self.practice, self.db = seen.practice, seen.practice.cloud.db
        self.runs = sorted(path.parent for path in (seen.home / "runs").glob("*/plan.json"))
        self.verdict = Verdict()

    def make(self) -> Verdict:
        """Each part by itself: one that cannot be judged takes nothing from the others."""
        parts: list[Callable[[], None]] = [self._played, self._nothing_left, self._nothing_twice]
        if len(self.runs) == 1:
            parts += [self._events, self._bill_and_cap, self._cost, self._end_and_reason, self._in_time]
        for part in parts:
            try:
                part()
            except Exception:  # noqa: BLE001  said in the verdict, where the cell fails by it
                told = traceback.format_exc(limit=-3)
                self.verdict.check("played", False, f"{part.__name__} could not be judged: {told}")
        return self.verdict

    def _played(self) -> None:
        for problem in self.seen.problems:
            self.verdict.check("played", False, problem)
        self.verdict.check("unsettled", self.seen.settled, "not settled while it was waited for")
        self.verdict.check("twice", len(self.runs) <= 1, f"launched {len(self.runs)} times")
        self.verdict.check("played", bool(self.runs), "nothing was launched")
        kills = [one for one in (self.cell.kill, *self.cell.again, self.cell.verb_kill) if one]
        passed = (self.seen.home / "transitions.log").read_text() if self.runs or kills else ""
        refused = bool(self.cell.doubts) and "call tpu.create" not in passed and "call compute.create" not in passed
        reached = passed.count("KILLED") == len(kills) or refused  # a world in which nothing is asked for
        self.verdict.check("played", reached, f"a place to be killed at was never reached: {kills}")
        noted = self.practice.cloud.faults.events()
        happened = self.seen.met | {event["name"] for event in noted if event["what"] == "happened"}
        self.verdict.facts["met"] = all(read_fault(text)[0] in happened for _, text in self.cell.faults)

    # ------------------------------------------------------------------------------------------------- in the cloud

    def _nothing_left(self) -> None:
        """A machine that still has a shut-off timer before it is not leaked yet, only unsettled."""
        verdict, vms = self.verdict, self.practice.cloud.vms
        assert isinstance(vms, Fleet)
        there = [name for kind in (NODE, QR, INSTANCE) for name, _ in self.db.list(kind)]
        left, now = [*there, *vms.names()], self.practice.cloud.clock.now()
        verdict.facts["tasks_left"] = len(tasks := [name.rpartition("/")[2] for name, _ in self.db.list("task")])
        last = max(self.seen.deadlines.values(), default=0.0) + STOP_LATE_S + REAL_LATE_S * self.cell.speed
        if left and not self.seen.settled and now < last:
            verdict.facts["still_there"] = {"names": left, "last_stop_in_s": round(last - now)}
            return
        verdict.check("leaked", not left, f"left over: {left}")
        targets = {name.rpartition("/")[2] for name in there}
        leaked = [name for name in tasks if any(name.startswith(f"{target}-") for target in targets)]
        verdict.check("leaked", not leaked, f"shut-off timers of what still exists: {leaked}")
        if self.seen.settled:
            journal = JournalFile(self.seen.home / "journal.db")
            opened = [one.facts.get("id") for one in journal.open_intents() if one.action in CLOUD_INTENTS]
            journal.disconnect()
            verdict.check("leaked", not opened, f"intents still open: {opened}")

    def _nothing_twice(self) -> None:
        """By the practice cloud's own operations and bill: no name made twice, no two machines charged at a time, and
        no two requests that nobody has asked to delete."""
        verdict = self.verdict
        operations = sorted((record for _, record in self.db.list("tpu-operation")), key=lambda one: one["create"])
        made = [record for record in operations if record["verb"] == "create"]
        names = Counter(record["target"] for record in made)
        twice = sorted(name for name, count in names.items() if count > 1)
        verdict.check("twice", not twice, f"created twice: {twice}")
        charged = [(line["begin"], line["end"], line["name"]) for line in self._bill()]
        asked = {record["target"]: record["create"] for record in reversed(operations) if record["verb"] == "delete"}
        wanted = [(record["create"], asked.get(record["target"]), record["target"]) for record in made]
        requests = [one for one in wanted if "/queuedResources/" in one[2]]
        for what, lives in (("machines", charged), ("requests", requests)):
            both = [f"{_last(one)} and {_last(other)}" for one, other in at_a_time(lives)]
            verdict.check("twice", not both, f"two {what} at a time: {both}")
        verdict.facts["creates"] = len(made)

    def _bill(self) -> list[dict[str, Any]]:
        return [line for line in self.practice.cloud.meter.bill() if "/ts-" in str(line["name"]) and "begin" in line]

    def _billed(self) -> float:
        """The whole bill of this practice cloud: machines with disks and addresses, operations, traffic, and what lies
        in buckets until their own rules delete it."""
        return whole_usd(self.practice.cloud.meter.bill(), to_come=True)

    # ---------------------------------------------------------------------------------------------------- the events

    def _events(self) -> None:
        """What is here is what the machines wrote; of a run that is not settled, as far as it has come down."""
        verdict, run, seen = self.verdict, self.runs[0], self.seen
        before: list[int] = []
        replays, attempts = [], 0
        for name in sorted(path.name for path in (run / "events").glob("a*-w000.jsonl")):
            attempts += 1
            here = (run / "events" / name).read_bytes()
            there = seen.kept[name].read_bytes() if name in seen.kept else None
            if there is not None:
                whole = b'"kind":"end"' in there and self.cell.ends == COMPLETED and seen.settled
                same = here == there if whole else there.startswith(here)
                failure = f"{name} is not what the machine wrote: {len(here)} of {len(there)} bytes"
                verdict.check("events", same, failure)
            steps = steps_of(run / "events" / name)
            in_order = not steps or steps == list(range(steps[0], steps[-1] + 1))
            verdict.check("events", in_order, f"{name}: steps {steps}")
            if steps and before:
                first, last = steps[0], before[-1]
                lost = f"{name}: steps {last + 1} to {first - 1} were never made"
                verdict.check("events", first <= last + 1, lost)
                replays.append(last + 1 - first)
                again = f"{name}: {replays[-1]} steps were made again"
                began = events_of(run / "events" / name)[0].t
                newest = max((step for at, step in seen.copies if at < began), default=0)
                verdict.check("events", first - 1 == newest, f"{again}, the copy of step {newest} was there")
                if not self.cell.sudden:  # told that it is taken, a machine brings its copy up
                    verdict.check("copies", replays[-1] <= self.cell.save_every, again)
            elif steps:
                first_is = steps[0] == 1 or self.cell.sudden
                verdict.check("events", first_is, f"{name}: the first step is {steps[0]}")
            before = steps or before
        curve = drawn(run)
        whole_curve = not curve or curve == list(range(curve[0], curve[-1] + 1))
        verdict.check("events", whole_curve, f"the curve has gaps, or steps twice: {curve}")
        if seen.settled:
            self._all_came_down(run)
        verdict.facts.update(attempts=attempts, replays=replays, last_step=before[-1] if before else 0)

    def _all_came_down(self, run: Path) -> None:
        """Whatever a machine brought to the bucket before it died is here, to the byte; its disk died with it."""
        self.verdict.judged.add("events")
        if not self._has_bucket():
            return
        prefix = f"runs/{run.name}/events/"
        settings = self.practice.cloud.settings
        side = practice_side(self.practice.url, self.practice.token, settings.project, settings.bucket)
        carried: Counter[str] = Counter()
        for one in side.mailbox.list(prefix):
            name, slash, _ = one.name.removeprefix(prefix).partition("/")
            if slash and name.startswith("a"):
                carried[name] += one.size
        here = {path.stem: path.stat().st_size for path in (run / "events").glob("a*.jsonl")}
        short = {name: (here.get(name, 0), size) for name, size in carried.items() if here.get(name, 0) != size}
        self.verdict.check("events", not short, f"never came down: {short}")
        self.verdict.facts["unsent"] = [name for name in self.seen.kept if Path(name).stem not in carried]

    def _has_bucket(self) -> bool:
        """Whether no fault is left that keeps it from being read."""
        armed = {one["name"] for one in self.practice.cloud.faults.listed()}
        unreadable = {"bucket-gone", "token-revoked", "service-disabled", "storage-unavailable", "billing-off"}
        return not armed & {*unreadable, "project-deleted"}

    # ----------------------------------------------------------------------------------------------------- the money

    def _bill_and_cap(self) -> None:
        """The cap holds at every moment, so also for a run that is not over."""
        verdict, lines = self.verdict, self._bill()
        billed = self._billed()
        limits = self.seen.plan.limits
        rate = max((_rate(line) for line in lines), default=self._rate_of_plan())
        held = self.seen.plan.extras.reserved_usd if self.seen.plan.extras else 0.0
        limit = min(held + rate * (limits.hours or 0.0), limits.money_usd or 1e9)
        cap = limit + rate * self._margin_s() / 3600.0
        verdict.check("cap", billed <= cap, f"${billed:.3f} billed, cap and margin are ${cap:.3f}")
        if self.seen.settled:
            verdict.check("leaked", not any(line["open"] for line in lines), "still being billed")
        verdict.facts.update(billed=round(billed, 5), cap=round(cap, 5), over_usd=round(max(0.0, billed - cap), 5))

    def _rent(self, reason: str) -> None:
        """A doubt costs nothing, or what a machine needs to show how it is."""
        seconds = sum(float(line["seconds"]) for line in self._bill())
        if reason in REFUSED:
            self.verdict.check("rent", seconds == 0, f"{reason}, and {seconds:.0f} s were rented")
        elif reason in SHOWN_BY_A_MACHINE:
            late = seconds - RENT_S - REAL_LATE_S * self.cell.speed
            self.verdict.check("rent", late <= 0, f"{reason} after {seconds:.0f} s of rent")

    def _rate_of_plan(self) -> float:
        return self.seen.plan.price.usd_per_hour if self.seen.plan.price else 0.0

    def _margin_s(self) -> float:
        """As the review states it, and what a call takes."""
        limits = self.seen.plan.limits
        stated = limits.margin_boot_s if self.cell.boot_hang else limits.margin_s
        return stated + 0.5 * self.cell.speed

    def _cost(self) -> None:
        """What the receipt shows is what was billed."""
        if not self.seen.settled:
            return
        verdict, lines, path = self.verdict, self._bill(), self.runs[0] / "result" / "receipt.json"
        if not path.exists():
            verdict.check("cost", False, "no receipt")
            return
        receipt = json.loads(path.read_bytes())
        billed = self._billed()
        names = ("usd", "usd_at_least", "usd_at_most", "usd_per_hour")
        shown, least, most, rate = (float(receipt[name] or 0.0) for name in names)
        kind = cost_kind(shown, least, most, billed)
        told = f"shown ${shown:.4f}, between ${least:.4f} and ${most:.4f}; billed ${billed:.4f}"
        verdict.check("cost", kind != "wrong", told)
        verdict.facts.update(
            usd=round(shown, 5),
            usd_at_least=round(least, 5),
            usd_at_most=round(most, 5),
            usd_per_hour=rate,
            cost=kind,
            guessed=sum(not self._told(line) for line in lines),
            speed=self.cell.speed,
            error_s=round((shown - billed) / rate * 3600.0, 1) if rate else 0.0,
        )

    def _told(self, line: dict[str, Any]) -> bool:
        """Whether the cloud's own record of a deletion has the end of this line of the bill."""
        name = _last(str(line["name"]))
        return any(
            record["verb"] == "delete"
            and record["done"]
            and record["target"].endswith(f"/{name}")
            and abs(record["end"] - float(line["end"] or 0.0)) <= TOLD_S
            for _, record in self.db.list("tpu-operation")
        )

    # ------------------------------------------------------------------------------------------------------- the end

    def _end_and_reason(self) -> None:
        verdict, run = self.verdict, self.runs[0]
        if not self.seen.settled:
            return
        verdict.check("unsettled", fold(desk_events(run)).settled, "the desktop ended, and the run is not settled")
        ends = [event for event in _all_events(run) if event.kind == "end"]
        verdict.check("end", bool(ends), "no end was ever said")
        if not ends:
            return
        end = ends[-1]
        reason = str(end.get("reason"))
        verdict.facts["reason"] = reason
        if self.cell.doubts:
            self._rent(reason)
        told = json.dumps(end.get("facts"))[:300]
        verdict.check("end", reason in self.cell.ends, f"ended as {reason}: {told}")
        facts = end.get("facts")
        said = say_reason(Reason(reason), facts if isinstance(facts, dict) else {}, place="practice", usd=1.0)
        verdict.check("words", bool(said.title and said.meaning), f"{reason} has no words")
        verdict.check("words", bool(said.action), f"{reason} has no next action")
        if reason == "completed" and not self.cell.real:
            extended = b'"extend"' in b"".join(path.read_bytes() for path in (run / "control").glob("*.json"))
            want = self.cell.steps + (10 if extended else 0)
            steps = verdict.facts.get("last_step")
            verdict.check("events", steps == want, f"{steps} steps instead of {want}")
            verdict.facts["extended"] = extended
        verdict.facts["final"] = end.get("final")

    def _in_time(self) -> None:
        empty_at = self.seen.empty_at
        if not self.cell.off or empty_at is None:
            return
        late = empty_at - max(self.seen.deadlines.values(), default=empty_at)
        self.verdict.facts["before_last_stop_s"] = round(-late)
        holds = late <= STOP_LATE_S + REAL_LATE_S * self.cell.speed
        self.verdict.check("late", holds, f"deleted {late:.0f} s after the last shut-off timer")


def cost_kind(usd: float, least: float, most: float, billed: float) -> str:
    """``exact``: shown within 1 % of the bill; ``range``: not, yet the bill lies in the range shown; ``wrong``."""
    if abs(usd - billed) <= EXACT * billed:
        return "exact"
    return "range" if least - CENTS <= billed <= most + CENTS else "wrong"


Life = tuple[float, float | None, str]


def at_a_time(lives: list[Life]) -> list[tuple[str, str]]:
    """Pairs of *lives* ``(begin, end, name)`` that are there together; end None: it still is."""
    pairs = itertools.combinations(sorted(lives, key=lambda life: life[0]), 2)
    return [(one, other) for (_, end, one), (begin, _, other) in pairs if end is None or begin < end]


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _all_events(run: Path) -> Iterator[Event]:
    found = [event for path in (run / "events").glob("*.jsonl") for event in events_of(path)]
    yield from sorted(found, key=lambda one: one.t)


def events_of(path: Path) -> list[Event]:
    lines, _ = complete_lines(path.read_bytes())
    return [event for line in lines if (event := decode(line)) is not None]


def drawn(run: Path) -> list[int]:
    """Steps of the training's own metrics as a reader draws them: a resume takes back what comes after its step."""
    steps: list[int] = []
    for path in sorted((run / "events").glob("a*-w000.jsonl")):
        for event in events_of(path):
            if event.kind == "resume":
                steps = [step for step in steps if step <= int(event.get("step"))]
            elif event.kind == "metric" and event.get("loss") is not None:
                steps += [int(step) for step in event.get("step")]
    return steps


def _rate(line: dict[str, Any]) -> float:
    """USD an hour of a machine, with its disks and addresses."""
    besides = sum(float(one["usd_per_hour"]) for one in line["besides"])
    return float(line["usd_per_hour"] or 0.0) + besides


def steps_of(path: Path) -> list[int]:
    """Of the training's own metrics; an evaluation repeats the step that it is of."""
    found = [event for event in events_of(path) if event.kind == "metric" and event.get("loss") is not None]
    return [int(step) for event in found for step in event.get("step")]
