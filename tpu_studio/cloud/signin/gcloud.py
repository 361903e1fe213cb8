"""Credentials that gcloud left on this computer (application default credentials): found, and said whose they are.

Read from their file, never by ``google.auth.default()``: that asks the network whether this is a machine at Google.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.visible import one_line

_KINDS = (
    "authorized_user",
    "service_account",
    "external_account",
    "external_account_authorized_user",
    "impersonated_service_account",
)
LARGEST = 1 << 20  # bytes; a credentials file is a few thousand


@dataclass(frozen=True)
class Found:
    """A credentials file. *kind* as Google calls it; *email* and *project* as far as the file tells; *tree*: all that
    it holds, as it was read once."""

    path: Path
    kind: str
    email: str = ""
    project: str = ""
    tree: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


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
        with open_to_read(path) as file:
            tree = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(tree, dict) or tree.get("type") not in _KINDS:
        return None
    email = one_line(str(tree.get("client_email") or tree.get("account") or ""))
    project = one_line(str(tree.get("quota_project_id") or tree.get("project_id") or ""))
    return Found(path, str(tree["type"]), email, project, tree)
