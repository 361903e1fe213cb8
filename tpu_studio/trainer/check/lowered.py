"""The TensorFlow step of one model: traced, lowered for a TPU, and compiled by libtpu in another environment's process.

`TfTraced` is to TensorFlow what `program._Traced` is to JAX. `LoweredCompiler` answers as `compiling.StepCompiler`
does; the programs are those of one replica with its share of the batch, a step and a check on unseen data, as
`step_tf_replicas` has them run: the sums over replicas are not in them, and the loop over steps is the computer's.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tpu_studio.trainer.check import lowering, tf_operations, tracing
from tpu_studio.trainer.check import programs as programs_of
from tpu_studio.trainer.check.compiling import DOUBT, Compiled, Damaged, Target
from tpu_studio.trainer.frameworks import on_tensorflow
from tpu_studio.wire import ownpython
from tpu_studio.wire.plan import Plan

Spec = tuple[tuple[int, ...], Any]


class CompilerEnded(Exception):
    """The compiler's process is gone; *code* is how it ended."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the compiler ended with {code}")
        self.code = code


class TfTraced:
    """Args:
    example: Shape and dtype of one example by name ("x", "y", "weight").
    evaluation: Examples of one call of the evaluation over all devices, and likewise one of them.
    """

    def __init__(
        self,
        plan: Plan,
        model: Any,
        example: Mapping[str, Spec],
        evaluation: tuple[int, Mapping[str, Spec]],
        file: Path | None,
    ) -> None:
        import numpy as np

        from tpu_studio.trainer import recipe, state
        from tpu_studio.trainer.step_tf import TfFormulas

        self.plan, self.model, self.example, self._file = plan, model, example, file
        self.evaluation = evaluation
        constants = recipe.from_plan(plan)
        shape = state.layout(model, constants)
        self._formulas = TfFormulas(model, constants, shape)
        weights = [(tuple(one.shape), np.dtype(one.dtype)) for one in model.trainable_variables]
        others = [(tuple(one.shape), np.dtype(one.dtype)) for one in model.non_trainable_variables]
        slots = [(size, np.dtype(np.float32)) for _ in shape.slots for size, _ in weights]
        self.state: list[Spec] = [*weights, *others, *slots]
        self.slots_from = len(weights) + len(others)
        self._layers = lowering.layer_names(model)

    def answer(self, batch: int, *, lower: bool) -> dict[str, Any]:
        """``problems`` and ``operations`` of one step and of a check on unseen data, with *batch* examples on a device.

        Args:
            lower: Ask the TPU lowering itself; otherwise the table answers (`by`: lowering, table).
        """
        told: dict[str, Any] = {"problems": [], "operations": [], "by": "lowering" if lower else "table"}
        for graph in (self._one_step(batch), self._evaluation(batch)):
            try:
                with tracing.whole_tracebacks():
                    graph.trace()
            except Exception as error:  # noqa: BLE001  a person's own layers may raise anything; it becomes an answer
                told["problems"] = [tracing.problem_of(error, self._file)]
                return told
            known = {one["facts"]["operation"] for one in told["operations"]}
            told["operations"] += self._operations(graph, known, lower)
        return told

    def _operations(self, graph: lowering.Graph, known: set[str], lower: bool) -> list[dict[str, Any]]:
        by_table = tf_operations.findings(graph.concrete.graph, self._layers, self._file)
        found = by_table
        if lower:
            found = [one for one in by_table if one["level"] != "error"]
            try:
                graph.lower()
            except lowering.Refused as refused:
                if "resource arguments" in refused.words:  # tables, queues: the graph itself tells which
                    found = by_table
                if not any(one["level"] == "error" for one in found):
                    table = tf_operations.table()
                    found += lowering.findings(refused, graph.concrete.graph, self._layers, self._file, table)
        return [one for one in found if one["facts"]["operation"] not in known]

    def lower(self, batch: int) -> str:
        """A step of one replica with *batch* examples; its state comes back first. Raises lowering.Refused."""
        import tensorflow as tf

        number = tf.TensorSpec((), tf.float32)
        return lowering.Graph(self._formulas._one, (*self._arguments(batch, self.state), number, number)).lower()

    def lower_evaluation(self, batch: int) -> str:
        """A check of one replica with *batch* unseen examples. Raises lowering.Refused."""
        return self._evaluation(batch).lower()

    def programs(self, train: Compiled, evaluate: Compiled, limit: int, devices: int) -> dict[str, Any]:
        return {
            "train": programs_of.told(train, limit, devices=devices),
            "evaluate": programs_of.told(evaluate, limit, devices=devices),
        }

    def _one_step(self, batch: int) -> lowering.Graph:
        import tensorflow as tf

        def step(state: Any, batch: Any) -> Any:
            return self._formulas._one(state, batch, tf.constant(0.001), tf.constant(1.0))

        return lowering.Graph(step, self._arguments(batch, self.state))

    def _evaluation(self, batch: int) -> lowering.Graph:
        import numpy as np
        import tensorflow as tf

        state, examples = self._arguments(batch, self.state[: self.slots_from], self.evaluation[1])
        examples.setdefault("weight", tf.TensorSpec((batch,), np.float32))
        return lowering.Graph(self._formulas.run_evaluate, (state, examples))

    def _arguments(
        self, batch: int, state: list[Spec], example: Mapping[str, Spec] | None = None
    ) -> tuple[list[object], dict[str, object]]:
        import tensorflow as tf

        each = (example or self.example).items()
        examples = {name: tf.TensorSpec((batch, *size), kind) for name, (size, kind) in each}
        return [tf.TensorSpec(size, kind) for size, kind in state], examples


