"""What one press on the account page does. Each may be repeated without harm, and says what it could not do.

Policies are changed by read, add, write with the etag, so that nobody's other grants are lost; a lost race is tried
again. Nothing here deletes what it did not make.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpu_studio.cloud.doctor import names
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.queues import RETRIES, QueueRegions, has_retries
from tpu_studio.cloud.session import Api, segment
from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.workflow.account.ports import Choices

_PATIENCE_S = 180.0
_RACES = 5


class Apis:
    """One `Api` for each service, with the project whose quota counts."""

    def __init__(self, credentials: Any, endpoints: Endpoints, project: str) -> None:
        def api(base: str) -> Api:
            return Api(base, credentials, project)

        self.tpu, self.compute, self.storage = api(endpoints.tpu), api(endpoints.compute), api(endpoints.storage)
        self.tasks, self.services, self.quotas = (
            api(endpoints.tasks),
            api(endpoints.serviceusage),
            api(endpoints.quotas),
        )
        self.billing, self.budgets, self.resources = (
            api(endpoints.billing),
            api(endpoints.budgets),
            api(endpoints.resources),
        )
        self.iam, self.policies = api(endpoints.iam), api(endpoints.orgpolicy)
        self.regions = QueueRegions(self.tasks, self.policies, project)

    def queue(self, choices: Choices) -> str:
        """Full name of the outside stops' queue, in the nearest region. Raises as `QueueRegions.near`."""
        return self.regions.queue(self.regions.near(choices.region))


def runner_address(choices: Choices) -> str:
    return choices.runner or f"{names.RUNNER}@{choices.project}.iam.gserviceaccount.com"


def stopper_address(choices: Choices) -> str:
    return choices.stopper or f"{names.STOPPER}@{choices.project}.iam.gserviceaccount.com"


def account_path(choices: Choices, address: str) -> str:
    return f"/v1/projects/{segment(choices.project)}/serviceAccounts/{segment(address)}"


