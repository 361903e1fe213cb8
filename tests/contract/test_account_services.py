"""Projects, services, quota, billing, budgets, accounts, policies: held to Google's generic client and documents."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from googleapiclient.errors import HttpError

from tests.contract.conftest import Call, Start, caller
from tests.fakes.google_client import google_client
from tpu_studio.practice import budgets, discovery, quota_limits, roles, skus
from tpu_studio.practice.main import Practice
from tpu_studio.practice.quota_limits import TPU

PROJECT = "projects/practice-project"
HOME = f"/v1/{PROJECT}/locations/global"
ACCOUNT = "billingAccounts/0A1B2C-3D4E5F-678901"
V6E_SPOT = "TPUV6EPreemptiblePerProjectPerZoneForTPUAPI"
PATIENCE_S = 60.0


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def done(api: Any, operation: dict[str, Any]) -> dict[str, Any]:
    """The operation once it is done, asked for through *api* (its ``operations``)."""
    deadline = time.monotonic() + PATIENCE_S
    while not operation.get("done"):
        assert time.monotonic() < deadline, "the operation did not end"
        time.sleep(0.02)
        operation = api.operations().get(name=operation["name"]).execute()
    return operation


# ---------------------------------------------------------------------------------------------------------- projects


def test_google_s_client_finds_makes_and_reads_projects(start_practice: Start):
    practice = start_practice(speed=100.0)
    with google_client(practice, "cloudresourcemanager.v3") as api:
        found = api.projects().search(query="state:ACTIVE").execute()["projects"]
        made = done(api, api.projects().create(body={"projectId": "my-own-1", "displayName": "My own"}).execute())
        one = api.projects().get(name="projects/my-own-1").execute()

    assert [(p["projectId"], p["name"]) for p in found] == [("practice-project", "projects/481516234200")]
    assert made["response"]["@type"].endswith("cloud.resourcemanager.v3.Project")
    assert (one["displayName"], one["state"]) == ("My own", "ACTIVE")


def test_a_project_made_just_now_has_no_billing_and_cannot_switch_on_what_costs(call: Call):
    call("POST", "/v3/projects", {"projectId": "my-own-1"})

    assert "billingEnabled" not in call("GET", "/v1/projects/my-own-1/billingInfo").body
    refused = call("POST", "/v1/projects/my-own-1/services/tpu.googleapis.com:enable", {})
    assert refused.reasons == ["UREQ_PROJECT_BILLING_NOT_FOUND"]

    assert call("PUT", "/v1/projects/my-own-1/billingInfo", {"billingAccountName": ACCOUNT}).body["billingEnabled"]
    assert call("POST", "/v1/projects/my-own-1/services/tpu.googleapis.com:enable", {}).status == 200


@pytest.mark.parametrize(("body", "status"), [
    ({"projectId": "practice-project"}, 409), ({"projectId": "Short"}, 400), ({"projectId": "my-name", "hue": 1}, 400),
])  # fmt: skip
def test_a_project_that_cannot_be_made_is_refused(call: Call, body: dict[str, Any], status: int):
    assert call("POST", "/v3/projects", body).status == status


def test_permissions_are_tested_by_name_and_unknown_names_are_an_error(call: Call, practice: Practice):
    path = f"/v3/{PROJECT}:testIamPermissions"
    asked = {"permissions": ["tpu.nodes.create", "tpu.nodes.list", "resourcemanager.projects.setIamPolicy"]}
    viewer = practice.cloud.principals.issue("colleague@practice.example")

    assert call("POST", path, asked).body == asked
    assert call("POST", path, asked, token=viewer).body == {"permissions": ["tpu.nodes.list"]}
    unknown = call("POST", path, {"permissions": ["tpu.nodes.fly"]})
    assert unknown.status == 400 and "tpu.nodes.fly" in unknown.error["message"]


def test_a_missing_permission_is_missing_in_the_test_and_in_the_call(start_practice: Start):
    call = caller(start_practice("permission-missing:permission=serviceusage.services.enable"))
    asked = {"permissions": ["serviceusage.services.enable", "tpu.nodes.list"]}

    assert call("POST", f"/v3/{PROJECT}:testIamPermissions", asked).body == {"permissions": ["tpu.nodes.list"]}
    refused = call("POST", f"/v1/{PROJECT}/services/tpu.googleapis.com:enable", {})
    assert (refused.status, refused.reasons) == (403, ["IAM_PERMISSION_DENIED"])


def test_a_policy_is_changed_only_from_its_latest_reading(practice: Practice):
    binding = {"role": "roles/viewer", "members": ["user:new@practice.example"]}
    with google_client(practice, "cloudresourcemanager.v3") as api:
        read = api.projects().getIamPolicy(resource=PROJECT, body={}).execute()
        policy = {"bindings": [*read["bindings"], binding], "etag": read["etag"]}
        written = api.projects().setIamPolicy(resource=PROJECT, body={"policy": policy}).execute()
        with pytest.raises(HttpError) as late:
            api.projects().setIamPolicy(resource=PROJECT, body={"policy": policy}).execute()

    assert binding in written["bindings"] and written["etag"] != read["etag"]
    assert late.value.status_code == 409
    token = practice.cloud.principals.issue("new@practice.example")
    assert caller(practice)("GET", f"/v3/{PROJECT}", token=token).status == 200


@pytest.mark.parametrize("bindings", [
    [{"role": "roles/no.such", "members": ["user:you@practice.example"]}],
    [{"role": "roles/viewer", "members": ["serviceAccount:nobody@practice-project.iam.gserviceaccount.com"]}],
    [{"role": "roles/viewer", "members": ["you@practice.example"]}],
    [{"role": "roles/viewer", "members": ["user:you@practice.example"]}],  # no owner left
])  # fmt: skip
def test_a_policy_that_google_would_refuse_is_refused(call: Call, bindings: list[dict[str, Any]]):
    assert call("POST", f"/v3/{PROJECT}:setIamPolicy", {"policy": {"bindings": bindings}}).status == 400


# ---------------------------------------------------------------------------------------------------------- services


def pass_time(practice: Practice, **times: float) -> None:
    """Let the TPU service's *times* (``on_at``, ``works_at``) and every operation be over."""
    db, name = practice.cloud.db, f"practice-project/{TPU}"
    db.put("service", name, {**(db.get("service", name) or {}), **times})
    for operation, record in db.list("account-operation"):
        db.put("account-operation", operation, {**record, "done_at": 0.0})


