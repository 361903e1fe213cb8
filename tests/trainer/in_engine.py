"""Starts the training engine's Python for tests: the frameworks are there and not in the app's environment."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pytest

from tests.fakes.waiting import PATIENCE_S
from tests.trainer.warm import Forked, Server
from tpu_studio.local.engine import engine_root
from tpu_studio.local.engine.state import Paths

ROOT = Path(__file__).resolve().parents[2]
BEGUN = ROOT / "tests" / "fakes" / "engine_program.py"
Program = Forked | subprocess.Popen[bytes]
QUICKLY_COMPILED = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
"""For the XLA of both frameworks what JAX_DISABLE_MOST_OPTIMIZATIONS is for JAX's alone (tests/conftest.py)."""
WELL_COMPILED = {"XLA_FLAGS": ""}
"""The environment of a training of hundreds of steps: convolutions run ten times as fast as quickly compiled ones."""


PYTHON = Paths(engine_root()).python
"""Looked for before a test gives its runs a home of their own, where no engine is."""


def engine_python() -> Path:
    """The engine's interpreter; skips the test, and says so, where there is none."""
    if not PYTHON.exists():
        pytest.skip("no training engine on this computer (TPU_STUDIO_ENGINE, or the app's folder)")
    return PYTHON


def environment(backend: str) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "KERAS_BACKEND": backend,
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", QUICKLY_COMPILED),
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "0",  # XLA_FLAGS say it, also of what is forked (`tests.trainer.warm`)
    }


@functools.cache
def warm(framework: str) -> Server:
    return Server(engine_python(), framework, environment(framework))


def begin(
    argv: Sequence[str], around: Mapping[str, str], framework: str, stderr: IO[bytes], *, cold: bool = False
) -> Program:
    """A script or a module (``-m``) and its arguments in the engine's Python, with pipes to and from it.

    Args:
        around: Its environment.
        framework: The one that it imports, which is there already where it can be (`tests.trainer.warm`).
        cold: A start that is what it is for a person.
    """
    if sys.platform == "linux" and not cold and warm(framework).serves(around):
        return warm(framework).fork(argv, around, stderr)
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [str(engine_python()), *argv], env=around, stdin=pipe, stdout=pipe, stderr=stderr, bufsize=0
    )


def done_in_engine(
    argv: Sequence[str], around: Mapping[str, str], framework: str, *, cold: bool = False
) -> subprocess.CompletedProcess[str]:
    """What `begin` begins, given nothing and waited for."""
    with tempfile.TemporaryFile() as stderr:
        process = begin(argv, around, framework, stderr, cold=cold)
        assert process.stdin is not None and process.stdout is not None
        with process.stdin, process.stdout:
            process.stdin.close()
            told = process.stdout.read()
        code = process.wait(PATIENCE_S)
        stderr.seek(0)
        return subprocess.CompletedProcess([*argv], code, told.decode(), stderr.read().decode(errors="replace"))


def run_in_engine(program: Path, *arguments: str, backend: str = "tensorflow", cold: bool = False) -> Any:
    """The JSON value on the last line of what *program* prints."""
    done = done_in_engine([str(BEGUN), str(program), *arguments], environment(backend), backend, cold=cold)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.strip().splitlines()[-1])
