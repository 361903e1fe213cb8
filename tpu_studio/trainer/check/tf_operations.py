"""What of a traced TensorFlow graph a TPU cannot do, from a table: for computers without the TPU's own TensorFlow.

`resources/catalogue/tf_operations.json` (tools/make_operations.py) lists every operation that tensorflow-tpu has for
its TPU compiler, with the number types it takes, the inputs whose values must be known beforehand, those that work
slowly, and what to use instead. Compared with the lowering and the compiler themselves by benchmarks/bench_operations.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tpu_studio.trainer.check.lowering import function_graph, function_names, where
from tpu_studio.wire.resources import resource_path

# Not computed but wired by the compiler itself.
_WIRING = {"Placeholder", "PlaceholderWithDefault", "Const", "NoOp", "_Arg", "_Retval"}
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
_BRANCHES = {"If", "StatelessIf", "Case", "StatelessCase"}
_LOOPS = {"While", "StatelessWhile"}
# The shape is known although the values are not.
_SHAPES = {"Shape", "ShapeN", "Size", "Rank"}
# They take a size of which only the largest value is known.
_TAKE_BOUNDS = {"Range", "Fill", "Tile"}
_NOT_FOLDED = {"Placeholder", "VarHandleOp", "ReadVariableOp", "StatelessRandomGetKeyCounter"}
_SLICE = "Use tf.slice with a size that is a number in Python: tf.slice(x, [start, 0], [8, 16])."
_FLOAT32 = "Use tf.float32: cast to it, and let nothing in the model be a tf.float64."
_DEPTH = 400


class Table:
    """The committed answers."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        kinds = [frozenset(one) for one in tree["kinds"]]
        self.types = {name: {at: kinds[one] for at, one in types.items()} for name, types in tree["types"].items()}
        self.constant: Mapping[str, list[int]] = {name: list(at) for name, at in tree["constant"].items()}
        self.slow: Mapping[str, str] = tree["slow"]
        self.refused: Mapping[str, str] = tree["refused"]
        self._instead: Mapping[str, str] = tree["instead"]

    def instead(self, type: str, *, by_value: bool = False) -> str:
        """What to use in place of an operation; empty: nothing is known."""
        return self._instead.get(type) or (self._instead["*by_value"] if by_value else "")

    def takes(self, operation: Any) -> tuple[bool, str]:
        """Whether a TPU has *operation* for its number types; the type it has not."""
        from tensorflow.python.framework import dtypes

        kinds = self.types.get(operation.type)
        if kinds is None or operation.type in self.refused:
            return False, ""
        for name, allowed in kinds.items():
            attribute = operation.node_def.attr[name]
            for kind in [attribute.type] if attribute.type else attribute.list.type:
                if dtypes.as_dtype(kind).name not in allowed:
                    return False, dtypes.as_dtype(kind).name
        return True, ""


@lru_cache(maxsize=1)
def table() -> Table:
    return Table(json.loads(resource_path("catalogue", "tf_operations.json").read_bytes()))


def findings(
    graph: Any, layers: Mapping[str, str] = {}, file: Path | None = None, known: Table | None = None
) -> list[dict[str, Any]]:
    """``{"id", "level", "facts"}`` of *graph* and the functions in it, worst first; one an operation."""
    known = known or table()
    found: dict[tuple[str, str], dict[str, Any]] = {}

    def add(id: str, level: str, operation: Any, **facts: Any) -> None:
        told = {"operation": operation.type, "count": 0, "framework": "TensorFlow", **facts}
        told |= where(operation, operation.name, layers, file)
        one = found.setdefault((id, operation.type), {"id": id, "level": level, "facts": told})
        one["facts"]["count"] += 1

    def instead(operation: Any, *, by_value: bool = False) -> dict[str, str]:
        words = known.instead(operation.type, by_value=by_value)
        return {"instead": words} if words else {}

    for scope in _Scope(graph, None, ()).all():
        for operation in scope.computed():
            if operation.type in _LOOPS and (grows := scope.what_grows(operation)):
                add("op-dynamic-shape", "error", operation, **instead(operation, by_value=True), raw=grows)
            if operation.type in _WIRING or operation.type in _CALLS | _BRANCHES | _LOOPS:
                continue
            if operation.outputs and all(scope.is_known(one) for one in operation.outputs):
                continue  # worked out beforehand, by the processor
            works, kind = known.takes(operation)
            if not works:
                add("op-not-on-tpu", "error", operation, **({"dtype": kind} if kind else {}), **instead(operation))
                continue
            bounded = operation.type in _TAKE_BOUNDS
            if any(not scope.is_known(operation.inputs[at], bounded) for at in _places(operation, known.constant)):
                add(
                    "op-dynamic-shape",
                    "error",
                    operation,
                    **instead(operation, by_value=True),
                    raw=f"{operation.type} needs to know a size or an axis beforehand",
                )
                continue
            told_wide = any(id == "op-float64" for id, _ in found)  # once is enough, in a person's own lines
            if _is_wide(operation) and not told_wide and "line" in where(operation, operation.name, layers, file):
                add("op-float64", "warning", operation, dtype="float64", instead=_FLOAT32)
            if operation.type == "TensorListSetItem" and operation.node_def.attr["resize_if_index_out_of_bounds"].b:
                add("op-array-grows", "warning", operation)
            from_value, to_value = scope.free_sizes(operation) if operation.type == "StridedSlice" else (0, 0)
            if from_value or to_value > 1:  # its size becomes that of the whole
                add("op-dynamic-shape", "error", operation, instead=_SLICE, raw="the size of a slice depends on values")
            elif operation.type in known.slow or to_value:
                words = known.slow.get(operation.type) or known.instead("", by_value=True)
                add("op-slow-on-tpu", "warning", operation, instead=words)
    return sorted(found.values(), key=lambda one: one["level"] != "error")


