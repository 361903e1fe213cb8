"""`check --question FILE`: answers in JSON lines on stdout, the sure things first, the compiler last.

The question: ``{"plan": …, "target": {…} | null, "largest_batch": bool, "memory_bytes": N, "matrix_unit": 128,
"build_limit_s": 55, "compiler_python": PATH}``; all but the plan may be absent. The last is for TensorFlow: the Python
of the environment that compiles what this one lowers. Lines:

    {"stage": "model"}                      what begins now, for whoever shows progress
    {"answer": "traced", …}                 problems and operations; always before the compiler is begun
    {"answer": "compiled", …}               fits, device_bytes, limit_bytes, parts … of the program that needs most,
                                            and ``programs``: each by name; or {"problem": …}. First with the least
                                            effort; of what fits again, in JAX, as it is compiled for training.
                                            ``replica``: of one, without what sums over all of them (TensorFlow)
    {"answer": "compiled-also", …}          one for each of ``batches``, when the question has that key
    {"answer": "largest-batch", …}          first a guess in proportion, then what was compiled

A compiler can abort its process: what was told before stands. Whoever started this bounds its time and memory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
import resource
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tpu_studio.trainer import backend
from tpu_studio.trainer.check import compiling, lowered, lowering
from tpu_studio.trainer.check import programs as programs_of
from tpu_studio.trainer.check.standing_in import as_on_a_tpu
from tpu_studio.trainer.words import take_stdout
from tpu_studio.wire import frameworks, owncode, places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import DataError, ModelError, StudioError
from tpu_studio.wire.plan import Plan

DATA_BUDGET = 64 << 20  # bytes of data kept in memory: one batch is all that is looked at
MOST_EXAMPLES = 64  # of the first batch that are really read; the rest has their shape


def main(question: Path) -> int:
    """Exit code 0 whenever the question was answered, also with "it does not fit"."""
    out = take_stdout()
    asked = json.loads(question.read_bytes())
    asker = int(asked.get("asker") or os.getppid())
    threading.Thread(target=_end_with, args=(asker,), daemon=True, name="check-parent").start()
    if asked.get("memory_bytes"):
        _limit_memory(int(asked["memory_bytes"]))
    try:
        _Check(asked, out).go()
    except StudioError as error:
        _say(out, {"answer": "traced", "problems": [{**error.to_json()}], "operations": []})
    except lowered.CompilerEnded as ended:
        return ended.code if 0 < ended.code < 128 else 128 - min(ended.code, 0)
    return 0


def _end_with(parent: int) -> None:
    """Whoever asked is gone, killed perhaps: nobody waits for the answer, and a compiler may go on for half an hour."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


