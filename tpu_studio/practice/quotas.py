"""Cloud Quotas v1 and v1beta: limits by place, and requests for more, which are decided after a while."""

from __future__ import annotations

import secrets

from tpu_studio.practice import billing, quota_limits
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, bad_request, not_found
from tpu_studio.practice.paging import page
from tpu_studio.practice.quota_limits import COMPUTE, TPU, Quota, applying, limit
from tpu_studio.practice.resourcemanager import need_project
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.state import Record

__all__ = ["COMPUTE", "TPU", "applying", "install", "limit"]

DECIDED_AFTER_S = 60.0
MOST_GRANTED = 256
"""More than that is granted in part."""
_API = "cloudquotas.googleapis.com"
_ZERO = ("quota-zero", "quota-region-limit")


def install(router: Router, cloud: Cloud) -> None:
    home = r"/v1(?:beta)?/projects/(?P<project>[^/:]+)/locations/global"
    infos = rf"{home}/services/(?P<service>[^/:]+)/quotaInfos"
    preferences = rf"{home}/quotaPreferences"

    @router.route("GET", infos, permission="cloudquotas.quotas.get", service=_API)
    def list_infos(request: Request) -> dict[str, object]:
        return page(request, "quotaInfos", _infos(cloud, request), most=2000, usual=500)

    @router.route("GET", rf"{infos}/(?P<quota>[^/:]+)", permission="cloudquotas.quotas.get", service=_API)
    def get_info(request: Request) -> dict[str, object]:
        for info in _infos(cloud, request):
            if info["quotaId"] == request.match["quota"]:
                return info
        raise not_found(request.path.partition("/v1")[2].partition("/")[2])

    @router.route("GET", preferences, permission="cloudquotas.quotas.get", service=_API)
    def list_preferences(request: Request) -> dict[str, object]:
        decide(cloud)
        mine = cloud.db.list("quota-preference", f"projects/{request.match['project']}/")
        return page(request, "quotaPreferences", [_shown(record) for _, record in mine], most=500)

    @router.route("GET", rf"{preferences}/(?P<id>[^/:]+)", permission="cloudquotas.quotas.get", service=_API)
    def get_preference(request: Request) -> dict[str, object]:
        decide(cloud)
        return _shown(_preference(cloud, request))

    @router.route(
        "POST",
        preferences,
        schema="cloudquotas.v1:QuotaPreference",
        permission="cloudquotas.quotas.update",
        service=_API,
    )
    def create(request: Request) -> Record:
        name = f"{_home(request)}/quotaPreferences/{request.one('quotaPreferenceId') or secrets.token_hex(16)}"
        with cloud.db.transaction():
            if cloud.db.get("quota-preference", name):
                raise GoogleError(409, "ALREADY_EXISTS", f"Resource '{name}' already exists")
            return _shown(_ask(cloud, request, name, request.json()))

    @router.route(
        "PATCH",
        rf"{preferences}/(?P<id>[^/:]+)",
        schema="cloudquotas.v1:QuotaPreference",
        permission="cloudquotas.quotas.update",
        service=_API,
    )
    def patch(request: Request) -> dict[str, object]:
        name = f"{_home(request)}/quotaPreferences/{request.match['id']}"
        with cloud.db.transaction():
            before = cloud.db.get("quota-preference", name)
            if before is None and not request.flag("allowMissing"):
                raise not_found(name)
            body = request.json()
            asked = body.get("etag", "")
            if before and asked and asked != before["shown"]["etag"]:
                raise GoogleError(409, "ABORTED", "The etag does not match the current one.")
            old = before["shown"] if before else {}
            merged = {
                **{
                    k: old[k] for k in ("service", "quotaId", "dimensions", "contactEmail", "justification") if k in old
                },
                **body,
            }
            return _shown(_ask(cloud, request, name, merged, store=not request.flag("validateOnly")))

    cloud.every(1.0, lambda: decide(cloud))


