"""Run in the engine with JAX: depthwise convolutions as Keras has them, and as they run where nothing is derived."""

from __future__ import annotations

import functools
import json

import jax
import keras
import numpy as np

from tpu_studio.trainer.frameworks import running, without_tensorflow
from tpu_studio.trainer.models import quick

CASES = {
    "3 at 1": ((13, 12, 5), {"kernel_size": 3, "strides": 1}),
    "3 at 2, even": ((12, 16, 4), {"kernel_size": 3, "strides": 2}),
    "3 at 2, odd": ((13, 7, 4), {"kernel_size": 3, "strides": 2}),
    "5 at 2": ((14, 14, 3), {"kernel_size": 5, "strides": 2}),
    "5 on less than 5": ((2, 3, 3), {"kernel_size": 5, "strides": 1}),
    "4 by 2 at 3": ((17, 9, 2), {"kernel_size": (4, 2), "strides": 3}),
    "kept: valid": ((9, 9, 2), {"kernel_size": 3, "padding": "valid"}),
    "kept: two a channel": ((9, 9, 2), {"kernel_size": 3, "depth_multiplier": 2}),
    "kept: with gaps": ((9, 9, 2), {"kernel_size": 3, "dilation_rate": 2}),
    "kept: with an offset": ((9, 9, 2), {"kernel_size": 3, "use_bias": True}),
}


def main() -> None:
    found = {}
    for name, (shape, options) in CASES.items():
        inputs = keras.Input(shape)
        layer = keras.layers.DepthwiseConv2D(**{"padding": "same", "use_bias": False, **options})
        model = keras.Model(inputs, layer(inputs))
        x = np.random.default_rng(1).standard_normal((3, *shape)).astype("float32")
        weights = [variable.value for variable in model.trainable_variables]

        def of(weights, x, model=model):  # type: ignore[no-untyped-def]
            return model.stateless_call(weights, [], x)[0]

        before, config = jax.jit(of)(weights, x), model.to_json()
        with quick.forward(model):
            after, inside = jax.jit(functools.partial(of))(weights, x), convolutions(of, weights, x)  # traced anew
        found[name] = {
            "far": float(abs(before - after).max() / abs(before).max()),
            "convolutions": inside,
            "afterwards": convolutions(of, weights, x),
            "compiled": float(abs(running().compiled(model)(x) - before).max() / abs(before).max()),
            "same_file": model.to_json() == config,
        }
    print(json.dumps(found))


def convolutions(of, weights, x) -> int:  # type: ignore[no-untyped-def]
    return str(jax.make_jaxpr(lambda *given: of(*given))(weights, x)).count("conv_general_dilated")


with without_tensorflow():
    main()
