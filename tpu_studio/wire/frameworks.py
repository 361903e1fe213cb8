"""The frameworks that train: names, packages, and what is known of their cost on a processor. Data only.

What runs in them: ``trainer``. Which place takes which: ``planner.checks``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Framework:
    """One framework, as ``training.framework`` names it. Seconds and bytes are of a processor.

    Attributes:
        packages: What it is called in an environment, the first that is there.
        compiler: The add-on of the engine that compiles its programs for a TPU.
        on_tpu: The package whose version says what it is on a TPU.
        leads_on_chip: Documented for every TPU that can be rented, and the free one; what "auto" chooses there.
        is_traced: What is traced of its step is the very program that a TPU's compiler gets.
        writes_saved_model: Writes TensorFlow's SavedModel by itself.
        chip_environment: What its process is told on a machine with a TPU. JAX opens each platform that is named, or
            fails (``xla_bridge.backends``); the first trains. Without the processor beside the TPU, callbacks to Python
            and ``keras.device("cpu")`` fail.
        cache_environment: What has it keep compiled programs in a ``{folder}``, and take them from there; those that
            took less than half a second are not worth it.
        step_overhead_s: A step called by itself; in bundles a fifth of it.
        start_s: The program's start to its model built.
        result_s: Writing the result of a small model: its two formats, curves, page. JAX has a second process, with
            TensorFlow, make the one. 0.3 to 0.6 s and 3.5 to 5.7 s were seen on two shared server cores.
        slower_convolution: Times the work that a convolution takes; 39.0 against 13.7 steps a second were seen.
        resident_bytes: After import and a first small step, measured.
    """

    id: str
    title: str
    packages: tuple[str, ...]
    compiler: str
    on_tpu: str
    leads_on_chip: bool
    is_traced: bool
    writes_saved_model: bool
    chip_environment: Mapping[str, str]
    cache_environment: Mapping[str, str]
    step_overhead_s: float
    start_s: float
    result_s: float
    slower_convolution: float
    resident_bytes: int


_FRAMEWORKS = (
    Framework(
        "tensorflow",
        "TensorFlow",
        ("tensorflow-cpu", "tensorflow"),
        compiler="tf-tpu-compiler",
        on_tpu="tensorflow-tpu",
        leads_on_chip=False,
        is_traced=False,
        writes_saved_model=True,
        chip_environment={},
        cache_environment={},
        step_overhead_s=0.003,
        start_s=12.0,
        result_s=0.6,
        slower_convolution=1.0,
        resident_bytes=900 << 20,
    ),
    Framework(
        "jax",
        "JAX",
        ("jax",),
        compiler="tpu-compiler",
        on_tpu="jax",
        leads_on_chip=True,
        is_traced=True,
        writes_saved_model=False,
        chip_environment={"JAX_PLATFORMS": "tpu,cpu"},
        cache_environment={
            "JAX_COMPILATION_CACHE_DIR": "{folder}",
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
        },
        step_overhead_s=0.001,
        start_s=6.0,
        result_s=4.0,
        slower_convolution=3.0,
        resident_bytes=500 << 20,
    ),
)
_BY_ID = {framework.id: framework for framework in _FRAMEWORKS}
IDS = tuple(_BY_ID)


def all_frameworks() -> tuple[Framework, ...]:
    return _FRAMEWORKS


def by_id(name: str) -> Framework:
    """The framework of that id.

    Raises:
        KeyError: no such framework; a job and a plan that were read name only those that exist.
    """
    return _BY_ID[name]


def find(name: object) -> Framework | None:
    """The framework of that id, None while "auto" stands there."""
    return _BY_ID.get(name) if isinstance(name, str) else None


def title_of(name: str) -> str:
    """How it is written; of one that another version of the app knows, its id."""
    known = _BY_ID.get(name)
    return known.title if known else name


def for_chips() -> Framework:
    """The one that leads wherever a TPU is meant."""
    return next(framework for framework in _FRAMEWORKS if framework.leads_on_chip)


def for_processors() -> Framework:
    """The one that trains fastest on a processor."""
    return next(framework for framework in _FRAMEWORKS if not framework.leads_on_chip)
