"""What the practice cloud charges, by the second and SKU, in its own fake dollars."""

from __future__ import annotations

from typing import Any

from tpu_studio.practice.clock import Clock
from tpu_studio.practice.state import Database


class Meter:
    """A line is opened once per resource and SKU, and closed once; all times in practice seconds since 1970."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db, self._clock = db, clock

    def begin(self, name: str, sku: str, usd_per_hour: float | None, at: float) -> None:
        """*usd_per_hour* None: the price is unknown, the line counts seconds only. A line that runs stays as it is."""
        with self._db.transaction():
            if self._db.get("meter-open", name) is None:
                self._db.put("meter-open", name, {"sku": sku, "usd_per_hour": usd_per_hour, "begin": at})

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
        """One charge that is not by time: requests, egress."""
        with self._db.transaction():
            line = self._db.get("meter-sum", f"{sku}/{name}") or {"name": name, "sku": sku, "usd": 0.0, "count": 0}
            line.update(usd=line["usd"] + usd, count=line["count"] + 1, at=at)
            self._db.put("meter-sum", f"{sku}/{name}", line)

    def bill(self) -> list[dict[str, Any]]:
        """``{"name","sku","usd_per_hour","begin","end","seconds","usd","open"}`` each; ``usd`` None: price unknown.
        What is not by time has no ``begin``, but a ``count``."""
        now = self._clock.now()
        with self._db.transaction():
            closed = [record for _, record in self._db.list("meter-line")]
            running = [{**record, "name": name} for name, record in self._db.list("meter-open")]
            sums = [record for _, record in self._db.list("meter-sum")]
        return [*(_line(record, now) for record in (*closed, *running)), *sums]


def _line(record: dict[str, Any], now: float) -> dict[str, Any]:
    end = record.get("end")
    seconds = (now if end is None else end) - record["begin"]
    rate = record["usd_per_hour"]
    return {
        "name": record["name"], "sku": record["sku"], "usd_per_hour": rate, "begin": record["begin"], "end": end,
        "seconds": seconds, "usd": None if rate is None else rate * seconds / 3600, "open": end is None,
    }  # fmt: skip
