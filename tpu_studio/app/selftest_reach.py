"""Everything that our modules import, at their top and inside functions: read from their compiled code.

Most of Google's libraries are imported only when they are needed, and a packaged program that lacks one shows it only
then. The compiled code is there in every copy of the program, so nothing has to be listed by hand.
"""

from __future__ import annotations

import dis
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from types import CodeType

_ELSEWHERE = ("tpu_studio.trainer", "tpu_studio.__main__")  # runs in the engine's Python; starts the program
_IN_THE_ENGINE = ("tokenizers",)  # of what the trainer shares with the app, asked for where data is opened
_OTHER_SYSTEMS = {
    "win32": ("msvcrt", "winreg", "_winapi", "nt"),
    "posix": ("fcntl", "resource", "pwd", "grp", "termios"),
}

_IMPORT, _CONSTANT, _LONGER = (dis.opmap[name] for name in ("IMPORT_NAME", "LOAD_CONST", "EXTENDED_ARG"))


def names(folders: Iterable[str], package: str) -> Iterator[str]:
    """Every module of *package* that the app can reach."""
    for found in pkgutil.iter_modules(folders, f"{package}."):
        if found.name in _ELSEWHERE:
            continue
        yield found.name
        if found.ispkg:
            yield from names(importlib.import_module(found.name).__path__, found.name)


def imported_by(module: str) -> set[tuple[str, str]]:
    """``(module, name)`` of each ``from module import name``; name "" for a plain import."""
    spec = importlib.util.find_spec(module)
    code = getattr(spec.loader, "get_code")(module) if spec is not None and spec.loader is not None else None  # noqa: B009
    if not isinstance(code, CodeType):
        raise ImportError(f"{module} has no code")
    return set(_imports(code))


def bring(module: str, name: str) -> bool:
    """Import *module*, and its *name* where that is a module; False where the app on this system has no such module."""
    top = module.partition(".")[0]
    elsewhere = _OTHER_SYSTEMS["posix" if sys.platform == "win32" else "win32"]
    if top in elsewhere or top in _IN_THE_ENGINE:
        return False
    found = importlib.import_module(module)
    if name and name != "*" and not hasattr(found, name):
        importlib.import_module(f"{module}.{name}")
    return True


def _imports(code: CodeType) -> Iterator[tuple[str, str]]:
    """Reads the bytes: `dis` takes seconds for all of us."""
    steps, arguments = code.co_code[::2], code.co_code[1::2]
    if _IMPORT in steps:
        constant: object = None
        higher = 0
        for step, low in zip(steps, arguments, strict=True):
            argument = higher | low
            higher = argument << 8 if step == _LONGER else 0
            if step == _CONSTANT:
                constant = code.co_consts[argument]
            elif step == _IMPORT:
                wanted = constant if isinstance(constant, tuple) else ("",)
                yield from ((code.co_names[argument], str(name)) for name in wanted)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _imports(inner)
