"""What is told of each program of a run: memory, work, time of compiling; the work with loops counted by their trips.

The compiler counts the inside of a loop once, and of a kernel nothing. Both are read from the traced program: its
operations once and by their trips, which is what the compiler's figures are multiplied by, and those of its kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tpu_studio.trainer.check.compiling import Compiled
from tpu_studio.trainer.work.walk import count

# Bytes that an optimizer step moves for each weight: weight, gradient and moments read, weight and moments written.
_UPDATE_BYTES = {1: 20, 2: 28}


def told(
    compiled: Compiled, limit: int, *, devices: int, loops: Loops | None = None, update_bytes: int = 0
) -> dict[str, Any]:
    """One entry of ``programs``, of one chip: of an optimizer step, or of one call of an evaluation.

    Args:
        update_bytes: What the optimizer moves once a step, however many parts the step has.
    """
    loops = loops or Loops()
    moved, flops = compiled.bytes_accessed, compiled.flops
    if compiled.traffic_bytes is not None:  # by the compiler's text, which names the trips
        moved = compiled.traffic_bytes + loops.carried / devices
    elif moved is not None:
        once = min(float(update_bytes), moved)
        moved = once + loops.products * (moved - once)
    if flops is not None or (compiled.fits and loops.hidden):  # of a program that is nothing but a kernel: none
        flops = loops.flops * (flops or 0.0) + loops.hidden / devices
    return {
        "fits": compiled.fits,
        "memory_bytes": compiled.device_bytes,
        "capacity_bytes": limit,
        "batch": compiled.batch,
        "flops": flops,
        "bytes_accessed": moved,
        "moved_bytes": compiled.moved_bytes,
        "collective_bytes": compiled.collective_bytes,
        "compile_s": round(compiled.seconds, 2),
        "effort": compiled.effort,
    }


def update_bytes(weight_numbers: int, slots: int) -> int:
    return weight_numbers * _UPDATE_BYTES.get(slots, 28)


@dataclass(frozen=True)
class Loops:
    """What the compiler's figures of a traced program leave out.

    Attributes:
        flops: How many times the operations that are counted once the program does; 1 without loops.
        products: Of its matrix products alone, to which the bytes are in proportion.
        hidden: Operations of kernels that it cannot count, over all devices.
        carried: Bytes that kernels move, over all devices.
    """

    flops: float = 1.0
    products: float = 1.0
    hidden: float = 0.0
    carried: float = 0.0


def loops(jaxpr: object) -> Loops:
    once, whole = count(jaxpr, by_trips=False), count(jaxpr)
    times = whole.seen / once.seen if once.seen else 1.0
    products = whole.products / once.products if once.products else times
    return Loops(times, products, whole.hidden, whole.carried)
