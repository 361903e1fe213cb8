"""Reads what a project may rent from Google's own lists: areas, accelerator types, runtime images, machine types.

Two questions for each area and one for all machine types; seconds to half a minute. An area that does not answer, or
says no, is told as unread: never as one without TPUs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from tpu_studio.cloud.session import Api, segment
from tpu_studio.domain.offers import Area, Offers, Unread
from tpu_studio.wire.errors import CloudRefused, CloudUnclear, SignedOut, StudioError

ENDS_ALL = frozenset({"network-down", "proxy-down"})
"""After one of these nothing else is asked: every other question would wait for its timeout too."""
_TPU_MACHINE = re.compile(r"(?:ct\d|tpu)\w*-[\w-]*?(?P<chips>\d+)t$")  # ct6e-standard-8t, tpu7x-standard-4t
LISTS = ("the list of zones", "the list of machine types")
Told = Callable[[int, int, str], None]


def read(
    tpu: Api,
    compute: Api,
    project: str,
    known_zones: Collection[str],
    today: date,
    *,
    before: Offers | None = None,
    told: Told = lambda done, total, what: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Offers:
    """Args:
        known_zones: Asked where the list of zones itself cannot be read.
        before: What was read of the same project earlier: kept, with its date, for an area that does not answer now.
        told: Questions done, questions in all, what is asked next.
        cancelled: Asked between two questions; what is not read by then is told as ``catalogue-cancelled``.

    Raises:
        SignedOut: Nobody can be asked.
        CloudRefused, CloudUnclear: Not one area was read; the reason of the first.
    """
    found = before or Offers(project, today.isoformat())
    day, unread = today.isoformat(), list[Unread]()
    places = f"/v2/projects/{segment(project)}/locations"
    told(0, 1, "which zones there are")
    zones: tuple[str, ...] | None = None
    first: StudioError | None = None
    try:
        zones = tuple(sorted(_zone_names(tpu.pages(places, "locations", {"pageSize": 500}))))
    except (CloudRefused, CloudUnclear) as error:
        first = error
        unread.append(_unread(LISTS[0], error))
    asked = zones if zones is not None else tuple(sorted(known_zones))
    areas = {zone: area for zone, area in found.areas.items() if zones is None or zone in zones}
    ended: StudioError | None = first if first is not None and first.id in ENDS_ALL else None
    fresh, total = 0, len(asked) + 1
    for done, zone in enumerate(asked):
        if ended is None and cancelled():
            ended = CloudUnclear("catalogue-cancelled")
        if ended is not None:
            unread.append(_unread(zone, ended))
            continue
        told(done, total, zone)
        try:
            types = _types(
                tpu.pages(
                    f"{places}/{segment(zone)}/acceleratorTypes", "acceleratorTypes", {"pageSize": 500}, zone=zone
                )
            )
        except (CloudRefused, CloudUnclear) as error:
            first = first or error
            unread.append(_unread(zone, error))
            ended = error if error.id in ENDS_ALL else None
            continue
        areas[zone], fresh = Area(day, types, None), fresh + 1
        if not types:
            continue
        try:
            images = tpu.pages(
                f"{places}/{segment(zone)}/runtimeVersions", "runtimeVersions", {"pageSize": 500}, zone=zone
            )
            areas[zone] = Area(day, types, tuple(sorted(_last(one, "version") for one in images)))
        except (CloudRefused, CloudUnclear) as error:
            unread.append(_unread(f"runtime images of {zone}", error))
            ended = error if error.id in ENDS_ALL else None
    if not fresh and (why := first or ended) is not None:
        raise why
    machines, machines_day = found.machines, found.machines_date
    told(len(asked), total, LISTS[1])
    if ended is None and cancelled():
        ended = CloudUnclear("catalogue-cancelled")
    try:
        if ended is not None:
            raise ended
        machines, machines_day = _machines(compute, project), day
    except (CloudRefused, CloudUnclear) as error:
        unread.append(_unread(LISTS[1], error))
    told(total, total, "")
    return replace(
        found,
        project=project,
        date=day,
        areas=areas,
        zones=zones,
        machines=machines,
        machines_date=machines_day,
        unread=tuple(unread),
    )


def _unread(what: str, error: StudioError) -> Unread:
    if isinstance(error, SignedOut):
        raise error
    return Unread(what, error.id, dict(error.facts))


def _zone_names(rows: Collection[Any]) -> list[str]:
    return [name for row in rows if (name := str(row.get("locationId") or _last(row, "name")))]


def _types(rows: Collection[Any]) -> dict[str, str]:
    found = {}
    for row in rows:
        if name := _last(row, "type"):
            configs = row.get("acceleratorConfigs") or [{}]
            found[name] = str(configs[0].get("topology") or "")
    return found


def _last(row: Mapping[str, object], key: str) -> str:
    """Its *key*, or the last part of its name."""
    return str(row.get(key) or row.get("name") or "").rpartition("/")[2]


def _machines(compute: Api, project: str) -> dict[str, dict[str, dict[str, float]]]:
    """TPU machine types by zone. Raises CloudUnclear also where a zone did not answer: half a list is none."""
    from tpu_studio.cloud import errors

    found: dict[str, dict[str, dict[str, float]]] = {}
    query: dict[str, object] = {"maxResults": 500, "returnPartialSuccess": "true"}
    path, missing = f"/compute/v1/projects/{segment(project)}/aggregated/machineTypes", set[str]()
    for _ in range(200):
        page = compute.get(path, query)
        missing.update(map(str, page.get("unreachables") or ()))
        for scope, told in (page.get("items") or {}).items():
            for row in told.get("machineTypes") or ():
                if machine := _machine(row):
                    found.setdefault(scope.rpartition("/")[2], {})[str(row["name"])] = machine
        if not page.get("nextPageToken"):
            break
        query["pageToken"] = page["nextPageToken"]
    else:
        raise errors.make("unreadable-reply", {"raw": "more than 200 pages of machine types"})
    if missing:
        raise errors.make("server-error", {"raw": "some zones did not answer", "unreachable": sorted(missing)})
    return found


def _machine(row: Mapping[str, Any]) -> dict[str, float] | None:
    """None: not one with TPUs, or one that does not tell what it has."""
    named = _TPU_MACHINE.match(str(row.get("name", "")))
    if named is None:
        return None
    try:
        return {
            "vcpu": int(row["guestCpus"]),
            "ram_gb": round(int(row["memoryMb"]) / 1024, 3),
            "chips": int(named["chips"]),
        }
    except (KeyError, TypeError, ValueError):
        return None
