"""Attention as it is written, on TPUs too: without the kernel that Keras would put in its place there.

Keras 3.15 hands `dot_product_attention` on a TPU to a kernel that is causal whatever was asked, where there is no mask,
and that no compiler can spread over several chips ("Mosaic kernels cannot be automatically partitioned", seen in
erfanzar/EasyDeL#149; it breaks models on pods: keras#21116; a mask that is traced breaks it, too: keras#21808). Put in
wherever JAX trains, so that a practice run, `check` and a TPU work out the same.
"""

from __future__ import annotations

import functools
from typing import Any

import keras

from tpu_studio.trainer.frameworks import running


def keep_plain() -> None:
    """Have Keras's attention layers and operations compute what they say. Any number of times."""
    keras.config.disable_flash_attention()  # `clear_session` forgets it, and a layer may ask for the kernel by itself
    running().keep_attention_plain()


def without_kernel() -> None:
    """Of JAX, whose attention Keras would hand to the kernel."""
    from keras.src.backend.jax import nn

    if not hasattr(nn.dot_product_attention, "__wrapped__"):
        nn.dot_product_attention = _plain(nn.dot_product_attention)


def _plain(original: Any) -> Any:
    @functools.wraps(original)
    def attend(*tensors: Any, flash_attention: Any = None, attn_logits_soft_cap: Any = None, **more: Any) -> Any:
        if attn_logits_soft_cap is not None:
            raise ValueError("attn_logits_soft_cap works with Keras's attention kernel only, which is switched off")
        return original(*tensors, flash_attention=False, **more)

    return attend
