"""Whose project a call counts for (the consumer), and whether the service is on there; used by the port alone.

A call counts for the project in ``X-Goog-User-Project``; without it for that of whoever signed the caller in: a service
account's own project, the project of one's own sign-in client, or with gcloud's credentials Google's shared one, in
which these services are on (the doubt ``quota-project-none``). Where the call is about things in a project (machines,
buckets, tasks, accounts), the service must be on there as well.
"""

from __future__ import annotations

from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, error_info
from tpu_studio.practice.principals import Principal
from tpu_studio.practice.routing import Request, Route

SHARED = "764086051850"
"""Google's project of gcloud's sign-in client, as field reports show it in refusals."""

_CONSUMER_ONLY = (
    "cloudresourcemanager.googleapis.com",
    "cloudbilling.googleapis.com",
    "serviceusage.googleapis.com",
    "billingbudgets.googleapis.com",
)
"""Asked of the consumer, never of the project that the call is about."""
_FREE = (
    *_CONSUMER_ONLY,
    "iam.googleapis.com",
    "iamcredentials.googleapis.com",
    "cloudquotas.googleapis.com",
    "orgpolicy.googleapis.com",
)
_NEED_QUOTA_PROJECT = ("cloudquotas.googleapis.com", "billingbudgets.googleapis.com", "orgpolicy.googleapis.com")
_BY_DEFAULT = ("serviceusage.googleapis.com", "storage.googleapis.com")  # of what is asked for here, in a client's own
_PENDING = "https://console.developers.google.com/iam-admin/projects?pendingDeletion=true"


def admit(cloud: Cloud, request: Request, route: Route) -> None:
    """Puts the project's id into the request for its number. Raises GoogleError 403."""
    if not route.public:
        _check_consumer(cloud, request, route.service)
    project = ""
    for group in ("project", "home"):  # the home of a service account may be "-": any
        if request.match.get(group, "-") != "-":
            project = request.match[group] = _project(cloud, request.match[group], route.service)
    if route.service and project and route.service not in _CONSUMER_ONLY:
        _on(cloud, route.service, project)
        _paid(cloud, route.service, project)


def check_bucket(cloud: Cloud, project: str) -> None:
    """Of a bucket's *project*: Cloud Storage is on there and somebody pays. Raises GoogleError 403."""
    _on(cloud, "storage.googleapis.com", project)
    _paid(cloud, "storage.googleapis.com", project)


def is_active(cloud: Cloud, record: dict[str, object]) -> bool:
    """Whether a project, by its record, is not marked for deletion."""
    gone = cloud.faults.armed("project-deleted", project=record["projectId"]) is not None
    return not gone and record.get("state", "ACTIVE") == "ACTIVE"


def payer(cloud: Cloud, project: str) -> str:
    """``billingAccounts/…`` of *project*, also one that is closed; "": none."""
    if cloud.faults.armed("billing-off", project=project) is not None:
        return ""
    return str((cloud.db.get("billing", project) or {}).get("account", ""))


def is_open(cloud: Cloud, account: str) -> bool:
    return account == cloud.settings.billing_account and cloud.faults.armed("billing-account-closed") is None


def _check_consumer(cloud: Cloud, request: Request, service: str) -> None:
    who = request.principal
    if named := request.headers.get("X-Goog-User-Project", ""):
        project = _named(cloud, who, named)
        if service:
            _on(cloud, service, project)
        return
    if service and (own := _own_project(cloud, who)):
        _on(cloud, service, own)
    elif service and who.kind == "user":
        _check_client(cloud, who, service)


def _named(cloud: Cloud, who: Principal, named: str) -> str:
    """The id of the project in the header: it must be there, not deleted, and the caller's to use."""
    for id, record in cloud.db.list("project"):
        if named in (id, record["number"]) and cloud.principals.may(who, "serviceusage.services.use", f"projects/{id}"):
            if not is_active(cloud, record):
                info = error_info("CONSUMER_INVALID", consumer=f"projects/{record['number']}")
                raise GoogleError(403, "PERMISSION_DENIED", f"Project #{record['number']} has been deleted.", [info])
            return id
    info = error_info("USER_PROJECT_DENIED", consumer=f"projects/{named}")
    message = (
        f"Caller does not have required permission to use project {named}. Grant the caller the "
        "roles/serviceusage.serviceUsageConsumer role, or a custom role with the serviceusage.services.use "
        f"permission, by visiting https://console.developers.google.com/iam-admin/iam/project?project={named} and then "
        "retry. Propagation of the new permission may take a few minutes."
    )
    raise GoogleError(403, "PERMISSION_DENIED", message, [info])


def _own_project(cloud: Cloud, who: Principal) -> str:
    """Of a service account; "": it is a person, or one of Google's own accounts."""
    if who.kind != "serviceAccount":
        return ""
    return str((cloud.db.get("account", who.email) or {}).get("projectId", ""))