def _is_wide(operation: Any) -> bool:
    return operation.type != "Cast" and any(one.dtype.name == "float64" for one in operation.outputs)


def _places(operation: Any, constant: Mapping[str, list[int]]) -> Iterable[int]:
    count = len(operation.inputs)
    return (at if at >= 0 else count + at for at in constant.get(operation.type, ()) if -count <= at < count)


class _Scope:
    """One graph and, for the graph of a function, the operation that calls it from outside."""

    def __init__(self, graph: Any, outside: _Scope | None, given: tuple[Any, ...], *, loop: bool = False) -> None:
        self.graph, self._outside, self._given, self._loop = graph, outside, given, loop
        self._inputs = {tensor.name: at for at, tensor in enumerate(getattr(graph, "inputs", ()))}
        self._memory: dict[tuple[str, bool], bool] = {}

    def all(self, depth: int = 0) -> Iterable[_Scope]:
        yield self
        if depth > 20:
            return
        for operation in self.computed():
            for name in function_names(operation):
                graph = function_graph(self.graph, name)
                if graph is None:
                    continue
                given = tuple(operation.inputs)
                if operation.type in _BRANCHES:
                    given = given[1:]
                inner = _Scope(graph, self, given, loop=operation.type in _LOOPS)
                yield from inner.all(depth + 1)

    def computed(self) -> list[Any]:
        """The operations that results or effects need: what nothing uses is dropped before a TPU sees it."""
        todo = [tensor.op for tensor in getattr(self.graph, "outputs", ())]
        todo += list(getattr(self.graph, "control_outputs", ()) or ())
        if not todo:
            return list(self.graph.get_operations())
        seen: dict[str, Any] = {}
        while todo:
            operation = todo.pop()
            if operation.name in seen:
                continue
            seen[operation.name] = operation
            todo += [tensor.op for tensor in operation.inputs]
            todo += list(operation.control_inputs)
        return list(seen.values())

    def what_grows(self, loop: Any) -> str:
        """Words about a variable of *loop* whose shape changes from turn to turn; empty: none does."""
        for given, result in zip(loop.inputs, loop.outputs, strict=True):
            if given.dtype.name != "variant" and not result.shape.is_fully_defined():
                return f"a variable of the loop has the shape {given.shape} first, then {result.shape}"
        return ""

    def free_sizes(self, slice: Any) -> tuple[int, int]:
        """In how many dimensions a StridedSlice begins, and ends, where values say."""
        begins, ends = (_elements(slice.inputs[at]) for at in (1, 2))
        masks = [slice.node_def.attr[name].i for name in ("begin_mask", "end_mask", "shrink_axis_mask")]
        if begins is None or ends is None or slice.node_def.attr["ellipsis_mask"].i:
            return 0, 0
        counts = [
            sum(
                one is not None and not (mask | masks[2]) >> at & 1 and not self.is_known(one)
                for at, one in enumerate(ones)
            )
            for ones, mask in ((begins, masks[0]), (ends, masks[1]))
        ]
        return counts[0], counts[1]

    def is_known(self, tensor: Any, bounded: bool = False, depth: int = 0) -> bool:
        """Whether the value of *tensor*, or with *bounded* the largest, does not depend on what the step is given."""
        key = (tensor.name, bounded)
        if key not in self._memory:
            self._memory[key] = False  # a loop around itself
            self._memory[key] = depth < _DEPTH and self._know(tensor, bounded, depth + 1)
        return self._memory[key]

    def _know(self, tensor: Any, bounded: bool, depth: int) -> bool:
        operation = tensor.op
        if operation.type == "Const":
            return True
        if operation.type in _SHAPES:
            return (
                bounded
                or all(one.shape.is_fully_defined() for one in operation.inputs)
                or (operation.type == "Rank" and operation.inputs[0].shape.rank is not None)
            )
        if tensor.name in self._inputs:
            return self._know_given(self._inputs[tensor.name], tensor, bounded, depth)
        if operation.type in _NOT_FOLDED or operation.op_def.is_stateful:
            return False
        if operation.type in _CALLS | _BRANCHES | _LOOPS:
            return False
        return all(self.is_known(one, bounded, depth) for one in operation.inputs)

    def _know_given(self, at: int, tensor: Any, bounded: bool, depth: int) -> bool:
        """A function's input is known when what is given from outside is, and a loop leaves it as it was."""
        if self._outside is None or at >= len(self._given):
            return False
        if self._loop:
            outputs = getattr(self.graph, "outputs", ())
            if len(outputs) != len(self._given):  # the condition: its loop's variables change
                return False
            given_back = outputs[at]
            while given_back.op.type == "Identity":
                given_back = given_back.op.inputs[0]
            if given_back.name != tensor.name:
                return False
        return self._outside.is_known(self._given[at], bounded, depth)


def _elements(tensor: Any) -> list[Any] | None:
    """What a small vector is packed of; None in it: a number; None: it is made in another way."""
    if tensor.op.type == "Pack":
        return list(tensor.op.inputs)
    if tensor.op.type == "Const":
        return [None] * int(tensor.shape[0] or 0)
    return None
