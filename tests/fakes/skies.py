"""A cloud in memory, honest and with faults: machines, stops, bucket, price, and a guardian that trains by the clock.

Implements ``workflow.cloudruns.ports``. Time passes only when a test says so (`Sky.pass_time`), stops fire when their
time has come, a machine is billed from its creation to its deletion. Everything survives the death of whoever uses it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.fakes.plans import plan as computer_plan
from tests.fakes.skysides import Box, Clock, Machines, Node, Preparing, Rights, Stops
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.wire.events import encode, event
from tpu_studio.wire.jsonfile import NotJson, parse_json
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.ports import (
    CloudPlace,
    CloudSide,
    Deletion,
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
    stopper: The account of the shut-off timers; "": the runner's.
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
        tasks = (*self.tasks.values(), *self.added.values())
        if not self.nodes and all(at > until for _, at in tasks):  # nothing happens
            self.now = until
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
        return CloudPlace(connect=lambda plan: self.side(), preparing=Preparing(self))

    def side(self) -> CloudSide:
        return CloudSide(
            place="practice",
            project="sky",
            runner="runner@sky",
            stopper=self.stopper,
            machines={"tpu": Machines(self)},
            stops=Stops(self),
            mailbox=Box(self),
            clock=Clock(self),
            rights=Rights(self),
            endpoints={
                "storage": "http://sky",
                "tpu": "http://sky",
                "compute": "http://sky",
                "tasks": "http://sky",
                "resourcemanager": "http://sky",
            },
        )


def _control(data: bytes) -> dict[str, Any]:
    """What a guardian reads in a control file; nothing in a damaged one, as `wire.controls` has it."""
    try:
        record = parse_json(data, "control")
    except NotJson:
        return {}
    return record if isinstance(record, dict) else {}


class Lost(CloudUnclear):
    """A call whose answer was lost."""

    def __init__(self) -> None:
        super().__init__("timed-out", raw="cut")
