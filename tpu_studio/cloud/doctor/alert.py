"""The spending alert: a budget of the billing account that mails, in the account's own currency.

Google refuses a budget in another currency than the account's (billingbudgets.v1, ``currencyCode``), so it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpu_studio.cloud.doctor import names
from tpu_studio.cloud.doctor.apis import Apis
from tpu_studio.cloud.session import segment
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.account.ports import Choices

SERVICE = "billingbudgets.googleapis.com"


def billing_account(apis: Apis, project: str) -> str:
    """``billingAccounts/…``; "" where nobody pays."""
    info = apis.billing.get(f"/v1/projects/{segment(project)}/billingInfo")
    return str(info.get("billingAccountName", "")) if info.get("billingEnabled") else ""


def currency(apis: Apis, account: str) -> str:
    """ISO 4217 code of *account*; "" where it may not be read."""
    try:
        return str(apis.billing.get(f"/v1/{account}").get("currencyCode", ""))
    except CloudRefused as error:
        if error.id in ("permission-missing", "not-found"):
            return ""
        raise


def budget(apis: Apis, choices: Choices, account: str) -> Mapping[str, object] | None:
    """The one that we made."""
    project = f"projects/{number(apis, choices.project)}"
    for one in apis.budgets.pages(f"/v1/{account}/budgets", "budgets"):
        projects = (one.get("budgetFilter") or {}).get("projects") or ()
        if one.get("displayName") == names.ALERT and (not projects or project in projects):
            return dict(one)
    return None


def number(apis: Apis, project: str) -> str:
    return str(apis.resources.get(f"/v3/projects/{segment(project)}").get("name", "")).rpartition("/")[2]


def body(choices: Choices, project_number: str, currency: str) -> dict[str, object]:
    """Mail at 50, 90 and 100% of the month's amount, whole units of *currency* (left to Google where "")."""
    amount = {"units": str(max(1, round(choices.monthly)))}
    return {
        "displayName": names.ALERT,
        "budgetFilter": {"projects": [f"projects/{project_number}"], "calendarPeriod": "MONTH"},
        "amount": {"specifiedAmount": {**amount, **({"currencyCode": currency} if currency else {})}},
        "thresholdRules": [{"thresholdPercent": share} for share in (0.5, 0.9, 1.0)],
        "notificationsRule": {"enableProjectLevelRecipients": True},
    }


def amount_of(budget: Mapping[str, Any]) -> tuple[str, str]:
    """Units and currency; "" where it has no amount of its own (it follows the last month)."""
    amount = (budget.get("amount") or {}).get("specifiedAmount") or {}
    return str(amount.get("units", "")), str(amount.get("currencyCode", ""))
