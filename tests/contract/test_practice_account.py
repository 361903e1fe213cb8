"""A practice cloud of somebody who has just signed up: one open billing account, no project, little quota."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import Call, Start, caller
from tests.fakes.waiting import eventually
from tpu_studio.practice import daemon
from tpu_studio.practice.quota_limits import QUOTAS, limit
from tpu_studio.practice.settings import Settings

PROGRAM = [sys.executable, "-m", "tpu_studio", "practice", "--json"]
posix = pytest.mark.skipif(sys.platform == "win32", reason="no file locks here")


@pytest.fixture
def served(home: Path) -> Iterator[Path]:
    yield home
    daemon.stop(home)


def _practice(*options: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run([*PROGRAM, *options], capture_output=True, timeout=120, check=False)
    return done.returncode, json.loads(done.stdout or b"{}"), (done.stdout + done.stderr).decode()


@posix
def test_detached_starts_the_server_prints_its_ready_line_and_returns(served: Path):
    code, line, _ = _practice("--detached", "--account", "new", "--speed", "7")
    assert (code, line["project"], line["zone"], line["bucket"]) == (0, None, None, None)
    assert daemon.running(served) == line == daemon.start_or_join(served)
    assert _practice("--detached")[:2] == (0, line)
    answer = daemon._call(line, "GET", "/practice/bill")
    assert answer["lines"] == []


@posix
def test_what_an_account_began_as_it_stays(served: Path):
    _practice("--detached", "--account=new")
    daemon.stop(served)
    assert daemon.start_or_join(served)["project"] is None
    code, _, said = _practice("--detached", "--account=ready")
    assert code == 4 and "began as a new account" in said and "TPU_STUDIO_HOME" in said


@posix
def test_the_account_is_ready_unless_asked_otherwise(served: Path):
    code, line, _ = _practice("--detached")
    assert (code, line["project"]) == (0, "practice-project")
    assert _practice("--detached", "--account=ready")[0] == 0
    assert _practice("--detached", "--account=new")[0] == 4
    assert _practice("--detached", "--speed=9")[0] == 4  # one that runs keeps its own speed


def test_a_new_account_has_no_project_and_one_open_billing_account(start_practice: Start):
    call = caller(start_practice(new=True))
    assert call("GET", "/v3/projects:search").body == {}
    assert call("GET", "/v1/projects").body == {}
    [account] = call("GET", "/v1/billingAccounts").body["billingAccounts"]
    assert account["open"] is True
    absent = call("GET", "/v3/projects/practice-project")
    assert (absent.status, absent.error["status"]) == (403, "PERMISSION_DENIED")


def _made(call: Call, project: str) -> Any:
    begun = call("POST", "/v3/projects", {"projectId": project, "displayName": "Mine"})
    assert begun.status == 200
    return eventually(
        lambda: (found := call("GET", f"/v3/{begun.body['name']}").body).get("done") and found, "the project"
    )


def test_a_project_is_made_linked_and_becomes_the_person_s_own(start_practice: Start):
    practice = start_practice(new=True, speed=100.0)
    call = caller(practice)
    assert _made(call, "mine-123456")["response"]["projectId"] == "mine-123456"
    twice = call("POST", "/v3/projects", {"projectId": "mine-123456"})
    assert (twice.status, twice.error["status"]) == (409, "ALREADY_EXISTS")
    linked = call("PUT", "/v1/projects/mine-123456/billingInfo",
                  {"billingAccountName": practice.cloud.settings.billing_account})  # fmt: skip
    assert linked.body["billingEnabled"] is True
    held = call("POST", "/v3/projects/mine-123456:testIamPermissions",
                {"permissions": ["tpu.nodes.create", "storage.buckets.create"]})  # fmt: skip
    assert held.body["permissions"] == ["tpu.nodes.create", "storage.buckets.create"]


def test_an_id_that_somebody_else_has_is_taken_too(start_practice: Start):
    call = caller(start_practice("project-id-taken", new=True))
    taken = call("POST", "/v3/projects", {"projectId": "mine-123456"})
    assert (taken.status, taken.error["message"]) == (409, "Requested entity already exists")
    theirs = call("GET", "/v3/projects/mine-123456")
    assert (theirs.status, theirs.error["status"]) == (403, "PERMISSION_DENIED")
    assert call("POST", "/v3/projects", {"projectId": "mine-123457"}).status == 200


def test_a_new_account_may_serve_and_take_spot_in_some_areas_and_train_nowhere(start_practice: Start):
    cloud = start_practice(new=True).cloud
    for quota in QUOTAS:
        zones = ("us-west4-a", "us-central1-a", "us-east5-a", "us-south1-a", "us-east1-d")
        granted = {limit(cloud, quota.quota_id, {"zone": zone, "tpu_family": quota.family}) for zone in zones}
        if quota.per == "zone" and not quota.spot and "Serving" not in quota.quota_id:
            assert granted == {0}, quota
    spot = "TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI"
    assert limit(cloud, spot, {"zone": "us-west4-a"}) == 64
    assert limit(cloud, spot, {"zone": "us-south1-a"}) == 0


def test_settings_of_a_new_account_are_not_ready(tmp_path: Path):
    assert Settings(tmp_path, new=True).ready is False
