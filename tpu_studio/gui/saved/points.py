"""The curves of a saved page as a plot takes them: the points that stand in the file, all in memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tpu_studio.gui.plots.source import Floats
from tpu_studio.viewmodels.onepage.points import Series


@dataclass(frozen=True)
class SavedCurve:
    """*steps* never fall; a value that is no number is a gap."""

    steps: Floats
    values: Floats

    @classmethod
    def of(cls, points: Series) -> SavedCurve:
        steps = np.array([step for step, _ in points], float)
        return cls(steps, np.array([np.nan if value is None else value for _, value in points], float))

    def window(self, x_min: float, x_max: float, buckets: int) -> tuple[Floats, Floats, Floats]:
        first = max(0, int(np.searchsorted(self.steps, x_min)) - 1)
        end = min(len(self.steps), int(np.searchsorted(self.steps, x_max, "right")) + 1)
        steps, values = self.steps[first:end], self.values[first:end]
        if len(steps) <= max(2, buckets):
            return steps, values, values
        starts = np.unique(np.linspace(0, len(steps), max(2, buckets), endpoint=False).astype(int))
        return steps[starts], np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)

    def last(self) -> tuple[float, float] | None:
        known = np.flatnonzero(np.isfinite(self.values))
        return (float(self.steps[known[-1]]), float(self.values[known[-1]])) if len(known) else None

    def start(self) -> float:
        return float(self.steps[0])
