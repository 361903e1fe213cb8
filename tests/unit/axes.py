"""Counts how often an axis of the product (place, data kind, task, family, framework, metric, tier) is a bare string.

`literals` walks the syntax trees of the package and names each place where an id of an axis stands as a literal outside
the axis' home: in a comparison, a match case, a call, a set, a list, a tuple or a table. A word that is an id of an
axis and an ordinary word as well ("text", "table", "computer") counts only where its neighbours show that the axis is
meant.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "tpu_studio"


@dataclass(frozen=True)
class Axis:
    """One axis of variation.

    Attributes:
        ids: What its records are called.
        homes: Files and folders below ``tpu_studio/`` that may spell an id.
        words: Parts of a name that show that the axis is meant, where an id is an ordinary word as well.
        ordinary: The ids that are ordinary words.
    """

    name: str
    ids: frozenset[str]
    homes: tuple[str, ...]
    words: tuple[str, ...]
    ordinary: frozenset[str] = field(default_factory=frozenset)


_PLACE_ROOMS = ("workflow/places/", "planner/places/")
AXES = (
    Axis(
        "place",
        frozenset({"computer", "practice", "cloud", "colab"}),
        ("wire/places.py", *_PLACE_ROOMS),
        ("place", "where"),
        frozenset({"computer", "practice", "cloud", "colab"}),
    ),
    Axis(
        "kind",
        frozenset({"images", "table", "text", "digits", "tfrecord"}),
        (
            "wire/kinds.py",
            "data/readers.py",
            "data/images/",
            "data/tables/",
            "data/text/",
            "data/tfrecord/",
            "data/digits/",
        ),
        ("kind", "takes"),
        frozenset({"images", "table", "text", "digits", "tfrecord"}),
    ),
    Axis(
        "task",
        frozenset({"classification", "regression", "language-model"}),
        ("wire/tasks.py", "wire/kinds.py", "wire/models.py"),
        ("task",),
    ),
    Axis(
        "family",
        frozenset({"mlp", "cnn", "gpt", "file"}),
        ("wire/families.py", "wire/models.py", "wire/kinds.py", "trainer/models/", "planner/modelwork.py"),
        ("family", "model"),
        frozenset({"file"}),
    ),
    Axis(
        "framework",
        frozenset({"tensorflow", "jax"}),
        ("wire/frameworks.py", "trainer/frameworks/"),
        ("framework", "backend"),
        frozenset({"tensorflow", "jax"}),
    ),
    Axis(
        "metric",
        frozenset({"loss", "accuracy", "val_loss", "val_accuracy", "val_r2", "val_mae", "val_nats_per_token"}),
        ("wire/metrics.py", "wire/tasks.py", "trainer/evaluation.py", "trainer/maths.py"),
        ("metric", "curve", "line", "wanted", "values", "last", "final", "view"),
        frozenset({"loss", "accuracy"}),
    ),
    Axis("tier", frozenset({"on-demand", "spot", "flex-start", "reserved"}), ("domain/loans.py",), ("tier",)),
)


@dataclass(frozen=True)
class Literal:
    """An id of an axis as a literal, at a line of a file below ``tpu_studio/``."""

    file: str
    line: int
    id: str


def literals(axis: Axis, package: Path = PACKAGE) -> list[Literal]:
    """Each literal of an id of *axis* outside its homes."""
    return [
        Literal(name, line, id_)
        for name, tree in _trees(package)
        if not name.startswith(axis.homes)
        for line, id_ in _in_tree(axis, tree)
    ]


_SPEAKING = (
    ast.Compare,
    ast.Match,
    ast.Call,
    ast.Dict,
    ast.Subscript,
    ast.Assign,
    ast.AnnAssign,
    ast.IfExp,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
)


@cache
def _trees(package: Path) -> list[tuple[str, tuple[ast.AST, ...]]]:
    """Each file's name and the nodes of its tree that can spell an id."""
    return [
        (
            path.relative_to(package).as_posix(),
            tuple(
                node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, _SPEAKING)
            ),
        )
        for path in sorted(package.rglob("*.py"))
    ]


def _in_tree(axis: Axis, nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    for node in nodes:
        for group, context in _groups(node):
            ids = [one for one in group if isinstance(one, ast.Constant) and one.value in axis.ids]
            if not ids:
                continue
            source = " ".join(ast.unparse(one) if isinstance(one, ast.AST) else one for one in context).lower()
            meant = any(word in source for word in axis.words) or len({one.value for one in ids}) > 1
            for one in ids:
                if one.value not in axis.ordinary or meant:
                    yield one.lineno, str(one.value)


def _groups(node: ast.AST) -> Iterator[tuple[Sequence[ast.AST], Sequence[ast.AST | str]]]:
    """What stands beside each other in *node*, and what shows what is meant by it."""
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            yield (
                [inner for side in sides for inner in _elements(side)],
                [side for side in sides if not isinstance(side, ast.Constant)],
            )
        case ast.Match():
            patterns = [inner for case in node.cases for inner in ast.walk(case.pattern)]
            yield [inner.value for inner in patterns if isinstance(inner, ast.MatchValue)], [node.subject]
        case ast.Call():
            yield node.args, [node.func]
            for keyword in node.keywords:
                yield _elements(keyword.value), [keyword.arg or ""]
        case ast.Dict():
            yield [key for key in node.keys if key is not None], []
        case ast.Subscript():
            yield [node.slice], [node.value]
        case ast.Assign():
            yield _elements(node.value), node.targets
        case ast.AnnAssign() if node.value is not None:
            yield _elements(node.value), [node.target]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            arguments = node.args
            positional = [*arguments.posonlyargs, *arguments.args]
            pairs = [*zip(positional[::-1], arguments.defaults[::-1], strict=False)]
            named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            pairs += [(one, value) for one, value in named if value]
            for argument, value in pairs:
                yield [value], [argument.arg]
        case ast.IfExp():
            yield [node.body, node.orelse], []


def _elements(node: ast.AST) -> list[ast.AST]:
    return list(node.elts) if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
