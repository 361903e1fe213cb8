"""What the machines' account may do, and no more: its queue, our machines; and an account of an earlier version."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.contract.conftest import Start, caller
from tests.contract.sides import side_of
from tests.contract.test_account_setup import as_somebody, row, words
from tests.contract.test_compute import body as compute_body
from tests.contract.test_doctor import doctor_of, ready
from tests.fakes.waiting import eventually
from tpu_studio.cloud.doctor import names
from tpu_studio.cloud.queues import of_machines
from tpu_studio.domain.grants import OWN_MACHINES, own_words
from tpu_studio.practice.main import Practice
from tpu_studio.practice.principals import CLOUD_PLATFORM
from tpu_studio.workflow.account.ports import Choices
from tpu_studio.workflow.cloudruns import stops
from tpu_studio.workflow.cloudruns.ports import Ref

READS = (
    "iam.roles.get",
    "iam.serviceAccounts.get",
    "iam.serviceAccounts.getIamPolicy",
    "resourcemanager.projects.get",
    "serviceusage.services.use",
    "resourcemanager.projects.getIamPolicy",
    "cloudtasks.queues.getIamPolicy",
)
ZONE, COMPUTE = Ref("", "us-west4-a"), Ref("", "us-east5-a", "compute")
WIDE = {
    names.RUNNER_ROLE: (*names.RUNNER_PERMISSIONS, *names.QUEUE_PERMISSIONS, *names.MACHINES_PERMISSIONS),
    names.STOPPER_ROLE: (*names.STOPPER_PERMISSIONS, "compute.instances.delete"),
}
"""As versions before this one granted them, on the project."""


def earlier(practice: Practice) -> Choices:
    """An account that a version before this one set up."""
    cloud, choices = practice.cloud, ready(practice)
    project = f"projects/{choices.project}"
    for id, permissions in WIDE.items():
        record = cloud.db.get("role", f"{project}/roles/{id}") or {}
        cloud.db.put("role", f"{project}/roles/{id}", {**record, "includedPermissions": list(permissions)})
    for id in (names.MACHINES_ROLE, names.QUEUE_ROLE, names.READER_ROLE, names.WRITER_ROLE):
        cloud.db.delete("role", f"{project}/roles/{id}")
    kept = [one for one in cloud.principals.policy(project)["bindings"] if not one.get("condition")]
    cloud.principals.set_policy(project, {"bindings": kept})
    member = f"serviceAccount:{cloud.settings.runner}"
    bucket = f"buckets/{choices.bucket}"
    others = [one for one in cloud.principals.policy(bucket)["bindings"] if member not in one["members"]]
    cloud.principals.set_policy(bucket, {"bindings": others})
    cloud.principals.grant(bucket, names.BUCKET_ROLE, member)
    with_one_queue(practice)
    return choices


def with_one_queue(practice: Practice) -> str:
    """As versions before had it, for all stops, and no grant yet; its name."""
    cloud = practice.cloud
    ours = f"projects/{cloud.settings.project}/locations/us-west4/queues/tpu-studio"
    cloud.db.delete("policy", f"queues/{ours}")
    cloud.db.delete("queue", f"{ours}-stops")
    return ours


def earlier_queue(practice: Practice) -> Choices:
    """An account of a version in which machines moved the stops themselves."""
    cloud, choices, ours = practice.cloud, ready(practice), with_one_queue(practice)
    role = f"projects/{choices.project}/roles/{names.QUEUE_ROLE}"
    record = cloud.db.get("role", role) or {}
    every = [*names.QUEUE_PERMISSIONS, "cloudtasks.queues.get", "cloudtasks.tasks.get", "cloudtasks.tasks.delete"]
    cloud.db.put("role", role, {**record, "includedPermissions": every})
    cloud.principals.grant(f"queues/{ours}", role, f"serviceAccount:{cloud.settings.runner}")
    return choices


def deletes(practice: Practice, account: str, instance: str) -> bool:
    """Whether Compute Engine would carry the deletion out: 404, for there is no such machine."""
    token = practice.cloud.principals.issue(account, kind="serviceAccount")
    project = practice.cloud.settings.project
    path = f"/compute/v1/projects/{project}/zones/us-east5-a/instances/{instance}"
    status = caller(practice)("DELETE", path, token=token).status
    assert status in (403, 404)
    return status == 404


@pytest.mark.parametrize("which", ["runner", "stopper"])
def test_a_machine_deletes_machines_of_ours_at_compute_engine_and_no_others(practice: Practice, which: str) -> None:
    account = getattr(practice.cloud.settings, which)
    assert deletes(practice, account, "ts-digits-k3f7-a1-t1")
    assert not deletes(practice, account, "database")
    assert not deletes(practice, account, "not-ts-x")


def a_stop(practice: Practice, queue: str, id: str) -> dict[str, object]:
    """A task in *queue*, as `TaskStops` sets one."""
    settings = practice.cloud.settings
    url = f"https://tpu.googleapis.com/v2/projects/{settings.project}/locations/us-west4-a/queuedResources/ts-x-a1-t1"
    token = {"serviceAccountEmail": settings.stopper, "scope": "https://www.googleapis.com/auth/cloud-platform"}
    request = {"httpMethod": "DELETE", "url": url, "oauthToken": token}
    due = datetime.fromtimestamp(practice.cloud.clock.now() + 7200.0, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"task": {"name": f"{queue}/tasks/{id}", "scheduleTime": due, "httpRequest": request}}


def may_touch_stops(practice: Practice, stop: str) -> list[str]:
    """What the machines' account may do in the queue of *stop*, tried."""
    call, queue = caller(practice), f"/cloudtasks/v2/{stop.partition('/tasks/')[0]}"
    token = practice.cloud.principals.issue(practice.cloud.settings.runner, kind="serviceAccount")
    of_the_next = a_stop(practice, queue.removeprefix("/cloudtasks/v2/"), "ts-x-a2-t1-b-1-2000000000")
    tries = {
        "list": ("GET", f"{queue}/tasks", None),
        "add": ("POST", f"{queue}/tasks", of_the_next),
        "pause": ("POST", f"{queue}:pause", {}),
        "purge": ("POST", f"{queue}:purge", {}),
        "remove": ("DELETE", f"/cloudtasks/v2/{stop}", None),
    }
    answers = {name: call(method, path, body, token=token).status for name, (method, path, body) in tries.items()}
    return [name for name, status in answers.items() if status != 403]


