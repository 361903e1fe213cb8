"""Long-running operations of the Cloud TPU API (google-cloud.md §2.8): asked for by name, ended by `tpu_life`."""

from __future__ import annotations

import secrets

from tpu_studio.practice.clock import Clock
from tpu_studio.practice.errors import not_found
from tpu_studio.practice.state import Database, Record


class Operations:
    """Names are ``projects/P/locations/Z/operations/operation-…``."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db, self._clock = db, clock

    def begin(self, parent: str, target: str, verb: str, version: str, **more: object) -> str:
        """Its name.

        Args:
            parent: ``projects/P/locations/Z``.
            more: ``foreign``: carry another service's metadata type (True), or one of that package; ``never``: it does
                not end (faults).
        """
        now = self._clock.now()
        name = f"{parent}/operations/operation-{int(now * 1000)}-{secrets.token_hex(6)}-{secrets.token_hex(4)}"
        record = {"target": target, "verb": verb, "version": version, "create": now, "done": False, **more}
        self._db.put("tpu-operation", name, record)
        return name

    def finish(self, name: str, at: float, response: Record | None = None, error: Record | None = None) -> None:
        """*response* with its ``@type``; *error* ``{"code", "message"}``. One that is over, or never ends, stays."""
        record = self._db.get("tpu-operation", name)
        if record is None or record["done"] or record.get("never"):
            return
        record.update(done=True, end=at, response=response, error=error)
        self._db.put("tpu-operation", name, record)

    def cancel(self, name: str) -> None:
        """Raises GoogleError 404."""
        record = self._get(name)
        if not record["done"]:
            record.update(cancelled=True, done=True, end=self._clock.now())
            record["error"] = {"code": 1, "message": "Operation was cancelled by the caller."}
            self._db.put("tpu-operation", name, record)

    def delete(self, name: str) -> None:
        """Raises GoogleError 404."""
        self._get(name)
        self._db.delete("tpu-operation", name)

    def show(self, name: str) -> Record:
        """Raises GoogleError 404."""
        return self._shown(name, self._get(name))

    def list(self, prefix: str) -> list[Record]:
        return [self._shown(name, record) for name, record in self._db.list("tpu-operation", prefix)]

    def _get(self, name: str) -> Record:
        record = self._db.get("tpu-operation", name)
        if record is None:
            raise not_found(name)
        return record

    def _shown(self, name: str, record: Record) -> Record:
        package = f"google.cloud.tpu.{record['version']}"
        if foreign := record.get("foreign"):
            package = foreign if isinstance(foreign, str) else "google.cloud.common"
        metadata = {
            "@type": f"type.googleapis.com/{package}.OperationMetadata",
            "createTime": self._clock.rfc3339(record["create"]),
            "target": record["target"],
            "verb": record["verb"],
            "apiVersion": record["version"],
            "cancelRequested": bool(record.get("cancelled")),
        }
        if record["done"]:
            metadata["endTime"] = self._clock.rfc3339(record["end"])
        shown: Record = {"name": name, "metadata": metadata, "done": record["done"]}
        if record.get("error"):
            shown["error"] = record["error"]
        elif record["done"]:
            shown["response"] = record["response"] or {"@type": "type.googleapis.com/google.protobuf.Empty"}
        return shown
