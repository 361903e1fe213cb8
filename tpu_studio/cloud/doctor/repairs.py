"""What one press on the Account page does. Each may be repeated without harm, and says what it could not do.

Policies are changed by read, add, write with the etag, so that nobody's other grants are lost; a lost race is tried
again. Nothing here deletes what it did not make.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpu_studio.cloud import errors
from tpu_studio.cloud.doctor import alert, names, network
from tpu_studio.cloud.doctor.apis import Apis
from tpu_studio.cloud.doctor.policies import Granting
from tpu_studio.cloud.doctor.waiting import SERVICE_S, Waiting, not_on_yet
from tpu_studio.cloud.queues import RETRIES, has_retries, make_queue, of_machines
from tpu_studio.cloud.session import Api, segment
from tpu_studio.domain.grants import own_words
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, StudioError
from tpu_studio.workflow.account.ports import Choices, ProjectSeen

_OPERATION_S = 300.0
_RACES = 5
SOFT_DELETE = "storage.softDeletePolicySeconds"
WEEK_S = 604_800


def runner_address(choices: Choices) -> str:
    return choices.runner or f"{names.RUNNER}@{choices.project}.iam.gserviceaccount.com"


def stopper_address(choices: Choices) -> str:
    return choices.stopper or f"{names.STOPPER}@{choices.project}.iam.gserviceaccount.com"


def account_path(choices: Choices, address: str) -> str:
    return f"/v1/projects/{segment(choices.project)}/serviceAccounts/{segment(address)}"


class Repairs:
    """*waiting*: how long Google is waited for, who hears of it, and who may end it."""

    def __init__(self, apis: Apis, *, me: str = "", waiting: Waiting | None = None) -> None:
        self._apis, self._me = apis, me
        self._waiting = waiting or Waiting()
        self._granting = Granting(self._waiting)
        self._fresh: set[str] = set()  # accounts that were made a moment ago

    def create_project(self, id: str, name: str) -> ProjectSeen:
        """Made, and known to Google's services. Raises CloudRefused ``exists`` where the id is taken."""
        resources, waiting = self._apis.resources, self._waiting
        operation = resources.post("/v3/projects", {"projectId": id, "displayName": name or id})
        self.finished(resources, operation, "/v3/")
        waiting.until(
            lambda: resources.get(f"/v3/projects/{segment(id)}"),
            lambda error: error.id in ("not-found", "permission-missing"),
            "the new project is not shown yet",
        )
        return ProjectSeen(id, name)

    def link_billing(self, choices: Choices, *, account: str) -> Choices:
        """*account*: ``billingAccounts/…``; "" unlinks."""
        path = f"/v1/projects/{segment(choices.project)}/billingInfo"
        self._apis.billing.put(path, {"billingAccountName": account})
        return choices

    def enable_services(self, choices: Choices) -> Choices:
        """Switch on what billing is looked at with; then, where somebody pays, all that a run needs and, where they
        can be had, the services of the spending alert."""
        self._switch_on(choices, names.FIRST_SERVICES)
        billing = f"/v1/projects/{segment(choices.project)}/billingInfo"
        what = "Cloud Billing was enabled just now and does not answer yet"
        try:
            paid = self._waiting.until(lambda: self._apis.billing.get(billing), not_on_yet, what, SERVICE_S)
        except CloudRefused as error:
            if error.id != "permission-missing":
                raise
            paid = {"billingEnabled": True}  # who may not see it is told by the next call
        if not paid.get("billingEnabled"):
            return choices
        self._switch_on(choices, [one for one in names.SERVICES if one not in names.FIRST_SERVICES])
        try:
            self._switch_on(choices, names.OPTIONAL_SERVICES)
        except CloudRefused:
            pass  # the alert's own check says what is missing for it
        return choices

    def _switch_on(self, choices: Choices, services: Sequence[str]) -> None:
        path = f"/v1/projects/{segment(choices.project)}/services:batchEnable"
        operation = self._apis.services.post(path, {"serviceIds": list(services)}, again=True)
        self.finished(self._apis.services, operation, "/v1/")

    def make_network(self, choices: Choices) -> Choices:
        """An auto-mode network where there is none, and the rule that lets workers meet where it is missing."""
        compute, path = self._apis.compute, f"/compute/v1/projects/{segment(choices.project)}/global"
        under = f"{path}/operations/"

        def make(what: str, body: Mapping[str, object]) -> None:
            operation = self._made(lambda: compute.post(f"{path}/{what}", body))
            if operation:
                self.finished(compute, operation, under)

        make("networks", network.network_body(choices))
        make("firewalls", network.rule_body(choices))
        return choices

    def make_bucket(self, choices: Choices) -> Choices:
        """A bucket of ours in the TPU's region, found or made: private, runs gone after 30 days, and without soft
        delete, or with the shortest that the organisation allows."""
        if not choices.bucket and (there := self._bucket_there(choices)):
            return replace(choices, bucket=str(there["name"]), kept_days=kept_days(there))
        for _ in range(_RACES):
            name = choices.bucket or f"tpu-studio-{secrets.token_hex(6)}"
            try:
                made = self._bucket_made(name, choices)
            except CloudRefused as error:
                if error.id != "exists" or choices.bucket:
                    raise
                continue  # somebody in the world has this name
            return replace(choices, bucket=name, kept_days=kept_days(made))
        raise CloudUnclear("server-error", raw="no free name for a bucket was found")

    def _bucket_made(self, name: str, choices: Choices) -> dict[str, object]:
        """As Google shows it."""
        body, asked = bucket_body(name, choices.region), {"project": choices.project}
        refused: CloudRefused | None = None
        for seconds in self._soft_deletes(choices):
            body["softDeletePolicy"] = {"retentionDurationSeconds": str(seconds)}
            try:
                return self._apis.storage.post("/storage/v1/b", body, asked)
            except CloudRefused as error:
                if SOFT_DELETE not in str(error.facts.get("constraint")) and "softdelete" not in _letters(
                    error.facts.get("raw")
                ):
                    raise
                refused = error
        assert refused is not None
        raise refused

    def _soft_deletes(self, choices: Choices) -> Iterator[int]:
        """Seconds to try in turn: none, else what the organisation's rule names, shortest first, else Google's usual
        week (https://cloud.google.com/storage/docs/org-policy-constraints)."""
        yield 0
        path = f"/v2/projects/{segment(choices.project)}/policies/{SOFT_DELETE}:getEffectivePolicy"
        try:
            rules = (self._apis.policies.get(path).get("spec") or {}).get("rules") or ()
        except (CloudRefused, CloudUnclear):
            rules = ()
        values = {str(one) for rule in rules for one in (rule.get("values") or {}).get("allowedValues") or ()}
        yield from sorted(int(one) for one in values if one.isdigit() and one != "0") or [WEEK_S]

    def _bucket_there(self, choices: Choices) -> dict[str, object] | None:
        """A bucket that another computer of this person made here; None when there is none."""
        for one in self._apis.storage.pages("/storage/v1/b", "items", {"project": choices.project}):
            ours = (one.get("labels") or {}).get("tpu-studio") == "1"
            closed = (one.get("iamConfiguration") or {}).get("publicAccessPrevention") == "enforced"
            if ours and closed and str(one.get("location", "")).lower() == choices.region:
                return dict(one)
        return None

    def make_runner(self, choices: Choices) -> Choices:
        """The account that machines run as, with the least that it needs: delete itself, add stops, its bucket."""
        address = runner_address(choices)
        member = f"serviceAccount:{address}"
        self._make_account(choices, names.RUNNER, "TPU Studio runner")
        self._let_machines(choices, member)
        for queue in self._queues_there(choices):
            self._let_queue(choices, queue, member)
        # Last, for it takes away what the role of an earlier version held in the whole project.
        self._let_role(choices, names.RUNNER_ROLE, "TPU Studio runner", names.RUNNER_PERMISSIONS, member)
        self._let_act(choices, address, [member, *self._my_member])
        if choices.bucket:
            self._let_bucket(choices, member)
        if choices.stopper and self._is_there(choices, choices.stopper):
            self._let_act(choices, choices.stopper, [member])  # it adds stops of its own, which act as that one
        return replace(choices, runner=address)

    def make_stops(self, choices: Choices) -> Choices:
        """The queue of the shut-off timers, as near as Cloud Tasks is, and the account as which they delete."""
        self._make_queue(self._apis.queue(choices))
        address = stopper_address(choices)
        title, member = "TPU Studio stops", f"serviceAccount:{address}"
        self._make_account(choices, names.STOPPER, title)
        self._let_machines(choices, member)
        self._let_role(choices, names.STOPPER_ROLE, title, names.STOPPER_PERMISSIONS, member)
        runner = runner_address(choices)
        runs = [f"serviceAccount:{runner}"] if self._is_there(choices, runner) else []
        for one in runs:
            self._let_queue(choices, self._apis.queue(choices), one)
        self._let_act(choices, address, [*runs, *self._my_member])
        self._make_nobody(choices)
        return replace(choices, stopper=address)

    def _make_nobody(self, choices: Choices) -> None:
        """The account without rights, which the person may act as, and nobody gives anything to."""
        parent = f"/v1/projects/{segment(choices.project)}/serviceAccounts"
        address = f"{names.NOBODY}@{choices.project}.iam.gserviceaccount.com"
        account = {"accountId": names.NOBODY, "serviceAccount": {"displayName": "TPU Studio, without rights"}}
        if self._made(lambda: self._apis.iam.post(parent, account)):
            self._fresh.add(address)
        self._let_act(choices, address, self._my_member)

    @property
    def _my_member(self) -> list[str]:
        return [_person(self._me)] if self._me else []

    def _make_account(self, choices: Choices, id: str, title: str) -> None:
        """A service account *id*; one that was switched off is switched on."""
        iam, project = self._apis.iam, segment(choices.project)
        address = f"{id}@{choices.project}.iam.gserviceaccount.com"
        account = {"accountId": id, "serviceAccount": {"displayName": title}}
        parent = f"/v1/projects/{project}/serviceAccounts"
        if self._made(lambda: iam.post(parent, account)):
            self._fresh.add(address)
        else:
            path = account_path(choices, address)
            if iam.get(path).get("disabled"):
                iam.post(f"{path}:enable", {}, again=True)

    def _let_role(self, choices: Choices, id: str, title: str, permissions: Sequence[str], member: str) -> None:
        """*member* gets a role of ours in the whole project."""
        role = self._make_role(choices, id, title, permissions)
        self._granting.on_project(self._apis.resources, choices.project, {role: member})

    def _let_machines(self, choices: Choices, member: str) -> None:
        """*member* may delete our machines of Compute Engine, and no others."""
        role = self._make_role(choices, names.MACHINES_ROLE, "TPU Studio machines", names.MACHINES_PERMISSIONS)
        self._granting.on_own_machines(self._apis.resources, choices.project, {role: member})

    def _let_bucket(self, choices: Choices, member: str) -> None:
        """*member* may read our bucket, and write what machines say; then goes what an earlier version granted."""
        storage, bucket = self._apis.storage, choices.bucket
        reads = self._make_role(choices, names.READER_ROLE, "TPU Studio reader", names.READER_PERMISSIONS)
        writes = self._make_role(choices, names.WRITER_ROLE, "TPU Studio writer", names.WRITER_PERMISSIONS)
        self._granting.on_bucket(storage, bucket, {reads: member})
        self._granting.on_bucket(storage, bucket, {writes: member}, own_words(bucket))
        self._granting.off_bucket(storage, bucket, names.BUCKET_ROLE, member)

    def _let_queue(self, choices: Choices, queue: str, member: str) -> None:
        """*member* may add stops in the machines' queue beside *queue*."""
        theirs = of_machines(queue)
        self._make_queue(theirs)
        role = self._make_role(choices, names.QUEUE_ROLE, "TPU Studio queue", names.QUEUE_PERMISSIONS)
        self._granting.on_queue(self._apis.tasks, theirs, {role: member})

    def _queues_there(self, choices: Choices) -> list[str]:
        """Ours: of this area, and of all where a role of an earlier version, which counted everywhere, is narrowed."""
        regions = self._apis.regions
        every = [regions.queue(one) for one in regions.all()] if self._counts_everywhere(choices) else []
        try:
            near = [self._apis.queue(choices)]
        except CloudRefused as error:
            if error.id != "org-policy":
                raise
            near = []  # no queue can be had: the row of the shut-off timer says so
        found = dict.fromkeys((*near, *every))
        return [one for one in found if self._queue_there(one) or self._queue_there(of_machines(one))]

    def _queue_there(self, queue: str) -> bool:
        try:
            self._apis.tasks.get(f"/v2/{queue}")
        except CloudRefused as error:
            if error.id != "not-found":
                raise
            return False
        return True

    def _counts_everywhere(self, choices: Choices) -> bool:
        """Whether the runner's role is that of an earlier version."""
        try:
            role = self._apis.iam.get(f"/v1/projects/{segment(choices.project)}/roles/{names.RUNNER_ROLE}")
        except CloudRefused as error:
            if error.id != "not-found":
                raise
            return False
        return bool(set(names.QUEUE_PERMISSIONS) & set(role.get("includedPermissions") or ()))

    def _make_role(self, choices: Choices, id: str, title: str, permissions: Sequence[str]) -> str:
        """So, also where somebody has changed it, switched it off or deleted it (it rests for days then); its name."""
        iam, name = self._apis.iam, f"projects/{choices.project}/roles/{id}"
        wanted = {"title": title, "includedPermissions": list(permissions), "stage": "GA"}
        try:
            iam.post(f"/v1/{name}".rpartition("/")[0], {"roleId": id, "role": wanted})
            return name
        except CloudRefused as error:
            if error.id not in ("exists", "precondition"):
                raise
        if iam.get(f"/v1/{name}").get("deleted"):
            iam.post(f"/v1/{name}:undelete", {}, again=True)
        iam.patch(f"/v1/{name}", wanted, {"updateMask": "includedPermissions,stage"}, again=True)
        return name

    def _let_act(self, choices: Choices, address: str, members: list[str]) -> None:
        """*members* may start things that run as *address*, which may have been made a moment ago."""
        if not members:
            return
        iam, path = self._apis.iam, account_path(choices, address)
        what = f"{address} was made just now and is not known everywhere yet"

        def again(error: StudioError) -> bool:
            early = error.id == "permission-missing" and self._may_grant(choices)
            return address in self._fresh and (early or error.id == "not-found")

        self._waiting.until(lambda: self._granting.on_account(iam, path, {names.ACT_AS_ROLE: members}), again, what)

    def _may_grant(self, choices: Choices) -> bool:
        """Whether the person may change every account's policy: a 403 is Google's slowness then."""
        asked = {"permissions": ["iam.serviceAccounts.setIamPolicy"]}
        path = f"/v3/projects/{segment(choices.project)}:testIamPermissions"
        return bool(self._apis.resources.post(path, asked, again=True).get("permissions"))

    def _is_there(self, choices: Choices, address: str) -> bool:
        try:
            self._apis.iam.get(account_path(choices, address))
        except CloudRefused as error:
            if error.id != "not-found":
                raise
            return False
        return True

    def _make_queue(self, name: str) -> None:
        path = f"/v2/{name}"
        there = make_queue(self._apis.tasks, name, path)
        if not has_retries(there):
            self._apis.tasks.patch(path, {"retryConfig": dict(RETRIES)}, {"updateMask": "retryConfig"}, again=True)
        if there.get("state") not in ("RUNNING", 1):
            self._apis.tasks.post(f"{path}:resume", {}, again=True)

    def make_alert(self, choices: Choices, *, account: str) -> Choices:
        """Mail at 50, 90 and 100% of the month's amount, in the currency of *account*. It stops nothing."""
        currency = alert.currency(self._apis, account)
        number = alert.number(self._apis, choices.project)
        body = alert.body(choices, number, currency)
        self._apis.budgets.post(f"/v1/{account}/budgets", body)
        return replace(choices, currency=currency or choices.currency)

    # ------------------------------------------------------------------------------------------------------ take back

    def remove_bucket(self, choices: Choices) -> Choices:
        """Only an empty one goes: Google refuses the others, and so it stays."""
        self._apis.storage.delete(f"/storage/v1/b/{segment(choices.bucket)}")
        return replace(choices, bucket="")

    def remove_network(self, choices: Choices) -> Choices:
        """Our rule first: a network with rules stays."""
        compute, path = self._apis.compute, f"/compute/v1/projects/{segment(choices.project)}/global"
        for what in (f"firewalls/{segment(network.rule_name(choices))}", f"networks/{segment(choices.network)}"):
            try:
                operation = compute.delete(f"{path}/{what}")
            except CloudRefused as error:
                if error.id != "not-found" or what.startswith("networks/"):
                    raise
                continue
            self.finished(compute, operation, f"{path}/operations/")
        return choices

    def remove_runner(self, choices: Choices) -> Choices:
        self._apis.iam.delete(account_path(choices, runner_address(choices)))
        return replace(choices, runner="")

    def remove_stops(self, choices: Choices) -> Choices:
        """The account goes and stops act as the machines' own again; the queue stays, for its name would rest for days.

        Raises:
            CloudRefused: ``precondition``: a stop that stands relies on the account.
        """
        standing: list[object] = []
        ours = [self._apis.regions.queue(region) for region in self._apis.regions.all()]
        for queue in (*ours, *map(of_machines, ours)):
            try:
                standing += self._apis.tasks.pages(f"/v2/{queue}/tasks", "tasks", {"pageSize": 100})
            except CloudRefused as error:
                if error.id != "not-found":  # no queue there
                    raise
        if standing:
            raise CloudRefused("precondition", raw=f"{len(standing)} shut-off timers still rely on this account")
        for address in (stopper_address(choices), f"{names.NOBODY}@{choices.project}.iam.gserviceaccount.com"):
            if self._is_there(choices, address):
                self._apis.iam.delete(account_path(choices, address))
        return replace(choices, stopper="")

    def remove_alert(self, choices: Choices, *, budget: str) -> Choices:
        self._apis.budgets.delete(f"/v1/{budget}")
        return choices

    # -------------------------------------------------------------------------------------------------------- private

    def _made(self, create: Callable[[], dict[str, object]]) -> dict[str, object]:
        """What *create* answers; {} when it was there before."""
        try:
            return create()
        except CloudRefused as error:
            if error.id != "exists":
                raise
            return {}

    def finished(self, api: Api, operation: Mapping[str, Any], under: str) -> None:
        """Wait for an operation. Raises its error, or CloudUnclear ``timed-out``."""
        name = operation.get("name")
        seen = [operation]

        def ended() -> bool:
            if not (seen[0].get("done") or seen[0].get("status") == "DONE"):
                seen[0] = self._ask(api, f"{under}{name}")
            return bool(seen[0].get("done") or seen[0].get("status") == "DONE")

        if not self._waiting.till(ended, "it is being carried out", _OPERATION_S):
            raise CloudUnclear("timed-out", raw=f"operation {name} did not end")
        if seen[0].get("error"):
            raise errors.of_operation(seen[0]["error"])

    def _ask(self, api: Api, path: str) -> dict[str, object]:
        """An operation; {} while the service that was switched on with it does not answer yet."""
        try:
            return api.get(path)
        except CloudRefused as error:
            if error.id != "service-disabled":
                raise
            return {}


def kept_days(bucket: Mapping[str, Any]) -> int:
    """How long *bucket* keeps, and Google charges, what was deleted from it: its soft delete, in whole days."""
    told = (bucket.get("softDeletePolicy") or {}).get("retentionDurationSeconds")
    return math.ceil(int(str(told)) / 86_400) if str(told).isdigit() else 0


def bucket_body(name: str, region: str) -> dict[str, object]:
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


def _letters(text: object) -> str:
    return "".join(one for one in str(text).lower() if one.isalpha())
