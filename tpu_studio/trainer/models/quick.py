"""What XLA does slowly on a processor, said to it another way: the same numbers out of JAX in less time.

The model keeps Keras's layers, and so does its file: only how the layers of this process are called is changed, and
only what is differentiated. Measured on gpt-nano (docs/training.md):

* Keras takes mean and variance of a normalisation apart, and JAX differentiates both: a tenth of a step.
* Where a product is differentiated, JAX contracts its first axis. XLA is a fifth to a half quicker with a copy that
  was turned over first, for layers that narrow and for products of attention.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from keras import activations, layers, ops

Tensor = Any
ROWS = 512  # below it a layer's products are too short for the copy to pay
OUTPUTS = 32
PLACES = 121  # of a kernel, each of which becomes an operation of its own


def quicken(model: Any) -> None:
    """Have the layers and operations of *model*, at any depth, called as they are quicker."""
    for layer in model._flatten_layers():
        if isinstance(layer.call, functools.partial):
            continue  # it is already, in another model
        if type(layer) is layers.LayerNormalization and layer.scale and layer.center and not layer.rms_scaling:
            layer.call = functools.partial(_normalise, layer, layer.call)
        elif type(layer) is layers.Dense and layer.quantization_mode is None and not layer.lora_enabled:
            layer.call = functools.partial(_dense, layer, layer.call)
        for operation in getattr(layer, "operations", ()):
            if type(operation).__name__ == "Matmul" and not isinstance(operation, layers.Layer):  # Keras's is private
                operation.call = functools.partial(_multiply, operation.call)


@contextlib.contextmanager
def forward(model: Any) -> Iterator[None]:
    """What is traced inside runs *model* forward only, and its depthwise convolutions by their definition: for each
    place of the kernel one product and one sum over the whole picture. XLA's loop for convolutions in groups takes
    three to nine times as long. Where they are differentiated, to compile that takes longer than it saves."""
    changed = [one for one in model._flatten_layers() if type(one) is layers.DepthwiseConv2D and _is_plain(one)]
    for layer in changed:
        layer.call = functools.partial(_depthwise, layer)
    try:
        yield
    finally:
        for layer in changed:
            del layer.call  # its class's again


def _normalise(layer: Any, kept: Any, inputs: Tensor) -> Tensor:
    axes = layer.axis if isinstance(layer.axis, (list, tuple)) else [layer.axis]
    if list(axes) not in ([-1], [inputs.ndim - 1]) or inputs.dtype == jnp.float64:
        return kept(inputs)
    scale, shift = (jnp.asarray(one.value, jnp.float32) for one in (layer.gamma, layer.beta))
    return normalised(jnp.asarray(inputs, jnp.float32), scale, shift, layer.epsilon).astype(layer.compute_dtype)


def _dense(layer: Any, kept: Any, inputs: Tensor, training: bool | None = None) -> Tensor:
    kernel = ops.convert_to_tensor(layer.kernel)
    wide, outputs = kernel.shape
    if inputs.ndim != 2 or inputs.dtype != kernel.dtype or len(inputs) < ROWS or not wide > outputs >= OUTPUTS:
        return kept(inputs, training=training)
    found = product(inputs, kernel)
    found = found if layer.bias is None else ops.add(found, layer.bias)
    return found if layer.activation is None else layer.activation(found)


def _is_plain(layer: Any) -> bool:
    once = layer.depth_multiplier == 1 and set(layer.dilation_rate) == {1} and layer.activation is activations.linear
    once = once and math.prod(layer.kernel_size) <= PLACES
    return once and layer.data_format == "channels_last" and layer.padding == "same" and not layer.use_bias


def _depthwise(layer: Any, inputs: Tensor) -> Tensor:
    """Of each channel by itself, over its own border of zeros, as TensorFlow's "same" places it."""
    kernel = jnp.asarray(ops.convert_to_tensor(layer.kernel), inputs.dtype)[..., 0]
    height, width = inputs.shape[1:3]
    (rows, below), (columns, right) = (
        _border(side, size, stride)
        for side, size, stride in zip((height, width), layer.kernel_size, layer.strides, strict=True)
    )
    padded = jnp.pad(inputs, ((0, 0), below, right, (0, 0)))
    down, along = layer.strides
    found = jnp.zeros((), inputs.dtype)
    for row in range(layer.kernel_size[0]):
        for column in range(layer.kernel_size[1]):
            part = padded[
                :, row : row + (rows - 1) * down + 1 : down, column : column + (columns - 1) * along + 1 : along
            ]
            found = found + part * kernel[row, column]
    return found


def _border(side: int, size: int, stride: int) -> tuple[int, tuple[int, int]]:
    """Places that a kernel of *size* takes along *side*, and the zeros before and behind that it needs for them."""
    places = -(-side // stride)
    zeros = max((places - 1) * stride + size - side, 0)
    return places, (zeros // 2, zeros - zeros // 2)


def _multiply(kept: Any, left: Tensor, right: Tensor) -> Tensor:
    same = left.ndim == right.ndim == 4 and left.shape[:2] == right.shape[:2] and left.dtype == right.dtype
    return product(left, right) if same else kept(left, right)


@functools.partial(jax.custom_vjp, nondiff_argnums=())  # the bare decorator is untyped
def product(left: Tensor, right: Tensor) -> Tensor:
    """left @ right, of […, N, K] and […, K, M] with the same axes before them."""
    return jnp.matmul(left, right)


def _product_forward(left: Tensor, right: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    return jnp.matmul(left, right), (left, right)


def _product_backward(kept: tuple[Tensor, Tensor], wanted: Tensor) -> tuple[Tensor, Tensor]:
    left, right = kept
    back = jnp.matmul(wanted, _turned(right))
    if left.ndim == 2 or left.shape[-1] <= wanted.shape[-1]:  # of a stack the smaller one is turned over
        return back, jnp.matmul(_copied(_turned(left)), wanted)
    return back, _turned(jnp.matmul(_copied(_turned(wanted)), left))


product.defvjp(_product_forward, _product_backward)


def _turned(matrix: Tensor) -> Tensor:
    return jnp.swapaxes(matrix, -1, -2)


def _copied(matrix: Tensor) -> Tensor:
    """*matrix* in memory as it is written here: without it XLA takes the copy away again."""
    return jax.lax.optimization_barrier(matrix)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def normalised(x: Tensor, scale: Tensor, shift: Tensor, epsilon: float) -> Tensor:
    """Ba et al. 2016, equation 4, over the last axis. x: […, W]; scale, shift: W; all float32."""
    return _normalised_forward(x, scale, shift, epsilon)[0]


def _normalised_forward(x: Tensor, scale: Tensor, shift: Tensor, epsilon: float) -> tuple[Tensor, tuple[Tensor, ...]]:
    mean = jnp.mean(x, axis=-1, keepdims=True)
    size = jax.lax.rsqrt(jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True) + epsilon)
    return (x - mean) * size * scale + shift, (x, mean, size, scale)


def _normalised_backward(epsilon: float, kept: tuple[Tensor, ...], wanted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, mean, size, scale = kept
    plain = (x - mean) * size
    rows = tuple(range(x.ndim - 1))
    scaled = wanted * scale
    along = jnp.mean(scaled * plain, axis=-1, keepdims=True)
    back = size * (scaled - jnp.mean(scaled, axis=-1, keepdims=True) - plain * along)
    return back, jnp.sum(wanted * plain, axis=rows), jnp.sum(wanted, axis=rows)


normalised.defvjp(_normalised_forward, _normalised_backward)
