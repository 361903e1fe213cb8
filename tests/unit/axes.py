"""Counts how often an axis of the product (place, data kind, task, family, framework …) is a bare string.

`literals` walks the syntax trees of the package and names each place where an id of an axis stands as a literal outside
the axis' home: in a comparison, a match case, a call, a set, a list, a tuple or a table; where the end or the beginning
of an id is asked for instead; and where a single record, or a constant that stands for one, is taken from the home. A
word that is an id of an axis and an ordinary word as well ("text", "table", "file") counts only where its neighbours
show that the axis is meant; of the others each literal counts, but for files in which the word is something else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
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
        others: Ids that are ordinary words in some files.
        foreign: Ids that are something else in some files, whose neighbours are called alike.
    """

    name: str
    ids: frozenset[str]
    homes: tuple[str, ...]
    words: tuple[str, ...]
    ordinary: frozenset[str] = field(default_factory=frozenset)
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    foreign: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


_KINDS = tuple(f"data/{name}.py" for name in ("images", "tables", "texts", "digits", "shards"))
_EVENTS = tuple(f"workflow/cloudruns/{name}.py" for name in ("acts", "others", "state"))
_ROWS = ("viewmodels/runrows.py",)
AXES = (
    Axis(
        "place",
        frozenset({"computer", "practice", "cloud", "colab"}),
        ("wire/places.py", "workflow/places/", "planner/places/"),
        ("place", "where"),
        others={
            # folders and tables of the practice cloud, the verb that serves it, and what is no real money
            "practice": ("practice/", "cli/main.py", "cli/parser.py", "places/standing.py", "domain/doubts.py", *_ROWS),
            # an icon, and a kind of event: what the cloud said
            "cloud": ("gui/home/page.py", "gui/kit/", "viewmodels/runhappened.py", "domain/folding.py", *_EVENTS),
            "colab": ("cloud/colab.py",),  # a key of notebooks
        },
    ),
    Axis(
        "kind",
        frozenset({"images", "table", "text", "digits", "tfrecord"}),
        ("wire/kinds.py", "data/readers.py", *_KINDS),
        ("kind", "takes"),
        frozenset({"table", "text"}),
        others={
            "images": (
                "gui/kit/",
                "viewmodels/examples.py",
                "wire/families.py",
                "domain/",
                "cloud/livecheck/",
            ),  # an icon; of machines
            "digits": ("viewmodels/examples.py", "viewmodels/samples.py", "cloud/bundle.py"),  # a folder of samples
        },
        foreign={  # kinds of columns, of cells and of values of a job
            "text": ("data/columns.py", "gui/plan/preview.py", "gui/kit/table.py", "wire/job.py"),
            "table": ("wire/job.py",),
        },
    ),
    Axis(
        "task",
        frozenset(
            {"classification", "multi-label", "regression", "language-model", "text-classification", "instruction"}
        ),
        ("wire/tasks.py", "wire/kinds.py", "wire/families.py", "wire/metrics.py"),
        ("task",),
        others={"instruction": ("data/chatlayout.py",)},  # a column of tables
    ),
    Axis(
        "family",
        frozenset({"mlp", "cnn", "efficientnet", "encoder", "gpt", "causal", "kerashub", "file"}),
        ("wire/families.py", "wire/presets.py", "wire/kinds.py", "trainer/models/", "planner/modelwork.py"),
        ("family", "model"),
        frozenset({"file", "encoder"}),
        foreign={  # names of published throughputs; a key of the job
            **dict.fromkeys(("mlp", "cnn", "efficientnet", "gpt"), ("planner/throughput/families.py",)),
            "file": ("local/preflight.py",),
            "gpt": ("planner/throughput/families.py", "data/chats.py"),  # who answers in a chat
        },
    ),
    Axis(
        "framework",
        frozenset({"tensorflow", "jax"}),
        ("wire/frameworks.py", "trainer/frameworks/"),
        ("framework", "backend"),
        frozenset({"tensorflow", "jax"}),  # packages
    ),
    Axis(
        "metric",
        frozenset(
            {
                "loss",
                "accuracy",
                "val_loss",
                "val_accuracy",
                "val_macro_f1",
                "val_r2",
                "val_mae",
                "val_nats_per_token",
                "val_bits_per_byte",
                "learning_rate",
                "grad_norm",
            }
        ),
        ("wire/metrics.py", "wire/tasks.py", "trainer/evaluation.py", "trainer/maths.py"),
        ("metric", "curve", "line", "wanted", "values", "last", "final", "view"),
        frozenset({"loss", "accuracy", "learning_rate"}),  # the last a key of a job, too
    ),
    Axis(
        "generation",
        frozenset({"v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x", "tpu8t", "tpu8i"}),
        # Google's own ids and prices as the practice cloud imitates them, and what the checks of Google's cloud rent
        ("practice/quota_limits.py", "practice/skus.py", "cloud/livecheck/"),
        ("generation", "chip", "family"),
        frozenset({"v2"}),  # a version of an API
    ),
    Axis(
        "tier",
        frozenset({"on-demand", "spot", "flex-start", "reserved"}),
        ("wire/loans.py",),
        ("tier",),
        frozenset({"spot", "reserved"}),  # as Google spells them in what it is asked and answers
    ),
)


