"""Billing, prices and budgets: held to Google's generic client and documents."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.accounts import ACCOUNT, PROJECT, budget, wish
from tests.contract.conftest import Call, Start, caller
from tests.fakes.google_client import google_client
from tpu_studio.practice import budgets, skus
from tpu_studio.practice.main import Practice


def test_billing_that_is_off_refuses_tpus_until_an_account_pays(start_practice: Start):
    call = caller(start_practice("billing-off"))

    assert call("GET", f"/v1/{PROJECT}/billingInfo").body.get("billingEnabled") is None
    assert call("GET", f"/v2/{PROJECT}/locations").reasons == ["BILLING_DISABLED"]
    closed = call("PUT", f"/v1/{PROJECT}/billingInfo", {"billingAccountName": "billingAccounts/00AAAA-11BBBB-22CCCC"})
    assert closed.body["billingAccountName"] and "billingEnabled" not in closed.body  # as good as none
    assert call("GET", f"/v2/{PROJECT}/locations").reasons == ["BILLING_DISABLED"]
    paid = call("PUT", f"/v1/{PROJECT}/billingInfo", {"billingAccountName": ACCOUNT})
    assert paid.body["billingEnabled"] is True
    assert call("GET", f"/v2/{PROJECT}/locations").status == 200


def test_a_closed_account_may_be_refused_at_once(practice: Practice, call: Call):
    practice.cloud.doubts.arm("closed-account-link")
    closed = call("PUT", f"/v1/{PROJECT}/billingInfo", {"billingAccountName": "billingAccounts/00AAAA-11BBBB-22CCCC"})
    assert (closed.status, closed.error["status"]) == (400, "FAILED_PRECONDITION")


def test_an_account_that_was_closed_pays_for_nothing_any_more(start_practice: Start):
    call = caller(start_practice("billing-account-closed"))
    listed = call("GET", "/v1/billingAccounts").body["billingAccounts"]
    assert not any(one.get("open") for one in listed)
    info = call("GET", f"/v1/{PROJECT}/billingInfo").body
    assert info["billingAccountName"] == ACCOUNT and "billingEnabled" not in info
    assert call("GET", f"/v2/{PROJECT}/locations").reasons == ["BILLING_DISABLED"]


def test_a_free_trial_looks_like_any_account_but_has_no_tpus_and_gets_none(start_practice: Start):
    practice = start_practice("free-trial")
    call = caller(practice)
    assert call("GET", f"/v1/{PROJECT}/billingInfo").body["billingEnabled"] is True
    [account] = [one for one in call("GET", "/v1/billingAccounts").body["billingAccounts"] if one.get("open")]
    assert set(account) == {"name", "displayName", "currencyCode", "open"}
    path = f"/v1/{PROJECT}/locations/global/services/tpu.googleapis.com/quotaInfos?pageSize=500"
    infos = call("GET", path).body["quotaInfos"]
    assert infos and {one["details"].get("value") for info in infos for one in info["dimensionsInfos"]} == {None}
    assert not any(info["quotaIncreaseEligibility"].get("isEligible") for info in infos)
    asked = call("POST", f"/v1/{PROJECT}/locations/global/quotaPreferences", wish(8))
    assert (asked.status, asked.error["status"]) == (400, "FAILED_PRECONDITION")


def test_a_stranger_sees_no_billing_account_and_cannot_spend_from_one(practice: Practice, call: Call):
    token = practice.cloud.principals.issue("colleague@practice.example")

    assert call("GET", "/v1/billingAccounts", token=token).body == {}
    assert call("PUT", f"/v1/{PROJECT}/billingInfo", {"billingAccountName": ACCOUNT}, token=token).status == 403
    assert call("GET", f"/v1/{ACCOUNT}/budgets", token=token).status == 403


def price(sku: dict[str, Any]) -> float:
    expression = sku["pricingInfo"][0]["pricingExpression"]
    unit = expression["tieredRates"][0]["unitPrice"]
    return int(unit.get("units", "0")) + float(unit.get("nanos", 0)) / 1e9


def test_the_price_list_is_read_with_google_s_client_and_has_the_real_wording(practice: Practice):
    with google_client(practice, "cloudbilling.v1") as api:
        prices = api.services().skus()
        found = prices.list(parent=skus.COMPUTE_SERVICE, currencyCode="USD", pageSize=5000).execute()["skus"]
        legacy = prices.list(parent=skus.TPU_SERVICE, pageSize=5000).execute()["skus"]
    by_text = {sku["description"]: sku for sku in found}

    assert price(by_text["TpuV5e running in Las Vegas"]) == pytest.approx(1.2)
    assert price(by_text["DWS Defined Duration V6e running in Columbus"]) == pytest.approx(1.35)
    spot = by_text["TpuV6e attached to Spot Preemptible VMs running in Netherlands"]
    assert (price(spot), spot["category"]["usageType"]) == (pytest.approx(1.782), "Preemptible")
    assert by_text["DWS Defined Duration V6e running in Columbus"]["category"]["usageType"] == "OnDemand"
    assert any(sku["category"]["usageType"] == "Commit1Yr" for sku in found)  # to be skipped by readers
    assert "resourceGroup" not in by_text["TpuV6e running in Mumbai"]["category"]
    assert not any("V5p" in d and "Dallas" in d and "Spot" in d for d in by_text)  # no price there at all
    v2 = [s for s in legacy if s["description"] == "Tpu-v2 Preemptible running in Iowa"]
    assert [s["category"]["usageType"] for s in v2] == ["OnDemand"]  # the tier is in the words only
    assert price(v2[0]) == pytest.approx(4 * 0.3375)  # per 8 cores, which are 4 chips


def test_google_s_client_makes_reads_changes_and_deletes_a_budget(practice: Practice):
    with google_client(practice, "billingbudgets.v1") as api:
        mine = api.billingAccounts().budgets()
        made = mine.create(parent=ACCOUNT, body=budget()).execute()
        body = {"amount": {"specifiedAmount": {"currencyCode": "USD", "units": "40"}}}
        changed = mine.patch(name=made["name"], body=body, updateMask="amount").execute()
        listed = mine.list(parent=ACCOUNT).execute()["budgets"]
        mine.delete(name=made["name"]).execute()
        left = mine.list(parent=ACCOUNT).execute()

    assert made["budgetFilter"]["projects"] == ["projects/481516234200"]
    assert changed["amount"]["specifiedAmount"]["units"] == "40" and changed["displayName"] == "TPU Studio"
    assert listed == [changed] and left == {}


def test_mails_go_out_once_at_each_threshold_that_the_bill_passes(practice: Practice):
    caller(practice)("POST", f"/v1/{ACCOUNT}/budgets", budget())
    meter, now = practice.cloud.meter, practice.cloud.clock.now()

    def mails() -> list[float]:
        return [mail["share"] for _, mail in practice.cloud.db.list("budget-mail")]

    meter.charge("tpu", "a test", 9.0, now)
    budgets.watch(practice.cloud)
    assert mails() == []
    meter.charge("tpu", "a test", 2.0, now)
    budgets.watch(practice.cloud)
    assert mails() == [0.5]
    meter.charge("tpu", "a test", 20.0, now)
    budgets.watch(practice.cloud)
    budgets.watch(practice.cloud)
    assert mails() == [0.5, 1.0]


CAP = budget(
    budgetFilter={
        "projects": [PROJECT],
        "services": [skus.COMPUTE_SERVICE],
        "calendarPeriod": "MONTH",
        "creditTypesTreatment": "EXCLUDE_ALL_CREDITS",
    },
    thresholdRules=[{"thresholdPercent": share} for share in (0.5, 0.8, 1.0)],
    spendCap={"inputState": "CONFIGURED"},
)


def test_a_spend_cap_is_taken_where_it_is_offered(call: Call):
    made = call("POST", f"/v1/{ACCOUNT}/budgets", CAP)

    assert made.status == 200 and made.body["spendCap"]["outputState"] == "CONFIGURED"


@pytest.mark.parametrize(
    "change",
    [
        {"thresholdRules": [{"thresholdPercent": 0.5}]},
        {"notificationsRule": {}},
        {"budgetFilter": {**CAP["budgetFilter"], "services": []}},
        {"spendCap": {}},
    ],
)
def test_a_spend_cap_needs_all_of_its_conditions(call: Call, change: dict[str, Any]):
    refused = call("POST", f"/v1/{ACCOUNT}/budgets", {**CAP, **change})

    assert (refused.status, refused.error["status"]) == (400, "INVALID_ARGUMENT")


def test_a_spend_cap_that_is_not_offered_is_an_invalid_argument(start_practice: Start):
    call = caller(start_practice("spend-cap-not-offered"))

    assert call("POST", f"/v1/{ACCOUNT}/budgets", CAP).error["status"] == "INVALID_ARGUMENT"
    assert call("POST", f"/v1/{ACCOUNT}/budgets", budget()).status == 200


@pytest.mark.parametrize(
    "change",
    [
        {"amount": {}},
        {"displayName": "x" * 61},
        {"budgetFilter": {"projects": ["projects/not-mine"]}},
        {"notificationsRule": {"mails": True}},
    ],
)
def test_a_budget_that_google_would_refuse_is_refused(call: Call, change: dict[str, Any]):
    assert call("POST", f"/v1/{ACCOUNT}/budgets", budget(**change)).status == 400