def set_stop(practice: Practice) -> str:
    """By this computer, in its queue; the full name."""
    (name,) = side_of(practice).stops.set(Ref("ts-x-a1-t1", "us-west4-a"), "b", [practice.cloud.clock.now() + 7200.0])
    return name


def test_code_on_a_machine_can_neither_remove_nor_crowd_out_the_stops_from_outside(practice: Practice) -> None:
    """The eighteenth look, 18.8: with the computer off nothing ended it then. No task of its own in that queue, either:
    one in the next machine's name would be taken for its stop, and thousands keep a queue busy."""
    stop = set_stop(practice)
    assert may_touch_stops(practice, stop) == []
    settings = practice.cloud.settings
    theirs = f"projects/{settings.project}/locations/us-west4/queues/tpu-studio"
    token = practice.cloud.principals.issue(settings.runner, kind="serviceAccount")
    call = caller(practice)
    own = a_stop(practice, theirs, "ts-x-a1-t1-l-1-2000000000")
    added = call("POST", f"/cloudtasks/v2/{theirs}/tasks", own, token=token)
    assert added.status == 200
    assert call("DELETE", f"/cloudtasks/v2/{added.body['name']}", token=token).status == 403
    set_here, ref = side_of(practice).stops, Ref("ts-x-a1-t1", "us-west4-a")
    assert (list(set_here.of(ref)), list(set_here.added(ref))) == ([stop], [added.body["name"]])


