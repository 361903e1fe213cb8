"""The small decisions of the clients: what a machine's state means, what time it is, what is shown."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace
from typing import Any

import pytest
import requests

from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud import compute, stops, tpu
from tpu_studio.cloud.clock import DateClock
from tpu_studio.cloud.commands import script
from tpu_studio.cloud.connection import connect
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.session import Patience
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.workflow.cloudruns.ports import Ref, Wanted

REF = Ref("ts-a-a1-t1", "us-west4-a")
WANTED = Wanted(
    REF,
    "id",
    "v6e-1",
    "v2-alpha-tpuv6e",
    "on-demand",
    7200.0,
    None,
    {"startup-script": "#!/bin/sh\n"},
    {"tpu-studio": "run", "run-id": "a"},
    "r@p.iam.gserviceaccount.com",
)


def request(state: Any, **more: Any) -> dict[str, Any]:
    return {"name": "projects/1/locations/us-west4-a/queuedResources/x", "state": {"state": state, **more}}


# --------------------------------------------------------------------------------------------------------- states


@pytest.mark.parametrize(
    ("asked", "made", "state"),
    [
        ("CREATING", None, "waiting"),
        ("ACCEPTED", None, "waiting"),
        ("WAITING_FOR_RESOURCES", None, "waiting"),
        ("WAITING_FOR_RESOURCES", "CREATING", "provisioning"),
        ("PROVISIONING", None, "provisioning"),
        ("PROVISIONING", "CREATING", "provisioning"),
        ("PROVISIONING", "READY", "ready"),  # the operation may never end, the machine is up and billed
        ("ACTIVE", "READY", "ready"),
        ("ACTIVE", "REPAIRING", "provisioning"),
        ("ACTIVE", "PREEMPTED", "preempted"),
        ("ACTIVE", "STOPPED", "preempted"),
        ("ACTIVE", "DELETING", "leaving"),
        ("ACTIVE", None, "preempted"),  # gone without notice
        ("SUSPENDING", "READY", "leaving"),
        ("SUSPENDED", None, "preempted"),
        ("FAILED", None, "failed"),
        ("DELETING", "READY", "leaving"),
        ("STATE_UNSPECIFIED", None, "unknown"),
        (17, None, "unknown"),
        ("HIBERNATING", "READY", "unknown"),
        ("ACTIVE", "STATE_UNSPECIFIED", "unknown"),
        (None, "READY", "ready"),
        (None, "CREATING", "provisioning"),
        (None, "PREEMPTED", "preempted"),
        (None, "DELETING", "leaving"),
    ],
)
def test_request_and_node_together_make_one_state(asked: Any, made: str | None, state: str) -> None:
    node = None if made is None else {"state": made}
    assert tpu.seen(REF, None if asked is None else request(asked), node).state == state


def test_why_a_request_failed_and_who_takes_a_machine_away_is_told() -> None:
    error = {"code": 8, "message": 'There is no more capacity in the zone "us-west4-a"'}
    failed = tpu.seen(REF, request("FAILED", failedData={"error": error}), None)
    assert failed.error is not None and failed.error[0] == "no-capacity"
    assert tpu.seen(REF, request("SUSPENDING", stateInitiator="SERVICE"), None).by_service
    assert not tpu.seen(REF, request("SUSPENDING", stateInitiator="USER"), None).by_service
    created = tpu.seen(REF, request("ACTIVE"), {"state": "READY", "createTime": "2026-11-21T20:00:00.5Z"}).created
    assert created == 1795291200.5


def test_a_request_carries_its_tier_and_an_address_but_no_scheduling() -> None:
    assert "spot" not in tpu.request_body(WANTED, "p")
    body = tpu.request_body(replace(WANTED, tier="spot"), "p")
    (spec,) = body["tpu"]["nodeSpec"]
    assert body["spot"] == {} and spec["nodeId"] == REF.name
    assert spec["node"]["networkConfig"] == {"network": "default", "enableExternalIps": True}
    assert "schedulingConfig" not in spec["node"]


def test_an_instance_ends_itself_where_it_has_a_run_time() -> None:
    body = compute.insert_body(replace(WANTED, tier="flex-start", run_s=14400.0), catalogue())
    assert body["scheduling"] == {
        "provisioningModel": "FLEX_START",
        "instanceTerminationAction": "DELETE",
        "onHostMaintenance": "TERMINATE",
        "automaticRestart": False,
        "maxRunDuration": {"seconds": "14400"},
    }
    assert body["params"] == {"requestValidForDuration": {"seconds": "7200"}}
    for waits_s, asked_s in ((14_400.0, "7200"), (60.0, "90"), (600.0, "600")):
        body = compute.insert_body(replace(WANTED, tier="flex-start", run_s=14400.0, valid_for_s=waits_s), catalogue())
        assert body["params"] == {"requestValidForDuration": {"seconds": asked_s}}
    assert body["machineType"].endswith("/ct6e-standard-1t")
    disk = body["disks"][0]["initializeParams"]
    assert disk["diskType"].endswith("/hyperdisk-balanced")
    # What the price of a Hyperdisk Balanced includes; int64 are strings in JSON.
    assert (disk["provisionedIops"], disk["provisionedThroughput"]) == ("3000", "140")
    assert "instanceTerminationAction" not in compute.insert_body(WANTED, catalogue())["scheduling"]


def test_an_instance_that_waits_is_neither_there_nor_charged() -> None:
    waiting = compute.seen(REF, {"status": "PENDING", "creationTimestamp": "2026-11-23T01:00:00Z"})
    assert (waiting.state, waiting.created) == ("waiting", None)
    for status in ("STOPPING", "TERMINATED"):
        gave_up = {"status": status, "creationTimestamp": "2026-11-23T01:00:00Z"}
        assert compute.seen(REF, gave_up).created is None
        assert compute.seen(REF, {**gave_up, "lastStartTimestamp": "2026-11-23T01:01:00Z"}).created is not None
    began, asked = "2026-11-23T02:00:00Z", "2026-11-23T01:00:00Z"
    ran = {"status": "RUNNING", "creationTimestamp": asked, "lastStartTimestamp": began}
    waited = compute.seen(REF, {**ran, "scheduling": {"provisioningModel": "FLEX_START"}}).created
    at_once = compute.seen(REF, {**ran, "scheduling": {"provisioningModel": "SPOT"}}).created
    assert waited is not None and at_once is not None and waited - at_once == 3600.0
    coming = compute.seen(REF, {"status": "STAGING", "creationTimestamp": "2026-11-23T01:00:00Z"})
    assert coming.state == "provisioning" and coming.created is not None


# ---------------------------------------------------------------------------------------------------------- clock


class Sun:
    """A server with a clock: replies of `Date` and, for practice, a speed; *down*: no answer."""

    def __init__(self, date: str, speed: str = "") -> None:
        self.date, self.speed, self.down, self.asked = date, speed, False, 0

    def request(self, *words: Any, **more: Any) -> Any:
        self.asked += 1
        if self.down:
            raise requests.ConnectionError("no network")
        reply = requests.Response()
        reply.status_code = 404
        reply.headers["Date"] = self.date
        if self.speed:
            reply.headers["X-Practice-Speed"] = self.speed
        return reply


class Hands:
    def __init__(self) -> None:
        self.s = 1000.0

    def __call__(self) -> float:
        return self.s


def clock_of(sun: Sun, monotonic: Hands, wall: Hands) -> DateClock:
    quick = Patience(tries=2, sleep=lambda seconds: None)
    return DateClock(sun, "https://x", patience=quick, monotonic=monotonic, wall=wall)


def test_time_is_the_clouds_carried_on_at_its_speed_and_never_runs_back() -> None:
    sun, monotonic, wall = Sun("Sat, 21 Nov 2026 20:00:00 GMT", "60"), Hands(), Hands()
    clock = clock_of(sun, monotonic, wall)
    assert clock.now() == 1795291200.0 and clock.speed == 60.0
    monotonic.s, wall.s = 1010.0, 1010.0
    assert clock.now() == 1795291800.0 and sun.asked == 1
    monotonic.s, wall.s = 1700.0, 1700.0
    sun.date = "Sat, 21 Nov 2026 20:00:01 GMT"  # asked again after a while; a step back is not taken
    assert clock.now() == 1795291800.0 and sun.asked == 2


def test_the_time_is_asked_for_signed_in_first_where_a_live_check_has_seen_no_date_otherwise() -> None:
    dark, signed_in = Sun(""), Sun("Sat, 21 Nov 2026 20:00:00 GMT")
    clock = DateClock(dark, "https://x", signed_in)
    clock.ask_signed_in_first()
    assert clock.now() >= 1795291200.0 and (dark.asked, signed_in.asked) == (0, 1)


def test_a_practice_cloud_that_is_started_anew_at_another_speed_is_heard_by_any_reply() -> None:
    """It was believed to run on at the old one for ten minutes."""
    sun, monotonic, wall = Sun("Sat, 21 Nov 2026 20:00:00 GMT", "60"), Hands(), Hands()
    clock = clock_of(sun, monotonic, wall)
    clock.now()
    sun.date, sun.speed = "Sat, 21 Nov 2026 20:10:00 GMT", "2"
    monotonic.s, wall.s = 1010.0, 1010.0
    clock.heard(sun.request("GET", "https://x/anything"))
    assert clock.now() == 1795291800.0 and clock.speed == 2.0
    monotonic.s, wall.s = 1020.0, 1020.0
    asked = sun.asked
    clock.heard(sun.request("GET", "https://x/anything"))
    assert clock.now() == 1795291820.0 and sun.asked == asked + 1  # the same speed asks for nothing


def test_a_laptop_that_slept_asks_again_and_one_off_line_carries_on() -> None:
    sun, monotonic, wall = Sun("Sat, 21 Nov 2026 20:00:00 GMT"), Hands(), Hands()
    clock = clock_of(sun, monotonic, wall)
    clock.now()
    wall.s += 3600.0  # the monotonic clock stood still
    sun.date = "Sat, 21 Nov 2026 21:00:00 GMT"
    assert clock.now() == 1795294800.0
    sun.down, monotonic.s, wall.s = True, monotonic.s + 700.0, wall.s + 700.0
    assert clock.now() == 1795295500.0
    asked = sun.asked
    assert clock.now() == 1795295500.0 and sun.asked == asked


def test_a_laptop_that_wakes_without_network_knows_the_time_soon_after_the_network_is_back() -> None:
    """Else it would be an hour behind for ten minutes: a bill would end before its machine did."""
    sun, monotonic, wall = Sun("Sat, 21 Nov 2026 20:00:00 GMT"), Hands(), Hands()
    clock = clock_of(sun, monotonic, wall)
    clock.now()
    wall.s += 3600.0  # the monotonic clock stood still
    sun.down = True
    assert clock.now() == 1795291200.0
    sun.date, sun.down = "Sat, 21 Nov 2026 21:00:00 GMT", False
    monotonic.s, wall.s = monotonic.s + 15.0, wall.s + 15.0
    assert clock.now() == 1795294800.0


def test_the_time_as_far_as_it_is_known_is_told_without_asking() -> None:
    sun, monotonic, wall = Sun("Sat, 21 Nov 2026 20:00:00 GMT"), Hands(), Hands()
    clock = clock_of(sun, monotonic, wall)
    assert clock.carried() is None and sun.asked == 0
    clock.now()
    monotonic.s += 7200.0
    wall.s -= 86_400.0
    assert clock.carried() == 1795298400.0 and sun.asked == 1


def test_without_the_cloud_there_is_no_time() -> None:
    sun = Sun("")
    sun.down = True
    with pytest.raises(CloudUnclear):
        clock_of(sun, Hands(), Hands()).now()


# ----------------------------------------------------------------------------------------------------------- else


def test_a_stop_calls_what_deletes_the_machine() -> None:
    assert stops.resource(REF, "p") == "v2/projects/p/locations/us-west4-a/queuedResources/ts-a-a1-t1?force=true"
    other = stops.resource(replace(REF, backend="compute"), "p")
    assert other == "compute/v1/projects/p/zones/us-west4-a/instances/ts-a-a1-t1"


@pytest.mark.parametrize("backend", ["tpu", "compute"])
@pytest.mark.parametrize("tier", ["on-demand", "spot", "flex-start"])
def test_the_shown_commands_are_safe_for_the_shell(backend: str, tier: str) -> None:
    nasty = "a b'; rm -rf $HOME `x`\n.tar"
    wanted = replace(WANTED, ref=replace(REF, backend=backend), tier=tier, run_s=3600.0, network="de fault; ls")
    text = script(wanted, "p", "b", {nasty: "runs/a/x"}, [1_800_000_000.0])
    assert subprocess.run(["sh", "-n"], input=text.encode(), timeout=PATIENCE_S).returncode == 0
    assert nasty in shlex.split(text, comments=True)
    assert "--network=de fault; ls" in shlex.split(text, comments=True)
    assert ("--spot" in text or "--provisioning-model=SPOT" in text) == (tier == "spot")


def test_connecting_without_a_network_is_unclear_and_names_no_secret() -> None:
    secret = "planted-secret-0987654321"
    from google.oauth2.credentials import Credentials

    make: Any = Credentials
    with pytest.raises(CloudUnclear) as raised:
        connect(
            make(
                token=secret, refresh_token=secret, client_id="i", client_secret=secret, token_uri="http://127.0.0.1:9/"
            ),
            "p",
            "b",
            endpoints=Endpoints.at("http://127.0.0.1:9"),
            place="practice",
            patience=Patience(tries=1),
        )
    assert raised.value.id == "network-down" and secret not in repr(raised.value)
