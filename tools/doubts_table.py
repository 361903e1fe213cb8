"""The tables of `make doubts`: how each doubt ended alone, whether it was met at all, and every world in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chaos_table import Record, failed


@dataclass
class Outcome:
    """Of one doubt answered one way, alone.

    Attributes:
        met: In so many of the worlds the practice cloud came to where it makes a difference.
        ended: How often for which reason.
        failed: Names of the worlds in which something did not hold.
    """

    played: int = 0
    met: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    failed: list[str] = field(default_factory=list)


def by_doubt(records: Sequence[tuple[tuple[str, ...], Record]]) -> dict[str, Outcome]:
    """Of worlds with one doubt: (its doubts, its record)."""
    found: dict[str, Outcome] = {}
    for doubts, record in records:
        if len(doubts) != 1:
            continue
        one = found.setdefault(doubts[0], Outcome())
        one.played += 1
        one.met += _id(doubts[0]) in record.get("doubts_met", ())
        one.ended[str(record.get("reason", "-"))] += 1
        if failed(record):
            one.failed.append(record["name"])
    return found


def never_met(found: dict[str, Outcome]) -> list[str]:
    """Those whose scenes show nothing of them: not played, whatever the verdicts say."""
    return [name for name, one in found.items() if not one.met]


def lines(found: dict[str, Outcome]) -> str:
    width = max(map(len, found), default=0)
    shown = []
    for name, one in found.items():
        told = ", ".join(f"{reason} {count}" for reason, count in one.ended.most_common())
        more = "" if one.met == one.played else f"   met in {one.met} of {one.played}"
        shown.append(f"{name:{width}s}  {told}{more}" + (f"   FAILED {len(one.failed)}" if one.failed else ""))
    return "\n".join(shown)


def pairs_met(records: Sequence[tuple[tuple[str, ...], Record]]) -> str:
    counts = Counter(
        sum(_id(one) in record.get("doubts_met", ()) for one in doubts) for doubts, record in records if len(doubts) > 1
    )
    told = " · ".join(f"{name} {counts[number]}" for number, name in ((2, "both met"), (1, "one"), (0, "neither")))
    return f"pairs {counts.total()}: {told}"


def markdown(records: Sequence[tuple[tuple[str, ...], str, Record]]) -> str:
    """Every world: (its doubts, its scene, its record)."""
    rows = ["| doubts | scene | end | bill | cap + worst case | holds |", "| --- | --- | --- | --- | --- | --- |"]
    for doubts, scene, record in records:
        told = " + ".join(f"`{one}`" for one in doubts)
        end = str(record.get("reason", "-"))
        bill = _usd(record.get("billed")), _usd(record.get("cap"))
        holds = "**no**" if failed(record) else "yes (2nd time)" if record.get("by_load") else "yes"
        rows.append(f"| {told} | {scene} | {end} | {bill[0]} | {bill[1]} | {holds} |")
    return "\n".join(rows) + "\n"


def told(found: dict[str, Outcome]) -> dict[str, dict[str, Any]]:
    return {name: {**vars(one)} for name, one in found.items()}


def _usd(value: object) -> str:
    return f"${value:.3f}" if isinstance(value, (int, float)) else "–"


def _id(text: str) -> str:
    return text.partition("=")[0]