def test_services_are_switched_on_after_their_time_and_work_a_while_later(start_practice: Start):
    practice = start_practice(ready=False)
    call = caller(practice)
    call("PUT", f"/v1/{PROJECT}/billingInfo", {"billingAccountName": ACCOUNT})
    with google_client(practice, "serviceusage.v1") as api:
        services = api.services()
        names = [f"{PROJECT}/services/{one}" for one in (TPU, "storage.googleapis.com")]
        before = services.batchGet(parent=PROJECT, names=names).execute()["services"]
        operation = services.batchEnable(parent=PROJECT, body={"serviceIds": [TPU]}).execute()
        pass_time(practice, on_at=0.0)
        ended = api.operations().get(name=operation["name"]).execute()
        after = services.get(name=names[0]).execute()

    assert [s["state"] for s in before] == ["DISABLED", "ENABLED"]
    assert "done" not in operation and ended["done"] and after["state"] == "ENABLED"
    assert ended["response"]["@type"].endswith("BatchEnableServicesResponse")
    assert call("GET", f"/v2/{PROJECT}/locations").reasons == ["SERVICE_DISABLED"]  # it has to get around first
    pass_time(practice, works_at=0.0)
    assert call("GET", f"/v2/{PROJECT}/locations").status == 200


def test_a_service_that_a_fault_has_switched_off_is_refused_until_switched_on_and_waited_for(start_practice: Start):
    practice = start_practice("service-disabled:delay=100")
    call = caller(practice)

    off = call("GET", f"/v2/{PROJECT}/locations")
    assert (off.status, off.reasons) == (403, ["SERVICE_DISABLED"])
    assert call("GET", f"/v1/{PROJECT}/services/{TPU}").body["state"] == "DISABLED"

    assert call("POST", f"/v1/{PROJECT}/services/{TPU}:enable", {}).status == 200
    assert call("GET", f"/v2/{PROJECT}/locations").status == 403  # not at once
    pass_time(practice, on_at=0.0, works_at=0.0)
    assert call("GET", f"/v2/{PROJECT}/locations").status == 200