class _Check:
    def __init__(self, asked: Mapping[str, Any], out: int) -> None:
        self.plan: Plan = plans.from_json(asked["plan"])
        self.out = out
        self.target = compiling.Target.from_json(asked["target"]) if asked.get("target") else None
        self.largest = bool(asked.get("largest_batch"))
        self.also = [int(batch) for batch in asked.get("batches") or ()]  # for `make golden`
        self.full = bool(asked.get("full"))
        self.build_limit_s = float(asked.get("build_limit_s") or 55.0)
        self.matrix_unit = int(asked.get("matrix_unit") or 128)
        self.file = Path(str(self.plan.job.model.file)) if self.plan.job.model.is_own else None
        self.framework = frameworks.by_id(self.plan.framework)
        self.batch = self.plan.job.training.global_batch
        self.compiler_python = Path(asked["compiler_python"]) if asked.get("compiler_python") else None

    def go(self) -> None:
        if self.framework.is_traced:
            compiling.settle()
        else:
            os.environ.update(lowering.ENVIRONMENT)
        backend.begin(self.plan)
        self._say({"stage": "data"})
        batch, spec = self._first_batch()
        self._say({"stage": "model"})
        begun = time.monotonic()
        model, problem = self._build()
        if model is None:
            self._say({"answer": "traced", "problems": [problem], "operations": []})
            return
        if not self.framework.is_traced:
            self._tensorflow(model, spec, begun)
            return
        traced = _Traced(self, model, batch, spec)
        told = traced.answer() | {"seconds": round(time.monotonic() - begun, 2)}
        self._say(told)
        refused = bool(told["problems"]) or any(one["level"] == "error" for one in told["operations"])
        if self.target is not None and not refused:
            self._compile(traced)

    def _compile(self, traced: _Traced) -> None:
        assert self.target is not None
        self._say({"stage": "compiling", "convolutions": backend.has_convolutions(traced.model)})
        try:
            devices = compiling.devices_of(self.target)
            limit = compiling.limit_bytes(devices)
        except (ValueError, RuntimeError) as error:
            self._cannot(error)
            return
        self._judge(traced.compiler(devices), limit, traced)

    def _tensorflow(self, model: Any, spec: Mapping[str, Any], begun: float) -> None:
        """By the TPU lowering where this TensorFlow has it, else by the table of what it has."""
        traced = lowered.TfTraced(self.plan, model, spec, self.evaluation(model), self.file)
        lowers = lowering.can_lower() and not places.by_id(self.plan.place).local
        if not lowers or self.target is None or self.compiler_python is None:
            self._trace(traced, lowers, begun)
            return
        # It gets ready while the step is traced.
        compiler = lowered.LoweredCompiler(traced, self.compiler_python, self.target, Path.cwd())
        try:
            if self._trace(traced, lowers, begun):
                self._say({"stage": "compiling", "convolutions": backend.has_convolutions(model)})
                try:
                    limit = compiler.limit_bytes()
                except ValueError as error:
                    self._cannot(error)
                    return
                self._judge(compiler, limit, traced)
        finally:
            compiler.close()

    def _trace(self, traced: lowered.TfTraced, lowers: bool, begun: float) -> bool:
        """Tell what was found in the step; whether a TPU would take it."""
        told = traced.answer(max(1, self.batch // (self.target.devices if self.target else 1)), lower=lowers)
        if places.by_id(self.plan.place).local:
            told["operations"] = []  # a processor has them all
        if not told["problems"]:
            told["work"] = self.count(traced.model, traced.example)
        self._say(
            {
                **told,
                "answer": "traced",
                "framework": self.plan.framework,
                "params": _params(traced.model),
                "programs": 2,
                "seconds": round(time.monotonic() - begun, 2),
            }
        )
        return not told["problems"] and not any(one["level"] == "error" for one in told["operations"])

    def count(self, model: Any, spec: Mapping[str, Any]) -> dict[str, Any]:
        """What *model* works for one example, for plans to come."""
        from tpu_studio.trainer import frameworks, recipe

        part = max(1, self.batch // self.plan.job.training.accumulate)
        return frameworks.running().count_model(model, recipe.from_plan(self.plan), spec, part)

    def _cannot(self, error: Exception) -> None:
        words = str(error)[: compiling.WORDS]
        told: dict[str, Any] = {"answer": "compiled", "problem": "compiler-refused", "raw": words}
        if isinstance(error, compiling.Damaged):
            what = self.framework.compiler
            told |= {"problem": "compiler-damaged", "missing": [what], "status": "broken"}
        self._say(told)

    def evaluation(self, model: object) -> tuple[int, dict[str, tuple[tuple[int, ...], Any]]]:
        """Examples of one call of the evaluation, and shape and type of one."""
        import numpy as np

        count, spec = self.unseen
        example = {name: (tuple(size), np.dtype(kind)) for name, (size, kind) in spec.items()}
        weight = {"weight": (example["weight"][0] if "weight" in example else (), np.dtype(np.float32))}
        devices = self.target.devices if self.target else self.plan.devices
        return backend.evaluation_batch(replace(self.plan, devices=devices), model, count), example | weight

    def _judge(self, compiler: Any, limit: int, traced: _Traced | lowered.TfTraced) -> None:
        """Whether the plan's batch fits, in training and evaluation, and the largest that does. *compiler*: as
        `compiling.StepCompiler`."""
        assert self.target is not None
        try:
            for batch in self.also:
                one = compiler.compile(batch, full=self.full)
                self._say(one.to_json() | {"answer": "compiled-also", "limit_bytes": limit})
            if self.also:
                return
            first = compiler.verdict(self.batch, limit)
            hardest = self._tell(compiler, first, limit, traced)
            if self.framework.is_traced and hardest.fits:  # what was told stands until this is through
                first = first if first.effort == "full" else compiler.compile(self.batch, full=True)
                hardest = self._tell(compiler, first, limit, traced, full=True)
        except (ValueError, RuntimeError) as error:
            self._cannot(error)
            return
        first = first if hardest.fits else replace(first, fits=False, device_bytes=hardest.device_bytes)
        if not first.fits or self.largest:
            self._say({"stage": "largest-batch"})
            unit = self.target.devices * self.plan.job.training.accumulate
            guess = compiling.first_guess(compiler, first, limit, unit)
            self._say({"answer": "largest-batch", "guess": guess})
            if first.fits and guess >= self.plan.steps_per_epoch * self.batch:
                return  # all of the data fits at once: its size is the limit, not the memory
            try:
                best, tried = compiling.largest_batch(compiler, first, limit, unit)
            except RuntimeError as error:
                words = str(error)[: compiling.WORDS]
                self._say({"answer": "largest-batch", "problem": "compiler-refused", "raw": words})
                return
            at_best = next((one for one in tried if one.batch == best and one.fits), None)
            self._say(
                {
                    "answer": "largest-batch",
                    "guess": guess,
                    "largest_batch": best,
                    "compiles": len(tried),
                    "device_bytes": at_best.device_bytes if at_best else None,
                }
            )

    def _tell(
        self,
        compiler: Any,
        train: compiling.Compiled,
        limit: int,
        traced: _Traced | lowered.TfTraced,
        *,
        full: bool = False,
    ) -> compiling.Compiled:
        """Evaluate, too, and tell of both programs; the one that needs most memory."""
        evaluated: compiling.Compiled = compiler.evaluation(*traced.evaluation, limit, full=full)
        programs = traced.programs(train, evaluated, limit, self.target.devices if self.target else 1)
        hardest = max(train, evaluated, key=lambda one: (not one.fits, one.device_bytes))
        told = {"answer": "compiled", "limit_bytes": limit, "programs": programs}
        self._say(hardest.to_json() | told | ({} if self.framework.is_traced else {"replica": True}))
        return hardest

    def _first_batch(self) -> tuple[dict[str, Any], dict[str, tuple[tuple[int, ...], Any]]]:
        """The first real examples, and the shape and type of one."""
        import numpy as np

        from tpu_studio.data import sources
        from tpu_studio.data.looked import look_of_plan
        from tpu_studio.trainer.order import Order, generator
        from tpu_studio.trainer.parts import vary_of

        look = look_of_plan(self.plan) if self.plan.data else None
        opened = sources.open_data(self.plan.job, look, memory_budget_bytes=DATA_BUDGET, workers=os.cpu_count() or 1)
        count = min(self.batch, MOST_EXAMPLES, len(opened.train))
        seed = self.plan.job.training.seed
        order = Order(len(opened.train), min(self.batch, len(opened.train)), seed)
        batch = opened.train.batch(order.indices(0)[:count], rng=generator(seed, 0, 0))
        if vary := vary_of(self.plan, opened, count):
            batch |= vary(generator(seed, 0, 1), None)
        self.description = opened.description
        self.unseen = len(opened.validation), dict(opened.validation.spec)
        return batch, {name: (tuple(array.shape[1:]), np.dtype(array.dtype)) for name, array in batch.items()}

    def _build(self) -> tuple[object, dict[str, object]]:
        from tpu_studio.trainer.check.tracing import problem_of, whole_tracebacks
        from tpu_studio.trainer.models.initial import without_weights
        from tpu_studio.trainer.parts import build_model

        if self.file is not None:
            sha256 = hashlib.sha256(owncode.read(self.file) or b"").hexdigest()
            if sha256 != self.plan.consent:
                return None, {"id": "model-no-consent", "facts": {"file": str(self.file)}}
        if self.file is not None:
            from tpu_studio.trainer.models import own

            own.LIMIT_S = self.build_limit_s
        try:
            with whole_tracebacks(), without_weights() if self.file is None else contextlib.nullcontext():
                return build_model(self.plan, self.description, None), {}
        except ModelError as error:
            if error.id in ("model-raises", "model-shapes") and error.__cause__ is not None:
                return None, problem_of(error.__cause__, self.file)
            return None, error.to_json()
        except DataError as error:
            return None, error.to_json()

    def _say(self, told: Mapping[str, object]) -> None:
        _say(self.out, told)


class _Traced:
    """The step of one model, traced with the shapes of real examples."""

    def __init__(self, check: _Check, model: Any, batch: dict[str, Any], spec: Mapping[str, Any]) -> None:
        import numpy as np

        from tpu_studio.trainer import recipe, state
        from tpu_studio.trainer.models import splash
        from tpu_studio.trainer.step_jax import JaxFormulas

        self.check, self.model, self.spec = check, model, spec
        constants = recipe.from_plan(check.plan)
        shape = state.layout(model, constants)
        self._formulas = functools.partial(JaxFormulas, model, constants, shape)
        on_chip = not places.by_id(check.plan.place).local
        self.formulas = self._formulas(splash.Splash() if on_chip else None)
        weights = [(tuple(one.shape), np.dtype(one.dtype)) for one in model.trainable_variables]
        others = [(tuple(one.shape), np.dtype(one.dtype)) for one in model.non_trainable_variables]
        self.state = [*weights, *others, *((size, np.dtype(np.float32)) for _ in shape.slots for size, _ in weights)]
        self.slots_from = len(weights) + len(others)
        self.per_call = backend.way(check.plan, convolutions=backend.has_convolutions(model)).per_call
        self.parts = check.plan.job.training.accumulate

    def answer(self) -> dict[str, Any]:
        """``problems``, ``operations``, and what the model is made of."""
        import jax

        from tpu_studio.trainer.check import operations, tracing

        told: dict[str, Any] = {"answer": "traced", "problems": [], "operations": [], "params": _params(self.model)}
        try:
            with tracing.whole_tracebacks(), as_on_a_tpu():
                jaxpr = jax.make_jaxpr(self._step)(*self._arguments(self.check.batch))
                evaluation = jax.make_jaxpr(self.formulas.run_evaluate)(*self._unseen_arguments())
                told["work"] = self.check.count(self.model, self.spec)
        except Exception as error:  # noqa: BLE001  a person's own layers may raise anything; it becomes an answer
            told["problems"] = [tracing.problem_of(error, self.check.file)]
            return told
        self.loops = {"train": programs_of.loops(jaxpr), "evaluate": programs_of.loops(evaluation)}
        told["operations"] = operations.findings(jaxpr, self.check.file, matrix_unit=self.check.matrix_unit)
        told["programs"] = len(self.loops)  # partial batches are filled to the one shape
        return told

    def compiler(self, devices: list[Any]) -> compiling.StepCompiler:
        from tpu_studio.trainer.models import splash

        return compiling.StepCompiler(
            lambda mesh: self._formulas(splash.over(mesh)),
            self.state,
            self.slots_from,
            self.spec,
            self.per_call,
            devices,
            self._remembered,
            sharded=self.check.plan.sharded,
        )

    @property
    def evaluation(self) -> tuple[int, dict[str, tuple[tuple[int, ...], Any]]]:
        """Examples of one call of the evaluation, and shape and type of one."""
        return self.check.evaluation(self.model)

    def programs(
        self, train: compiling.Compiled, evaluate: compiling.Compiled, limit: int, devices: int
    ) -> dict[str, Any]:
        weights = sum(math.prod(one.shape) for one in self.model.trainable_variables)
        update = programs_of.update_bytes(weights, len(self.formulas._shape.slots))
        return {
            "train": programs_of.told(train, limit, devices=devices, loops=self.loops["train"], update_bytes=update),
            "evaluate": programs_of.told(evaluate, limit, devices=devices, loops=self.loops["evaluate"]),
        }

    def _unseen_arguments(self) -> tuple[list[object], dict[str, object]]:
        import jax

        batch, example = self.evaluation
        state = [jax.ShapeDtypeStruct(size, kind) for size, kind in self.state[: self.slots_from]]
        return state, {name: jax.ShapeDtypeStruct((batch, *size), kind) for name, (size, kind) in example.items()}

    def _step(self, state: Any, batch: Any) -> Any:
        import jax.numpy as jnp

        return self.formulas._one(state, batch, jnp.float32(0.001), jnp.float32(1))

    def _arguments(self, batch: int) -> tuple[list[object], dict[str, object]]:
        import jax

        state = [jax.ShapeDtypeStruct(size, kind) for size, kind in self.state]
        return state, {name: jax.ShapeDtypeStruct((batch, *size), kind) for name, (size, kind) in self.spec.items()}

    def _remembered(self, batch: int) -> int:
        from tpu_studio.trainer.check.tracing import remembered_bytes

        state, examples = self._arguments(max(1, batch // self.parts))
        return remembered_bytes(self.formulas, state, examples)


def _params(model: Any) -> int:
    from tpu_studio.trainer.models import count_params

    return int(count_params(model))


def _limit_memory(most: int) -> None:
    """Address space: an array of 100 GB is refused where it is asked for, so that its line can be told."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _say(fd: int, told: Mapping[str, object]) -> None:
    line = json.dumps(told).encode() + b"\n"
    while line:
        line = line[os.write(fd, line) :]
    sys.stderr.flush()
