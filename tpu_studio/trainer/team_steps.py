"""The training step over the devices of several machines: `step_jax`'s, with arrays that no single process holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from tpu_studio.trainer.feed import Batch
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Layout, ordered
from tpu_studio.trainer.step_jax import JaxSteps


class TeamSteps(JaxSteps):
    """Each worker has the whole batch and puts its devices' part of it there; state and results are on all of them."""

    def __init__(self, model: Any, recipe: Recipe, shape: Layout, *, devices: int) -> None:
        super().__init__(model, recipe, shape, devices=devices)
        everywhere = self._everywhere
        self._many = jax.jit(self._many.__wrapped__, donate_argnums=0, out_shardings=everywhere)
        self._evaluate = jax.jit(self._evaluate.__wrapped__, out_shardings=everywhere)

    def train(self, stack: Batch, rates: np.ndarray[Any, Any], first: int, count: int) -> Any:
        placed = _spread(stack, self._by_stacked_example)
        self._state, told = self._many(self._state, placed, rates, np.int32(first), np.int32(count))
        return told, count

    def evaluate(self, batch: Batch) -> Any:
        held = len(self._shape.weights) + len(self._shape.others)
        return self._evaluate(self._state[:held], _spread(batch, self._by_example))

    def restore(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        self._state = [
            _spread(np.array(value, copy=True), self._everywhere) for value in ordered(self._shape, arrays, self._like)
        ]


def _spread(tree: Any, sharding: Any) -> Any:
    def one(array: Any) -> Any:
        whole = np.asarray(array)
        return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])

    return jax.tree.map(one, tree)
