"""The two accounts of a run as the checklist sees them: the machines' own (runner), and that of the shut-off timers."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_studio.cloud.doctor import names, policies
from tpu_studio.cloud.doctor.apis import Apis
from tpu_studio.cloud.doctor.policies import Policy, has
from tpu_studio.cloud.doctor.repairs import account_path, runner_address, stopper_address
from tpu_studio.cloud.doctor.rights import refused
from tpu_studio.cloud.queues import MACHINES, has_retries, of_machines
from tpu_studio.cloud.session import segment
from tpu_studio.domain.grants import OWN_MACHINES, Condition, own_words
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
    held = _Held(apis, of_project, choices, member)
    if not all_too:
        missing += held.lacks(names.RUNNER_ROLE, names.RUNNER_PERMISSIONS)
        missing += held.lacks_machines(names.RUNNER_ROLE)
    wide = held.more_than(names.RUNNER_ROLE, names.RUNNER_PERMISSIONS)
    if choices.bucket:
        of_bucket = policies.of_bucket(apis.storage, choices.bucket)
        wide = wide or has(of_bucket, names.BUCKET_ROLE, member)
        if not any(has(of_bucket, one, member) for one in (names.BUCKET_ROLE, *names.BUCKET_ROLES_TOO)):
            missing += _Held(apis, of_bucket, choices, member).lacks_bucket(choices.bucket)
    if not _acts(policies.of_account(apis.iam, path), of_project, member):
        missing.append(names.ACT_AS_ROLE)
    if missing:
        return Result("runner", "fail", {"runner": address, "missing": missing}, fix="make-runner")
    if wide:  # made by an earlier version: it works
        return Result("runner", "optional", {"runner": address, "wide": True}, fix="narrow-runner")
    return Result("runner", "pass", {"runner": address})


def outside_stop(apis: Apis, choices: Choices) -> Result:
    queue = apis.queue(choices)
    region = queue.split("/")[3]
    seen = _queue(apis, queue)
    earlier = seen is None  # versions before had the machines' queue alone; a launch makes the other, if it may
    may = not earlier or not refused(apis.resources, f"/v3/projects/{segment(choices.project)}", [names.MAKE_QUEUE])
    seen = seen or (_queue(apis, of_machines(queue)) if may else None)
    if seen is None:
        return Result("outside-stop", "fail", {"region": region, "queue": queue}, fix="make-queue", undo=True)
    facts = {"region": region, "account": choices.stopper or runner_address(choices)}
    if not has_retries(seen):
        return Result("outside-stop", "fail", {**facts, "retries": seen.get("retryConfig")}, fix="make-queue")
    if seen.get("state") not in ("RUNNING", 1):
        return Result("outside-stop", "fail", {**facts, "state": seen.get("state")}, fix="make-queue")
    if not choices.stopper:  # set up before it had an account of its own, or on another computer: it works
        return Result("outside-stop", "optional", facts, fix="make-queue", undo=True)
    of_project = policies.of_project(apis.resources, choices.project)
    held = _Held(apis, of_project, choices, f"serviceAccount:{stopper_address(choices)}")
    missing = _stopper_lacks(apis, choices, held)
    missing += _runner_lacks_queue(apis, choices, of_project, of_machines(queue))
    if missing:
        return Result("outside-stop", "fail", {**facts, "missing": missing}, fix="make-queue")
    if earlier:
        return Result("outside-stop", "optional", {**facts, "wide": True, "queue_open": True}, fix="narrow-stops")
    if held.more_than(names.STOPPER_ROLE, names.STOPPER_PERMISSIONS):
        return Result("outside-stop", "optional", {**facts, "wide": True}, fix="narrow-stops")
    return Result("outside-stop", "pass", facts)


def _queue(apis: Apis, name: str) -> dict[str, object] | None:
    try:
        return apis.tasks.get(f"/v2/{name}")
    except CloudRefused as error:
        if error.id != "not-found":
            raise
        return None


def _runner_lacks_queue(apis: Apis, choices: Choices, of_project: Policy, queue: str) -> list[str]:
    """Whether the machines' account may not add its stops in *queue*. Nothing while it is not there (its own row says
    that), nor where the queue's policy may not be read."""
    address = runner_address(choices)
    if _account(apis, account_path(choices, address)) is None:
        return []
    member = f"serviceAccount:{address}"
    of_all = _Held(apis, of_project, choices, member)
    if any(has(of_project, one, member) for one in names.QUEUE_ROLES_TOO) or not of_all.lacks(
        names.RUNNER_ROLE, names.QUEUE_PERMISSIONS
    ):
        return []
    try:
        of_queue = policies.of_queue(apis.tasks, queue)
    except CloudRefused as error:
        if error.id == "not-found":
            return [MACHINES]
        if error.id != "permission-missing":
            raise
        return []
    if any(has(of_queue, one, member) for one in names.QUEUE_ROLES_TOO):
        return []
    return _Held(apis, of_queue, choices, member).lacks(names.QUEUE_ROLE, names.QUEUE_PERMISSIONS)