def decide(cloud: Cloud) -> None:
    """Settle every request whose time has come: the limit is raised, or not, and the request says so."""
    now = cloud.clock.now()

    def due(record: Record) -> bool:
        return bool(record["shown"].get("reconciling")) and record["decided_at"] <= now

    if not any(due(record) for _, record in cloud.db.list("quota-preference")):
        return
    with cloud.db.transaction():
        for name, record in cloud.db.list("quota-preference"):
            if not due(record):
                continue
            shown = record["shown"]
            quota = quota_limits.find(shown["quotaId"], shown.get("dimensions", {}))
            place = shown["dimensions"][quota.per] if quota else ""
            granted = min(int(shown["quotaConfig"]["preferredValue"]), record["most"])
            words = {} if cloud.doubts.way("quota-request-state") else {"stateDetail": record["words"]}
            shown["quotaConfig"] |= {"grantedValue": str(granted), **words}
            shown["reconciling"] = False
            shown["updateTime"] = cloud.clock.rfc3339(now)
            if quota is not None and record["raises"]:
                cloud.db.put("quota-grant", quota_limits.grant_key(quota, place), {"value": granted})
            cloud.db.put("quota-preference", name, record)


def _infos(cloud: Cloud, request: Request) -> list[dict[str, object]]:
    project = need_project(cloud, request)
    service = request.match["service"]
    by_id: dict[str, list[Quota]] = {}
    doubted = cloud.doubts.way("quota-ids-old")
    for quota in quota_limits.known(cloud, service):
        if not (doubted and quota.from_memory):
            by_id.setdefault(quota.quota_id, []).append(quota)
    return [_info(cloud, project, rows) for rows in by_id.values()]


def _info(cloud: Cloud, project: Record, rows: list[Quota]) -> dict[str, object]:
    """One QuotaInfo; *rows*: one, or one for each family. Most specific first, as Google orders them."""
    first = rows[0]
    special, general = [], []
    for quota in rows:
        family = {"tpu_family": quota.family} if quota.family else {}
        by_value: dict[int, list[str]] = {}
        for place in quota_limits.places(quota.generation, quota.per):
            now = limit(cloud, quota.quota_id, {quota.per: place, **family})
            by_value.setdefault(now, []).append(place)
        usual = quota_limits.usual(cloud, quota)
        for value, places in by_value.items():
            if value != usual:
                special += [
                    {
                        "dimensions": {quota.per: place, **family},
                        "details": _value(value),
                        "applicableLocations": [place],
                    }
                    for place in places
                ]
        if places := by_value.get(usual, []):
            entry: dict[str, object] = {"details": _value(usual), "applicableLocations": places}
            general.append({"dimensions": family, **entry} if family else entry)
    info = {
        "name": f"projects/{project['number']}/locations/global/services/{first.service}/quotaInfos/{first.quota_id}",
        "quotaId": first.quota_id,
        "metric": first.metric,
        "service": first.service,
        "isPrecise": True,
        "containerType": "PROJECT",
        "dimensions": first.dimensions,
        "metricDisplayName": first.title,
        "quotaDisplayName": first.title,
        "metricUnit": "1",
        "isConcurrent": True,
        "dimensionsInfos": special + general,
    }
    return info | {"quotaIncreaseEligibility": _eligibility(cloud, project["projectId"])}


def _value(value: int) -> Record:
    return {"value": str(value)} if value else {}  # Google leaves a zero out


def _eligibility(cloud: Cloud, project: str) -> dict[str, object]:
    if not billing.enabled(cloud, project):
        return {"ineligibilityReason": "NO_VALID_BILLING_ACCOUNT"}
    if cloud.faults.armed("free-trial") is not None and (way := cloud.doubts.way("free-trial-asks")) != "taken":
        return {"ineligibilityReason": "NO_VALID_BILLING_ACCOUNT" if way == "no-billing" else "OTHER"}
    if cloud.faults.armed("quota-not-eligible") is not None:
        return {"ineligibilityReason": "NOT_ENOUGH_USAGE_HISTORY"}
    return {"isEligible": True}


