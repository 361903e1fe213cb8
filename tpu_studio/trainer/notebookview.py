"""What a notebook shows of a run: its events folded to a few figures, one line of words and a small curve as SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tpu_studio.wire import metrics
from tpu_studio.wire.events import Event, complete_lines, decode
from tpu_studio.wire.runfolder import events_names
from tpu_studio.wire.visible import visible

POINTS = 200
_PHASES = {
    "setting-up": "Setting up",
    "compiling": "Compiling",
    "training": "Training",
    "saving": "Saving",
    "done": "Done",
}
_REASONS = {
    "completed": "All steps are done.",
    "early-stopped": "It has stopped early: the model no longer got better.",
    "stopped-by-user": "It was stopped, and the model is kept. Run the cell again to go on.",
    "time-limit": "It has reached its time limit. The last copy is kept.",
}


class Course:
    """The fold over the events of all attempts, read as they grow.

    Attributes:
        reason: Why the latest attempt has ended, "" while it has not.
        checkpoints: How many copies of the state were told of.
        losses: step → loss; what a later attempt begins anew is dropped.
    """

    def __init__(self) -> None:
        self.phase, self.detail, self.reason = "", "", ""
        self.facts: dict[str, Any] = {}
        self.step = self.steps = self.checkpoints = 0
        self.losses: dict[int, float] = {}
        self.last: dict[str, float] = {}
        self.examples_per_s = self.steps_per_s = 0.0
        self._read: dict[str, int] = {}

    def read(self, run: Path) -> None:
        """Take in what has been written since the last call."""
        for event in self._new(run):
            self._apply(event)

    def _new(self, run: Path) -> Iterator[Event]:
        for path in events_names(run):
            if path.name.startswith("desk-"):
                continue
            with open(path, "rb") as file:
                file.seek(self._read.get(path.name, 0))
                lines, taken = complete_lines(file.read())
            self._read[path.name] = self._read.get(path.name, 0) + taken
            yield from (event for line in lines if (event := decode(line)) is not None)

    def _apply(self, event: Event) -> None:
        if event.kind == "phase":
            self.phase, self.detail = str(event.get("phase")), str(event.get("detail") or "")
            self.reason = ""
        elif event.kind == "target":
            self.steps = int(event.get("steps") or self.steps)
        elif event.kind == "resume":
            self.step = int(event.get("step") or 0)
            self.losses = {step: loss for step, loss in self.losses.items() if step <= self.step}
        elif event.kind == "metric":
            self._metric(event)
        elif event.kind == "speed" and float(event.get("seconds") or 0) > 0:
            seconds = float(event.get("seconds"))
            self.examples_per_s = float(event.get("examples") or 0) / seconds
            self.steps_per_s = float(event.get("steps") or 0) / seconds
        elif event.kind == "checkpoint":
            self.checkpoints += 1
        elif event.kind == "end":
            self.reason, self.facts = str(event.get("reason")), dict(event.get("facts") or {})
            self.phase = "done"

    def _metric(self, event: Event) -> None:
        steps = event.get("step")
        if not isinstance(steps, list) or not steps:
            return
        for name, values in event.fields.items():
            if name != "step" and isinstance(values, list) and values and isinstance(values[-1], (int, float)):
                self.last[name] = float(values[-1])
        for step, loss in zip(steps, event.get(metrics.training_loss().id) or (), strict=False):
            self.losses[int(step)] = float(loss)
            self.step = max(self.step, int(step))

    def ending(self) -> str:
        raw = str(self.facts.get("raw") or "")
        return _REASONS.get(self.reason, f"It has ended: {self.reason}. {raw[-600:]}".strip())

    def words(self) -> str:
        """Training · step 300 of 900 · loss 0.41 · val_accuracy 93.0 % · 1,240 examples/s · 2 min left"""
        detail = f": {self.detail}" if self.detail and not self.step else ""
        parts = [_PHASES.get(self.phase, self.phase or "Starting") + detail]
        if self.step:
            parts.append(f"step {self.step:,}" + (f" of {self.steps:,}" if self.steps else ""))
        for metric in metrics.all_metrics():
            if metric.headline and metric.id in self.last:
                value = self.last[metric.id]
                parts.append(f"{metric.id} {value:.1%}" if metric.unit == "share" else f"{metric.id} {value:.4g}")
        if self.phase == "training" and self.examples_per_s:
            parts.append(f"{self.examples_per_s:,.0f} examples/s")
            if self.steps_per_s and self.steps > self.step:
                parts.append(f"{_lasting((self.steps - self.step) / self.steps_per_s)} left")
        return " · ".join(parts)


def page(course: Course, run: str, told: str = "") -> str:
    """One line, and the loss as a curve without any package. *told*: words instead of the course's own."""
    line = html.escape(visible(told or course.words()))
    return (
        f'<div style="font-family:sans-serif;font-size:14px"><b>{html.escape(run)}</b> &nbsp;{line}'
        f"{curve(course.losses)}</div>"
    )


def curve(losses: dict[int, float], width: int = 600, height: int = 80) -> str:
    """The finite losses as an SVG line, `POINTS` at most (means of neighbours); "" below two."""
    points = [(step, loss) for step, loss in sorted(losses.items()) if math.isfinite(loss)]
    if len(points) < 2:
        return ""
    group = math.ceil(len(points) / POINTS)
    groups = [points[at : at + group] for at in range(0, len(points), group)]
    means = [(each[-1][0], sum(loss for _, loss in each) / len(each)) for each in groups]
    low, high = min(loss for _, loss in means), max(loss for _, loss in means)
    first, last = means[0][0], means[-1][0]
    across, down = width / max(1, last - first), (height - 8) / ((high - low) or 1.0)
    places = " ".join(f"{(step - first) * across:.1f},{4 + (high - loss) * down:.1f}" for step, loss in means)
    return (
        f'<svg role="img" aria-label="loss, from {high:.4g} to {low:.4g}" viewBox="0 0 {width} {height}" '
        f'style="display:block;max-width:{width}px"><polyline points="{places}" fill="none" stroke="#1a73e8" '
        'stroke-width="1.5"/></svg>'
    )


def _lasting(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
