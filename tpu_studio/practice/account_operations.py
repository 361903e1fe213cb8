"""Long-running operations of the account services (Service Usage, Resource Manager): done once their time has come."""

from __future__ import annotations

import secrets
from typing import Any

from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.state import Record


def begin(cloud: Cloud, prefix: str, metadata: Record, response: Record, *, takes_s: float) -> Record:
    """Store and return an operation that is done *takes_s* practice seconds from now.

    Args:
        prefix: ``operations/acf.p2``: a random id is appended.
        metadata: With its ``@type``; so *response*.
    """
    name = f"{prefix}-{secrets.token_hex(12)}"
    record = {"metadata": metadata, "response": response, "done_at": cloud.clock.now() + takes_s}
    cloud.db.put("account-operation", name, record)
    return shown(cloud, name)


def refused(cloud: Cloud, prefix: str, metadata: dict[str, object], error: dict[str, object], *, takes_s: float) -> Any:
    """As `begin`, but it ends with *error* (google.rpc.Status)."""
    name = f"{prefix}-{secrets.token_hex(12)}"
    record = {"metadata": metadata, "error": error, "done_at": cloud.clock.now() + takes_s}
    cloud.db.put("account-operation", name, record)
    return shown(cloud, name)


def shown(cloud: Cloud, name: str) -> Record:
    """The operation as it stands now. Raises GoogleError 404."""
    record = cloud.db.get("account-operation", name)
    if record is None:
        raise GoogleError(404, "NOT_FOUND", f"Operation not found: {name}")
    if cloud.clock.now() < record["done_at"]:
        return {"name": name, "metadata": record["metadata"]}
    ended = {"error": record["error"]} if "error" in record else {"response": record["response"]}
    return {"name": name, "metadata": record["metadata"], "done": True, **ended}
