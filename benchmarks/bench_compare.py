"""Twenty runs of 500,000 points each on the Compare page: until all curves are there, and how it moves.

    python benchmarks/bench_compare.py

The runs are known to the index, as every run is that this computer trained or has listed once. The real window at
1440 × 900, offscreen without a display. Opening: from asking for them, on another page, to the first painting with all
lines. Moving: a zoom in and out by the keyboard and a walk along the axis, each step as soon as the one before it is
painted; frames a second, and the longest gap between two beats of a 5 ms heartbeat, which is what holds up a hand.
"""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import apart

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

RUNS, STEPS, STEPS_A_REPORT = 20, 500_000, 500
FRAMES = 60
OPEN_GOAL_S, FRAMES_GOAL, GAP_GOAL_MS = 1.5, 30.0, 100.0


def run() -> list[dict[str, object]]:
    """The figures for `benchmarks/run.py`; measured in a process of their own."""
    found = apart.measured(__file__)
    return [
        _figure("compare 20 × 500,000: all curves painted", found["open_s"], "s", OPEN_GOAL_S, most=True),
        _figure("compare 20 × 500,000: frames while zooming", found["zoom"], "per s", FRAMES_GOAL, most=False),
        _figure("compare 20 × 500,000: frames while moving along", found["pan"], "per s", FRAMES_GOAL, most=False),
        _figure("compare 20 × 500,000: longest gap meanwhile", found["gap_ms"], "ms", GAP_GOAL_MS, most=True),
    ]


def _figure(name: str, ours: float, unit: str, goal: float, *, most: bool) -> dict[str, object]:
    passed = ours <= goal if most else ours >= goal
    words = f"at {'most' if most else 'least'} {goal:g}"
    return {"name": name, "ours": round(ours, 2), "unit": unit, "goal": words, "passed": passed}


def measure() -> dict[str, float]:
    sys.path[:0] = [str(ROOT / "tools")]
    with tempfile.TemporaryDirectory(prefix="tpu-studio-compare-") as name:
        home = Path(os.environ.get("COMPARE_HOME") or name)
        if not (home / "runs").is_dir():
            for number in range(RUNS):
                write_run(home / "runs" / f"long-{number:02}-aaaa", number)
        os.environ["TPU_STUDIO_HOME"] = str(home)
        subprocess.run([sys.executable, "-m", "tpu_studio", "runs"], check=True, stdout=subprocess.DEVNULL)
        runs = tuple(folder.name for folder in sorted((home / "runs").iterdir()))
        warm(home, runs)
        return opened_and_moved(runs)


def warm(home: Path, runs: tuple[str, ...]) -> None:
    """Each has been read once."""
    from tpu_studio.store.index import Index

    index = Index(home)
    for run in runs:
        follower = index.follow(home / "runs" / run)
        follower.poll()
        follower.close()
    index.close()


def opened_and_moved(runs: tuple[str, ...]) -> dict[str, float]:
    from driving import Driver
    from PySide6.QtCore import QTimer

    from tpu_studio.gui.plots.canvas import PlotCanvas

    counted(PlotCanvas)
    driver = Driver()
    try:
        driver.open()
        driver.wait(lambda: driver.studio.runs.state.value.rows is not None, 60, "The list of runs did not come.")
        driver.linger(2)
        begun = time.perf_counter()
        driver.studio.runs.compared(runs)
        holder: Any = driver.window.page("compare")

        def drawn() -> bool:
            plot = getattr(getattr(holder, "page", None), "plot", None)
            ends = [one.end for one in plot.canvas.drawn] if plot is not None else []
            return len(ends) == len(runs) and None not in ends and paintings > 0

        driver.wait(drawn, 120, "The curves did not come.")
        open_s = time.perf_counter() - begun
        driver.linger(2)
        beats: list[float] = []
        heart = QTimer()
        heart.timeout.connect(lambda: beats.append(time.perf_counter()))
        heart.start(5)
        zoom, pan = frames(driver, holder.page.plot.canvas)
        heart.stop()
        gap = max(after - before for before, after in itertools.pairwise(beats))
        return {"open_s": open_s, "zoom": zoom, "pan": pan, "gap_ms": gap * 1000}
    finally:
        driver.end()


paintings = 0  # of any plot


def counted(canvas: type[Any]) -> None:
    paint = canvas.paintEvent

    def paint_and_count(self: Any, event: Any) -> None:
        global paintings
        paint(self, event)
        paintings += 1

    canvas.paintEvent = paint_and_count


def frames(driver: Any, canvas: Any) -> tuple[float, float]:
    """Of a zoom and of a walk, a second: each step waits until the one before it is painted."""
    from PySide6.QtCore import Qt
    from PySide6.QtTest import QTest

    def after(key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        before = paintings
        QTest.keyClick(canvas, key, modifier)
        end = time.perf_counter() + 10
        while paintings == before and time.perf_counter() < end:
            driver.app.processEvents()

    canvas.setFocus()
    begun, first = time.perf_counter(), paintings
    for number in range(FRAMES):
        after(Qt.Key.Key_Plus if number // 8 % 2 == 0 else Qt.Key.Key_Minus)
    zoom = (paintings - first) / (time.perf_counter() - begun)
    for _ in range(3):
        after(Qt.Key.Key_Plus)
    begun, first = time.perf_counter(), paintings
    for number in range(FRAMES):
        after(Qt.Key.Key_Left if number // 5 % 2 == 0 else Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    return zoom, (paintings - first) / (time.perf_counter() - begun)


def write_run(run: Path, number: int) -> None:
    """A run folder as the trainer and its guardian leave it after half a million steps."""
    import numpy as np

    from tpu_studio.wire import plan as plans
    from tpu_studio.wire.events import encode, event
    from tpu_studio.wire.job import parse_resolved
    from tpu_studio.wire.runfolder import PLAN

    (run / "events").mkdir(parents=True)
    name, rate = f"long-{number:02}", 0.001 * (1 + number)
    training = {"steps": STEPS, "learning_rate": rate}
    job = parse_resolved({"name": name, "model": {"name": "mlp"}, "data": {"kind": "digits"}, "training": training})
    plan = plans.Plan(job=job, task="classification", framework="jax", steps=STEPS, run=run.name, created=1.7e9)
    (run / PLAN).write_bytes(plans.dumps(plan))
    chance = np.random.default_rng(number)
    steps = np.arange(1, STEPS + 1)
    falling = (2.3 + 0.05 * number) / steps ** (0.1 + 0.01 * number)
    loss = np.round(falling * chance.normal(1.0, 0.05, STEPS), 6)
    with open(run / "events" / "a0001-w000.jsonl", "wb") as file:
        file.write(encode(event("phase", t=1.7e9, phase="training")))
        for start in range(0, STEPS, STEPS_A_REPORT):
            part, t = slice(start, start + STEPS_A_REPORT), 1.7e9 + start * 1e-3
            file.write(encode(event("metric", t=t, step=steps[part].tolist(), loss=loss[part].tolist())))
        final = {"loss": float(loss[-1]), "val_loss": float(math.fsum(loss[-100:]) / 100)}
        seconds = STEPS * 1e-3 + 10
        file.write(
            encode(event("end", t=1.7e9 + seconds, status="finished", reason="completed", steps=STEPS, final=final))
        )


if __name__ == "__main__":
    if "--measure" in sys.argv:
        import json

        print(json.dumps(measure()))
    else:
        for each in run():
            print(each)
