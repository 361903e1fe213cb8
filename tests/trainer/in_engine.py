"""Starts the training engine's Python for tests: the frameworks are there and not in the app's environment."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
BEGUN = ROOT / "tests" / "fakes" / "engine_program.py"
QUICKLY_COMPILED = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
"""For TensorFlow's XLA what JAX_DISABLE_MOST_OPTIMIZATIONS is for JAX's (tests/conftest.py)."""


def engine_python() -> Path:
    """The engine's interpreter; skips the test, and says so, where there is none."""
    from tpu_studio.local.engine import engine_root
    from tpu_studio.local.engine.state import Paths

    python = Paths(engine_root()).python
    if not python.exists():
        pytest.skip("no training engine on this computer (TPU_STUDIO_ENGINE, or the app's folder)")
    return python


def environment(backend: str) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "KERAS_BACKEND": backend,
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", QUICKLY_COMPILED),
    }


def run_in_engine(program: Path, *arguments: str, backend: str = "tensorflow") -> Any:
    """The JSON value on the last line of what *program* prints."""
    argv = [str(engine_python()), str(BEGUN), str(program), *arguments]
    done = subprocess.run(
        argv, env=environment(backend), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])
