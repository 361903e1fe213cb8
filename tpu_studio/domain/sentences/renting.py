"""Words that everything about a rented machine uses: who lends it, what and where, what it has cost."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.domain.sentences.sentence import Facts
from tpu_studio.wire import places

PRETENDED = "These are practice dollars: nothing was charged."


def zone(f: Facts, before: str = " in ") -> str:
    return f"{before}{f.text('zone')}" if "zone" in f else ""


def what(f: Facts) -> str:
    return f.text("accelerator") or "this TPU"


def usd(f: Facts, name: str) -> str:
    value = f.raw(name)
    return figures.money(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""


def unseen_cost(f: Facts, dollars: str = "unseen_usd", seconds: str = "unseen_s") -> str:
    """What a machine may have cost that nobody saw, in dollars or, where its price is not known, in time."""
    if f.raw(dollars):
        return usd(f, dollars)
    lasted = f.raw(seconds)
    known = isinstance(lasted, (int, float)) and not isinstance(lasted, bool)
    return f"the rent of {figures.duration(float(lasted))}" if known else "an amount within the cap"


def lender(f: Facts) -> str:
    """Who lends the machine, at the start of a sentence."""
    return "The practice cloud" if places.by_id(f.raw("place")).rehearses else "Google"


def spent(f: Facts) -> str:
    """What a rented run has cost, in one sentence; on the practice cloud that it was pretended."""
    cost = usd(f, "usd")
    if places.by_id(f.raw("place")).rehearses:
        return PRETENDED
    return f"It cost {cost}." if cost else "What it cost stands in its receipt."
