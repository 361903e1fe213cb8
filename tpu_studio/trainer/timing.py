"""`time` and `inspect`: what a plan's first honest estimate rests on. One JSON object on stdout each.

`time` makes real steps on the plan's real data through the real loop, for a short time, interrupted as the plan will
interrupt them, but by short checks and no copies; then a check, a copy and a result are timed by themselves.
Convolutions in JAX on a processor take seconds a step, so there a small part of the batch is timed and scaled.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tpu_studio.trainer import backend
from tpu_studio.trainer.guardian.child import give_way
from tpu_studio.trainer.words import Command, Events, take_stdout
from tpu_studio.wire import frameworks, owncode, places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason

FEATURES = 96  # examples of each side that go through a frozen network; what the others take is worked out
SLICE = 8  # examples in a step where a whole batch would take too long to time
CHECKS_S = 0.2  # for timing checks, at least: one that takes milliseconds is made often, as in a run
SAVED_BYTES = 64e6  # of weights at most are written for a timing; what more take is worked out from their size
NUMBER_BYTES = 4


def main(path: Path, seconds: float, nice: int = 0) -> int:
    """`time`: exit code 0, or 1 with ``{"error": {"id", "facts"}}`` when the plan cannot be timed.

    *nice*: as a run's guardian is, so that other programs slow down the timing as they will slow down the run.
    """
    out = take_stdout()
    if nice:
        os.nice(nice)
        give_way(os.getpid(), nice)
    try:
        told = measure(plans.loads(path.read_bytes()), seconds)
    except StudioError as error:
        _say(out, {"error": error.to_json()})
        return 1
    _say(out, told)
    return 0


def measure(plan: Plan, seconds: float) -> dict[str, object]:
    """Of a training in two stages (`stages`) both are timed, and a step counts as their mean."""
    begun = time.monotonic()
    backend.begin(plan)
    from tpu_studio.trainer.models import count_params
    from tpu_studio.trainer.parts import Parts

    backend.check_devices(plan)
    saved = {}
    parts = Parts.make(plan, None, None, most=FEATURES)
    ready = time.monotonic()
    head = min(parts.unfreeze_at, plan.steps) / plan.steps
    stages = [(at, share) for at, share in ((0, head), (parts.unfreeze_at, 1 - head)) if share]
    timed = [_timed(plan, parts, at, seconds / len(stages)) for at, _ in stages]
    with tempfile.TemporaryDirectory() as folder:
        if not plan.job.model.is_own and count_params(parts.model) * NUMBER_BYTES <= SAVED_BYTES:
            saved = _saving(parts, timed[-1].loop, Path(folder))
    shares = [share for _, share in stages]
    step_time = sum(share * one.step_s for share, one in zip(shares, timed, strict=True))
    return {
        "step_time_s": step_time,
        "compile_s": round(sum(one.compile_s for one in timed), 3),
        "examples_per_s": plan.job.training.global_batch / step_time,
        "setup_s": round(ready - begun + parts.unmade_s, 3),
        "params": count_params(parts.model),
        "steps": sum(one.steps for one in timed),
        "evaluation_s": round(sum(share * one.evaluation_s for share, one in zip(shares, timed, strict=True)), 4),
        "waiting_for_data_share": round(max(one.waiting for one in timed), 4),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        * (1 if sys.platform == "darwin" else 1024),
        "scaled_from_examples": SLICE if any(one.scaled for one in timed) else None,
        **saved,
    }


@dataclass(frozen=True)
class _Timed:
    """Of one stage; *waiting*: share of the time in which a step waits for its examples."""

    loop: Any
    step_s: float
    compile_s: float
    evaluation_s: float
    waiting: float
    steps: int
    scaled: bool


def _timed(plan: Plan, parts: Any, at: int, seconds: float) -> _Timed:
    """Real steps of the stage that goes on after the step *at*, and checks on unseen data."""
    from tpu_studio.trainer.evaluation import evaluate
    from tpu_studio.trainer.schedule import Schedule
    from tpu_studio.trainer.stages import FOREVER

    begun, batch = time.monotonic(), plan.job.training.global_batch
    stage = parts.stage if parts.stage.first == at else parts.enter(at, parts.stage.steps.snapshot())
    scaled = parts.is_slow_convolution and batch > SLICE
    parts.batch = SLICE if scaled else batch
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "wb") as nowhere:
        unseen = (stage.steps, stage.unseen, plan.task, stage.evaluation_batch, parts.in_units)
        evaluate(*unseen, limit=1)  # compiles
        compiled = time.monotonic() - begun
        schedule = Schedule(1e-9, 0.0, "constant", (FOREVER,))
        stop = Stopper(seconds, lambda: loop.progress.step >= plan.steps)
        loop = parts.loop(Path(folder), schedule, Events(nowhere.fileno()), 1, stop, lambda command: (), timing=True)
        loop.train(stop.start)
        loop.drain()
        loop.close()
        spent = loop.reports.totals
        rounds, evaluated = 0, time.monotonic()
        while not rounds or time.monotonic() - evaluated < CHECKS_S:
            evaluate(*unseen, limit=2)
            rounds += 1
        batches = -(-len(parts.opened.validation) // stage.evaluation_batch)
        evaluation_s = (time.monotonic() - evaluated) / rounds * batches / min(2, batches)
    step_s = spent.seconds / spent.steps if spent.steps else loop.compile_s
    return _Timed(
        loop,
        step_s * (batch / SLICE if scaled else 1.0),
        compiled + loop.compile_s,
        evaluation_s,
        spent.waiting / spent.seconds if spent.seconds else 0.0,
        spent.steps,
        scaled,
    )


def _saving(parts: Any, loop: Any, folder: Path) -> dict[str, float]:
    """Seconds of one copy of the state and of a run's result; nothing where they cannot be written here and now."""
    from tpu_studio.trainer import checkpoints

    begun = time.monotonic()
    try:
        arrays = loop.steps.snapshot()
        checkpoints.write(folder, 1, arrays, loop.progress.to_json())
        copied = time.monotonic()
        parts.write_result(folder, loop, arrays, Reason.COMPLETED, lambda notice, facts: None)
    except (StudioError, OSError) as error:  # the steps were timed all the same
        print(f"trainer: no result could be written for the timing: {error}", file=sys.stderr)
        return {}
    return {"checkpoint_s": round(copied - begun, 4), "result_s": round(time.monotonic() - copied, 4)}