def test_services_are_listed_by_state_in_pages(call: Call):
    found: list[str] = []
    token = ""
    while True:
        page = call("GET", f"/v1/{PROJECT}/services?filter=state:ENABLED&pageSize=4&pageToken={token}").body
        found += [s["config"]["name"] for s in page["services"]]
        if not (token := page.get("nextPageToken", "")):
            break

    assert len(found) == len(set(found)) > 4 and TPU in found
    assert call("POST", f"/v1/{PROJECT}/services/{TPU}:disable", {}).status == 200
    assert [s["config"]["name"] for s in call("GET", f"/v1/{PROJECT}/services?filter=state:DISABLED").body["services"]
            if s["config"]["name"] == TPU] == [TPU]  # fmt: skip


def test_an_unknown_service_and_too_many_at_once_are_refused(call: Call):
    assert call("GET", f"/v1/{PROJECT}/services/no.googleapis.com").status == 403
    assert call("POST", f"/v1/{PROJECT}/services:batchEnable", {"serviceIds": [TPU] * 21}).status == 400


# ------------------------------------------------------------------------------------------------------------- quota


def effective(info: dict[str, Any], location: str, per: str = "zone") -> int:
    """The limit that counts at *location*, read as the reference says (§8.3): most specific first."""
    for entry in info["dimensionsInfos"]:
        wanted = entry.get("dimensions", {})
        if wanted.get(per) == location or (per not in wanted and location in entry["applicableLocations"]):
            return int(entry["details"].get("value", "0"))
    return 0


def test_every_limit_that_is_shown_is_the_one_that_counts(start_practice: Start):
    practice = start_practice("quota-zero:generation=v5e", "quota-region-limit:generation=v6e")
    practice.cloud.db.put("quota-grant", f"{V6E_SPOT}/-/us-east5-b", {"value": 128})
    with google_client(practice, "cloudquotas.v1.derived") as api:
        infos = api.services().quotaInfos().list(project="practice-project", service=TPU, pageSize=100).execute()
    by_id = {info["quotaId"]: info for info in infos["quotaInfos"]}

    seen = 0
    for quota in quota_limits.QUOTAS:
        if quota.service == TPU:
            for place in quota_limits.places(quota.generation, quota.per):
                counted = quota_limits.limit(practice.cloud, quota.quota_id, {quota.per: place})
                assert effective(by_id[quota.quota_id], place, quota.per) == counted, (quota.quota_id, place)
                seen += 1
    assert seen > 50
    assert effective(by_id[V6E_SPOT], "us-east5-b") == 128 and effective(by_id[V6E_SPOT], "us-east5-a") == 64
    assert effective(by_id["TPUV6EPreemptiblePerProjectPerRegionForTPUAPI"], "us-east5", "region") == 0
    assert effective(by_id["TPUV5sLitepodPerProjectPerZoneForTPUAPI"], "us-west4-a") == 0


def test_the_most_specific_limit_comes_first_and_zero_is_left_out_as_google_does(start_practice: Start):
    practice = start_practice("quota-zero:generation=v5e,place=us-west4-a")

    info = caller(practice)(
        "GET", f"{HOME}/services/{TPU}/quotaInfos/TPUV5sLitepodPerProjectPerZoneForTPUAPI"
    ).body

    first = info["dimensionsInfos"][0]
    assert (first["dimensions"], first["details"]) == ({"zone": "us-west4-a"}, {})
    assert "us-west4-a" not in info["dimensionsInfos"][-1]["applicableLocations"]
    assert info["quotaIncreaseEligibility"] == {"isEligible": True}


