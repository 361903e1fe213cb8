"""Our training loop against Keras's `fit`: same framework, model, batch and data, rounds interleaved.

    python -m benchmarks.bench_training            all, as benchmarks/run.py does
    python -m benchmarks.bench_training tensorflow mlp
    python -m benchmarks.bench_training tensorflow gpt telemetry      only what telling costs

`fit` is called as a person calls it first (arrays in, nothing else: it draws its bar in a terminal, which costs it 2 %
of the smallest model's steps), and in its best form (XLA, 32 steps a call, silent). Ours tells what it always tells.
Speeds are the medians of `ROUNDS` rounds, a ratio is the median of each round's own: the machine is often shared, and
what slows one contender of a round slows the next one too.

What telling costs is far less than a shared machine varies from second to second. So it is measured within one training
that tells and is silent by turns, for half a second each, in the order telling, silent, silent, telling (what drifts
falls out), until the interval in which the median lies is on one side of the goal, or `TELEMETRY_S` are over.

Needs the training engine and, for the tables, texts and pictures, the full samples (TPU_STUDIO_SAMPLES).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
UNCHECKED = 10**9  # steps: `fit` as called here makes no checks either
SECONDS = {"mlp": 5.0, "gpt": 5.0, "cnn": 4.0}  # a measurement; `fit` at its best makes 32 steps of GPT in two or three
JOBS: dict[str, dict[str, Any]] = {
    "mlp": {
        "name": "diamonds",
        "model": {"name": "mlp"},
        "data": {"kind": "table", "path": "diamonds.csv", "target": "price"},
    },
    "gpt": {
        "name": "shakespeare",
        "model": {"name": "gpt-nano"},
        "data": {"kind": "text", "path": "tinyshakespeare.txt"},
    },
    "cnn": {
        "name": "sign-digits",
        "model": {"name": "small-cnn"},
        "data": {"kind": "images", "path": "sign-digits", "augment": False},
    },
}
TITLES = {"mlp": "MLP on diamonds", "gpt": "GPT nano on Shakespeare", "cnn": "small CNN on sign digits"}
# (framework, model): goals against fit's default call and against its best one; None is told, not held to.
GOALS: dict[tuple[str, str], tuple[float | None, float | None]] = {
    ("tensorflow", "mlp"): (1.5, 0.95),
    ("jax", "mlp"): (1.5, 0.95),
    ("tensorflow", "gpt"): (1.5, 0.95),
    ("jax", "gpt"): (1.5, 0.95),
    ("tensorflow", "cnn"): (0.95, None),
}
TELEMETRY_GOAL = 0.98
TELEMETRY_S = 100.0  # at most
TURN_S = 0.6  # two or three reports, and short beside what makes a shared machine slower or faster
BUNDLE = int(os.environ.get("TPU_STUDIO_BENCH_BUNDLE") or 32)  # steps a call of `fit` at its best
WARMING = 6  # turns that do not count: calls are still growing
FEWEST_FOURS = 10  # of turns


def run() -> list[dict[str, Any]]:
    """One row per comparison: name, ours, peer, unit, ratio, goal, passed."""
    rows = []
    for framework, model in GOALS:
        rows += rows_of(framework, model)
    return rows


def rows_of(framework: str, model: str, *, telemetry_only: bool = False) -> list[dict[str, Any]]:
    default, best = GOALS[framework, model]
    title = f"{TITLES[model]}, {framework}"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        plan.write_bytes(_plan(framework, model))
        if not telemetry_only:
            found = _speeds(plan, framework, model)
            rows.append(_row(f"{title}: our loop against fit", found["ours"], found["fit"], default))
            if "fit_best" in found:
                name = f"{title}: our loop against fit with XLA and 32 steps a call"
                rows.append(_row(name, found["ours"], found["fit_best"], best))
        if model != "cnn":
            rows.append(_telemetry(plan, f"{title}: with reports against without"))
    return rows


def _telemetry(plan: Path, name: str) -> dict[str, Any]:
    """What telling costs; `low` and `high` bound the median of the ratios."""
    with contextlib.ExitStack() as ends:
        engine = Engine(plan, "ours")
        ends.callback(engine.close)
        fours: list[list[float]] = engine.ask(f"turns {TURN_S}")
    telling, silent, ratios = zip(*fours, strict=True)
    low, high = bounds(ratios)
    row = _row(name, list(telling), list(silent), TELEMETRY_GOAL)
    ratio = statistics.median(ratios)
    return row | {"ratio": round(ratio, 4), "low": low, "high": high, "passed": ratio >= TELEMETRY_GOAL}


def bounds(ratios: Sequence[float]) -> tuple[float, float]:
    """Between which two of the *ratios* their median lies in at least 95 of 100 cases (by the sign test)."""
    ordered, number = sorted(ratios), len(ratios)
    outside, left_out = 0.0, 0
    while left_out < number // 2:
        outside += 2 * math.comb(number, left_out) / 2**number
        if outside > 0.05:
            break
        left_out += 1
    place = max(0, left_out - 1)
    return round(ordered[place], 4), round(ordered[number - 1 - place], 4)


def _row(name: str, ours: list[float], peer: list[float], goal: float | None) -> dict[str, Any]:
    ratio = statistics.median(mine / theirs for mine, theirs in zip(ours, peer, strict=True))
    return {
        "name": name,
        "ours": round(statistics.median(ours), 2),
        "peer": round(statistics.median(peer), 2),
        "unit": "steps/s",
        "ratio": round(ratio, 3),
        "goal": goal,
        "passed": goal is None or ratio >= goal,
    }


def _speeds(plan: Path, framework: str, model: str) -> dict[str, list[float]]:
    """Steps a second of each contender in each round.

    Ours and Keras's run in processes of their own, as in life, and take turns.
    """
    names = ["ours", "fit"] + ([] if model == "cnn" else ["fit_best"])
    with contextlib.ExitStack() as ends:
        engines = {"ours": Engine(plan, "ours"), "fit": Engine(plan, "fit")}
        for engine in engines.values():
            ends.callback(engine.close)
        rates: dict[str, list[float]] = {name: [] for name in names}
        for number in range(ROUNDS + 1):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                rate = engines["ours" if name == "ours" else "fit"].ask(f"{name} {SECONDS[model]}")
                if number:  # the first round compiles
                    rates[name].append(rate)
    print(framework, model, rates, file=sys.stderr)
    return rates


class Engine:
    """A process of the training engine that measures what it is told to, one line a time."""

    def __init__(self, plan: Path, side: str) -> None:
        from tpu_studio.local.engine import engine_root
        from tpu_studio.local.engine.state import Paths

        python = os.environ.get("TPU_STUDIO_BENCH_PYTHON") or str(Paths(engine_root()).python)
        argv = [python, str(Path(__file__).resolve()), "--child", side, str(plan)]
        env = os.environ | {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", "TF_CPP_MIN_LOG_LEVEL": "3"}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )

    def ask(self, what: str) -> Any:
        """The answer to "contender seconds": steps a second, or what `Turns` gives."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise RuntimeError(self._errors.read()[-3000:])
        return json.loads(line)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()


