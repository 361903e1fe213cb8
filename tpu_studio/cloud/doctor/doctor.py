"""The checks in the order in which things depend on each other, each against Google's own answer.

A check that cannot be made says so (``unknown``) and the next goes on; one whose condition fails leaves those after it
``waiting``. Looking changes nothing and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from google.auth.transport.requests import Request

from tpu_studio.cloud.doctor import names, quota
from tpu_studio.cloud.doctor.repairs import Apis, Repairs, account_path, runner_address, stopper_address
from tpu_studio.cloud.doctor.requesting import request
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.queues import allows, has_retries
from tpu_studio.cloud.session import Api, once, plain_session, segment, session
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut
from tpu_studio.workflow.account.ports import (
    Allowance,
    BillingAccount,
    Choices,
    ProjectSeen,
    QuotaRequest,
    Result,
)

TEST_LOAN_USD = 0.03
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "signed-in": (),
    "project": ("signed-in",),
    "billing": ("project",),
    "services": ("billing",),
    "permissions": ("project",),
    "org-policy": ("services",),
    "network": ("services",),
    "bucket": ("services",),
    "runner": ("services", "bucket"),
    "outside-stop": ("services",),
    "quota": ("services",),
    "alert": ("billing",),
    "test-loan": ("permissions", "network", "bucket", "runner", "outside-stop", "quota"),
}
ORDER = tuple(_NEEDS)


class GoogleDoctor:
    """Implements ``workflow.account.ports.Doctor``.

    Args:
        credentials: google-auth credentials, or a callable that gives them or raises SignedOut.
        offers: Zone → generations that are offered there (the catalogue's).
    """

    def __init__(self, credentials: Any, endpoints: Endpoints, offers: Mapping[str, Collection[str]]) -> None:
        self._give = credentials if callable(credentials) else lambda: credentials
        self._endpoints, self._offers = endpoints, dict(offers)
        self._cached: dict[str, Apis] = {}
        self._me: str | None = None

    # ------------------------------------------------------------------------------------------------------- looking

    def check(
        self, choices: Choices, *, told: Callable[[Result], None] | None = None, only: Sequence[str] = ()
    ) -> list[Result]:
        found: dict[str, Result] = {}
        for id in ORDER:
            if only and id not in only:
                continue
            good = ("pass", "optional")
            before = next((need for need in _NEEDS[id] if need in found and found[need].state not in good), "")
            if before and not (id == "runner" and found[before].state == "unknown"):
                found[id] = Result(id, "waiting", {"after": before})
            else:
                found[id] = self._checked(id, choices)
            if told:
                told(found[id])
        return list(found.values())

    def _checked(self, id: str, choices: Choices) -> Result:
        look: Callable[[Choices], Result] = getattr(self, f"_{id.replace('-', '_')}")
        try:
            return look(choices)
        except SignedOut as error:
            return Result(id, "fail", {**error.facts, "why": error.id}, fix="sign-in")
        except (CloudRefused, CloudUnclear) as error:
            return Result(id, "unknown", {**error.facts, "why": error.id})

    def _signed_in(self, choices: Choices) -> Result:
        return Result("signed-in", "pass", {"email": self._who()})

    def _project(self, choices: Choices) -> Result:
        if not choices.project:
            return Result("project", "fail", {}, fix="choose-project")
        try:
            seen = self._apis("").resources.get(f"/v3/projects/{segment(choices.project)}")
        except CloudRefused as error:
            if error.id not in ("not-found", "permission-missing"):
                raise
            return Result("project", "fail", {**error.facts, "project": choices.project}, fix="choose-project")
        if seen.get("state") != "ACTIVE":
            return Result("project", "fail", {"project": choices.project, "deleted": True}, fix="choose-project")
        return Result("project", "pass", {"project": choices.project, "name": seen.get("displayName", "")})

    def _billing(self, choices: Choices) -> Result:
        info = self._apis(choices.project).billing.get(f"/v1/projects/{segment(choices.project)}/billingInfo")
        if not info.get("billingEnabled"):
            return Result("billing", "fail", {"project": choices.project}, fix="link-billing")
        return Result("billing", "pass", {"account": info.get("billingAccountName", "")}, undo=True)

    def _services(self, choices: Choices) -> Result:
        off = self._services_off(choices.project, names.SERVICES)
        if off:
            return Result("services", "fail", {"missing": off}, fix="enable-services")
        return Result("services", "pass", {"count": len(names.SERVICES)})

    def _permissions(self, choices: Choices) -> Result:
        api, path = self._apis(choices.project).resources, f"/v3/projects/{segment(choices.project)}"
        missing = _refused(api, path, names.PERMISSIONS)
        if missing:
            facts = {"missing": missing, "roles": list(names.roles_for(tuple(missing)))}
            return Result("permissions", "fail", facts, fix="request-permissions")
        return Result("permissions", "pass")

    def _org_policy(self, choices: Choices) -> Result:
        api = self._apis(choices.project).policies

        def policy(constraint: str) -> Mapping[str, Any]:
            path = f"/v2/projects/{segment(choices.project)}/policies/{constraint}:getEffectivePolicy"
            try:
                return api.get(path).get("spec") or {}
            except CloudRefused as error:
                if error.id == "not-found":
                    return {}
                raise

        stops = []
        if not allows(policy("gcp.resourceLocations"), choices.region):
            stops.append("gcp.resourceLocations")
        if _denies_all(policy("compute.vmExternalIpAccess")):
            stops.append("compute.vmExternalIpAccess")
        if stops:
            return Result(
                "org-policy", "fail", {"policies": stops, "region": choices.region}, fix="request-permissions"
            )
        return Result("org-policy", "pass", {})

    def _network(self, choices: Choices) -> Result:
        path = f"/compute/v1/projects/{segment(choices.project)}/global/networks/{segment(choices.network)}"
        try:
            self._apis(choices.project).compute.get(path)
        except CloudRefused as error:
            if error.id != "not-found":
                raise
            return Result("network", "fail", {"network": choices.network}, fix="make-network", undo=True)
        return Result("network", "pass", {"network": choices.network})

    def _bucket(self, choices: Choices) -> Result:
        if not choices.bucket:
            return Result("bucket", "fail", {"region": choices.region}, fix="make-bucket", undo=True)
        try:
            seen = self._apis(choices.project).storage.get(f"/storage/v1/b/{segment(choices.bucket)}")
        except CloudRefused as error:
            if error.id not in ("not-found", "permission-missing"):
                raise
            facts = {**error.facts, "bucket": choices.bucket, "gone": error.id == "not-found"}
            return Result("bucket", "fail", facts, fix="make-bucket")
        facts = {"bucket": choices.bucket, "region": str(seen.get("location", "")).lower()}
        access = seen.get("iamConfiguration") or {}
        if facts["region"] != choices.region:
            return Result("bucket", "fail", {**facts, "wanted": choices.region, "elsewhere": True}, fix="make-bucket")
        if access.get("publicAccessPrevention") != "enforced" or not (access.get("uniformBucketLevelAccess") or {}).get(
            "enabled"
        ):
            return Result("bucket", "fail", {**facts, "open": True}, fix="make-bucket")
        return Result("bucket", "pass", facts)

    def _runner(self, choices: Choices) -> Result:
        address, apis = runner_address(choices), self._apis(choices.project)
        path, member = account_path(choices, address), f"serviceAccount:{address}"
        try:
            apis.iam.get(path)
        except CloudRefused as error:
            if error.id != "not-found":
                raise
            return Result("runner", "fail", {"runner": address}, fix="make-runner", undo=True)
        of_project = self._policy(choices.project)
        missing = []
        all_too = all(_has(of_project, one, member) for one in names.RUNNER_ROLES_TOO)
        if not (all_too or self._has_role(choices.project, names.RUNNER_ROLE, names.RUNNER_PERMISSIONS, member)):
            missing.append(names.RUNNER_ROLE)
        if choices.bucket:
            of_bucket = apis.storage.get(f"/storage/v1/b/{segment(choices.bucket)}/iam")
            if not any(_has(of_bucket, one, member) for one in (names.BUCKET_ROLE, *names.BUCKET_ROLES_TOO)):
                missing.append(names.BUCKET_ROLE)
        policy = apis.iam.post(f"{path}:getIamPolicy", {}, again=True)
        if not (_has(policy, names.ACT_AS_ROLE, member) or _has(of_project, names.ACT_AS_ROLE, member)):
            missing.append(names.ACT_AS_ROLE)
        if missing:
            return Result("runner", "fail", {"runner": address, "missing": missing}, fix="make-runner")
        return Result("runner", "pass", {"runner": address})

    def _outside_stop(self, choices: Choices) -> Result:
        apis = self._apis(choices.project)
        queue = apis.queue(choices)
        region = queue.split("/")[3]
        try:
            seen = apis.tasks.get(f"/v2/{queue}")
        except CloudRefused as error:
            if error.id != "not-found":
                raise
            return Result("outside-stop", "fail", {"region": region}, fix="make-queue", undo=True)
        facts = {"region": region, "account": choices.stopper or runner_address(choices)}
        if not has_retries(seen):
            return Result("outside-stop", "fail", {**facts, "retries": seen.get("retryConfig")}, fix="make-queue")
        if seen.get("state") not in ("RUNNING", 1):
            return Result("outside-stop", "fail", {**facts, "state": seen.get("state")}, fix="make-queue")
        if not choices.stopper:  # set up before it had an account of its own, or on another computer: it works
            return Result("outside-stop", "optional", facts, fix="make-queue", undo=True)
        if missing := self._stopper_lacks(choices):
            return Result("outside-stop", "fail", {**facts, "missing": missing}, fix="make-queue")
        return Result("outside-stop", "pass", facts)

    def _stopper_lacks(self, choices: Choices) -> list[str]:
        """What the account of the outside stops needs and has not; its name where it is not there at all."""
        address = stopper_address(choices)
        path, member = account_path(choices, address), f"serviceAccount:{address}"
        iam = self._apis(choices.project).iam
        try:
            iam.get(path)
        except CloudRefused as error:
            if error.id != "not-found":
                raise
            return [names.STOPPER]
        missing, of_project = [], self._policy(choices.project)
        too = any(_has(of_project, one, member) for one in names.STOPPER_ROLES_TOO)
        if not (too or self._has_role(choices.project, names.STOPPER_ROLE, names.STOPPER_PERMISSIONS, member)):
            missing.append(names.STOPPER_ROLE)
        mine = _refused(iam, path, ["iam.serviceAccounts.actAs"])
        runner, policy = f"serviceAccount:{runner_address(choices)}", iam.post(f"{path}:getIamPolicy", {}, again=True)
        if mine or not (_has(policy, names.ACT_AS_ROLE, runner) or _has(of_project, names.ACT_AS_ROLE, runner)):
            missing.append(names.ACT_AS_ROLE)
        return missing

    def _policy(self, project: str) -> Mapping[str, Any]:
        path = f"/v3/projects/{segment(project)}:getIamPolicy"
        return self._apis(project).resources.post(path, {}, again=True)

    def _has_role(self, project: str, role: str, permissions: Sequence[str], member: str) -> bool:
        """Whether *member* has our custom role, and that role holds all that this version needs."""
        name = f"projects/{project}/roles/{role}"
        if not _has(self._policy(project), name, member):
            return False
        try:
            held = self._apis(project).iam.get(f"/v1/{name}").get("includedPermissions")
        except CloudRefused:
            return True  # it may not be looked into: the proof on the machine will tell
        return set(permissions) <= set(held or ())

    def _quota(self, choices: Choices) -> Result:
        rows = self.allowances(choices.project, region=choices.region)
        usable = [row for row in rows if row.left]
        if usable:
            best = max(usable, key=lambda row: row.left or 0)
            facts = {"generation": best.generation, "zone": best.zone, "left": best.left, "unit": best.unit}
            return Result("quota", "pass", {**facts, "tier": best.tier})
        if any(row.limit is None for row in rows) or not rows:
            return Result("quota", "unknown", {"region": choices.region})
        return Result("quota", "fail", {"region": choices.region}, fix="ask-quota")

    def _alert(self, choices: Choices) -> Result:
        account = self._billing_account(choices.project)
        if self._services_off(choices.project, ("billingbudgets.googleapis.com",)):
            return Result("alert", "optional", {"usd": choices.monthly_usd}, fix="make-alert", undo=True)
        found = self._budget(choices, account)
        if found is None:
            return Result("alert", "optional", {"usd": choices.monthly_usd}, fix="make-alert", undo=True)
        amount = ((found.get("amount") or {}).get("specifiedAmount") or {}).get("units", "")
        return Result("alert", "pass", {"usd": amount}, undo=True)

    def _test_loan(self, choices: Choices) -> Result:
        return Result("test-loan", "optional", {}, fix="test-loan", cost_usd=TEST_LOAN_USD)

    # ------------------------------------------------------------------------------------------------------- mending

    def fix(self, id: str, choices: Choices, **given: Any) -> Choices:
        repairs = self._repairs(choices)
        if id == "link-billing":
            return repairs.link_billing(choices, account=str(given["account"]))
        if id == "make-alert":
            if self._services_off(choices.project, ("billingbudgets.googleapis.com",)):
                repairs.enable_services(choices)
            account = self._billing_account(choices.project)
            if self._budget(choices, account) is not None:
                return choices
            return repairs.make_alert(choices, billing_account=account, project_number=self._number(choices.project))
        simple: dict[str, Callable[[Choices], Choices]] = {
            "enable-services": repairs.enable_services,
            "make-network": repairs.make_network,
            "make-bucket": lambda now: self._new_bucket(repairs, now),
            "make-runner": repairs.make_runner,
            "make-queue": repairs.make_stops,
        }
        return simple[id](choices)

    def undo(self, id: str, choices: Choices) -> Choices:
        repairs = self._repairs(choices)
        if id == "link-billing":
            return repairs.link_billing(choices, account="")
        if id == "make-alert":
            found = self._budget(choices, self._billing_account(choices.project))
            return repairs.remove_alert(choices, budget=str(found["name"])) if found else choices
        simple = {
            "make-network": repairs.remove_network,
            "make-bucket": repairs.remove_bucket,
            "make-runner": repairs.remove_runner,
            "make-queue": repairs.remove_stops,
        }
        return simple[id](choices)

    def request_text(self, choices: Choices, missing: Sequence[str]) -> str:
        lacking = [id for id in ("runner", "outside-stop") if self._checked(id, choices).state in ("fail", "optional")]
        return request(choices, self._who() or "me", missing, lacking)

    # ------------------------------------------------------------------------------------------ projects, money, quota

    def projects(self, search: str = "") -> list[ProjectSeen]:
        """Active projects, at most 500; *search* is part of the id or the name."""
        found = self._apis("").resources.pages("/v3/projects:search", "projects", {"pageSize": 100}, most=5)
        rows = [
            ProjectSeen(str(one["projectId"]), str(one.get("displayName", "")), str(one.get("name", ""))[9:])
            for one in found
            if one.get("state") == "ACTIVE"
        ]
        word = search.casefold()
        return sorted(
            (row for row in rows if word in row.id.casefold() or word in row.name.casefold()), key=lambda row: row.id
        )

    def create_project(self, id: str, name: str) -> ProjectSeen:
        apis = self._apis("")
        operation = apis.resources.post("/v3/projects", {"projectId": id, "displayName": name})
        Repairs(apis).finished(apis.resources, operation, "/v3/")
        return ProjectSeen(id, name)

    def billing_accounts(self) -> list[BillingAccount]:
        found = self._apis("").billing.pages("/v1/billingAccounts", "billingAccounts")
        return [
            BillingAccount(str(one["name"]), str(one.get("displayName", "")), bool(one.get("open"))) for one in found
        ]

    def allowances(
        self, project: str, *, told: Callable[[int, int], None] | None = None, region: str = ""
    ) -> list[Allowance]:
        """The quota map, of one *region* where it has TPUs, else of all."""
        apis = self._apis(project)
        near = {zone: one for zone, one in self._offers.items() if region and zone.startswith(f"{region}-")}
        return quota.allowances(apis.quotas, apis.tpu, project, near or self._offers, told)

    def ask_quota(self, project: str, allowance: Allowance, wanted: int, why: str, email: str) -> QuotaRequest:
        return quota.ask(self._apis(project).quotas, project, allowance, wanted, why, email)

    def quota_requests(self, project: str) -> list[QuotaRequest]:
        return quota.requests(self._apis(project).quotas, project)

    # -------------------------------------------------------------------------------------------------------- private

    def _apis(self, project: str) -> Apis:
        if project not in self._cached:
            self._cached[project] = Apis(self._give(), self._endpoints, project)
        return self._cached[project]

    def _repairs(self, choices: Choices) -> Repairs:
        return Repairs(self._apis(choices.project), me=self._who())

    def _who(self) -> str:
        """Who is signed in; asks Google, so that expired or revoked credentials are found out here."""
        if self._me is None:
            self._me = self._asked_who(self._give())
        return self._me

    def _asked_who(self, credentials: Any) -> str:
        account = getattr(credentials, "service_account_email", "")
        renewable = bool(account or getattr(credentials, "refresh_token", None))
        if renewable:
            once(lambda: credentials.refresh(Request(plain_session())))
        if account:
            return str(account)
        base, _, path = self._endpoints.userinfo.rpartition("/v1/")
        try:
            return str(Api(base, session(credentials)).get(f"/v1/{path}").get("email", ""))
        except SignedOut:
            if not renewable:
                raise
            return ""  # they are good, but were granted without the right to say whose they are

    def _services_off(self, project: str, wanted: Sequence[str]) -> list[str]:
        path = f"/v1/projects/{segment(project)}/services:batchGet"
        asked = {"names": [f"projects/{project}/services/{name}" for name in wanted]}
        on = {
            str(one.get("name", "")).rpartition("/")[2]
            for one in self._apis(project).services.get(path, asked).get("services") or ()
            if one.get("state") == "ENABLED"
        }
        return [name for name in wanted if name not in on]

    def _billing_account(self, project: str) -> str:
        info = self._apis(project).billing.get(f"/v1/projects/{segment(project)}/billingInfo")
        return str(info.get("billingAccountName", ""))

    def _budget(self, choices: Choices, account: str) -> Mapping[str, Any] | None:
        project = f"projects/{self._number(choices.project)}"
        for one in self._apis(choices.project).budgets.pages(f"/v1/{account}/budgets", "budgets"):
            projects = (one.get("budgetFilter") or {}).get("projects") or ()
            if one.get("displayName") == names.ALERT and (not projects or project in projects):
                return dict(one)
        return None

    def _number(self, project: str) -> str:
        return str(self._apis("").resources.get(f"/v3/projects/{segment(project)}").get("name", "")).rpartition("/")[2]

    def _new_bucket(self, repairs: Repairs, choices: Choices) -> Choices:
        """A bucket that is gone, elsewhere, or open to others is left alone, and another is found or made."""
        from dataclasses import replace

        made = repairs.make_bucket(replace(choices, bucket=""))
        return repairs.make_runner(made) if self._checked("runner", made).state == "fail" and choices.runner else made


def _refused(api: Api, path: str, permissions: Sequence[str]) -> list[str]:
    granted = api.post(f"{path}:testIamPermissions", {"permissions": list(permissions)}, again=True)
    return [one for one in permissions if one not in (granted.get("permissions") or ())]


def _denies_all(spec: Mapping[str, Any]) -> bool:
    return any(rule.get("denyAll") for rule in spec.get("rules") or ())


def _has(policy: Mapping[str, Any], role: str, member: str) -> bool:
    return any(
        binding.get("role") == role and member in (binding.get("members") or ())
        for binding in policy.get("bindings") or ()
    )
