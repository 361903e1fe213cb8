"""Layer normalisation in JAX on a processor, with a gradient that goes over the numbers less often.

Keras takes mean and variance apart, and JAX differentiates both: a tenth of gpt-nano's step was normalisation
(docs/training.md). The model keeps Keras's layers, and so does its file: only how the layers of this
process are called is changed.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from keras import layers

Tensor = Any


def quicken(model: Any) -> None:
    """Have the layers of *model*, at any depth, that normalise over their last axis call `normalised`."""
    for layer in model._flatten_layers():
        if type(layer) is layers.LayerNormalization and layer.scale and layer.center and not layer.rms_scaling:
            layer.call = functools.partial(_called, layer, layer.call)


def _called(layer: Any, kept: Any, inputs: Tensor) -> Tensor:
    axes = layer.axis if isinstance(layer.axis, (list, tuple)) else [layer.axis]
    if list(axes) not in ([-1], [inputs.ndim - 1]) or inputs.dtype == jnp.float64:
        return kept(inputs)
    scale, shift = (jnp.asarray(one.value, jnp.float32) for one in (layer.gamma, layer.beta))
    return normalised(jnp.asarray(inputs, jnp.float32), scale, shift, layer.epsilon).astype(layer.compute_dtype)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def normalised(x: Tensor, scale: Tensor, shift: Tensor, epsilon: float) -> Tensor:
    """Ba et al. 2016, equation 4, over the last axis. x: […, W]; scale, shift: W; all float32."""
    return _forward(x, scale, shift, epsilon)[0]


def _forward(x: Tensor, scale: Tensor, shift: Tensor, epsilon: float) -> tuple[Tensor, tuple[Tensor, ...]]:
    mean = jnp.mean(x, axis=-1, keepdims=True)
    size = jax.lax.rsqrt(jnp.mean(jnp.square(x - mean), axis=-1, keepdims=True) + epsilon)
    return (x - mean) * size * scale + shift, (x, mean, size, scale)


def _backward(epsilon: float, kept: tuple[Tensor, ...], wanted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x, mean, size, scale = kept
    plain = (x - mean) * size
    rows = tuple(range(x.ndim - 1))
    scaled = wanted * scale
    along = jnp.mean(scaled * plain, axis=-1, keepdims=True)
    back = size * (scaled - jnp.mean(scaled, axis=-1, keepdims=True) - plain * along)
    return back, jnp.sum(wanted * plain, axis=rows), jnp.sum(wanted, axis=rows)


normalised.defvjp(_forward, _backward)
