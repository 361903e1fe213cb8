"""Attention on TPUs: as it is written, or by a kernel of ours; never by the one that Keras would put in.

Keras 3.15 hands `dot_product_attention` on a TPU to a kernel that is causal whatever was asked, where there is no mask,
and that no compiler can spread over several chips ("Mosaic kernels cannot be automatically partitioned", seen in
erfanzar/EasyDeL#149; it breaks models on pods: keras#21116; a mask that is traced breaks it, too: keras#21808). It is
left out wherever JAX trains, so that a practice run, `check` and a TPU work out the same.

Models of ours say which of their blocks attend causally (`let_kernel`). While a step is traced inside `by`, these take
the kernel that it names; a model, and the file it is saved to, knows nothing of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import keras

from tpu_studio.trainer.frameworks import running

Tensor = Any


class Kernel(Protocol):
    """Causal attention of B examples, N = B·T."""

    @property
    def mesh(self) -> Any:
        """Chips over which the examples are cut along "batch" (`jax.sharding.Mesh`); None: one chip."""
        ...

    def takes(self, tokens: int) -> bool:
        """Whether it can work on sequences of that length."""
        ...

    def attend(self, qkv: Tensor, tokens: int, heads: int) -> Tensor:
        """Queries, keys and values [N, 3W] → what is mixed of them [N, W]."""
        ...

    def score(self, x: Tensor, table: Tensor, *, narrow: bool) -> Tensor | None:
        """x [N, W] and the table of tokens [V, W] → scores [N, V]; None: as the model is written.

        *narrow*: The model computes in bfloat16.
        """
        ...


_KERNEL: ContextVar[Kernel | None] = ContextVar("kernel", default=None)


@contextmanager
def by(kernel: Kernel | None) -> Iterator[None]:
    """What is traced inside attends by *kernel*; None: as the model is written."""
    token = _KERNEL.set(kernel)
    try:
        yield
    finally:
        _KERNEL.reset(token)


def let_kernel(
    block: keras.Model, inside: Callable[[Tensor, Callable[[Tensor], Tensor]], Tensor], tokens: int, heads: int
) -> None:
    """Have *block* attend by the kernel of `by`, where there is one that takes *tokens*.

    Args:
        inside: What the block works out of its first input, given how queries, keys and values [N, 3W] become [N, W].
    """
    plain = block.call

    def call(inputs: Any, training: bool | None = None, mask: Any = None) -> Tensor:
        kernel = _KERNEL.get()
        if kernel is None or not kernel.takes(tokens):
            return plain(inputs, training=training, mask=mask)
        return inside(inputs[0], lambda qkv: kernel.attend(qkv, tokens, heads))

    block.call = call


def let_score(table: keras.layers.ReversibleEmbedding) -> None:
    """Have *table* score tokens as the kernel of `by` does, where there is one."""
    plain = table.call

    def call(inputs: Any, reverse: bool = False) -> Tensor:
        kernel = _KERNEL.get() if reverse else None
        if kernel is None:
            return plain(inputs, reverse=reverse)
        held = keras.ops.convert_to_tensor(table.embeddings)
        scores = kernel.score(inputs, held, narrow=table.compute_dtype == "bfloat16")
        return plain(inputs, reverse=reverse) if scores is None else scores

    table.call = call


def keep_plain() -> None:
    """Have Keras's attention layers and operations compute what they say. Any number of times."""
    keras.config.disable_flash_attention()  # `clear_session` forgets it, and a layer may ask for the kernel by itself
    running().keep_attention_plain()


def without_kernel() -> None:
    """Of JAX, whose attention Keras would hand to the kernel."""
    from keras.src.backend.jax import nn

    if not hasattr(nn.dot_product_attention, "__wrapped__"):
        nn.dot_product_attention = _plain(nn.dot_product_attention)


def _plain(original: Any) -> object:
    @functools.wraps(original)
    def attend(
        *tensors: object, flash_attention: object = None, attn_logits_soft_cap: object = None, **more: object
    ) -> object:
        if attn_logits_soft_cap is not None:
            raise ValueError("attn_logits_soft_cap works with Keras's attention kernel only, which is switched off")
        return original(*tensors, flash_attention=False, **more)

    return attend
