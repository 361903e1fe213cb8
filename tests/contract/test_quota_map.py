"""The map of quota against the practice cloud: the limit that is shown and asked for is the one that a slice draws."""

from __future__ import annotations

from typing import Any, cast

import pytest
from google.oauth2.credentials import Credentials

from tests.contract.conftest import Start, caller
from tests.contract.test_doctor import doctor_of, ready
from tests.fakes.waiting import eventually
from tpu_studio.cloud.doctor import quota
from tpu_studio.cloud.doctor.doctor import GoogleDoctor
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.domain.sentences.account import say_account
from tpu_studio.practice.main import Practice
from tpu_studio.viewmodels.accountview import groups
from tpu_studio.workflow.account.ports import Allowance


def limited(practice: Practice, **limits: int) -> list[Allowance]:
    """The map of v5e in us-west4-a where the limits for a zone are these, by the beginning of their ids."""
    for stem in ("TPUV5sLitepod", "TPUV5sPreemptibleLitepod", "TPUV6E", "TPUV6EPreemptible"):
        for use in ("", "Serving"):
            id = f"{stem}{use}PerProjectPerZoneForTPUAPI"
            practice.cloud.db.put("quota-grant", f"{id}/-/us-west4-a", {"value": limits.get(stem + use, 0)})
    rows = doctor_of(practice).allowances(practice.cloud.settings.project)
    return [row for row in rows if (row.generation, row.zone) == ("v5e", "us-west4-a")]


def test_the_limit_that_the_beginners_slice_draws_is_the_one_that_is_shown_and_asked_for(practice: Practice):
    rows = limited(practice, TPUV5sLitepodServing=4)
    assert {(one.use, one.tier): one.limit for one in rows} == {
        ("serving", "on-demand"): 4,
        ("serving", "spot"): 0,
        ("training", "on-demand"): 0,
        ("training", "spot"): 0,
    }
    serving = next(one for one in rows if one.limit)
    assert serving.sizes == "1, 4 or 8 chips"
    assert serving.quota_id == "TPUV5sLitepodServingPerProjectPerZoneForTPUAPI"
    row = next(one for one in doctor_of(practice).check(ready(practice), only=("quota",)) if one.id == "quota")
    assert (row.state, row.facts["left"], row.facts["sizes"]) == ("pass", 4, "1, 4 or 8 chips")
    assert say_account("quota", "pass", row.facts).meaning.endswith("for TPUs of 1, 4 or 8 chips.")
    first = groups(rows, "us-west4")[0]
    assert (first.name, first.left) == ("v5e · 1, 4 or 8 chips", 4)


def test_where_only_large_slices_are_allowed_the_row_says_so(practice: Practice):
    rows = limited(practice, TPUV5sPreemptibleLitepod=64)
    row = next(one for one in doctor_of(practice).check(ready(practice), only=("quota",)) if one.id == "quota")
    said = say_account("quota", row.state, row.facts).meaning
    assert row.state == "pass" and "16 chips and more. For TPUs of 1, 4 or 8 chips it allows none there yet." in said
    large = next(one for one in groups(rows, "us-west4") if one.rows[0].allowance.use == "training")
    assert (large.name, large.left, large.least) == ("v5e · 16 chips and more", 64, 16)


@pytest.mark.parametrize(
    ("fault", "why"), [("quota-not-eligible", "no-history"), ("free-trial", "other"), ("billing-off", "no-billing")]
)
def test_a_limit_for_which_google_takes_no_request_says_why(start_practice: Start, fault: str, why: str):
    """Google's JSON has no ``isEligible: false``: a false is left out."""
    practice = start_practice(fault)
    rows = doctor_of(practice).allowances(practice.cloud.settings.project)
    assert rows and {(one.can_ask, one.why_not) for one in rows} == {(False, why)}


@pytest.mark.parametrize(("way", "can_ask", "why"), [("no-billing", False, "no-billing"), ("taken", True, "")])
def test_a_free_trial_that_says_otherwise_why_it_takes_no_request(
    start_practice: Start, way: str, can_ask: bool, why: str
):
    practice = start_practice("free-trial", speed=1000.0)
    practice.cloud.doubts.arm(f"free-trial-asks={way}")
    doctor, project = doctor_of(practice), practice.cloud.settings.project
    mine = next(one for one in doctor.allowances(project) if (one.generation, one.zone) == ("v6e", "us-east5-b"))
    assert (mine.limit, mine.can_ask, mine.why_not) == (0, can_ask, why)
    if can_ask:
        doctor.ask_quota(project, mine, 8, "to learn", "me@practice.example")
        eventually(lambda: [one.state for one in doctor.quota_requests(project)] == ["denied"])
        after = doctor.allowances(project)
        assert {one.limit for one in after if one.quota_id == mine.quota_id} == {0}


