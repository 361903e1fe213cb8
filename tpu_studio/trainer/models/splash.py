"""Causal attention by JAX's own TPU kernel, each chip with its part of the batch: no scores over all pairs in memory.

The kernel is the library's splash attention. No compiler can spread it over chips by itself ("Mosaic kernels cannot be
automatically partitioned"), so `shard_map` hands each chip its examples. It is put in when a step is traced for a TPU
(`attention.by`), so a saved model stays plain Keras. B examples, T tokens, H heads, D numbers a head.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel, splash_attention_mask
from jax.sharding import Mesh, PartitionSpec

Tensor = Any
LANES = 128  # the kernel's blocks are multiples of it
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

    def attend(self, q_BxHxTxD: Tensor, k_BxHxTxD: Tensor, v_BxHxTxD: Tensor) -> Tensor:
        """Scaled dot-product attention in which no token sees a later one (Vaswani et al. 2017, equation 1)."""
        size = q_BxHxTxD.shape[-1]
        tensors = (q_BxHxTxD * (1.0 / math.sqrt(size)), k_BxHxTxD, v_BxHxTxD)
        if self.mesh is None or self.mesh.size == 1:
            return self._of_a_chip(*tensors)
        by_example = PartitionSpec("batch")
        spread = jax.shard_map(
            self._of_a_chip, mesh=self.mesh, in_specs=(by_example,) * 3, out_specs=by_example, check_vma=False
        )
        return spread(*tensors)

    def _of_a_chip(self, q_BxHxTxD: Tensor, k_BxHxTxD: Tensor, v_BxHxTxD: Tensor) -> Tensor:
        heads, tokens = q_BxHxTxD.shape[1:3]
        mask = splash_attention_mask.MultiHeadMask([splash_attention_mask.CausalMask((tokens, tokens))] * heads)
        side = block(tokens, self.most)
        # One kernel for the whole backward pass reads everything once; its parts of dq are added up behind it.
        sizes = splash_attention_kernel.BlockSizes(*[side] * 6, use_fused_bwd_kernel=True)
        kernel = splash_attention_kernel.make_splash_mha_single_device(
            mask=mask, block_sizes=sizes, interpret=self.interpret
        )
        return jax.vmap(kernel)(q_BxHxTxD, k_BxHxTxD, v_BxHxTxD)


def block(tokens: int, most: int = BLOCK) -> int:
    """The longest that divides *tokens*, itself a multiple of `LANES`, up to *most*."""
    return max(side for side in range(LANES, most + 1, LANES) if tokens % side == 0)


def over(mesh: Mesh) -> Splash | None:
    """For steps over the devices of *mesh*; None where these are no TPUs."""
    return Splash(mesh) if mesh.devices.flat[0].platform == "tpu" else None
