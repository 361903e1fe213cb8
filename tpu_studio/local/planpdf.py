"""A plan as a PDF, made by a process of its own: neither the command line nor this thread needs Qt for it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.plan import Plan, dumps

LIMIT_S = 120.0


def write(plan: Plan, file: Path) -> None:
    """Raises BadInput ``plan-report-unwritable``."""
    packaged = getattr(sys, "frozen", False)
    program = [sys.executable] if packaged else [sys.executable, "-m", "tpu_studio"]
    with tempfile.TemporaryDirectory(prefix="tpu-studio-") as folder:
        told = Path(folder) / "plan.json"
        told.write_bytes(dumps(plan))
        try:
            done = subprocess.run(
                [*program, "--plan-pdf", str(told), str(file.absolute())], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=LIMIT_S, check=False, env=_environment(),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BadInput("plan-report-unwritable", file=str(file), raw=str(error)) from error
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise BadInput("plan-report-unwritable", file=str(file), raw=lines[-1] if lines else "")


def _environment() -> dict[str, str]:
    package = str(Path(__file__).resolve().parents[2])
    ways = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(ways), "QT_QPA_PLATFORM": "offscreen"}
