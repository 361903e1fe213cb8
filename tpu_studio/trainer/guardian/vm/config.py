"""``ts-config``: what this machine is told to do. Read strictly: it decides what is downloaded, run and deleted.

A config that is not exactly as agreed is refused, and the startup script then deletes the machine.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from tpu_studio.wire import compiled
from tpu_studio.wire.extras import Reserve

LIMIT_BYTES = 256 * 1024
_DAY_S = 86_400.0
_NAME = re.compile(r"ts-[a-z0-9][a-z0-9-]{0,60}")
_PREFIX = re.compile(r"runs/[A-Za-z0-9][A-Za-z0-9._-]{0,80}/")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}")
_SHA = re.compile(r"[0-9a-f]{64}")
_KEY = re.compile(r"([0-9a-f]{64})?")
_AS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,100}")
_OBJECT = re.compile(r"[A-Za-z0-9._/-]{1,300}")
_RESOURCE = {
    "tpu": r"v2(?:alpha1)?/projects/[^/?]+/locations/[^/?]+/queuedResources/{name}\?force=true",
    "compute": r"compute/v1/projects/[^/?]+/zones/[^/?]+/instances/{name}",
}
_ENDPOINTS = ("storage", "tpu", "compute", "tasks", "resourcemanager")
_LOCK = re.compile(r"[a-z][a-z0-9-]{0,40}")
_QUOTED = re.compile(r"(?:[A-Za-z0-9_.~-]|%[0-9A-F]{2}){1,1000}")  # a file's name
_LONGEST_NAME = 255  # bytes of it on a disk
_VERSION = re.compile(r"[0-9][0-9.]{0,30}")


class BadConfig(ValueError):
    """What is wrong with it, in words."""


@dataclass(frozen=True)
class Piece:
    """An object to fetch: checked by its sha256. *name*: what it is called here; *file*: which file in it is meant."""

    object: str
    sha256: str
    bytes: int
    name: str = ""
    file: str = ""


@dataclass(frozen=True)
class Whole:
    """A file of the folder that the model begins from: its *parts* one behind the other, checked by its sha256."""

    name: str
    sha256: str
    bytes: int
    parts: tuple[Piece, ...]


@dataclass(frozen=True)
class Environment:
    framework: str
    python: str
    lock: str
    """Which lock of the bundle: every file that may be installed, by its sha256."""
    uv: tuple[str, str]
    """Version and sha256 of its wheel."""


@dataclass(frozen=True)
class Config:
    """Times in seconds, money in US dollars. *resource*, *node*, *proof*: whole addresses."""

    run: str
    attempt: int
    name: str
    install: str
    backend: str
    resource: str
    node: str
    proof: str
    """Where to ask which permissions this machine's account has: of the project, or of the instance itself."""
    zone: str
    workers: int
    bucket: str
    prefix: str
    storage: str
    tasks: str
    stops: Mapping[str, Any] | None
    lease_s: float
    usd_per_hour: float | None
    spent_usd: float
    unseen_usd: float
    earlier_s: float
    money_usd: float | None
    reserve: Reserve
    idle_minutes: float
    silence_s: float
    bundle: Piece
    data: tuple[Piece, ...]
    environment: Environment
    installer: Piece | None
    """A wheel of uv, where the image has no pip."""
    own_code: bool
    preset: tuple[Whole, ...] = ()
    """The folder that the model begins from; (): it begins from none, or the bundle of an earlier version has it."""
    compiled: Piece | None = None
    """Programs that a machine before this one has compiled."""
    compiled_key: str = field(default="", repr=False)
    """With which it seals what it tells of those that it has compiled itself; "": it is not believed."""
    limits_key: str = field(default="", repr=False)
    """With which the computer that rented it seals changes of its limits; others may lower them, and raise none."""

    @property
    def margin_s(self) -> float:
        return float(self.stops["margin_s"]) if self.stops is not None else 600.0


