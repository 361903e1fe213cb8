"""Run in the engine with 8 processors that stand for chips: what the compiler says of a step that is cut into parts.

Prints FLOPs (of one part: a loop's inside is counted once), temporary bytes of a device, and what the steps gave.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import keras
import numpy as np

from tpu_studio.trainer import recipe, state
from tpu_studio.trainer.step_jax import JaxSteps

BATCH, INPUTS, WIDTH, STEPS = 2048, 32, 64, 3


def made(parts: int, devices: int) -> JaxSteps:
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    x = inputs = keras.Input((INPUTS,))
    for _ in range(4):
        x = keras.layers.Dense(WIDTH, activation="gelu")(x)
    model = keras.Model(inputs, keras.layers.Dense(10)(x))
    constants = recipe.Recipe("classification", accumulate=parts)
    return JaxSteps(model, constants, state.layout(model, constants), devices=devices)


def told(parts: int, devices: int) -> dict[str, Any]:
    steps = made(parts, devices)
    numbers = np.random.default_rng(0)
    stack = {
        "x": numbers.normal(size=(STEPS, BATCH, INPUTS)).astype(np.float32),
        "y": numbers.integers(0, 10, (STEPS, BATCH)).astype(np.int32),
    }
    rates = np.full(STEPS, 1e-2, np.float32)
    placed = steps._placed(stack, steps._by_stacked_example)
    compiled = steps._many.lower(steps._state, placed, jnp.array(rates), np.int32(0), np.int32(STEPS)).compile()
    begin = steps.snapshot()
    loss = steps.fetch(steps.train(stack, rates, 0, STEPS))["loss"]
    ended = steps.snapshot()
    return {
        "flops": compiled.cost_analysis()["flops"],
        "temporary_bytes": compiled.memory_analysis().temp_size_in_bytes,
        "loss": [float(value) for value in loss],
        "same_when_resumed": same(ended, resumed(steps, begin, stack, rates)),
    }


def resumed(steps: JaxSteps, begin: state.Arrays, stack: dict[str, Any], rates: Any) -> state.Arrays:
    """The state after the same steps, with a copy written and read again after the first."""
    steps.restore(begin)
    steps.fetch(steps.train(stack, rates, 0, 1))
    steps.restore(steps.snapshot())
    rest = {name: np.concatenate([array[1:], array[:1]]) for name, array in stack.items()}
    steps.fetch(steps.train(rest, rates, 1, STEPS - 1))
    return steps.snapshot()


def same(one: state.Arrays, other: state.Arrays) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)


asked = [(1, 1), (1, 8), (4, 1), (4, 8)]
assert len(jax.devices()) == 8
json.dump({f"{parts} parts, {devices} chips": told(parts, devices) for parts, devices in asked}, sys.stdout)
print()
