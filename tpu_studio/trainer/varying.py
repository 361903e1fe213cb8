"""Pictures varied and mixed on the device, inside the training step, by the numbers that ``data.augment`` drew.

In whole numbers throughout, so that JAX and TensorFlow, a processor and a TPU make the very same pictures of them.
Shapes: B pictures, H × W pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from keras import ops

from tpu_studio.data.augment import LIGHT_BITS, MIX_BITS

Tensor = Any
Take = Callable[[Tensor, Tensor, Tensor], Tensor]


def varied(batch: Mapping[str, Tensor], take: Take) -> Tensor:
    """``x`` of *batch*, varied and mixed where the batch says how.

    Args:
        take: The pixels in rows BxH and columns BxW of pictures, as the framework does it.
    """
    x = batch["x"]
    if "light" in batch:
        moved = take(x, batch["rows"], batch["columns"])
        gain, added, top = (ops.reshape(batch["light"][:, n], (-1, 1, 1, 1)) for n in range(3))
        lit = ops.right_shift(ops.cast(moved, "int32") * gain + added, LIGHT_BITS)
        x = ops.cast(ops.minimum(ops.maximum(lit, 0), top), x.dtype)
    return _mixed(x, batch["mix"]) if "mix" in batch else x


def before(tensor: Tensor) -> Tensor:
    """For each of a batch the one before it, which it is mixed with: of the first the last."""
    return ops.roll(tensor, 1, axis=0)


def own_share(mix: Tensor) -> Tensor:
    """How much each picture keeps of its class, B, float32 from 0.5 to 1. *mix*: of `augment.mixes`."""
    return ops.cast(mix[:, 0], "float32") / float(1 << MIX_BITS)


def _mixed(x: Tensor, mix: Tensor) -> Tensor:
    """Each picture with the one before it; rounded to the nearest value."""
    whole, (height, width) = 1 << MIX_BITS, x.shape[1:3]
    inner, top, bottom, left, right = (ops.reshape(mix[:, n], (-1, 1, 1, 1)) for n in range(1, 6))
    row = ops.reshape(ops.arange(height, dtype="int32"), (1, -1, 1, 1))
    column = ops.reshape(ops.arange(width, dtype="int32"), (1, 1, -1, 1))
    inside = (row >= top) & (row < bottom) & (column >= left) & (column < right)
    share = ops.where(inside, inner, whole)
    one, other = ops.cast(x, "int32"), ops.cast(before(x), "int32")
    return ops.cast(ops.right_shift(one * share + other * (whole - share) + whole // 2, MIX_BITS), x.dtype)