@pytest.mark.parametrize("way", ["narrow-stops", "make-queue", "launch", "launch of an editor"])
def test_a_machine_of_an_account_of_an_earlier_version_cannot_remove_the_stops_any_more(
    practice: Practice, way: str
) -> None:
    """The nineteenth look, 19.5: an Editor may change no queue's policy: the old right stayed, and nothing was said."""
    choices, doctor = earlier_queue(practice), doctor_of(practice)
    offered = row(doctor.check(choices), "outside-stop")
    assert (offered.state, offered.fix) == ("optional", "narrow-stops")
    assert "may remove their shut-off timers" in words(offered).lower()
    if way == "launch":
        side_of(practice).rights.evidence(ZONE)
    elif way == "launch of an editor":
        doctor = as_somebody(practice, "roles/editor")
        assert row(doctor.check(choices), "outside-stop").state == "optional"
        token = practice.cloud.principals.issue("colleague@practice.example", scopes=(CLOUD_PLATFORM, "openid"))
        side_of(practice, token).rights.evidence(ZONE)
    else:
        doctor.fix(way, choices)
    assert may_touch_stops(practice, set_stop(practice)) == []
    assert row(doctor.check(choices), "outside-stop").state == "pass"


def test_who_may_make_no_queue_is_told_before_a_launch_and_the_letter_asks_for_it(practice: Practice) -> None:
    choices = earlier_queue(practice)
    project = practice.cloud.settings.project
    role = practice.cloud.db.get("role", f"projects/{project}/roles/{names.RUNNER_ROLE}") or {}
    name = f"projects/{project}/roles/launching"
    practice.cloud.db.put("role", name, {**role, "name": name, "includedPermissions": [*names.LAUNCH, *READS]})
    person = as_somebody(practice, name)
    refused = row(person.check(choices), "outside-stop")
    assert (refused.state, refused.fix) == ("fail", "make-queue"), refused.facts
    letter = person.request_text(choices, [])
    assert "gcloud tasks queues create tpu-studio-stops" in letter


def test_stops_that_a_version_before_set_are_moved_and_removed(practice: Practice) -> None:
    """They stand in what is the machines' queue now."""
    earlier_queue(practice)
    side, ref = side_of(practice), Ref("ts-x-a1-t1", "us-west4-a")
    old = f"projects/{practice.cloud.settings.project}/locations/us-west4/queues/tpu-studio"
    task = a_stop(practice, old, "ts-x-a1-t1-b-1-2000000000")
    assert caller(practice)("POST", f"/cloudtasks/v2/{old}/tasks", task).status == 200
    then = Ref("ts-x-a1-t1", "us-west4-a", queue=old)
    assert not side.stops.of(then) and len(side.stops.added(then)) == 1
    assert stops.without(side.stops, then) == [] and not side.stops.added(ref)


def test_a_machine_adds_tasks_in_its_queue_and_in_no_other(practice: Practice) -> None:
    call, settings = caller(practice), practice.cloud.settings
    there = f"/cloudtasks/v2/projects/{settings.project}/locations/us-west4/queues"
    other = {"name": f"{there.removeprefix('/cloudtasks/v2/')}/mail"}
    assert call("POST", there, other).status == 200
    token = practice.cloud.principals.issue(settings.runner, kind="serviceAccount")
    assert call("GET", f"{there}/tpu-studio/tasks", token=token).status == 200
    assert call("GET", f"{there}/mail/tasks", token=token).status == 403
    assert call("POST", f"{there}/tpu-studio:pause", {}, token=token).status == 403
    asked = {"permissions": ["cloudtasks.tasks.create", "cloudtasks.queues.pause"]}
    told = call("POST", f"{there}/tpu-studio:testIamPermissions", asked, token=token).body
    assert told == {"permissions": ["cloudtasks.tasks.create"]}