def _plan(framework: str, model: str) -> bytes:
    from tpu_studio.data.look import look
    from tpu_studio.planner.make import make_plan
    from tpu_studio.wire import plan as plans
    from tpu_studio.wire.job import parse

    samples = Path(os.environ.get("TPU_STUDIO_SAMPLES") or ROOT.parent / "shared" / "samples")
    training = {"framework": framework, "evaluate_every": UNCHECKED}
    job = parse({**JOBS[model], "training": training}, base=str(samples))
    return plans.dumps(make_plan(job, look(job), now=time.time()))


# --------------------------------------------------------------------------------------------------- in the engine


def child(side: str, path: Path) -> None:
    """Measure what each line of stdin names, until its end."""
    from tpu_studio.trainer import backend
    from tpu_studio.wire import plan as plans

    plan = plans.loads(path.read_bytes())
    if side == "ours":
        backend.begin(plan)
    else:
        os.environ["KERAS_BACKEND"] = plan.framework
        if plan.place == "computer":
            os.environ["JAX_PLATFORMS"] = "cpu"
    from tpu_studio.trainer.parts import Parts

    parts = Parts.make(plan, None, None)
    made: dict[str, Any] = {}
    makers: dict[str, Callable[[], Any]] = {
        "ours": lambda: Ours(parts),
        "fit": lambda: Fit(plan, parts),
        "fit_best": lambda: Fit(plan, parts, {"verbose": 0}, jit_compile=True, steps_per_execution=BUNDLE),
    }
    for line in sys.stdin:
        name, seconds = line.split()
        if name == "turns":
            print(json.dumps(Turns(parts).fours(float(seconds))), flush=True)
            continue
        if name not in made:
            made[name] = makers[name]()
            made[name].steps_per_s(float(seconds) / 2)
        print(made[name].steps_per_s(float(seconds)), flush=True)


class Ours:
    """The real loop, without checks and copies; what it tells is written to nowhere."""

    def __init__(self, parts: Any) -> None:
        from tpu_studio.trainer.words import Events

        self._parts = parts
        self._events = Events(os.open(os.devnull, os.O_WRONLY))

    def loop(self, folder: str, command: Callable[[], Any]) -> Any:
        from tpu_studio.trainer.schedule import Schedule

        schedule = Schedule(1e-4, 0.0, "constant", (UNCHECKED,))
        return self._parts.loop(Path(folder), schedule, self._events, 1, command, lambda command: (), timing=True)

    def steps_per_s(self, seconds: float) -> float:
        from tpu_studio.trainer.timing import Stopper

        stop = Stopper(seconds, lambda: False)
        with tempfile.TemporaryDirectory() as folder:
            loop = self.loop(folder, stop)
            begun = [0.0, 0.0]

            def started() -> None:
                stop.start()
                begun[:] = [time.perf_counter(), loop.progress.step]

            loop.train(started)
            loop.drain()
            passed = time.perf_counter() - begun[0]
            loop.close()
        return float((loop.progress.step - begun[1]) / passed)


