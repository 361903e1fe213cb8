"""Cloud Billing Budgets v1: mails at thresholds of the practice bill, and the cap where it is offered.

Mails are written into the list of what happened (``mail``) and kept (kind ``budget-mail``); nothing is stopped by them.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from tpu_studio.practice import billing, skus
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, bad_request, not_found
from tpu_studio.practice.meter import whole_usd
from tpu_studio.practice.paging import page
from tpu_studio.practice.resourcemanager import need
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.state import Record

_API = "billingbudgets.googleapis.com"
_CAPPED = (skus.COMPUTE_SERVICE, skus.TPU_SERVICE)


def install(router: Router, cloud: Cloud) -> None:
    budgets = r"/v1/(?P<account>billingAccounts/[^/:]+)/budgets"
    one = rf"{budgets}/(?P<budget>[^/:]+)"
    schema = "billingbudgets.v1:GoogleCloudBillingBudgetsV1Budget"

    @router.route("GET", budgets, service=_API)
    def list_budgets(request: Request) -> dict[str, object]:
        account = _account(cloud, request, "billing.budgets.list")
        found = [record["shown"] for _, record in cloud.db.list("budget", f"{account}/budgets/")]
        if scope := request.one("scope"):
            found = [b for b in found if scope in b["budgetFilter"].get("projects", [])]
        return page(request, "budgets", found, most=1000, usual=100)

    @router.route("POST", budgets, schema=schema, service=_API)
    def create(request: Request) -> Record:
        account = _account(cloud, request, "billing.budgets.create")
        wanted = request.json()
        _check(cloud, wanted)
        name = f"{account}/budgets/{secrets.token_hex(4)}-{secrets.token_hex(2)}-{secrets.token_hex(8)}"
        return _store(cloud, name, wanted)

    @router.route("GET", one, service=_API)
    def get(request: Request) -> Record:
        return _budget(cloud, request, "billing.budgets.get")

    @router.route("PATCH", one, schema=schema, service=_API)
    def patch(request: Request) -> dict[str, object]:
        before = _budget(cloud, request, "billing.budgets.update")
        wanted = request.json()
        if wanted.get("etag", before["etag"]) != before["etag"]:
            raise GoogleError(409, "ABORTED", "The etag does not match the current one.")
        mask = {field.split(".")[0] for field in request.one("updateMask").split(",") if field}
        fields = ("displayName", "budgetFilter", "amount", "thresholdRules", "notificationsRule", "spendCap")
        chosen = [f for f in fields if not mask or {f, _snake(f)} & mask]
        merged = {k: v for k, v in before.items() if k not in chosen}
        merged |= {f: wanted[f] for f in chosen if f in wanted}
        _check(cloud, merged)
        return _store(cloud, before["name"], merged)

    @router.route("DELETE", one, service=_API)
    def delete(request: Request) -> dict[str, object]:
        cloud.db.delete("budget", _budget(cloud, request, "billing.budgets.delete")["name"])
        return {}

    cloud.every(5.0, lambda: watch(cloud))


def watch(cloud: Cloud) -> None:
    """Send the mail of each threshold that the bill of this month has passed, once."""
    budgets = cloud.db.list("budget")
    if not budgets:
        return
    spent = spent_usd(cloud)
    for name, record in budgets:
        money = record["shown"]["amount"].get("specifiedAmount", {})
        amount = int(money.get("units", "0")) + money.get("nanos", 0) / 1e9
        for rule in record["shown"].get("thresholdRules", []):
            share, basis = rule.get("thresholdPercent", 0.0), rule.get("spendBasis", "CURRENT_SPEND")
            key = f"{share}/{basis}"
            if amount <= 0 or spent < share * amount or key in record["sent"]:
                continue
            record["sent"].append(key)
            mail = {
                "to": cloud.settings.owner,
                "budget": name,
                "usd": round(spent, 4),
                "amount_usd": amount,
                "share": share,
                "basis": basis,
                "at": cloud.clock.now(),
            }
            with cloud.db.transaction():
                cloud.db.put("budget-mail", f"{cloud.db.count('budget-mail'):06d}", mail)
                cloud.db.put("budget", name, record)
            cloud.faults.note("mail", "budget", share=share, usd=mail["usd"])


def spent_usd(cloud: Cloud) -> float:
    """This calendar month's bill; what lies before its start is left out."""
    month = datetime.fromtimestamp(cloud.clock.now(), UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    start = month.timestamp()
    total = 0.0
    for line in cloud.meter.bill():
        usd = whole_usd([line])
        if "begin" in line and line["begin"] < start and line["seconds"] > 0:
            usd *= max(0.0, line["begin"] + line["seconds"] - start) / line["seconds"]
        total += usd
    return total


def _check(cloud: Cloud, wanted: Record) -> None:
    """Raises GoogleError 400."""
    if len(wanted.get("displayName", "")) > 60:
        raise _invalid("budget.display_name", "must have at most 60 characters")
    amount = wanted.get("amount", {})
    if ("specifiedAmount" in amount) == ("lastPeriodAmount" in amount):
        raise _invalid("budget.amount", "exactly one of specified_amount and last_period_amount")
    own = billing.currency(cloud)
    if amount.get("specifiedAmount", {}).get("currencyCode", own) != own:
        raise _invalid("budget.amount.specified_amount.currency_code", f"must be the billing account's currency, {own}")
    for rule in wanted.get("thresholdRules", []):
        if rule.get("thresholdPercent", 0) < 0:
            raise _invalid("budget.threshold_rules", "threshold_percent must not be negative")
    known = {f"projects/{record['number']}" for _, record in cloud.db.list("project")} | {
        f"projects/{project}" for project, _ in cloud.db.list("project")
    }
    projects = wanted.get("budgetFilter", {}).get("projects", [])
    if not set(projects) <= known:
        raise _invalid("budget.budget_filter.projects", "the billing account has no such project")
    rule = wanted.get("notificationsRule", {})
    if rule.get("enableProjectLevelRecipients") and len(projects) != 1:
        raise _invalid("budget.notifications_rule", "enable_project_level_recipients needs exactly one project")
    if len(rule.get("monitoringNotificationChannels", [])) > 5:
        raise _invalid("budget.notifications_rule", "at most 5 monitoring_notification_channels")
    if "spendCap" in wanted:
        _check_cap(cloud, wanted)


def _check_cap(cloud: Cloud, wanted: Record) -> None:
    """The many conditions of a cap (billingbudgets.v1, SpendCap). Raises GoogleError 400."""
    if cloud.faults.armed("spend-cap-not-offered") is not None:
        raise _invalid("budget.spend_cap", "Spend caps are not available for this billing account or service.")
    chosen, rule = wanted.get("budgetFilter", {}), wanted.get("notificationsRule", {})
    rules = [
        (r.get("thresholdPercent", 0.0), r.get("spendBasis", "CURRENT_SPEND")) for r in wanted.get("thresholdRules", [])
    ]
    holds = {
        "input_state must be CONFIGURED": wanted["spendCap"].get("inputState") == "CONFIGURED",
        "exactly one project": len(chosen.get("projects", [])) == 1,
        "exactly one eligible service": len(chosen.get("services", [])) == 1 and chosen["services"][0] in _CAPPED,
        "calendar_period must be MONTH": chosen.get("calendarPeriod") == "MONTH",
        "credit_types_treatment must be EXCLUDE_ALL_CREDITS": chosen.get("creditTypesTreatment")
        == "EXCLUDE_ALL_CREDITS",
        "a specified_amount": "specifiedAmount" in wanted["amount"],
        "threshold_rules must be 0.5, 0.8 and 1.0 of CURRENT_SPEND": sorted(rules)
        == [(share, "CURRENT_SPEND") for share in (0.5, 0.8, 1.0)],
        "enable_project_level_recipients": rule.get("enableProjectLevelRecipients") is True,
        "no pubsub_topic and no monitoring_notification_channels": not rule.get("pubsubTopic")
        and not rule.get("monitoringNotificationChannels"),
    }
    for condition, held in holds.items():
        if not held:
            raise _invalid("budget.spend_cap", f"A budget with a spend cap needs: {condition}.")


def _store(cloud: Cloud, name: str, wanted: Record) -> Record:
    if "specifiedAmount" in wanted["amount"]:
        money = {"currencyCode": billing.currency(cloud), **wanted["amount"]["specifiedAmount"]}
        wanted = {**wanted, "amount": {"specifiedAmount": money}}
    shown = {**wanted, "name": name, "etag": secrets.token_urlsafe(6)}
    chosen = shown.setdefault("budgetFilter", {})
    if "calendarPeriod" not in chosen and "customPeriod" not in chosen:
        chosen["calendarPeriod"] = "MONTH"
    chosen.setdefault("creditTypesTreatment", "INCLUDE_ALL_CREDITS")
    chosen["projects"] = [_numbered(cloud, p) for p in chosen.get("projects", [])]
    for rule in shown.get("thresholdRules", []):
        rule.setdefault("spendBasis", "CURRENT_SPEND")
    if "spendCap" in shown:
        shown["spendCap"] = {**shown["spendCap"], "outputState": "CONFIGURED"}
    sent = (cloud.db.get("budget", name) or {"sent": []})["sent"]
    cloud.db.put("budget", name, {"shown": shown, "sent": sent})
    return shown


def _numbered(cloud: Cloud, project: str) -> str:
    record = cloud.db.get("project", project.partition("/")[2])
    return f"projects/{record['number']}" if record else project


def _account(cloud: Cloud, request: Request, permission: str) -> str:
    account = request.match["account"]
    need(cloud, request, permission, account)
    if account != cloud.settings.billing_account:
        raise not_found(account)
    return account


def _budget(cloud: Cloud, request: Request, permission: str) -> Record:
    name = f"{_account(cloud, request, permission)}/budgets/{request.match['budget']}"
    record = cloud.db.get("budget", name)
    if record is None:
        raise not_found(name)
    shown: dict[str, object] = record["shown"]
    return shown


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def _invalid(field: str, text: str) -> GoogleError:
    message = f"Request contains an invalid argument: {text}"
    return GoogleError(400, "INVALID_ARGUMENT", message, [bad_request((field, text))])
