"""What the practice cloud charges, by the second and SKU, in its own fake dollars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from tpu_studio.practice.clock import Clock
from tpu_studio.practice.state import Database, Record

_NOTHING: Mapping[str, float] = MappingProxyType({})


def whole_usd(lines: Iterable[Mapping[str, Any]], *, to_come: bool = False) -> float:
    """The whole bill of *lines*, in USD; *to_come*: with what lies in buckets until their rules delete it."""
    total = 0.0
    for line in lines:
        total += float(line["usd"] or 0.0) + sum(float(one["usd"]) for one in line.get("besides", ()))
        total += float(line.get("usd_to_come", 0.0)) if to_come else 0.0
    return total


class Meter:
    """A line is opened once per resource and SKU, and closed once; all times in practice seconds since 1970."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db, self._clock = db, clock
        self.more: list[Callable[[], list[dict[str, object]]]] = []
        """Each tells what is charged of itself until now, as lines of the bill: what lies in buckets."""

    def begin(
        self, name: str, sku: str, usd_per_hour: float | None, at: float, besides: Mapping[str, float] = _NOTHING
    ) -> None:
        """A line that runs stays as it is.

        Args:
            usd_per_hour: None: the price is unknown, the line counts seconds only.
            besides: What is charged for the same time: USD an hour by SKU, disks and addresses.
        """
        with self._db.transaction():
            if self._db.get("meter-open", name) is None:
                line = {"sku": sku, "usd_per_hour": usd_per_hour, "begin": at, "besides": dict(besides)}
                self._db.put("meter-open", name, line)

    def end(self, name: str, at: float) -> None:
        with self._db.transaction():
            line = self._db.get("meter-open", name)
            if line is None:
                return
            self._db.delete("meter-open", name)
            number = self._db.count("meter")
            self._db.put("meter-line", f"{number:09d}", {**line, "name": name, "end": max(at, line["begin"])})

    def waive(self, name: str) -> None:
        """Nothing is charged for what runs under *name*: it never came to life."""
        self._db.delete("meter-open", name)

    def charge(self, name: str, sku: str, usd: float, at: float) -> None:
        """One charge that is not by time: requests, traffic, what lay in a bucket until now."""
        with self._db.transaction():
            line = self._db.get("meter-sum", f"{sku}/{name}") or {"name": name, "sku": sku, "usd": 0.0, "count": 0}
            line.update(usd=line["usd"] + usd, count=line["count"] + 1, at=at)
            self._db.put("meter-sum", f"{sku}/{name}", line)

    def bill(self) -> list[Record]:
        """``{"name","sku","usd_per_hour","begin","end","seconds","usd","open","besides":[{"sku","usd_per_hour","usd"}]}``
        each; ``usd`` None: price unknown; ``besides`` is no part of it. What is not by time has no ``begin``, but a
        ``count``; what lies in a bucket has ``usd_to_come`` besides, until the bucket's rules delete it."""
        now = self._clock.now()
        with self._db.transaction():
            closed = [record for _, record in self._db.list("meter-line")]
            running = [{**record, "name": name} for name, record in self._db.list("meter-open")]
            sums = [record for _, record in self._db.list("meter-sum")]
        told = [line for one in self.more for line in one()]
        return [*(_line(record, now) for record in (*closed, *running)), *sums, *told]


def _line(record: Record, now: float) -> Record:
    end = record.get("end")
    seconds = (now if end is None else end) - record["begin"]
    rate = record["usd_per_hour"]
    return {
        "name": record["name"],
        "sku": record["sku"],
        "usd_per_hour": rate,
        "begin": record["begin"],
        "end": end,
        "seconds": seconds,
        "usd": None if rate is None else rate * seconds / 3600,
        "open": end is None,
        "besides": [
            {"sku": sku, "usd_per_hour": each, "usd": each * seconds / 3600}
            for sku, each in record.get("besides", {}).items()
        ],
    }
