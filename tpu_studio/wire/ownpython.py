"""The one door through which Python is started for code of ours, by app, command line, guardian, notebook and practice.

Python looks for modules in the working folder first (``-m``, ``-c``) unless it is told not to. A run folder or a
download of somebody else's may hold an ``argparse.py`` or a ``tpu_studio/``: so the interpreter is named absolutely,
starts with the safe path (``-P``, and ``PYTHONSAFEPATH`` for the processes that it starts itself, the workers of
`multiprocessing` among them), and where it can it works in a folder that only the system's owner writes to.
https://docs.python.org/3/using/cmdline.html#cmdoption-P (Python 3.11; an older one knows neither)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

SAFE_PATH = "PYTHONSAFEPATH"
NEUTRAL_FOLDER = Path(os.path.abspath(os.sep))


def module(python: str | Path, name: str, *words: str | Path) -> list[str]:
    """Command line that runs the module *name*. Raises ValueError for an interpreter whose path is not absolute."""
    if not os.path.isabs(python):
        raise ValueError(f"no absolute path: {python}")
    return [str(python), "-P", "-m", name, *map(str, words)]


def program() -> list[str]:
    """Command line of this program, packaged or not."""
    return [sys.executable] if getattr(sys, "frozen", False) else module(sys.executable, "tpu_studio")


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """*base* (ours by default) with the safe path, and with our own package before all else that it names.

    Parts of ``PYTHONPATH`` that are relative lead to the working folder, and are left out.
    """
    base = os.environ if base is None else base
    own = str(Path(__file__).resolve().parents[2])
    named = [part for part in base.get("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(part) and part != own]
    return {**base, SAFE_PATH: "1", "PYTHONPATH": os.pathsep.join([own, *named])}