def load(text: str) -> Config:
    """Raises BadConfig."""
    if len(text.encode()) > LIMIT_BYTES:
        raise BadConfig(f"it is longer than {LIMIT_BYTES} bytes")
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"it is no JSON: {error}") from error
    if not isinstance(tree, dict):
        raise BadConfig("it is no object")
    if tree.get("format") != 1:
        raise BadConfig(f"format {tree.get('format')!r} is not known")
    try:
        return _config(tree)
    except BadConfig:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadConfig(f"{type(error).__name__}: {error}") from error


def _config(tree: Mapping[str, Any]) -> Config:
    name = _matching("name", tree["name"], _NAME)
    backend = str(tree["backend"])
    if backend not in _RESOURCE:
        raise BadConfig(f"backend {backend!r}")
    ends = {key: _endpoint(key, tree["endpoints"][key]) for key in _ENDPOINTS}
    pattern = re.compile(_RESOURCE[backend].replace("{name}", re.escape(name)))
    resource = _matching("resource", tree["resource"], pattern)
    node = _matching("node", tree.get("node") or resource.partition("?")[0], re.compile(r"[A-Za-z0-9._/:-]+"))
    prefix = _matching("prefix", tree["prefix"], _PREFIX)
    bundle = _piece(tree["bundle"], "bundle")
    if not bundle.object.startswith(f"{prefix}job/"):
        raise BadConfig("the bundle is not this run's")
    return Config(
        run=str(tree["run"]),
        attempt=int(_number("attempt", tree["attempt"], 1, 9999)),
        name=name,
        install=str(tree.get("install", "")),
        backend=backend,
        resource=f"{ends[backend]}/{resource}",
        node=f"{ends[backend]}/{node}",
        proof=_proof(backend, resource, ends),
        zone=str(tree["zone"]),
        workers=int(_number("workers", tree["workers"], 1, 4096)),
        bucket=_matching("bucket", tree["bucket"], _BUCKET),
        prefix=prefix,
        storage=ends["storage"],
        tasks=ends["tasks"],
        stops=_stops(tree.get("outside_stops")),
        lease_s=_number("lease_s", tree["lease_s"], 1, 30 * _DAY_S),
        usd_per_hour=_optional("usd_per_hour", tree.get("usd_per_hour")),
        spent_usd=_number("spent_usd", tree.get("spent_usd", 0.0), 0, 1e9),
        earlier_s=_number("earlier_s", tree.get("earlier_s", 0.0), 0, 1e9),
        unseen_usd=_number("unseen_usd", tree.get("unseen_usd", 0.0), 0, 1e9),
        money_usd=_optional("money_usd", tree.get("money_usd")),
        reserve=_reserve(tree.get("reserve") or {}),
        idle_minutes=_number("idle_minutes", tree["idle_minutes"], 0, 1e5),
        silence_s=_number("silence_s", tree.get("silence_s", 900), 1, _DAY_S),
        bundle=bundle,
        data=tuple(_piece(each, str(each["as"])) for each in tree.get("data") or []),
        environment=wanted_environment(tree["environment"]),
        installer=_piece(tree["installer"], "installer") if tree.get("installer") is not None else None,
        own_code=tree.get("trust_code") is True,
        preset=_preset(tree.get("preset") or []),
        compiled=_compiled(tree.get("compiled")),
        compiled_key=_matching("compiled_key", tree.get("compiled_key", ""), _KEY),
        limits_key=_matching("limits_key", tree.get("limits_key", ""), _KEY),
    )


def wanted_environment(tree: Mapping[str, Any]) -> Environment:
    """``environment`` of ts-config, or of a notebook's config. Raises BadConfig, KeyError."""
    return Environment(
        str(tree.get("framework", "")),
        _matching("python", tree["python"], re.compile(r"3\.[0-9]{1,2}")),
        _matching("lock", tree["lock"], _LOCK),
        (_matching("uv", tree["uv"]["version"], _VERSION), _matching("uv", tree["uv"]["sha256"], _SHA)),
    )


