"""The two accounts of a run as the checklist sees them: the machines' own (runner), and that of the outside stops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tpu_studio.cloud.doctor import names, policies
from tpu_studio.cloud.doctor.apis import Apis
from tpu_studio.cloud.doctor.policies import Policy, has
from tpu_studio.cloud.doctor.repairs import account_path, runner_address, stopper_address
from tpu_studio.cloud.doctor.rights import refused
from tpu_studio.cloud.queues import has_retries
from tpu_studio.wire.errors import CloudRefused
from tpu_studio.workflow.account.ports import Choices, Result


def runner(apis: Apis, choices: Choices) -> Result:
    address = runner_address(choices)
    path, member = account_path(choices, address), f"serviceAccount:{address}"
    there = _account(apis, path)
    if there is None:
        return Result("runner", "fail", {"runner": address}, fix="make-runner", undo=True)
    of_project = policies.of_project(apis.resources, choices.project)
    missing = []
    if there.get("disabled"):
        missing.append("the account is switched off")
    all_too = all(has(of_project, one, member) for one in names.RUNNER_ROLES_TOO)
    if not (all_too or _has_role(apis, of_project, choices, names.RUNNER_ROLE, names.RUNNER_PERMISSIONS, member)):
        missing.append(names.RUNNER_ROLE)
    if choices.bucket:
        of_bucket = policies.of_bucket(apis.storage, choices.bucket)
        if not any(has(of_bucket, one, member) for one in (names.BUCKET_ROLE, *names.BUCKET_ROLES_TOO)):
            missing.append(names.BUCKET_ROLE)
    if not _acts(policies.of_account(apis.iam, path), of_project, member):
        missing.append(names.ACT_AS_ROLE)
    if missing:
        return Result("runner", "fail", {"runner": address, "missing": missing}, fix="make-runner")
    return Result("runner", "pass", {"runner": address})


def outside_stop(apis: Apis, choices: Choices) -> Result:
    queue = apis.queue(choices)
    region = queue.split("/")[3]
    try:
        seen = apis.tasks.get(f"/v2/{queue}")
    except CloudRefused as error:
        if error.id != "not-found":
            raise
        return Result("outside-stop", "fail", {"region": region, "queue": queue}, fix="make-queue", undo=True)
    facts = {"region": region, "account": choices.stopper or runner_address(choices)}
    if not has_retries(seen):
        return Result("outside-stop", "fail", {**facts, "retries": seen.get("retryConfig")}, fix="make-queue")
    if seen.get("state") not in ("RUNNING", 1):
        return Result("outside-stop", "fail", {**facts, "state": seen.get("state")}, fix="make-queue")
    if not choices.stopper:  # set up before it had an account of its own, or on another computer: it works
        return Result("outside-stop", "optional", facts, fix="make-queue", undo=True)
    if missing := _stopper_lacks(apis, choices):
        return Result("outside-stop", "fail", {**facts, "missing": missing}, fix="make-queue")
    return Result("outside-stop", "pass", facts)


def _stopper_lacks(apis: Apis, choices: Choices) -> list[str]:
    """What the account of the outside stops needs and has not; its name where it is not there at all."""
    address = stopper_address(choices)
    path, member = account_path(choices, address), f"serviceAccount:{address}"
    there = _account(apis, path)
    if there is None:
        return [names.STOPPER]
    missing = ["the account is switched off"] if there.get("disabled") else []
    of_project = policies.of_project(apis.resources, choices.project)
    too = all(has(of_project, one, member) for one in names.STOPPER_ROLES_TOO)
    if not (too or _has_role(apis, of_project, choices, names.STOPPER_ROLE, names.STOPPER_PERMISSIONS, member)):
        missing.append(names.STOPPER_ROLE)
    mine = refused(apis.iam, path, [names.ACT_AS])
    member_runner = f"serviceAccount:{runner_address(choices)}"
    if mine or not _acts(policies.of_account(apis.iam, path), of_project, member_runner):
        missing.append(names.ACT_AS_ROLE)
    return missing


def _account(apis: Apis, path: str) -> dict[str, Any] | None:
    try:
        return apis.iam.get(path)
    except CloudRefused as error:
        if error.id != "not-found":
            raise
        return None


def _acts(of_account: Policy, of_project: Policy, member: str) -> bool:
    return has(of_account, names.ACT_AS_ROLE, member) or has(of_project, names.ACT_AS_ROLE, member)


def _has_role(
    apis: Apis, of_project: Policy, choices: Choices, role: str, permissions: Sequence[str], member: str
) -> bool:
    """Whether *member* has our custom role, and that role is whole: somebody may have edited or deleted it."""
    name = f"projects/{choices.project}/roles/{role}"
    if not has(of_project, name, member):
        return False
    try:
        seen = apis.iam.get(f"/v1/{name}")
    except CloudRefused as error:
        return error.id != "not-found"  # one that may not be looked into: the launch's own proof will tell
    if seen.get("deleted") or seen.get("stage") == "DISABLED":
        return False
    return set(permissions) <= set(seen.get("includedPermissions") or ())
