"""Goes through a traced program (jaxpr) and counts its operations, those inside loops by their trips.

Into calls, recomputed parts and what is cut over devices it goes on; of branches the dearest counts. What leads to no
output is not there: JAX leaves it in, a compiler does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tpu_studio.trainer.work.formulas import PRODUCTS, is_elementwise, is_reduction, numbers, of_kernel

_FOREIGN = frozenset({"ffi_call", "io_callback", "pure_callback", "tpu_custom_call"})


@dataclass(frozen=True)
class Count:
    """Floating-point operations of a program, over all devices.

    Attributes:
        products: Of matrix products and convolutions.
        convolved: Of the convolutions among them.
        elementwise: Of everything else that computes.
        known: Of kernels that XLA knows by their own word.
        hidden: Of kernels that it does not.
        kernels: How many of either are called.
        carried: Bytes that these move between chip and memory.
        unclear: What could not be counted: loops whose trips no number tells, each counted once, and calls of code that
            is not JAX's.
    """

    products: float = 0.0
    convolved: float = 0.0
    elementwise: float = 0.0
    known: float = 0.0
    hidden: float = 0.0
    kernels: float = 0.0
    carried: float = 0.0
    unclear: frozenset[str] = frozenset()

    @property
    def work(self) -> float:
        """What counts as a model's: products, and kernels, which stand for such."""
        return self.products + self.known + self.hidden

    @property
    def seen(self) -> float:
        """What XLA counts as well."""
        return self.products + self.elementwise + self.known

    def __add__(self, other: Count) -> Count:
        return Count(
            self.products + other.products,
            self.convolved + other.convolved,
            self.elementwise + other.elementwise,
            self.known + other.known,
            self.hidden + other.hidden,
            self.kernels + other.kernels,
            self.carried + other.carried,
            self.unclear | other.unclear,
        )

    def times(self, many: float) -> Count:
        return Count(
            many * self.products,
            many * self.convolved,
            many * self.elementwise,
            many * self.known,
            many * self.hidden,
            many * self.kernels,
            many * self.carried,
            self.unclear,
        )


def count(jaxpr: Any, *, by_trips: bool = True) -> Count:
    """Of *jaxpr*, closed or not. *by_trips*: else the inside of each loop counts once, as XLA has it."""
    total = Count()
    for equation in alive(jaxpr).eqns:
        total += _of(equation, by_trips)
    return total


def _of(equation: Any, by_trips: bool) -> Count:
    name = equation.primitive.name
    if name in PRODUCTS:
        flops = PRODUCTS[name](equation)
        return Count(products=flops, convolved=flops if name.startswith("conv") else 0.0)
    if name == "pallas_call":
        cost, known = of_kernel(equation, lambda body: count(body).work)
        seen, unseen = (cost.flops, 0.0) if known else (0.0, cost.flops)
        return Count(known=seen, hidden=unseen, kernels=1, carried=cost.moved_bytes)
    inside = [count(one, by_trips=by_trips) for one in inner(equation)]
    if not inside:
        return _of_numbers(equation)
    if name == "cond":
        return max(inside, key=lambda one: one.work + one.elementwise)
    whole = sum(inside, Count())
    if name == "shard_map":
        return whole.times(_parts(equation))
    if name in ("scan", "while") and by_trips:
        trips = int(equation.params["length"]) if name == "scan" else _trips(equation)
        return whole.times(trips) if trips is not None else whole + Count(unclear=frozenset({name}))
    return whole


def _of_numbers(equation: Any) -> Count:
    """Of an operation on number after number; what only moves them is free."""
    name = equation.primitive.name
    if name in _FOREIGN:
        return Count(unclear=frozenset({name}))
    if is_reduction(equation):
        return Count(elementwise=numbers(equation.invars[0]))
    return Count(elementwise=numbers(equation.outvars[0]) if is_elementwise(equation) else 0.0)


def inner(equation: Any) -> Iterator[Any]:
    """The programs inside an operation: of loops, branches, calls."""
    for value in equation.params.values():
        for one in value if isinstance(value, (list, tuple)) else (value,):
            found = getattr(one, "jaxpr", one)
            if hasattr(found, "eqns"):
                yield found


def alive(jaxpr: Any) -> Any:
    """*jaxpr*, closed or not, without what leads to none of its outputs."""
    from jax.interpreters import partial_eval

    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    return partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[0]


def _parts(equation: Any) -> int:
    """Into how many equal parts a `shard_map` cuts its work."""
    mesh = equation.params["mesh"]
    return math.prod(mesh.shape[axis] for axis in equation.params["newly_manual_axes"])


def _trips(equation: Any) -> int | None:
    """Of a `while` that counts up by one from a number below another; None: the program alone does not tell."""
    params, inputs = equation.params, equation.invars
    condition, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
    if len(condition.eqns) != 1 or condition.eqns[0].primitive.name != "lt":
        return None
    consts, before = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    counter, limit = condition.eqns[0].invars
    if is_literal(counter) or counter not in condition.invars[consts:]:
        return None
    at = condition.invars[consts:].index(counter)
    if not is_literal(limit) and limit in condition.invars[:consts]:
        limit = inputs[condition.invars.index(limit)]
    begin, within = inputs[before + at], body.invars[params["body_nconsts"] + at]
    raised = next((one for one in body.eqns if one.outvars[0] is body.outvars[at]), None)
    if raised is None or raised.primitive.name != "add" or raised.invars[0] is not within:
        return None
    by = raised.invars[1]
    if not all(is_literal(one) for one in (begin, limit, by)) or by.val != 1:
        return None
    return max(0, int(limit.val) - int(begin.val))


def is_literal(variable: object) -> bool:
    return hasattr(variable, "val")
