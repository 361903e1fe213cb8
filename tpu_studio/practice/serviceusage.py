"""Service Usage v1: which of Google's services are switched on in a project; v1beta1: the older quota page.

Switching on takes its time (Compute Engine longest), and calls are refused for a while after the operation is done.
"""

from __future__ import annotations

import re

from tpu_studio.practice import account_operations, billing, quota_limits
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, bad_request, error_info
from tpu_studio.practice.paging import page
from tpu_studio.practice.resourcemanager import need_project
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.state import Record

TITLES = {
    "bigquery.googleapis.com": "BigQuery API",
    "billingbudgets.googleapis.com": "Cloud Billing Budget API",
    "cloudapis.googleapis.com": "Google Cloud APIs",
    "cloudbilling.googleapis.com": "Cloud Billing API",
    "cloudquotas.googleapis.com": "Cloud Quotas API",
    "cloudresourcemanager.googleapis.com": "Cloud Resource Manager API",
    "cloudtasks.googleapis.com": "Cloud Tasks API",
    "compute.googleapis.com": "Compute Engine API",
    "iam.googleapis.com": "Identity and Access Management (IAM) API",
    "iamcredentials.googleapis.com": "IAM Service Account Credentials API",
    "logging.googleapis.com": "Cloud Logging API",
    "monitoring.googleapis.com": "Cloud Monitoring API",
    "orgpolicy.googleapis.com": "Organization Policy API",
    "serviceusage.googleapis.com": "Service Usage API",
    "storage.googleapis.com": "Cloud Storage API",
    "tpu.googleapis.com": "Cloud TPU API",
}
FRESH = tuple(
    f"{name}.googleapis.com"
    for name in (
        "analyticshub",
        "apptopology",
        "bigquery",
        "bigqueryconnection",
        "bigquerydatapolicy",
        "bigquerydatatransfer",
        "bigquerymigration",
        "bigqueryreservation",
        "bigquerystorage",
        "cloudapis",
        "cloudtrace",
        "dataform",
        "dataplex",
        "datastore",
        "logging",
        "monitoring",
        "servicemanagement",
        "serviceusage",
        "sql-component",
        "storage",
        "storage-api",
        "storage-component",
    )
)
"""On by default in a new project (https://docs.cloud.google.com/service-usage/docs/enabled-service, 2026); of one that
was made by a call that page does not speak (the doubt ``api-made-project``)."""
TITLES |= {name: name.partition(".")[0] for name in FRESH if name not in TITLES}

_API = "serviceusage.googleapis.com"
PROPAGATION_S, SLOW_S = 30.0, 240.0  # the doubt service-lag
_TAKES_S = {"compute.googleapis.com": 55.0}
_V1 = "type.googleapis.com/google.api.serviceusage.v1"
_NOT_FREE = ("compute.googleapis.com", "tpu.googleapis.com", "cloudtasks.googleapis.com")


