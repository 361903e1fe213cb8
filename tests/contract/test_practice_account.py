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
from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tests.fakes.waiting import PATIENCE_S, eventually
from tpu_studio.cloud.places import rented_places
from tpu_studio.cloud.signin.accounts import Account, Accounts
from tpu_studio.places.accounts import folder_of
from tpu_studio.places.reaching import PRACTICE_OWNER, practice_for_runs, reach
from tpu_studio.practice import daemon
from tpu_studio.practice.quota_limits import QUOTAS, limit
from tpu_studio.practice.settings import Settings
from tpu_studio.wire.errors import NotReady
from tpu_studio.workflow.account.ports import Choices
from tpu_studio.workflow.account.remembering import ChoicesFile

PROGRAM = [sys.executable, "-m", "tpu_studio", "practice", "--json"]
posix = pytest.mark.skipif(sys.platform == "win32", reason="no file locks here")


@pytest.fixture
def served(home: Path) -> Iterator[Path]:
    yield home
    daemon.stop(home)


def _practice(*options: str) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run([*PROGRAM, *options], capture_output=True, timeout=PATIENCE_S, check=False)
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


@posix
def test_a_run_goes_where_a_new_account_was_set_up_and_nowhere_before(served: Path):
    line = _practice("--detached", "--account=new")[1]
    place = rented_places(served, lambda: practice_for_runs(served))["practice"]
    plan = make_plan(job("mlp", "digits", where={"place": "practice"}), DIGITS, now=NOW, computer=LAPTOP)
    with pytest.raises(NotReady) as none:
        place.connect(plan)
    assert none.value.facts["raw"] == "No project is chosen"
    kept = ChoicesFile(folder_of("practice", served))
    kept.keep(PRACTICE_OWNER, Choices("mine-123456", "us-west4"))
    with pytest.raises(NotReady) as bare:
        place.connect(plan)
    assert bare.value.facts["raw"] == "No storage bucket is created"
    kept.keep(PRACTICE_OWNER, Choices("mine-123456", "us-west4", "my-bucket"))
    side = place.connect(plan)
    assert (side.project, side.mailbox.bucket) == ("mine-123456", "my-bucket")
    assert practice_for_runs(served) == line | {"project": "mine-123456", "bucket": "my-bucket"}


@posix
def test_the_sweep_looks_where_runs_go_whoever_is_signed_in(served: Path, monkeypatch: pytest.MonkeyPatch):
    """A person who signed in and made a project was rehearsed for in another one, which no sweep looked at."""
    _practice("--detached")
    kept, person = ChoicesFile(folder_of("practice", served)), Account("ada", "oauth", "ada@example.com")
    (served / "practice" / "account").mkdir(parents=True, exist_ok=True)
    for signed, choices in ((False, None), (True, None), (False, Choices("made", "us-west4", "made-bucket"))):
        monkeypatch.setattr(Accounts, "active", lambda self, signed=signed: person if signed else None)
        if choices is not None:
            kept.keep(PRACTICE_OWNER, choices)
        assert reach("practice", served).project == practice_for_runs(served)["project"]
    kept.keep(person.id, Choices("mine", "us-west4", "my-bucket"))
    monkeypatch.setattr(Accounts, "active", lambda self: person)
    monkeypatch.setattr(Accounts, "credentials", lambda self, account: None)
    assert reach("practice", served).project == practice_for_runs(served)["project"] == "mine"


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
    linked = call(
        "PUT", "/v1/projects/mine-123456/billingInfo", {"billingAccountName": practice.cloud.settings.billing_account}
    )
    assert linked.body["billingEnabled"] is True
    held = call(
        "POST",
        "/v3/projects/mine-123456:testIamPermissions",
        {"permissions": ["tpu.nodes.create", "storage.buckets.create"]},
    )
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


# ----------------------------------------------------------------------------------- services, and whose project counts


CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
MINE = "mine-123456"
CALLS = {
    "cloudbilling.googleapis.com": "/v1/billingAccounts",
    "cloudresourcemanager.googleapis.com": f"/v3/projects/{MINE}",
    "iam.googleapis.com": f"/v1/projects/{MINE}/serviceAccounts",
    "orgpolicy.googleapis.com": f"/v2/projects/{MINE}/policies",
    "cloudquotas.googleapis.com": f"/v1/projects/{MINE}/locations/global/services/tpu.googleapis.com/quotaInfos",
    "billingbudgets.googleapis.com": "/v1/billingAccounts/0A1B2C-3D4E5F-678901/budgets",
    "cloudtasks.googleapis.com": f"/cloudtasks/v2/projects/{MINE}/locations",
    "tpu.googleapis.com": f"/v2/projects/{MINE}/locations",
    "compute.googleapis.com": f"/compute/v1/projects/{MINE}/global/networks",
}


def _new_project(start: Start, *faults: str) -> tuple[Any, Call]:
    practice = start(*faults, new=True, speed=100.0)
    call = caller(practice)
    _made(call, MINE)
    return practice, call


