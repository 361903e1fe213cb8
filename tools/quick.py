"""``make quick``: within a minute, what most likely tells whether a change is good. `make test` says the last word.

ruff, mypy and lint-imports run over everything; beside them, the tests nearest to what has changed: a changed test
itself, then tests that import a changed module, or name a changed resource, then tests one and two imports away. No
test that starts the training engine, none marked slow. What there is no time for is counted and named at the end.

Changed is whatever differs from where this branch left ``main``, uncommitted and untracked files too; on ``main``
itself with nothing uncommitted, the last commit.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
TESTS_END_S = 45.0  # after the start; what has begun then is finished
FARTHEST = 2  # imports between a changed module and the test's own import
CHECKS = (
    ("ruff", "check", "--quiet", "."),
    ("ruff", "format", "--check", "--quiet", "."),
    ("mypy", "--strict", "--no-error-summary", "tpu_studio", "tools", "benchmarks", "tests/fakes"),
    ("lint-imports", "--no-logo"),
)


def main() -> int:
    began = time.time()
    changed = changed_files()
    nearest = nearest_tests(changed)
    print(f"{len(changed)} changed files, {len(nearest)} test files near them.", flush=True)
    checks = [_started(BIN / name, *words) for name, *words in CHECKS]
    red = _tested(nearest, began + TESTS_END_S) if nearest else False
    for (name, *_), check in zip(CHECKS, checks, strict=True):
        text = check.communicate()[0]
        if check.returncode:
            red = True
            print(f"--- {name}\n{text}")
    print(f"{'RED' if red else 'green'} after {time.time() - began:.0f} s; make test has the last word.")
    return int(red)


def changed_files() -> list[Path]:
    """Relative to the root, those that are gone left out."""
    branched = _git("merge-base", "HEAD", "main").strip() if _git("branch", "--list", "main") else "HEAD"
    names = (
        _git("diff", "--name-only", branched).splitlines()
        + _git("ls-files", "--others", "--exclude-standard").splitlines()
    )
    names = names or _git("diff", "--name-only", "HEAD~1").splitlines()
    return [Path(name) for name in dict.fromkeys(names) if (ROOT / name).is_file()]


def nearest_tests(changed: Iterable[Path]) -> list[Path]:
    """Test files, the nearest first (by imports), then by name."""
    changed = set(changed)
    tests = {path: set(_modules(path)) for path in sorted((ROOT / "tests").rglob("test_*.py"))}
    distance = _distances(_touched_modules(changed))
    ranked = []
    for path, modules in tests.items():
        inside = path.relative_to(ROOT)
        near = [0] if inside in changed or _names_one(path, changed) else []
        near += [distance[module] + 1 for module in modules & distance.keys()]
        if near:
            ranked.append((min(near), inside))
    return [inside for _, inside in sorted(ranked)]


def _touched_modules(changed: Iterable[Path]) -> set[str]:
    """Modules of the package that changed, or name a resource that changed."""
    inside = [path for path in changed if path.suffix == ".py" and path.parts[0] == "tpu_studio"]
    modules = {_module(path) for path in inside}
    resources = {path for path in changed if path.parts[0] == "resources"}
    if resources:
        for path in (ROOT / "tpu_studio").rglob("*.py"):
            if _names_one(path, resources):
                modules.add(_module(path.relative_to(ROOT)))
    return modules


def _distances(touched: set[str]) -> Mapping[str, int]:
    """Module → how many imports lie between it and a touched one, up to FARTHEST."""
    graph = grimp.build_graph("tpu_studio", cache_dir=str(ROOT / ".import_linter_cache"))
    near = {module: 0 for module in touched if module in graph.modules}
    ring = set(near)
    for away in range(1, FARTHEST + 1):
        ring = {one for module in ring for one in graph.find_modules_that_directly_import(module)} - near.keys()
        near.update(dict.fromkeys(ring, away))
    return near


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _names_one(path: Path, files: Iterable[Path]) -> bool:
    """Whether its text has the name of a file with data."""
    text = path.read_text(encoding="utf-8")
    return any(file.name in text for file in files if file.suffix not in ("", ".py", ".md"))


def _tested(files: Iterable[Path], end: float) -> bool:
    """Whether a test failed."""
    words = [
        BIN / "pytest",
        "-q",
        "-n",
        "2",
        "--dist",
        "load",
        "-p",
        "tools.quick_end",
        "-m",
        "not engine and not slow and not thorough and not compiler and not samples",
        *files,
    ]
    env = {**os.environ, "QUICK_END": str(end)}
    code = subprocess.run([str(word) for word in words], cwd=ROOT, env=env, check=False).returncode
    return code not in (0, 5)  # 5: all of them need the engine or more time


def _started(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(word) for word in words], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
