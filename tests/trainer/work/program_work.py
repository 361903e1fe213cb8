"""Run in the engine with 8 processors that stand for chips: what is counted in small programs whose work is known, and
in our models over a grid of their options. One JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] += " --xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.experimental import pallas as pl

sys.path.insert(0, str(Path(__file__).parent.parent / "models"))
sys.path.insert(0, str(Path(__file__).parent))
from grid import COUNTED, GRID, built

from tpu_studio.trainer import recipe
from tpu_studio.trainer.check import programs
from tpu_studio.trainer.models import initial
from tpu_studio.trainer.models.kerashub import resnet
from tpu_studio.trainer.work.model import count_model
from tpu_studio.trainer.work.walk import count

SIDE = 4  # a product of two such squares is 128 operations
Squares = jax.Array


def kernel(estimate: pl.CostEstimate | None) -> Callable[[Squares, Squares], Any]:
    """A product of two 16-square matrices in four places, each of 8 x 16 by 16 x 8."""

    def body(left: Any, right: Any, out: Any) -> None:
        out[...] = left[...] @ right[...]

    return pl.pallas_call(
        body,
        out_shape=jax.ShapeDtypeStruct((16, 16), jnp.float32),
        grid=(2, 2),
        in_specs=[pl.BlockSpec((8, 16), lambda i, j: (i, 0)), pl.BlockSpec((16, 8), lambda i, j: (0, j))],
        out_specs=pl.BlockSpec((8, 8), lambda i, j: (i, j)),
        cost_estimate=estimate,
        interpret=True,
    )


@jax.custom_vjp
def squared(x: Squares) -> Any:
    return x @ x


squared.defvjp(lambda x: (x @ x, x), lambda x, wanted: (wanted @ x,))


def looped(x: Squares) -> Any:
    """One product, and one of the same size in a loop of seven."""
    return jax.lax.scan(lambda carry, _: (carry @ x, None), x @ x, length=7)[0]


def nested(x: Squares) -> Any:
    return jax.lax.fori_loop(0, 3, lambda _, carry: looped(carry), x)


def counting(x: Squares) -> Any:
    return jax.lax.while_loop(lambda carry: carry[0] < 9, lambda carry: (carry[0] + 1, carry[1] @ x), (2, x))


def halting(x: Squares) -> Any:
    return jax.lax.while_loop(lambda carry: carry.sum() < 9, lambda carry: carry @ x, x)


def branching(x: Squares) -> Any:
    return jax.lax.cond(x.sum() > 0, lambda x: x @ x @ x, lambda x: x, x)


def unused(x: Squares) -> Any:
    jax.jit(lambda x: x @ x)(x)
    return x @ x


def over_chips(x: Squares) -> Any:
    mesh = jax.make_mesh((8,), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))
    cut, whole = jax.sharding.PartitionSpec("batch"), jax.sharding.PartitionSpec()
    stack = jnp.ones((8 * SIDE, SIDE))
    return jax.shard_map(lambda stack, x: stack @ x, mesh=mesh, in_specs=(cut, whole), out_specs=cut)(stack, x)


def recomputing(x: Squares) -> Any:
    return jax.checkpoint(lambda x: jnp.tanh(jnp.tanh(x @ x) @ x))(x).sum()


def strided(kernel: Any) -> Any:
    """3 x 3, of 2 channels to 5, at every second place of 8 x 8."""
    pictures = jnp.ones((1, 8, 8, 2))
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(pictures, kernel, (2, 2), "SAME", dimension_numbers=numbers).sum()


def strided_twice(pictures: Any) -> Any:
    kernel = jnp.ones((3, 3, 2, 5))
    numbers = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(pictures, kernel, (2, 2), "SAME", dimension_numbers=numbers).sum()


def ragged(x: Squares) -> Any:
    return jax.lax.ragged_dot(jnp.ones((8, SIDE)), jnp.ones((2, SIDE, 5)), jnp.array([3, 5])) + x.sum()


def called_back(x: Squares) -> Any:
    return jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(x.shape, x.dtype), x @ x)


SQUARE, PICTURE, WINDOW = (SIDE, SIDE), (1, 8, 8, 2), (3, 3, 2, 5)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "scan": (looped, SQUARE),
    "scan in a loop": (nested, SQUARE),
    "while": (counting, SQUARE),
    "while without a number": (halting, SQUARE),
    "cond": (branching, SQUARE),
    "unused": (unused, SQUARE),
    "shard_map": (over_chips, SQUARE),
    "custom_vjp": (squared, SQUARE),
    "custom_vjp, gradient": (jax.grad(lambda x: squared(x).sum()), SQUARE),
    "recomputed": (jax.grad(recomputing), SQUARE),
    "convolution": (strided, WINDOW),
    "convolution, gradient of the kernel": (jax.grad(strided), WINDOW),
    "convolution, gradient of the pictures": (jax.grad(strided_twice), PICTURE),
    "ragged": (ragged, SQUARE),
    "callback": (called_back, SQUARE),
    "kernel": (lambda x: kernel(None)(x, x), (16, 16)),
    "kernel in a loop": (lambda x: jax.lax.fori_loop(0, 3, lambda _, x: kernel(None)(x, x), x), (16, 16)),
    "kernel with its word": (lambda x: kernel(pl.CostEstimate(4096, 0, 0))(x, x), (16, 16)),
}


def counted() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (program, shape) in PROGRAMS.items():
        jaxpr = jax.make_jaxpr(program)(jnp.ones(shape))
        one = count(jaxpr)
        found[name] = asdict(one) | {"unclear": sorted(one.unclear), "work": one.work}
    return found


def of_models() -> dict[str, Any]:
    """Each point of the grid, and the seconds that building and tracing took."""
    found: dict[str, Any] = {}
    for name, point in {**GRID, **COUNTED}.items():
        begun = time.monotonic()
        model, constants, example = built(point)
        ready = time.monotonic()
        one = count_model(model, constants, example, point.batch)
        found[name] = one | {"build_s": ready - begun, "trace_s": time.monotonic() - ready}
    return found


class Recurrent(keras.layers.Layer):
    """Reads its rows one after the other: `keras.layers.SimpleRNN` does, in a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = keras.layers.SimpleRNN(6)

    def build(self, shape: Any) -> None:
        self.inside.build(shape)

    def call(self, x: Any) -> Any:
        return self.inside(x)