def test_compute_s_limit_per_family_has_its_family_among_the_dimensions(call: Call):
    info = call("GET", f"{HOME}/services/compute.googleapis.com/quotaInfos/TPUS-PER-TPU-FAMILY-per-project-region").body

    assert info["dimensions"] == ["region", "tpu_family"]
    assert {e["dimensions"]["tpu_family"] for e in info["dimensionsInfos"]} == {"CT6E", "TPU7X"}


def wish(value: int, zone: str = "us-east5-b", **more: Any) -> dict[str, Any]:
    return {"service": TPU, "quotaId": V6E_SPOT, "dimensions": {"zone": zone}, "contactEmail": "you@practice.example",
            "quotaConfig": {"preferredValue": str(value)}, **more}  # fmt: skip


def decided(call: Call, id: str) -> dict[str, Any]:
    path = f"{HOME}/quotaPreferences/{id}"
    until(lambda: "reconciling" not in call("GET", path).body)
    return call("GET", path).body


def test_a_request_for_more_is_decided_after_a_while_and_then_counts(start_practice: Start):
    practice = start_practice("quota-raised-after-request:generation=v6e", speed=100.0)
    call = caller(practice)
    here = {"zone": "us-east5-b"}
    assert quota_limits.limit(practice.cloud, V6E_SPOT, here) == 0
    with google_client(practice, "cloudquotas.v1.derived") as api:
        preferences = api.quotaPreferences()
        asked = preferences.create(project="practice-project", quotaPreferenceId="mine", body=wish(8)).execute()

    assert asked["reconciling"] is True and "grantedValue" not in asked["quotaConfig"]
    final = decided(call, "mine")
    assert final["quotaConfig"]["grantedValue"] == "8" == final["quotaConfig"]["preferredValue"]
    assert quota_limits.limit(practice.cloud, V6E_SPOT, here) == 8
    assert [p["name"] for p in call("GET", f"{HOME}/quotaPreferences").body["quotaPreferences"]] == [final["name"]]


@pytest.mark.parametrize(("fault", "granted"), [("quota-request-denied", 64), ("quota-request-partial", 68)])
def test_a_request_may_be_denied_or_granted_in_part(start_practice: Start, fault: str, granted: int):
    practice = start_practice(fault, speed=100.0)
    call = caller(practice)
    call("POST", f"{HOME}/quotaPreferences?quotaPreferenceId=mine", wish(100))

    final = decided(call, "mine")

    assert int(final["quotaConfig"]["grantedValue"]) == granted < 100 and final["quotaConfig"]["stateDetail"]
    assert quota_limits.limit(practice.cloud, V6E_SPOT, {"zone": "us-east5-b"}) == granted


def test_a_second_request_for_the_same_place_must_change_the_first(start_practice: Start):
    practice = start_practice(speed=100.0)
    call = caller(practice)
    path = f"{HOME}/quotaPreferences"

    assert call("POST", f"{path}?quotaPreferenceId=mine", wish(80)).status == 200
    assert call("POST", f"{path}?quotaPreferenceId=other", wish(90)).status == 409
    assert call("POST", f"{path}?quotaPreferenceId=elsewhere", wish(90, "us-east5-a")).status == 200
    assert call("PATCH", f"{path}/new", wish(70, "us-east1-d")).status == 404
    assert call("PATCH", f"{path}/new?allowMissing=true", wish(70, "us-east1-d")).status == 200
    changed = call("PATCH", f"{path}/mine", {"quotaConfig": {"preferredValue": "96"}})

    assert changed.status == 200 and changed.body["dimensions"] == {"zone": "us-east5-b"}
    assert decided(call, "mine")["quotaConfig"]["grantedValue"] == "96"


