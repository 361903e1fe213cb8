"""How the bill of a rented plan is capped, in words: for the command line and for the plan's page."""

from __future__ import annotations

from tpu_studio.domain import figures
from tpu_studio.wire.extras import all_in_usd_per_hour
from tpu_studio.wire.plan import Plan


def cap(plan: Plan) -> str:
    """The limit, and what may lie beyond it: `$0.43, and up to $0.40 (20 min) more if the machine hangs …`."""
    limits, rate = plan.limits, all_in_usd_per_hour(plan.price, plan.extras)
    told = f"{figures.money(limits.money_usd)}, and " if limits.money_usd else "none, and "
    boot = _beyond(limits.margin_boot_s, rate)
    platform = limits.platform
    if limits.without_outside_stop:
        return told + (
            f"up to {boot} more if the machine hangs, when Google's own limit ends it"
            if platform
            else "no end if the machine hangs while this computer is off"
        )
    told += f"up to {_beyond(limits.margin_s, rate)} more if the machine hangs and the shut-off timers "
    told += "delete it"
    if limits.margin_boot_s:
        told += f"; {boot} if it hangs before training starts while this computer is off"
        told += ", when Google's own limit ends it" if platform else ", as the timers then allow for the whole waiting"
    return told


def nets(plan: Plan) -> str:
    """What ends the machine, each by itself."""
    limits = plan.limits
    told = "the machine itself" if limits.without_outside_stop else "the machine itself, shut-off timers"
    told += ", Google's own limit" if limits.platform else ""
    return f"{told}, and this computer while it is on"


def _beyond(seconds: float, rate: float | None) -> str:
    """How long at most, and for how much where the price is known."""
    most = figures.money(rate * seconds / 3600.0) if rate else ""
    return f"{most} ({figures.duration(seconds)})" if most else figures.duration(seconds)
