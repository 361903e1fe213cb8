"""How a run went: what turns steps and times of its points into seconds of training, epochs, examples and dollars."""

from __future__ import annotations

from dataclasses import dataclass

from tpu_studio.domain.spending import Spending

AXES = ("time", "step", "epoch", "examples", "cost")


@dataclass(frozen=True)
class Course:
    """Attributes:
    origin: When training began, seconds since 1970.
    cuts: (from, to), in order, in which nothing was trained.
    batch: Examples in a step.
    spent: What it had spent when; None where time costs nothing.
    """

    origin: float = 0.0
    cuts: tuple[tuple[float, float], ...] = ()
    steps_per_epoch: float = 1.0
    batch: int = 1
    spent: Spending | None = None
