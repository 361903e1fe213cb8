"""Bytes that a traced program (jaxpr) holds at once, as far as that can be told without a compiler.

A compiler fuses what computes number by number into what needs it, so only the results of products, sums and the like
are taken to be in memory, each until the last of those that are made of it. Within a factor of three of what the TPU
compiler says of our models; `check` asks the compiler.
"""

from __future__ import annotations

from typing import Any

from tpu_studio.trainer.work.formulas import is_elementwise, numbers
from tpu_studio.trainer.work.walk import alive, inner, is_literal

_MOVES = frozenset({"broadcast_in_dim", "iota", "reshape", "slice", "squeeze", "transpose"})  # and fuse as well
_CALLS = frozenset({"closed_call", "custom_jvp_call", "custom_vjp_call", "jit", "remat2"})
_Roots = frozenset[object]


def live_bytes(jaxpr: Any) -> int:
    """The most that is in memory at once beside inputs and outputs of *jaxpr*, closed or not."""
    jaxpr = alive(jaxpr)
    known: dict[object, _Roots] = dict.fromkeys((*jaxpr.invars, *jaxpr.constvars), frozenset())
    steps: list[tuple[_Roots, _Roots, int]] = []
    _go(jaxpr, known, steps)
    outputs = frozenset().union(*(_roots(one, known) for one in jaxpr.outvars))
    last = {one: at for at, (used, _, _) in enumerate(steps) for one in used}
    held: dict[object, int] = {}
    most = 0
    for at, (_, made, within) in enumerate(steps):
        held |= {one: _bytes(one) for one in made - outputs}
        most = max(most, sum(held.values()) + within)
        held = {one: size for one, size in held.items() if last.get(one, at) > at}
    return most


def _go(jaxpr: Any, known: dict[object, _Roots], steps: list[tuple[_Roots, _Roots, int]]) -> None:
    """Note for each operation what it uses, what it makes, and the bytes that it holds within."""
    for equation in jaxpr.eqns:
        used: _Roots = frozenset().union(*(_roots(one, known) for one in equation.invars))
        name, inside = equation.primitive.name, list(inner(equation))
        if name in _CALLS:
            within = alive(inside[0])
            known |= {one: _roots(given, known) for one, given in zip(within.invars, equation.invars, strict=True)}
            known |= dict.fromkeys(within.constvars, frozenset())
            _go(within, known, steps)
            known |= {out: _roots(one, known) for out, one in zip(equation.outvars, within.outvars, strict=True)}
        elif name in _MOVES or (not inside and is_elementwise(equation)):
            known |= dict.fromkeys(equation.outvars, used)
            steps.append((used, frozenset(), 0))
        else:
            known |= {one: frozenset({one}) for one in equation.outvars}
            steps.append((used, frozenset(equation.outvars), max((live_bytes(one) for one in inside), default=0)))


def _roots(variable: object, known: dict[object, _Roots]) -> _Roots:
    return frozenset() if is_literal(variable) else known[variable]


def _bytes(variable: Any) -> int:
    kind = getattr(variable.aval, "dtype", None)
    return numbers(variable) * int(getattr(kind, "itemsize", 0))