def _check_client(cloud: Cloud, who: Principal, service: str) -> None:
    """A person's call that names no project."""
    if who.client and not who.client.startswith(SHARED):
        if cloud.faults.armed("client-project-bare") is not None and service not in _BY_DEFAULT:
            raise _disabled(service, who.client.partition("-")[0])
        return
    armed = cloud.faults.armed("quota-project-needed") is not None and service in _NEED_QUOTA_PROJECT
    if armed or (cloud.doubts.way("quota-project-none") and service in _FREE):
        info = error_info("SERVICE_DISABLED", service=service, consumer=f"projects/{SHARED}")
        message = (
            "Your application is authenticating by using local Application Default Credentials. The "
            f"{service} API requires a quota project, which is not set by default. To learn how to set your quota "
            "project, see https://cloud.google.com/docs/authentication/adc-troubleshooting/user-creds ."
        )
        raise GoogleError(403, "PERMISSION_DENIED", message, [info])


def _project(cloud: Cloud, named: str, service: str) -> str:
    """Its id, for a number as well. One that is not there is answered as one that is not the caller's."""
    for id, record in cloud.db.list("project"):
        if named in (id, record["number"]):
            if service != "cloudresourcemanager.googleapis.com" and not is_active(cloud, record):
                if cloud.doubts.way("deleted-project-words"):
                    raise GoogleError(403, "PERMISSION_DENIED", "The caller does not have permission")
                number = record["number"]
                message = (
                    f"Project {number} has been scheduled for deletion and cannot be used for API calls. Visit "
                    f"{_PENDING} to undelete the project."
                )
                info = error_info("CONSUMER_INVALID", consumer=f"projects/{number}")
                raise GoogleError(403, "PERMISSION_DENIED", message, [info], reason="forbidden")
            return id
    if service in _CONSUMER_ONLY:
        raise GoogleError(403, "PERMISSION_DENIED", "The caller does not have permission")
    info = error_info("CONSUMER_INVALID", consumer=f"projects/{named}")
    raise GoogleError(403, "PERMISSION_DENIED", f"Permission denied on resource project {named}.", [info])


def _on(cloud: Cloud, service: str, project: str) -> None:
    """Raises GoogleError 403: *service* is off in *project*, or was only just switched on."""
    state = cloud.db.get("service", f"{project}/{service}") or {"enabled": False}
    off = not state["enabled"] or state.get("works_at", 0.0) > cloud.clock.now()
    if off or cloud.faults.armed("service-disabled", service=service, project=project) is not None:
        raise _disabled(service, str((cloud.db.get("project", project) or {}).get("number", "")))


def _disabled(service: str, number: str) -> GoogleError:
    page = f"https://console.developers.google.com/apis/api/{service}/overview?project={number}"
    message = (
        f"{TITLES.get(service, service)} has not been used in project {number} before or it is disabled. Enable it by "
        f"visiting {page} then retry. If you enabled this API recently, wait a few minutes for the action to propagate "
        "to our systems and retry."
    )
    help = {
        "@type": "type.googleapis.com/google.rpc.Help",
        "links": [{"description": "Google developers console API activation", "url": page}],
    }
    info = error_info("SERVICE_DISABLED", service=service, consumer=f"projects/{number}")
    return GoogleError(403, "PERMISSION_DENIED", message, [help, info], reason="accessNotConfigured")


def _paid(cloud: Cloud, service: str, project: str) -> None:
    if service in _FREE or is_open(cloud, payer(cloud, project)):
        return
    number = (cloud.db.get("project", project) or {}).get("number", "")
    message = (
        f"This API method requires billing to be enabled. Please enable billing on project #{number} by "
        f"visiting https://console.developers.google.com/billing/enable?project={number} then retry. If you "
        "enabled billing for this project recently, wait a few minutes for the action to propagate to our "
        "systems and retry."
    )
    info = error_info("BILLING_DISABLED", service=service, consumer=f"projects/{number}")
    raise GoogleError(403, "PERMISSION_DENIED", message, [info], reason="accountDisabled")


TITLES = {
    "tpu.googleapis.com": "Cloud TPU API",
    "compute.googleapis.com": "Compute Engine API",
    "storage.googleapis.com": "Cloud Storage JSON API",
    "cloudtasks.googleapis.com": "Cloud Tasks API",
    "serviceusage.googleapis.com": "Service Usage API",
    "cloudquotas.googleapis.com": "Cloud Quotas API",
    "cloudbilling.googleapis.com": "Cloud Billing API",
    "billingbudgets.googleapis.com": "Cloud Billing Budget API",
    "cloudresourcemanager.googleapis.com": "Cloud Resource Manager API",
    "iam.googleapis.com": "Identity and Access Management (IAM) API",
    "iamcredentials.googleapis.com": "IAM Service Account Credentials API",
    "orgpolicy.googleapis.com": "Organization Policy API",
}