@dataclass(frozen=True)
class Literal:
    """An id of an axis as a literal, at a line of a file below ``tpu_studio/``."""

    file: str
    line: int
    id: str


def literals(axis: Axis, package: Path = PACKAGE) -> list[Literal]:
    """Each literal of an id of *axis* outside its homes, and each use of a constant that stands for one."""
    constants = _constants(axis, package)
    found = {
        (name, line, column): id_
        for name, nodes in _trees(package)
        if not name.startswith(axis.homes)
        for line, column, id_ in (*_in_tree(axis, name, nodes), *_taken(constants, nodes))
    }
    return [Literal(name, line, id_) for (name, line, _), id_ in sorted(found.items())]


def _constants(axis: Axis, package: Path) -> dict[str, frozenset[str]]:
    """Of each home of records: the public names that stand for a single id or record of it."""
    return {
        home.removesuffix(".py").replace("/", "."): frozenset(
            target.id
            for node in ast.parse((package / home).read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_single(axis, node.value)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name) and not target.id.startswith("_")
        )
        for home in axis.homes
        if home.endswith(".py") and home.startswith(("wire/", "domain/")) and (package / home).is_file()
    }


def _is_single(axis: Axis, value: ast.expr) -> bool:
    """An id, one of a table of records by its number or id, or a record itself."""
    match value:
        case ast.Constant():
            return value.value in axis.ids
        case ast.Attribute():
            return _is_single(axis, value.value)
        case ast.Subscript():
            return ast.unparse(value.value) != "Literal"
        case ast.Call(func=ast.Name(id=name)):
            return name[:1].isupper() or name in ("by_id", "next")
    return False


def _taken(constants: Mapping[str, frozenset[str]], nodes: Sequence[ast.AST]) -> Iterator[tuple[int, int, str]]:
    for node in nodes if any(constants.values()) else ():
        match node:
            case ast.ImportFrom(module=str(module)):
                single = constants.get(module.removeprefix("tpu_studio."), frozenset())
                yield from (
                    (node.lineno, number, one.name) for number, one in enumerate(node.names) if one.name in single
                )
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if any(name in single for home, single in constants.items() if home.rpartition(".")[2] == module):
                    yield node.lineno, node.col_offset, name


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
    ast.Constant,
    ast.Tuple,
    ast.ImportFrom,
    ast.Attribute,
)
_ENDS = ("endswith", "startswith", "removesuffix", "removeprefix")


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


def _in_tree(axis: Axis, name: str, nodes: Sequence[ast.AST]) -> Iterator[tuple[int, int, str]]:
    """Line, column and id."""
    foreign = {id_ for id_, files in axis.foreign.items() if name.startswith(files)}
    ids = axis.ids - foreign
    strict = ids - axis.ordinary - {id_ for id_, files in axis.others.items() if name.startswith(files)}
    for node in nodes:
        if isinstance(node, ast.Constant) and node.value in strict:
            yield node.lineno, node.col_offset, str(node.value)
        yield from _by_its_end(axis, node)
        for group, context in _groups(node):
            spelled = [one for one in group if isinstance(one, ast.Constant) and one.value in ids]
            if not spelled:
                continue
            source = " ".join(ast.unparse(one) if isinstance(one, ast.AST) else one for one in context).lower()
            several = len({one.value for one in spelled}) > 1
            for one in spelled:
                if several or any(word in source for word in axis.words):
                    yield one.lineno, one.col_offset, str(one.value)


def _by_its_end(axis: Axis, node: ast.AST) -> Iterator[tuple[int, int, str]]:
    """`metric.endswith("r2")`: asked of an id by a part of it."""
    match node:
        case ast.Call(func=ast.Attribute(value=asked, attr=verb), args=[given, *_]) if verb in _ENDS:
            source = ast.unparse(asked).lower()
            parts = [
                one.value for one in _elements(given) if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            for part in parts:
                like = part and any(id_.endswith(part) or id_.startswith(part) for id_ in axis.ids)
                if like and any(word in source for word in axis.words):
                    yield node.lineno, node.col_offset, part


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
            for key, value in zip(node.keys, node.values, strict=True):
                yield [value], [key] if key is not None else []
        case ast.Tuple(elts=[ast.Constant() as key, value]):
            yield [value], [key]
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
