"""How much of `tpu_studio` mypy cannot see into: each `Any` in it, and each that a package hands to another.

Left out are the modules of the trainer that import a framework: JAX, TensorFlow and Keras are installed in the engine
alone, so to mypy all that is theirs is `Any` in any case.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "tpu_studio"
FRAMEWORKS = {"jax", "jaxlib", "tensorflow", "keras", "flax", "optax", "orbax", "grain"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """*name*: from the package on, `wire.plan`."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    @cached_property
    def imports(self) -> list[tuple[str, str]]:
        """Module and name of each; the name is "" where the module itself is meant."""
        found = [(one.name, "") for node in self.nodes if isinstance(node, ast.Import) for one in node.names]
        froms = [node for node in self.nodes if isinstance(node, ast.ImportFrom)]
        return found + [(node.module or "", one.name) for node in froms for one in node.names]

    @property
    def is_of_a_framework(self) -> bool:
        return self.package == "trainer" and any(name.partition(".")[0] in FRAMEWORKS for name, _ in self.imports)

    @cached_property
    def aliases(self) -> set[str]:
        """Its own names for `Any` or for a table of it; an array of any shape is none."""
        return {
            target.id
            for node in self.tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.Name | ast.BinOp)
            for target in node.targets
            if isinstance(target, ast.Name) and _anys(ast.walk(node.value), {"Any"})
            if "ndarray" not in ast.unparse(node.value)
        }


def modules(root: Path = ROOT) -> list[Module]:
    """Of *root*, but for those of a framework."""
    found = []
    for path in sorted(root.rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        found.append(Module(name, path.read_text("utf-8")))
    return [one for one in found if not one.is_of_a_framework]


def per_1000(counted: dict[str, int], found: list[Module]) -> float:
    return 1000 * sum(counted.values()) / sum(one.text.count("\n") for one in found)


def by_name(found: list[Module]) -> dict[str, int]:
    """Module → how often it says `Any`."""
    return {one.name: _anys(one.nodes, {"Any"}) for one in found}


def with_aliases(found: list[Module]) -> dict[str, int]:
    """Module → how often it says `Any` or a name that stands for it, which may be another module's."""
    own = {(one.name, name) for one in found for name in one.aliases}
    counted = {}
    for one in found:
        taken = {name for module, name in one.imports if (module.removeprefix("tpu_studio."), name) in own}
        counted[one.name] = _anys(one.nodes, {"Any"} | taken | one.aliases)
    return counted


def _anys(nodes: Iterator[ast.AST] | list[ast.AST], words: set[str]) -> int:
    return sum(
        (isinstance(one, ast.Name) and one.id in words and isinstance(one.ctx, ast.Load))
        or (isinstance(one, ast.Attribute) and one.attr == "Any")
        for one in nodes
    )


def crossing(found: list[Module]) -> list[str]:
    """`module.name` of each parameter, result and field with a table of `Any` in what another package imports."""
    used = _imported_elsewhere(found)
    return [
        f"{one.name}.{name}"
        for one in found
        for node in one.tree.body
        if isinstance(node, _Function | ast.ClassDef) and (one.name, node.name) in used
        for name in _tables(node)
    ]


def _imported_elsewhere(found: list[Module]) -> set[tuple[str, str]]:
    """(module, name) of what is imported, or asked of an imported module, outside its own package."""
    names = {one.name for one in found}
    used = set()
    for one in found:
        whole = {}
        for module, name in one.imports:
            home = module.removeprefix("tpu_studio.")
            if module.startswith("tpu_studio") and home.partition(".")[0] != one.package:
                used.add((home, name))
                if f"{home}.{name}" in names:
                    whole[name] = f"{home}.{name}"
        for node in one.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in whole:
                used.add((whole[node.value.id], node.attr))
    return used


def _tables(node: _Function | ast.ClassDef) -> Iterator[str]:
    """Names of public parameters, results and fields of *node* whose annotation holds a table of `Any`."""
    if isinstance(node, ast.ClassDef):
        for part in node.body:
            if isinstance(part, _Function) and (not part.name.startswith("_") or part.name == "__init__"):
                yield from (f"{node.name}.{name}" for name in _tables(part))
            elif isinstance(part, ast.AnnAssign) and _is_table(part.annotation):
                yield f"{node.name}.{ast.unparse(part.target)}"
        return
    arguments = node.args
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if one.annotation is not None and _is_table(one.annotation):
            yield f"{node.name}.{one.arg}"
    if node.returns is not None and _is_table(node.returns):
        yield node.name


def _is_table(annotation: ast.expr) -> bool:
    return "[str, Any]" in ast.unparse(annotation)