@pytest.mark.parametrize("change", [
    {"contactEmail": ""}, {"quotaId": "TPUV9PerProjectPerZoneForTPUAPI"}, {"dimensions": {"region": "us-east5"}},
    {"dimensions": {"zone": "mars-1a"}}, {"quotaConfig": {}}, {"quotaConfig": {"preferredValue": "many"}}, {"why": "x"},
])  # fmt: skip
def test_a_request_that_google_would_refuse_is_refused(call: Call, change: dict[str, Any]):
    assert call("POST", f"{HOME}/quotaPreferences", wish(80) | change).status == 400


def test_a_project_too_new_to_ask_says_so_before_and_when_asked(start_practice: Start):
    call = caller(start_practice("quota-not-eligible"))

    info = call("GET", f"{HOME}/services/{TPU}/quotaInfos/{V6E_SPOT}").body
    refused = call("POST", f"{HOME}/quotaPreferences", wish(80))

    assert info["quotaIncreaseEligibility"] == {"ineligibilityReason": "NOT_ENOUGH_USAGE_HISTORY"}
    assert (refused.status, refused.error["status"]) == (400, "FAILED_PRECONDITION")


def test_the_older_quota_page_shows_the_same_limits(start_practice: Start):
    practice = start_practice("quota-zero:generation=v6e,place=us-east5-b")
    with google_client(practice, "serviceusage.v1beta1") as api:
        metrics = api.services().consumerQuotaMetrics().list(parent=f"{PROJECT}/services/{TPU}", view="FULL").execute()

    (metric,) = [m for m in metrics["metrics"] if m["metric"] == f"{TPU}/tpu-v6e-preemptible"]
    by_zone = next(one for one in metric["consumerQuotaLimits"] if one["unit"] == "1/{project}/{zone}")
    buckets = {b.get("dimensions", {}).get("zone", ""): b["effectiveLimit"] for b in by_zone["quotaBuckets"]}
    assert buckets == {"": "64", "us-east5-b": "0"}


# ------------------------------------------------------------------------------------------------------------- money


def test_billing_that_is_off_refuses_tpus_until_an_account_pays(start_practice: Start):
    call = caller(start_practice("billing-off"))

    assert call("GET", f"/v1/{PROJECT}/billingInfo").body.get("billingEnabled") is None
    assert call("GET", f"/v2/{PROJECT}/locations").reasons == ["BILLING_DISABLED"]
    closed = call("PUT", f"/v1/{PROJECT}/billingInfo", {"billingAccountName": "billingAccounts/00AAAA-11BBBB-22CCCC"})
    assert closed.status == 400
    paid = call("PUT", f"/v1/{PROJECT}/billingInfo", {"billingAccountName": ACCOUNT})
    assert paid.body["billingEnabled"] is True
    assert call("GET", f"/v2/{PROJECT}/locations").status == 200


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


def budget(**change: Any) -> dict[str, Any]:
    return {
        "displayName": "TPU Studio", "budgetFilter": {"projects": [PROJECT], "calendarPeriod": "MONTH"},
        "amount": {"specifiedAmount": {"currencyCode": "USD", "units": "20"}},
        "thresholdRules": [{"thresholdPercent": 0.5}, {"thresholdPercent": 1.0, "spendBasis": "FORECASTED_SPEND"}],
        "notificationsRule": {"enableProjectLevelRecipients": True}, **change,
    }  # fmt: skip


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
    budgetFilter={"projects": [PROJECT], "services": [skus.COMPUTE_SERVICE], "calendarPeriod": "MONTH",
                  "creditTypesTreatment": "EXCLUDE_ALL_CREDITS"},
    thresholdRules=[{"thresholdPercent": share} for share in (0.5, 0.8, 1.0)], spendCap={"inputState": "CONFIGURED"},
)  # fmt: skip


def test_a_spend_cap_is_taken_where_it_is_offered(call: Call):
    made = call("POST", f"/v1/{ACCOUNT}/budgets", CAP)

    assert made.status == 200 and made.body["spendCap"]["outputState"] == "CONFIGURED"


