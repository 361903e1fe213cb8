"""What an engine is made of: files of `resources/engine`, and the room they need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire.resources import resource_path


@dataclass(frozen=True)
class EngineSpec:
    """
    Attributes:
        lock: Packages with hashes and sizes (see `lock.py`).
        self_test: Program that the new engine must run well before it counts; prints one JSON object.
        needed_bytes: Free space asked for before anything is fetched: 2.1 GB installed, 0.5 GB of wheels until
            then, 0.5 GB in pip's cache.
        python: Interpreter to build with, and no other; empty: the first fit one of this system.
        name: What its errors are about: engine, or tpu-compiler.
    """

    lock: Path
    self_test: Path
    needed_bytes: int = 3_200_000_000
    python: str = ""
    name: str = "engine"


def shipped_spec() -> EngineSpec:
    return EngineSpec(resource_path("engine", "lock.txt"), resource_path("engine", "self_test.py"))


def compiler_spec() -> EngineSpec:
    """The environment of the TPU compiler: the frameworks of a TPU VM with Google's libtpu, 1.4 GB installed.

    libtpu is under Google's own terms: install it only for a person who has accepted them.
    """
    return EngineSpec(
        resource_path("engine", "tpu-compiler.lock.txt"),
        resource_path("engine", "tpu-compiler.self_test.py"),
        needed_bytes=2_400_000_000,
        name=COMPILER,
    )


COMPILER = "tpu-compiler"
LICENCE = "Google Cloud Platform Terms of Service (https://cloud.google.com/terms)"
