"""Compiled programs that one machine leaves in the bucket for the next: their names, their size, and how they are told.

A cache entry is code for the machine that loads it ("equivalent to allowing anyone who can write to the cache directory
to run code on your machine", JAX's own words), so nothing is loaded for its name: a desktop hands out the sha256 that
it has heard from the machine that compiled, sealed with the key that it gave that machine: what a machine tells lies in
the bucket, where others write, too (docs/decisions/0044-compiled-programs-travel.md).
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping

NOTICE = "compiled-carried"
"""Of the guardian, with the facts ``object``, ``sha256``, ``bytes``, ``programs``, ``seal``."""
MOST_BYTES = 256 << 20
"""Of all programs of a run together; GPT-2 small's two have some megabytes."""
_OBJECT = re.compile(r"runs/[A-Za-z0-9][A-Za-z0-9._-]{0,80}/compiled/([0-9a-f]{64})\.tar")


def object_name(prefix: str, sha256: str) -> str:
    return f"{prefix}compiled/{sha256}.tar"


def seal(key: str, object: str, sha256: str, size: object) -> str:
    """What only who has the machine's *key* (hex) can say of these programs; "" without a key."""
    return hmac.new(bytes.fromhex(key), f"{object} {sha256} {size}".encode(), "sha256").hexdigest() if key else ""


def is_sealed(key: str, piece: Mapping[str, object], told: object) -> bool:
    """Whether *told* is the seal of *piece*, as `piece_of` gives it; nothing is without a key."""
    wanted = seal(key, str(piece["object"]), str(piece["sha256"]), piece["bytes"])
    return (
        bool(wanted) and isinstance(told, str) and hmac.compare_digest(wanted.encode(), told.encode("utf-8", "replace"))
    )


def piece_of(facts: object, prefix: str = "runs/") -> dict[str, object] | None:
    """``compiled`` of ts-config out of what a machine told; None where that names no such object below *prefix*."""
    if not isinstance(facts, Mapping):
        return None
    name, sha256, size = (facts.get(key) for key in ("object", "sha256", "bytes"))
    matches = _OBJECT.fullmatch(name) if isinstance(name, str) and name.startswith(prefix) else None
    if matches is None or matches[1] != sha256 or isinstance(size, bool) or not isinstance(size, int):
        return None
    return {"object": name, "sha256": sha256, "bytes": size} if 0 < size <= MOST_BYTES else None