class LoweredCompiler:
    """Compiles what `TfTraced` lowers, in a process of *python*, which ends with this one.

    Raises (each method):
        CompilerEnded: It broke down. ValueError, RuntimeError: as `compiling.StepCompiler`.
    """

    def __init__(self, traced: TfTraced, python: Path, target: Target, folder: Path) -> None:
        self._traced, self._folder, self._count = traced, folder, target.devices
        library = on_tensorflow.libtpu()  # what TensorFlow's own VM has; None: the compiler's own
        self._process = subprocess.Popen(
            ownpython.module(python, "tpu_studio.trainer.check.compiling_text"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={name: value for name, value in ownpython.environment().items() if name != "TPU_LIBRARY_PATH"}
            | ({"TPU_LIBRARY_PATH": str(library)} if library else {}),
        )
        self._send(target.__dict__)

    def limit_bytes(self) -> int:
        """Of one device; waits until the compiler is there. Raises Damaged too."""
        told = self._receive()
        if "problem" in told:
            raise (Damaged if told.get("damaged") else ValueError)(told["problem"])
        return int(told["limit_bytes"])

    @property
    def fixed_bytes(self) -> int:
        return sum(_bytes(spec) for spec in self._traced.state)

    def verdict(self, batch: int, limit: int) -> Compiled:
        quick = self.compile(batch)
        if DOUBT[0] * limit < quick.device_bytes < DOUBT[1] * limit:
            return self.compile(batch, full=True)
        return quick

    def compile(self, batch: int, *, full: bool = False) -> Compiled:
        """*batch*: global; a multiple of the devices."""
        return self._compiled(self._traced.lower, batch, kept=len(self._traced.state), full=full)

    def evaluation(self, batch: int, example: Mapping[str, Spec], limit: int, *, full: bool = False) -> Compiled:
        """Likewise; the optimizer waits beside it in memory."""
        found = self._compiled(self._traced.lower_evaluation, batch, kept=0, full=full)
        return replace(found, fits=found.fits and found.device_bytes <= limit)

    def _compiled(self, lower: Callable[[int], str], batch: int, *, kept: int, full: bool) -> Compiled:
        """*kept*: so many of its inputs come back changed, in the same memory; of what holds no optimizer, none."""
        file = self._folder / "program.mlir"
        try:
            file.write_text(lower(batch // self._count), encoding="utf-8")
        except lowering.Refused as refused:
            whole = f"{lowering.first_words(refused.words)}\n\n{refused.words}"  # a sentence takes the first words
            raise RuntimeError(whole) from refused
        self._send({"file": str(file), "full": full, "kept": kept})
        told = self._receive()
        if "problem" in told:
            raise RuntimeError(told["problem"])
        effort = "full" if full else "least"
        weights = sum(_bytes(spec) for spec in self._traced.state[: self._traced.slots_from])
        optimizer = sum(_bytes(spec) for spec in self._traced.state[self._traced.slots_from :])
        beside = 0 if kept else optimizer
        if not told["fits"]:
            needs = told["needs"] + beside
            return Compiled(False, batch, needs, told["seconds"], {}, words=told["words"], effort=effort)
        parts = {
            "weights": weights,
            "optimizer": optimizer,
            "data": max(0, told["arguments"] + beside - weights - optimizer),
            "activations": 0,
            "temporaries": told["temporary"],
        }
        needs = (told["peak"] or told["arguments"] + told["temporary"] + told["code"]) + beside
        work = (told["flops"], told["bytes_accessed"])
        return Compiled(True, batch, needs, told["seconds"], parts, *work, effort=effort)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _send(self, line: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise CompilerEnded(self._process.wait()) from None

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise CompilerEnded(self._process.wait())
        told: dict[str, object] = json.loads(line)
        return told


def _bytes(spec: Spec) -> int:
    size, kind = spec
    total = int(kind.itemsize)
    for side in size:
        total *= side
    return total
