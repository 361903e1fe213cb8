"""What one press on the account page does. Each may be repeated without harm, and says what it could not do.

Policies are changed by read, add, write with the etag, so that nobody's other grants are lost; a lost race is tried
again. Nothing here deletes what it did not make.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tpu_studio.cloud.doctor import names
from tpu_studio.cloud.endpoints import Endpoints
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


def runner_address(choices: Choices) -> str:
    return choices.runner or f"{names.RUNNER}@{choices.project}.iam.gserviceaccount.com"


def queue_name(choices: Choices) -> str:
    return f"projects/{choices.project}/locations/{choices.region}/queues/{names.QUEUE}"


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
        project, address = choices.project, runner_address(choices)
        member = f"serviceAccount:{address}"
        iam = self._apis.iam
        self._made(
            lambda: iam.post(
                f"/v1/projects/{segment(project)}/serviceAccounts",
                {"accountId": names.RUNNER, "serviceAccount": {"displayName": "TPU Studio runner"}},
            )
        )
        role = f"projects/{project}/roles/{names.RUNNER_ROLE}"
        wanted = {"title": "TPU Studio runner", "includedPermissions": list(names.RUNNER_PERMISSIONS), "stage": "GA"}
        if not self._made(
            lambda: iam.post(f"/v1/projects/{segment(project)}/roles", {"roleId": names.RUNNER_ROLE, "role": wanted})
        ):
            iam.patch(f"/v1/{role}", wanted, {"updateMask": "includedPermissions"}, again=True)
        self._grant(
            f"/v3/projects/{segment(project)}:getIamPolicy",
            f"/v3/projects/{segment(project)}:setIamPolicy",
            self._apis.resources,
            {role: member},
        )
        account = f"/v1/projects/{segment(project)}/serviceAccounts/{segment(address)}"
        grants = {names.ACT_AS_ROLE: [member, *([_person(self._me)] if self._me else [])]}
        self._grant(f"{account}:getIamPolicy", f"{account}:setIamPolicy", iam, grants)
        if choices.bucket:
            self._grant_bucket(choices.bucket, names.BUCKET_ROLE, member)
        return replace(choices, runner=address)

    def make_queue(self, choices: Choices) -> Choices:
        """The queue of the outside stops, in the TPU's region."""
        parent = f"/v2/projects/{segment(choices.project)}/locations/{segment(choices.region)}/queues"
        body = {
            "name": queue_name(choices),
            "retryConfig": {"maxAttempts": 5, "minBackoff": "10s", "maxBackoff": "120s"},
        }
        self._made(lambda: self._apis.tasks.post(parent, body))
        return choices

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
        path = f"/v1/projects/{segment(choices.project)}/serviceAccounts/{segment(runner_address(choices))}"
        self._apis.iam.delete(path)
        return replace(choices, runner="")

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
