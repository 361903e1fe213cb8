"""The table of `make chaos`: the figures that the promises are about, for counting and for real training side by side.

A figure that not every cell could be judged by says in how many it was not: 0 always means looked for and not found.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

from chaos_judge import KINDS

Record = dict[str, Any]


def failed(record: Record) -> bool:
    return not record["passed"] and not record.get("by_load")


def table(records: list[Record]) -> str:
    real = [record for record in records if record["name"].startswith("real: ")]
    counted = [record for record in records if record not in real]
    groups = {"counting": counted, "real training": real}
    deleted = [one for one in records if not one.get("guessed")]
    shown = {name: some for name, some in groups.items() if some} | ({"all": records} if counted and real else {})
    rows: list[tuple[str, Callable[[list[Record]], object]]] = [
        ("cells", len),
        ("failed", lambda some: sum(map(failed, some))),
        ("failed on a busy computer, passed alone", lambda some: sum(bool(one.get("by_load")) for one in some)),
        *((title, _of_kind(kind)) for kind, title in KINDS.items()),
        ("most over cap and margin, $", lambda some: max((one.get("over_usd", 0.0) for one in some), default=0.0)),
        ("cost shown within 1 % of the bill", lambda some: _share(_billed(some), _is("exact"))),
        ("… where a deletion ended it", lambda some: _share(_billed([o for o in some if o in deleted]), _is("exact"))),
        ("not so, but the range shown holds the bill", lambda some: _share(_billed(some), _is("range"))),
        ("… widest of those ranges, of the bill", lambda some: _widest(_billed(some))),
        ("neither", lambda some: _share(_billed(some), _is("wrong"))),
        ("cost error in the cloud's seconds, median", lambda some: _errors(some, statistics.median)),
        ("… and the largest", lambda some: _errors(some, max)),
        ("fault met", lambda some: _share(some, lambda one: bool(one.get("met")))),
        ("most steps made again after a preemption", lambda some: max(_replays(some, gone=False), default=0)),
        ("… after a machine that vanished", lambda some: max(_replays(some, gone=True), default=0)),
        ("longest that a cell stood still, s", lambda some: max(_still(some), default=0.0)),
        ("cell seconds", lambda some: round(sum(one["seconds"] for one in some))),
    ]
    lines = [f"{'':45s}" + "".join(f" {name:>17s}" for name in shown)]
    lines += [f"{title:45s}" + "".join(f" {figure(some)!s:>17s}" for some in shown.values()) for title, figure in rows]
    ends = Counter(str(record.get("reason", "-")) for record in records)
    lines.append("ended as: " + ", ".join(f"{name} {count}" for name, count in ends.most_common()))
    return "\n".join(line.rstrip() for line in lines)


def _of_kind(kind: str) -> Callable[[list[Record]], str]:
    """How many were found; by load is not taken out of what load must never cause."""

    def figure(some: list[Record]) -> str:
        found = sum(one.get("kinds", {}).get(kind, 0) for one in some if not one.get("by_load"))
        unseen = sum(kind not in one.get("judged", ()) for one in some)
        if kind in ("late", "words", "cost", "rent") or not unseen:  # only of cells that are off, ended, were billed
            return f"{found} of {len(some) - unseen}" if unseen else str(found)
        return f"{found} ({unseen} unseen)"

    return figure


def _billed(some: list[Record]) -> list[Record]:
    return [one for one in some if one.get("billed") and "usd" in one]


def _is(kind: str) -> Callable[[Record], bool]:
    """How the cost was shown: see `chaos_judge.cost_kind`; a range is never counted as exact."""
    return lambda one: one.get("cost") == kind


def _widest(some: list[Record]) -> str:
    widths = [(one["usd_at_most"] - one["usd_at_least"]) / one["billed"] for one in some if one.get("cost") == "range"]
    return f"{max(widths):.0%}" if widths else "-"


def _share(some: list[Record], holds: Callable[[Record], bool]) -> str:
    return f"{sum(map(holds, some))} of {len(some)}"


def _errors(some: list[Record], of: Callable[[list[float]], float]) -> object:
    errors = [abs(one["error_s"]) for one in some if "error_s" in one]
    return round(of(errors), 1) if errors else "-"


def _replays(some: list[Record], *, gone: bool) -> list[int]:
    return [steps for one in some if ("gone" in one["name"]) == gone for steps in one.get("replays") or ()]


def _still(some: list[Record]) -> list[float]:
    return [one["load"]["latest_s"] for one in some if "load" in one]
