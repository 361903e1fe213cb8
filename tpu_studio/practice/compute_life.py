"""The life of a Compute Engine instance: capacity, boot, preemption, the end of its time, deletion; and what it costs.

Every instance is a record of the kind ``compute-instance`` under ``projects/P/zones/Z/instances/N``; `Instances.turn`,
called by the ticker, moves each one on. Processes are never touched inside a transaction.

Charged from creation until it is off (TERMINATED) or gone; at Google the instant at which charging begins may be later.
"""

from __future__ import annotations

import secrets
from typing import Any

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.practice import addresses, besides
from tpu_studio.practice import compute_checks as checks
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.compute_checks import KIND, Wanted
from tpu_studio.practice.compute_operations import ComputeOperations
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.state import Record
from tpu_studio.practice.vms import MachineSpec
from tpu_studio.wire import loans

QUOTA_KNOWN_S, STOCKOUT_KNOWN_S = 1.0, 5.0  # a quota is known at once, want of capacity after a while
STAGING_AFTER_S, RUNNING_AFTER_S = 1.0, 3.0
NOTICE_S = 30.0  # between the warning and the end: preemption and the end of its time
LAST_WORDS_S = 2.0  # what a deletion leaves it
STOPPING = "STOPPING"
_COUNTS = ("PENDING", "PROVISIONING", "STAGING", "RUNNING", STOPPING)  # against quota


