"""Who may end the bill, by reads and by the tasks of a proof, against the practice cloud's own IAM and Cloud Tasks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.conftest import Start, caller
from tests.contract.sides import side_of
from tests.contract.test_cloud_sweep import sweep_on
from tests.fakes.waiting import eventually
from tpu_studio.cloud.doctor.names import NOBODY
from tpu_studio.practice.main import Practice
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.cloudruns import gate
from tpu_studio.workflow.cloudruns.gate import Evidence, Go, Refuse, Shown
from tpu_studio.workflow.cloudruns.ports import Ref

ZONE = Ref("", "us-west4-a")
UNREADABLE = "permission-missing:permission=resourcemanager.projects.getIamPolicy,times=0"


def evidence(practice: Practice, ref: Ref = ZONE) -> Evidence:
    return side_of(practice).rights.evidence(ref)


def told(found: Evidence) -> list[tuple[str, str]]:
    assert found.stopper is not None
    return [(one.says, one.why) for one in (found.runner, found.stopper)]


def bindings(practice: Practice, change: Any) -> None:
    project = f"projects/{practice.cloud.settings.project}"
    policy = practice.cloud.principals.policy(project)
    practice.cloud.principals.set_policy(project, {**policy, "bindings": change(policy["bindings"])})


def proof(practice: Practice, accounts: list[str], backend: str = "tpu") -> tuple[Shown, dict[str, int | None]]:
    """The tasks of a proof, and what they show once each has had an answer or is gone."""
    rights, ref = side_of(practice).rights, Ref("", "us-west4-a", backend)
    queue = rights.evidence(ref).queue
    begun: list[Any] = []

    def begin() -> bool:
        try:
            begun.append(rights.begin(queue, ref, accounts))
        except CloudRefused:  # the account without rights is not known everywhere yet
            return False
        return True

    eventually(begin)
    tasks, control = begun[0]
    eventually(lambda: None not in rights.answers(list(tasks)).values())
    runner = practice.cloud.settings.runner
    return Shown("proving", 0.0, queue, tasks, control, runner), dict(rights.answers(list(tasks)))


def test_an_account_that_is_set_up_says_yes_and_its_queue_runs(practice: Practice) -> None:
    found = evidence(practice)
    assert told(found) == [("yes", ""), ("yes", "")]
    assert caller(practice)("GET", f"/cloudtasks/v2/{found.queue}").body["state"] == "RUNNING"
    assert gate.judge(found, waived=False) == Go({found.runner.email: "reads", found.stopper.email: "reads"})  # type: ignore[union-attr]
    assert told(evidence(practice, Ref("", "us-east5-a", "compute"))) == [("yes", ""), ("yes", "")]


def test_a_deleted_and_a_switched_off_account_say_no(practice: Practice) -> None:
    settings, call = practice.cloud.settings, caller(practice)
    base = f"/v1/projects/{settings.project}/serviceAccounts"
    assert call("POST", f"{base}/{settings.runner}:disable", {}).status == 200
    assert call("DELETE", f"{base}/{settings.stopper}").status == 200
    assert told(evidence(practice)) == [("no", "disabled"), ("no", "absent")]


def test_a_right_under_a_condition_is_none(practice: Practice) -> None:
    condition = {"title": "office hours", "expression": "request.time.getHours() < 18"}

    def conditional(given: list[Any]) -> list[Any]:
        return [{**one, "condition": condition} if "tpuStudio" in one["role"] else one for one in given]

    bindings(practice, conditional)
    assert told(evidence(practice)) == [("no", "conditional"), ("no", "conditional")]


def test_the_status_of_an_attempt_that_is_still_on_its_way_means_nothing(practice: Practice) -> None:
    """Discovery cloudtasks.v2: without a responseTime the responseStatus is meaningless."""
    queue, rights = evidence(practice).queue, side_of(practice).rights
    name = rights.trial(queue, ZONE, practice.cloud.settings.stopper)
    eventually(lambda: rights.answers([name])[name] == 5)
    record = practice.cloud.db.get("task", name) or {}
    last = record["shown"]["lastAttempt"]
    practice.cloud.db.put(
        "task",
        name,
        {
            **record,
            "due": 1e12,
            "shown": {**record["shown"], "lastAttempt": {key: last[key] for key in last if key != "responseTime"}},
        },
    )
    assert rights.answers([name]) == {name: None}


def test_a_role_that_somebody_emptied_is_no_yes(practice: Practice) -> None:
    settings = practice.cloud.settings
    role = f"/v1/projects/{settings.project}/roles/tpuStudioStopper?updateMask=includedPermissions"
    assert caller(practice)("PATCH", role, {"includedPermissions": ["tpu.nodes.get"]}).status == 200
    assert told(evidence(practice)) == [("yes", ""), ("unknown", "no-grant")]


def test_a_paused_queue_is_set_going_and_one_that_cannot_be_had_says_why(start_practice: Start) -> None:
    practice = start_practice()
    queue = evidence(practice).queue
    caller(practice)("POST", f"/cloudtasks/v2/{queue}:pause", {})
    assert evidence(practice).queue == queue
    assert caller(practice)("GET", f"/cloudtasks/v2/{queue}").body["state"] == "RUNNING"
    practice.cloud.faults.arm_text("service-disabled:service=cloudtasks.googleapis.com,times=0")
    without = evidence(practice)
    assert (without.queue, without.queue_why) == ("", "service-disabled")
    refused = gate.judge(without, waived=False)
    assert isinstance(refused, Refuse) and refused.reason.value == "launch-refused"


def test_billing_that_is_off_and_a_project_that_is_to_be_deleted_are_told_as_that(start_practice: Start) -> None:
    practice = start_practice()
    cloud, project = practice.cloud, practice.cloud.settings.project
    cloud.faults.arm_text("billing-off")
    assert evidence(practice).queue_why == "billing-off"
    cloud.faults.disarm("billing-off")
    side, call = side_of(practice), caller(practice)
    assert side.rights.is_project_active()
    cloud.faults.arm_text("project-deleted")
    assert not side.rights.is_project_active()
    assert call("GET", f"/v3/projects/{project}").body["state"] == "DELETE_REQUESTED"
    with pytest.raises(CloudRefused):
        side.stops.of(Ref("ts-a", "us-west4-a"))
    cloud.faults.disarm("project-deleted")
    assert dict(side.stops.of(Ref("ts-a", "us-west4-a"))) == {}
    call("DELETE", f"/v3/projects/{project}")
    for asks in (
        lambda: side.rights.evidence(ZONE),
        lambda: side.stops.of(Ref("ts-a", "us-west4-a")),
        lambda: side.machines["tpu"].look(Ref("ts-a", "us-west4-a")),
        lambda: side.machines["compute"].look(Ref("ts-a", "us-west4-a", "compute")),
    ):
        with pytest.raises(CloudRefused) as refusal:
            asks()
        assert refusal.value.id == "project-deleted"


@pytest.mark.parametrize("backend", ["tpu", "compute"])
def test_where_the_policy_may_not_be_read_each_account_proves_itself(start_practice: Start, backend: str) -> None:
    practice = start_practice(UNREADABLE, speed=20.0)
    settings = practice.cloud.settings
    found = evidence(practice, Ref("", "us-west4-a", backend))
    assert told(found) == [("unknown", "unreadable"), ("unknown", "unreadable")]
    wanted = gate.judge(found, waived=False)
    assert wanted == gate.Prove((settings.runner, settings.stopper))
    shown, answers = proof(practice, [settings.runner, settings.stopper], backend)
    by = {shown.tasks[name]: code for name, code in answers.items()}
    nobody = f"{NOBODY}@{settings.project}.iam.gserviceaccount.com"
    assert by == {settings.runner: 5, settings.stopper: 5, nobody: 7}
    assert gate.read(shown, answers, 0.0) == Go({settings.runner: "proof", settings.stopper: "proof"})
    side_of(practice).rights.end(list(shown.tasks))
    assert practice.cloud.db.list("task") == []
    assert practice.cloud.db.list("tpu-node") == [] and practice.cloud.db.list("tpu-queued-resource") == []


def test_an_account_without_the_right_is_refused_by_its_proof(start_practice: Start) -> None:
    practice = start_practice(speed=20.0)
    runner = practice.cloud.settings.runner
    bindings(practice, lambda given: [one for one in given if not one["role"].endswith("tpuStudioRunner")])
    assert told(evidence(practice)) == [("unknown", "no-grant"), ("yes", "")]
    shown, answers = proof(practice, [runner])
    assert gate.read(shown, answers, 0.0) is None
    refused = gate.read(shown, answers, gate.PROOF_S)
    assert isinstance(refused, Refuse) and refused.facts == {"account": runner, "which": "runner", "why": "denied"}


def test_an_account_without_rights_that_has_some_makes_the_proof_void(start_practice: Start) -> None:
    practice = start_practice(speed=20.0)
    settings = practice.cloud.settings
    member = f"serviceAccount:{NOBODY}@{settings.project}.iam.gserviceaccount.com"
    practice.cloud.principals.grant(f"projects/{settings.project}", "roles/tpu.admin", member)
    shown, answers = proof(practice, [settings.runner])
    refused = gate.read(shown, answers, 0.0)
    assert isinstance(refused, Refuse) and refused.facts["error"] == "proof-void"


def test_tasks_that_leave_after_a_404_prove_nothing(start_practice: Start) -> None:
    practice = start_practice(speed=20.0)
    practice.cloud.doubts.arm("task-404-retried")
    shown, answers = proof(practice, [practice.cloud.settings.runner])
    refused = gate.read(shown, answers, 0.0)
    assert isinstance(refused, Refuse) and refused.facts["error"] == "proof-void"


@pytest.mark.parametrize(
    ("doubt", "after_s", "error"),
    [
        ("absent-name-permission=not-found-for-all", 0.0, "proof-void"),
        ("absent-name-permission=denied-for-all", gate.PROOF_S, "denied"),
    ],
)
def test_where_google_answers_everybody_alike_nothing_is_proved(
    start_practice: Start, doubt: str, after_s: float, error: str
) -> None:
    practice = start_practice(speed=20.0)
    practice.cloud.doubts.arm(doubt)
    shown, answers = proof(practice, [practice.cloud.settings.runner])
    refused = gate.read(shown, answers, after_s)
    assert isinstance(refused, Refuse) and error in (refused.facts.get("error"), refused.facts.get("why"))


def test_an_attempt_whose_status_is_not_told_proves_nothing(start_practice: Start) -> None:
    practice = start_practice(speed=20.0)
    practice.cloud.doubts.arm("task-last-attempt")
    rights = side_of(practice).rights
    queue, tried = rights.evidence(ZONE).queue, practice.cloud.settings.runner
    begun: list[Any] = []

    def begin() -> bool:
        try:
            begun.append(rights.begin(queue, ZONE, [tried]))
        except CloudRefused:
            return False
        return True

    eventually(begin)
    tasks, control = begun[0]
    eventually(lambda: all((practice.cloud.db.get("task", one) or {})["shown"].get("responseCount") for one in tasks))
    answers = rights.answers(list(tasks))
    assert set(answers.values()) == {None}
    refused = gate.read(Shown("proving", 0.0, queue, tasks, control), answers, gate.PROOF_S)
    assert isinstance(refused, Refuse) and refused.facts["error"] == "proof-silent"


def test_the_sweep_takes_the_tasks_of_a_proof_away(start_practice: Start) -> None:
    practice = start_practice(speed=20.0)
    shown, _ = proof(practice, [practice.cloud.settings.runner])
    sweeping = sweep_on(practice)
    tasks = [item for item in sweeping.look().items if item.kind == "task"]
    assert {item.name for item in tasks} == set(shown.tasks) and all(item.ours for item in tasks)
    assert [error for _, error in sweeping.delete(tasks)] == [None, None]
    assert practice.cloud.db.list("task") == []
