"""What the workers of a run tell of their TPU chips: how busy, and how full their memory. Pure.

`domain.folding` keeps the latest ``device`` event of each worker and sums up; here stands what of it makes sense. A run
whose workers tell nothing (on this computer; where libtpu is silent) has nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

WORKERS_AT_MOST = 4096  # the largest slice has fewer hosts


@dataclass(frozen=True)
class Memory:
    """Bytes of one chip's memory (HBM): *used* of *total*."""

    used: float
    total: float

    @property
    def share(self) -> float:
        return self.used / self.total


@dataclass(frozen=True)
class Worker:
    """The latest word of one worker.

    Attributes:
        duty_cycle: Share of the time in which its chips computed, 0 to 1, the mean over them; None: not told.
        memory: Of its fullest chip; None: not told.
    """

    worker: int
    duty_cycle: float | None
    memory: Memory | None


@dataclass(frozen=True)
class Chips:
    """Over all workers that tell. *least*, *most*: the least and the most busy; *fullest*: whose memory is fullest."""

    workers: tuple[Worker, ...] = ()

    @property
    def least(self) -> Worker | None:
        return min(self._busy, key=lambda one: one.duty_cycle or 0.0, default=None)

    @property
    def most(self) -> Worker | None:
        return max(self._busy, key=lambda one: one.duty_cycle or 0.0, default=None)

    @property
    def fullest(self) -> Memory | None:
        known = [one.memory for one in self.workers if one.memory is not None]
        return max(known, key=lambda one: one.share, default=None)

    @property
    def duty_cycle(self) -> float | None:
        """The mean over workers, which have the same number of chips each."""
        told = [one.duty_cycle for one in self._busy if one.duty_cycle is not None]
        return sum(told) / len(told) if told else None

    @property
    def _busy(self) -> list[Worker]:
        return [one for one in self.workers if one.duty_cycle is not None]


def worker_of(worker: int, fields: Mapping[str, object]) -> Worker | None:
    """What the ``device`` event of *worker* tells of its chips; None when nothing, or nothing that can be."""
    duty = _number(fields.get("duty_cycle"))
    used, total = _number(fields.get("hbm_used_bytes")), _number(fields.get("hbm_total_bytes"))
    busy = duty if duty is not None and 0.0 <= duty <= 1.0 else None
    memory = Memory(used, total) if used is not None and total and 0.0 <= used <= total else None
    return Worker(worker, busy, memory) if busy is not None or memory is not None else None


def chips_of(devices: Mapping[int, Mapping[str, object]]) -> Chips:
    """*devices*: the latest ``device`` event of each worker."""
    told = (worker_of(worker, fields) for worker, fields in sorted(devices.items()))
    return Chips(tuple(one for one in told if one is not None))


def as_json(chips: Chips) -> list[dict[str, object]]:
    """One object a worker, with the names that the event has; the command line's ``devices``."""
    found = []
    for one in chips.workers:
        told: dict[str, object] = {"worker": one.worker}
        if one.duty_cycle is not None:
            told["duty_cycle"] = one.duty_cycle
        if one.memory is not None:
            told |= {"hbm_used_bytes": one.memory.used, "hbm_total_bytes": one.memory.total}
        found.append(told)
    return found


def _number(value: Any) -> float | None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None
