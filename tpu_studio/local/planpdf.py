"""A plan as a PDF, made by a process of its own: neither the command line nor this thread needs Qt for it."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tpu_studio.wire import ownpython
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.plan import Plan, dumps

LIMIT_S = 120.0


def write(plan: Plan, file: Path) -> None:
    """Raises BadInput ``plan-report-unwritable``."""
    with tempfile.TemporaryDirectory(prefix="tpu-studio-") as folder:
        told = Path(folder) / "plan.json"
        told.write_bytes(dumps(plan))
        try:
            done = subprocess.run(
                [*ownpython.program(), "--plan-pdf", str(told), str(file.absolute())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=LIMIT_S,
                check=False,
                cwd=ownpython.NEUTRAL_FOLDER,
                env=ownpython.environment() | {"QT_QPA_PLATFORM": "offscreen"},
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BadInput("plan-report-unwritable", file=str(file), raw=str(error)) from error
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise BadInput("plan-report-unwritable", file=str(file), raw=lines[-1] if lines else "")