def test_used_up_is_counted_by_what_each_slice_draws(practice: Practice):
    limited(practice, TPUV5sLitepodServing=8, TPUV5sLitepod=64)
    call, place = caller(practice), f"projects/{practice.cloud.settings.project}/locations/us-west4-a"
    for id, name in (("small", "v5litepod-4"), ("large", "v5litepod-16")):
        node = {"acceleratorType": name, "runtimeVersion": "v2-alpha-tpuv5-lite"}
        spec = {"parent": place, "nodeId": id, "node": node}
        assert call("POST", f"/v2/{place}/queuedResources?queuedResourceId={id}", {"tpu": {"nodeSpec": [spec]}}).status
    rows = doctor_of(practice).allowances(practice.cloud.settings.project)
    used = {one.use: one.used for one in rows if (one.zone, one.tier) == ("us-west4-a", "on-demand")}
    assert (used["serving"], used["training"]) == (4, 16)


def test_a_serving_limit_that_is_spelled_otherwise_is_known_by_what_google_displays():
    def info(id: str, shown: str, value: int) -> dict[str, Any]:
        entry = {"details": {"value": str(value)}, "applicableLocations": ["us-west4-a"]}
        return {"quotaId": id, "metricDisplayName": shown, "dimensions": ["zone"], "dimensionsInfos": [entry]}

    class Lists:
        def __init__(self, *found: dict[str, Any]) -> None:
            self.found = found

        def pages(self, *_: Any) -> list[dict[str, Any]]:
            return list(self.found)

    listed = Lists(
        info("Odd1", "TPU v5 lite pod cores for serving per project per zone", 4),
        info("Odd2", "Preemptible TPUv5 lite pod cores for serving per project per zone", 8),
        info("TPUV5sLitepodPerProjectPerZoneForTPUAPI", "TPUv5 lite pod cores per project per zone", 0),
    )
    found = quota.allowances(cast(Any, listed), cast(Any, Lists()), "p", {"us-west4-a": ["v5e"]})
    assert {(one.use, one.tier): (one.quota_id, one.limit) for one in found} == {
        ("serving", "on-demand"): ("Odd1", 4),
        ("serving", "spot"): ("Odd2", 8),
        ("training", "on-demand"): ("TPUV5sLitepodPerProjectPerZoneForTPUAPI", 0),
    }


def test_without_limits_of_a_region_serving_is_limited_by_the_zone(practice: Practice):
    practice.cloud.doubts.arm("serving-region-quota")
    rows = limited(practice, TPUV5sLitepodServing=4)
    assert next(one for one in rows if (one.use, one.tier) == ("serving", "on-demand")).limited_by == "zone"


def test_where_another_area_has_quota_one_press_moves_the_set_up_there(practice: Practice):
    limited(practice)
    zones = {"us-west4-a": {"v5e"}, "us-central1-a": {"v5e"}, "us-east5-b": {"v6e"}}
    doctor = GoogleDoctor(Credentials(token=practice.token), Endpoints.at(practice.url), zones)
    practice.cloud.faults.arm("quota-zero", place="us-east5")
    before = ready(practice)
    row = doctor.check(before, only=("quota",))[0]
    assert (row.state, row.fix, row.facts["to"]) == ("fail", "use-area", "us-central1")
    said = say_account("quota", "fail", row.facts)
    assert said.meaning.startswith("In us-west4 the limit is zero; in us-central1 it is 64 chips v5e")
    assert said.action.startswith("Use us-central1")
    after = doctor.fix("use-area", before)
    assert (after.region, after.bucket) == ("us-central1", "")
    found = {one.id: one for one in doctor.check(after)}
    assert found["quota"].state == "pass" and found["bucket"].fix == "make-bucket"
    made = doctor.fix("make-bucket", after)
    assert {one.id: one.state for one in doctor.check(made)}["bucket"] == "pass"


def test_quota_that_is_all_in_use_is_not_told_as_none(practice: Practice):
    limited(practice, TPUV5sLitepodServing=4)
    call, place = caller(practice), f"projects/{practice.cloud.settings.project}/locations/us-west4-a"
    node = {"acceleratorType": "v5litepod-4", "runtimeVersion": "v2-alpha-tpuv5-lite"}
    spec = {"parent": place, "nodeId": "mine", "node": node}
    call("POST", f"/v2/{place}/queuedResources?queuedResourceId=mine", {"tpu": {"nodeSpec": [spec]}})
    row = doctor_of(practice).check(ready(practice), only=("quota",))[0]
    assert (row.state, row.facts["left"]) == ("pass", 0)
    said = say_account("quota", "pass", row.facts).meaning
    assert said == "All 4 chips v5e (on-demand) in us-west4-a are in use now, for TPUs of 1, 4 or 8 chips."