def install(router: Router, cloud: Cloud) -> None:
    services = r"/v1/projects/(?P<project>[^/:]+)/services"

    @router.route("GET", services, service=_API)
    def list_services(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "serviceusage.services.list")
        wanted = request.one("filter").replace(" ", "")
        if wanted not in ("", "state:ENABLED", "state:DISABLED"):
            raise GoogleError(400, "INVALID_ARGUMENT", f"Invalid filter: {wanted}")
        shown = [_shown(cloud, project, service, brief=True) for service in TITLES]
        return page(
            request,
            "services",
            [s for s in shown if not wanted or s["state"] == wanted.split(":")[1]],
            most=200,
            usual=50,
        )

    @router.route("GET", rf"{services}:batchGet", service=_API)
    def batch_get(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "serviceusage.services.get")
        names = request.query.get("names", [])
        if not 1 <= len(names) <= 30:
            raise GoogleError(
                400,
                "INVALID_ARGUMENT",
                "Request contains an invalid argument.",
                [bad_request(("names", "between 1 and 30 names"))],
            )
        ids = []
        for name in names:
            if not (found := re.fullmatch(r"projects/([^/]+)/services/([^/]+)", name)):
                raise GoogleError(400, "INVALID_ARGUMENT", f"Invalid service name: {name}")
            ids.append(_known(found[2], project))
        return {"services": [_shown(cloud, project, service) for service in ids]}

    @router.route("POST", rf"{services}:batchEnable", schema="serviceusage.v1:BatchEnableServicesRequest", service=_API)
    def batch_enable(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "serviceusage.services.enable")
        ids = request.json().get("serviceIds", [])
        if not 1 <= len(ids) <= 20:
            raise GoogleError(
                400,
                "INVALID_ARGUMENT",
                "Request contains an invalid argument.",
                [bad_request(("service_ids", "between 1 and 20 services"))],
            )
        takes_s = max(_enable(cloud, project, _known(service, project)) for service in ids)
        done = [_shown(cloud, project, service) | {"state": "ENABLED"} for service in ids]
        return account_operations.begin(
            cloud,
            "operations/acat.p2",
            _metadata(done),
            {"@type": f"{_V1}.BatchEnableServicesResponse", "services": done},
            takes_s=takes_s,
        )

    @router.route("GET", rf"{services}/(?P<service>[^/:]+)", service=_API)
    def get(request: Request) -> Record:
        project = need_project(cloud, request, "serviceusage.services.get")
        return _shown(cloud, project, _known(request.match["service"], project))

    @router.route(
        "POST", rf"{services}/(?P<service>[^/:]+):enable", schema="serviceusage.v1:EnableServiceRequest", service=_API
    )
    def enable(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "serviceusage.services.enable")
        service = _known(request.match["service"], project)
        takes_s = _enable(cloud, project, service)
        done = _shown(cloud, project, service) | {"state": "ENABLED"}
        return account_operations.begin(
            cloud,
            "operations/acf.p2",
            _metadata([done]),
            {"@type": f"{_V1}.EnableServiceResponse", "service": done},
            takes_s=takes_s,
        )

    @router.route(
        "POST", rf"{services}/(?P<service>[^/:]+):disable", schema="serviceusage.v1:DisableServiceRequest", service=_API
    )
    def disable(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "serviceusage.services.disable")
        service = _known(request.match["service"], project)
        cloud.db.put("service", f"{project['projectId']}/{service}", {"enabled": False})
        done = _shown(cloud, project, service)
        return account_operations.begin(
            cloud,
            "operations/acf.p2",
            _metadata([done]),
            {"@type": f"{_V1}.DisableServiceResponse", "service": done},
            takes_s=0.0,
        )

    @router.route("GET", r"/v1/(?P<name>operations/[^/]+)", service=_API)
    def operation(request: Request) -> Record:
        return account_operations.shown(cloud, request.match["name"])

    metrics = r"/v1beta1/projects/(?P<project>[^/:]+)/services/(?P<service>[^/:]+)/consumerQuotaMetrics"

    @router.route("GET", metrics, service=_API)
    def quota_metrics(request: Request) -> dict[str, object]:
        project = need_project(cloud, request, "serviceusage.quotas.get")
        return page(request, "metrics", _metrics(cloud, project, request.match["service"]), most=200, usual=50)


def prepare(cloud: Cloud) -> None:
    """What is on in any project."""
    if not cloud.settings.new:
        for service in FRESH:
            cloud.db.put("service", f"{cloud.settings.project}/{service}", {"enabled": True})


