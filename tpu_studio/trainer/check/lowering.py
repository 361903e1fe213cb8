"""A TensorFlow training step, lowered for a TPU without one: what cannot be lowered is told by operation and line.

tensorflow-tpu can write the program a TPU would compile (StableHLO) on any computer, given that the step is a function
of tensors alone (`step_tf.TfFormulas`). Its refusal names operation, node and file. Runs in the environment that
`engine --install --with tf-tpu-compiler` makes; a plain TensorFlow only traces, and `tf_operations` reads the graph.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# Read when TensorFlow is imported: no libtpu is loaded and nobody is asked on the network.
ENVIRONMENT = {"TPU_LIBRARY_PATH": "/nonexistent", "TPU_SKIP_MDS_QUERY": "1"}

_UNSUPPORTED = re.compile(r"(\w+) \(No registered '\w+' OpKernel.*?\)\{\{node ([^}]+)\}\}", re.DOTALL)
_NODE = re.compile(r"\{\{(?:function_)?node ([^}]+)\}\}")
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_BY_VALUE = re.compile(
    r"compile-time constant|requested shape has|shapes of loop body do not match|dynamic (?:shape|dimension)",
    re.IGNORECASE,
)
_WORDS = 1200  # of a refusal's first sentence
WORDS = 20_000  # of all that it says of one operation


class Refused(Exception):
    """The lowering's own words; *nodes* are pairs of operation and node, where it names them."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words
        self.nodes = [(found[1], found[2]) for found in _UNSUPPORTED.finditer(words)]


class Graph:
    """A function of tensors, traced once.

    Args:
        function: Takes and gives any structure of tensors.
        arguments: The same structure of ``tf.TensorSpec``.
    """

    def __init__(self, function: Callable[..., object], arguments: Sequence[object]) -> None:
        import tensorflow as tf

        self._specs = tf.nest.flatten(arguments)

        def flat(*tensors: object) -> object:
            return tf.nest.flatten(function(*tf.nest.pack_sequence_as(arguments, tensors)))

        self._function = tf.function(flat, autograph=False, jit_compile=True)
        self.concrete: Any = None

    def trace(self) -> Any:
        """The concrete function; raises whatever the traced Python raises."""
        if self.concrete is None:
            self.concrete = self._function.get_concrete_function(*self._specs)
        return self.concrete

    def lower(self) -> str:
        """StableHLO text for a TPU. Raises Refused."""
        self.trace()
        try:
            told = self._function.experimental_get_compiler_ir(*self._specs)(stage="stablehlo", platform_name="TPU")
        except Exception as error:  # a ValueError, or any of TensorFlow's own
            raise Refused(str(error)) from error
        return str(told)


def can_lower() -> bool:
    """Whether this TensorFlow is the one that can."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return bool(version("tensorflow-tpu"))
    except PackageNotFoundError:
        return False


def findings(
    refused: Refused, graph: Any, layers: Mapping[str, str], file: Path | None, table: Any
) -> list[dict[str, Any]]:
    """What the lowering refused, one an operation: ``{"id", "level", "facts"}``.

    Args:
        graph: The traced graph, in which the nodes' own lines stand.
        layers: Names of the model's layers.
        table: `tf_operations.Table`, for replacements.
    """
    nodes = refused.nodes
    if not nodes:
        nodes = [("", found[1]) for found in _NODE.finditer(refused.words)][:1] or [("", "")]
    answer: dict[str, dict[str, Any]] = {}
    for type, node in nodes:
        operation = _operation(graph, node)
        type = type or (operation.type if operation is not None else "")
        facts: dict[str, Any] = {"operation": type or "this step", "count": 0, "framework": "TensorFlow"}
        facts |= where(operation, node, layers, file)
        if "line" not in facts and file is not None:
            facts |= _line_of_words(refused.words, file)
        by_value = not refused.nodes and _BY_VALUE.search(refused.words) is not None
        id = "op-not-on-tpu" if refused.nodes else "op-dynamic-shape" if by_value else "op-refused"
        if id != "op-not-on-tpu":
            facts |= {"raw": first_words(refused.words), "words": refused.words[:WORDS]}
        if instead := table.instead(type, by_value=by_value):
            facts["instead"] = instead
        one = answer.setdefault(type, {"id": id, "level": "error", "facts": facts})
        one["facts"]["count"] += 1
    return list(answer.values())


def first_words(words: str) -> str:
    """The sentence of a refusal, without the frames and the advice about dumps that follow."""
    said = words.partition("Failed getting HLO text: '")[2] or words
    said = re.split(r"\n\s*\n|\nStack trace|\nOne approach|\nThe op is created|\[\[|\n\ttf2xla conversion", said)[0]
    return re.sub(r"\{\{[^}]*\}\}", "", said).strip().strip("'")[:_WORDS]


def where(operation: Any, node: str, layers: Mapping[str, str], file: Path | None) -> dict[str, Any]:
    """``layer``, ``file`` and ``line`` of a node, as far as they can be told."""
    told: dict[str, object] = {}
    for part in reversed(node.split("/")[:-1]):
        called = re.sub(r"_\d+$", "", part)  # the first call of dense_1 is dense_1_1
        if name := next((one for one in (called, part) if one in layers), ""):
            told["layer"] = name
            break
    if operation is not None and file is not None:
        line = None
        for frame in operation.traceback or ():
            if os.path.realpath(frame.filename) == os.path.realpath(file):
                line = frame.lineno  # the innermost of the person's own
        if line is not None:
            told |= {"file": str(file), "line": int(line)}
    return told


def layer_names(model: Any) -> dict[str, str]:
    """Name and class of each layer of *model*, at any depth."""
    return {layer.name: type(layer).__name__ for layer in model._flatten_layers(include_self=False)}


def _line_of_words(words: str, file: Path) -> dict[str, object]:
    """Frames in a refusal carry a file's last name only."""
    lines = [int(line) for name, line in _FRAME.findall(words) if Path(name).name == file.name]
    return {"file": str(file), "line": lines[-1]} if lines else {}


def _operation(graph: Any, node: str) -> Any:
    for one in graphs_of(graph):
        try:
            return one.get_operation_by_name(node)
        except (KeyError, ValueError):
            continue
    return None


def graphs_of(graph: Any) -> Iterator[Any]:
    """*graph* and the graphs of the functions in it, loops and branches, at any depth, each once."""
    seen: set[int] = set()
    todo = [graph]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        for operation in one.get_operations():
            for name in function_names(operation):
                todo.append(function_graph(one, name))


def function_names(operation: Any) -> list[str]:
    """Names of the functions that *operation* calls."""
    found: list[str] = []
    for value in operation.node_def.attr.values():
        if value.HasField("func"):
            found.append(value.func.name)
        found += [one.name for one in value.list.func]
    return found


def function_graph(graph: Any, name: str) -> object:
    """The traced graph of a function of *graph*; None where TensorFlow keeps none."""
    while graph is not None:
        if graph._is_function(name):
            found = graph._get_function(name)
            return getattr(found, "graph", None)
        graph = getattr(graph, "outer_graph", None)
    return None
