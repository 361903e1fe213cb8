"""What a person has chosen for an account (project, area, bucket …), kept by account in ``account-choices.json``, and
what Google was last heard to allow a project.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from tpu_studio.domain.standing import from_json
from tpu_studio.wire import records
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.records import Json, inner
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.workflow.account.ports import Allowance, Choices

REGION = "us-west4"
"""Where v5e is cheapest and most often there; any other can be chosen."""


class KeptQuota:
    """What a project may use, as it was last read: ``account-quota.json``. What cannot be read counts as never read."""

    def __init__(self, home: Path) -> None:
        self._file = home / "account-quota.json"

    def keep(
        self, project: str, rows: Sequence[Allowance], addresses: Mapping[str, tuple[int, int]], now: float
    ) -> None:
        """Areas that *rows* do not name stay as they were. Raises OSError."""
        before = self.of(project)
        zones, regions = {one.zone for one in rows}, set(addresses)
        kept: list[Json] = [one for one in records.rows(before.get("rows")) if one["zone"] not in zones]
        kept += [
            {
                "generation": one.generation,
                "use": one.use,
                "tier": one.tier,
                "zone": one.zone,
                "limit": one.limit,
                "unit": one.unit,
            }
            for one in rows
        ]
        told = {region: two for region, two in inner(before.get("addresses")).items() if region not in regions}
        found = {"t": now, "rows": kept, "addresses": {**told, **{one: list(two) for one, two in addresses.items()}}}
        tree = {"format": 1, "projects": {**self._read(), project: found}}
        write_atomically(self._file, json.dumps(tree, sort_keys=True).encode() + b"\n")

    def of(self, project: str) -> Json:
        """As `domain.standing.from_json` takes it; {}: never read."""
        found = inner(self._read().get(project))
        try:
            from_json(found)
        except (KeyError, TypeError, ValueError, OverflowError):
            return {}
        return found

    def _read(self) -> Json:
        try:
            projects = read_json(self._file)["projects"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return projects if isinstance(projects, dict) else {}


MOST_KEPT_DAYS = 90  # Cloud Storage's own most


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
        days = known.get("kept_days")
        kept_days = days if isinstance(days, int) and not isinstance(days, bool) and 0 <= days <= MOST_KEPT_DAYS else 0
        return replace(usual, **texts, monthly=amount, kept_days=kept_days)

    def keep(self, account: str, choices: Choices) -> None:
        tree = {"format": 1, "accounts": {**self._read(), account: asdict(choices)}}
        write_atomically(self._file, json.dumps(tree, indent=1, sort_keys=True).encode() + b"\n")

    def _read(self) -> dict[str, dict[str, object]]:
        try:
            accounts = read_json(self._file)["accounts"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return accounts if isinstance(accounts, dict) else {}
