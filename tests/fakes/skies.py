"""A cloud in memory, honest and with faults: machines, stops, bucket, price, and a guardian that trains by the clock.

Implements ``workflow.cloudruns.ports``. Time passes only when a test says so (`Sky.pass_time`), stops fire when their
time has come, a machine is billed from its creation to its deletion. Everything survives the death of whoever uses it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.fakes.plans import plan as computer_plan
from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.wire.events import encode, event
from tpu_studio.wire.jsonfile import NotJson, parse_json
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.sizes import TooLarge
from tpu_studio.workflow.cloudruns.gate import GONE, NOT_FOUND, PERMISSION_DENIED, Account, Evidence
from tpu_studio.workflow.cloudruns.ports import (
    CloudPlace,
    CloudSide,
    Deletion,
    MachineSeen,
    Progress,
    Ref,
    Stored,
    Wanted,
)

RATE = 12.0
Hook = Callable[[str, bool], None]
"""Called with the name of a call and whether it has been carried out; may raise."""


def cloud_plan(*, zones: Sequence[str] = ("us-west4-a",), tier: str = "on-demand", place: str = "practice") -> Plan:
    made = computer_plan(steps=40, limits={"hours": 2.0, "money_usd": 20.0, "idle_minutes": 15}, usd_per_hour=RATE)
    values = {
        "where.place": place,
        "where.zones": list(zones),
        "where.tier": tier,
        "where.accelerator": "v5litepod-8",
        "training.framework": "jax",
    }
    return replace(made, job=made.job.with_values(values), place=place, accelerator="v5litepod-8", framework="jax")


@dataclass
class Node:
    """One request with its machine."""

    wanted: Wanted
    state: str = "waiting"
    created: float | None = None
    deleted: float | None = None
    since: float = 0.0
    step: int = 0
    offset: int = 0
    spoke: bool = False
    ended: bool = False
    hung: bool = False
    by_service: bool = False
    error: tuple[str, Mapping[str, Any]] | None = None
    controls_read: int = 0


@dataclass
class Sky:
    """Attributes:
    waiting_s, boot_s, step_s: How long a request waits, a node takes to be made, a step takes.
    refuse: Zone → ids of refusals, one each call.
    known_no: Zone → what is known to be refused before it is asked for.
    checked: Names of machines of which that was asked.
    renewed: Names of objects whose days were to begin anew.
    forbidden: Zones that may be neither asked nor looked into.
    guardian: The version of the app that is there now.
    tells_ends: It keeps a record of each deletion.
    provisioning: How Google takes a deletion of what is being made: accepted, refused (HTTP 400), operation (HTTP
        200, and the operation fails: a task takes that for done).
    says: What reads say of an account (yes, no, unknown), yes where it is not named; ``why``: of that.
    codes: What the tasks of a proof show by account: NOT_FOUND where it is not named, PERMISSION_DENIED of nobody.
    queue_why: Why no queue can be had; "": it can.
    marked: The project is marked for deletion.
    proving: Tasks of proofs that stand, by name; ``aimed``: at which zone.
    stopper: The account of the stops from outside; "": the runner's.
    hook: Called before and after each call of a port.
    """

    now: float = field(default_factory=lambda: (time.time() // 86400.0 - 20.0) * 86400.0)  # a midnight: long over
    waiting_s: float = 20.0
    boot_s: float = 30.0
    step_s: float = 3.0
    steps: int = 40
    refuse: dict[str, list[str]] = field(default_factory=dict)
    known_no: dict[str, str] = field(default_factory=dict)
    checked: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    hook: Hook = lambda call, done: None
    nodes: dict[str, Node] = field(default_factory=dict)
    objects: dict[str, tuple[bytes, int, float]] = field(default_factory=dict)
    tasks: dict[str, tuple[str, float]] = field(default_factory=dict)
    added: dict[str, tuple[str, float]] = field(default_factory=dict)
    tasks_ever: set[str] = field(default_factory=set)
    created_names: list[str] = field(default_factory=list)
    bill: list[tuple[str, float, float | None]] = field(default_factory=list)
    deletions: dict[str, Deletion] = field(default_factory=dict)
    generation: int = 0
    never_boots: bool = False
    guardian: str = ""
    forbidden: set[str] = field(default_factory=set)
    tells_ends: bool = False
    provisioning: str = "accepted"
    says: dict[str, tuple[str, str]] = field(default_factory=dict)
    codes: dict[str, int | None] = field(default_factory=dict)
    queue_why: str = ""
    marked: bool = False
    proving: dict[str, str] = field(default_factory=dict)
    aimed: dict[str, str] = field(default_factory=dict)
    proofs: int = 0
    trials: int = 0
    stopper: str = "stopper@sky"
    most_at_once: int = 0

    # ------------------------------------------------------------------------------------------------------ time

    def pass_time(self, seconds: float) -> None:
        """In small steps, so that things happen in their order."""
        until = self.now + seconds
        while self.now < until:
            self.now = min(until, self.now + 5.0)
            self._tick()

    def _tick(self) -> None:
        for queue in (self.tasks, self.added):
            for name, (target, at) in list(queue.items()):
                if at <= self.now:
                    del queue[name]
                    self._remove(target)
        for node in list(self.nodes.values()):
            if node.state == "waiting" and self.now - node.since >= self.waiting_s:
                node.state, node.since = "provisioning", self.now
            elif node.state == "provisioning" and self.now - node.since >= self.boot_s:
                node.state, node.since, node.created = "ready", self.now, self.now
                self.most_at_once = max(self.most_at_once, len([n for n in self.nodes.values() if n.created]))
            elif node.state == "leaving" and self.now - node.since >= 10.0:
                self.deletions[node.wanted.ref.name] = Deletion(node.since, self.now)
                self._forget(node)
            elif node.state == "ready":
                self._train(node)

    def _train(self, node: Node) -> None:
        if node.hung or self.never_boots or node.ended:
            if node.ended:
                self._remove(node.wanted.ref.name)
            return
        config = json.loads(node.wanted.metadata["ts-config"])
        if not node.spoke:
            node.spoke = True
            claim = f"{config['prefix']}claims/a{config['attempt']:04d}.json"
            if claim in self.objects:
                self._remove(node.wanted.ref.name)
                return
            self._put(claim, json.dumps({"name": config["name"]}).encode())
            node.step = self._checkpoint(config)
            self._say(node, event("phase", t=self.now, phase="setting-up", detail="claimed"))
            self._say(node, event("resume", t=self.now, step=node.step, attempt=config["attempt"]))
        stop = self._stop(config)
        done = int((self.now - node.since) / self.step_s)
        while node.step < min(self.steps, done) and not stop:
            node.step += 1
            self._say(node, event("metric", t=self.now, step=[node.step], loss=[1.0 / node.step]))
            if node.step % 10 == 0:
                self._put(f"{config['prefix']}checkpoints/{node.step:08d}/COMMITTED", b"")
                self._say(node, event("checkpoint", t=self.now, step=node.step))
        if node.step >= self.steps or stop:
            if stop != "discarded":
                self._put(f"{config['prefix']}result/model.txt", b"model")
            reason = stop or "completed"
            status = "stopped" if stop else "finished"
            self._say(
                node,
                event(
                    "end",
                    t=self.now,
                    attempt=config["attempt"],
                    status=status,
                    reason=reason,
                    steps=node.step,
                    final={"loss": 1.0 / max(1, node.step)},
                ),
            )
            node.ended = True

    def _stop(self, config: Mapping[str, Any]) -> str:
        """The reason that a person's stop is; "" where nobody has asked for one."""
        prefix = f"{config['prefix']}control/"
        for name, (data, _, _) in self.objects.items():
            if name.startswith(prefix):
                record = _control(data)
                if record.get("verb") == "stop" and record.get("attempt", config["attempt"]) == config["attempt"]:
                    return "stopped-by-user" if record.get("keep", True) else "discarded"
        return ""

    def _checkpoint(self, config: Mapping[str, Any]) -> int:
        start = f"{config['prefix']}checkpoints/"
        steps = [int(name[len(start) :].split("/")[0]) for name in self.objects if name.startswith(start)]
        return max(steps, default=0)

    def _say(self, node: Node, record: Mapping[str, Any]) -> None:
        config, line = json.loads(node.wanted.metadata["ts-config"]), encode(record)
        self._put(f"{config['prefix']}events/a{config['attempt']:04d}-w000/{node.offset:012d}.jsonl", line)
        node.offset += len(line)

    def _put(self, name: str, data: bytes) -> int:
        self.generation += 1
        self.objects[name] = (data, self.generation, self.now)
        return self.generation

    def _remove(self, name: str) -> None:
        node = self.nodes.get(name)
        if node is not None and node.state == "provisioning" and self.provisioning != "accepted":
            return
        if node is not None and node.state != "leaving":
            if node.created is None:
                self._forget(node)
            else:
                node.state, node.since = "leaving", self.now

    def _forget(self, node: Node) -> None:
        if node.created is not None:
            self.bill.append((node.wanted.ref.name, node.created, self.now))
        self.nodes.pop(node.wanted.ref.name, None)

    # ------------------------------------------------------------------------------------------------ what happens

    def preempt(self) -> bool:
        """Take the running machine back, as spot machines are; True when there was one."""
        for node in self.nodes.values():
            if node.state == "ready" and not node.ended:
                if node.spoke:
                    self._say(node, event("notice", t=self.now, id="preempted", level="warning", facts={}))
                self.bill.append((node.wanted.ref.name, node.created or self.now, self.now))
                node.state, node.by_service, node.created = "preempted", True, None
                return True
        return False

    def vanish(self) -> None:
        """Every machine and its request are gone, and nobody says a word."""
        for node in [*self.nodes.values()]:
            self._forget(node)

    def lose(self) -> None:
        """The machine is gone without a word; its request stays, and does not say since when."""
        for node in self.nodes.values():
            self.bill.append((node.wanted.ref.name, node.created or self.now, self.now))
            node.state, node.by_service, node.created = "preempted", True, None

    def hang(self) -> bool:
        for node in self.nodes.values():
            if node.state == "ready":
                node.hung = True
                return True
        return False

    def usd_billed(self) -> float:
        open_ones = [(name, node.created, self.now) for name, node in self.nodes.items() if node.created is not None]
        spans = [*self.bill, *open_ones]
        return sum(((end or self.now) - (start or self.now)) for _, start, end in spans) / 3600.0 * RATE

    # ------------------------------------------------------------------------------------------------------- ports

    def place(self) -> CloudPlace:
        return CloudPlace(connect=lambda plan: self.side(), preparing=_Preparing(self))

    def side(self) -> CloudSide:
        return CloudSide(
            place="practice",
            project="sky",
            runner="runner@sky",
            stopper=self.stopper,
            machines={"tpu": _Machines(self)},
            stops=_Stops(self),
            mailbox=_Box(self),
            clock=_Clock(self),
            rights=_Rights(self),
            endpoints={
                "storage": "http://sky",
                "tpu": "http://sky",
                "compute": "http://sky",
                "tasks": "http://sky",
                "resourcemanager": "http://sky",
            },
        )


