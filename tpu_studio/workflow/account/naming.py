"""Ids of projects that are made here."""

from __future__ import annotations

import re
import secrets

_MOST = 30


def project_id(name: str) -> str:
    """A project id as Google takes it: 6 to 30 lower-case letters, digits and hyphens, unique in the world."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[: _MOST - 8].strip("-")
    if not stem or not stem[0].isalpha():
        stem = f"tpu-{stem}".strip("-")
    return f"{stem}-{secrets.token_hex(3)}"
