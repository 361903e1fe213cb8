"""The map of quota: what may be used where, by generation and tier; and asking Google for more.

Both the zone's and the region's limit apply, so the smaller one is shown and named. What is in use is counted from the
project's own machines: the API has no such figure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from tpu_studio.cloud.session import Api, segment
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import TRAINING, QuotaId, use_of
from tpu_studio.wire import loans
from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.workflow.account.ports import Allowance, QuotaRequest

SERVICE = "tpu.googleapis.com"
_WHY_NOT = {
    "NO_VALID_BILLING_ACCOUNT": "no-billing",
    "NOT_ENOUGH_USAGE_HISTORY": "no-history",
    "NOT_SUPPORTED": "not-supported",
}


def allowances(
    quotas: Api,
    tpu: Api,
    project: str,
    offers: Mapping[str, Collection[str]],
    told: Callable[[int, int], None] | None = None,
) -> list[Allowance]:
    """One for each zone, generation that is offered there (*offers*), and tier for which Google names a limit."""
    infos = {
        str(info.get("quotaId")): info
        for info in quotas.pages(
            f"/v1/projects/{segment(project)}/locations/global/services/{SERVICE}/quotaInfos",
            "quotaInfos",
            {"pageSize": 500},
        )
    }
    used = _used(tpu, project)
    known = [_as_listed(quota, infos) for quota in catalogue().quotas]
    found = []
    for done, (zone, generations) in enumerate(offers.items(), 1):
        for quota in known:
            if quota.generation in generations and (quota.zone in infos or quota.region in infos):
                found.append(_allowance(quota, zone, infos, used))
        if told:
            told(done, len(offers))
    return found


def best(rows: Iterable[Allowance]) -> Allowance | None:
    """The most that may be used, a TPU of one machine first, what is free before what is in use; None: nothing."""
    allowed = [row for row in rows if row.limit]

    def rank(row: Allowance) -> tuple[bool, bool, bool, int, str]:
        first = catalogue().generation(row.generation).rank == 0
        return row.use != TRAINING, bool(row.left), first, row.left or 0, row.zone

    return max(allowed, key=rank, default=None)


def effective(info: Mapping[str, Any], where: Mapping[str, str]) -> int | None:
    """The limit at a place: the first entry whose dimensions all match, entries being ordered most specific first.

    None when nothing says; a negative value was "never set", which reads like zero.
    """
    for entry in info.get("dimensionsInfos") or ():
        dimensions = entry.get("dimensions") or {}
        if any(where.get(name) != value for name, value in dimensions.items()):
            continue
        places = entry.get("applicableLocations") or ()
        if not dimensions and places and not set(places) & set(where.values()):
            continue
        try:
            return max(0, int((entry.get("details") or {}).get("value", 0)))
        except (TypeError, ValueError):
            return None
    return None


def _as_listed(quota: QuotaId, infos: Mapping[str, Mapping[str, Any]]) -> QuotaId:
    """*quota* with the ids that this list has: one that is spelled otherwise is known by what Google displays."""
    if not quota.title or quota.zone in infos:
        return quota
    ids = {"zone": quota.zone, "region": quota.region}
    for id, info in infos.items():
        shown = _plain(str(info.get("metricDisplayName") or info.get("quotaDisplayName") or ""))
        dimensions = list(info.get("dimensions") or ())
        if shown.startswith(_plain(quota.title)) and len(dimensions) == 1 and dimensions[0] in ids:
            ids[dimensions[0]] = id
    return replace(quota, **ids)


def _plain(text: str) -> str:
    """`TPU v5 lite pod` and `TPUv5 lite pod` are one name to us: both stand on Google's page."""
    return "".join(text.lower().split())


Draw = tuple[str, str, str, str]
"""Generation, use, tier, zone."""


def _allowance(
    quota: QuotaId, zone: str, infos: Mapping[str, Mapping[str, Any]], used: Mapping[Draw, int] | None
) -> Allowance:
    region = zone.rpartition("-")[0]
    where = {"zone": zone, "region": region}
    of_zone = effective(infos[quota.zone], where) if quota.zone in infos else None
    of_region = effective(infos[quota.region], where) if quota.region in infos else None
    by_region = of_region is not None and (of_zone is None or of_region < of_zone)
    info = infos[quota.region if by_region else quota.zone if quota.zone in infos else quota.region]
    why_not = _why_not(info.get("quotaIncreaseEligibility") or {})
    return Allowance(
        quota.generation,
        quota.tier,
        zone,
        of_region if by_region else of_zone,
        "region" if by_region else "zone",
        None if used is None else used.get((quota.generation, quota.use, quota.tier, zone), 0),
        quota.unit,
        str(info.get("quotaId")),
        {"region": region} if by_region else {"zone": zone},
        not why_not,
        why_not,
        quota.use,
    )


