"""Cloud Billing v1: is a project paid for, by which account, and what things cost."""

from __future__ import annotations

from tpu_studio.practice import skus
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.consumers import is_open, payer
from tpu_studio.practice.errors import GoogleError, not_found
from tpu_studio.practice.paging import page
from tpu_studio.practice.resourcemanager import may, need, need_project
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.state import Record

_API = "cloudbilling.googleapis.com"
CLOSED_ACCOUNT = "billingAccounts/00AAAA-11BBBB-22CCCC"


def install(router: Router, cloud: Cloud) -> None:
    _grant(cloud)

    @router.route("GET", r"/v1/projects/(?P<project>[^/:]+)/billingInfo", service=_API)
    def get_info(request: Request) -> dict[str, object]:
        return _info(cloud, need_project(cloud, request, "resourcemanager.projects.get")["projectId"])

    @router.route(
        "PUT",
        r"/v1/projects/(?P<project>[^/:]+)/billingInfo",
        schema="cloudbilling.v1:ProjectBillingInfo",
        service=_API,
    )
    def put_info(request: Request) -> dict[str, object]:
        account = request.json().get("billingAccountName", "")
        permission = "createBillingAssignment" if account else "deleteBillingAssignment"
        project = need_project(cloud, request, f"resourcemanager.projects.{permission}")["projectId"]
        if account:
            need(cloud, request, "billing.resourceAssociations.create", account)
            if cloud.doubts.way("closed-account-link") and not is_open(cloud, account):
                raise GoogleError(400, "FAILED_PRECONDITION", "Precondition check failed.")
        cloud.faults.settle("billing-off", project=project)
        cloud.db.put("billing", project, {"account": account})
        return _info(cloud, project)

    @router.route("GET", r"/v1/billingAccounts", service=_API)
    def list_accounts(request: Request) -> dict[str, object]:
        mine = [a for a in accounts(cloud) if may(cloud, request, "billing.accounts.get", a["name"])]
        if request.one("filter") == "open=true":
            mine = [a for a in mine if a.get("open")]
        return page(request, "billingAccounts", mine, most=100)

    @router.route("GET", r"/v1/(?P<account>billingAccounts/[^/:]+)", service=_API)
    def get_account(request: Request) -> dict[str, object]:
        return need_account(cloud, request, "billing.accounts.get")

    @router.route("GET", r"/v1/(?P<account>billingAccounts/[^/:]+)/projects", service=_API)
    def account_projects(request: Request) -> dict[str, object]:
        account = need_account(cloud, request, "billing.resourceAssociations.list")
        infos = [_info(cloud, project) for project, _ in cloud.db.list("project")]
        return page(
            request,
            "projectBillingInfo",
            [i for i in infos if i.get("billingAccountName") == account["name"]],
            most=100,
        )

    @router.route(
        "POST",
        r"/v1/(?P<account>billingAccounts/[^/:]+):testIamPermissions",
        schema="cloudbilling.v1:TestIamPermissionsRequest",
        service=_API,
    )
    def test_permissions(request: Request) -> dict[str, object]:
        name = request.match["account"]
        granted = [p for p in request.json().get("permissions", []) if may(cloud, request, p, name)]
        return {"permissions": granted} if granted else {}

    @router.route("GET", r"/v1/services", service=_API)
    def list_services(request: Request) -> dict[str, object]:
        services = [
            {
                "name": name,
                "serviceId": name.split("/")[1],
                "displayName": title,
                "businessEntityName": "businessEntities/GCP",
            }
            for name, title in skus.NAMES.items()
        ]
        return page(request, "services", services, most=5000)

    @router.route("GET", r"/v1/(?P<service>services/[^/:]+)/skus", service=_API)
    def list_skus(request: Request) -> dict[str, object]:
        if request.match["service"] not in skus.NAMES:
            raise not_found(request.match["service"])
        if request.one("currencyCode", "USD") != "USD":
            raise GoogleError(400, "INVALID_ARGUMENT", "The practice price list is in USD only.")
        told = list(skus.of_service(request.match["service"]))
        if cloud.doubts.way("price-descriptions"):
            told = [{**one, "description": f"Accelerator usage, type {number}"} for number, one in enumerate(told)]
        return page(request, "skus", told, most=5000)


def _grant(cloud: Cloud) -> None:
    """Who opens a billing account is its administrator; a home of an earlier version has no such policy."""
    for account in accounts(cloud):
        if not cloud.principals.policy(account["name"])["bindings"]:
            cloud.principals.grant(account["name"], "roles/billing.admin", f"user:{cloud.settings.owner}")


def accounts(cloud: Cloud) -> list[Record]:
    """One that pays, and (who is new has one alone) one that was closed."""
    if cloud.faults.armed("no-billing-account") is not None:
        return []
    first = cloud.settings.billing_account
    listed: list[dict[str, object]] = [
        {
            "name": first,
            "displayName": "Practice billing account",
            "currencyCode": currency(cloud),
            **({"open": True} if is_open(cloud, first) else {}),
        },
        {"name": CLOSED_ACCOUNT, "displayName": "Closed account", "currencyCode": "USD"},
    ]
    return listed[:1] if cloud.settings.new else listed


def currency(cloud: Cloud) -> str:
    """Of the account that pays (ISO 4217)."""
    other = cloud.faults.armed("billing-currency")
    return str(other["currency"]) if other is not None else "USD"


def need_account(cloud: Cloud, request: Request, permission: str) -> Record:
    """The billing account in the path. Raises GoogleError 403: whether it exists is nobody else's business."""
    name = request.match["account"]
    need(cloud, request, permission, name)
    for account in accounts(cloud):
        if account["name"] == name:
            return account
    raise GoogleError(403, "PERMISSION_DENIED", "The caller does not have permission")


def enabled(cloud: Cloud, project: str) -> bool:
    """Whether somebody pays for *project* (its id): its account is there and open."""
    return is_open(cloud, payer(cloud, project))


def _info(cloud: Cloud, project: str) -> dict[str, object]:
    info: dict[str, object] = {"name": f"projects/{project}/billingInfo", "projectId": project}
    if account := payer(cloud, project):
        info |= {"billingAccountName": account} | ({"billingEnabled": True} if is_open(cloud, account) else {})
    return info
