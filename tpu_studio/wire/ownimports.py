"""What a person's own model file asks for, read from its text; nothing of it runs."""

from __future__ import annotations

import ast
from typing import Any

BACKEND = "KERAS_BACKEND"


def asked(source: str) -> dict[str, Any]:
    """``imports``: top-level package → line of its first import that must succeed; ``backend_line``: where it names
    KERAS_BACKEND. Empty for what is no Python: whoever builds the model tells that better."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    imports: dict[str, int] = {}
    _collect(tree, imports)
    lines = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value == BACKEND]
    found: dict[str, Any] = {"imports": imports}
    return found | {"backend_line": min(lines)} if lines else found


def _collect(node: ast.AST, imports: dict[str, int]) -> None:
    if isinstance(node, ast.Try) and node.handlers:  # what is tried may be missing
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            _collect(part, imports)
        return
    if isinstance(node, ast.Import):
        for alias in node.names:
            imports.setdefault(alias.name.partition(".")[0], node.lineno)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        imports.setdefault(node.module.partition(".")[0], node.lineno)
    for child in ast.iter_child_nodes(node):
        _collect(child, imports)