class Repairs:
    """*sleep* is between looks at an operation."""

    def __init__(self, apis: Apis, *, me: str = "", sleep: Callable[[float], None] = time.sleep) -> None:
        self._apis, self._me, self._sleep = apis, me, sleep

    def link_billing(self, choices: Choices, *, account: str) -> Choices:
        """*account*: ``billingAccounts/…``; "" unlinks."""
        path = f"/v1/projects/{segment(choices.project)}/billingInfo"
        self._apis.billing.put(path, {"billingAccountName": account})
        return choices

    def enable_services(self, choices: Choices) -> Choices:
        """Switch on what is needed and, where they can be had, the services of the spending alert."""
        path = f"/v1/projects/{segment(choices.project)}/services:batchEnable"
        operation = self._apis.services.post(path, {"serviceIds": list(names.SERVICES)}, again=True)
        self.finished(self._apis.services, operation, "/v1/")
        try:
            more = self._apis.services.post(path, {"serviceIds": list(names.OPTIONAL_SERVICES)}, again=True)
            self.finished(self._apis.services, more, "/v1/")
        except CloudRefused:
            pass  # the alert's own check says what is missing for it
        return choices

    def make_network(self, choices: Choices) -> Choices:
        """An auto-mode network: a subnet in each region."""
        body = {"name": choices.network, "autoCreateSubnetworks": True}
        path = f"/compute/v1/projects/{segment(choices.project)}/global/networks"
        operation = self._made(lambda: self._apis.compute.post(path, body))
        if operation:
            self.finished(self._apis.compute, operation, f"/compute/v1/projects/{choices.project}/global/operations/")
        return choices

    def make_bucket(self, choices: Choices) -> Choices:
        """A bucket of ours in the TPU's region, found or made: private, without soft delete,
        runs gone after 30 days."""
        if not choices.bucket and (there := self._bucket_there(choices)):
            return replace(choices, bucket=there)
        for _ in range(_RACES):
            name = choices.bucket or f"tpu-studio-{secrets.token_hex(6)}"
            try:
                self._apis.storage.post(
                    "/storage/v1/b", bucket_body(name, choices.region), {"project": choices.project}
                )
            except CloudRefused as error:
                if error.id != "exists" or choices.bucket:
                    raise
                continue  # somebody in the world has this name
            return replace(choices, bucket=name)
        raise CloudUnclear("server-error", raw="no free name for a bucket was found")

    def _bucket_there(self, choices: Choices) -> str:
        """The name of a bucket that another computer of this person made here; "" when there is none."""
        for one in self._apis.storage.pages("/storage/v1/b", "items", {"project": choices.project}):
            ours = (one.get("labels") or {}).get("tpu-studio") == "1"
            closed = (one.get("iamConfiguration") or {}).get("publicAccessPrevention") == "enforced"
            if ours and closed and str(one.get("location", "")).lower() == choices.region:
                return str(one["name"])
        return ""

    def make_runner(self, choices: Choices) -> Choices:
        """The account that machines run as, with the least that it needs: delete itself, move its stops, its bucket."""
        address = runner_address(choices)
        member = f"serviceAccount:{address}"
        self._make_account(choices, names.RUNNER, "TPU Studio runner", names.RUNNER_ROLE, names.RUNNER_PERMISSIONS)
        self._let_act(choices, address, [member, *self._my_member])
        if choices.bucket:
            self._grant_bucket(choices.bucket, names.BUCKET_ROLE, member)
        if choices.stopper:
            self._let_act(choices, choices.stopper, [member])  # it moves its own stops, which act as that one
        return replace(choices, runner=address)

    def make_stops(self, choices: Choices) -> Choices:
        """The queue of the outside stops, as near as Cloud Tasks is, and the account as which they delete."""
        self._make_queue(choices)
        address = stopper_address(choices)
        title, may = "TPU Studio stops", names.STOPPER_PERMISSIONS
        self._make_account(choices, names.STOPPER, title, names.STOPPER_ROLE, may)
        runner = runner_address(choices)
        runs = [f"serviceAccount:{runner}"] if self._is_there(choices, runner) else []
        self._let_act(choices, address, [*runs, *self._my_member])
        return replace(choices, stopper=address)

    @property
    def _my_member(self) -> list[str]:
        return [_person(self._me)] if self._me else []

    def _make_account(self, choices: Choices, id: str, title: str, role_id: str, permissions: Sequence[str]) -> None:
        """A service account *id* with a role of its own in the project."""
        iam, project = self._apis.iam, segment(choices.project)
        account = {"accountId": id, "serviceAccount": {"displayName": title}}
        self._made(lambda: iam.post(f"/v1/projects/{project}/serviceAccounts", account))
        role = f"projects/{choices.project}/roles/{role_id}"
        wanted = {"title": title, "includedPermissions": list(permissions), "stage": "GA"}
        if not self._made(lambda: iam.post(f"/v1/projects/{project}/roles", {"roleId": role_id, "role": wanted})):
            iam.patch(f"/v1/{role}", wanted, {"updateMask": "includedPermissions"}, again=True)
        member = f"serviceAccount:{id}@{choices.project}.iam.gserviceaccount.com"
        policy = f"/v3/projects/{project}"
        self._grant(f"{policy}:getIamPolicy", f"{policy}:setIamPolicy", self._apis.resources, {role: member})

    def _let_act(self, choices: Choices, address: str, members: list[str]) -> None:
        """*members* may start things that run as *address*."""
        if members:
            account = account_path(choices, address)
            grants = {names.ACT_AS_ROLE: members}
            self._grant(f"{account}:getIamPolicy", f"{account}:setIamPolicy", self._apis.iam, grants)

    def _is_there(self, choices: Choices, address: str) -> bool:
        try:
            self._apis.iam.get(account_path(choices, address))
        except CloudRefused as error:
            if error.id != "not-found":
                raise
            return False
        return True

    def _make_queue(self, choices: Choices) -> None:
        name = self._apis.queue(choices)
        path, body = f"/v2/{name}", {"name": name, "retryConfig": dict(RETRIES)}
        if not self._made(lambda: self._apis.tasks.post(path.rpartition("/")[0], body)):
            there = self._apis.tasks.get(path)
            if not has_retries(there):
                self._apis.tasks.patch(path, {"retryConfig": dict(RETRIES)}, {"updateMask": "retryConfig"}, again=True)
            if there.get("state") not in ("RUNNING", 1):
                self._apis.tasks.post(f"{path}:resume", {}, again=True)

    def make_alert(self, choices: Choices, *, billing_account: str, project_number: str) -> Choices:
        """Mail at 50, 90 and 100 % of the month's amount. It stops nothing."""
        body = {
            "displayName": names.ALERT,
            "budgetFilter": {"projects": [f"projects/{project_number}"], "calendarPeriod": "MONTH"},
            "amount": {"specifiedAmount": {"currencyCode": "USD", "units": str(round(choices.monthly_usd))}},
            "thresholdRules": [{"thresholdPercent": share} for share in (0.5, 0.9, 1.0)],
            "notificationsRule": {"enableProjectLevelRecipients": True},
        }
        self._apis.budgets.post(f"/v1/{billing_account}/budgets", body)
        return choices

    # ------------------------------------------------------------------------------------------------------ take back

    def remove_bucket(self, choices: Choices) -> Choices:
        """Only an empty one goes: Google refuses the others, and so it stays."""
        self._apis.storage.delete(f"/storage/v1/b/{segment(choices.bucket)}")
        return replace(choices, bucket="")

    def remove_network(self, choices: Choices) -> Choices:
        path = f"/compute/v1/projects/{segment(choices.project)}/global"
        operation = self._apis.compute.delete(f"{path}/networks/{segment(choices.network)}")
        self.finished(self._apis.compute, operation, f"{path}/operations/")
        return choices

    def remove_runner(self, choices: Choices) -> Choices:
        self._apis.iam.delete(account_path(choices, runner_address(choices)))
        return replace(choices, runner="")

    def remove_stops(self, choices: Choices) -> Choices:
        """The account goes and stops act as the machines' own again; the queue stays, for its name would rest for days.

        Raises:
            CloudRefused: ``precondition``: a stop that stands relies on the account.
        """
        standing: list[Any] = []
        for region in self._apis.regions.all():
            try:
                tasks = f"/v2/{self._apis.regions.queue(region)}/tasks"
                standing += self._apis.tasks.pages(tasks, "tasks", {"pageSize": 100})
            except CloudRefused as error:
                if error.id != "not-found":  # no queue there
                    raise
        if standing:
            raise CloudRefused("precondition", raw=f"{len(standing)} stops from outside still rely on this account")
        if self._is_there(choices, stopper_address(choices)):
            self._apis.iam.delete(account_path(choices, stopper_address(choices)))
        return replace(choices, stopper="")

    def remove_alert(self, choices: Choices, *, budget: str) -> Choices:
        self._apis.budgets.delete(f"/v1/{budget}")
        return choices

    # -------------------------------------------------------------------------------------------------------- private

    def _made(self, create: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What *create* answers; {} when it was there before."""
        try:
            return create()
        except CloudRefused as error:
            if error.id != "exists":
                raise
            return {}

    def finished(self, api: Api, operation: Mapping[str, Any], under: str) -> None:
        """Wait for an operation. Raises its error, or CloudUnclear ``timed-out``."""
        from tpu_studio.cloud import errors

        until = time.monotonic() + _PATIENCE_S
        wait = 0.2
        while not (operation.get("done") or operation.get("status") == "DONE"):
            if time.monotonic() > until:
                raise CloudUnclear("timed-out", raw=f"operation {operation.get('name')} did not end")
            self._sleep(wait)
            wait = min(3.0, wait * 1.5)
            operation = api.get(f"{under}{operation['name']}")
        if operation.get("error"):
            raise errors.of_operation(operation["error"])

    def _grant(self, read: str, write: str, api: Api, grants: Mapping[str, Any]) -> None:
        """Add members to roles of a policy, and leave everything else in it as it is."""
        for tried in range(_RACES):
            policy = api.post(read, {}, again=True)
            if not _added(policy, grants):
                return
            try:
                api.post(write, {"policy": policy})
                return
            except CloudRefused as error:
                if error.id not in ("exists", "precondition") or tried == _RACES - 1:
                    raise
            self._sleep(0.2 * (tried + 1))

    def _grant_bucket(self, bucket: str, role: str, member: str) -> None:
        path = f"/storage/v1/b/{segment(bucket)}/iam"
        policy = self._apis.storage.get(path)
        if _added(policy, {role: member}):
            self._apis.storage.put(path, policy)


def bucket_body(name: str, region: str) -> dict[str, Any]:
    """What a bucket of ours is made with (google-cloud.md §10.1)."""
    return {
        "name": name,
        "location": region.upper(),
        "storageClass": "STANDARD",
        "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"},
        "softDeletePolicy": {"retentionDurationSeconds": "0"},
        "lifecycle": {
            "rule": [
                {"action": {"type": "Delete"}, "condition": {"age": 30, "matchesPrefix": ["runs/", "data/"]}},
                {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}},
            ]
        },
        "labels": {"tpu-studio": "1"},
    }


def _person(email: str) -> str:
    return f"serviceAccount:{email}" if email.endswith(".gserviceaccount.com") else f"user:{email}"


def _added(policy: dict[str, Any], grants: Mapping[str, Any]) -> bool:
    """Put what is missing into *policy*; whether anything was."""
    bindings = policy.setdefault("bindings", [])
    changed = False
    for role, members in grants.items():
        wanted = [members] if isinstance(members, str) else list(members)
        binding = next((one for one in bindings if one.get("role") == role and not one.get("condition")), None)
        if binding is None:
            bindings.append({"role": role, "members": wanted})
            changed = True
            continue
        missing = [one for one in wanted if one not in binding.get("members", [])]
        if missing:
            binding["members"] = [*binding.get("members", []), *missing]
            changed = True
    return changed
