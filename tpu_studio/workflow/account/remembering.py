"""What a person has chosen for an account (project, area, bucket …), kept by account in ``account-choices.json``."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.workflow.account.ports import Choices

REGION = "us-west4"
"""Where v5e is cheapest and most often there; any other can be chosen."""


class ChoicesFile:
    """Raises OSError when it cannot be written; what cannot be read counts as nothing chosen."""

    def __init__(self, home: Path) -> None:
        self._file = home / "account-choices.json"

    def of(self, account: str) -> Choices:
        known = self._read().get(account)
        names = {one.name: one.type for one in fields(Choices)}
        given = {name: value for name, value in (known or {}).items() if name in names}
        try:
            made = Choices(**{**given, "monthly_usd": float(given.get("monthly_usd", 25.0))})
        except (TypeError, ValueError):
            made = Choices()
        return made if made.region else Choices(**{**asdict(made), "region": REGION})

    def keep(self, account: str, choices: Choices) -> None:
        tree = {"format": 1, "accounts": {**self._read(), account: asdict(choices)}}
        write_atomically(self._file, json.dumps(tree, indent=1, sort_keys=True).encode() + b"\n")

    def _read(self) -> dict[str, dict[str, object]]:
        try:
            accounts = json.loads(self._file.read_bytes())["accounts"]
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        return accounts if isinstance(accounts, dict) else {}
