"""Google's regions: where on earth they lie, and which of them have Cloud Tasks. Data: ``catalogue/regions.json``.

The list of Cloud Tasks is Google's documented one, dated; whoever can ask the project's own list takes that.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from tpu_studio.wire.resources import resource_path

_EARTH_KM = 6371.0
_AMERICAS = ("us", "northamerica", "southamerica")
_NOT_IN_THE_EU = ("europe-west2", "europe-west6")  # London, Zurich


@cache
def _known() -> Mapping[str, Any]:
    tree: Mapping[str, object] = json.loads(resource_path("catalogue", "regions.json").read_text(encoding="utf-8"))
    return tree


def with_cloud_tasks() -> tuple[str, ...]:
    """Regions in which Google documents Cloud Tasks."""
    return tuple(_known()["cloud_tasks"]["regions"])


def nearest(region: str, among: Collection[str]) -> str:
    """The one of *among* that is nearest to *region*, itself where it is one of them; "" of none.

    One of which nobody knows where it lies comes after the others, the same continent first.
    """
    return min(among, key=lambda one: (one != region, *_distance(region, one), one), default="")


def groups_of(region: str) -> frozenset[str]:
    """How a policy ``gcp.resourceLocations`` may name *region*: itself, or a group of locations that holds it."""
    part = region.partition("-")[0]
    found = {region, f"is:{region}", f"in:{region}-locations", f"in:{part}-locations"}
    if part == "us":
        found.add("in:northamerica-locations")
    if part == "europe" and region not in _NOT_IN_THE_EU:
        found.add("in:eu-locations")
    return frozenset(found)


def _distance(one: str, other: str) -> tuple[int, float]:
    """Kilometres as the crow flies, after whether they are known."""
    places = _known()["places"]["regions"]
    if one in places and other in places:
        return 0, _great_circle_km(*places[one], *places[other])
    return (1 if _continent(one) == _continent(other) else 2), 0.0


def _great_circle_km(lat_1: float, lon_1: float, lat_2: float, lon_2: float) -> float:
    """Between two points in degrees (haversine formula)."""
    a, b, c, d = map(math.radians, (lat_1, lon_1, lat_2, lon_2))
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * _EARTH_KM * math.asin(math.sqrt(half))


def _continent(region: str) -> str:
    part = region.partition("-")[0]
    return "america" if part in _AMERICAS else part