class Instances:
    def __init__(self, cloud: Cloud, operations: ComputeOperations) -> None:
        self._cloud, self._operations = cloud, operations

    # ------------------------------------------------------------------------------------------------ what is asked

    def insert(self, project: str, zone: str, wanted: Wanted, body: Record, user: str, request: str) -> str:
        """Begin; the operation's full name. The caller has made sure that the name is free."""
        now = self._cloud.clock.now()
        name = f"projects/{project}/zones/{zone}/instances/{wanted.name}"
        id = str(secrets.randbelow(2**62) + 2**62)

        def begin(**more: Any) -> str:
            return self._operations.begin(project, zone, "insert", wanted.name, id, user, request=request, **more)

        about = {"zone": zone, "accelerator": wanted.offer.part.accelerator_type, "backend": "compute"}
        held = [record for _, record in self._cloud.db.list(KIND, f"projects/{project}/")]
        held = [record for record in held if record["status"] in _COUNTS]
        error = checks.quota_error(self._cloud, zone, wanted.offer, wanted.tier, held)
        error = error or addresses.refusal(self._cloud, project, zone, body)
        if error is not None and self._cloud.doubts.way("compute-quota-where"):
            raise GoogleError(403, "PERMISSION_DENIED", error["message"], reason="quotaExceeded")
        if error is not None:
            return begin(done_at=now + QUOTA_KNOWN_S, error=error)
        for_ever = self._cloud.faults.armed("stockout-for-ever", **about) is not None
        waits = for_ever and loans.by_id(wanted.tier).waits
        if not waits and (
            for_ever
            or self._cloud.faults.take("stockout-at-submit", **about) is not None
            or self._cloud.faults.take("stockout-in-operation", **about) is not None
        ):
            no_room = checks.stockout_error(project, zone, wanted.offer)
            return begin(done_at=now + STOCKOUT_KNOWN_S, error=no_room)
        operation = begin(never=self._cloud.faults.take("operation-never-ends", **about) is not None)
        part, chips = wanted.offer.part, wanted.offer.machine.chips
        price = catalogue().price(wanted.offer.generation.id, chips, zone, wanted.tier)
        record: Record = {
            "project": project,
            "zone": zone,
            "name": wanted.name,
            "id": id,
            "body": body,
            "generation": wanted.offer.generation.id,
            "accelerator": part.accelerator_type,
            "chips": chips,
            "topology": part.topology,
            "tier": wanted.tier,
            "account": wanted.account,
            "scopes": list(wanted.scopes),
            "run_s": wanted.run_s,
            "ends_with": wanted.ends_with,
            "created": now,
            "status": "PENDING" if waits else "PROVISIONING",
            "since": now,
            "waits_until": now + wanted.waits_s,
            "rate": None if price is None else price.usd_per_hour(chips),
            "operations": [operation],
        }
        self._cloud.db.put(KIND, name, record)
        if not waits or self._cloud.doubts.way("flex-pending-free"):
            self._charge(name, record, now)
        return operation

    def ask(self, name: str, kind: str, user: str, request: str = "") -> str:
        """``delete``, ``stop``, ``start`` or ``reset`` an instance that is there; the operation's full name."""
        with self._cloud.db.transaction():
            record = self._cloud.db.get(KIND, name)
            assert record is not None
            project, zone, short = record["project"], record["zone"], record["name"]
            operation = self._operations.begin(project, zone, kind, short, record["id"], user, request=request)
            more: Record = {"operations": [*record["operations"], operation]}
            status = record["status"]
            if kind == "delete":
                more |= {"leaving": "DELETE", "notice": LAST_WORDS_S}
            elif kind == "stop" and status in _COUNTS:
                more |= {"leaving": "STOP", "notice": NOTICE_S}
            elif kind == "start" and status == "TERMINATED":
                more |= {"status": "STAGING", "since": self._cloud.clock.now() - STAGING_AFTER_S, "leaving": ""}
            elif kind == "reset" and status == "RUNNING":
                more |= {"reset": True}
            self._cloud.db.put(KIND, name, {**record, **more})
        if kind == "start":
            self._charge(name, record, self._cloud.clock.now())
        return operation

    # ------------------------------------------------------------------------------------------------ time goes on

    def turn(self) -> None:
        """Move every instance on."""
        for name, record in self._cloud.db.list(KIND):
            self._move(name, record)

    def _move(self, name: str, record: Record) -> None:
        now, status = self._cloud.clock.now(), record["status"]
        if status == STOPPING:
            self._leave(name, record, now)
        elif record.get("leaving"):
            self._warn(name, record, now, preempted=False)
        elif status == "PENDING":
            self._wait(name, record, now)
        elif status == "PROVISIONING" and now >= record["since"] + STAGING_AFTER_S:
            self._update(name, status="STAGING")
        elif status == "STAGING" and now >= record["since"] + RUNNING_AFTER_S:
            self._boot(name, record, now)
        elif status == "RUNNING":
            self._watch(name, record, now)

    def _wait(self, name: str, record: Record, now: float) -> None:
        about = {"zone": record["zone"], "accelerator": record["accelerator"], "backend": "compute"}
        if self._cloud.faults.armed("stockout-for-ever", **about) is None:
            created = now if self._cloud.doubts.way("flex-created") else record["created"]
            self._update(name, status="PROVISIONING", since=now, created=created)
            self._charge(name, record, now)  # a line that runs stays as it is
        elif now >= record["waits_until"]:  # "disappears without an error": field report
            self._forget(name, record, now)

    def _boot(self, name: str, record: Record, now: float) -> None:
        if self._cloud.vms is not None:
            self._cloud.vms.start(name, self.spec(name, record))
        faults: Record = {}
        about = {"zone": record["zone"], "accelerator": record["accelerator"], "backend": "compute"}
        if loans.by_id(record["tier"]).spare:
            soon = self._cloud.faults.take("preempted", **about)
            at_step = self._cloud.faults.take("preempted-at-step", **about)
            if soon is not None:
                faults |= {"preempt_at": now + float(soon["seconds"]), "preempt_notice": float(soon["notice"])}
            if at_step is not None and self._cloud.vms is not None:
                self._cloud.vms.preempt_at(name, int(at_step["step"]), float(at_step["notice"]))
        gone = self._cloud.faults.take("node-gone", **about)
        if gone is not None:
            faults["gone_at"] = now + float(gone["seconds"])
        ends_at = now + record["run_s"] if record["run_s"] else 0.0
        self._update(name, status="RUNNING", started=now, ends_at=ends_at, **faults)
        self._finish_all(name)

    def _watch(self, name: str, record: Record, now: float) -> None:
        vms = self._cloud.vms
        if record.get("gone_at", now + 1) <= now:
            if vms is not None:
                vms.kill(name)
            self._forget(name, record, now)
        elif vms is not None and (noticed := vms.noticed(name)) is not None:
            self._preempted(name, record, noticed)
        elif record.get("preempt_at", now + 1) <= now:
            self._warn(name, record, now, preempted=True)
        elif record["ends_at"] and record["ends_at"] <= now:
            self._warn(name, record, now, preempted=False)
        elif vms is not None and record.get("reset"):
            vms.reboot(name, LAST_WORDS_S)
            self._update(name, reset=False)
            self._finish_all(name)
        elif vms is not None and not vms.alive(name):
            self._meter_off(name, now)
            self._update(name, status="TERMINATED", stopped=now)

    def _warn(self, name: str, record: Record, now: float, *, preempted: bool) -> None:
        """Begin the end: somebody's, the platform's, or its own time's."""
        running = record["status"] == "RUNNING"
        notice = record.get("preempt_notice", NOTICE_S) if preempted else record.get("notice", NOTICE_S)
        if not preempted and not record.get("leaving") and self._cloud.doubts.way("compute-max-run-from"):
            notice = 0.0
        if running and self._cloud.vms is not None:
            if preempted:
                self._cloud.vms.stop(name, notice)
            else:
                self._cloud.vms.shut_down(name, notice)
        if preempted:
            self._preempted(name, record, now)
        else:
            leaving = record.get("leaving") or record["ends_with"]
            self._update(name, status=STOPPING, leaving=leaving, off_by=now + (notice if running else 0.0))

    def _preempted(self, name: str, record: Record, now: float) -> None:
        operations = record["operations"]
        if not self._cloud.doubts.way("compute-preempted-operation"):
            kind = "compute.instances.preempted"
            by = self._operations.begin(record["project"], record["zone"], kind, record["name"], record["id"], "system")
            operations = [*operations, by]
        notice = record.get("preempt_notice", NOTICE_S)
        self._update(
            name, status=STOPPING, leaving=record["ends_with"], off_by=now + notice, operations=operations, taken=True
        )

    def _leave(self, name: str, record: Record, now: float) -> None:
        vms = self._cloud.vms
        if vms is not None and vms.alive(name):
            return
        if vms is None and now < record["off_by"]:
            return
        if record["leaving"] == "DELETE":
            if vms is not None:
                vms.kill(name)
            self._forget(name, record, min(now, record["off_by"]) if record.get("taken") else self._cloud.clock.now())
        else:
            self._meter_off(name, min(now, record["off_by"]) if record.get("taken") else now)
            self._update(name, status="TERMINATED", stopped=now, leaving="")
            self._finish_all(name)

    # ------------------------------------------------------------------------------------------------ inside

    def spec(self, name: str, record: Record) -> MachineSpec:
        return MachineSpec(
            resource=name,
            project=record["project"],
            zone=record["zone"],
            node=record["name"],
            backend="compute",
            accelerator_type=record["accelerator"],
            chips=record["chips"],
            topology=record["topology"],
            workers=1,
            service_account=record["account"],
            scopes=tuple(record["scopes"]),
            spot=loans.by_id(record["tier"]).spare,
            metadata=checks.metadata(record["body"]),
            labels=record["body"].get("labels", {}),
            run_at=record["created"],
        )

    def _update(self, name: str, **more: object) -> None:
        with self._cloud.db.transaction():
            record = self._cloud.db.get(KIND, name)
            if record is not None:
                self._cloud.db.put(KIND, name, {**record, **more})

    def _finish_all(self, name: str) -> None:
        record = self._cloud.db.get(KIND, name)
        for operation in record["operations"] if record else []:
            self._operations.finish(operation)

    def _forget(self, name: str, record: Record, now: float) -> None:
        self._meter_off(name, now)
        current = self._cloud.db.get(KIND, name) or record
        self._cloud.db.delete(KIND, name)
        for operation in current["operations"]:
            self._operations.finish(operation, at=now)

    def _charge(self, name: str, record: Record, at: float) -> None:
        sku = f"{record['generation']} {record['tier']} {record['zone']}"
        late = STAGING_AFTER_S + RUNNING_AFTER_S if self._cloud.doubts.way("compute-billing") else 0.0
        more = besides.of_machine(self._cloud, record["zone"], record["tier"], 1, compute=True)
        self._cloud.meter.begin(name, sku, record["rate"], at + late, more)

    def _meter_off(self, name: str, at: float) -> None:
        self._cloud.meter.end(name, at)
