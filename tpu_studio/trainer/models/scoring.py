"""Loss over a large vocabulary without all its scores in memory, and how a model hands over what they are made of.

While a step is traced inside `held_back`, a table that `attention.let_score` has prepared makes no scores: it hands
over what it would multiply, and `Scores` works the loss out, some tokens at a time. The scores of a token go no further
than its own loss, so their gradients are there as soon as they are (as in Hsu et al. 2024, Liger Kernel): nothing is
worked out again, and what is kept for the backward pass is as wide as the model, not as its vocabulary. Each chip takes
its own tokens: over all of them XLA would exchange the table's gradient after each piece. N tokens of a step, C of a
piece, W width, R rows of the table.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec

Tensor = Any
TILE = 8  # tokens that a register's rows hold: pieces are multiples of it


@dataclass(frozen=True)
class Unscored:
    """What scores would be made of: x [N, W] and the table [R, W]. *narrow*: in bfloat16."""

    x: Tensor
    table: Tensor
    narrow: bool


_HELD: ContextVar[list[Unscored] | None] = ContextVar("held", default=None)


@contextmanager
def held_back(wanted: bool) -> Iterator[list[Unscored]]:
    """What is traced inside makes no scores, where that is *wanted*; what they are made of is in the list, then."""
    held: list[Unscored] = []
    token = _HELD.set(held if wanted else None)
    try:
        yield held
    finally:
        _HELD.reset(token)


def hold_back(x_NxW: Tensor, table_RxW: Tensor, *, narrow: bool) -> Tensor | None:
    """Scores [N, R] that nobody looks at, in the place of the true ones; None outside `held_back`."""
    held = _HELD.get()
    if held is None:
        return None
    held.append(Unscored(x_NxW, table_RxW, narrow))
    return jnp.zeros((x_NxW.shape[0], table_RxW.shape[0]), jnp.float32)


@dataclass(frozen=True)
class Scores:
    """Sum of the losses of many tokens: cross-entropy, as `maths.loss_terms` has it.

    Attributes:
        at_once: Tokens of one chip that are scored at a time, at most.
        vocabulary: Rows of the table that stand for a token, the first.
        smoothing: Label smoothing.
        counts: Right answers are counted; else there are none.
        mesh: Chips over which the tokens are cut along "batch"; None: one chip.
    """

    at_once: int
    vocabulary: int
    smoothing: float = 0.0
    counts: bool = True
    mesh: Mesh | None = None

    def summed(self, held: Unscored, y_N: Tensor, weight_N: Tensor) -> tuple[Tensor, Tensor]:
        """Sum of the losses, sum of right answers, each by its weight; float32 scalars."""
        loss, right = _summed(self, held.narrow, held.x, held.table, y_N, weight_N)
        return loss, right

    def spread(self, function: Any, outputs: Any) -> Any:
        """*function* of the tokens of each chip; the sums in its *outputs* are over all chips."""
        if self.mesh is None or self.mesh.size == 1:
            return function
        rows, whole = PartitionSpec("batch"), PartitionSpec()
        places = {"rows": rows, "sum": whole}

        def of_a_chip(*tensors: Tensor) -> Any:
            found = function(*tensors)
            return tuple(
                jax.lax.psum(one, "batch") if kind == "sum" else one for one, kind in zip(found, outputs, strict=True)
            )

        return jax.shard_map(
            of_a_chip,
            mesh=self.mesh,
            in_specs=(rows, whole, rows, rows),
            out_specs=tuple(places[kind] for kind in outputs),
            check_vma=False,
        )

    def pieces(self, tokens: int) -> tuple[int, int]:
        """How many, and tokens of each: together *tokens* at least."""
        count = -(-tokens // self.at_once)
        each = -(-tokens // count)
        return count, -(-each // TILE) * TILE

    def losses(self, x_CxW: Tensor, table_RxW: Tensor, y_C: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Of a piece of C tokens: scores [C, R] that are -inf beyond the vocabulary, log of their sums, what is right
        [C, R] as booleans, the losses."""
        scores = product(x_CxW, table_RxW, 1, 1)
        row = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1)
        if self.vocabulary < scores.shape[1]:
            scores = jnp.where(row < self.vocabulary, scores, -jnp.inf)
        log_sum = jax.nn.logsumexp(scores, axis=-1)
        right = row == y_C[:, None]
        loss = log_sum - (1.0 - self.smoothing) * jnp.sum(jnp.where(right, scores, 0.0), axis=-1)
        if self.smoothing:
            seen = jnp.where(row < self.vocabulary, scores, 0.0)
            loss = loss - self.smoothing * jnp.sum(seen, axis=-1) / self.vocabulary
        return scores, log_sum, right, loss

    def gradients(
        self, x_CxW: Tensor, table_RxW: Tensor, found: tuple[Tensor, Tensor, Tensor, Tensor], weight_C: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Of the sum of a piece's losses, with respect to its x and the table."""
        scores, log_sum, right, _ = found
        wanted = jnp.exp(scores - log_sum[:, None]) - (1.0 - self.smoothing) * right
        if self.smoothing:
            row = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1)
            wanted = wanted - jnp.where(row < self.vocabulary, self.smoothing / self.vocabulary, 0.0)
        wanted = (wanted * weight_C[:, None]).astype(x_CxW.dtype)
        return product(wanted, table_RxW, 1, 0), product(wanted, x_CxW, 0, 0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _summed(
    how: Scores, narrow: bool, x_NxW: Tensor, table_RxW: Tensor, y_N: Tensor, weight_N: Tensor
) -> tuple[Tensor, Tensor]:
    taken = (_taken(x_NxW, narrow), _taken(table_RxW, narrow))
    loss, right = how.spread(functools.partial(_sums, how), ("sum", "sum"))(*taken, y_N, weight_N)
    return loss, right


def _taken(tensor: Tensor, narrow: bool) -> Tensor:
    """What products take, before chips exchange any of it."""
    return tensor.astype(jnp.bfloat16) if narrow else tensor


def _forward(how: Scores, narrow: bool, x_NxW: Tensor, table_RxW: Tensor, y_N: Tensor, weight_N: Tensor) -> Any:
    taken = (_taken(x_NxW, narrow), _taken(table_RxW, narrow))
    all_of_it = how.spread(functools.partial(_sums_and_gradients, how), ("sum", "sum", "rows", "sum"))
    loss, right, of_x, of_table = all_of_it(*taken, y_N, weight_N)
    return (loss, right), (of_x.astype(x_NxW.dtype), of_table.astype(table_RxW.dtype), weight_N)


def _backward(
    how: Scores, narrow: bool, kept: Any, wanted: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor, None, Tensor]:
    of_x, of_table, weight_N = kept
    times, _ = wanted
    return (times * of_x).astype(of_x.dtype), (times * of_table).astype(of_table.dtype), None, jnp.zeros_like(weight_N)


_summed.defvjp(_forward, _backward)


def _sums(how: Scores, x_NxW: Tensor, table_RxW: Tensor, y_N: Tensor, weight_N: Tensor) -> tuple[Tensor, Tensor]:
    def add(sums: tuple[Tensor, Tensor], piece: tuple[Tensor, ...]) -> tuple[Any, None]:
        x, y, weight = piece
        scores, _, _, loss = how.losses(x, table_RxW, y)
        return _added(how, sums, scores, loss, y, weight), None

    found, _ = jax.lax.scan(add, (jnp.zeros(()), jnp.zeros(())), _cut(how, x_NxW, y_N, weight_N))
    return found  # type: ignore[no-any-return]


def _sums_and_gradients(how: Scores, x_NxW: Tensor, table_RxW: Tensor, y_N: Tensor, weight_N: Tensor) -> Any:
    def add(carry: tuple[Any, Tensor], piece: tuple[Tensor, ...]) -> tuple[Any, Tensor]:
        sums, of_table = carry
        x, y, weight = piece
        found = how.losses(x, table_RxW, y)
        of_x, more = how.gradients(x, table_RxW, found, weight)
        return (_added(how, sums, found[0], found[3], y, weight), of_table + more), of_x.astype(x_NxW.dtype)

    begin = ((jnp.zeros(()), jnp.zeros(())), jnp.zeros(table_RxW.shape, jnp.float32))
    ((loss, right), of_table), of_x = jax.lax.scan(add, begin, _cut(how, x_NxW, y_N, weight_N))
    return loss, right, of_x.reshape(-1, x_NxW.shape[-1])[: x_NxW.shape[0]], of_table


def _added(
    how: Scores, sums: tuple[Tensor, Tensor], scores_CxR: Tensor, loss_C: Tensor, y_C: Tensor, weight_C: Tensor
) -> tuple[Tensor, Tensor]:
    loss, right = sums[0] + jnp.sum(loss_C * weight_C), sums[1]
    if how.counts:
        right = right + jnp.sum((jnp.argmax(scores_CxR, axis=-1) == y_C).astype(jnp.float32) * weight_C)
    return loss, right


def _cut(how: Scores, *tensors: Tensor) -> tuple[Tensor, ...]:
    """[N, …] → [pieces, C, …], filled up with tokens of no weight."""
    tokens = tensors[0].shape[0]
    count, each = how.pieces(tokens)

    def cut(tensor: Tensor) -> Tensor:
        more = [(0, count * each - tokens)] + [(0, 0)] * (tensor.ndim - 1)
        return jnp.pad(tensor, more).reshape(count, each, *tensor.shape[1:])

    return tuple(cut(tensor) for tensor in tensors)


def product(left: Tensor, right: Tensor, left_axis: int, right_axis: int) -> Tensor:
    """Of two matrices over these axes, added up in float32."""
    dimensions = (((left_axis,), (right_axis,)), ((), ()))
    return jax.lax.dot_general(left, right, dimensions, preferred_element_type=jnp.float32)