def _proof(backend: str, resource: str, ends: Mapping[str, str]) -> str:
    """The TPU API has no policies of its own for a machine: what the project's say, holds for each."""
    if backend == "compute":
        return f"{ends['compute']}/{resource}/testIamPermissions"
    project = resource.partition("/projects/")[2].partition("/")[0]
    return f"{ends['resourcemanager']}/v3/projects/{project}:testIamPermissions"


def _compiled(tree: Any) -> Piece | None:
    if tree is None:
        return None
    if compiled.piece_of(tree) is None:
        raise BadConfig(f"compiled is {str(tree)[:200]!r}")
    return _piece(tree, "compiled")


def _reserve(tree: Mapping[str, Any]) -> Reserve:
    found = (_number(name, tree.get(name, 0.0), 0, 1e6) for name in ("fixed_usd", "usd_per_hour"))
    return Reserve(*found)


def _piece(tree: Mapping[str, Any], name: str) -> Piece:
    path = _matching("object", tree["object"], _OBJECT)
    if ".." in path.split("/") or path.startswith("/"):
        raise BadConfig(f"object {path!r}")
    size = int(_number("bytes", tree["bytes"], 0, 1 << 44))
    file = str(tree.get("file") or "")
    if file in (".", "..") or any(bad in file for bad in "/\\\0"):
        raise BadConfig(f"file {file!r}")
    return Piece(path, _matching("sha256", tree["sha256"], _SHA), size, _matching("as", name, _AS), file)


def _preset(tree: Any) -> tuple[Whole, ...]:
    found = tuple(_whole(each) for each in tree)
    if len({one.name for one in found}) < len(found):
        raise BadConfig("preset names a file twice")
    return found


def _whole(tree: Any) -> Whole:
    """Its name is written as in an address: whatever a person calls a file, it is plain letters here."""
    name = unquote(_matching("name", tree["name"], _QUOTED), errors="strict")
    if name in (".", "..") or any(bad in name for bad in "/\\\0") or len(os.fsencode(name)) > _LONGEST_NAME:
        raise BadConfig(f"name {name[:200]!r}")
    parts = tuple(_piece(each, "preset") for each in tree["parts"])
    size = int(_number("bytes", tree["bytes"], 0, 1 << 44))
    if sum(part.bytes for part in parts) != size:
        raise BadConfig(f"the parts of {name[:200]!r} have other bytes than it has")
    return Whole(name, _matching("sha256", tree["sha256"], _SHA), size, parts)


def _stops(tree: Any) -> Mapping[str, object] | None:
    if tree is None:
        return None
    queue = _matching("queue", tree["queue"], re.compile(r"projects/[^/]+/locations/[^/]+/queues/[A-Za-z0-9-]+"))
    return {
        "queue": queue,
        "account": str(tree["account"]),
        "margin_s": _number("margin_s", tree.get("margin_s", 600), 1, _DAY_S),
    }


def _endpoint(name: str, value: object) -> str:
    """https, or http to this machine itself (the practice cloud)."""
    parts = urlsplit(str(value))
    near = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme not in ("https", "http") or (parts.scheme == "http" and not near) or not parts.hostname:
        raise BadConfig(f"endpoint {name} is {value!r}")
    if parts.username or parts.query or parts.fragment:
        raise BadConfig(f"endpoint {name} is {value!r}")
    return str(value).rstrip("/")


def _matching(name: str, value: object, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise BadConfig(f"{name} is {str(value)[:200]!r}")
    return value


def _number(name: str, value: object, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise BadConfig(f"{name} is {value!r}")
    if not least <= value <= most:
        raise BadConfig(f"{name} is {value!r}")
    return float(value)


def _optional(name: str, value: object) -> float | None:
    return None if value is None else _number(name, value, 0, 1e6)