class Stopper:
    """The commands of a timing: none, and a stop once the time is up, counted from the end of compiling.

    Half of the time will do where *enough* steps were made: the first thousands of tiny ones take up to a fifth longer
    than those after them (calls grow, memory is taken for the first time), and a short run has no others.
    """

    def __init__(self, seconds: float, enough: Callable[[], bool]) -> None:
        self._seconds, self._enough = seconds, enough
        self._begun: float | None = None

    def start(self) -> None:
        self._begun = time.monotonic()

    def __call__(self) -> Command | None:
        passed = time.monotonic() - self._begun if self._begun is not None else 0.0
        if passed >= self._seconds or (passed >= self._seconds / 2 and self._enough()):
            return {"verb": "stop", "keep": False}
        return None


def inspect(path: Path) -> int:
    """`inspect`: the model alone. A problem of a person's own file is an answer, not a failure: exit code 0."""
    out = take_stdout()
    try:
        plan = plans.loads(path.read_bytes())
        told = described(plan, out)
    except StudioError as error:
        told = {"problem": error.id, "facts": error.facts}
    _say(out, told)
    return 0


def described(plan: Plan, out: int) -> dict[str, Any]:
    """``params``, ``layers``, and what its programs work and hold for one example (`trainer.work`).

    A model of ours is the same in every framework, and is built in the one that tells most; a person's may work in the
    plan's only.
    """
    own = Path(str(plan.job.model.file)) if plan.job.model.is_own else None
    if own is None:
        plan = replace(plan, framework=next(one.id for one in frameworks.all_frameworks() if one.is_traced))
    backend.begin(plan)
    from tpu_studio.trainer.guard import BuildWatch
    from tpu_studio.trainer.models import count_params, initial
    from tpu_studio.trainer.parts import build_model, description_of

    told: dict[str, object] = {}
    if own is not None:
        told["sha256"] = hashlib.sha256(owncode.read(own) or b"").hexdigest()

    def stuck(facts: dict[str, object]) -> None:
        _say(out, told | {"problem": "model-stuck", "facts": facts})
        os._exit(0)

    with BuildWatch(stuck) as watch, initial.without_weights() if own is None else nullcontext():
        model = build_model(plan, description_of(plan), watch)
    layers = [
        {"name": layer.name, "kind": type(layer).__name__, "params": int(layer.count_params())}
        for layer in model.layers
    ]
    return told | {"params": count_params(model), "layers": layers} | _counted(plan, model, own)


def _counted(plan: Plan, model: object, own: Path | None) -> dict[str, object]:
    """The work of *model*, or the ``problem`` for which it cannot be trained."""
    from tpu_studio.trainer import recipe
    from tpu_studio.trainer.check.standing_in import as_on_a_tpu
    from tpu_studio.trainer.check.tracing import problem_of, whole_tracebacks
    from tpu_studio.trainer.frameworks import running
    from tpu_studio.trainer.models.shapes import example_of, shapes
    from tpu_studio.trainer.parts import description_of

    part = plan.job.training.global_batch // plan.job.training.accumulate
    example = example_of(shapes(plan, description_of(plan)))
    on_a_chip = frameworks.by_id(plan.framework).is_traced and not places.by_id(plan.place).local
    try:
        with whole_tracebacks(), as_on_a_tpu() if on_a_chip else nullcontext():
            return running().count_model(model, recipe.from_plan(plan), example, part)
    except Exception as error:
        if own is None:
            raise
        problem = problem_of(error, own)  # a person's own layers may raise anything; it becomes an answer
        return {"problem": problem["id"], "facts": problem["facts"]}


def _say(fd: int, told: dict[str, Any]) -> None:
    os.write(fd, json.dumps(told).encode() + b"\n")
