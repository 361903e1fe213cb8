"""The Cloud TPU API in trouble: what is refused, lost, cut or never comes, asked for by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.contract.conftest import Call, Start, caller
from tests.contract.test_tpu import PLACE, V2, create, reach, state
from tests.fakes.waiting import eventually


@pytest.fixture
def armed(start_practice: Start) -> Callable[..., Call]:
    """``armed("fault", …)``: a caller of a practice cloud in which that goes wrong."""
    return lambda *faults: caller(start_practice(*faults, speed=20.0))


@pytest.mark.parametrize(
    ("fault", "status", "says"),
    [
        ("stockout-at-submit", 429, 'There is no more capacity in the zone "us-west4-a"'),
        (
            "not-entitled",
            403,
            'User does not have permission to submit requests for accelerator type "v5litepod-4" in location us-west4-',
        ),
        ("quota-zero", 429, "has been exceeded. Limit: 0 in zone us-west4-a."),
        ("quota-region-limit", 429, "has been exceeded. Limit: 0 in region us-west4."),
        ("type-not-in-zone", 400, "could not be found in the zonal accelerator configurations"),
        ("org-policy", 403, "Permission denied on 'locations/us-west4-a'"),
        ("service-disabled", 403, "Cloud TPU API has not been used in project"),
        ("billing-off", 403, "requires billing to be enabled"),
        ("permission-missing", 403, "Permission 'tpu.nodes.create' denied on"),
        ("act-as-missing", 403, "iam.serviceAccounts.actAs"),
        ("create-rate", 429, "Maximum number of CreateNode requests per minute"),
        ("too-many-requests", 429, "Quota exceeded for quota metric"),
        ("server-error", 500, "Internal error"),
        ("unavailable", 503, "Please try again"),
        ("gateway-timeout", 504, "Deadline expired"),
        ("token-expired", 401, "invalid authentication credentials"),
        ("token-revoked", 401, "invalid authentication credentials"),
    ],
)
def test_a_refusal_is_in_googles_words_and_leaves_nothing(
    armed: Callable[..., Call], fault: str, status: int, says: str
):
    call = armed(fault)
    refused = create(call)
    assert refused.status == status and says in refused.error["message"], refused.raw
    call("DELETE", "/practice/faults") if status != 401 else None
    if status != 401:
        assert state(call) == "gone"


@pytest.mark.parametrize("fault", ["apply-then-fail", "answered-twice"])
def test_a_create_that_was_carried_out_all_the_same(armed: Callable[..., Call], fault: str):
    call = armed(fault)
    assert create(call).status in (503, 409)
    assert state(call) != "gone" and create(call).status == 409
    assert len(call("GET", f"{V2}/queuedResources").body["queuedResources"]) == 1


def test_a_line_that_is_cut_in_the_answer_leaves_what_was_made(armed: Callable[..., Call]):
    call = armed("connection-cut")
    with pytest.raises(Exception, match=r"IncompleteRead|closed|reset"):
        create(call)
    assert state(call) != "gone"


def test_a_stockout_may_come_as_the_operations_own_error(armed: Callable[..., Call]):
    call = armed("stockout-in-operation")
    operation = create(call).body["name"]
    reach(call, "FAILED")
    error = call("GET", f"/v2/{operation}").body["error"]
    assert error["code"] == 8 and error["message"].startswith('There is no more capacity in the zone "us-west4-a"')
    assert call("GET", f"{V2}/queuedResources/q1").body["state"]["failedData"]["error"] == error


def test_an_operation_may_never_end_though_the_node_is_ready(armed: Callable[..., Call]):
    call = armed("operation-never-ends")
    operation = create(call).body["name"]
    reach(call, "ACTIVE")
    assert call("GET", f"/v2/{operation}").body["done"] is False


def test_waiting_for_ever_ends_when_there_is_room(armed: Callable[..., Call]):
    call = armed("stockout-for-ever")
    create(call)
    reach(call, "WAITING_FOR_RESOURCES")
    call("DELETE", "/practice/faults?name=stockout-for-ever")
    reach(call, "ACTIVE")


def test_a_tpu_that_flaps_is_not_billed_for_what_never_was(armed: Callable[..., Call]):
    call = armed("provisioning-flap:times=1")
    create(call)
    eventually(lambda: call("GET", "/practice/faults").body["armed"] == [], "the flap")
    assert call("GET", "/practice/bill").body["lines"] == [] or state(call) != "WAITING_FOR_RESOURCES"
    reach(call, "ACTIVE")
    assert len(call("GET", "/practice/bill").body["lines"]) == 1


def test_a_preempted_node_is_seen_as_such_then_gone_and_the_request_suspended_by_the_service(
    armed: Callable[..., Call],
):
    call = armed("preempted:seconds=2,notice=4")
    create(call)
    reach(call, "ACTIVE")
    seen = eventually(lambda: state(call) == "SUSPENDED" and call("GET", f"{V2}/queuedResources/q1").body, "SUSPENDED")
    assert seen["state"]["stateInitiator"] == "SERVICE"
    assert call("GET", f"{V2}/nodes/q1-n").status == 404
    assert [line["open"] for line in call("GET", "/practice/bill").body["lines"]] == [False]


def test_a_node_may_vanish_without_notice(armed: Callable[..., Call]):
    call = armed("node-gone:seconds=1")
    create(call)
    reach(call, "SUSPENDED")
    assert call("GET", f"{V2}/queuedResources/q1").body["state"]["stateInitiator"] == "SERVICE"


def test_an_unheard_of_state_a_foreign_type_and_a_partial_list(armed: Callable[..., Call]):
    call = armed("unknown-enum", "foreign-metadata-type", "partial-listing")
    made = create(call)
    assert made.body["metadata"]["@type"] == "type.googleapis.com/google.cloud.common.OperationMetadata"
    assert state(call) == "DEFROSTING" and state(call) != "DEFROSTING"
    partial = call("GET", "/v2/projects/practice-project/locations/-/queuedResources").body
    assert partial == {"unreachable": [PLACE]}


def test_a_delete_may_fail_a_few_times(armed: Callable[..., Call]):
    call = armed("delete-fails:times=2")
    create(call)
    reach(call, "ACTIVE")
    tried = [call("DELETE", f"{V2}/queuedResources/q1?force=true").status for _ in range(3)]
    assert tried == [503, 503, 200]


def test_the_state_of_a_request_survives_a_restart_of_the_server(start_practice: Start):
    first = start_practice("capacity-later:seconds=600", speed=20.0)
    create(caller(first))
    first.stop()
    second = start_practice(speed=2000.0)
    reach(caller(second), "ACTIVE")