@pytest.mark.parametrize("change", [
    {"thresholdRules": [{"thresholdPercent": 0.5}]}, {"notificationsRule": {}},
    {"budgetFilter": {**CAP["budgetFilter"], "services": []}}, {"spendCap": {}},
])  # fmt: skip
def test_a_spend_cap_needs_all_of_its_conditions(call: Call, change: dict[str, Any]):
    refused = call("POST", f"/v1/{ACCOUNT}/budgets", {**CAP, **change})

    assert (refused.status, refused.error["status"]) == (400, "INVALID_ARGUMENT")


def test_a_spend_cap_that_is_not_offered_is_an_invalid_argument(start_practice: Start):
    call = caller(start_practice("spend-cap-not-offered"))

    assert call("POST", f"/v1/{ACCOUNT}/budgets", CAP).error["status"] == "INVALID_ARGUMENT"
    assert call("POST", f"/v1/{ACCOUNT}/budgets", budget()).status == 200


@pytest.mark.parametrize("change", [
    {"amount": {}}, {"displayName": "x" * 61}, {"budgetFilter": {"projects": ["projects/not-mine"]}},
    {"notificationsRule": {"mails": True}},
])  # fmt: skip
def test_a_budget_that_google_would_refuse_is_refused(call: Call, change: dict[str, Any]):
    assert call("POST", f"/v1/{ACCOUNT}/budgets", budget(**change)).status == 400


# --------------------------------------------------------------------------------------------- accounts and policies


def test_google_s_client_makes_lists_and_deletes_a_service_account(practice: Practice):
    with google_client(practice, "iam.v1") as api:
        accounts = api.projects().serviceAccounts()
        body = {"accountId": "tpu-helper", "serviceAccount": {"displayName": "Helper"}}
        made = accounts.create(name=PROJECT, body=body).execute()
        emails = [a["email"] for a in accounts.list(name=PROJECT).execute()["accounts"]]
        with pytest.raises(HttpError) as twice:
            accounts.create(name=PROJECT, body=body).execute()
        accounts.delete(name=made["name"]).execute()
        with pytest.raises(HttpError) as gone:
            accounts.get(name=made["name"]).execute()

    assert made["email"] == "tpu-helper@practice-project.iam.gserviceaccount.com" and made["email"] in emails
    assert practice.cloud.settings.runner in emails
    assert (twice.value.status_code, gone.value.status_code) == (409, 404)


def test_a_role_of_one_s_own_gives_exactly_what_it_includes(practice: Practice, call: Call):
    made = call("POST", f"/v1/{PROJECT}/roles", {"roleId": "tpuStudioRunner", "role": {
        "title": "Runner", "includedPermissions": ["tpu.nodes.delete", "tpu.queuedResources.delete"]}})  # fmt: skip
    practice.cloud.db.put("policy", PROJECT, {"version": 1, "etag": "x", "bindings": [
        {"role": made.body["name"], "members": [f"serviceAccount:{practice.cloud.settings.runner}"]}]})  # fmt: skip
    token = practice.cloud.principals.issue(practice.cloud.settings.runner, "serviceAccount")
    asked = {"permissions": ["tpu.nodes.delete", "tpu.nodes.create"]}

    first = call("POST", f"/v3/{PROJECT}:testIamPermissions", asked, token=token)
    call("PATCH", f"/v1/{made.body['name']}?updateMask=includedPermissions",
         {"includedPermissions": ["tpu.nodes.create"]})  # fmt: skip
    second = call("POST", f"/v3/{PROJECT}:testIamPermissions", asked, token=token)

    assert (first.body["permissions"], second.body["permissions"]) == (["tpu.nodes.delete"], ["tpu.nodes.create"])


