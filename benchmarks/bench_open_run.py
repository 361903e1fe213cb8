"""Open a finished run of 1,000,000 steps × 5 metrics to its first plot, against TensorBoard 2.21 and its fast loader.

    python benchmarks/bench_open_run.py

Both get the same points: ours as a run folder with the events that the trainer writes, TensorBoard as event files. Time
runs from where the program stands ready: for ours from a painted, empty plot in a fresh process (offscreen without a
display) over opening the index and the run to the painted plot of the loss; for TensorBoard from the moment it listens
(its data server has begun to read by then) to the last byte of the first answer over HTTP that holds every point of the
same curve. What TensorBoard's page would still have to draw is not counted. The same from the start of both processes
is told beside it. Memory is the peak resident size of ours, and the sum of the peaks of TensorBoard and its server.

The run is opened in two ways: known to the index, as every run is that this computer trained or has listed once, which
is what the goals are about; and never seen before, when a million steps are read and indexed first.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apart

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


STEPS = 1_000_000
STEPS_A_REPORT = 250
METRICS = ("loss", "accuracy", "learning_rate", "grad_norm", "throughput")
ROUNDS, PEER_ROUNDS = 5, 3
GOAL_TIME, GOAL_MEMORY = 50.0, 5.0
PEER_WITHIN_S = 100.0
LAST = "read_to_the_end"
READY, START, MEMORY = range(3)  # of what was measured: seconds from when it stands ready, from its start; bytes
Measured = tuple[float, float, float]

OURS = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from tpu_studio.gui.kit import theme
from tpu_studio.gui.plots.plot import Plot
from tpu_studio.gui.plots.scale import PLAIN, STEPS
from tpu_studio.gui.plots.source import Curve, RunCurve
from tpu_studio.store.index import Index

app = QApplication(sys.argv)
theme.install(app, mode="light")
plot = Plot("Loss", STEPS, PLAIN, waits_for="nothing")
plot.resize(560, 300)
plot.show()

def empty():
    plot.canvas.read_anew.disconnect(empty)
    QTimer.singleShot(0, begin)

def begin():
    global index, follower, curve
    plot.grab()
    print("ready", flush=True)
    index = Index(Path(sys.argv[1]))
    follower = index.follow(Path(sys.argv[2]))
    follower.poll()
    curve = follower.curve("loss")
    plot.canvas.read_anew.connect(read)
    plot.set_curves([Curve("loss", "training", RunCurve(curve), "s1", "noisy")])

def read():
    if plot.canvas.drawn and len(curve):
        plot.canvas.read_anew.disconnect(read)
        QTimer.singleShot(0, painted)

def painted():
    picture = plot.grab().toImage()
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
    print("painted", flush=True)
    ink = theme.ink("s1")
    def near(x, y):
        seen = picture.pixelColor(x, y)
        return abs(seen.red() - ink.red()) + abs(seen.green() - ink.green()) + abs(seen.blue() - ink.blue()) < 60
    columns = sum(any(near(x, y) for y in range(picture.height())) for x in range(picture.width()))
    if len(sys.argv) > 3:
        picture.save(sys.argv[3])
    print(len(curve), curve.last()[0], columns, peak, flush=True)
    follower.close()
    index.close()
    app.quit()

plot.canvas.read_anew.connect(empty)
app.exec()
"""

EVENT_FILES = """
import sys
from pathlib import Path
import numpy as np
from tpu_studio.trainer.result import points, tensorboard as tb

seen = points.read(Path(sys.argv[1]))
end = points.Points(seen.steps[-1:], seen.times[-1:], {sys.argv[3]: np.ones(1)}, {sys.argv[3]: np.ones(1, bool)})
nothing = points.Points(seen.steps[:0], seen.times[:1], {}, {})
with open(tb.write_events(Path(sys.argv[2]), nothing), "ab") as file:
    for start in range(0, len(seen.steps), 100_000):
        rows = np.arange(start, min(start + 100_000, len(seen.steps)))
        each = (np.frombuffer(tb.framed(tb.events(seen, [name], rows)), np.uint8) for name in seen.columns)
        file.write(np.concatenate([one.reshape(len(rows), -1) for one in each], axis=1).tobytes())
    file.write(tb.framed(tb.events(end, [sys.argv[3]], np.arange(1))))
"""


