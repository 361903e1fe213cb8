"""Zone operations of Compute Engine: begun by a call, ended at a time or by the life of an instance."""

from __future__ import annotations

import secrets
from typing import Any

from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.state import Record

HOME = "https://www.googleapis.com/compute/v1"
_KIND, _BY_REQUEST = "compute-operation", "compute-request"


class ComputeOperations:
    """Stored by ``projects/P/zones/Z/operations/OP``."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def begin(self, project: str, zone: str, kind: str, target: str, target_id: str, user: str, **more: Any) -> str:
        """Its full name.

        Args:
            kind: ``insert``, ``delete`` …; *target*: name of the instance.
            more: ``done_at`` (practice seconds) for one that ends by itself, with ``error`` (one of its ``errors``);
                ``never``: a fault, it does not end; ``request``: the request id that stands for it.
        """
        now = self._cloud.clock.now()
        number = secrets.randbelow(2**62) + 2**62
        name = f"operation-{int(now * 1000)}-{secrets.token_hex(6)}-{secrets.token_hex(4)}-{secrets.token_hex(4)}"
        full = f"projects/{project}/zones/{zone}/operations/{name}"
        record = {
            "id": str(number),
            "name": name,
            "project": project,
            "zone": zone,
            "kind": kind,
            "target": target,
            "target_id": target_id,
            "user": user,
            "begun": now,
            **more,
        }
        with self._cloud.db.transaction():
            self._cloud.db.put(_KIND, full, record)
            if more.get("request"):
                self._cloud.db.put(_BY_REQUEST, f"{project}/{zone}/{more['request']}", {"operation": full})
        return full

    def of_request(self, project: str, zone: str, request: str) -> str | None:
        """The operation that an earlier call with this request id began."""
        found = self._cloud.db.get(_BY_REQUEST, f"{project}/{zone}/{request}") if request else None
        return None if found is None else str(found["operation"])

    def finish(self, full: str, error: Record | None = None, at: float | None = None) -> None:
        """*at*: practice seconds; None: now."""
        with self._cloud.db.transaction():
            record = self._cloud.db.get(_KIND, full)
            if record is not None and "done_at" not in record and not record.get("never"):
                more: Record = {"error": error} if error else {}
                more["done_at"] = self._cloud.clock.now() if at is None else at
                self._cloud.db.put(_KIND, full, {**record, **more})

    def show(self, full: str) -> Record | None:
        record = self._cloud.db.get(_KIND, full)
        return None if record is None else self._shown(record)

    def list(self, prefix: str) -> list[Record]:
        return [self._shown(record) for _, record in self._cloud.db.list(_KIND, prefix)]

    def _shown(self, record: Record) -> Record:
        clock, zone = self._cloud.clock, f"{HOME}/projects/{record['project']}/zones/{record['zone']}"
        ended = record.get("done_at", float("inf"))
        done = ended <= clock.now()
        running = clock.now() >= record["begun"] + 0.2
        shown: Record = {
            "kind": "compute#operation",
            "id": record["id"],
            "name": record["name"],
            "zone": zone,
            "operationType": record["kind"],
            "targetLink": f"{zone}/instances/{record['target']}",
            "targetId": record["target_id"],
            "status": "DONE" if done else "RUNNING" if running else "PENDING",
            "user": record["user"],
            "insertTime": clock.rfc3339(record["begun"]),
            "selfLink": f"{zone}/operations/{record['name']}",
        }
        if running or done:
            shown["startTime"] = clock.rfc3339(record["begun"])
        if done:
            shown |= {"progress": 100, "endTime": clock.rfc3339(ended)}
            if record.get("error"):
                quota = record["error"]["code"] == "QUOTA_EXCEEDED"
                shown["error"] = {"errors": [record["error"]]}
                shown["httpErrorStatusCode"] = 403 if quota else 503
                shown["httpErrorMessage"] = "FORBIDDEN" if quota else "SERVICE UNAVAILABLE"
        return shown
