"""What a person's own model file asks for, read from its text; nothing of it runs."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

BACKEND = "KERAS_BACKEND"
LONGEST = 250_000
"""Letters of a file that is looked into; a network takes some thousand."""
_MARKS = re.compile("[^\\x00-\\x7f]{1000}")
"""Of a name, Python puts the marks on its letters in order: without end, that takes minutes."""
_F_STRING = re.compile(r"""\b(?:[fF]([rR]?["'])|[rR][fF](["']))""")
"""Where an f-string begins. Python 3.11 parses each expression in one anew: a million letters of them hold the whole
process for minutes. As plain strings, which are told by the same line, they cost nothing."""
_WEIGHTS = frozenset({"class_weight", "sample_weight"})
_COMPILED = frozenset({"loss", "optimizer", "metrics", "loss_weights", "weighted_metrics"})


def asked(source: str) -> dict[str, object]:
    """What of it the plan judges; empty for what is no Python: whoever builds the model tells that better.

    Returns:
        ``imports``: top-level package → line of its first import that must succeed. Where they are there:
        ``backend_line``, where it names KERAS_BACKEND; ``weights_line``, where it gives class or sample weights;
        ``compile_line``, where it compiles the model with a loss, an optimizer or metrics.
    """
    imports: dict[str, int] = {}
    if len(source) > LONGEST or _MARKS.search(source):
        return {}
    try:
        tree = ast.parse(source if sys.version_info >= (3, 12) else _F_STRING.sub(_plain, source))
        _collect(tree, imports)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    lines: dict[str, int] = {}
    for node in ast.walk(tree):
        for name in _told_by(node):
            lines[name] = min(getattr(node, "lineno", 1), lines.get(name, sys.maxsize))
    return {"imports": imports, **lines}


def _plain(begin: re.Match[str]) -> str:
    return begin[1] or f"r{begin[2]}"


def _told_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and node.value == BACKEND:
        yield "backend_line"
    if not isinstance(node, ast.Call):
        return
    given = {keyword.arg for keyword in node.keywords}
    if given & _WEIGHTS:
        yield "weights_line"
    if isinstance(node.func, ast.Attribute) and node.func.attr == "compile" and given & _COMPILED:
        yield "compile_line"


def _collect(node: ast.AST, imports: dict[str, int], is_asked_for: bool = False) -> None:
    """*is_asked_for*: the code asks for its backend before, so TensorFlow is imported only where it runs."""
    if isinstance(node, ast.Try) and node.handlers:  # what is tried may be missing
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            _collect(part, imports, is_asked_for)
        return
    if isinstance(node, ast.If) and _asks_for_backend(node.test):
        is_asked_for = True
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        modules = [node.module]
    for package in (module.partition(".")[0] for module in modules):
        if not (is_asked_for and package == "tensorflow"):
            imports.setdefault(package, getattr(node, "lineno", 1))
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _STATEMENTS):  # an expression, which may nest a thousand deep, imports nothing
            _collect(child, imports, is_asked_for)


_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


def _asks_for_backend(test: ast.expr) -> bool:
    return any(
        "backend" in str(getattr(node, field, "")).lower()
        for node in ast.walk(test)
        for field in ("id", "attr", "value")
        if isinstance(getattr(node, field, None), str)
    )
