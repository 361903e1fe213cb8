"""Free reads of a live check: lists that Google answers for nothing, and that change nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from tpu_studio.cloud.livecheck.asking import Side
from tpu_studio.cloud.prices import live_rows
from tpu_studio.cloud.session import Api
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.grants import OWN_MACHINES, is_own_machines
from tpu_studio.domain.regions import with_cloud_tasks
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.workflow.livecheck.ports import Seen

_TPU_TYPE = re.compile(r"ct\d\w*-(hightpu|standard)-\d+t|tpu7x-(standard|ultranet)\S*")
_OLD_ID = re.compile(r"TPUV[234](?!.*Preemptible)")
MOST_NAMED = 5


def all_zones(side: Side) -> Sequence[Seen]:
    answer = side.ask("GET", f"{side.place('-')}/queuedResources", query={"pageSize": 1})
    if answer.status == 400:
        return [Seen("list-all-zones", "refused", side.kept(answer))]
    return [Seen("list-all-zones", "", str(side.need(answer).status))]


def areas(side: Side) -> Sequence[Seen]:
    url = f"{side.ends.tpu}/v2/projects/{side.project}/locations"
    told = {str(one.get("locationId", "")) for one in side.pages(url, "locations", {"pageSize": 500})}
    ours = {
        zone.zone
        for one in catalogue().offered()
        if one.control_plane == "cloud-tpu"
        for zone in one.zones
        if zone.listed
    }
    return [_whole("tpu-locations", "short", ours - told, len(told))]


def images(side: Side) -> Sequence[Seen]:
    wanted = catalogue().image("v5e", "jax")
    url = f"{side.place()}/runtimeVersions"
    told = {str(one.get("version", "")) for one in side.pages(url, "runtimeVersions", {"pageSize": 500})}
    return [Seen("runtime-versions", "" if wanted in told else "absent", f"{len(told)} versions, {wanted}")]


def machine_types(side: Side) -> Sequence[Seen]:
    """Those of a zone with v6e on Compute Engine."""
    zone = next((one.zone for one in catalogue().generation("v6e").zones if one.listed), side.zone)
    url = f"{side.ends.compute}/compute/v1/projects/{side.project}/zones/{zone}/machineTypes"
    page = side.need(side.ask("GET", url, query={"maxResults": 500})).body.get("items") or []
    named = [one for one in page if _TPU_TYPE.fullmatch(str(one.get("name", "")))]
    if named:
        return [Seen("machine-type-names", "", ", ".join(str(one["name"]) for one in named[:MOST_NAMED]))]
    lent = [one for one in page for part in one.get("accelerators") or () if _is_tpu(part.get("guestAcceleratorType"))]
    if not lent:
        return [Seen("machine-type-names", None, f"{len(page)} types, none with a TPU")]
    names = ", ".join(str(one["name"]) for one in lent[:MOST_NAMED])
    return [Seen("machine-type-names", "other", names)]


def _is_tpu(kind: object) -> bool:
    return str(kind).startswith(("ct", "tpu"))


def tasks_areas(side: Side) -> Sequence[Seen]:
    url = f"{side.ends.tasks}/v2/projects/{side.project}/locations"
    told = {str(one.get("locationId", "")) for one in side.pages(url, "locations")}
    return [_whole("tasks-locations", "short", set(with_cloud_tasks()) - told, len(told))]


def dates(side: Side) -> Sequence[Seen]:
    """Of a 404 with a sign-in, and of what is refused without one."""
    absent = side.ask("GET", f"{side.place()}/queuedResources/ts-live-check-absent")
    nobody = side.ask("GET", f"{side.place()}/queuedResources", plain=True)
    if absent.status < 400 or nobody.status < 400:
        return [Seen("date-header", None, f"{absent.status}, {nobody.status}")]
    dated = "Date" in absent.headers and "Date" in nobody.headers
    return [Seen("date-header", "" if dated else "not-on-errors", f"{absent.status}, {nobody.status}")]


def conditions(side: Side) -> Sequence[Seen]:
    """Of the grants of ours that hold under a condition, as the project's policy shows them."""
    url, options = f"{side.ends.resources}/v3/projects/{side.project}:getIamPolicy", {"requestedPolicyVersion": 3}
    policy = side.need(side.ask("POST", url, {"options": options})).body
    held = [one.get("condition") for one in policy.get("bindings") or ()]
    ours = [one["expression"] for one in held if is_own_machines(one)]
    if not ours:
        return [Seen("condition-as-written", None, "no grant of ours under a condition")]
    written = all(one == OWN_MACHINES["expression"] for one in ours)
    return [Seen("condition-as-written", "" if written else "normalised", side.without_names(ours[0]))]


def quota_ids(side: Side) -> Sequence[Seen]:
    url = f"{side.ends.quotas}/v1/projects/{side.project}/locations/global/services/tpu.googleapis.com/quotaInfos"
    told = sorted({str(one.get("quotaId", "")) for one in side.pages(url, "quotaInfos", {"pageSize": 500})})
    old = [one for one in told if _OLD_ID.match(one)]
    region = [one for one in told if "ServingPerProjectPerRegion" in one]
    return [
        Seen("quota-ids-old", "" if old else "absent", ", ".join(old[:MOST_NAMED])),
        Seen("serving-region-quota", "" if region else "zone-only", ", ".join(region[:MOST_NAMED])),
    ]


def prices(side: Side) -> Sequence[Seen]:
    try:
        rows = live_rows(Api(side.ends.billing, side.http), date.today())
    except CloudUnclear as error:
        if error.id != "unreadable-reply":
            raise
        return [Seen("price-descriptions", "other-words", "no price of a TPU is made out")]
    known = {str(row.get("generation")) for row in rows}
    whole = {"v5e", "v6e"} <= known
    return [Seen("price-descriptions", "" if whole else "other-words", ", ".join(sorted(known)))]


def _whole(doubt: str, way: str, missing: set[str], count: int) -> Seen:
    raw = f"{count} told" + (f", not {', '.join(sorted(missing)[:MOST_NAMED])}" if missing else "")
    return Seen(doubt, way if missing else "", raw)