class Turns(Ours):
    """One training that tells and is silent by turns."""

    def fours(self, turn_s: float) -> list[list[float]]:
        """Of each four turns: steps a second telling, silent, and their ratio."""
        from tpu_studio.trainer.reports import Reports

        class Switched(Reports):
            silent = False
            due = property(lambda self: not self.silent and Reports.due.fget(self))  # type: ignore[attr-defined]

            def add(self, first: int, values: Any) -> None:
                if not self.silent:
                    super().add(first, values)

        speeds: list[float] = []
        end = time.perf_counter() + TELEMETRY_S
        turn = [0.0, 0]  # when it began, and at which step

        def command() -> dict[str, Any] | None:
            now, step = time.perf_counter(), loop.progress.step
            if now - turn[0] < turn_s:
                return None
            if turn[0] and step:
                speeds.append((step - turn[1]) / (now - turn[0]))
            turn[:] = [now, step]
            loop.reports.silent = (len(speeds) - WARMING) % 4 in (1, 2)
            return {"verb": "stop", "keep": False} if self._enough(speeds, now > end) else None

        with tempfile.TemporaryDirectory() as folder:
            loop = self.loop(folder, command)
            loop.reports = Switched(self._events, self._parts.batch)
            loop.train()
            loop.drain()
            loop.close()
        return _in_fours(speeds)

    def _enough(self, speeds: list[float], out_of_time: bool) -> bool:
        ratios = [ratio for *_, ratio in _in_fours(speeds)]
        if out_of_time or len(ratios) < FEWEST_FOURS or (len(speeds) - WARMING) % 4:
            return out_of_time and bool(ratios)
        low, high = bounds(ratios)
        return low >= TELEMETRY_GOAL or high < TELEMETRY_GOAL


def _in_fours(speeds: list[float]) -> list[list[float]]:
    counted = speeds[WARMING:]
    found = []
    for place in range(0, len(counted) // 4 * 4, 4):
        first, second, third, fourth = counted[place : place + 4]
        telling, silent = (first + fourth) / 2, (second + third) / 2
        found.append([telling, silent, telling / silent])
    return found


class Fit:
    """Keras's own `fit` on the same arrays, batch by batch for about as long."""

    def __init__(self, plan: Any, parts: Any, words: dict[str, Any] | None = None, **options: Any) -> None:
        import keras
        import numpy as np

        from tpu_studio.trainer import models

        self._model = models.build(plan, parts.opened.description)
        losses = {
            "regression": keras.losses.MeanSquaredError(),
            "classification": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "language-model": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "text-classification": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        }
        metrics = ["accuracy"] if plan.task.endswith("classification") else []
        job = plan.job
        optimizer = keras.optimizers.AdamW(
            1e-4, weight_decay=job.training.weight_decay, global_clipnorm=job.training.clip_norm or None
        )
        self._model.compile(optimizer, losses[plan.task], metrics=metrics, **options)
        self._batch, source = parts.batch, parts.opened.train
        whole = source.batch(np.arange(len(source)))
        self._x, self._y = np.ascontiguousarray(whole["x"]), np.ascontiguousarray(whole["y"])
        self._steps = 2.0 * BUNDLE
        self._words = words or {}  # for `fit`; none: its default call
        self._terminal = terminal()

    def steps_per_s(self, seconds: float) -> float:
        """Steps a second over one call of `fit` that takes about *seconds*."""
        batches = len(self._x) // self._batch
        steps = max(BUNDLE, int(self._steps * seconds) // BUNDLE * BUNDLE)
        examples, epochs = (min(steps, batches) * self._batch, max(1, round(steps / batches)))
        if steps < batches:
            epochs = 1
        x, y = self._x[:examples], self._y[:examples]
        begun = time.perf_counter()
        with contextlib.redirect_stdout(self._terminal):
            self._model.fit(x, y, batch_size=self._batch, epochs=epochs, **self._words)
        rate = examples // self._batch * epochs / (time.perf_counter() - begun)
        self._steps = rate
        return float(rate)


def terminal() -> TextIO:
    """A terminal nobody looks at: what is written there is read and dropped by another process, as by a window."""
    ours, theirs = os.openpty()
    subprocess.Popen(["cat"], stdin=ours, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # ends with its input
    os.close(ours)
    return os.fdopen(theirs, "w")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]))
    else:
        sys.path.insert(0, str(ROOT))
        words = sys.argv[1:]
        only = "telemetry" in words
        wanted = [key for key in GOALS if all(word in key for word in words if word != "telemetry")]
        for key in wanted:
            for row in rows_of(*key, telemetry_only=only):
                print(json.dumps(row), flush=True)
