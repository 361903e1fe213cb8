"""The Plan page in situations that a person meets: the work fits a rented TPU, is too big for it, or needs none.

`make pictures` calls it. Each is an example's own plan with the changes named here; nothing is rented, and the compiler
is not asked.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driving import Driver
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QScrollArea

SITUATIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "plan-fits": (
        "gpt-124m", {"training.steps": 100_000, "training.global_batch": 64, "where.accelerator": "v5litepod-8"},
    ),
    "plan-not-worth-it": ("digits", {"where.place": "cloud"}),
    "plan-too-big": ("gpt-124m", {"training.global_batch": 64, "where.accelerator": "v5litepod-1"}),
}  # fmt: skip


def photograph(driver: Driver, out: Path) -> None:
    import pictures

    for name, (example, changes) in SITUATIONS.items():
        model = pictures.planned(driver, example)
        model.apply(dict(changes))
        driver.wait(functools.partial(planned, model, changes), 60, "The changed plan was not ready.")
        holder: Any = driver.window.page("plan")
        card = holder.page.verdict
        card.unfold(True)
        driver.linger(0.5)
        area = card.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            area.verticalScrollBar().setValue(card.mapTo(area.widget(), QPoint(0, 0)).y() - 16)
        driver.linger(0.5)
        pictures.both(driver, out, name)


def planned(model: Any, changes: Mapping[str, Any]) -> bool:
    """Whether the plan that stands there is made with *changes*."""
    view = model.state.value
    if view.plan is None or view.looking or view.stale:
        return False
    return all(view.plan.job[path] == value for path, value in changes.items())
