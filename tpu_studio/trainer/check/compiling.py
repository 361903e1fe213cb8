"""The programs of a run, compiled for a TPU slice by libtpu on this computer: no TPU, no account, no network.

One process compiles for one generation: libtpu keeps what it was first told. What it says about memory is the
compiler's own plan and changes with its version, so the version is that of the VM (resources/catalogue/vm.json).
Verified with jax 0.10.2 and libtpu 0.0.42.1 for v4 to TPU7x.
"""

from __future__ import annotations

import ctypes
import importlib.util
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tpu_studio.trainer.check.collectives import collective_bytes
from tpu_studio.trainer.check.standing_in import as_on_a_tpu
from tpu_studio.trainer.check.traffic import memory_bytes

# What libtpu reads when it is loaded: no metadata server to ask, no lock file shared with others on this computer.
ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_MIN_LOG_LEVEL": "3",
}
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_AMOUNT = r"([\d.]+)([KMGTP]?)(?:i?B)?"
_NEEDS = (
    re.compile(rf"Used {_AMOUNT} of {_AMOUNT} hbm", re.IGNORECASE),
    re.compile(rf"\({_AMOUNT}\) exceeds available HBM \({_AMOUNT}\)", re.IGNORECASE),
    re.compile(rf"Program requires {_AMOUNT} of .*?only {_AMOUNT}", re.IGNORECASE),
)
WORDS = 100_000  # of what the compiler says: all of it, unless it has gone mad

# With the least effort the compiler chooses among fewer ways to cut a product into tiles; graph, layouts, sharding,
# precision and the fitting into memory stay. A sixth of the time, and about the same memory (docs/check.md).
QUICK = {"exec_time_optimization_effort": -1.0}
DOUBT = (0.85, 1.3)  # of the limit: between these what the least effort says is not enough


@dataclass(frozen=True)
class Target:
    """The slice to compile for: *topology* as the catalogue writes it (2x4, 2x2x1), devices as the framework counts;
    *compiler*: what else the compiler is told of the chip."""

    accelerator: str
    generation: str
    topology: str
    devices: int
    compiler: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, tree: Mapping[str, Any]) -> Target:
        accelerator, generation, topology = (str(tree[name]) for name in ("accelerator", "generation", "topology"))
        return cls(accelerator, generation, topology, int(tree["devices"]), dict(tree.get("compiler", {})))


@dataclass(frozen=True)
class Compiled:
    """What the compiler said of one program; all figures of one device.

    Attributes:
        fits: Whether it accepted the program.
        batch: Examples at once, over all devices.
        device_bytes: What the program needs; from the compiler's refusal when it does not fit.
        parts: weights, optimizer, data, activations, temporaries; empty when it was refused.
        words: The compiler's own refusal.
        flops, bytes_accessed: Of one optimizer step or one call of the evaluation; the inside of a loop counts once.
        moved_bytes: What comes in and goes out, each once: the least that its memory has to give and take.
        collective_bytes: What is exchanged with other chips (`collectives`); None: the compiler's text cannot be read.
        traffic_bytes: Between the chip and its memory (`traffic`), but for kernels; *bytes_accessed* has what stays on
            the chip, too. None as before.
        effort: ``full``: as it is compiled for training; ``least``: see `QUICK`.
    """

    fits: bool
    batch: int
    device_bytes: int
    seconds: float
    parts: Mapping[str, int]
    flops: float | None = None
    bytes_accessed: float | None = None
    moved_bytes: int = 0
    collective_bytes: int | None = None
    traffic_bytes: int | None = None
    words: str = ""
    effort: str = "full"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class Damaged(ValueError):
    """The compiler's library is not there, or cannot be loaded."""