def _stopper_lacks(apis: Apis, choices: Choices, held: _Held) -> list[str]:
    """What the account of the shut-off timers needs and has not; its name where it is not there at all."""
    path = account_path(choices, stopper_address(choices))
    there = _account(apis, path)
    if there is None:
        return [names.STOPPER]
    missing = ["the account is switched off"] if there.get("disabled") else []
    of_project = held.policy
    if not all(has(of_project, one, held.member) for one in names.STOPPER_ROLES_TOO):
        missing += held.lacks(names.STOPPER_ROLE, names.STOPPER_PERMISSIONS)
        missing += held.lacks_machines(names.STOPPER_ROLE)
    mine = refused(apis.iam, path, [names.ACT_AS])
    member_runner = f"serviceAccount:{runner_address(choices)}"
    if mine or not _acts(policies.of_account(apis.iam, path), of_project, member_runner):
        missing.append(names.ACT_AS_ROLE)
    return missing


def _account(apis: Apis, path: str) -> dict[str, object] | None:
    try:
        return apis.iam.get(path)
    except CloudRefused as error:
        if error.id != "not-found":
            raise
        return None


def _acts(of_account: Policy, of_project: Policy, member: str) -> bool:
    return has(of_account, names.ACT_AS_ROLE, member) or has(of_project, names.ACT_AS_ROLE, member)


class _Held:
    """Which of our custom roles *member* holds by *policy*, and whether they are whole: somebody may have edited or
    deleted one."""

    def __init__(self, apis: Apis, policy: Policy, choices: Choices, member: str) -> None:
        self.policy, self.member = policy, member
        self._apis, self._project = apis, choices.project
        self._seen: dict[str, frozenset[str] | None] = {}

    def lacks(self, role: str, permissions: Sequence[str]) -> list[str]:
        """[*role*] where it is not held, or holds less than *permissions*."""
        if not has(self.policy, self._name(role), self.member):
            return [role]
        return [role] if not self._holds(role, permissions) else []

    def lacks_machines(self, wide: str) -> list[str]:
        """Whether it may not delete our machines of Compute Engine, be it by *wide*, the role of an earlier version."""
        if not self.lacks(wide, names.MACHINES_PERMISSIONS[-1:]):
            return []
        return self._lacks_under(names.MACHINES_ROLE, names.MACHINES_PERMISSIONS, OWN_MACHINES)

    def lacks_bucket(self, bucket: str) -> list[str]:
        """Of a bucket's policy: what it takes to read there, and to write what machines say."""
        reads = self.lacks(names.READER_ROLE, names.READER_PERMISSIONS)
        return reads + self._lacks_under(names.WRITER_ROLE, names.WRITER_PERMISSIONS, own_words(bucket))

    def _lacks_under(self, role: str, permissions: Sequence[str], under: Condition) -> list[str]:
        granted = policies.has_under(self.policy, self._name(role), self.member, under)
        return [] if granted and self._holds(role, permissions) else [role]

    def more_than(self, role: str, permissions: Sequence[str]) -> bool:
        """Whether *role* is held and gives more than *permissions*."""
        held = self._permissions(role) if has(self.policy, self._name(role), self.member) else None
        return held is not None and not held <= set(permissions)

    def _name(self, role: str) -> str:
        return f"projects/{self._project}/roles/{role}"

    def _holds(self, role: str, permissions: Sequence[str]) -> bool:
        """Also where it may not be looked into: the launch's own proof will tell."""
        held = self._permissions(role)
        return held is None or set(permissions) <= held

    def _permissions(self, role: str) -> frozenset[str] | None:
        if role not in self._seen:
            self._seen[role] = self._look(role)
        return self._seen[role]

    def _look(self, role: str) -> frozenset[str] | None:
        """Empty where it was deleted or switched off; None where it may not be looked into."""
        try:
            seen = self._apis.iam.get(f"/v1/{self._name(role)}")
        except CloudRefused as error:
            return frozenset() if error.id == "not-found" else None
        off = seen.get("deleted") or seen.get("stage") == "DISABLED"
        return frozenset(() if off else seen.get("includedPermissions") or ())
