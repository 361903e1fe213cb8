"""The practice cloud's port: who is let in, what the line can do to a call, and the list of what can go wrong."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path

import pytest

from tests.contract.conftest import Call, Start, caller
from tpu_studio.practice.faults import FAULTS
from tpu_studio.practice.main import Practice


def test_a_call_without_a_token_or_with_a_strange_one_is_401(call: Call):
    missing, strange = call("GET", "/practice/bill", token=""), call("GET", "/practice/bill", token="ya29.other")
    assert (missing.status, missing.error["status"]) == (401, "UNAUTHENTICATED")
    assert missing.reasons == ["CREDENTIALS_MISSING"]
    assert (strange.status, strange.reasons) == (401, ["ACCESS_TOKEN_EXPIRED"])


def test_another_name_for_this_address_is_refused(call: Call, practice: Practice):
    """DNS rebinding: a web page's own name that resolves to 127.0.0.1."""
    assert call("GET", "/practice/bill", headers={"Host": f"evil.example:{practice.server.server_port}"}).status == 403
    assert call("GET", "/practice/bill", headers={"Host": f"localhost:{practice.server.server_port}"}).status == 200


@pytest.mark.parametrize("header", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_web_page_can_neither_read_nor_write(call: Call, header: dict[str, str]):
    assert call("GET", "/practice/faults", headers=header).status == 403
    refused = call("POST", "/practice/faults", {"name": "billing-off"}, headers=header)
    assert refused.status == 403 and "Access-Control-Allow-Origin" not in refused.headers
    assert call("OPTIONS", "/practice/faults", headers=header).status in (403, 404)
    assert call("GET", "/practice/faults").body["armed"] == []


def test_one_connection_serves_many_calls_also_with_chunked_bodies(practice: Practice):
    connection = http.client.HTTPConnection("127.0.0.1", practice.server.server_port, timeout=60)
    headers = {"Authorization": f"Bearer {practice.token}"}
    connection.connect()
    first = connection.sock
    for _ in range(3):
        pieces = iter([b'{"name": "node', b'-gone", "times": 2}'])
        connection.request("POST", "/practice/faults", pieces, headers, encode_chunked=True)
        assert connection.getresponse().read()
    connection.request("GET", "/practice/faults", headers=headers)
    assert b'"node-gone"' in connection.getresponse().read()
    assert connection.sock is first
    connection.close()


def test_faults_are_listed_armed_and_disarmed_by_name(call: Call):
    listed = call("GET", "/practice/faults").body["faults"]
    assert {fault["name"] for fault in listed} == set(FAULTS)
    assert all(fault["sentence"].endswith(".") for fault in listed)
    armed = call("POST", "/practice/faults", {"name": "preempted-at-step", "step": 7, "times": 2}).body["armed"]
    assert [(one["name"], one["times"], one["about"]["step"]) for one in armed] == [("preempted-at-step", 2, 7)]
    assert call("DELETE", "/practice/faults?name=preempted-at-step").body["armed"] == []
    unknown = call("POST", "/practice/faults", {"name": "no-such-thing"})
    assert unknown.status == 400 and "preempted-at-step" in unknown.error["message"]


def test_state_survives_the_servers_own_restart_and_its_owner_s_token_does_not(start_practice: Start):
    first = start_practice("billing-off")
    token = first.token
    first.cloud.db.put("thing", "a", {"kept": 1})
    first.stop()
    second = start_practice()
    assert second.token != token and caller(second)("GET", "/practice/ready", token=token).status == 401
    assert second.cloud.db.get("thing", "a") == {"kept": 1}
    assert [one["name"] for one in caller(second)("GET", "/practice/faults").body["armed"]] == ["billing-off"]


def test_a_restarted_server_has_its_old_address_unless_somebody_else_took_it(start_practice: Start):
    first = start_practice()
    first.stop()
    second = start_practice()
    assert second.url == first.url
    third = start_practice()  # the second still listens
    assert third.url != first.url


def test_practice_time_runs_as_fast_as_asked_and_goes_on_after_a_restart(start_practice: Start):
    first = start_practice(speed=1000.0)
    before = first.cloud.clock.now()
    first.stop()
    second = start_practice(speed=1.0)
    assert second.cloud.clock.now() >= before
    assert first.cloud.clock.real_s(2000.0) == 2.0


def test_only_loopback_listens(practice: Practice):
    assert practice.server.server_address[0] == "127.0.0.1"
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.1", practice.server.server_port)) == 0


def test_the_home_holds_everything(practice: Practice, home: Path):
    assert (home / "practice" / "practice.db").is_file()
