"""Causal attention by JAX's own TPU kernel, each chip with its part of the batch: no scores over all pairs in memory.

The kernel is the library's splash attention. No compiler can spread it over chips by itself ("Mosaic kernels cannot be
automatically partitioned"), so `shard_map` hands each chip its examples. It is put in when a step is traced for a TPU
(`attention.by`), so a saved model stays plain Keras. B examples, T tokens, H heads, D numbers a head.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import ad_checkpoint
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel, splash_attention_mask
from jax.sharding import Mesh, PartitionSpec

from tpu_studio.trainer.models import scoring
from tpu_studio.trainer.models.scoring import product

Tensor = Any
LANES = 128  # the kernel's blocks are multiples of it
MIXED = "mixed"  # what the kernel gives for the backward pass: what is mixed of the values, and the sums of the rows
BLOCK = 512  # queries and keys worked out at a time, as MaxText has it


@dataclass(frozen=True)
class Splash:
    """Attributes:
    mesh: Chips over which the batch is cut along "batch"; None: one chip.
    most: Queries and keys worked out at a time, at most.
    interpret: Worked out step by step in place of the kernel, on any processor: for tests.
    """

    mesh: Mesh | None = None
    most: int = BLOCK
    interpret: bool = False

    def takes(self, tokens: int) -> bool:
        return tokens % LANES == 0

    def attend(self, qkv_Nx3W: Tensor, tokens: int, heads: int) -> Tensor:
        """Scaled dot-product attention in which no token sees a later one (Vaswani et al. 2017, equation 1): [N, W]."""
        of_a_chip = functools.partial(self._of_a_chip, tokens, heads)
        if self.mesh is None or self.mesh.size == 1:
            return of_a_chip(qkv_Nx3W)
        rows = PartitionSpec("batch")
        return jax.shard_map(of_a_chip, mesh=self.mesh, in_specs=rows, out_specs=rows, check_vma=False)(qkv_Nx3W)

    def score(self, x_NxW: Tensor, table_VxW: Tensor, *, narrow: bool) -> Tensor | None:
        held = scoring.hold_back(x_NxW, table_VxW, narrow=narrow)
        return scored(x_NxW, table_VxW) if held is None and narrow else held

    def _of_a_chip(self, tokens: int, heads: int, qkv_Nx3W: Tensor) -> Tensor:
        width = qkv_Nx3W.shape[-1] // 3
        split = (one.reshape(-1, tokens, heads, width // heads) for one in jnp.split(qkv_Nx3W, 3, axis=-1))
        q, k, v = (jnp.transpose(one_BxTxHxD, (0, 2, 1, 3)) for one_BxTxHxD in split)
        mask = splash_attention_mask.MultiHeadMask([splash_attention_mask.CausalMask((tokens, tokens))] * heads)
        kernel = splash_attention_kernel.make_splash_mha_single_device(
            mask=mask,
            block_sizes=sizes(tokens, self.most),
            interpret=self.interpret,
        )
        mixed_BxHxTxD = attended(kernel, q * (1.0 / math.sqrt(width // heads)), k, v)
        return jnp.transpose(mixed_BxHxTxD, (0, 2, 1, 3)).reshape(-1, width)


@functools.partial(jax.custom_vjp, nondiff_argnums=())  # the bare decorator is untyped
def attended(kernel: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """By *kernel*, of q, k, v, each [B, H, T, D]; what is kept for the backward pass beside these is called `MIXED`.

    The kernel writes the sum of each row 128 times over, of which one is wanted. XLA may take that one as late as the
    backward pass, and does where chips share the state out: for each block twice as much as is mixed would wait in
    memory. Here nothing goes on from what is mixed before the sums are cut.
    """
    return jax.vmap(kernel)(q, k, v)


def _attended_forward(kernel: Any, *qkv: Tensor) -> tuple[Tensor, Any]:
    mixed, back = jax.vjp(jax.vmap(kernel), *qkv)
    kept, tree = jax.tree.flatten(back)
    (sums,) = (one for one in kept if one.shape == mixed.shape[:-1] and one.dtype == jnp.float32)
    small = ad_checkpoint.checkpoint_name(jax.lax.optimization_barrier((mixed, sums)), MIXED)
    places = {id(mixed): small[0], id(sums): small[1]}
    return small[0], tree.unflatten([places.get(id(one), one) for one in kept])


def _attended_backward(back: Any, wanted: Tensor) -> tuple[Any, ...]:
    return None, *back(wanted)


attended.defvjp(_attended_forward, _attended_backward)


def sizes(tokens: int, most: int) -> splash_attention_kernel.BlockSizes:
    """Of the blocks. One kernel for the whole backward pass reads everything once; its parts of dq are added up behind
    it. Tokens lie along the lanes, which a head's 64 numbers would fill to half."""
    side, layout = block(tokens, most), splash_attention_kernel.QKVLayout.SEQ_MINOR
    return splash_attention_kernel.BlockSizes(
        *[side] * 6, use_fused_bwd_kernel=True, q_layout=layout, k_layout=layout, v_layout=layout
    )


def block(tokens: int, most: int = BLOCK) -> int:
    """The longest that divides *tokens*, itself a multiple of `LANES`, up to *most*."""
    return max(side for side in range(LANES, most + 1, LANES) if tokens % side == 0)


def over(mesh: Mesh) -> Splash | None:
    """For steps over the devices of *mesh*; None where these are no TPUs."""
    return Splash(mesh) if mesh.devices.flat[0].platform == "tpu" else None


@functools.partial(jax.custom_vjp, nondiff_argnums=())  # the bare decorator is untyped
def scored(x_NxW: Tensor, table_VxW: Tensor) -> Tensor:
    """Scores [N, V] of tokens. A matrix unit takes bfloat16 and adds in float32: rounded before, what goes in and back
    moves half the bytes and gives the same."""
    return product(_narrow(x_NxW), _narrow(table_VxW), 1, 1)


def _scored_forward(x_NxW: Tensor, table_VxW: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    return scored(x_NxW, table_VxW), (x_NxW, table_VxW)


def _scored_backward(kept: tuple[Tensor, Tensor], wanted_NxV: Tensor) -> tuple[Tensor, Tensor]:
    x_NxW, table_VxW = kept
    wanted_NxV = _narrow(wanted_NxV)
    back_NxW, of_table_VxW = product(wanted_NxV, _narrow(table_VxW), 1, 0), product(wanted_NxV, _narrow(x_NxW), 0, 0)
    return back_NxW.astype(x_NxW.dtype), of_table_VxW.astype(table_VxW.dtype)


scored.defvjp(_scored_forward, _scored_backward)


def _narrow(tensor: Tensor) -> Tensor:
    return tensor.astype(jnp.bfloat16)