class _Clock:
    speed = 1.0

    def __init__(self, sky: Sky) -> None:
        self._sky = sky

    def now(self) -> float:
        self._sky.now += 0.001
        return self._sky.now

    def carried(self) -> float | None:
        return self._sky.now


class _Preparing:
    def __init__(self, sky: Sky) -> None:
        self._sky = sky

    def upload(self, side: CloudSide, plan: Plan, run: str, progress: Progress) -> Mapping[str, Any]:
        self._sky.hook("upload", False)
        progress(1, 2)
        progress(2, 2)
        self._sky.hook("upload", True)
        guardian = {"guardian_sha256": self._sky.guardian} if self._sky.guardian else {}
        return {"bundle": {}, "data": [], "environment": {}, **guardian}

    def with_our_code(
        self, side: CloudSide, plan: Plan, run: str, pieces: Mapping[str, Any], progress: Progress
    ) -> Mapping[str, Any]:
        return {**self.upload(side, plan, run, progress), "data": pieces.get("data", [])}

    def is_current(self, pieces: Mapping[str, Any]) -> bool:
        return str(pieces.get("guardian_sha256", "")) == self._sky.guardian

    def metadata(self, config: Mapping[str, Any], deadline: float) -> Mapping[str, str]:
        return {"ts-config": json.dumps(config), "ts-deadline": str(int(deadline))}


