"""What a person has chosen for an account (project, area, bucket …), kept by account in ``account-choices.json``."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
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
        known = known if isinstance(known, dict) else {}
        usual = Choices(region=REGION)
        names = ("project", "region", "bucket", "network", "runner", "stopper", "currency")
        texts = {name: str(known[name]) for name in names if known.get(name)}
        monthly = known.get("monthly", known.get("monthly_usd"))  # which it was called before other currencies
        good = isinstance(monthly, (int, float)) and not isinstance(monthly, bool) and 0 < monthly <= 1e9
        amount = float(monthly) if isinstance(monthly, (int, float)) and good else usual.monthly
        return replace(usual, **texts, monthly=amount)

    def keep(self, account: str, choices: Choices) -> None:
        tree = {"format": 1, "accounts": {**self._read(), account: asdict(choices)}}
        write_atomically(self._file, json.dumps(tree, indent=1, sort_keys=True).encode() + b"\n")

    def _read(self) -> dict[str, dict[str, object]]:
        try:
            accounts = json.loads(self._file.read_bytes())["accounts"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return accounts if isinstance(accounts, dict) else {}
