"""What one operation of a jaxpr costs, in floating-point operations; a multiply-add is two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tpu_studio.trainer.work.kernels import Cost, cost


def of_product(equation: Any) -> float:
    """Each number that comes out is a sum over the contracted axes."""
    ((contracting, _), _) = equation.params["dimension_numbers"]
    return _of_contraction(equation, contracting)


def of_ragged_product(equation: Any) -> float:
    """Each row meets the matrix of its own group only."""
    ((contracting, _), _) = equation.params["ragged_dot_dimension_numbers"].dot_dimension_numbers
    return _of_contraction(equation, contracting)


def of_convolution(equation: Any) -> float:
    """Each number that comes out is a sum over the window, at the edges too; zeros put between inputs are no work."""
    kernel = equation.invars[1].aval.shape
    outgoing = max(1, kernel[equation.params["dimension_numbers"].rhs_spec[0]])
    spread = math.prod(equation.params["lhs_dilation"])
    return float(2 * numbers(equation.outvars[0]) * math.prod(kernel) / outgoing / spread)


PRODUCTS: dict[str, Callable[[object], float]] = {
    "dot_general": of_product,
    "ragged_dot_general": of_ragged_product,
    "conv_general_dilated": of_convolution,
}


def of_kernel(equation: Any, body: Callable[[object], float]) -> tuple[Cost, bool]:
    """Work and traffic of a `pallas_call`, and whether a compiler knows them: by the kernel's own word
    (`pl.CostEstimate`), which XLA takes over, else by its formula (`kernels`), else as its body at each place of its
    grid, and what it is given and gives once.

    Args:
        body: Operations of a jaxpr.
    """
    estimate = equation.params.get("cost_estimate")
    if estimate is not None:
        return Cost(float(estimate.flops), float(estimate.bytes_accessed)), True
    if (found := cost(equation)) is not None:
        return found, False
    moved = sum(_bytes(one) for one in (*equation.invars, *equation.outvars))
    places = math.prod(int(side) for side in equation.params["grid_mapping"].grid)
    return Cost(places * body(equation.params["jaxpr"]), moved), False


def is_elementwise(equation: Any) -> bool:
    """Whether each number that comes out is worked out of one of each array that goes in, sides of 1 repeated."""
    made = {getattr(one.aval, "shape", None) for one in equation.outvars}
    if not equation.invars or len(made) != 1 or is_reduction(equation):
        return False
    (whole,) = made
    given = (getattr(one.aval, "shape", ()) for one in equation.invars)
    return whole is not None and all(not one or _spreads(one, whole) for one in given)


def is_reduction(equation: Any) -> bool:
    """Whether sums, or the like, of what goes in come out, running ones too."""
    return str(equation.primitive.name).startswith(("reduce_", "arg", "cum", "sort"))


def numbers(variable: Any) -> int:
    """How many an array holds."""
    return math.prod(getattr(variable.aval, "shape", ()))


def _bytes(variable: Any) -> int:
    return numbers(variable) * int(getattr(getattr(variable.aval, "dtype", None), "itemsize", 0))


def _of_contraction(equation: Any, contracting: Any) -> float:
    left = equation.invars[0].aval.shape
    return float(2 * numbers(equation.outvars[0]) * math.prod(left[axis] for axis in contracting))


def _spreads(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    return len(shape) == len(whole) and all(one in (1, side) for one, side in zip(shape, whole, strict=True))