def devices_of(target: Target) -> list[object]:
    """Descriptions of the slice's devices, as the compiler knows them.

    Raises:
        Damaged. ValueError: It knows no such slice, or counts other devices than the catalogue.
    """
    from jax.experimental import topologies

    load_library()
    more: dict[str, object] = dict(target.compiler)
    if math.prod(int(side) for side in target.topology.split("x")) == 1:
        more["chips_per_host_bounds"] = (1, 1, 1)
    try:
        described = topologies.get_topology_desc(
            platform="tpu", topology_name=f"{target.generation}:{target.topology}", **more
        )
    except Exception as error:
        raise ValueError(str(error)[:WORDS]) from error
    found = list(described.devices)
    if len(found) != target.devices:
        raise ValueError(f"{target.accelerator} has {target.devices} devices, the compiler counts {len(found)}")
    return found


def load_library() -> None:
    """Raises Damaged, in words of the system; JAX would say that there is no such slice."""
    found = importlib.util.find_spec("libtpu")
    beside = next(iter(found.submodule_search_locations or ()), "") if found else ""
    path = os.environ.get("TPU_LIBRARY_PATH") or os.path.join(beside, "libtpu.so")
    try:
        ctypes.CDLL(path)
    except OSError as error:
        raise Damaged(str(error)[:WORDS]) from error