def _enable(cloud: Cloud, project: Record, service: str) -> float:
    """Seconds until it is on. Needs a paying project where the service costs."""
    key = f"{project['projectId']}/{service}"
    if service in _NOT_FREE and not billing.enabled(cloud, project["projectId"]):
        raise GoogleError(
            400,
            "FAILED_PRECONDITION",
            f"Billing account for project '{project['number']}' is not found. Billing must "
            f"be enabled for activation of service(s) '{service}' to proceed.",
            [
                error_info(
                    "UREQ_PROJECT_BILLING_NOT_FOUND",
                    "serviceusage.googleapis.com",
                    consumer=f"projects/{project['number']}",
                )
            ],
        )
    record = cloud.db.get("service", key)
    broken = cloud.faults.settle("service-disabled", service=service, project=project["projectId"])
    if record and record["enabled"] and not broken:
        return 0.0
    takes_s = _TAKES_S.get(service, 3.0)
    on_at = cloud.clock.now() + takes_s
    usual_s = {"minutes": SLOW_S, "none": 0.0}.get(cloud.doubts.way("service-lag"), PROPAGATION_S)
    delay_s = float(broken["delay"]) if broken else usual_s
    cloud.db.put("service", key, {"enabled": True, "on_at": on_at, "works_at": on_at + delay_s})
    return takes_s


def _shown(cloud: Cloud, project: Record, service: str, *, brief: bool = False) -> dict[str, object]:
    record = cloud.db.get("service", f"{project['projectId']}/{service}")
    on = bool(record and record["enabled"] and cloud.clock.now() >= record.get("on_at", 0.0))
    if cloud.faults.armed("service-disabled", service=service, project=project["projectId"]) is not None:
        on = False
    config: dict[str, object] = {"name": service, "title": TITLES[service]}
    if not brief:
        config["usage"] = {"requirements": ["serviceusage.googleapis.com/tos/cloud"]}
    return {
        "name": f"projects/{project['number']}/services/{service}",
        "config": config,
        "state": "ENABLED" if on else "DISABLED",
        "parent": f"projects/{project['number']}",
    }


def _known(service: str, project: dict[str, object]) -> str:
    if service in TITLES:
        return service
    raise GoogleError(
        403,
        "PERMISSION_DENIED",
        f"Not found or permission denied for service(s): {service}.",
        [
            error_info(
                "SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED",
                "serviceusage.googleapis.com",
                services=service,
                consumer=f"projects/{project['number']}",
            )
        ],
    )


def _metadata(services: list[dict[str, object]]) -> Record:
    return {"@type": f"{_V1}.OperationMetadata", "resourceNames": [s["name"] for s in services]}


def _metrics(cloud: Cloud, project: Record, service: str) -> list[dict[str, object]]:
    base = f"projects/{project['number']}/services/{service}/consumerQuotaMetrics"
    by_metric: dict[str, Record] = {}
    for quota in quota_limits.known(cloud, service):
        usual = quota_limits.usual(cloud, quota)
        escaped = quota.metric.replace("/", "%2F")
        metric = by_metric.setdefault(
            quota.metric,
            {
                "name": f"{base}/{escaped}",
                "metric": quota.metric,
                "displayName": quota.title,
                "unit": "1",
                "consumerQuotaLimits": [],
            },
        )
        unit = "1/{project}/{" + quota.per + "}"
        places = quota_limits.places(quota.generation, quota.per)
        buckets: list[dict[str, object]] = [{"effectiveLimit": str(usual), "defaultLimit": str(usual)}]
        for place in places:
            dimensions = {quota.per: place, **({"tpu_family": quota.family} if quota.family else {})}
            now = quota_limits.limit(cloud, quota.quota_id, dimensions)
            if now != usual:
                limits = {"effectiveLimit": str(now), "defaultLimit": str(usual)}
                buckets.append({**limits, "dimensions": dimensions})
        metric["consumerQuotaLimits"].append(
            {
                "name": f"{base}/{escaped}/limits/%2Fproject%2F{quota.per}",
                "metric": quota.metric,
                "unit": unit,
                "supportedLocations": list(places),
                "quotaBuckets": buckets,
            }
        )
    return list(by_metric.values())
