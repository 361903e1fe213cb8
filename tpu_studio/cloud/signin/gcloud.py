"""Credentials that gcloud left on this computer (application default credentials): found, and said whose they are.

Read from their file, never by ``google.auth.default()``: that asks the network whether this is a machine at Google.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_KINDS = (
    "authorized_user",
    "service_account",
    "external_account",
    "external_account_authorized_user",
    "impersonated_service_account",
)
_LARGEST = 1 << 20  # bytes; a credentials file is a few thousand


@dataclass(frozen=True)
class Found:
    """A credentials file. *kind* as Google calls it; *email* and *project* as far as the file tells."""

    path: Path
    kind: str
    email: str = ""
    project: str = ""


def default_file(environment: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Where application default credentials are: the environment's word, else gcloud's folder."""
    if named := environment.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return Path(named)
    if folder := environment.get("CLOUDSDK_CONFIG"):
        return Path(folder) / "application_default_credentials.json"
    if sys.platform == "win32":
        base = Path(environment.get("APPDATA", "")) / "gcloud"
    else:
        base = (home or Path.home()) / ".config" / "gcloud"
    return base / "application_default_credentials.json"


def find(path: Path | None = None) -> Found | None:
    """The credentials of *path* (default: `default_file`); None when there are none that can be used."""
    path = path or default_file()
    try:
        with open(path, "rb") as file:
            tree = json.loads(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(tree, dict) or tree.get("type") not in _KINDS:
        return None
    email = str(tree.get("client_email") or tree.get("account") or "")
    return Found(path, str(tree["type"]), email, str(tree.get("quota_project_id") or tree.get("project_id") or ""))