def test_organisation_policies_tell_what_is_forbidden(start_practice: Start):
    with google_client(start_practice("org-policy"), "orgpolicy.v2") as api:
        policies = api.projects().policies()
        where = policies.getEffectivePolicy(name=f"{PROJECT}/policies/gcp.resourceLocations").execute()
        keys = policies.getEffectivePolicy(name=f"{PROJECT}/policies/iam.disableServiceAccountKeyCreation").execute()
        listed = policies.list(parent=PROJECT).execute()["policies"]

    assert where["spec"]["rules"] == [{"values": {"allowedValues": ["in:eu-locations"]}}]
    assert keys["spec"]["rules"] == [{"enforce": False}]
    assert listed == [where]


def test_networks_are_read_and_one_is_made_where_the_organisation_left_none(start_practice: Start):
    practice = start_practice("org-policy:constraint=compute.skipDefaultNetworkCreation")
    call = caller(practice)
    path = f"/compute/v1/{PROJECT}"

    gone = call("GET", f"{path}/global/networks/default")
    made = call("POST", f"{path}/global/networks", {"name": "default", "autoCreateSubnetworks": True})
    found = call("GET", f"{path}/global/networks/default").body

    assert gone.status == 404 and gone.error["errors"][0]["reason"] == "notFound"
    assert made.body["status"] == "DONE"
    assert call("GET", f"{path}/global/operations/{made.body['name']}").body["status"] == "DONE"
    subnet = call("GET", f"{path}/regions/us-west4/subnetworks/default").body
    assert subnet["selfLink"] in found["subnetworks"] and subnet["network"] == found["selfLink"]
    assert call("GET", f"{path}/regions/mars-1/subnetworks").status == 404


# ---------------------------------------------------------------------------------------------------- the whole of it


@pytest.mark.parametrize(("path", "schema"), [
    (f"/v3/{PROJECT}", "cloudresourcemanager.v3:Project"),
    ("/v3/projects:search", "cloudresourcemanager.v3:SearchProjectsResponse"),
    (f"/v1/{PROJECT}/services", "serviceusage.v1:ListServicesResponse"),
    (f"/v1/{PROJECT}/services/{TPU}", "serviceusage.v1:GoogleApiServiceusageV1Service"),
    (f"/v1beta1/{PROJECT}/services/{TPU}/consumerQuotaMetrics",
     "serviceusage.v1beta1:ListConsumerQuotaMetricsResponse"),
    (f"{HOME}/services/{TPU}/quotaInfos", "cloudquotas.v1:ListQuotaInfosResponse"),
    (f"{HOME}/services/compute.googleapis.com/quotaInfos", "cloudquotas.v1:ListQuotaInfosResponse"),
    (f"{HOME}/quotaPreferences", "cloudquotas.v1:ListQuotaPreferencesResponse"),
    (f"/v1/{PROJECT}/billingInfo", "cloudbilling.v1:ProjectBillingInfo"),
    ("/v1/billingAccounts", "cloudbilling.v1:ListBillingAccountsResponse"),
    ("/v1/services", "cloudbilling.v1:ListServicesResponse"),
    (f"/v1/{skus.COMPUTE_SERVICE}/skus", "cloudbilling.v1:ListSkusResponse"),
    (f"/v1/{ACCOUNT}/budgets", "billingbudgets.v1:GoogleCloudBillingBudgetsV1ListBudgetsResponse"),
    (f"/v1/{PROJECT}/serviceAccounts", "iam.v1:ListServiceAccountsResponse"),
    ("/v1/roles/viewer", "iam.v1:Role"),
    (f"/v2/{PROJECT}/policies/gcp.resourceLocations:getEffectivePolicy", "orgpolicy.v2:GoogleCloudOrgpolicyV2Policy"),
    (f"/cloudtasks/v2/{PROJECT}/locations", "cloudtasks.v2:ListLocationsResponse"),
    (f"/cloudtasks/v2/{PROJECT}/locations/us-west4/queues", "cloudtasks.v2:ListQueuesResponse"),
    (f"/cloudtasks/v2/{PROJECT}/locations/us-west4/queues/tpu-studio/tasks", "cloudtasks.v2:ListTasksResponse"),
    (f"/compute/v1/{PROJECT}", "compute.v1:Project"),
    (f"/compute/v1/{PROJECT}/global/networks", "compute.v1:NetworkList"),
    (f"/compute/v1/{PROJECT}/regions", "compute.v1:RegionList"),
    (f"/compute/v1/{PROJECT}/regions/us-west4/subnetworks", "compute.v1:SubnetworkList"),
    ("/oauth2/v2/userinfo", "oauth2.v2:Userinfo"),
])  # fmt: skip
def test_answers_hold_no_field_that_google_s_document_lacks(practice: Practice, call: Call, path: str, schema: str):
    later = practice.cloud.clock.rfc3339(practice.cloud.clock.now() + 86400)
    call("POST", f"/v1/{ACCOUNT}/budgets", budget())
    call("POST", f"{HOME}/quotaPreferences", wish(80))
    call("POST", f"/cloudtasks/v2/{PROJECT}/locations/us-west4/queues/tpu-studio/tasks", {"task": {
        "scheduleTime": later, "httpRequest": {"url": "https://tpu.googleapis.com/"}}})  # fmt: skip

    answer = call("GET", path)

    assert answer.status == 200 and answer.body
    discovery.checked(schema, answer.body)  # raises with each unknown name and wrong type