def limit_bytes(devices: list[object]) -> int:
    """Memory of one device that a program can have, from the refusal of one that cannot fit."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import SingleDeviceSharding

    side = 176 << 10  # 121 GiB: more than a device has; libtpu 0.0.29 counts no more than 128 GiB
    whole = jax.ShapeDtypeStruct((side, side), jnp.float32, sharding=SingleDeviceSharding(devices[0]))
    try:
        jax.jit(lambda x: (x @ x).sum()).lower(whole).compile()
    except Exception as error:
        told = amounts(str(error))
        if told is not None:
            return told[1]
        raise
    raise ValueError("a matrix of 121 GiB was accepted")


class StepCompiler:
    """Compiles the training step of one model, and its evaluation, for one slice, at any batch.

    Args:
        formulas: Mesh of the devices → `step_jax.JaxFormulas` of the model on them.
        state: Shape and dtype of each tensor of the state, in order.
        slots_from: Position in *state* at which the optimizer's tensors begin.
        example: Shape and dtype of one example by name ("x", "y", "weight").
        remembered_bytes: Batch of one device → bytes that the backward pass remembers, as traced.
        sharded: Each device holds its share of the state.
    """

    def __init__(
        self,
        formulas: Callable[[Any], Any],
        state: list[tuple[tuple[int, ...], Any]],
        slots_from: int,
        example: Mapping[str, tuple[tuple[int, ...], Any]],
        per_call: int,
        devices: list[Any],
        remembered_bytes: Callable[[int], int],
        *,
        sharded: bool = False,
    ) -> None:
        import jax
        import numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        from tpu_studio.trainer.step_jax import state_shardings

        mesh = Mesh(np.array(devices), ("batch",))
        self._everywhere = NamedSharding(mesh, PartitionSpec())
        self._by_stacked_example = NamedSharding(mesh, PartitionSpec(None, "batch"))
        self._by_example = NamedSharding(mesh, PartitionSpec("batch"))
        self._devices, programs = devices, formulas(mesh)
        self._where = state_shardings(mesh, [shape for shape, _ in state], sharded=sharded)
        stays = {"out_shardings": (self._where, self._everywhere)} if sharded else {}
        self._step = jax.jit(programs.run_many, donate_argnums=0, **stays)
        self._evaluation = jax.jit(programs.run_evaluate)
        self._state, self._slots_from, self._example = state, slots_from, example
        self._per_call, self._count, self._remembered = per_call, len(devices), remembered_bytes

    @property
    def fixed_bytes(self) -> int:
        """Of the state, which is there whatever the batch."""
        return self._state_bytes(0, len(self._state))

    def _state_bytes(self, begin: int, end: int) -> int:
        """Of one device, of the tensors from *begin* to *end*."""
        each = zip(self._state[begin:end], self._where[begin:end], strict=True)
        return sum(_bytes(where.shard_shape(shape), dtype) for (shape, dtype), where in each)

    def verdict(self, batch: int, limit: int) -> Compiled:
        """Whether *batch* fits: with the least effort, and again as for training when that leaves a doubt.

        Raises:
            RuntimeError: as `compile`.
        """
        quick = self.compile(batch)
        if DOUBT[0] * limit < quick.device_bytes < DOUBT[1] * limit:
            return self.compile(batch, full=True)
        return quick

    def compile(self, batch: int, *, full: bool = False) -> Compiled:
        """Args:
            batch: Global; a multiple of the devices.
            full: With the effort of training, which takes six times as long.

        Raises:
            RuntimeError: whatever the compiler dislikes besides memory.
        """
        import jax
        import jax.numpy as jnp

        stack = {
            name: jax.ShapeDtypeStruct((self._per_call, batch, *shape), dtype, sharding=self._by_stacked_example)
            for name, (shape, dtype) in self._example.items()
        }
        rates, number = self._whole((self._per_call,), jnp.float32), self._whole((), jnp.int32)
        arguments = (self._placed_state(len(self._state)), stack, rates, number, number)
        remembered = self._remembered(max(1, batch // self._count))
        found = self._compiled(self._step, arguments, batch, remembered, full)
        waiting = sum(_bytes((self._per_call - 1, batch, *shape), dtype) for shape, dtype in self._example.values())
        return replace(found, moved_bytes=max(0, found.moved_bytes - waiting // self._count))  # of other steps

    def evaluation(
        self, batch: int, example: Mapping[str, tuple[tuple[int, ...], object]], limit: int, *, full: bool = False
    ) -> Compiled:
        """The program of a check on unseen data, *batch* examples a call; the optimizer waits beside it in memory."""
        import jax

        placed = {
            name: jax.ShapeDtypeStruct((batch, *shape), dtype, sharding=self._by_example)
            for name, (shape, dtype) in example.items()
        }
        beside = self._state_bytes(self._slots_from, len(self._state))
        found = self._compiled(self._evaluation, (self._placed_state(self._slots_from), placed), batch, 0, full, beside)
        return replace(found, fits=found.fits and found.device_bytes <= limit)

    def _whole(self, shape: tuple[int, ...], dtype: object) -> object:
        import jax

        return jax.ShapeDtypeStruct(shape, dtype, sharding=self._everywhere)

    def _placed_state(self, count: int) -> list[object]:
        import jax

        each = zip(self._state[:count], self._where[:count], strict=True)
        return [jax.ShapeDtypeStruct(shape, dtype, sharding=where) for (shape, dtype), where in each]

    def _compiled(
        self, program: Any, arguments: tuple[object, ...], batch: int, remembered: int, full: bool, beside: int = 0
    ) -> Compiled:
        """*beside*: bytes of the state that are in memory and no argument."""
        begun, effort = time.monotonic(), "full" if full else "least"
        with as_on_a_tpu(self._devices):
            lowered = program.lower(*arguments)
        try:
            compiled = lowered.compile(compiler_options=None if full else QUICK)
        except Exception as error:
            words = str(error)
            told = amounts(words)
            if told is None:
                raise RuntimeError(words[:WORDS]) from error
            seconds = time.monotonic() - begun
            return Compiled(False, batch, told[0] + beside, seconds, {}, words=words[:WORDS], effort=effort)
        return replace(self._accepted(compiled, batch, remembered, beside, time.monotonic() - begun), effort=effort)

    def _accepted(self, compiled: Any, batch: int, remembered: int, beside: int, seconds: float) -> Compiled:
        told = compiled.memory_analysis()
        weights = self._state_bytes(0, self._slots_from)
        optimizer = self._state_bytes(self._slots_from, len(self._state))
        arguments = int(told.argument_size_in_bytes) + beside
        data = max(0, arguments - weights - optimizer)
        new_outputs = max(0, int(told.output_size_in_bytes) - int(told.alias_size_in_bytes))
        temporary = int(told.temp_size_in_bytes) + new_outputs
        remembered = min(temporary, remembered)
        parts = {
            "weights": weights,
            "optimizer": optimizer,
            "data": data,
            "activations": remembered,
            "temporaries": temporary - remembered,
        }
        needs = arguments + temporary + int(told.generated_code_size_in_bytes)
        peak = int(getattr(told, "peak_memory_in_bytes", 0) or 0)
        cost = first_cost(compiled.cost_analysis())
        needed = peak + beside if peak else needs
        moved = int(told.argument_size_in_bytes) + int(told.output_size_in_bytes)
        flops, accessed = cost.get("flops"), cost.get("bytes accessed")
        told_by_text = _by_text(compiled)
        return Compiled(True, batch, needed, seconds, parts, flops, accessed, moved, *told_by_text)


def _by_text(compiled: Any) -> tuple[int | None, int | None]:
    """Bytes exchanged with other chips, bytes between the chip and its memory."""
    import jax

    try:
        text = compiled.as_text()
    except jax.errors.JaxRuntimeError:  # libtpu 0.0.51 writes what jaxlib 0.10.2 cannot read
        return None, None
    return collective_bytes(text), memory_bytes(text)


def amounts(words: str) -> tuple[int, int] | None:
    """Bytes needed and bytes there, out of the compiler's refusal; None when it is about something else."""
    for pattern in _NEEDS:
        if found := pattern.search(words):
            return _amount(found[1], found[2]), _amount(found[3], found[4])
    return None


