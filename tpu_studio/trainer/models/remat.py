"""Recompute instead of remember: a block's inside is thrown away and worked out again in the backward pass.

Keras 3.15's own ``RematScope`` fails on a block that takes ``training`` (JAX makes a tracer of the flag, TensorFlow
refuses keyword arguments), so the block's call is wrapped here, on the instance: the saved file knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import keras

from tpu_studio.trainer.frameworks import running


def rematerialize(block: keras.Model) -> keras.Model:
    """*block*, which will keep only its inputs and its weights for the backward pass; no change when not training."""
    original = block.call

    def call(inputs: Sequence[object], training: bool | None = None, mask: object = None) -> object:
        if not training:
            return original(inputs, training=training)
        weights, others = block.trainable_variables, block.non_trainable_variables
        held = [variable.value for variable in others]

        def run(*tensors: object) -> tuple[object, list[object]]:
            mapping = [*zip(weights, tensors[: len(weights)], strict=True), *zip(others, held, strict=True)]
            with keras.StatelessScope(state_mapping=mapping) as scope:
                outputs = original(list(tensors[len(weights) :]), training=True)
            return outputs, [scope.get_current_value(variable) for variable in others]

        tensors = [*(variable.value for variable in weights), *inputs]
        if others:  # the next random state, worked out apart: it must not leave the recomputed part, and costs nothing
            for variable, value in zip(others, run(*tensors)[1], strict=True):
                variable.assign(value)
        return running().recomputed(lambda *given: run(*given)[0])(*tensors)

    block.call = call
    return block
