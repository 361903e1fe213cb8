"""Cloud Tasks: what it refuses, and that its tasks really fire, with that account's permissions, by practice time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from googleapiclient.errors import HttpError

from tests.contract.conftest import Answer, Call, Start, caller
from tests.fakes.google_client import google_client
from tests.fakes.waiting import eventually
from tpu_studio.practice.main import Practice
from tpu_studio.practice.task_sender import backoff_s, here
from tpu_studio.practice.tasks import FARTHEST_S

QUEUE = "/cloudtasks/v2/projects/practice-project/locations/us-west4/queues/tpu-studio"
NAME = QUEUE.removeprefix("/cloudtasks/v2/")
ZONE = "projects/practice-project/locations/us-west4-a"
REQUESTS = f"/v2/{ZONE}/queuedResources"


def a_task(practice: Practice, *, in_s: float = 3600.0, name: str = "", **more: Any) -> dict[str, Any]:
    """DELETE of a queued resource, as the runner, *in_s* practice seconds from now."""
    clock = practice.cloud.clock
    return {
        "task": {
            **({"name": f"{NAME}/tasks/{name}"} if name else {}),
            "scheduleTime": clock.rfc3339(clock.now() + in_s),
            "httpRequest": {
                "httpMethod": "DELETE",
                "url": f"https://tpu.googleapis.com{REQUESTS}/qr-1?force=true",
                "oauthToken": {"serviceAccountEmail": practice.cloud.settings.runner},
            },
            **more,
        }
    }


def happened(practice: Practice, name: str) -> list[int]:
    """HTTP status of each attempt of a task so far: written down once its answer is there, a moment after the deed."""
    return [e["about"]["code"] for e in practice.cloud.faults.events() if (e["what"], e["name"]) == ("task", name)]


def make_account(practice: Practice, *roles: str) -> str:
    project = practice.cloud.settings.project
    call = caller(practice)
    email = str(call("POST", f"/v1/projects/{project}/serviceAccounts", {"accountId": "somebody-else"}).body["email"])
    for role in roles:
        practice.cloud.principals.grant(f"projects/{project}", role, f"serviceAccount:{email}")
    return email


def ask_for_tpu(practice: Practice, name: str = "qr-1") -> Answer:
    node = {"acceleratorType": "v5litepod-4", "runtimeVersion": "v2-alpha-tpuv5-lite"}
    body = {"tpu": {"nodeSpec": [{"parent": ZONE, "nodeId": name, "node": node}]}}
    return caller(practice)("POST", f"{REQUESTS}?queuedResourceId={name}", body)


def request_state(practice: Practice, name: str = "qr-1") -> int:
    return caller(practice)("GET", f"{REQUESTS}/{name}").status


def test_google_s_client_makes_lists_reads_and_deletes_tasks(practice: Practice):
    with google_client(practice, "cloudtasks.v2") as api:
        tasks = api.projects().locations().queues().tasks()

        made = tasks.create(parent=NAME, body=a_task(practice, name="qr-1-b-1-99")).execute()

        assert made["name"] == f"{NAME}/tasks/qr-1-b-1-99" and made["httpRequest"]["httpMethod"] == "DELETE"
        assert [t["name"] for t in tasks.list(parent=NAME).execute()["tasks"]] == [made["name"]]
        assert tasks.get(name=made["name"]).execute() == made
        assert tasks.delete(name=made["name"]).execute() == {}
        with pytest.raises(HttpError, match="no longer exists"):
            tasks.get(name=made["name"]).execute()


def test_google_s_client_makes_changes_and_deletes_a_queue(practice: Practice):
    parent = "projects/practice-project/locations/europe-west3"
    with google_client(practice, "cloudtasks.v2") as api:
        queues = api.projects().locations().queues()

        made = queues.create(parent=parent, body={"name": f"{parent}/queues/mine"}).execute()
        changed = queues.patch(
            name=made["name"], updateMask="retryConfig.maxAttempts", body={"retryConfig": {"maxAttempts": 5}}
        ).execute()

        assert (made["state"], made["retryConfig"]["maxAttempts"]) == ("RUNNING", 100)
        assert changed["retryConfig"] == {**made["retryConfig"], "maxAttempts": 5}
        assert queues.list(parent=parent).execute()["queues"] == [changed]
        queues.delete(name=made["name"]).execute()
        with pytest.raises(HttpError, match="too recently"):
            queues.create(parent=parent, body={"name": f"{parent}/queues/mine"}).execute()


def test_a_task_deletes_a_tpu_at_its_time_with_the_runner_s_permissions(start_practice: Start):
    practice = start_practice(speed=100.0)
    assert ask_for_tpu(practice).status == 200
    call = caller(practice)

    assert call("POST", f"{QUEUE}/tasks", a_task(practice, name="stop-1", in_s=60.0)).status == 200

    eventually(lambda: happened(practice, "stop-1"))
    eventually(lambda: request_state(practice) == 404)
    assert happened(practice, "stop-1") == [200]
    assert call("GET", f"{QUEUE}/tasks/stop-1").status == 404


def test_a_task_never_fires_early(practice: Practice):
    call = caller(practice)
    call("POST", f"{QUEUE}/tasks", a_task(practice, name="later", in_s=3600.0))
    call("POST", f"{QUEUE}/tasks", a_task(practice, name="now", in_s=-5.0))

    eventually(lambda: happened(practice, "now")[:1] == [404])  # the ticker has looked at both

    assert happened(practice, "later") == []


def test_a_target_that_is_gone_counts_as_failed_and_is_tried_as_often_as_the_task_says(start_practice: Start):
    practice = start_practice(speed=100.0)
    retry = {"maxAttempts": 3, "minBackoff": "1s", "maxBackoff": "10s", "maxDoublings": 1}

    caller(practice)("POST", f"{QUEUE}/tasks", a_task(practice, name="gone", in_s=0.0, retryConfig=retry))

    eventually(lambda: caller(practice)("GET", f"{QUEUE}/tasks/gone").status == 404)
    assert happened(practice, "gone") == [404, 404, 404]


def test_between_attempts_the_task_tells_what_went_wrong(practice: Practice):
    call = caller(practice)
    retry = {"maxAttempts": 9, "minBackoff": "600s", "maxBackoff": "3600s"}
    call("POST", f"{QUEUE}/tasks", a_task(practice, name="gone", in_s=0.0, retryConfig=retry))

    eventually(lambda: "responseCount" in call("GET", f"{QUEUE}/tasks/gone").body)

    task = call("GET", f"{QUEUE}/tasks/gone").body
    assert (task["dispatchCount"], task["responseCount"]) == (1, 1)
    assert task["lastAttempt"]["responseStatus"]["code"] == 5  # NOT_FOUND
    assert task["scheduleTime"] > task["lastAttempt"]["responseTime"]


def test_attempts_wait_as_google_documents():
    # minBackoff 10s, maxBackoff 300s, maxDoublings 3: the example of RetryConfig.maxDoublings
    retry = {"minBackoff": "10s", "maxBackoff": "300s", "maxDoublings": 3}

    assert [backoff_s(retry, n) for n in range(1, 9)] == [10, 20, 40, 80, 160, 240, 300, 300]


def test_the_token_of_a_task_may_only_what_its_account_may(practice: Practice):
    email = make_account(practice, "roles/viewer")
    assert ask_for_tpu(practice).status == 200
    wish = a_task(practice, name="weak", in_s=0.0)
    wish["task"]["httpRequest"]["oauthToken"]["serviceAccountEmail"] = email

    assert caller(practice)("POST", f"{QUEUE}/tasks", wish).status == 200

    eventually(lambda: happened(practice, "weak")[:1] == [403])
    assert request_state(practice) == 200


def test_run_sends_a_task_before_its_time(practice: Practice):
    call = caller(practice)
    call("POST", f"{QUEUE}/tasks", a_task(practice, name="early", in_s=86400.0))

    assert call("POST", f"{QUEUE}/tasks/early:run", {}).status == 200

    eventually(lambda: happened(practice, "early")[:1] == [404])


def test_a_paused_queue_holds_its_tasks(practice: Practice):
    call = caller(practice)
    assert call("POST", f"{QUEUE}:pause", {}).body["state"] == "PAUSED"
    call("POST", f"{QUEUE}/tasks", a_task(practice, name="held", in_s=0.0))
    other = "projects/practice-project/locations/us-east1"
    call("POST", f"/cloudtasks/v2/{other}/queues", {"name": f"{other}/queues/free"})
    free = a_task(practice, in_s=0.0)
    free["task"]["name"] = f"{other}/queues/free/tasks/free"
    call("POST", f"/cloudtasks/v2/{other}/queues/free/tasks", free)

    eventually(lambda: happened(practice, "free")[:1] == [404])
    assert happened(practice, "held") == []
    call("POST", f"{QUEUE}:resume", {})
    eventually(lambda: happened(practice, "held")[:1] == [404])


def test_tasks_survive_a_restart_and_fire_after_it(start_practice: Start, tmp_path: Path):
    folder = tmp_path / "practice"
    before = start_practice(folder=folder, speed=100.0)
    ask_for_tpu(before)
    caller(before)("POST", f"{QUEUE}/tasks", a_task(before, name="survivor", in_s=100.0))
    before.stop()

    after = start_practice(folder=folder, speed=100.0)

    eventually(lambda: happened(after, "survivor"))
    eventually(lambda: request_state(after) == 404)
    assert happened(after, "survivor") == [200]


def test_a_task_that_was_on_its_way_when_the_server_died_is_sent_again(start_practice: Start, tmp_path: Path):
    folder = tmp_path / "practice"
    before = start_practice(folder=folder)
    caller(before)("POST", f"{QUEUE}/tasks", a_task(before, name="torn", in_s=3600.0))
    record = before.cloud.db.get("task", f"{NAME}/tasks/torn") or {}
    record["shown"]["dispatchCount"] = 1
    before.cloud.db.put("task", f"{NAME}/tasks/torn", {**record, "sent_at": 0.0, "first_sent": 0.0, "due": 0.0})
    before.stop()

    after = start_practice(folder=folder)

    eventually(lambda: happened(after, "torn")[:1] == [404])


def test_a_name_stays_taken_for_an_hour_after_its_task_is_over(practice: Practice):
    call = caller(practice)
    call("POST", f"{QUEUE}/tasks", a_task(practice, name="once"))

    twice = call("POST", f"{QUEUE}/tasks", a_task(practice, name="once"))
    call("DELETE", f"{QUEUE}/tasks/once")
    soon = call("POST", f"{QUEUE}/tasks", a_task(practice, name="once"))
    practice.cloud.db.put("task-name-taken", f"{NAME}/tasks/once", {"at": practice.cloud.clock.now() - 3601})
    later = call("POST", f"{QUEUE}/tasks", a_task(practice, name="once"))

    assert (twice.status, soon.status, later.status) == (409, 409, 200)
    assert "too recently" in soon.error["message"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"scheduleTime": None}, "30 days"),
        ({"name": f"{NAME}/tasks/a.b"}, "formatted"),
        ({"name": "projects/practice-project/locations/us-west4/queues/other/tasks/a"}, "formatted"),
        ({"httpRequest": {"url": "tpu.googleapis.com/v2"}}, "http://"),
        ({"httpRequest": {"url": "https://tpu.googleapis.com/", "httpMethod": "DELETE", "body": "e30="}}, "body"),
        ({"httpRequest": {}}, "target"),
        ({"httpRequest": {"url": "https://tpu.googleapis.com/", "verb": "GET"}}, 'Unknown name "verb"'),
        ({"dispatchDeadline": "5s"}, "deadline"),
    ],
)
def test_a_task_that_google_would_refuse_is_refused(practice: Practice, change: dict[str, Any], says: str):
    if "scheduleTime" in change:
        clock = practice.cloud.clock
        change = {"scheduleTime": clock.rfc3339(clock.now() + FARTHEST_S + 60)}
    wish = a_task(practice)
    wish["task"] |= change

    refused = caller(practice)("POST", f"{QUEUE}/tasks", wish)

    assert (refused.status, refused.error["status"]) == (400, "INVALID_ARGUMENT") and says in str(refused.body)


def test_a_task_up_to_thirty_days_away_is_taken(practice: Practice):
    assert caller(practice)("POST", f"{QUEUE}/tasks", a_task(practice, in_s=FARTHEST_S - 60)).status == 200


def test_a_queue_that_is_not_there_is_said(call: Call, practice: Practice):
    refused = call("POST", f"{QUEUE}-2/tasks", a_task(practice))

    assert refused.status == 404 and "Queue does not exist" in refused.error["message"]


@pytest.mark.parametrize("who", ["act-as-missing", "no-such-account"])
def test_whoever_may_not_act_as_the_account_sets_no_task_with_it(start_practice: Start, who: str):
    practice = start_practice(*(["act-as-missing"] if who == "act-as-missing" else []))
    wish = a_task(practice)
    if who == "no-such-account":
        wish["task"]["httpRequest"]["oauthToken"] = {"serviceAccountEmail": "nobody@practice-project.example"}

    refused = caller(practice)("POST", f"{QUEUE}/tasks", wish)

    assert refused.status == 403 and "iam.serviceAccounts.actAs" in refused.error["message"]
    assert refused.reasons == ["IAM_PERMISSION_DENIED"]


def test_the_runner_may_set_tasks_as_itself_once_it_may_act_as_itself(practice: Practice):
    runner, cloud = practice.cloud.settings.runner, practice.cloud
    token = cloud.principals.issue(runner, "serviceAccount")
    call = caller(practice)
    binding = {"role": "roles/iam.serviceAccountUser", "members": [f"serviceAccount:{runner}"]}
    policy = {"policy": {"bindings": [binding]}}
    path = f"/v1/projects/{cloud.settings.project}/serviceAccounts/{runner}:setIamPolicy"
    assert call("POST", path, {"policy": {"bindings": []}}).status == 200

    theirs = f"{QUEUE}/tasks"
    before = call("POST", theirs, a_task(practice), token=token)
    assert call("POST", path, policy).status == 200
    after = call("POST", theirs, a_task(practice), token=token)

    assert (before.status, after.status) == (403, 200)


def test_cloud_tasks_may_be_off_and_tasks_may_be_refused(start_practice: Start):
    practice = start_practice("service-disabled:service=cloudtasks.googleapis.com", "tasks-refused:times=1")
    call = caller(practice)

    off = call("POST", f"{QUEUE}/tasks", a_task(practice))
    practice.cloud.faults.disarm("service-disabled")
    refused = call("POST", f"{QUEUE}/tasks", a_task(practice))
    taken = call("POST", f"{QUEUE}/tasks", a_task(practice))

    assert off.reasons == ["SERVICE_DISABLED"]
    assert (refused.status, taken.status) == (403, 200) and "cloudtasks.tasks.create" in refused.error["message"]


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("https://tpu.googleapis.com/v2/x?force=true", "http://127.0.0.1:1/v2/x?force=true"),
        ("https://compute.googleapis.com/compute/v1/x", "http://127.0.0.1:1/compute/v1/x"),
        ("https://cloudtasks.googleapis.com/v2/x", "http://127.0.0.1:1/cloudtasks/v2/x"),
        ("http://127.0.0.1:1/v2/x", "http://127.0.0.1:1/v2/x"),
        ("https://example.com/v2/x", None),
        ("https://googleapis.com.example.com/", None),
    ],
)
def test_google_s_hosts_mean_the_practice_cloud_and_others_are_out_of_reach(target: str, found: str | None):
    assert here("http://127.0.0.1:1", target) == found
