"""The Plan page: from a key or a click to new numbers on the screen, beside the planner's own time for that plan.

    python benchmarks/bench_plan_edit.py

The real window (offscreen without a display) with the examples of a table, pictures and text, planned for this
computer, the practice cloud and Google Cloud. Keys and clicks are Qt's own test events; the clock runs from before the
event until the window has painted the estimate that belongs to it and nothing more waits to be done. The peer is
`make_plan` called on the same job without Qt: what the numbers themselves cost. Beside it stands the processor time of
the window's thread, which other programs of this computer do not lengthen.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import apart

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ("sign-digits", "diamonds", "shakespeare")
PLACES = ("computer", "practice", "cloud")
GOAL_MS, ROUNDS = 150.0, 3


def run() -> list[dict[str, Any]]:
    edits = [Edit(f"{example}, {place}", *rest) for example, place, *rest in apart.measured(__file__)]
    for where in dict.fromkeys(edit.where for edit in edits):
        print(line(where, [edit for edit in edits if edit.where == where]), file=sys.stderr)
    for what in dict.fromkeys(edit.what for edit in edits):
        print(line(what, [edit for edit in edits if edit.what == what]), file=sys.stderr)
    ours, peer = [edit.ms for edit in edits], [edit.planner_ms for edit in edits]
    found = [
        figure(f"plan edit to numbers painted ({len(edits)} edits), 95th percentile", ours, peer, 0.95, GOAL_MS),
        figure("the same, median", ours, peer, 0.5, None),
    ]
    worst = max(edits, key=lambda edit: edit.ms)
    busy = percentile([edit.thread_ms for edit in edits], 0.95)
    found.append({"name": "the same, processor time, 95th percentile", "ours": busy, "unit": "ms", "passed": None})
    found.append({"name": f"the slowest: {worst.what} ({worst.where})", "ours": worst.ms, "unit": "ms", "passed": None})
    return found


class Edit(NamedTuple):
    """*ms*: to the numbers painted; *thread_ms*: of it, the window's thread at work; *planner_ms*: the peer."""

    where: str
    what: str
    ms: float
    thread_ms: float
    planner_ms: float


def figure(name: str, ours: list[float], peer: list[float], share: float, goal: float | None) -> dict[str, Any]:
    mine, other = percentile(ours, share), percentile(peer, share)
    return {
        "name": name,
        "ours": mine,
        "peer": other,
        "unit": "ms",
        "ratio": mine / other,
        "goal": "" if goal is None else f"at most {goal:g}",
        "passed": None if goal is None else mine <= goal,
    }


def line(name: str, edits: list[Edit]) -> str:
    ms = [edit.ms for edit in edits]
    half, most = percentile(ms, 0.5), percentile(ms, 0.95)
    return f"  {name:<34}{len(ms):>4} edits  median {half:>5.0f} ms  95th percentile {most:>5.0f} ms"


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


# --------------------------------------------------------------------------------------------- in a process of its own


def measure() -> list[tuple[Any, ...]]:
    """(example, place, what was done, ms, ms of the thread, ms of the planner) of each edit."""
    sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
    with tempfile.TemporaryDirectory(prefix="tpu-studio-plan-") as home:
        os.environ["TPU_STUDIO_HOME"] = home
        os.environ["TPU_STUDIO_ENGINE"] = str(Path(home) / "none")  # nothing is timed behind the edits
        from driving import Driver

        driver = Driver()
        try:
            driver.open()
            driver.window.resize(1440, 900)
            return [
                (example, place, *edit)
                for example in EXAMPLES
                for place in PLACES
                for edit in Edits(driver, example, place).all()
            ]
        finally:
            driver.end()


Timed = tuple[str, float, float, float]


