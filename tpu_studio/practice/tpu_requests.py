"""What is asked of queued resources and nodes: made, deleted, stopped, changed. What time makes of them: `tpu_life`."""

from __future__ import annotations

from tpu_studio.practice import addresses
from tpu_studio.practice import tpu_show as show
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import not_found
from tpu_studio.practice.operations import Operations
from tpu_studio.practice.state import Record
from tpu_studio.practice.tpu_checks import Place, Wanted, not_while, wanted_record, wrong_state
from tpu_studio.practice.tpu_deletion import undeletable
from tpu_studio.practice.tpu_life import WAITED_S, Life
from tpu_studio.practice.tpu_show import NODE, QR


class Requests:
    """Each is answered at once, as a rule with the name of an operation."""

    def __init__(self, cloud: Cloud, operations: Operations, life: Life) -> None:
        self._cloud, self._db, self._clock, self._faults = cloud, cloud.db, cloud.clock, cloud.faults
        self._operations, self._life = operations, life

    # --------------------------------------------------------------------------------------------------------- asking

    def held(self, project: str) -> list[Record]:
        """What counts against the project's quota: every queued resource whatever its state, and bare nodes."""
        found = []
        for name, record in self._db.peek(QR):
            if name.startswith(f"projects/{project}/"):
                one = {"zone": record["zone"], "tier": record["tier"]}
                found += [{**one, "accelerator": node["accelerator"]} for node in record["wanted"]]
        for name, node in self._db.peek(NODE):
            if name.startswith(f"projects/{project}/") and not node["qr"]:
                found.append({"zone": node["zone"], "accelerator": node["accelerator"], "tier": node["tier"]})
        return found

    def get(self, kind: str, name: str) -> Record:
        """Raises GoogleError 404."""
        record = self._db.get(kind, name)
        if record is None:
            raise not_found(name)
        return record

    def lacks_addresses(self, place: Place, wanted: list[Wanted]) -> bool:
        return addresses.lack(self._cloud, place.project, place.zone, [wanted_record(one) for one in wanted])

    # --------------------------------------------------------------------------------------------------------- making

    def request(
        self,
        place: Place,
        id: str,
        body: Record,
        wanted: list[Wanted],
        tier: str,
        window: tuple[float, float],
        version: str,
        denied: str = "",
    ) -> str:
        """A queued resource, checked; its operation's name. *denied*: words with which that will fail."""
        now = self._clock.now()
        name = f"{place.parent}/queuedResources/{id}"
        about = {"zone": place.zone, "accelerator": wanted[0].part.accelerator_type, "tier": tier}
        later = self._faults.take("capacity-later", **about)
        fails = self._faults.take("stockout-in-operation", **about)
        foreign = self._faults.take("foreign-metadata-type", **about) is not None
        operation = self._operations.begin(
            place.parent,
            name,
            "create",
            version,
            foreign="google.cloud.tpu.later" if self._cloud.doubts.way("tpu-metadata-type") else foreign,
            never=self._faults.take("operation-never-ends", **about) is not None,
        )
        self._db.put(
            QR,
            name,
            {
                "body": body,
                "project": place.project,
                "zone": place.zone,
                "tier": tier,
                "state": "CREATING",
                "since": now,
                "create": now,
                "initiator": "SERVICE",
                "wait": WAITED_S + (later["seconds"] if later else 0.0),
                "fails": fails is not None,
                "denied": denied,
                "after": window[0],
                "until": window[1],
                "operation": operation,
                "version": version,
                "nodes": [],
                "wanted": [wanted_record(one) for one in wanted],
            },
        )
        return operation

    def make_node(self, place: Place, wanted: Wanted, tier: str, version: str) -> str:
        """A node without a queued resource; its operation's name."""
        name = f"{place.parent}/nodes/{wanted.id}"
        about = {"zone": place.zone, "accelerator": wanted.part.accelerator_type, "tier": tier}
        operation = self._operations.begin(
            place.parent,
            name,
            "create",
            version,
            foreign=self._faults.take("foreign-metadata-type", **about) is not None,
            never=self._faults.take("operation-never-ends", **about) is not None,
        )
        now = self._clock.now()
        fails = self._faults.take("stockout-in-operation", **about) is not None
        self._life.create(place.project, place.zone, wanted_record(wanted), tier, "", now, operation, version, fails)
        return operation

    # --------------------------------------------------------------------------------------------------------- ending

    def delete_request(self, name: str, force: bool, version: str) -> str:
        """The operation's name. Raises GoogleError 400 FAILED_PRECONDITION: it has nodes, and no *force*."""
        record = self.get(QR, name)
        if record["state"] == "DELETING":
            if self._cloud.doubts.way("second-delete"):
                raise wrong_state(not_while("DELETING"))
            return str(record["operation"])
        refused = undeletable(self._cloud, record, force)
        now = self._clock.now()
        operation = self._operations.begin(name.partition("/queuedResources/")[0], name, "delete", version)
        if refused:
            self._operations.finish(operation, now, error={"code": 9, "message": refused})
            return operation
        for node in record["nodes"]:
            self._life.to_delete(node, now)
        was = {"code": 1, "message": "The queued resource was deleted."}
        self._operations.finish(record["operation"], now, error=was)
        record.update(state="DELETING", since=now, initiator="USER", operation=operation)
        self._db.put(QR, name, record)
        return operation

    def delete_node(self, name: str, version: str) -> str:
        record = self.get(NODE, name)
        if record["state"] == "DELETING":
            return str(record["operation"])
        operation = self._operations.begin(name.partition("/nodes/")[0], name, "delete", version)
        record["operation"] = operation
        self._db.put(NODE, name, record)
        self._life.to_delete(name, self._clock.now(), "USER")
        return operation

    def reset(self, name: str, version: str) -> str:
        """A suspended or failed queued resource waits again. Raises GoogleError 400."""
        record = self.get(QR, name)
        if record["state"] not in ("SUSPENDED", "FAILED"):
            raise wrong_state(f"reset is not supported while in state {record['state']}")
        now = self._clock.now()
        operation = self._operations.begin(name.partition("/queuedResources/")[0], name, "reset", version)
        record.update(state="WAITING_FOR_RESOURCES", since=now, initiator="USER", fails=False, error=None, until=0.0)
        self._db.put(QR, name, record)
        self._operations.finish(operation, now, show.answer(self._clock, QR, name, record, version))
        return operation

    def switch(self, name: str, verb: str, version: str) -> str:
        """*verb*: stop, start, performMaintenance. Raises GoogleError 400: several machines, a wrong state."""
        record = self.get(NODE, name)
        if verb == "stop" and record["workers"] > 1:
            raise wrong_state("Stopping a TPU pod slice is not supported.")
        states = {
            "stop": ("READY", "STOPPING"),
            "start": ("STOPPED", "STARTING"),
            "performMaintenance": ("READY", "RESTARTING"),
        }
        needs, becomes = states[verb]
        if record["state"] != needs:
            raise wrong_state(f"{verb} is not supported while in state {record['state']}")
        operation = self._operations.begin(name.partition("/nodes/")[0], name, verb, version)
        record.update(state=becomes, since=self._clock.now(), operation=operation)
        self._db.put(NODE, name, record)
        return operation

    def patch(self, name: str, change: Record, version: str) -> str:
        """Raises GoogleError 400: not while it is being made or taken away."""
        record = self.get(NODE, name)
        if record["state"] not in ("READY", "STOPPED"):
            raise wrong_state(f"update is not supported while in state {record['state']}")
        record["body"].update(change)
        self._db.put(NODE, name, record)
        now = self._clock.now()
        operation = self._operations.begin(name.partition("/nodes/")[0], name, "update", version)
        self._operations.finish(operation, now, show.answer(self._clock, NODE, name, record, version))
        return operation

    def maintenance(self, name: str, version: str) -> str:
        """An announced one (v2alpha1 simulateMaintenanceEvent)."""
        record = self.get(NODE, name)
        now = self._clock.now()
        record["maintenance"] = {
            "type": "SCHEDULED",
            "maintenanceStatus": "PENDING",
            "canReschedule": True,
            "windowStartTime": self._clock.rfc3339(now + 3600),
            "windowEndTime": self._clock.rfc3339(now + 7200),
        }
        self._db.put(NODE, name, record)
        operation = self._operations.begin(name.partition("/nodes/")[0], name, "simulateMaintenanceEvent", version)
        self._operations.finish(operation, now, show.answer(self._clock, NODE, name, record, version))
        return operation