def run() -> list[dict[str, object]]:
    """The figures for `benchmarks/run.py`."""
    engine, peer_python = engine_python(), tensorboard_python()
    environment = apart.environment()
    with tempfile.TemporaryDirectory(prefix="open-run-") as name:
        folder = Path(name)
        home = folder / "home"
        known = home / "runs" / "million-aaaa"
        write_run(known)
        write_tensorboard(engine, known, folder / "tensorboard")
        opened(home, known, environment)  # warm: compiled files, the disk's cache, and the index
        ours, new, peer = [], [], []
        for turn in range(ROUNDS):
            ours.append(opened(home, known, environment))
            if turn < PEER_ROUNDS:
                new.append(opened(folder / f"home-{turn}", known, environment))
                peer.append(tensorboard(peer_python, folder / "tensorboard"))
    return [
        figure("open a run of 10⁶ × 5: first plot, known to the index", ours, peer, READY, GOAL_TIME),
        figure("open a run of 10⁶ × 5: the same, from the start of both programs", ours, peer, START, None),
        figure("open a run of 10⁶ × 5: memory, known to the index", ours, peer, MEMORY, GOAL_MEMORY),
        figure("open a run of 10⁶ × 5: first plot, never seen", new, peer, READY, None),
        figure("open a run of 10⁶ × 5: memory, never seen", new, peer, MEMORY, None),
    ]


def figure(name: str, ours: list[Measured], peer: list[Measured], which: int, goal: float | None) -> dict[str, object]:
    mine, theirs = (statistics.median(each[which] for each in rounds) for rounds in (ours, peer))
    ratio = theirs / mine
    wanted = "" if goal is None else f"{goal:g}× sooner" if which != MEMORY else f"1/{goal:g} of the memory"
    return {
        "name": name,
        "ours": round(mine, 3) if which != MEMORY else round(mine / 1e6),
        "peer": round(theirs, 2) if which != MEMORY else round(theirs / 1e6),
        "unit": "s" if which != MEMORY else "MB",
        "ratio": round(ratio, 2),
        "goal": wanted,
        "passed": None if goal is None else ratio >= goal,
    }


def engine_python() -> Path:
    from tpu_studio.local.engine import engine_root
    from tpu_studio.local.engine.state import Paths

    python = Paths(engine_root()).python
    if not python.exists():
        raise RuntimeError("no training engine: its Python writes TensorBoard's event files (make engine)")
    return python


