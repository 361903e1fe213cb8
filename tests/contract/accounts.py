"""What the tests of the account's services share: names in the practice cloud, and waiting for it."""

from __future__ import annotations

from typing import Any

from tests.fakes.waiting import eventually
from tpu_studio.practice.quota_limits import TPU

PROJECT = "projects/practice-project"
HOME = f"/v1/{PROJECT}/locations/global"
ACCOUNT = "billingAccounts/0A1B2C-3D4E5F-678901"
V6E_SPOT = "TPUV6EPreemptiblePerProjectPerZoneForTPUAPI"


def done(api: Any, operation: dict[str, Any]) -> dict[str, Any]:
    """The operation once it is done, asked for through *api* (its ``operations``)."""

    def ended() -> Any:
        found = operation if operation.get("done") else api.operations().get(name=operation["name"]).execute()
        return found if found.get("done") else None

    return eventually(ended, "the end of the operation")


def wish(value: int, zone: str = "us-east5-b", **more: Any) -> dict[str, Any]:
    return {
        "service": TPU,
        "quotaId": V6E_SPOT,
        "dimensions": {"zone": zone},
        "contactEmail": "you@practice.example",
        "quotaConfig": {"preferredValue": str(value)},
        **more,
    }


def budget(**change: Any) -> dict[str, Any]:
    return {
        "displayName": "TPU Studio",
        "budgetFilter": {"projects": [PROJECT], "calendarPeriod": "MONTH"},
        "amount": {"specifiedAmount": {"currencyCode": "USD", "units": "20"}},
        "thresholdRules": [{"thresholdPercent": 0.5}, {"thresholdPercent": 1.0, "spendBasis": "FORECASTED_SPEND"}],
        "notificationsRule": {"enableProjectLevelRecipients": True},
        **change,
    }
