"""The Plan page in situations that a person meets: the work fits a rented TPU, is too big for it, needs none, or its
pictures come too slowly.

`make pictures` calls it. Each is an example's own plan with the changes named here; nothing is rented, and the compiler
is not asked. The slow pictures are those of Learn's chapter "Feeding the TPU"; reading them is really timed.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from driving import Driver
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QScrollArea

SITUATIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "plan-fits": (
        "gpt-124m",
        {"training.global_batch": 16, "where.accelerator": "v6e-1"},
    ),
    "plan-not-worth-it": ("digits", {"where.place": "cloud"}),
    "plan-too-big": ("gpt-124m", {"training.global_batch": 256, "where.accelerator": "v5litepod-1"}),
}


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
    photograph_waiting(driver, out)


def photograph_waiting(driver: Driver, out: Path) -> None:
    """Photos that a TPU would wait for; the note is pressed, taken back, and stands there again."""
    import pictures

    from tpu_studio.local import photos
    from tpu_studio.wire.resources import resource_path

    with TemporaryDirectory(prefix="tpu-studio-photos-") as folder:
        job = photos.lay_out(Path(folder), resource_path("learn", "large-photos.tpujob"))
        model = pictures.planned(driver, job)
        driver.wait(lambda: planned(model, {}) and told(model), 120, "Reading the pictures was not timed.")
        page: Any = driver.window.page("plan")
        page.page.verdict.unfold(False)
        driver.linger(1)
        pictures.both(driver, out, "plan-data-too-slow")
        fix = told(model).fix
        model.apply(dict(fix))
        driver.wait(lambda: planned(model, fix) and not told(model), 60, "The press did not end the waiting.")
        model.undo()
        driver.wait(lambda: planned(model, {}) and told(model), 60, "The press was not taken back.")


def told(model: Any) -> Any:
    return next((check for check in model.state.value.checks if check.id == "advice-tpu-waits"), None)


def planned(model: Any, changes: Mapping[str, Any]) -> bool:
    """Whether the plan that stands there is made with *changes*."""
    view = model.state.value
    if view.plan is None or view.looking or view.stale:
        return False
    return all(view.plan.job[path] == value for path, value in changes.items())
