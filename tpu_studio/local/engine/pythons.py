"""Find a Python of this system that an engine can be built with.

The app may be frozen (then it brings no usable interpreter) or run from source (then its own Python serves).
A name on the PATH proves nothing (a version manager's shim answers to every name), so each candidate is asked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from shutil import which

from tpu_studio.local.engine.processes import clean_environment
from tpu_studio.wire.errors import NotReady

_ASK = """
import importlib.util as u, json, os, sys, sysconfig
print(json.dumps({
    "python": os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable),
    "version": "%d.%d.%d" % sys.version_info[:3],
    "implementation": sys.implementation.name,
    "threads": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "venv": all(u.find_spec(name) for name in ("venv", "ensurepip")),
}))
"""


@dataclass(frozen=True)
class SystemPython:
    """*path* is the real file, so that a later upgrade of `python3` is seen as a missing interpreter."""

    path: str
    version: str
    has_venv: bool

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])


def candidates(versions: Sequence[str]) -> list[str]:
    """Interpreters to ask, best first; *versions* as `3.13`, in the order of preference."""
    ours = [] if getattr(sys, "frozen", False) else [sys.executable]
    return ours + [found for name in (*(f"python{v}" for v in versions), "python3") if (found := which(name))]


def find_python(versions: Sequence[str], names: Iterable[str] | None = None) -> SystemPython:
    """The first Python of the right version that can make an environment.

    Raises:
        NotReady: `engine-no-python` (facts: versions, found), or `engine-no-venv` when one would do but lacks the
            standard library's venv or ensurepip, as Debian ships it (facts: python, version, package).
    """
    seen: list[SystemPython] = []
    for name in candidates(versions) if names is None else names:
        python = _ask(name)
        if python is None:
            continue
        if python.minor in versions and python.has_venv:
            return python
        seen.append(python)
    for python in seen:
        if python.minor in versions:
            package = f"python{python.minor}-venv"
            raise NotReady("engine-no-venv", python=python.path, version=python.version, package=package)
    found = sorted({f"{python.path} ({python.version})" for python in seen})
    raise NotReady("engine-no-python", versions=list(versions), found=found)


def _ask(name: str) -> SystemPython | None:
    command = [name, "-I", "-c", _ASK]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, env=clean_environment()
        )
        told = json.loads(answer.stdout) if answer.returncode == 0 else {}
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None  # not an interpreter, or one that does not answer: the next candidate
    if told.get("implementation") != "cpython" or told["threads"]:
        return None
    return SystemPython(told["python"], told["version"], told["venv"])