def test_every_permission_that_a_call_asks_for_is_one_that_can_be_granted(practice: Practice):
    asked = {route.permission for route in practice.router._routes if route.permission}

    assert len(asked) > 40 and asked <= roles.KNOWN


def test_another_person_of_the_project_is_held_to_their_role_everywhere(practice: Practice, call: Call):
    token = practice.cloud.principals.issue("colleague@practice.example")  # a viewer
    queue = f"/cloudtasks/v2/{PROJECT}/locations/us-west4/queues"

    seen = [call("GET", path, token=token).status for path in (
        f"/v1/{PROJECT}/services", f"{HOME}/services/{TPU}/quotaInfos", queue, f"/v1/{PROJECT}/serviceAccounts",
        f"/compute/v1/{PROJECT}/global/networks", f"/v1/{PROJECT}/billingInfo",
    )]  # fmt: skip
    refused = [call(method, path, body, token=token).status for method, path, body in (
        ("POST", f"/v1/{PROJECT}/services/{TPU}:disable", {}), ("POST", f"{HOME}/quotaPreferences", wish(80)),
        ("POST", queue, {"name": "x"}), ("DELETE", f"{queue}/tpu-studio", None),
        ("POST", f"/v1/{PROJECT}/serviceAccounts", {"accountId": "helper-one"}),
        ("POST", f"/compute/v1/{PROJECT}/global/networks", {"name": "mine"}),
        ("POST", f"/v3/{PROJECT}:setIamPolicy", {"policy": {}}),
        ("POST", f"/v1/{PROJECT}/serviceAccounts/{practice.cloud.settings.runner}/keys", {}),
        ("POST", f"/v1/projects/-/serviceAccounts/{practice.cloud.settings.runner}:generateAccessToken",
         {"scope": ["https://www.googleapis.com/auth/cloud-platform"]}),
    )]  # fmt: skip

    assert seen == [200] * 6 and refused == [403] * 9


def test_a_person_s_call_may_have_to_name_the_project_whose_quota_counts(start_practice: Start):
    practice = start_practice("quota-project-needed")
    call, path = caller(practice), f"{HOME}/quotaPreferences"
    colleague = practice.cloud.principals.issue("colleague@practice.example")
    named = {"X-Goog-User-Project": "practice-project"}

    bare = call("GET", path)
    theirs = call("GET", path, headers=named, token=colleague)  # a viewer may look, but not spend its quota

    assert bare.status == 403 and "requires a quota project" in bare.error["message"]
    assert call("GET", path, headers=named).status == 200
    assert (theirs.status, theirs.reasons) == (403, ["USER_PROJECT_DENIED"])