def _why_not(eligibility: Mapping[str, object]) -> str:
    """Why Google takes no request for more; "": it does. Its JSON leaves a *false* out, as it does every default, so
    the reason alone says no."""
    if "ineligibilityReason" not in eligibility and eligibility.get("isEligible") is not False:
        return ""
    return _WHY_NOT.get(str(eligibility.get("ineligibilityReason", "")), "other")


def _used(tpu: Api, project: str) -> dict[Draw, int] | None:
    """What the project's requests draw, suspended and failed ones included; None when it cannot be counted."""
    try:
        requests = tpu.pages(f"/v2/projects/{segment(project)}/locations/-/queuedResources", "queuedResources")
    except (CloudRefused, CloudUnclear):
        return None
    used: dict[Draw, int] = {}
    for request in requests:
        if (request.get("state") or {}).get("state") == "DELETING":
            continue
        zone = str(request.get("name", "")).split("/locations/")[-1].split("/")[0]
        tier = (loans.spare() if "spot" in request else loans.usual()).word
        for spec in (request.get("tpu") or {}).get("nodeSpec") or ():
            generation, number = drawn(str((spec.get("node") or {}).get("acceleratorType", "")))
            if generation:
                use = use_of(number, catalogue().generation(generation).serving_chips)
                key = (generation, use, tier, zone)
                used[key] = used.get(key, 0) + number
    return used


def drawn(accelerator: str) -> tuple[str, int]:
    """Generation, and what a slice draws in Google's own unit: the number in its name. ("", 0) when unheard of."""
    stem, _, number = accelerator.rpartition("-")
    known = catalogue().find(stem) if number.isdecimal() else None
    return (known.id, int(number)) if known else ("", 0)


def ask(quotas: Api, project: str, allowance: Allowance, wanted: int, why: str, email: str) -> QuotaRequest:
    """Ask for *wanted* in all, not more by so much. One request per limit and place: a second changes the first."""
    name = preference_id(allowance.quota_id, allowance.dimensions)
    body = {
        "service": SERVICE,
        "quotaId": allowance.quota_id,
        "dimensions": dict(allowance.dimensions),
        "quotaConfig": {"preferredValue": str(wanted)},
        "contactEmail": email,
        "justification": why,
    }
    path = f"/v1/projects/{segment(project)}/locations/global/quotaPreferences"
    try:
        told = quotas.post(path, body, {"quotaPreferenceId": name}, again=True)
    except CloudRefused as error:
        if error.id != "exists":
            raise
        told = quotas.patch(f"{path}/{name}", body, {"allowMissing": "true"}, again=True)
    return request_of(told)


def requests(quotas: Api, project: str) -> list[QuotaRequest]:
    path = f"/v1/projects/{segment(project)}/locations/global/quotaPreferences"
    found = quotas.pages(path, "quotaPreferences", {"pageSize": 100})
    return [request_of(one) for one in found if one.get("service") == SERVICE]


def request_of(tree: Mapping[str, Any]) -> QuotaRequest:
    config = tree.get("quotaConfig") or {}
    wanted = _int(config.get("preferredValue")) or 0
    granted = _int(config.get("grantedValue"))
    if tree.get("reconciling"):
        state = "waiting"
    elif granted is not None and granted >= wanted:
        state = "granted"
    else:
        state = "partly" if granted else "denied"
    quota_id = str(tree.get("quotaId", ""))
    known = next((one for one in catalogue().quotas if quota_id in (one.zone, one.region)), None)
    return QuotaRequest(
        str(tree.get("name", "")).rpartition("/")[2],
        quota_id,
        {str(k): str(v) for k, v in (tree.get("dimensions") or {}).items()},
        wanted,
        granted,
        state,
        str(config.get("stateDetail", "")),
        _time(tree.get("createTime")),
        *((known.generation, known.tier, known.unit, known.use) if known is not None else ()),
    )


def preference_id(quota_id: str, dimensions: Mapping[str, str]) -> str:
    text = quota_id + "".join(f"/{name}={value}" for name, value in sorted(dimensions.items()))
    return "tpu-studio-" + hashlib.sha256(text.encode()).hexdigest()[:16]


def _int(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _time(value: object) -> float | None:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return None