def _ask(cloud: Cloud, request: Request, name: str, wanted: Record, *, store: bool = True) -> Record:
    """The record of a request for more (or less). Raises GoogleError 400, 409."""
    dimensions = wanted.get("dimensions", {})
    quota = quota_limits.find(wanted.get("quotaId", ""), dimensions)
    if quota is None or quota.service != wanted.get("service"):
        raise _invalid("quota_id", f"Quota {wanted.get('quotaId', '')} of {wanted.get('service', '')} was not found")
    place = dimensions.get(quota.per, "")
    if set(dimensions) != set(quota.dimensions) or place not in quota_limits.places(quota.generation, quota.per):
        raise _invalid("dimensions", f"The dimensions must be {', '.join(quota.dimensions)}, of a place with it.")
    preferred = int(wanted.get("quotaConfig", {}).get("preferredValue", "-2"))
    if preferred < -1:
        raise _invalid("quota_config.preferred_value", "must be given, at least -1")
    for other, record in cloud.db.list("quota-preference", f"projects/{request.match['project']}/"):
        same = (record["shown"]["quotaId"], record["shown"]["dimensions"]) == (quota.quota_id, dimensions)
        if same and other != name:
            raise GoogleError(409, "ALREADY_EXISTS", f"There is a quota preference for these dimensions: {other}")
    now_s, current = cloud.clock.now(), limit(cloud, quota.quota_id, dimensions)
    if preferred > current and not wanted.get("contactEmail"):
        raise _invalid("contact_email", "A contact email is required for a quota increase.")
    if preferred > current and not _eligibility(cloud, request.match["project"]).get("isEligible"):
        raise GoogleError(400, "FAILED_PRECONDITION", "The project is not eligible for a quota increase.")
    most, words, delay_s, raises = _outcome(cloud, quota, place, current)
    moment = cloud.clock.rfc3339(now_s)
    before = cloud.db.get("quota-preference", name) or {"shown": {}}
    shown = {
        "name": name,
        "dimensions": dimensions,
        "service": quota.service,
        "quotaId": quota.quota_id,
        "quotaConfig": {
            "preferredValue": str(preferred),
            "grantedValue": str(current),
            "traceId": secrets.token_hex(8),
        },
        "etag": secrets.token_urlsafe(9),
        "createTime": before["shown"].get("createTime", moment),
        "updateTime": moment,
        "reconciling": True,
        **{k: wanted[k] for k in ("justification", "contactEmail") if wanted.get(k)},
    }
    record = {"shown": shown, "decided_at": now_s + delay_s, "most": most, "words": words, "raises": raises}
    if store:
        cloud.db.put("quota-preference", name, record)
    return record


def _outcome(cloud: Cloud, quota: Quota, place: str, current: int) -> tuple[int, str, float, bool]:
    """Most that will be granted, Google's words then, seconds until then, and whether the limit moves at all."""
    about = {"quota_id": quota.quota_id, "generation": quota.generation, "place": place}
    denied = cloud.faults.take("quota-request-denied", **about) is not None
    zero = any(cloud.faults.armed(name, **about) is not None for name in _ZERO[: 2 if quota.per == "region" else 1])
    if denied or zero or cloud.faults.armed("free-trial") is not None:
        words = "Your quota increase request was denied: there is not enough usage history in this project."
        return current, words, DECIDED_AFTER_S, False
    if cloud.faults.take("quota-request-partial", **about) is not None:
        return current + 4, "Your quota increase request was partially approved.", DECIDED_AFTER_S, True
    raised = cloud.faults.armed("quota-raised-after-request", **about)
    delay_s = DECIDED_AFTER_S if raised is None else float(raised["after"])
    return MOST_GRANTED, "Your quota request was processed.", delay_s, True


def _preference(cloud: Cloud, request: Request) -> dict[str, object]:
    name = f"{_home(request)}/quotaPreferences/{request.match['id']}"
    record = cloud.db.get("quota-preference", name)
    if record is None:
        raise not_found(name)
    return record


def _shown(record: Record) -> dict[str, object]:
    """Without what Google leaves out: false, zero."""
    shown = {k: v for k, v in record["shown"].items() if v is not False}
    config = {k: v for k, v in shown["quotaConfig"].items() if k != "grantedValue" or v != "0"}
    return shown | {"quotaConfig": config}


def _home(request: Request) -> str:
    return f"projects/{request.match['project']}/locations/global"


def _invalid(field: str, text: str) -> GoogleError:
    return GoogleError(400, "INVALID_ARGUMENT", text, [bad_request((field, text))])