class _Machines:
    def __init__(self, sky: Sky) -> None:
        self._sky = sky

    def check(self, wanted: Wanted) -> None:
        self._sky.checked.append(wanted.ref.name)
        if refusal := self._sky.known_no.get(wanted.ref.zone):
            raise CloudRefused(refusal, zone=wanted.ref.zone, raw="known beforehand")

    def create(self, wanted: Wanted) -> None:
        sky = self._sky
        sky.hook("create", False)
        self._check(wanted.ref)
        name = wanted.ref.name
        known = sky.nodes.get(name)
        if known is not None:
            if known.wanted.request_id != wanted.request_id:
                raise CloudRefused("exists", name=name)
            return
        waiting = sky.refuse.get(wanted.ref.zone)
        if waiting:
            raise CloudRefused(waiting.pop(0), zone=wanted.ref.zone, raw="no")
        if name in sky.created_names:
            raise AssertionError(f"{name} was created twice")
        sky.created_names.append(name)
        sky.nodes[name] = Node(wanted, since=sky.now)
        sky.hook("create", True)

    def _check(self, ref: Ref) -> None:
        if ref.zone in self._sky.forbidden:
            raise CloudRefused("zone-not-allowed", zone=ref.zone, raw="no")

    def look(self, ref: Ref) -> MachineSeen | None:
        self._sky.hook("look", False)
        self._check(ref)
        node = self._node(ref)
        self._sky.hook("look", True)
        if node is None:
            return None
        return MachineSeen(
            ref,
            node.state,
            node.state.upper(),
            node.error,
            node.created,
            node.by_service,
            over=node.state == "preempted",
        )

    def delete(self, ref: Ref) -> None:
        self._sky.hook("delete", False)
        node = self._node(ref)
        if node is not None and node.state == "provisioning" and self._sky.provisioning == "refused":
            raise CloudRefused("precondition", state="PROVISIONING", raw="not supported when state is PROVISIONING")
        if node is not None:
            self._sky._remove(ref.name)
        self._sky.hook("delete", True)

    def _node(self, ref: Ref) -> Node | None:
        """Of that name in that place; Google knows none by its name alone."""
        node = self._sky.nodes.get(ref.name)
        return node if node is not None and node.wanted.ref == ref else None

    def ended(self, ref: Ref) -> Deletion | None:
        self._sky.hook("ended", False)
        return self._sky.deletions.get(ref.name) if self._sky.tells_ends else None

    def find(self, labels: Mapping[str, str]) -> Sequence[MachineSeen]:
        return [MachineSeen(node.wanted.ref, node.state) for node in self._sky.nodes.values()]


