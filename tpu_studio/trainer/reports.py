"""What the trainer tells while it trains: metric and speed events, at most a few a second, every step in them.

`Reports` collects the arrays that steps gave and sends them together; the thread of ``words.Events`` writes. The time
between two reports grows when telling costs more than `SHARE` of the training time, so that telemetry never does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tpu_studio.trainer.chips import ChipWatch
from tpu_studio.trainer.state import Arrays
from tpu_studio.trainer.words import Events
from tpu_studio.wire import metrics
from tpu_studio.wire.utilisation import Utilisation

EVERY_S = 0.3
SHARE = 0.01  # of the time at most; half of what is allowed, since the writing thread costs about as much again
DEVICE_EVERY_S = 2.0
INPUT_BOUND_SHARE, INPUT_BOUND_OVER_S = 0.2, 5.0


@dataclass
class Spent:
    """Seconds since the last report, and what they went into."""

    steps: int = 0
    seconds: float = 0.0
    waiting: float = 0.0
    device: float = 0.0


@dataclass
class Reports:
    """Collect with `add` and `spend`, send with `send`; `due` says when."""

    events: Events
    batch: int
    every_s: float = EVERY_S
    chips: ChipWatch = field(default_factory=ChipWatch)
    utilisation: Utilisation | None = None  # None: these are no TPUs
    _columns: list[tuple[int, Arrays]] = field(default_factory=list)
    _spent: Spent = field(default_factory=Spent)
    _last: float = field(default_factory=time.monotonic)
    _device_at: float = 0.0
    _window: Spent = field(default_factory=Spent)
    _told_input_bound: bool = False
    latest: dict[str, float] = field(default_factory=dict)
    totals: Spent = field(default_factory=Spent)

    def add(self, first: int, values: Arrays) -> None:
        """Values [n] of each metric for the n steps after step *first*."""
        self._columns.append((first, values))

    def spend(self, *, steps: int, seconds: float, waiting: float, device: float) -> None:
        for spent in (self._spent, self.totals, self._window):
            spent.steps += steps
            spent.seconds += seconds
            spent.waiting += waiting
            spent.device += device

    @property
    def due(self) -> bool:
        return time.monotonic() - self._last >= self.every_s

    def send(self, compiles: int) -> None:
        """Send what was collected, if anything."""
        begun = time.thread_time()
        if self._columns:
            self._send_metrics(compiles)
        now = time.monotonic()
        if now - self._device_at >= DEVICE_EVERY_S:
            self._device_at = now
            self.chips.begin()
            self.events.send("device", worker=0, **memory(), **self.chips.latest())  # another worker is `team.Aside`'s
        cost, passed = time.thread_time() - begun, now - self._last
        self.every_s = min(2.0, max(EVERY_S, cost / SHARE)) if passed else EVERY_S
        self._last = time.monotonic()

    def _send_metrics(self, compiles: int) -> None:
        names = list(self._columns[0][1])
        steps = np.concatenate(
            [
                np.arange(first + 1, first + 1 + len(values[metrics.training_loss().id]))
                for first, values in self._columns
            ]
        )
        columns = {name: np.concatenate([values[name] for _, values in self._columns]) for name in names}
        self._columns.clear()
        self.latest.update({name: float(column[-1]) for name, column in columns.items()})
        self.events.send("metric", step=steps.tolist(), **{name: short(column) for name, column in columns.items()})
        spent, self._spent = self._spent, Spent()
        self.events.send(
            "speed",
            step=int(steps[-1]),
            steps=spent.steps,
            examples=spent.steps * self.batch,
            seconds=round(spent.seconds, 6),
            waiting_for_data_s=round(spent.waiting, 6),
            device_s=round(spent.device, 6),
            compiles=compiles,
            **self._mfu(spent),
        )
        self._watch_input()

    def _mfu(self, spent: Spent) -> dict[str, float]:
        """Over all that a step takes, the waiting too; {} off TPUs."""
        if self.utilisation is None or spent.seconds <= 0:
            return {}
        return {"mfu": float(f"{self.utilisation.mfu(spent.steps * self.batch / spent.seconds):.4g}")}

    def _watch_input(self) -> None:
        if self._window.seconds < INPUT_BOUND_OVER_S:
            return
        share = self._window.waiting / self._window.seconds
        if share > INPUT_BOUND_SHARE and not self._told_input_bound:
            self._told_input_bound = True
            busy = {name: value for name, value in self.chips.latest().items() if name == "duty_cycle"}
            facts = {"share": round(share, 2), **busy}
            self.events.send("notice", id="input-bound", level="warning", facts=facts)
        self._window = Spent()

    def point(self, step: int, values: Mapping[str, float]) -> None:
        """Send values of one step that are not measured at each (evaluation)."""
        self.latest.update(values)
        self.events.send("metric", step=[step], **{name: short(np.array([value])) for name, value in values.items()})


def short(values: object) -> list[float]:
    """Seven significant digits, as numbers whose JSON is short (a quotient of whole numbers prints as it reads)."""
    numbers = np.asarray(values, np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        digits = np.floor(np.log10(np.abs(numbers)))
        scale = 10.0 ** np.clip(np.nan_to_num(6 - digits, nan=0.0, posinf=0.0, neginf=0.0), -22, 22)
        rounded = np.where(np.isfinite(numbers), np.rint(numbers * scale) / scale, numbers)
    result: list[float] = rounded.tolist()
    return result


def memory() -> dict[str, int]:
    """Memory of this process and of the computer, in bytes, as far as the system tells."""
    import psutil

    return {
        "memory_used_bytes": int(psutil.Process().memory_info().rss),
        "memory_total_bytes": int(psutil.virtual_memory().total),
    }
