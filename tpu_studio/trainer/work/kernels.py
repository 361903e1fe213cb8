"""Work and memory traffic of kernels that we know, by formula: XLA counts neither.

A kernel is known by the name that its library gives it. What stays on the chip while a kernel works is no traffic.
Blocks are those of `models.splash`, of which the ones above the diagonal are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

LANES, SUBLANES = 128, 8
NUMBER = 4  # bytes of float32 and int32


@dataclass(frozen=True)
class Cost:
    flops: float = 0.0
    moved_bytes: float = 0.0

    def times(self, count: float) -> Cost:
        return Cost(count * self.flops, count * self.moved_bytes)


def cost(equation: Any) -> Cost | None:
    """Of one call of the kernel *equation* ("pallas_call"); None: it has no formula."""
    formula = FORMULAS.get(str(equation.params.get("name")))
    return formula(equation) if formula else None


def _forward(equation: Any) -> Cost:
    """Two products a block: q·k and shares·v. Read: q once, k and v for each block that sees them, the places of the
    queries; written: what came out and, for the backward pass, the sums of each row (float32, a whole row of lanes)."""
    size = _Sizes.of(equation)
    sums = NUMBER * LANES * size.tokens if "no_residuals" not in str(equation.params["name"]) else 0
    places = NUMBER * LANES * size.tokens
    moved = 2 * size.whole + 2 * size.seen_bytes + sums + places
    return Cost(2 * size.product, moved).times(size.heads)


def _backward(equation: object) -> Cost:
    """Five products a block: q·k again, and for dv, dp, dk, dq. Read: k and v once, q and the gradient for each block,
    with sums and places; written: dk, dv, and a dq for each block of keys."""
    size = _Sizes.of(equation)
    rows = 3 * NUMBER * SUBLANES * size.seen * size.side
    moved = 4 * size.whole + 2 * size.seen_bytes + rows + size.blocks * size.whole
    return Cost(5 * size.product, moved).times(size.heads)


@dataclass(frozen=True)
class _Sizes:
    """*heads*: of all examples together; the rest is of one head."""

    heads: int
    tokens: int
    numbers: int
    itemsize: int

    @classmethod
    def of(cls, equation: Any) -> _Sizes:
        """From the queries, the first array of numbers that is no mask; a single example has no axis."""
        query = next(one.aval for one in equation.invars if one.aval.ndim > 2 and one.aval.dtype.kind not in "iub")
        *examples, heads, numbers, tokens = query.shape  # tokens along the lanes
        return cls(math.prod(examples) * heads, tokens, numbers, query.dtype.itemsize)

    @property
    def side(self) -> int:
        from tpu_studio.trainer.models.splash import block  # imports Keras, which wants its backend chosen first

        return block(self.tokens)

    @property
    def blocks(self) -> int:
        return self.tokens // self.side

    @property
    def seen(self) -> int:
        """Blocks on and below the diagonal."""
        return self.blocks * (self.blocks + 1) // 2

    @property
    def product(self) -> float:
        """FLOPs of one product over all blocks that are seen."""
        return 2.0 * self.seen * self.side**2 * self.numbers

    @property
    def whole(self) -> int:
        return self.tokens * self.numbers * self.itemsize

    @property
    def seen_bytes(self) -> int:
        return self.seen * self.side * self.numbers * self.itemsize


FORMULAS: Mapping[str, Callable[[object], Cost]] = {
    "splash_mha_fwd_residuals": _forward,
    "splash_mha_fwd_no_residuals": _forward,
    "splash_mha_dkv_no_residuals": _backward,
}