class _Stops:
    def __init__(self, sky: Sky) -> None:
        self._sky = sky

    def queue(self, ref: Ref) -> str:
        return f"projects/sky/locations/{ref.region}/queues/tpu-studio-stops"

    def machines_queue(self, ref: Ref) -> str:
        return self.queue(ref).removesuffix("-stops")

    def set(self, ref: Ref, kind: str, at: Sequence[float]) -> Sequence[str]:
        names = []
        for moment in at:
            self._sky.hook("set-stop", False)
            number = len(self._sky.tasks_ever)
            name = f"q/tasks/{ref.name}-{kind}-{number}-{int(moment)}"
            assert name not in self._sky.tasks_ever
            self._sky.tasks_ever.add(name)
            self._sky.tasks[name] = (ref.name, moment)
            names.append(name)
            self._sky.hook("set-stop", True)
        return names

    def of(self, ref: Ref) -> Mapping[str, float]:
        self._sky.hook("list-stops", False)
        return {name: at for name, (target, at) in self._sky.tasks.items() if target == ref.name}

    def added(self, ref: Ref) -> Mapping[str, float]:
        self._sky.hook("list-added", False)
        return {name: at for name, (target, at) in self._sky.added.items() if target == ref.name}

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            self._sky.hook("remove-stop", False)
            self._sky.tasks.pop(name, None)
            self._sky.added.pop(name, None)
            self._sky.hook("remove-stop", True)


NOBODY = "nobody@sky"