def tensorboard_python() -> Path:
    """The Python that has TensorBoard: an environment of its own under out/, made the first time with what
    constraints/bench.txt says."""
    folder, wanted = ROOT / "out" / "tensorboard", ROOT / "constraints" / "bench.txt"
    python, made = folder / "bin" / "python", folder / "installed.txt"
    if not made.exists() or made.read_bytes() != wanted.read_bytes():
        print("installing TensorBoard …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pip += ["--root-user-action=ignore", "--require-hashes", "--only-binary=:all:"]
        subprocess.run([*pip, "-r", str(wanted)], check=True)
        made.write_bytes(wanted.read_bytes())
    return python


def write_run(run: Path) -> None:
    """A run folder as the trainer and its guardian leave it after a million steps."""
    import numpy as np

    from tpu_studio.wire import plan as plans
    from tpu_studio.wire.events import encode, event
    from tpu_studio.wire.job import parse_resolved
    from tpu_studio.wire.runfolder import PLAN

    (run / "events").mkdir(parents=True)
    job = parse_resolved(
        {"name": "million", "model": {"name": "mlp"}, "data": {"kind": "digits"}, "training": {"steps": STEPS}}
    )
    plan = plans.Plan(job=job, task="classification", framework="jax", steps=STEPS, run=run.name, created=1.7e9)
    (run / PLAN).write_bytes(plans.dumps(plan))
    chance = np.random.default_rng(0)
    steps = np.arange(1, STEPS + 1)
    noise = chance.normal(1.0, 0.05, (len(METRICS), STEPS))
    falling = np.stack(
        [2.3 / steps**0.2, 1 - 0.9 / steps**0.2, 1e-3 * (1 - steps / STEPS), 3 / steps**0.1, 4000 + 0 * steps]
    )
    values = np.round(falling * noise, 6)
    with open(run / "events" / "a0001-w000.jsonl", "wb") as file:
        file.write(encode(event("phase", t=1.7e9, phase="training")))
        for start in range(0, STEPS, STEPS_A_REPORT):
            part = slice(start, start + STEPS_A_REPORT)
            told = {name: column[part].tolist() for name, column in zip(METRICS, values, strict=True)}
            file.write(encode(event("metric", t=1.7e9 + start * 1e-3, step=steps[part].tolist(), **told)))
        final = {"loss": float(values[0, -1])}
        file.write(
            encode(event("end", t=1.7e9 + 1010, status="finished", reason="completed", steps=STEPS, final=final))
        )


def write_tensorboard(engine: Path, run: Path, to: Path) -> None:
    """Event files as TensorFlow's and PyTorch's writers make them, one event a value; the last holds one point more.

    Once TensorBoard knows that one, it has read everything: asking for it again and again costs it next to nothing.
    """
    argv = [str(engine), "-c", EVENT_FILES, str(run), str(to), LAST]
    subprocess.run(argv, env=dict(os.environ, PYTHONPATH=str(ROOT)), check=True)


def opened(home: Path, run: Path, environment: dict[str, str]) -> Measured:
    """Seconds to the painted plot, from an empty one and from the start, and the peak of memory in bytes."""
    begun = time.perf_counter()
    argv = [sys.executable, "-c", OURS, str(home), str(run)]
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready_line = process.stdout.readline()
    ready = time.perf_counter()
    line = process.stdout.readline()
    now = time.perf_counter()
    told = process.stdout.read()
    code = process.wait(60)
    if code or (ready_line, line) != ("ready\n", "painted\n"):
        raise RuntimeError(f"the run was not opened: {ready_line!r}, {line!r}, ended with {code}")
    points, last, columns, peak = map(int, told.split())
    if (points, last) != (STEPS, STEPS) or columns < 300:
        raise RuntimeError(f"not the whole curve: {points} points, the last at {last}, in {columns} columns of pixels")
    return now - ready, now - begun, float(peak)


def tensorboard(python: Path, folder: Path) -> Measured:
    """Seconds to a first answer with every point of the loss, from when it listens and from the start; the peaks of
    memory in bytes."""
    settings = [
        "--samples_per_plugin",
        "scalars=100000000",
        "--load_fast=true",
        "--port",
        "0",
        "--reload_interval",
        "5",
    ]
    argv = [str(python), "-m", "tensorboard.main", "--logdir", str(folder), "--host=127.0.0.1", *settings]
    begun = time.perf_counter()
    process = subprocess.Popen(
        argv,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, CUDA_VISIBLE_DEVICES=""),
    )
    try:
        address = said_address(process)
        ready = time.perf_counter()
        while not curve_of(address, LAST):
            if time.perf_counter() - begun > PEER_WITHIN_S:
                raise RuntimeError(f"TensorBoard has not read the run after {PEER_WITHIN_S:.0f} s")
            time.sleep(0.1)
        found = curve_of(address, "loss")
        now = time.perf_counter()
        if found != STEPS:
            raise RuntimeError(f"TensorBoard gave {found} of {STEPS} points")
        return now - ready, now - begun, float(sum(peaks(process.pid)))
    finally:
        process.terminate()
        process.wait(20)


def said_address(process: subprocess.Popen[str]) -> str:
    """The address that TensorBoard prints when it listens; the rest of what it says is read and dropped."""
    assert process.stderr is not None
    for line in process.stderr:
        found = re.search(r"http://\S+", line)
        if found:
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return found.group().rstrip("/") + "/"
    raise RuntimeError(f"TensorBoard did not start: {process.wait()}")


def curve_of(address: str, tag: str) -> int:
    """How many points of a curve the server gives by now."""
    try:
        question = f"{address}data/plugin/scalars/scalars?tag={tag}&run=."
        with urllib.request.urlopen(question, timeout=60) as answer:
            points: list[Any] = json.loads(answer.read())
    except urllib.error.HTTPError as error:
        if error.code in (400, 404):  # not read that far: it does not know the tag yet
            return 0
        raise
    return len(points)


def peaks(process: int) -> Iterator[int]:
    """Peak resident bytes of a process and of those that it started (the data server)."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            told = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue  # ended while we looked
        if int(told["Pid"]) == process or int(told["PPid"]) == process:
            yield int(told["VmHWM"].split()[0]) * 1024


if __name__ == "__main__":
    for each in run():
        print(each)