def batch_guess(batch: int, needed: int, limit: int, fixed: int, unit: int) -> int:
    """The largest multiple of *unit* that should fit: *fixed* bytes do not depend on the batch, the rest is linear."""
    each = max(1.0, (needed - fixed) / batch)
    return max(0, int((limit - fixed) / each) // unit * unit)


def first_guess(compiler: StepCompiler, first: Compiled, limit: int, unit: int) -> int:
    """The batch that should fit, in proportion to what *first* needed; 0: not even the least."""
    return _round(batch_guess(first.batch, first.device_bytes, limit, compiler.fixed_bytes, unit), unit)


def largest_batch(
    compiler: StepCompiler, first: Compiled, limit: int, unit: int, *, compiles: int = 3
) -> tuple[int, list[Compiled]]:
    """The largest batch that the compiler accepts, as far as *compiles* more tries tell; 0: not even the least.

    The answer is a batch that was compiled, never a guess; multiples of *unit*, powers of two of it below 8.
    """
    fixed = compiler.fixed_bytes
    best = first.batch if first.fits else 0
    refused = 0 if first.fits else first.batch
    latest, tried = first, [first]
    for _ in range(compiles):
        guess = _round(batch_guess(latest.batch, latest.device_bytes, limit, fixed, unit), unit)
        if refused and guess >= refused:
            guess = _round(refused - unit, unit)
        if not best and guess < unit:
            guess = unit
        if guess <= best or guess < unit:
            break
        latest = compiler.compile(guess)
        tried.append(latest)
        if latest.fits:
            best = guess
            if refused:
                break
        else:
            refused = guess
            if guess == unit:
                break
    return best, tried


def _round(batch: int, unit: int) -> int:
    """Down to what people choose: eights of a device's share, or powers of two below."""
    share = batch // unit
    if share >= 8:
        return share // 8 * 8 * unit
    return 0 if share < 1 else unit * 2 ** (share.bit_length() - 1)


def settle() -> None:
    """Set what libtpu and JAX read when they are loaded."""
    os.environ.update(ENVIRONMENT)


def _bytes(shape: tuple[int, ...], dtype: Any) -> int:
    import numpy as np

    return int(math.prod(shape) * np.dtype(dtype).itemsize)


def _amount(number: str, unit: str) -> int:
    return int(float(number) * _UNITS[unit.upper()])


def first_cost(cost: Any) -> Mapping[str, float]:
    if isinstance(cost, (list, tuple)):
        cost = cost[0] if cost else {}
    return cost or {}