class _Rights:
    def __init__(self, sky: Sky) -> None:
        self._sky = sky

    def evidence(self, ref: Ref) -> Evidence:
        sky = self._sky
        sky.hook("evidence", False)
        queue = "" if sky.queue_why else f"projects/sky/locations/{ref.region}/queues/tpu-studio-stops"
        runner, stopper = (Account(one, *sky.says.get(one, ("yes", ""))) for one in ("runner@sky", sky.stopper))
        return Evidence(queue, runner, stopper if sky.stopper else None, sky.queue_why)

    def begin(self, queue: str, ref: Ref, accounts: Sequence[str]) -> tuple[Mapping[str, str], str]:
        self._sky.hook("prove", False)
        self._sky.proofs += 1
        told = {f"{queue}/tasks/ts-proof-{self._sky.proofs}-{n}": one for n, one in enumerate((NOBODY, *accounts))}
        self._sky.proving.update(told)
        self._sky.aimed.update(dict.fromkeys(told, ref.zone))
        return told, NOBODY

    def trial(self, queue: str, ref: Ref, account: str) -> str:
        self._sky.hook("trial", False)
        self._sky.trials += 1
        name = f"{queue}/tasks/ts-proof-trial-{self._sky.trials}"
        self._sky.proving[name], self._sky.aimed[name] = account, ref.zone
        return name

    def answers(self, tasks: Sequence[str]) -> Mapping[str, int | None]:
        self._sky.hook("proof", False)
        found: dict[str, int | None] = {}
        for name in tasks:
            email = self._sky.proving.get(name, "")
            denied = email == NOBODY or self._sky.aimed.get(name) in self._sky.forbidden
            usual = PERMISSION_DENIED if denied else NOT_FOUND
            found[name] = self._sky.codes.get(email, usual) if email else GONE
        return found

    def end(self, tasks: Sequence[str]) -> None:
        for name in tasks:
            self._sky.proving.pop(name, None)

    def is_project_active(self) -> bool:
        return not self._sky.marked


class _Box:
    bucket = "sky-bucket"

    def __init__(self, sky: Sky) -> None:
        self._sky = sky

    def create(self, name: str, data: bytes) -> bool:
        self._sky.hook("put", False)
        if name in self._sky.objects:
            return self._sky.objects[name][0] == data
        self._sky._put(name, data)
        self._sky.hook("put", True)
        return True

    def write(self, name: str, data: bytes, *, generation: int | None = None) -> int | None:
        self._sky.hook("put", False)
        if generation is not None and self._sky.objects.get(name, (b"", 0, 0.0))[1] != generation:
            return None
        made = self._sky._put(name, data)
        self._sky.hook("put", True)
        return made

    def read(self, name: str, *, start: int = 0) -> bytes | None:
        self._sky.hook("get", False)
        known = self._sky.objects.get(name)
        return None if known is None else known[0][start:]

    def stat(self, name: str) -> Stored | None:
        known = self._sky.objects.get(name)
        return None if known is None else Stored(name, len(known[0]), known[1], known[2], _md5(known[0]))

    def list(self, prefix: str, *, start: str = "") -> Sequence[Stored]:
        self._sky.hook("list", False)
        names = sorted(name for name in self._sky.objects if name.startswith(prefix) and name >= start)
        return [found for name in names if (found := self.stat(name)) is not None]

    def renew(self, name: str) -> bool:
        self._sky.renewed.append(name)
        return name in self._sky.objects

    def upload(self, path: Path, name: str, progress: Progress | None = None) -> None:
        self._sky._put(name, path.read_bytes())

    def download(self, name: str, path: Path, progress: Progress | None = None, *, at_most: int | None = None) -> None:
        data = self.read(name)
        if data is None:
            raise CloudRefused("not-found", name=name)
        if at_most is not None and len(data) > at_most:
            raise TooLarge(len(data), at_most)
        path.write_bytes(data)

    def delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._sky.objects.pop(name, None)


def _control(data: bytes) -> dict[str, Any]:
    """What a guardian reads in a control file; nothing in a damaged one, as `wire.controls` has it."""
    try:
        record = parse_json(data, "control")
    except NotJson:
        return {}
    return record if isinstance(record, dict) else {}


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


class Lost(CloudUnclear):
    """A call whose answer was lost."""

    def __init__(self) -> None:
        super().__init__("timed-out", raw="cut")
