"""Our training loop against Keras's `fit`: same framework, model, batch and data, rounds interleaved.

    python -m benchmarks.bench_training            all, as benchmarks/run.py does
    python -m benchmarks.bench_training tensorflow mlp

`fit` is called as a person calls it first (arrays in, nothing else), and in its best form (XLA, 32 steps a call).
Speeds are the medians of `ROUNDS` rounds, a ratio is the median of each round's own: the machine is often shared, and
what slows one contender of a round slows the next one too. Needs the training engine and, for the tables, texts and
pictures, the full samples (TPU_STUDIO_SAMPLES).
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
SECONDS = {"mlp": 2.0, "gpt": 5.0, "cnn": 4.0}  # a measurement; `fit` at its best makes 32 steps of GPT in two or three
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


def run() -> list[dict[str, Any]]:
    """One row per comparison: name, ours, peer, unit, ratio, goal, passed."""
    rows = []
    for framework, model in GOALS:
        rows += rows_of(framework, model)
    return rows


def rows_of(framework: str, model: str) -> list[dict[str, Any]]:
    found = _in_engine(framework, model)
    default, best = GOALS[framework, model]
    title = f"{TITLES[model]}, {framework}"
    rows = [_row(f"{title}: our loop against fit", found["ours"], found["fit"], default)]
    if "fit_best" in found:
        rows.append(
            _row(f"{title}: our loop against fit with XLA and 32 steps a call", found["ours"], found["fit_best"], best)
        )
    if "silent" in found:
        rows.append(_row(f"{title}: with reports against without", found["ours"], found["silent"], TELEMETRY_GOAL))
    return rows


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


def _in_engine(framework: str, model: str) -> dict[str, list[float]]:
    """Steps a second of each contender in each round.

    Ours and Keras's run in processes of their own, as in life, and take turns.
    """
    names = ["ours", "fit"] + ([] if model == "cnn" else ["silent", "fit_best"])
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ends:
        plan = Path(folder) / "plan.json"
        plan.write_bytes(_plan(framework, model))
        engines = {"ours": Engine(plan, "ours"), "fit": Engine(plan, "fit")}
        for engine in engines.values():
            ends.callback(engine.close)
        rates: dict[str, list[float]] = {name: [] for name in names}
        for number in range(ROUNDS + 1):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                rate = engines["ours" if name in ("ours", "silent") else "fit"].steps_per_s(name, SECONDS[model])
                if number:  # the first round compiles
                    rates[name].append(rate)
    print(framework, model, rates, file=sys.stderr)
    return rates


class Engine:
    """A process of the training engine that measures what it is told to, one line a time."""

    def __init__(self, plan: Path, side: str) -> None:
        from tpu_studio.local.engine.engine import engine_root
        from tpu_studio.local.engine.state import Paths

        argv = [str(Paths(engine_root()).python), str(Path(__file__).resolve()), "--child", side, str(plan)]
        env = os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )

    def steps_per_s(self, name: str, seconds: float) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{name} {seconds}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise RuntimeError(self._errors.read()[-3000:])
        return float(line)

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
    job = parse({**JOBS[model], "training": {"framework": framework}}, base=str(samples))
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
        os.environ |= {"KERAS_BACKEND": plan.framework, "JAX_PLATFORMS": "cpu"}
    from tpu_studio.trainer.parts import Parts

    parts = Parts.make(plan, None, None)
    made: dict[str, Any] = {}
    makers: dict[str, Callable[[], Any]] = {
        "ours": lambda: Ours(parts, telling=True),
        "silent": lambda: Ours(parts, telling=False),
        "fit": lambda: Fit(plan, parts),
        "fit_best": lambda: Fit(plan, parts, jit_compile=True, steps_per_execution=32),
    }
    for line in sys.stdin:
        name, seconds = line.split()
        if name not in made:
            made[name] = makers[name]()
            made[name].steps_per_s(float(seconds) / 2)
        print(made[name].steps_per_s(float(seconds)), flush=True)


class Ours:
    """The real loop, without checks and copies; reports go to a pipe that somebody reads, or nowhere."""

    def __init__(self, parts: Any, *, telling: bool) -> None:
        from tpu_studio.trainer.reports import Reports
        from tpu_studio.trainer.words import Events

        self._parts, self._telling = parts, telling
        nowhere = os.open(os.devnull, os.O_WRONLY)
        self._events = Events(nowhere)

        class Silent(Reports):
            due = property(lambda self: False)

            def add(self, first: int, values: Any) -> None:
                pass

        self._reports = Reports if telling else Silent

    def steps_per_s(self, seconds: float) -> float:
        from tpu_studio.trainer.schedule import Schedule
        from tpu_studio.trainer.timing import FOREVER, Stopper

        stop = Stopper(seconds)
        schedule = Schedule(1e-4, 0.0, "constant", (FOREVER,))
        with tempfile.TemporaryDirectory() as folder:
            loop = self._parts.loop(Path(folder), schedule, self._events, 1, stop, lambda command: (), rhythm=FOREVER)
            loop.reports = self._reports(self._events, self._parts.batch)
            begun = [0.0, 0.0]

            def started() -> None:
                stop.start()
                begun[:] = [time.perf_counter(), loop.progress.step]

            loop.train(started)
            loop.drain()
            passed = time.perf_counter() - begun[0]
            loop.close()
        return float((loop.progress.step - begun[1]) / passed)


class Fit:
    """Keras's own `fit` on the same arrays, batch by batch for about as long."""

    def __init__(self, plan: Any, parts: Any, **options: Any) -> None:
        import keras
        import numpy as np

        from tpu_studio.trainer import models

        self._model = models.build(plan, parts.opened.description)
        losses = {
            "regression": keras.losses.MeanSquaredError(),
            "classification": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            "language-model": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        }
        metrics = ["accuracy"] if plan.task == "classification" else []
        job = plan.job
        optimizer = keras.optimizers.AdamW(
            1e-4, weight_decay=job["training.weight_decay"], global_clipnorm=job["training.clip_norm"] or None
        )
        self._model.compile(optimizer, losses[plan.task], metrics=metrics, **options)
        self._batch, source = parts.batch, parts.opened.train
        whole = source.batch(np.arange(len(source)))
        self._x, self._y = np.ascontiguousarray(whole["x"]), np.ascontiguousarray(whole["y"])
        self._steps = 64.0

    def steps_per_s(self, seconds: float) -> float:
        """Steps a second over one call of `fit` that takes about *seconds*."""
        batches = len(self._x) // self._batch
        steps = max(32, int(self._steps * seconds) // 32 * 32)
        examples, epochs = (min(steps, batches) * self._batch, max(1, round(steps / batches)))
        if steps < batches:
            epochs = 1
        begun = time.perf_counter()
        self._model.fit(self._x[:examples], self._y[:examples], batch_size=self._batch, epochs=epochs, verbose=0)
        rate = examples // self._batch * epochs / (time.perf_counter() - begun)
        self._steps = rate
        return float(rate)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]))
    else:
        sys.path.insert(0, str(ROOT))
        wanted = [key for key in GOALS if all(word in key for word in sys.argv[1:])]
        for key in wanted:
            for row in rows_of(*key):
                print(json.dumps(row), flush=True)
