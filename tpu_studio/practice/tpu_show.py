"""Queued resources and nodes as the Cloud TPU API shows them (google-cloud.md §2.7)."""

from __future__ import annotations

import json
import zlib

from tpu_studio.practice import tpu_offer
from tpu_studio.practice.clock import Clock
from tpu_studio.practice.discovery import schemas
from tpu_studio.practice.state import Record
from tpu_studio.wire import loans

QR, NODE = "tpu-queued-resource", "tpu-node"  # kinds of records


def answer(clock: Clock, kind: str, name: str, record: Record, version: str) -> Record:
    """As an operation's response."""
    shown = request(clock, name, record) if kind == QR else node(clock, name, record)
    type = "QueuedResource" if kind == QR else "Node"
    return {"@type": f"type.googleapis.com/google.cloud.tpu.{version}.{type}", **shown}


def request(clock: Clock, name: str, record: Record) -> Record:
    key = {"WAITING_FOR_RESOURCES": "", "FAILED": "failedData"}.get(record["state"], _data(record["state"]))
    state: Record = {"state": record["state"], "stateInitiator": record["initiator"]}
    if key:
        state[key] = {"error": record["error"]} if record["state"] == "FAILED" else {}
    return {"name": name, **record["body"], "state": state, "createTime": clock.rfc3339(record["create"])}


def node(clock: Clock, name: str, record: Record) -> Record:
    part = tpu_offer.by_type(record["accelerator"])
    assert part is not None
    seed = zlib.crc32(name.encode())
    network = {"network": "default", "subnetwork": "default", **(record["body"].get("networkConfig") or {})}
    network["network"] = network["network"].rpartition("/")[2]
    shown = {
        **record["body"],
        "name": name,
        "id": record["number"],
        "state": record["state"],
        "acceleratorConfig": tpu_offer.config(part),
        "createTime": clock.rfc3339(record["create"]),
        "apiVersion": {"v2": "V2", "v2alpha1": "V2_ALPHA1"}[record["version"]],
        "networkConfig": network,
        "serviceAccount": {"email": record["account"], "scope": record["scopes"]},
    }
    if record["state"] == "READY":
        shown["health"] = "HEALTHY"
    if record["state"] not in ("CREATING", "STOPPED"):
        ends = [{"ipAddress": f"10.164.{seed % 250}.{2 + n}", "port": 8470} for n in range(part.vms)]
        if network.get("enableExternalIps"):
            for n, end in enumerate(ends):
                end["accessConfig"] = {"externalIp": f"203.0.113.{(seed + n) % 254 + 1}"}
        shown["networkEndpoints"] = ends
    if record["qr"]:
        shown["queuedResource"] = record["qr"]
    if loans.by_id(record["tier"]).spare:
        shown["schedulingConfig"] = {"spot": True, "preemptible": True}
    if record.get("maintenance"):
        shown["upcomingMaintenance"] = record["maintenance"]
    return shown


def _data(state: str) -> str:
    return state.lower() + "Data"


def known_only(body: Record, schema: str, document: str) -> Record:
    """Without fields that only the other version has."""
    if not schema or schema == "Operation":
        return body
    clean = json.loads(json.dumps(body))
    _prune(clean, schema, schemas(document))
    return dict(clean)


def _prune(value: object, schema: str, known: Record) -> None:
    properties = known.get(schema, {}).get("properties")
    if not properties or not isinstance(value, dict):
        return
    for key in list(value):
        told = properties.get(key)
        if told is None and key != "@type":
            del value[key]
        elif told is not None:
            inner = told.get("$ref") or told.get("items", {}).get("$ref", "")
            for one in value[key] if isinstance(value[key], list) else [value[key]]:
                _prune(one, inner, known)