def test_a_queue_takes_no_conditions_and_is_read_and_changed_by_etag(practice: Practice) -> None:
    call, settings = caller(practice), practice.cloud.settings
    queue = f"/cloudtasks/v2/projects/{settings.project}/locations/us-west4/queues/tpu-studio"
    policy = call("POST", f"{queue}:getIamPolicy", {"options": {"requestedPolicyVersion": 3}}).body
    (binding,) = policy["bindings"]
    assert binding["members"] == [f"serviceAccount:{settings.runner}"] and binding["role"].endswith(names.QUEUE_ROLE)
    wanted = {"version": 3, "bindings": [{**binding, "condition": dict(OWN_MACHINES)}]}
    assert call("POST", f"{queue}:setIamPolicy", {"policy": wanted}).status == 400
    assert call("POST", f"{queue}:setIamPolicy", {"policy": {**policy, "etag": "old"}}).status == 409


def test_our_own_condition_says_yes_at_compute_engine_and_any_other_says_no(practice: Practice) -> None:
    found = side_of(practice).rights.evidence(COMPUTE)
    assert found.stopper is not None
    assert [(one.says, one.why) for one in (found.runner, found.stopper)] == [("yes", ""), ("yes", "")]
    cloud, project = practice.cloud, f"projects/{practice.cloud.settings.project}"
    for changed in ({"expression": OWN_MACHINES["expression"].replace("ts-", "x-")}, {"title": "somebody's"}):
        policy = cloud.principals.policy(project)
        bindings = [
            {**one, "condition": {**OWN_MACHINES, **changed}} if one.get("condition") else one
            for one in policy["bindings"]
        ]
        cloud.principals.set_policy(project, {**policy, "bindings": bindings})
        found = side_of(practice).rights.evidence(COMPUTE)
        assert found.stopper is not None
        told = [(one.says, one.why) for one in (found.runner, found.stopper)]
        assert told == [("no", "conditional"), ("no", "conditional")]
        assert row(doctor_of(practice).check(ready(practice)), "runner").facts["missing"] == [names.MACHINES_ROLE]


def test_our_condition_laid_out_anew_by_google_is_ours_still(start_practice: Start) -> None:
    practice = start_practice()
    practice.cloud.doubts.arm("condition-as-written")
    choices, doctor, project = ready(practice), doctor_of(practice), f"projects/{practice.cloud.settings.project}"
    call = caller(practice)
    told = call("POST", f"/v3/{project}:getIamPolicy", {"options": {"requestedPolicyVersion": 3}}).body
    (shown,) = {one["condition"]["expression"] for one in told["bindings"] if one.get("condition")}
    assert shown != OWN_MACHINES["expression"] and '"&&resource.name' in shown
    found = side_of(practice).rights.evidence(COMPUTE)
    assert found.stopper is not None and (found.runner.says, found.stopper.says) == ("yes", "yes")
    assert [row(doctor.check(choices), id).state for id in ("runner", "outside-stop")] == ["pass", "pass"]
    grants = practice.cloud.principals.policy(project)["bindings"]
    for fix in ("make-runner", "make-queue"):
        doctor.fix(fix, choices)
    assert len(practice.cloud.principals.policy(project)["bindings"]) == len(grants)  # nothing is granted twice
    assert deletes(practice, practice.cloud.settings.runner, "ts-digits-k3f7-a1-t1")


def test_an_account_of_an_earlier_version_goes_on_to_work_and_is_offered_the_narrowing(practice: Practice) -> None:
    choices, doctor = earlier(practice), doctor_of(practice)
    for ref in (ZONE, COMPUTE):
        found = side_of(practice).rights.evidence(ref)
        assert found.stopper is not None and (found.runner.says, found.stopper.says) == ("yes", "yes")
    assert not (practice.cloud.db.get("policy", f"queues/{of_machines(found.queue)}") or {}).get(
        "bindings"
    )  # not forced
    results = doctor.check(choices)
    for id, fix, many in (("runner", "narrow-runner", "it needs"), ("outside-stop", "narrow-stops", "they need")):
        offered = row(results, id)
        assert (offered.state, offered.fix, offered.facts["wide"]) == ("optional", fix, True)
        assert f"more than {many}" in words(offered) and "need “--condition=None”" in words(offered)
    assert "gcloud iam roles create" not in doctor.request_text(choices, [])
    assert deletes(practice, practice.cloud.settings.runner, "database")
    for fix in ("narrow-runner", "narrow-stops"):
        doctor.fix(fix, choices)
    assert [row(doctor.check(choices), id).state for id in ("runner", "outside-stop")] == ["pass", "pass"]
    eventually(lambda: deletes(practice, practice.cloud.settings.runner, "ts-digits-k3f7-a1-t1"))
    assert not deletes(practice, practice.cloud.settings.runner, "database")