def of_own() -> dict[str, Any]:
    """A model of a person's own: 5 rows of 3 numbers, read one after the other, to 2 classes."""
    inputs = keras.Input((5, 3))
    model = keras.Model(inputs, keras.layers.Dense(2)(Recurrent()(inputs)))
    example = {"x": ((5, 3), np.dtype(np.float32)), "y": ((), np.dtype(np.int32))}
    return count_model(model, recipe.Recipe("classification"), example, 4)


def of_resnet_50() -> dict[str, Any]:
    """ResNet-50 as a folder of KerasHub describes it, with 1,000 classes."""
    config = {
        "input_conv_filters": [64],
        "input_conv_kernel_sizes": [7],
        "stackwise_num_filters": [64, 128, 256, 512],
        "stackwise_num_blocks": [3, 4, 6, 3],
        "stackwise_num_strides": [1, 2, 2, 2],
        "block_type": "bottleneck_block",
        "use_pre_activation": False,
    }
    with initial.without_weights():
        inputs = keras.Input((224, 224, 3))
        model = keras.Model(inputs, keras.layers.Dense(1000)(resnet.body(inputs, config)))
    example = {"x": ((224, 224, 3), np.dtype(np.float32)), "y": ((), np.dtype(np.int32))}
    return count_model(model, recipe.Recipe("classification"), example, 4)


def loops_of(program: Callable[..., Any], shape: tuple[int, ...]) -> dict[str, float]:
    return asdict(programs.loops(jax.make_jaxpr(program)(jnp.ones(shape))))


answer = {"programs": counted(), "own": of_own(), "models": of_models(), "resnet-50": of_resnet_50()}
answer["loops"] = {
    "products": loops_of(looped, SQUARE),
    "kernel": loops_of(lambda x: jax.lax.fori_loop(0, 3, lambda _, x: kernel(None)(x, x), x), (16, 16)),
}
json.dump(answer, sys.stdout)
print()
