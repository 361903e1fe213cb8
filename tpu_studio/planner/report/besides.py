"""What a rented machine costs besides its chips, in words: for the review, the terminal and the plan's page. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import region_of
from tpu_studio.wire.plan import Plan

TITLES = {
    "chips": "Chips",
    "disk": "Disks",
    "address": "External addresses",
    "operations": "Requests to the bucket",
    "storage": "Storage for 30 days",
    "traffic": "Traffic",
    "tasks": "Stops at Google",
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
    return tuple(_part(part) for part in plan.extras.get("parts") or ())


def total(plan: Plan) -> str:
    """All of them at most: `up to $0.07`; "" where nothing is rented."""
    parts = plan.extras.get("parts") or ()
    if not parts:
        return ""
    known = [float(part["usd"]) for part in parts if part.get("usd") is not None]
    more = "" if len(known) == len(parts) else ", and what has no known price"
    return f"{up_to(sum(known))}{more}"


def reserved(plan: Plan) -> str:
    """What of the cap is set aside from the start, "" where nothing is."""
    usd = float(plan.extras.get("reserved_usd") or 0.0)
    return small(usd) if usd else ""


def places(plan: Plan) -> str:
    """Where machine and bucket may be, and what that means for traffic."""
    zones = list(plan.job.where.zones)
    home, regions = str(plan.extras.get("bucket_region") or ""), dict.fromkeys(region_of(zone) for zone in zones)
    if not home:
        return ""
    apart = [region for region in regions if region != home]
    only = "No other area is asked, also while this computer is off."
    if not apart:
        return f"The bucket is in {home} too: what they exchange costs nothing. {only}"
    where = " and ".join(apart) if len(apart) < 3 else f"{len(apart)} other regions"
    return f"The bucket is in {home}: what it exchanges with {where} is charged, priced at the dearest. {only}"


def small(usd: float) -> str:
    """`$0.02`, or `less than a cent` rather than $0.00."""
    return figures.money(usd) if usd >= 0.005 else "$0" if usd == 0.0 else "less than a cent"


def up_to(usd: float) -> str:
    return f"up to {small(usd)}" if usd >= 0.005 else small(usd)


def _part(part: Mapping[str, Any]) -> Besides:
    usd, note = part.get("usd"), str(part.get("note") or "")
    cost = "price unknown" if usd is None else "nothing" if usd == 0.0 else up_to(float(usd))
    told = ", ".join(_how(one) for one in part.get("how") or ())
    as_of = f" ({part['as_of']})" if part.get("as_of") else ""
    title = TITLES.get(str(part.get("id")), str(part.get("id")))
    return Besides(title, cost, f"{told}. {note}".strip(), f"{part.get('source') or ''}{as_of}")


def _how(one: Mapping[str, Any]) -> str:
    """`1 disk of 100 GB at $0.0151 an hour`"""
    amount, usd, per = float(one.get("amount") or 0.0), one.get("usd"), str(one.get("per") or "")
    number = f"{amount:,.0f}" if amount == int(amount) else f"{amount:,.3g}"
    told = " ".join(word for word in (number, str(one.get("unit") or ""), str(one.get("what") or "")) if word)
    if one.get("unit") == "hours":
        return f"{figures.duration(amount * 3600.0)} {one.get('what')}"
    if not per:
        return told
    if usd is None:
        return f"{told} at an unknown price"
    return f"{told}, free" if usd == 0.0 else f"{told} at {figures.exact_money(float(f'{float(usd):.3g}'))} {per}"
