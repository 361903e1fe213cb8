"""What is checked of a plan where the account is known: quota of the chosen slice, addresses for its machines. Pure.

Both stand on what was last read, so they are warnings with its day; Google's own no comes before anything is rented.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpu_studio.domain.catalogue import Catalogue, chips
from tpu_studio.domain.generations import region_of
from tpu_studio.domain.standing import Standing, standing_of
from tpu_studio.planner.areas import areas, read_on
from tpu_studio.planner.rented import Rented
from tpu_studio.wire import loans
from tpu_studio.wire.plan import Check

_TIERS = (loans.usual().word, loans.spare().word)


def checks(rented: Rented, place: str) -> Iterator[Check]:
    known = rented.known
    standing = standing_of(known)
    if rented.problem or not rented.zones or rented.backend == "compute-engine":  # that one has limits of its own
        return
    part, tier = rented.slice, rented.tier
    limits = [standing.limit(part, tier, zone) for zone in rented.zones]
    if limits and all(limit is not None and limit < part.chips for limit in limits):
        most = max(limit for limit in limits if limit is not None)
        yield Check(
            "place-quota",
            "warning",
            _quota_title(most, rented),
            _elsewhere(known, standing, rented, place),
            {
                "limit": most,
                "zones": list(rented.zones),
                "tier": tier,
                "accelerator": rented.title,
                "use": part.use,
                "read": read_on(standing),
            },
        )
    left = standing.addresses_left(rented.zones[0])
    if left is not None and left < part.vms:
        single = [one for one in known.generation(part.generation).slices if one.vms == 1]
        single = [one for one in single if standing.allows(one, tier, rented.zones[0]) is not False]
        best = max(single, key=lambda one: one.chips, default=None)
        fix = {"where.accelerator": best.accelerator_type} if best and best.vms <= left and best != part else None
        region = region_of(rented.zones[0])
        yield Check(
            "place-addresses",
            "warning",
            f"{region} has too few external addresses left for this TPU",
            fix,
            {"left": left, "hosts": part.vms, "region": region, "read": read_on(standing)},
        )


def _quota_title(most: int, rented: Rented) -> str:
    where = f"in {region_of(rented.zones[0])}"
    return f"Google allows you {chips(most) if most else 'none'} of this kind {where}"


def _elsewhere(known: Catalogue, standing: Standing, rented: Rented, place: str) -> dict[str, object] | None:
    """One press after which it is allowed: another area, another kind of loan, a smaller TPU; None: nothing is."""
    part, tier = rented.slice, rented.tier
    other = areas(known, part, tier, place)
    if other and other != rented.zones and standing.allows(part, tier, other[0]):
        return {"where.zones": list(other)}
    for kind in _TIERS:
        there = areas(known, part, kind, place)
        if kind != tier and any(standing.allows(part, kind, zone) for zone in rented.zones):
            return {"where.tier": kind}
        if kind != tier and there and standing.allows(part, kind, there[0]):
            return {"where.tier": kind, "where.zones": list(there)}
    for smaller in sorted(known.generation(part.generation).slices, key=lambda one: -one.chips):
        if smaller.chips < part.chips and any(standing.allows(smaller, tier, zone) for zone in rented.zones):
            return {"where.accelerator": smaller.accelerator_type}
    return None
