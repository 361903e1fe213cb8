"""What is told of each program of a run: memory, work, time of compiling; the work with loops counted by their trips.

The compiler counts the inside of a loop once. How often it runs is read from the traced program: the products of its
matrices (2·m·k·n operations each) once and by their trips, which is what the compiler's figures are multiplied by.
Kernels, of which it counts nothing, come on top by their formulas (`kernels`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tpu_studio.trainer.check import kernels
from tpu_studio.trainer.check.compiling import Compiled

# Bytes that an optimizer step moves for each weight: weight, gradient and moments read, weight and moments written.
_UPDATE_BYTES = {1: 20, 2: 28}
KERNEL = "pallas_call"


@dataclass(frozen=True)
class Traced:
    """What the traced program tells that the compiled one does not.

    Attributes:
        trips: How many times the work that is counted once is done; 1 without loops.
        kernels: Of all chips together.
    """

    trips: float = 1.0
    kernels: kernels.Cost = kernels.NOTHING


COMPILED = Traced()  # where nothing is traced: the compiler's figures as they are


def told(
    compiled: Compiled, limit: int, traced: Traced = COMPILED, *, update_bytes: int = 0, devices: int = 1
) -> dict[str, Any]:
    """One entry of ``programs``, of one chip of *devices*: of an optimizer step, or of one call of an evaluation.

    Args:
        update_bytes: What the optimizer moves once a step, however many parts the step has.
    """
    flops, moved, by_kernels = compiled.flops, compiled.bytes_accessed, traced.kernels.times(1 / devices)
    if flops is not None:
        flops = traced.trips * flops + by_kernels.flops
    if compiled.traffic_bytes is not None:  # by the compiler's text, which names the trips
        moved = compiled.traffic_bytes + by_kernels.moved_bytes
    elif moved is not None:
        once = min(float(update_bytes), moved)
        moved = once + traced.trips * (moved - once) + by_kernels.moved_bytes
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


def traced(jaxpr: Any) -> Traced:
    once = _products(jaxpr.jaxpr, by_trips=False)
    trips = _products(jaxpr.jaxpr, by_trips=True) / once if once else 1.0
    return Traced(trips, _kernels(jaxpr.jaxpr))


def _products(jaxpr: Any, *, by_trips: bool) -> float:
    total = 0.0
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name == "dot_general":
            total += _of_product(equation)
        elif name == "conv_general_dilated":
            total += _of_convolution(equation)
        elif name != KERNEL:
            times = _trips(equation) if by_trips else 1
            inside = [_products(one, by_trips=by_trips) for one in inner(equation)]
            total += max(inside, default=0.0) if name == "cond" else times * sum(inside)
    return total


def _kernels(jaxpr: Any) -> kernels.Cost:
    total = kernels.NOTHING
    for equation in _used(jaxpr):
        if equation.primitive.name == KERNEL:
            total += kernels.cost(equation)
        else:
            total += sum((_kernels(one) for one in inner(equation)), kernels.NOTHING).times(_trips(equation))
    return total


def count_kernels(jaxpr: Any) -> int:
    """That *jaxpr* calls, whatever the trips of a loop around them."""
    found = _used(jaxpr)
    return sum(1 if one.primitive.name == KERNEL else sum(map(count_kernels, inner(one))) for one in found)


def _used(jaxpr: Any) -> Iterator[Any]:
    """The operations whose results are used; the compiler drops the rest, as what is recomputed and was kept."""
    used = {id(one) for equation in jaxpr.eqns for one in equation.invars} | {id(one) for one in jaxpr.outvars}
    return (equation for equation in jaxpr.eqns if any(id(one) in used for one in equation.outvars))


def _trips(equation: Any) -> int:
    return int(equation.params["length"]) if equation.primitive.name == "scan" else 1


def inner(equation: Any) -> Iterator[Any]:
    """The programs inside an operation: of loops, branches, calls."""
    for value in equation.params.values():
        for one in value if isinstance(value, (list, tuple)) else (value,):
            found = getattr(one, "jaxpr", one)
            if hasattr(found, "eqns"):
                yield found


def _of_product(equation: Any) -> float:
    ((contracting, _), _) = equation.params["dimension_numbers"]
    left = equation.invars[0].aval.shape
    return float(2 * math.prod(equation.outvars[0].aval.shape) * math.prod(left[axis] for axis in contracting))


def _of_convolution(equation: Any) -> float:
    kernel = equation.invars[1].aval.shape
    outgoing = kernel[equation.params["dimension_numbers"].rhs_spec[0]]
    return float(2 * math.prod(equation.outvars[0].aval.shape) * math.prod(kernel) / max(1, outgoing))