@pytest.mark.parametrize("service", CALLS)
def test_a_service_must_be_on_in_the_project_that_the_call_counts_for(start_practice: Start, service: str):
    practice, call = _new_project(start_practice)
    named = {"X-Goog-User-Project": MINE}
    off = call("GET", CALLS[service], headers=named)
    assert (off.status, off.reasons) == (403, ["SERVICE_DISABLED"])
    number = practice.cloud.db.get("project", MINE)["number"]
    [info] = [one for one in off.error["details"] if "reason" in one]
    assert info["metadata"] == {"service": service, "consumer": f"projects/{number}"}
    assert f"has not been used in project {number} before or it is disabled" in off.error["message"]

    practice.cloud.db.put("service", f"{MINE}/{service}", {"enabled": True})
    practice.cloud.db.put("billing", MINE, {"account": practice.cloud.settings.billing_account})
    assert call("GET", CALLS[service], headers=named).status == 200


def test_google_s_default_services_are_on_in_a_new_project_and_no_others(start_practice: Start):
    _, call = _new_project(start_practice)
    named = {"X-Goog-User-Project": MINE}
    asked = call("GET", f"/v1/projects/{MINE}/services?filter=state:ENABLED&pageSize=200", headers=named)
    on = {one["config"]["name"].partition(".")[0] for one in asked.body["services"]}
    assert {"serviceusage", "storage", "bigquery", "logging"} <= on
    assert not on & {"cloudresourcemanager", "cloudbilling", "iam", "tpu", "compute", "cloudtasks", "cloudquotas"}


def test_a_project_that_was_made_by_a_call_may_have_no_service_at_all(start_practice: Start):
    practice = start_practice(new=True, speed=100.0)
    practice.cloud.doubts.arm("api-made-project")
    call = caller(practice)
    _made(call, MINE)
    path = f"/v1/projects/{MINE}/services/tpu.googleapis.com"
    assert call("GET", path, headers={"X-Goog-User-Project": MINE}).reasons == ["SERVICE_DISABLED"]
    assert call("GET", path).body["state"] == "DISABLED"  # it counts for Google's own project


def test_without_a_named_project_a_call_counts_for_the_sign_in_s_own(start_practice: Start):
    practice, call = _new_project(start_practice, "client-project-bare")
    token = practice.cloud.principals.issue(practice.cloud.settings.owner)
    record = practice.cloud.db.get("token", token)
    practice.cloud.db.put("token", token, {**record, "client": "123456789012-abc.apps.googleusercontent.com"})
    refused = call("GET", "/v3/projects:search", token=token)
    assert (refused.status, refused.reasons) == (403, ["SERVICE_DISABLED"])
    assert "has not been used in project 123456789012 before" in refused.error["message"]
    assert call("GET", "/v3/projects:search").status == 200  # gcloud's credentials


def test_google_s_shared_project_may_serve_nobody(start_practice: Start):
    practice, call = _new_project(start_practice)
    practice.cloud.doubts.arm("quota-project-none")
    refused = call("GET", "/v3/projects:search")
    assert (refused.status, refused.reasons) == (403, ["SERVICE_DISABLED"])
    assert "requires a quota project, which is not set by default" in refused.error["message"]


def test_a_key_file_s_calls_count_for_its_own_project(start_practice: Start):
    practice, call = _new_project(start_practice)
    cloud = practice.cloud
    email = f"helper@{MINE}.iam.gserviceaccount.com"
    cloud.db.put("account", email, {"email": email, "projectId": MINE, "uniqueId": "1"})
    cloud.principals.grant(f"projects/{MINE}", "roles/owner", f"serviceAccount:{email}")
    token = cloud.principals.issue(email, "serviceAccount", (CLOUD_PLATFORM,))
    assert call("GET", f"/v3/projects/{MINE}", token=token).reasons == ["SERVICE_DISABLED"]
    cloud.db.put("service", f"{MINE}/cloudresourcemanager.googleapis.com", {"enabled": True})
    assert call("GET", f"/v3/projects/{MINE}", token=token).body["projectId"] == MINE
    begun = call("POST", "/v3/projects", {"projectId": "other-123456"}, token=token)
    assert (begun.status, begun.error["message"]) == (403, "Service accounts cannot create projects without a parent.")


def test_a_project_that_is_to_be_deleted_answers_nothing_but_itself(start_practice: Start):
    _, call = _new_project(start_practice)
    call("DELETE", f"/v3/projects/{MINE}")
    assert call("GET", f"/v3/projects/{MINE}").body["state"] == "DELETE_REQUESTED"
    named = call("GET", "/v1/billingAccounts", headers={"X-Goog-User-Project": MINE})
    assert (named.status, named.reasons) == (403, ["CONSUMER_INVALID"]) and "has been deleted" in named.error["message"]
    listed = call("GET", f"/v2/projects/{MINE}/locations")
    assert listed.status == 403 and "has been scheduled for deletion" in listed.error["message"]
    assert call("POST", f"/v3/projects/{MINE}:undelete", {}).status == 200
    assert call("GET", f"/v3/projects/{MINE}").body["state"] == "ACTIVE"