def test_machines_in_another_area_add_stops_still_when_an_account_is_narrowed(
    practice: Practice,
) -> None:
    choices, call = earlier(practice), caller(practice)
    far = f"/cloudtasks/v2/projects/{choices.project}/locations/europe-west3/queues"
    assert call("POST", far, {"name": f"{far.removeprefix('/cloudtasks/v2/')}/tpu-studio"}).status == 200
    token = practice.cloud.principals.issue(practice.cloud.settings.runner, kind="serviceAccount")
    assert call("GET", f"{far}/tpu-studio/tasks", token=token).status == 200
    doctor_of(practice).fix("narrow-runner", choices)
    eventually(lambda: call("GET", f"{far}/tpu-studio/tasks", token=token).status == 200)


def test_a_launch_in_another_area_lets_the_machine_into_the_queue_that_it_makes(practice: Practice) -> None:
    queue = side_of(practice).rights.evidence(Ref("", "europe-west4-b")).queue
    assert "/europe-west3/" in queue
    token = practice.cloud.principals.issue(practice.cloud.settings.runner, kind="serviceAccount")
    eventually(lambda: caller(practice)("GET", f"/cloudtasks/v2/{of_machines(queue)}/tasks", token=token).status == 200)


def test_a_queue_that_the_machine_may_not_use_fails_the_row_and_is_mended(practice: Practice) -> None:
    choices, doctor = ready(practice), doctor_of(practice)
    theirs = f"projects/{choices.project}/locations/us-west4/queues/tpu-studio"
    practice.cloud.db.delete("policy", f"queues/{theirs}")
    broken = row(doctor.check(choices), "outside-stop")
    assert (broken.state, broken.fix, broken.facts["missing"]) == ("fail", "make-queue", [names.QUEUE_ROLE])
    doctor.fix("make-queue", choices)
    assert row(doctor.check(choices), "outside-stop").state == "pass"


def test_who_may_not_read_the_queue_s_policy_may_launch_all_the_same(practice: Practice) -> None:
    """An Editor holds no ``cloudtasks.queues.getIamPolicy`` (Google's own list)."""
    editor = as_somebody(practice, "roles/editor")
    assert row(editor.check(ready(practice)), "outside-stop").state == "pass"


def writes(practice: Practice, name: str) -> bool:
    token = practice.cloud.principals.issue(practice.cloud.settings.runner, kind="serviceAccount")
    bucket = practice.cloud.settings.bucket
    path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}"
    status = caller(practice)("POST", path, b"{}", token=token).status
    assert status in (200, 403)
    return status == 200


