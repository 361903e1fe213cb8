"""Pictures varied on the device, inside the training step, by the numbers that ``data.augment`` drew for each.

In whole numbers throughout, so that JAX and TensorFlow, a processor and a TPU make the very same pictures of them.
Shapes: B pictures, H × W pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from keras import ops

from tpu_studio.data.augment import LIGHT_BITS

Tensor = Any
Take = Callable[[Tensor, Tensor, Tensor], Tensor]


def varied(batch: Mapping[str, Tensor], take: Take) -> Tensor:
    """``x`` of *batch*, varied where the batch says how.

    Args:
        take: The pixels in rows BxH and columns BxW of pictures, as the framework does it.
    """
    if "light" not in batch:
        return batch["x"]
    moved = take(batch["x"], batch["rows"], batch["columns"])
    gain, added, top = (ops.reshape(batch["light"][:, n], (-1, 1, 1, 1)) for n in range(3))
    lit = ops.right_shift(ops.cast(moved, "int32") * gain + added, LIGHT_BITS)
    return ops.cast(ops.minimum(ops.maximum(lit, 0), top), batch["x"].dtype)
