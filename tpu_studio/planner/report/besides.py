"""What a rented machine costs besides its chips, in words: for the review, the terminal and the plan's page. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_studio.domain import figures
from tpu_studio.domain.generations import region_of
from tpu_studio.wire.extras import ExtraPart, How
from tpu_studio.wire.plan import Plan

TITLES = {
    "chips": "Chips",
    "disk": "Disks",
    "address": "External IP addresses",
    "operations": "Requests to the bucket",
    "storage": "Storage for 30 days",
    "traffic": "Traffic",
    "tasks": "Shut-off timers at Google",
}
OWN_CODE = "What your own code moves or stores by itself cannot be seen from here, and is in no figure."


@dataclass(frozen=True)
class Besides:
    """One part. *cost*: `up to $0.02`; *how*: amounts and rates; *source*: where the rates are from, and of when."""

    title: str
    cost: str
    how: str
    source: str


def besides(plan: Plan) -> tuple[Besides, ...]:
    """In the order of the bill; empty where nothing is rented, and for plans of older versions."""
    return tuple(_part(part) for part in _parts(plan))


def total(plan: Plan) -> str:
    """All of them at most: `up to $0.07`; "" where nothing is rented."""
    parts = _parts(plan)
    if not parts:
        return ""
    known = [part.usd for part in parts if part.usd is not None]
    more = "" if len(known) == len(parts) else ", and what has no known price"
    return f"{up_to(sum(known))}{more}"


def reserved(plan: Plan) -> str:
    """What of the cap is set aside from the start, "" where nothing is."""
    usd = plan.extras.reserved_usd if plan.extras else 0.0
    return small(usd) if usd else ""


def places(plan: Plan) -> str:
    """Where machine and bucket may be, and what that means for traffic."""
    zones = list(plan.job.where.zones)
    home = plan.extras.bucket_region if plan.extras else ""
    regions = dict.fromkeys(region_of(zone) for zone in zones)
    if not home:
        return ""
    apart = [region for region in regions if region != home]
    only = "No other zone is asked, also while this computer is off."
    if not apart:
        return f"The bucket is in {home} too: what they exchange costs nothing. {only}"
    where = " and ".join(apart) if len(apart) < 3 else f"{len(apart)} other regions"
    return f"The bucket is in {home}: what it exchanges with {where} is charged, priced at the dearest. {only}"


def small(usd: float) -> str:
    """`$0.02`, or `less than a cent` rather than $0.00."""
    return figures.money(usd) if usd >= 0.005 else "$0" if usd == 0.0 else "less than a cent"


def up_to(usd: float) -> str:
    return f"up to {small(usd)}" if usd >= 0.005 else small(usd)


def _parts(plan: Plan) -> tuple[ExtraPart, ...]:
    return plan.extras.parts if plan.extras else ()


def _part(part: ExtraPart) -> Besides:
    usd = part.usd
    cost = "price unknown" if usd is None else "nothing" if usd == 0.0 else up_to(usd)
    lines = ", ".join(_how(one) for one in part.how)
    as_of = f" ({part.as_of})" if part.as_of else ""
    return Besides(TITLES.get(part.id, part.id), cost, f"{lines}. {part.note}".strip(), f"{part.source}{as_of}")


def _how(one: How) -> str:
    """`1 disk of 100 GB at $0.0151 an hour`"""
    amount, usd = one.amount, one.usd
    number = f"{amount:,.0f}" if amount == int(amount) else f"{amount:,.3g}"
    told = " ".join(word for word in (number, one.unit, one.what) if word)
    if one.unit == "hours":
        return f"{figures.duration(amount * 3600.0)} {one.what}"
    if not one.per:
        return told
    if usd is None:
        return f"{told} at an unknown price"
    return f"{told}, free" if usd == 0.0 else f"{told} at {figures.exact_money(float(f'{usd:.3g}'))} {one.per}"
