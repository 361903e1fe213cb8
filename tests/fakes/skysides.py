"""The sides of a `Sky` (``tests.fakes.skies``), each a port of ``workflow.cloudruns.ports``, and what it has made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.wire.errors import CloudRefused
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.sizes import TooLarge
from tpu_studio.workflow.cloudruns.gate import GONE, NOT_FOUND, PERMISSION_DENIED, Account, Evidence
from tpu_studio.workflow.cloudruns.ports import (
    LISTED_AT_MOST,
    CloudSide,
    Deletion,
    MachineSeen,
    Progress,
    Ref,
    Stored,
    Wanted,
)

if TYPE_CHECKING:
    from tests.fakes.skies import Sky


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


class Clock:
    speed = 1.0

    def __init__(self, sky: Sky) -> None:
        self._sky = sky

    def now(self) -> float:
        self._sky.now += 0.001
        return self._sky.now

    def carried(self) -> float | None:
        return self._sky.now


class Preparing:
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


class Machines:
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


class Stops:
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


class Rights:
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


class Box:
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

    def list(self, prefix: str, *, start: str = "", most: int = LISTED_AT_MOST) -> Sequence[Stored]:
        self._sky.hook("list", False)
        names = sorted(name for name in self._sky.objects if name.startswith(prefix) and name >= start)
        return [found for name in names[:most] if (found := self.stat(name)) is not None]

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


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
