"""The checks in the order in which things depend on each other, each against Google's own answer.

A check that cannot be made says so (``unknown``) and the next goes on; one whose condition fails leaves those after it
``waiting``. Looking changes nothing and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from google.auth.transport.requests import Request

from tpu_studio.cloud import addresses, errors
from tpu_studio.cloud.doctor import accounts, alert, names, network, org, pages, quota, rights
from tpu_studio.cloud.doctor.apis import Apis
from tpu_studio.cloud.doctor.repairs import Repairs, kept_days
from tpu_studio.cloud.doctor.requesting import request
from tpu_studio.cloud.doctor.waiting import SERVICE_S, Waiting
from tpu_studio.cloud.endpoints import Endpoints
from tpu_studio.cloud.queues import MACHINES, QUEUES
from tpu_studio.cloud.session import Api, once, plain_session, segment, session
from tpu_studio.domain.generations import region_of
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut, StudioError
from tpu_studio.wire.records import items
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
    "services": ("project",),
    "billing": ("project",),
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
_SET_UP_BY = {
    "services": "enable-services",
    "network": "make-network",
    "bucket": "make-bucket",
    "runner": "make-runner",
    "outside-stop": "make-queue",
}


Keep = Callable[[str, Sequence[Allowance], Mapping[str, tuple[int, int]]], None]


class GoogleDoctor:
    """Implements ``workflow.account.ports.Doctor``.

    Args:
        credentials: google-auth credentials, or a callable that gives them or raises SignedOut.
        offers: Zone → generations that are offered there (the catalogue's).
        keep: Hears what a project was read to be allowed: its limits, and addresses by region.
    """

    def __init__(
        self, credentials: object, endpoints: Endpoints, offers: Mapping[str, Collection[str]], keep: Keep | None = None
    ) -> None:
        self._give = credentials if callable(credentials) else lambda: credentials
        self._keep = keep
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
            before = next((need for need in _NEEDS[id] if need in found and _blocks(found[need], id)), "")
            found[id] = Result(id, "waiting", {"after": before}) if before else self._checked(id, choices)
            if told:
                told(found[id])
        return list(found.values())

    def _checked(self, id: str, choices: Choices) -> Result:
        look: Callable[[Choices], Result] = getattr(self, f"_{id.replace('-', '_')}")
        try:
            return look(choices)
        except SignedOut as error:
            page = pages.TWO_STEP if error.id == "two-step-needed" else ""
            facts = {**error.facts, "why": error.id, **({"page": page} if page else {})}
            return Result(id, "fail", facts, fix="sign-in")
        except (CloudRefused, CloudUnclear) as error:
            return self._cannot_tell(id, choices, error)

    def _cannot_tell(self, id: str, choices: Choices, error: StudioError) -> Result:
        """``unknown``, with the repair that lets it be looked at where there is one."""
        facts = {**error.facts, "why": error.id}
        if error.id != "service-disabled":
            return Result(id, "unknown", facts)
        service = str(error.facts.get("service", ""))
        facts = {"page": pages.service(service, choices.project), **facts}
        if service not in (*names.SERVICES, *names.OPTIONAL_SERVICES) or not choices.project:
            return Result(id, "unknown", facts)
        try:
            recent = self._is_on_now(choices.project, error)
        except StudioError:
            recent = False
        if recent:  # on, but not everywhere yet: a press would change nothing, a minute does
            return Result(id, "unknown", {**facts, "recent": True})
        if "without" in facts and service == names.FIRST_SERVICES[0]:  # what switches on is itself off, both ways
            return Result(id, "unknown", {**facts, "by_hand": True})
        return Result(id, "unknown", facts, fix="enable-services")

    def _signed_in(self, choices: Choices) -> Result:
        return Result("signed-in", "pass", {"email": self._who()})

    def _project(self, choices: Choices) -> Result:
        key: dict[str, object] = {"key": True, "page": pages.PROJECTS} if self._is_key else {}
        if not choices.project:
            return Result("project", "fail", key, fix="choose-project")
        try:
            seen = self._apis(choices.project).resources.get(f"/v3/projects/{segment(choices.project)}")
        except CloudRefused as error:
            if error.id == "project-deleted":
                return Result("project", "fail", _marked(choices), fix="choose-project")
            if error.id not in ("not-found", "permission-missing", "quota-project-needed"):
                raise
            facts = {**error.facts, "project": choices.project, "absent": True, "page": pages.PROJECTS, **key}
            if error.id == "quota-project-needed":  # then none can be made from here either
                facts |= {"page": pages.NEW_PROJECT, "console": True}
            return Result("project", "fail", facts, fix="choose-project")
        if seen.get("state") != "ACTIVE":
            return Result("project", "fail", _marked(choices), fix="choose-project")
        return Result("project", "pass", {"project": choices.project, "name": seen.get("displayName", "")})

    def _services(self, choices: Choices) -> Result:
        off = self._services_off(choices.project, names.SERVICES)
        if not off:
            return Result("services", "pass", {"count": len(names.SERVICES)})
        first = [one for one in off if one in names.FIRST_SERVICES]
        if not first and not self._paid(choices.project):
            return Result("services", "waiting", {"after": "billing", "missing": off})  # Google asks who pays
        return Result("services", "fail", {"missing": first or off}, fix="enable-services")

    def _billing(self, choices: Choices) -> Result:
        account = alert.billing_account(self._apis(choices.project), choices.project)
        if not account:
            facts = {"project": choices.project, "page": pages.BILLING}
            return Result("billing", "fail", facts, fix="link-billing")
        return Result("billing", "pass", {"account": account}, undo=True)

    def _paid(self, project: str) -> bool:
        """Also where that cannot be told."""
        try:
            return bool(alert.billing_account(self._apis(project), project))
        except CloudRefused:
            return True

    def _permissions(self, choices: Choices) -> Result:
        apis = self._apis(choices.project)
        missing = rights.to_launch(apis, choices)
        set_up = rights.to_set_up(apis, choices, tuple(names.SET_UP))
        if set_up:  # of which only what is still to be done counts
            broken = [id for id in _SET_UP_BY if self._checked(id, choices).state in ("fail", "waiting")]
            fixes = [_SET_UP_BY[id] for id in broken] + ([] if self._paid(choices.project) else ["link-billing"])
            set_up = rights.to_set_up(apis, choices, fixes)
        if not missing and not set_up:
            return Result("permissions", "pass")
        lacking = (*missing, *set_up)
        facts = {"missing": missing, "set_up": set_up, "roles": list(names.roles_for(lacking))}
        return Result("permissions", "fail", facts, fix="request-permissions")

    def _org_policy(self, choices: Choices) -> Result:
        return org.look(self._apis(choices.project), choices)

    def _network(self, choices: Choices) -> Result:
        return network.look(self._apis(choices.project), choices)

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
        return Result("bucket", "pass", {**facts, "kept_days": kept_days(seen)})

    def _runner(self, choices: Choices) -> Result:
        return accounts.runner(self._apis(choices.project), choices)

    def _outside_stop(self, choices: Choices) -> Result:
        return accounts.outside_stop(self._apis(choices.project), choices)

    def _quota(self, choices: Choices) -> Result:
        rows = self.allowances(choices.project, region=choices.region)
        best = quota.best(rows)
        if best is not None:
            facts = {"generation": best.generation, "zone": best.zone, "left": best.left, "unit": best.unit}
            facts |= {"tier": best.tier, "sizes": best.sizes, "use": best.use, "limit": best.limit}
            return Result("quota", "pass", facts)
        if any(row.limit is None for row in rows) or not rows:
            return Result("quota", "unknown", {"region": choices.region})
        other = quota.best(self.allowances(choices.project))
        if other is None:
            return Result("quota", "fail", {"region": choices.region}, fix="ask-quota")
        facts = {"region": choices.region, "to": region_of(other.zone), "limit": other.limit, "unit": other.unit}
        facts |= {"generation": other.generation, "tier": other.tier, "sizes": other.sizes}
        return Result("quota", "fail", facts, fix="use-area")

    def _with_area(self, choices: Choices) -> Choices:
        """The region in which Google allows most of what a beginner uses; results get a place there."""
        best = quota.best(self.allowances(choices.project))
        region = region_of(best.zone) if best is not None else choices.region
        return choices if region == choices.region else replace(choices, region=region, bucket="")

    def _alert(self, choices: Choices) -> Result:
        apis = self._apis(choices.project)
        account = alert.billing_account(apis, choices.project)
        found = None
        if not self._services_off(choices.project, (alert.SERVICE,)):
            found = alert.budget(apis, choices, account)
        if found is None:
            facts = {"amount": choices.monthly, "currency": alert.currency(apis, account)}
            return Result("alert", "optional", facts, fix="make-alert", undo=True)
        amount, currency = alert.amount_of(found)
        return Result("alert", "pass", {"amount": amount, "currency": currency}, undo=True)

    def _test_loan(self, choices: Choices) -> Result:
        return Result("test-loan", "optional", {}, fix="test-loan", cost_usd=TEST_LOAN_USD)

    # ------------------------------------------------------------------------------------------------------- mending

    def fix(
        self,
        id: str,
        choices: Choices,
        *,
        say: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        **given: object,
    ) -> Choices:
        waiting = _waiting(say, cancelled)
        repairs = self._repairs(choices, waiting)
        simple: dict[str, Callable[[Choices], Choices]] = {
            "link-billing": lambda now: repairs.link_billing(now, account=str(given["account"])),
            "make-alert": lambda now: self._with_alert(repairs, now),
            "enable-services": repairs.enable_services,
            "make-network": repairs.make_network,
            "make-bucket": lambda now: self._new_bucket(repairs, now),
            "make-runner": repairs.make_runner,
            "make-queue": repairs.make_stops,
            "narrow-runner": repairs.make_runner,
            "narrow-stops": repairs.make_stops,
            "use-area": self._with_area,
        }
        what = "an API that was enabled just now does not work everywhere yet"
        return waiting.until(
            lambda: simple[id](choices), lambda error: self._is_on_now(choices.project, error), what, SERVICE_S
        )

    def _is_on_now(self, project: str, error: StudioError) -> bool:
        """Whether a refusal for a service that is off is only Google's slowness: it is on. A repair may be repeated."""
        service = str(error.facts.get("service", ""))
        return error.id == "service-disabled" and bool(service) and not self._services_off(project, (service,))

    def _with_alert(self, repairs: Repairs, choices: Choices) -> Choices:
        if self._services_off(choices.project, (alert.SERVICE,)):
            repairs.enable_services(choices)
        apis = self._apis(choices.project)
        account = alert.billing_account(apis, choices.project)
        if alert.budget(apis, choices, account) is not None:
            return choices
        return repairs.make_alert(choices, account=account)

    def undo(self, id: str, choices: Choices) -> Choices:
        repairs = self._repairs(choices)
        if id == "link-billing":
            return repairs.link_billing(choices, account="")
        if id == "make-alert":
            apis = self._apis(choices.project)
            found = alert.budget(apis, choices, alert.billing_account(apis, choices.project))
            return repairs.remove_alert(choices, budget=str(found["name"])) if found else choices
        simple = {
            "make-network": repairs.remove_network,
            "make-bucket": repairs.remove_bucket,
            "make-runner": repairs.remove_runner,
            "make-queue": repairs.remove_stops,
        }
        return simple[id](choices)

    def request_text(self, choices: Choices, missing: Sequence[str]) -> str:
        seen = [self._checked(id, choices) for id in ("runner", "outside-stop")]
        lacking = [one.id for one in seen if one.state in ("fail", "optional") and not one.facts.get("wide")]
        facts = seen[1].facts
        absent = QUEUES if facts.get("queue") else (MACHINES,) if MACHINES in items(facts.get("missing")) else ()
        return request(choices, self._who() or "me", missing, lacking, absent, str(facts.get("region", "")))

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

    def create_project(
        self,
        id: str,
        name: str,
        *,
        say: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> ProjectSeen:
        return Repairs(self._apis(""), waiting=_waiting(say, cancelled)).create_project(id, name)

    def billing_accounts(self, project: str = "") -> list[BillingAccount]:
        """Those that the person may see; *project*: for whose quota the question counts."""
        found = self._apis(project).billing.pages("/v1/billingAccounts", "billingAccounts")
        return [
            BillingAccount(
                str(one["name"]),
                str(one.get("displayName", "")),
                bool(one.get("open")),
                str(one.get("currencyCode", "")),
            )
            for one in found
        ]

    def allowances(
        self, project: str, *, told: Callable[[int, int], None] | None = None, region: str = ""
    ) -> list[Allowance]:
        """The quota map, of one *region* where it has TPUs, else of all."""
        apis = self._apis(project)
        near = {zone: one for zone, one in self._offers.items() if region and zone.startswith(f"{region}-")}
        found = quota.allowances(apis.quotas, apis.tpu, project, near or self._offers, told)
        if self._keep is not None:
            self._keep(project, found, addresses.by_region(apis.compute, project, region if near else ""))
        return found

    def ask_quota(self, project: str, allowance: Allowance, wanted: int, why: str, email: str) -> QuotaRequest:
        return quota.ask(self._apis(project).quotas, project, allowance, wanted, why, email)

    def quota_requests(self, project: str) -> list[QuotaRequest]:
        return quota.requests(self._apis(project).quotas, project)

    # -------------------------------------------------------------------------------------------------------- private

    def _apis(self, project: str) -> Apis:
        if project not in self._cached:
            self._cached[project] = Apis(self._give(), self._endpoints, project)
        return self._cached[project]

    def _repairs(self, choices: Choices, waiting: Waiting | None = None) -> Repairs:
        return Repairs(self._apis(choices.project), me=self._who(), waiting=waiting)

    @property
    def _is_key(self) -> bool:
        """Whether a service account's key is who asks: it makes no projects."""
        return bool(getattr(self._give(), "service_account_email", ""))

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

    def _new_bucket(self, repairs: Repairs, choices: Choices) -> Choices:
        """A bucket that is gone, elsewhere, or open to others is left alone, and another is found or made."""
        made = repairs.make_bucket(replace(choices, bucket=""))
        return repairs.make_runner(made) if self._checked("runner", made).state == "fail" and choices.runner else made


def _waiting(say: Callable[[str], None] | None, cancelled: Callable[[], bool] | None) -> Waiting:
    usual = Waiting()
    return Waiting(say or usual.say, cancelled or usual.cancelled)


def _blocks(before: Result, id: str) -> bool:
    """Whether what comes after *before* has to wait for it. A look that was refused blocks nothing: the next one tells
    for itself; one that got no answer does."""
    if before.state == "unknown":
        return id != "runner" and str(before.facts.get("why")) in errors.UNCLEAR
    return before.state not in ("pass", "optional")


def _marked(choices: Choices) -> dict[str, object]:
    """Facts of a project that is marked for deletion."""
    return {"project": choices.project, "deleted": True, "page": pages.PROJECTS}
