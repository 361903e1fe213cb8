"""The receipt of a rented run in words: what was made, from when to when, at what cost, how its end is proved, and what
stays. Made from ``result/receipt.json``, which is written once nothing is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tpu_studio.domain import figures
from tpu_studio.domain.chips import Memory
from tpu_studio.planner.report.besides import TITLES, small
from tpu_studio.viewmodels.review import Fact
from tpu_studio.viewmodels.runchips import filled
from tpu_studio.viewmodels.runrented import lender
from tpu_studio.wire import places
from tpu_studio.wire.jsonfile import read_json

FILE = ("result", "receipt.json")
_LARGEST = 1e15
AT_MOST = 100  # machines, and parts of the bill, that are shown; each is three lines of the page
_ON_TOP = "Taxes, and what your own code moved or stored by itself, come on top."
_PARTS = {
    "disk": "Google says that a TPU VM includes its boot disk; the bill may tell otherwise.",
    "storage": "What was kept, until the bucket's own rule deletes it.",
    "operations": "Those of machine and computer, as both counted them.",
    "traffic": "What came down to this computer, and between regions.",
    "tasks": "A million calls a month are free.",
}


def read_receipt(run: Path) -> Mapping[str, object]:
    """Raises OSError when there is none, ValueError when it is damaged."""
    told = read_json(run.joinpath(*FILE))
    if not isinstance(told, dict):
        raise ValueError("no object")
    return told


def facts_in(run: Path) -> tuple[Fact, ...]:
    """What the receipt of *run* says, in words. Raises OSError when there is none, ValueError when it is damaged."""
    try:
        return receipt_of(read_receipt(run))
    except (TypeError, AttributeError, LookupError, ArithmeticError, ValueError) as error:
        raise ValueError("The receipt is damaged.") from error


def receipt_of(told: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Cost first, then each machine, then what stays."""
    place = str(told.get("place"))
    facts = [_cost(told, place)]
    parts = [one for one in told.get("parts") or () if isinstance(one, dict)]
    facts += [*(part_of_bill(one) for one in parts[:AT_MOST]), *_more("More parts", parts)]
    made = list(told.get("made") or ())
    facts += [*(_machine(one, place) for one in made[:AT_MOST]), *_more("More machines", made)]
    if not places.by_id(place).rehearses:  # there computes this computer, and no TPU is well or badly used
        facts += _chips(told.get("chips") or {})
    in_vain = [one for one in told.get("asked_in_vain") or () if one]
    if in_vain:
        zones = dict.fromkeys(str(one.get("zone")) for one in in_vain)
        times = "once" if len(in_vain) == 1 else f"{len(in_vain)} times"
        facts.append(Fact("Asked for and not given", ", ".join(zones), f"{times}, at no cost"))
    facts.append(_stops(told))
    facts.append(_stays(told, place))
    return tuple(facts)


def _more(label: str, rows: list[Any]) -> list[Fact]:
    """How many of *rows* are not shown."""
    left = len(rows) - AT_MOST
    return [Fact(label, str(left), "The receipt's file names each.")] if left > 0 else []


def _cost(told: Mapping[str, Any], place: str) -> Fact:
    usd, most, rate = (_number(told.get(name)) for name in ("usd", "usd_at_most", "usd_per_hour"))
    label = "Would have cost" if places.by_id(place).rehearses else "Cost"
    if usd is None or rate is None:
        return Fact(label, "Not known", "The price was not known; Google's bill tells.")
    seconds = sum(_number(one.get("billed_s")) or 0.0 for one in told.get("made") or ())
    more = f"{figures.duration(seconds)} at {figures.money(rate)} an hour."
    least = _number(told.get("usd_at_least"))
    least, most = usd if least is None else min(least, usd), max(usd, most or 0.0)
    shown = figures.money_between(least, most)
    if shown != figures.money(usd) and rate:
        bounds = _spans(told, least, most, rate)
        spans = [figures.duration(one) for one in bounds]
        if (bounds[1] - bounds[0]) * rate / 3600.0 < 0.01:  # it is the rest that is not told exactly
            return Fact(label, shown, f"{more} The bill is in between, as the parts do. {_after(told, place)}")
        span = f"{spans[0]} to {spans[1]}" if bounds[0] else f"Up to {spans[1]}"
        more = f"{span} at {figures.money(rate)} an hour: no record tells it exactly, and the bill is in between."
    return Fact(label, shown, f"{more} {_after(told, place)}")


def _after(told: Mapping[str, object], place: str) -> str:
    """What is in no figure of it."""
    if places.by_id(place).rehearses:
        return "Nothing was charged: practice."
    return _ON_TOP if told.get("parts") else "Taxes, storage and traffic come on top."


