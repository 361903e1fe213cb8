"""Real trainings for tests: a plan as the planner makes it, the trainer as a process, its events as they come."""

from __future__ import annotations

import json
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes.making import make_plan
from tests.fakes.waiting import PATIENCE_S
from tests.trainer.in_engine import ROOT, begin, done_in_engine, engine_python, environment
from tpu_studio.data.look import look
from tpu_studio.wire import events as codec
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan

LIGHT = ROOT / "tests" / "fakes" / "light_engine.py"
DIGITS = {
    "name": "digits",
    "model": {"name": "mlp", "options": {"width": 32, "layers": 2, "dropout": 0.1}},
    "data": {"kind": "digits"},
}


def planned(
    tree: Mapping[str, Any] = DIGITS, *, base: str = "", consent: str = "", devices: int = 1, **training: Any
) -> Plan:
    """A plan of *tree* with keys of `[training]` set."""
    job = parse({**tree, "training": {**tree.get("training", {}), **training}}, base=base)
    plan = make_plan(job, look(job), now=0.0, consent=consent)
    changed: Plan = plans.from_json({**plan.to_json(), "devices": devices, "run": "test-0000"})
    return changed


def put(folder: Path, plan: Plan) -> Path:
    """A run folder with *plan* in it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_bytes(plans.dumps(plan))
    return folder


@dataclass
class Training:
    """One attempt as a process. Use as a context: what still runs at the end is killed.

    Its result has no SavedModel unless it is *whole*: `light_engine` says why. *cold* or whole, its framework is
    imported as it is for a person (`tests.trainer.warm`).
    """

    run: Path
    attempt: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    whole: bool = False
    cold: bool = False
    events: list[dict[str, Any]] = field(default_factory=list)

    def __enter__(self) -> Training:
        argv = [
            *(("-m", "tpu_studio.trainer") if self.whole else (str(LIGHT),)),
            "train",
            "--run",
            str(self.run),
            "--attempt",
            str(self.attempt),
            *self.options,
        ]
        around = {name: value for name, value in environment("tensorflow").items() if name != "KERAS_BACKEND"}
        around |= self.environment
        engine_python()  # which skips the test where there is none, before anything is open
        self._stderr = open(self.run / f"stderr-{self.attempt}.txt", "wb")
        self.process = begin(argv, around, self._framework(), self._stderr, cold=self.cold or self.whole)
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self._stderr):
            if pipe is not None:
                pipe.close()

    def _framework(self) -> str:
        """The one of its plan; of one that cannot be read, none is imported."""
        try:
            return str(plans.read(self.run).framework)
        except RunError:
            return "jax"

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def until(self, wanted: Callable[[dict[str, Any]], bool], limit_s: float = PATIENCE_S) -> dict[str, Any]:
        """The first event from now on that *wanted* says yes to."""
        end = time.monotonic() + limit_s
        while True:
            line = self._lines.get(timeout=max(0.1, end - time.monotonic()))
            if not line:
                raise AssertionError(f"the trainer ended: {self.errors()[-3000:]}")
            event: dict[str, Any] = json.loads(line)
            self.events.append(event)
            if wanted(event):
                return event

    def outcome(self, limit_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait for the end; the outcome event."""
        found = self.until(lambda event: event["kind"] == "outcome", limit_s)
        self.process.wait(30)
        return found

    def until_step(self, step: int) -> None:
        self.until(lambda event: event["kind"] == "metric" and event["step"][-1] >= step)

    def tell(self, **command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()
        while line := self._lines.get():
            event = codec.decode(line)
            if event is not None:  # the last one may be torn
                self.events.append(json.loads(line))

    def errors(self) -> str:
        return (self.run / f"stderr-{self.attempt}.txt").read_text(errors="replace")

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]


def train(run: Path, attempt: int = 1, *, whole: bool = False, cold: bool = False, **env: str) -> Training:
    """Run one attempt to its end."""
    training = Training(run, attempt, env, whole=whole, cold=cold)
    with training:
        training.outcome()
    return training


def completed(run: Path, attempt: int = 1) -> Training:
    """An attempt that came to its own end."""
    with Training(run, attempt) as training:
        assert training.outcome()["reason"] == "completed"
    return training


def curve(*attempts: Training, name: str = "loss") -> dict[int, float]:
    """Step → value over attempts, as the fold of a run sees it: a resume drops what came after its step."""
    points: dict[int, float] = {}
    for training in attempts:
        for event in training.events:
            if event["kind"] == "resume":
                points = {step: value for step, value in points.items() if step <= event["step"]}
            elif event["kind"] == "metric" and name in event:
                points |= dict(zip(event["step"], event[name], strict=True))
    return points


def answers(run: Path, *items: str) -> dict[str, Any]:
    """What the model of *run* says of *items*, asked by a program of its own in JAX."""
    argv = ["-m", "tpu_studio.trainer.predict", "--run", str(run), "--json", *items]
    told: dict[str, Any] = json.loads(done_in_engine(argv, environment("jax"), "jax").stdout.splitlines()[-1])
    return told
