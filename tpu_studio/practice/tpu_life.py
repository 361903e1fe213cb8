"""The life of queued resources and nodes: what is made, what becomes of it with time, and what it costs.

    queued resource  CREATING → WAITING_FOR_RESOURCES → PROVISIONING → ACTIVE → SUSPENDING → SUSPENDED
    node                                                CREATING     → READY  → PREEMPTED  → gone     (reference §2.7)

Each turn of the ticker first moves records along, at the moment each step was due and in one transaction, and then sees
to the machines: what a record says about its machine (``vm``: "", on, off) is made true outside the transaction, so a
server that was killed in between takes it up again (`tpu_vms`). How a record looks from outside: `tpu_show`.
"""

from __future__ import annotations

import zlib

from tpu_studio.domain.generations import region_of
from tpu_studio.practice import addresses, besides, entitlements, tpu_offer
from tpu_studio.practice import tpu_show as show
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.operations import Operations
from tpu_studio.practice.state import Record
from tpu_studio.practice.tpu_checks import (
    eid,
    run_until,
    stockout_error,
)
from tpu_studio.practice.tpu_show import NODE, QR
from tpu_studio.practice.tpu_vms import STOP_S, Machines

# Practice seconds. Real ones are longer and vary: the fault capacity-later has the wait that was observed (132 s).
JUDGED_S, WAITED_S, BOOT_S, SUSPEND_S, DELETE_S = 1.0, 1.0, 3.0, 2.0, 2.0


