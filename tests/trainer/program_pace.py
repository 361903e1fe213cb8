"""Run in the engine: the real loop over a device that only counts, whose steps take 0.2 s of a clock of its own.

Prints how many steps each call made, and for how many of them which time was told.
"""

from __future__ import annotations

import json
import os
import tempfile
import types
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data.opened import ArraySource, Opened
from tpu_studio.trainer import loop as loops
from tpu_studio.trainer.feed import Feed
from tpu_studio.trainer.order import Order
from tpu_studio.trainer.reports import Reports
from tpu_studio.trainer.schedule import Schedule
from tpu_studio.trainer.stages import FOREVER, Stage
from tpu_studio.trainer.words import Events

STEPS, MOST, STEP_S = 64, 32, 0.2
clock = [1.0]
loops.time = types.SimpleNamespace(monotonic=lambda: clock[0])  # type: ignore[assignment]


class Counting:
    """Steps that are done when they are fetched, as on a device beside the processor."""

    compiles = 1

    def __init__(self) -> None:
        self.calls: list[int] = []

    def train(self, stack: Any, rates: Any, first: int, count: int) -> int:
        self.calls.append(count)
        return count

    def fetch(self, count: int) -> dict[str, Any]:
        clock[0] += count * STEP_S + (10.0 if len(self.calls) == 1 else 0.0)  # the first call compiles
        return {name: np.ones(count, np.float32) for name in ("loss", "grad_norm")}


source = ArraySource({"x": np.zeros((100, 1), np.float32), "y": np.zeros(100, np.float32)})
steps, events = Counting(), Events(os.open(os.devnull, os.O_WRONLY))
feed = Feed(source, Order(100, 10, seed=1), MOST, lambda step: loop.cut(step))
stage = Stage(0, FOREVER, None, None, steps, source, source, False, 10, MOST)
settings = loops.Settings("regression", FOREVER, FOREVER, 0, "stop", 1)
with tempfile.TemporaryDirectory() as folder:
    loop = loops.Loop(
        Path(folder),
        settings,
        stage,
        Opened("regression", source, source, {}),
        lambda stage: feed,
        Schedule(1e-3, 0.0, "constant", (FOREVER,)),
        loops.Progress(),
        events,
        Reports(events, 10),
        in_units=lambda values: values,
        enter=lambda step, arrays: stage,
        command=lambda: {"verb": "stop"} if loop.progress.step >= STEPS else None,
        extended=lambda command: (),
    )
    loop.train()
    loop.drain()
    loop.close()
told = loop.reports.totals
print(json.dumps({"calls": steps.calls, "steps": told.steps, "seconds": told.seconds}))