def test_a_machine_writes_its_words_and_nothing_that_a_desktop_says(practice: Practice) -> None:
    assert writes(practice, "runs/digits-k3f7/claims/a0001.json")
    for name in ("control/000001.json", "owner.json", "plan.json", "events/desk-abcd2345/000000000000.jsonl"):
        assert not writes(practice, f"runs/digits-k3f7/{name}"), name
    assert not writes(practice, "data/00.tar")
    call, bucket = caller(practice), practice.cloud.settings.bucket
    owner = "runs%2Fdigits-k3f7%2Fowner.json"
    assert call("POST", f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={owner}", b"{}").status == 200
    token = practice.cloud.principals.issue(practice.cloud.settings.runner, kind="serviceAccount")
    assert call("GET", f"/storage/v1/b/{bucket}/o/{owner}", token=token).status == 200
    assert call("DELETE", f"/storage/v1/b/{bucket}/o/{owner}", token=token).status == 403
    assert call("GET", f"/storage/v1/b/{bucket}/o?prefix=runs/", token=token).status == 200


def test_a_bucket_of_an_earlier_version_is_narrowed_with_the_account(practice: Practice) -> None:
    choices = earlier(practice)
    assert writes(practice, "runs/digits-k3f7/owner.json")
    doctor_of(practice).fix("narrow-runner", choices)
    eventually(lambda: writes(practice, "runs/digits-k3f7/claims/a0001.json"))
    assert not writes(practice, "runs/digits-k3f7/owner.json")


@pytest.mark.parametrize("doubt", ["compute-condition", "queue-policy", "bucket-condition"])
def test_where_google_grants_otherwise_what_is_refused_is_the_machine_s_right(
    start_practice: Start, doubt: str
) -> None:
    practice = start_practice()
    practice.cloud.doubts.arm(doubt)
    settings, call = practice.cloud.settings, caller(practice)
    token = practice.cloud.principals.issue(settings.runner, kind="serviceAccount")
    tasks = f"/cloudtasks/v2/projects/{settings.project}/locations/us-west4/queues/tpu-studio/tasks"
    refused: dict[str, Any] = {
        "compute-condition": not deletes(practice, settings.runner, "ts-digits-k3f7-a1-t1"),
        "queue-policy": call("GET", tasks, token=token).status == 403,
        "bucket-condition": not writes(practice, "runs/digits-k3f7/claims/a0001.json"),
    }
    assert [name for name, held in refused.items() if held] == [doubt]


@pytest.mark.parametrize(
    ("way", "tells", "absent", "there"),
    [
        ("", True, 404, True),
        ("never", False, 403, False),
        ("not-in-tests", False, 404, True),
        ("absent-name-denied", True, 403, True),
    ],
)
def test_a_condition_of_compute_engine_is_played_every_way(
    start_practice: Start, way: str, tells: bool, absent: int, there: bool
) -> None:
    practice, name = start_practice(), "ts-digits-k3f7-a1-t1"
    cloud, settings, call = practice.cloud, practice.cloud.settings, caller(practice)
    if way:
        cloud.doubts.arm(f"compute-condition={way}")
    place = f"/compute/v1/projects/{settings.project}/zones/us-east5-b/instances"
    assert call("POST", place, compute_body(name)).status == 200
    token = cloud.principals.issue(settings.runner, kind="serviceAccount")
    asked = call(
        "POST", f"{place}/{name}/testIamPermissions", {"permissions": ["compute.instances.delete"]}, token=token
    )
    assert (asked.status, bool(asked.body.get("permissions"))) == (200, tells)
    assert call("DELETE", f"{place}/ts-proof-{'0' * 32}", token=token).status == absent
    assert call("DELETE", f"{place}/no-proof-{'0' * 32}", token=token).status == 403
    assert call("DELETE", f"{place}/{name}", token=token).status == (200 if there else 403)


def test_the_letter_asks_for_the_narrow_grants(practice: Practice) -> None:
    choices = ready(practice)
    practice.cloud.db.delete("account", practice.cloud.settings.runner)
    practice.cloud.db.delete("account", choices.stopper)
    lines = doctor_of(practice).request_text(choices, []).splitlines()
    (queue,) = {line for line in lines if line.startswith("gcloud tasks queues add-iam-policy-binding")}
    assert "--location=us-west4" in queue and names.QUEUE_ROLE in queue
    told = [line for line in lines if "--condition=expression=" in line]
    assert len([line for line in told if OWN_MACHINES["expression"] in line]) == 2
    assert len([line for line in told if own_words(choices.bucket)["expression"] in line]) == 1 == len(told) - 2
    letter = "\n".join(lines)
    assert letter.count("It may delete any TPU of the project, not only mine") == 2 and "nothing else" not in letter
    assert "--condition=None is given: scripts that do so in this project need it" in letter
    created = [line for line in lines if line.startswith("gcloud iam roles create tpuStudioRunner")]
    assert len(created) == 1 and "cloudtasks" not in created[0] and "instances.delete" not in created[0]