class Life:
    def __init__(self, cloud: Cloud, operations: Operations) -> None:
        self._cloud, self._db, self._clock, self._faults = cloud, cloud.db, cloud.clock, cloud.faults
        self._operations = operations
        self._machines = Machines(cloud)
        cloud.busy.append(self._is_busy)
        cloud.ending.append(self.end_all)

    # ----------------------------------------------------------------------------------------------------------- time

    def turn(self) -> None:
        """The ticker's."""
        self.advance()
        self._machines.see_to()

    def advance(self) -> None:
        """Everything that is due by now."""
        if not self._stirring(QR) and not self._stirring(NODE):
            return
        now = self._clock.now()
        with self._db.transaction():
            moved = True
            while moved:
                moved = False
                for name in self._stirring(QR):
                    if (record := self._db.get(QR, name)) is not None:
                        moved |= self._move_request(name, record, now)
                for name in self._stirring(NODE):
                    if (record := self._db.get(NODE, name)) is not None:
                        moved |= self._move_node(name, record, now)

    def _stirring(self, kind: str) -> list[str]:
        """Those that may have to be moved; machines that are ready and left alone are none of them."""
        if kind == QR:
            states = {name: record["state"] for name, record in self._db.peek(NODE)}
            return [
                name
                for name, record in self._db.peek(QR)
                if record["state"] not in ("SUSPENDED", "FAILED")
                and (
                    record["state"] != "ACTIVE"
                    or any(states.get(node, "") in ("", "PREEMPTED", "DELETING") for node in record["nodes"])
                )
            ]
        struck = any(record["name"] in ("node-gone", "preempted") for _, record in self._db.peek("fault"))
        return [
            name
            for name, record in self._db.peek(NODE)
            if record["state"] not in ("STOPPED", "PREEMPTED")
            and (record["state"] != "READY" or struck or record.get("preempt") or record["stops"])
        ]

    def _move_request(self, name: str, record: Record, now: float) -> bool:
        state, since = record["state"], record["since"]
        if record["until"] and record["until"] <= now and state in ("CREATING", "WAITING_FOR_RESOURCES"):
            text = "The queued resource could not be provisioned within the time that its queueing policy allows."
            if self._cloud.doubts.way("valid-until"):
                record["initiator"] = "SERVICE"
                return self._step(name, record, "SUSPENDED", record["until"])
            return self._fail(name, record, record["until"], 4, text)
        if state == "CREATING" and since + JUDGED_S <= now:
            if record.get("denied"):
                return self._fail(name, record, since + JUDGED_S, entitlements.DENIED, record["denied"])
            if record["fails"]:
                error = stockout_error(self._cloud, record["zone"])
                return self._fail(name, record, since + JUDGED_S, error["code"], error["message"])
            self._step(name, record, "WAITING_FOR_RESOURCES", since + JUDGED_S)
            answer = show.answer(self._clock, QR, name, record, record["version"])
            self._operations.finish(record["operation"], since + JUDGED_S, answer)
            return True
        if state == "WAITING_FOR_RESOURCES":
            return self._move_waiting(name, record, now)
        if state == "PROVISIONING" and record.get("addressless") and since + BOOT_S <= now:  # field: within 2 minutes
            return self._step(name, record, "SUSPENDING", since + BOOT_S)
        if state == "PROVISIONING" and (stalled := record.get("stalled", 0.0)):
            return stalled <= now and self._make_nodes(name, {**record, "stalled": 0.0}, stalled)
        if state == "PROVISIONING" and since + BOOT_S <= now:
            return self._provisioned(name, record, since + BOOT_S)
        if state == "ACTIVE":
            lost = [node for node in record["nodes"] if self._state(node) in ("", "PREEMPTED", "DELETING")]
            if lost:
                by_user = any((self._db.get(NODE, node) or {}).get("ended_by") == "USER" for node in lost)
                record["initiator"] = "USER" if by_user else "SERVICE"
                return self._step(name, record, "SUSPENDING", now)
        if state == "SUSPENDING" and record.get("addressless") and since + SUSPEND_S <= now:
            return self._fail(name, record, since + SUSPEND_S, addresses.EXHAUSTED, f"{addresses.WORDS} {eid()}")
        if state == "SUSPENDING" and since + SUSPEND_S <= now:
            left = [node for node in record["nodes"] if self._state(node)]
            if left and self._cloud.doubts.way("suspended-means-gone"):
                return self._step(name, record, "SUSPENDED", now)  # with its nodes
            for node in left:
                self.to_delete(node, since + SUSPEND_S)
            if not left:
                record["nodes"] = []
                return self._step(name, record, "SUSPENDED", now)
        if state == "DELETING" and since + DELETE_S <= now and not any(map(self._state, record["nodes"])):
            self._db.delete(QR, name)
            self._operations.finish(record["operation"], now)
            return True
        return False

    def _move_waiting(self, name: str, record: Record, now: float) -> bool:
        about = {"zone": record["zone"], "accelerator": record["wanted"][0]["accelerator"], "tier": record["tier"]}
        if self._faults.armed("stockout-for-ever", **about) is not None:
            if not record.get("held"):
                record["held"] = True
                self._db.put(QR, name, record)
            return False
        if record.pop("held", False):
            record["since"] = now
            self._db.put(QR, name, record)
        due = max(record["since"] + record["wait"], record["after"])
        if due > now:
            return False
        if addresses.lack(self._cloud, record["project"], record["zone"], record["wanted"]):
            record["addressless"] = True
            return self._step(name, record, "PROVISIONING", due)
        stalled = self._faults.take("provisioning-stalls", **about)
        if stalled is not None:  # no node is there meanwhile, so nothing is charged
            record["stalled"] = due + stalled["seconds"]
            return self._step(name, record, "PROVISIONING", due)
        return self._make_nodes(name, record, due)

    def _make_nodes(self, name: str, record: Record, at: float) -> bool:
        record["nodes"] = [
            self.create(record["project"], record["zone"], one, record["tier"], name, at, "", record["version"], False)
            for one in record["wanted"]
        ]
        return self._step(name, record, "PROVISIONING", at)

    def _provisioned(self, name: str, record: Record, at: float) -> bool:
        about = {"zone": record["zone"], "accelerator": record["wanted"][0]["accelerator"], "tier": record["tier"]}
        if self._faults.take("provisioning-flap", **about) is not None:
            for node in record["nodes"]:
                if self._cloud.doubts.way("vanished-not-billed"):
                    self._cloud.meter.end(node, at)
                self._cloud.meter.waive(node)
                self._db.delete(NODE, node)
            record["nodes"] = []
            return self._step(name, record, "WAITING_FOR_RESOURCES", at)
        for node in record["nodes"]:
            self._ready(node, self._db.get(NODE, node) or {}, at, run_until(record["body"], at))
        return self._step(name, record, "ACTIVE", at)

    def _fail(self, name: str, record: Record, at: float, code: int, text: str) -> bool:
        record["error"] = {"code": code, "message": text}
        record["initiator"] = "SERVICE"
        self._operations.finish(record["operation"], at, error=record["error"])
        return self._step(name, record, "FAILED", at)

    def _step(self, name: str, record: Record, state: str, at: float) -> bool:
        record.update(state=state, since=at)
        self._db.put(QR, name, record)
        return True

    # ---------------------------------------------------------------------------------------------------------- nodes

    def create(
        self,
        project: str,
        zone: str,
        wanted: Record,
        tier: str,
        qr: str,
        at: float,
        operation: str,
        version: str,
        fails: bool,
    ) -> str:
        """A node that is charged from now on, unless it *fails*; its name."""
        name = f"projects/{project}/locations/{zone}/nodes/{wanted['id']}"
        part = tpu_offer.by_type(wanted["accelerator"])
        assert part is not None
        self._db.put(
            NODE,
            name,
            {
                **wanted,
                "project": project,
                "zone": zone,
                "tier": tier,
                "qr": qr,
                "state": "CREATING",
                "since": at,
                "create": at,
                "operation": operation,
                "version": version,
                "fails": fails,
                "vm": "",
                "number": str(zlib.crc32(name.encode()) * 1_000_003 + int(at) % 1_000_003),
            },
        )
        if not fails:
            sku = f"TPU {part.generation} {tier} {region_of(zone)}"
            late = BOOT_S if self._cloud.doubts.way("billing-begins") else 0.0
            more = besides.of_machine(self._cloud, zone, tier, part.vms, compute=False)
            self._cloud.meter.begin(name, sku, tpu_offer.usd_per_hour(part, zone, tier), at + late, more)
        return name

    def to_delete(self, name: str, at: float, by: str = "SERVICE") -> None:
        record = self._db.get(NODE, name)
        if record is not None and record["state"] != "DELETING":
            record.update(state="DELETING", since=at, ended_by=by)
            self._db.put(NODE, name, record)

    def _ready(self, name: str, record: Record, at: float, until: float = 0.0) -> None:
        record.update(state="READY", since=at, ready=at, stops=until or record.get("stops", 0.0))
        self._db.put(NODE, name, record)
        if record["operation"]:
            answer = show.answer(self._clock, NODE, name, record, record["version"])
            self._operations.finish(record["operation"], at, answer)

    def _move_node(self, name: str, record: Record, now: float) -> bool:
        state, since = record["state"], record["since"]
        if state == "CREATING" and not record["qr"] and since + BOOT_S <= now:
            if record["fails"]:
                error = stockout_error(self._cloud, record["zone"])
                self._operations.finish(record["operation"], since + BOOT_S, error=error)
                self._db.delete(NODE, name)
            else:
                self._ready(name, record, since + BOOT_S)
            return True
        if state in ("STARTING", "RESTARTING") and since + STOP_S <= now:
            if state == "STARTING":
                part = tpu_offer.by_type(record["accelerator"])
                assert part is not None
                price = tpu_offer.usd_per_hour(part, record["zone"], record["tier"])
                sku = f"TPU {part.generation} {record['tier']} {region_of(record['zone'])}"
                more = besides.of_machine(self._cloud, record["zone"], record["tier"], part.vms, compute=False)
                self._cloud.meter.begin(name, sku, price, since, more)
            self._ready(name, record, since + STOP_S)
            return True
        if state == "STOPPING" and since + STOP_S <= now and record["vm"] != "on":
            self._cloud.meter.end(name, since + STOP_S)
            record.update(state="STOPPED", since=since + STOP_S)
            self._db.put(NODE, name, record)
            self._operations.finish(
                record["operation"], since + STOP_S, show.answer(self._clock, NODE, name, record, record["version"])
            )
            return True
        if state == "READY":
            return self._misfortune(name, record, now)
        if state == "DELETING" and since + DELETE_S <= now and not record["vm"]:
            self._gone(name, record, now)
            return True
        return False

    def _misfortune(self, name: str, record: Record, now: float) -> bool:
        about = {"node": record["id"], "zone": record["zone"], "tier": record["tier"]}
        taken_away = record.get("preempt", 0.0)
        if record.get("taken"):  # the doubt suspended-means-gone: it stays as it is
            return False
        if taken_away and taken_away <= now:
            return self._taken(name, record, taken_away)
        if record["stops"] and record["stops"] <= now:  # the platform's own end of a flex-start loan
            self._loan_over(name, record)
            return True
        gone = self._faults.armed("node-gone", **about)
        if gone is not None and record["ready"] + gone["seconds"] <= now:
            self._faults.take("node-gone", **about)
            record.update(state="DELETING", since=now - DELETE_S, ended_by="SERVICE")
            self._db.put(NODE, name, record)
            return True
        soon = self._faults.armed("preempted", **about)
        if not taken_away and soon is not None and record["ready"] + soon["seconds"] <= now:
            self._faults.take("preempted", **about)
            record.update(preempt=now + soon["notice"], notice=soon["notice"])
            self._db.put(NODE, name, record)
            return True
        return False

    def _taken(self, name: str, record: Record, at: float) -> bool:
        """Google has taken it back."""
        doubts = self._cloud.doubts
        stays = doubts.way("suspended-means-gone")
        record.update(state="READY" if stays else "PREEMPTED", since=at, preempt=0.0, notice=None, taken=bool(stays))
        self._db.put(NODE, name, record)
        if stays:  # its request says that it was suspended, and the node does not know
            request = self._db.get(QR, record["qr"])
            if request is not None and request["state"] == "ACTIVE":
                request["initiator"] = "SERVICE"
                self._step(record["qr"], request, "SUSPENDING", at)
        elif not doubts.way("off-not-charged"):
            self._cloud.meter.end(name, at)
        if doubts.way("taken-back-no-time"):
            told = self._operations.begin(name.partition("/nodes/")[0], name, "preempt", record["version"])
            self._operations.finish(told, at)
        return True

    def _loan_over(self, name: str, record: Record) -> None:
        """The platform's own end of a flex-start loan."""
        at, way = record["stops"], self._cloud.doubts.way("flex-end")
        self.to_delete(name, at)
        request = self._db.get(QR, record["qr"])
        if request is None or not way or request["state"] != "ACTIVE":
            return
        request["initiator"] = "SERVICE"
        if way == "gone":
            self._step(record["qr"], request, "DELETING", at)
        else:
            self._fail(record["qr"], request, at, 4, "The run duration of the queued resource has elapsed.")

    def _gone(self, name: str, record: Record, at: float) -> None:
        asked = record["state"] == "DELETING" and self._cloud.doubts.way("billing-ends")
        self._cloud.meter.end(name, record["since"] if asked else at)
        self._db.delete(NODE, name)
        if record["operation"] and record["state"] == "DELETING":
            self._operations.finish(record["operation"], at)

    # ------------------------------------------------------------------------------------------------------- machines

    def end_all(self) -> None:
        """Every queued resource and node is gone, and every machine with them."""
        with self._db.transaction():
            now, nodes = self._clock.now(), [name for name, _ in self._db.peek(NODE)]
            for name, record in self._db.list(NODE):
                record["state"] = "DELETING"
                self._gone(name, record, now)
            for name, record in self._db.list(QR):
                self._db.delete(QR, name)
                self._operations.finish(record["operation"], now)
        self._machines.end(nodes)

    def _state(self, node: str) -> str:
        """ "" when it is gone."""
        record = self._db.get(NODE, node)
        return str(record["state"]) if record else ""

    def _is_busy(self) -> bool:
        return bool(self._db.peek(QR) or self._db.peek(NODE))