class Edits:
    """What a person changes on the Plan page of one example at one place."""

    def __init__(self, driver: Any, example: str, place: str) -> None:
        import pictures

        self.driver = driver
        self.model = pictures.planned(driver, example)
        holder: Any = driver.window.page("plan")
        self.page = holder.page
        self._click_segment(self.page.where_section.place, place)
        driver.wait(lambda: self.model.state.value.plan is not None, 30, "No plan for this place.")
        driver.linger(0.5)

    def all(self) -> Iterator[Timed]:
        settings, where = self.page.settings_section, self.page.where_section
        length = settings.box("training.epochs") or settings.box("training.steps")
        for number in range(ROUNDS):
            batch = settings.box("training.global_batch")
            yield from self._typed("a key in Batch size", batch, ("64", "48", "128")[number])
            yield from self._typed("a key in the length", length, ("9", "31", "120")[number])
            precision = settings.box("training.precision").segmented
            plan = self.model.state.value.plan
            now = plan.job.training.precision
            yield from self._clicked("a click on Precision", precision, now, ("bfloat16", "float32"))
            yield from self._clicked("a click on Framework", where.framework, plan.framework, ("jax", "tensorflow"))
            if self.model.state.value.rented:
                yield from self._rented(where.rented)
            yield self._timed("a click on Undo", partial(self._click, self.page.undo))

    def _rented(self, box: Any) -> Iterator[Timed]:
        yield from self._clicked("a click on Capacity type", box.tier, "on-demand", ("spot", "on-demand"))
        for choice in self.model.state.value.slice_choices:
            card = box.cards.card(choice.accelerator)
            if not card.isChecked():
                yield self._timed("a click on a TPU", partial(self._click, card))

    def _clicked(self, what: str, segmented: Any, now: str, keys: tuple[str, ...]) -> Iterator[Timed]:
        """Every other one than what holds *now*, then back: each click changes something."""
        for key in sorted(keys, key=lambda key: key == now):
            yield self._timed(what, partial(self._click_segment, segmented, key))

    def _typed(self, what: str, box: Any, text: str) -> Iterator[Timed]:
        """Each letter is an edit of its own: the numbers follow every one."""
        from PySide6.QtCore import Qt
        from PySide6.QtTest import QTest

        self._click(box.line)
        QTest.keyClick(box.line, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        self.driver.app.processEvents()
        for letter in text:
            yield self._timed(what, partial(QTest.keyClicks, box.line, letter))

    def _timed(self, what: str, act: Callable[[], None]) -> Timed:
        """Raises GaveUp: the numbers did not come, or nothing had to be painted for them."""
        from tpu_studio.planner.make import make_plan

        self._settle()
        before = self.model.state.value.plan
        painted = watch(self.page.card)
        begun, worked = time.perf_counter(), time.thread_time()
        act()
        give_up = begun + 20
        while not painted.seen or self._same(before):
            self.driver.app.processEvents()
            if time.perf_counter() > give_up:
                raise RuntimeError(f"{what}: no new numbers were painted")
        self.driver.app.processEvents()
        ms, thread_ms = (time.perf_counter() - begun) * 1000, (time.thread_time() - worked) * 1000
        painted.end()
        view = self.model.state.value
        begun = time.perf_counter()
        make_plan(view.job, view.look, now=time.time())
        return what, ms, thread_ms, (time.perf_counter() - begun) * 1000

    def _same(self, before: Any) -> bool:
        view = self.model.state.value
        return view.plan is None or view.plan is before or view.stale

    def _settle(self) -> None:
        """Nothing of the edit before is left to be drawn."""
        self.driver.linger(0.3)

    def _click_segment(self, segmented: Any, key: str) -> None:
        self._click(segmented.segment(key))

    def _click(self, widget: Any) -> None:
        if self.page.scroller.isAncestorOf(widget):
            self.page.scroller.ensureWidgetVisible(widget)
        self.driver.click(widget)


def watch(card: Any) -> Any:
    """``seen``: whether anything inside *card* was painted since."""
    from PySide6.QtCore import QEvent, QObject
    from PySide6.QtWidgets import QWidget

    class Watch(QObject):
        seen = False

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            self.seen = self.seen or event.type() == QEvent.Type.Paint
            return False

        def end(self) -> None:
            for widget in widgets:
                widget.removeEventFilter(self)

    watching = Watch()
    widgets = [card.figures.headline, card.figures.subline, *(row.value for row in card.figures.rows.values())]
    widgets += [card.figures.memory_row.value, card.figures.memory]
    assert all(isinstance(widget, QWidget) for widget in widgets)
    for widget in widgets:
        widget.installEventFilter(watching)
    return watching


if __name__ == "__main__":
    if "--measure" in sys.argv:
        print(json.dumps(measure()))
    else:
        for one in run():
            print(one)