def _spans(told: Mapping[str, Any], least: float, most: float, rate: float) -> tuple[float, float]:
    """Seconds of all machines, at least and at most, with those that nobody saw."""
    parts = [one for one in told.get("parts") or () if isinstance(one, dict)]
    chips = next((one for one in parts if one.get("id") == "chips"), None)
    if chips is None:
        return least / rate * 3600.0, most / rate * 3600.0
    unseen = max(0.0, most - sum(_number(one.get("usd_at_most")) or 0.0 for one in parts))
    low, high = (_number(chips.get(name)) or 0.0 for name in ("usd_at_least", "usd_at_most"))
    return low / rate * 3600.0, (high + unseen) / rate * 3600.0


def part_of_bill(one: Mapping[str, object]) -> Fact:
    """What a part of the bill came to; the parts sum up to the cost."""
    id = str(one.get("id"))
    usd, least, most = (_number(one.get(name)) for name in ("usd", "usd_at_least", "usd_at_most"))
    title = TITLES.get(id, id)
    if usd is None:
        return Fact(title, "Price unknown", "In no sum; Google's bill tells.")
    least, most = usd if least is None else least, usd if most is None else most
    shown, more = small(usd).capitalize(), "" if id == "disk" and usd else _PARTS.get(id, "")
    if figures.money(most) != figures.money(usd):
        shown = f"{shown}, at most {figures.money(most)}"
    elif not usd and most > 0.0:  # nothing or a fraction of a cent: whichever way it is counted
        shown = small(most).capitalize()
    elif figures.money(least) != figures.money(usd):
        shown = figures.money_between(least, most)
    return Fact(title, shown, more)


def _machine(one: Mapping[str, object], place: str) -> Fact:
    created, deleted = _number(one.get("created")), _number(one.get("deleted"))
    usd = _number(one.get("usd"))
    cost = f" · {figures.money(usd)}" if usd is not None else ""
    seconds = _number(one.get("billed_s")) or 0.0
    took = figures.duration(seconds)
    bounds = [_number(one.get(f"billed_at_{name}_s")) for name in ("least", "most")]
    least, most = [figures.duration(seconds if bound is None else bound) for bound in bounds]
    if least != most:
        took = f"{least} to {most}"
    if created is None:
        return Fact(_title(one), "Not seen", f"Nobody saw whether it was ever there. {_gone(deleted, place)}")
    there = f"There from {_clock(created)} on. {_gone(deleted, place)}"
    return Fact(_title(one), f"{took}{cost}", there)


def _chips(used: Mapping[str, Any]) -> list[Fact]:
    """How well the chips that were paid for were used; nothing where they told nothing."""
    share, busy, now, most = (_number(used.get(n)) for n in ("mfu", "duty_cycle", "hbm_used_bytes", "hbm_total_bytes"))
    told = [f"busy {figures.share(busy, 0)} of the time"] if busy is not None else []
    if now is not None and most:
        told.append(f"memory up to {filled(Memory(now, most))}")
    more = ", ".join(told)
    if share is not None:
        return [Fact("MFU (model FLOP utilisation)", figures.share(share, 0), more[:1].upper() + more[1:])]
    return [Fact("The TPU was", told[0], ", ".join(told[1:]))] if told else []


def _title(one: Mapping[str, object]) -> str:
    return f"{one.get('name')} in {one.get('zone')}"


def _gone(deleted: float | None, place: str) -> str:
    if deleted is None:
        return "Not verified to be gone."
    return f"{lender(place)} answered at {_clock(deleted)} that it is not there any more."


def _stops(told: Mapping[str, Any]) -> Fact:
    left = told.get("stops_left") or ()
    if not left:
        return Fact("Shut-off timers", "All removed")
    return Fact("Shut-off timers", f"{len(left)} still set", "They delete what is gone already, and cost nothing.")


def _stays(told: Mapping[str, object], place: str) -> Fact:
    size, usd = _number(told.get("kept_bytes")), _number(told.get("kept_usd_per_month"))
    if size is None:
        return Fact("Stays in your bucket", str(told.get("kept") or ""))
    would = "would be " if places.by_id(place).rehearses else ""
    rate = "" if usd is None else f" · {would}{_cents(usd)} a month"
    return Fact("Stays in your bucket", f"{figures.size(int(size))}{rate}", str(told.get("kept") or ""))


def _cents(usd: float) -> str:
    return figures.money(usd) if usd >= 0.01 else "less than a cent"


def _clock(moment: float) -> str:
    return figures.clock(moment, seconds=True)


def _number(value: object) -> float | None:
    """A finite one: a damaged file may hold anything."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_LARGEST < value < _LARGEST:
        return None
    return float(value)
