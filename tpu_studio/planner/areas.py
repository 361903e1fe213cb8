"""In which areas a slice is asked for: where the person may use it first, then near the results, then the cheapest.

What the person may use is what was last read (``domain.standing``); what was never read stands in no way. Pure.
"""

from __future__ import annotations

import time
from functools import lru_cache

from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.domain.generations import Slice, region_of
from tpu_studio.domain.standing import Standing, standing_of
from tpu_studio.wire import loans, places

PRACTICE_ZONE = "us-west4-a"  # where the practice account has its bucket and queue while nobody chose another area


@lru_cache(maxsize=1024)
def areas(known: Catalogue, part: Slice, tier: str, place: str) -> tuple[str, ...]:
    """Zones of one region that lend it, those that the person may use first; () where none does."""
    lending = [
        zone
        for zone in known.generation(part.generation).zones
        if zone.lends(part.chips) and (loans.by_id(tier).usual or tier in zone.tiers)
    ]
    lending = [zone for zone in lending if zone.listed] or lending  # Google's own list of zones before hearsay
    standing = standing_of(known)
    if places.by_id(place).rehearses and not standing.region and any(zone.zone == PRACTICE_ZONE for zone in lending):
        return (PRACTICE_ZONE,)

    def rank(region: str) -> tuple[int, bool, float, bool, str]:
        price = known.price(part.generation, part.chips, region, tier)
        listed = any(zone.listed for zone in lending if zone.region == region)
        may = doubt(standing, part, tier, tuple(zone.zone for zone in lending if zone.region == region))
        return (may, region != standing.region, price.usd_per_chip_hour if price else float("inf"), not listed, region)

    regions = sorted({zone.region for zone in lending}, key=rank)
    chosen = [zone.zone for zone in lending if regions and zone.region == regions[0]]
    return tuple(sorted(chosen, key=lambda zone: (doubt(standing, part, tier, (zone,)), zone)))


def practice_home(known: Catalogue) -> str:
    """The region of the practice account's bucket."""
    return standing_of(known).region or region_of(PRACTICE_ZONE)


def doubt(standing: Standing, part: Slice, tier: str, zones: tuple[str, ...]) -> int:
    """0: it may be used in one of them; 1: nobody knows; 2: in none, as far as was read."""
    return min(({True: 0, None: 1, False: 2}[standing.allows(part, tier, zone)] for zone in zones), default=1)


def of_those(known: Catalogue, part: Slice, tier: str) -> str:
    """` and that Google allows you`, where that was read."""
    standing = standing_of(known)
    allowed = any(standing.allows(part, tier, zone.zone) for zone in known.generation(part.generation).zones)
    return " and that Google allows you" if allowed else ""


def why(known: Catalogue, part: Slice, tier: str, zones: tuple[str, ...]) -> str:
    """The reason for these zones, a sentence."""
    standing, region = standing_of(known), region_of(zones[0])
    allowed = standing.limit(part, tier, zones[0])
    told = f"Google allows you {allowed:,} chips there{read_on(standing)}" if allowed else ""
    if region == standing.region:
        return f"All zones of {region} that lend it: where your results are kept{f'. {told}' if told else ''}."
    if told and standing.region:
        return f"{told}, in {standing.region}, where your results are kept, none of this kind."
    return f"All zones of {region} that lend it, where it costs least{f'. {told}' if told else ''}."


def read_on(standing: Standing) -> str:
    """` (read on 21 Nov)`"""
    if standing.as_of is None:
        return ""
    day = time.gmtime(standing.as_of)
    return f" (read on {day.tm_mday} {time.strftime('%b', day)})"
