"""Processes that measure the app as a person has it: compiled modules, no screen needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def environment() -> dict[str, str]:
    """This process's own, for another: the project importable, modules compiled, Qt without a display if need be."""
    found = dict(os.environ, PYTHONPATH=str(ROOT))
    found.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its compiled files
    if not found.get("DISPLAY") and not found.get("WAYLAND_DISPLAY"):
        found["QT_QPA_PLATFORM"] = "offscreen"
    return found


def measured(program: str) -> Any:
    """What *program* (a file) prints as JSON on its last line when called with ``--measure``.

    Raises:
        RuntimeError: It failed; what it said of that stands on stderr.
    """
    ended = subprocess.run(
        [sys.executable, program, "--measure"], env=environment(), stdout=subprocess.PIPE, text=True, timeout=600
    )
    if ended.returncode:
        raise RuntimeError(f"the measurement ended with {ended.returncode}")
    return json.loads(ended.stdout.strip().splitlines()[-1])
