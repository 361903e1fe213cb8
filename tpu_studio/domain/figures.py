"""Figures as people read them: counts, durations, money, shares, bytes. For window, command line and reports.

Two or three significant figures, thousands separated, never false precision (design, §7).
"""

from __future__ import annotations

import math
import time

from tpu_studio.wire import kinds, metrics, tasks
from tpu_studio.wire.events import is_time


def noun(kind: str, task: str = "") -> str:
    """What the examples of that kind of data are called; of *task*, where it is known already."""
    if task in tasks.IDS and (items := tasks.by_id(task).items):
        return items
    known = kinds.find(kind)
    return known.items if known else "examples"


def count(number: float) -> str:
    """12,345"""
    return f"{round(number):,}"


def figure(value: float | None, digits: int = 3) -> str:
    """*value* with about *digits* significant figures: 0.0412, 1.98, 3,184; "–" when unknown."""
    if value is None:
        return "–"
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite"
    if value == 0:
        return "0"
    size = int(f"{value:.{digits - 1}e}".partition("e")[2])  # after rounding: 0.0999999 is 0.1
    if size < -4 or size > 15:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - size)}f}"


def datum(value: float | None, digits: int = 3) -> str:
    """A value out of somebody's data, or one foretold: 1900, 20240131, 0.2. Whole numbers to the last digit, and no
    digits are grouped, for it may be a year or a code."""
    if value is not None and abs(value) < 1e15 and value == round(value):
        return f"{round(value)}"
    said = figure(value, digits).replace(",", "")
    return said.rstrip("0") if "." in said and "e" not in said else said


def share(value: float | None, decimals: int | None = None) -> str:
    """0.843 → 84%, 0.986 → 98.6%: a decimal where it tells something."""
    if value is None or not math.isfinite(value):
        return "–"
    if decimals is None:
        decimals = 1 if value > 0.945 and value < 1 else 0
    return f"{100 * value:.{decimals}f}%"


def duration(seconds: float | None) -> str:
    """8 s, 1 min 42 s, 34 min, 3 h 12, 2 days 4 h."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds < 2 else f"{round(seconds)} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if whole < 3600:
        return f"{round(whole / 60)} min"
    hours, minutes = divmod(round(whole / 60), 60)
    if hours < 48:
        return f"{hours} h {minutes:02d}" if minutes else f"{hours} h"
    return f"{hours // 24} days {hours % 24} h" if hours % 24 else f"{hours // 24} days"


def money(usd: float | None) -> str:
    """$1.84; "–" when unknown."""
    return "–" if usd is None else f"${usd:,.2f}"


def exact_money(usd: float) -> str:
    """$2.50, and to the last digit where cents do not tell it: $0.002, $2.505. For what a person typed."""
    return money(usd) if round(usd, 2) == usd else f"${usd:,.10g}"


def money_between(least: float, most: float) -> str:
    """$0.05–$0.09, in whole cents downwards and upwards, so that any bill in between lies in it; $0.05 where both are
    the same to the cent, and never $0.00 of what is not nothing."""
    if 0.0 < most < 0.005:
        return "under $0.01"
    if money(least) == money(most):
        return money(least)
    cents = math.floor(round(least * 100.0, 6)), math.ceil(round(most * 100.0, 6))
    return f"{money(cents[0] / 100.0)}–{money(cents[1] / 100.0)}"


def size(number: float) -> str:
    """Bytes as 640 kB, 1.4 GB (powers of 1000, as shops count)."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 999.5 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "bytes" or number >= 99.5 else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError


def clock(t: float, *, seconds: bool = False) -> str:
    """Local wall clock of *t* seconds since 1970: 14:52, 14:52:07. In the hour that comes twice when summer time ends,
    also which of the two: 02:30 CET. Of what is no time, as a damaged file may say: "an unknown time"."""
    if not is_time(t):
        return "an unknown time"
    local = time.localtime(t)
    told = time.strftime("%H:%M:%S" if seconds else "%H:%M", local)
    twice = any(time.localtime(t + apart)[:6] == local[:6] for apart in (-3600, -1800, 1800, 3600))
    return f"{told} {local.tm_zone}" if twice else told


def moment(t: float, now: float) -> str:
    """Local day of *t*, and how late while that is near *now*: today 15:13, yesterday 22:10, 24 Nov, 24 Nov 2025."""
    if not is_time(t):
        return "an unknown time"
    day, today = time.localtime(t), time.localtime(now)
    midnight = time.mktime((*today[:3], 0, 0, 0, 0, 0, -1))
    if day[:3] == today[:3]:
        return f"today {clock(t)}"
    if day[:3] == time.localtime(midnight - 1)[:3]:
        return f"yesterday {clock(t)}"
    return time.strftime("%d %b" if day[0] == today[0] else "%d %b %Y", day).lstrip("0")


def date(t: float) -> str:
    """27 Nov 2026, 15:13."""
    return f"{time.strftime('%d %b %Y', time.localtime(t)).lstrip('0')}, {clock(t)}" if is_time(t) else clock(t)


def metric(name: str, value: float | None) -> str:
    """A metric's value the way its kind is read: shares as percent, the rest as a figure."""
    return share(value) if metrics.by_id(name).percent else figure(value)
