"""The training step over the devices of several machines: `step_jax`'s, with arrays that no single process holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import numpy.typing as npt

from tpu_studio.data.opened import Share
from tpu_studio.trainer.feed import Batch
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Arrays, Layout, ordered
from tpu_studio.trainer.step_jax import JaxSteps


class TeamSteps(JaxSteps):
    """Each worker hands over the examples of its own devices; state and results are on all of them."""

    def __init__(self, model: object, recipe: Recipe, shape: Layout, *, devices: int, sharded: bool = False) -> None:
        super().__init__(model, recipe, shape, devices=devices, sharded=sharded)
        everywhere = self._everywhere
        self._many = jax.jit(self._many.__wrapped__, donate_argnums=0, out_shardings=(self._where, everywhere))
        self._gathered = jax.jit(lambda value: value, out_shardings=everywhere)
        self._evaluate = jax.jit(self._evaluate.__wrapped__, out_shardings=everywhere)

    def train(self, stack: Batch, rates: npt.NDArray[np.generic], first: int, count: int) -> Any:
        placed = jax.make_array_from_process_local_data(self._by_stacked_example, stack)
        self._state, told = self._many(self._state, placed, rates, np.int32(first), np.int32(count))
        return told, count

    def evaluate(self, batch: Batch) -> Any:
        held = len(self._shape.weights) + len(self._shape.others)
        return self._evaluate(self._state[:held], jax.make_array_from_process_local_data(self._by_example, batch))

    def share(self, batch: int) -> Share:
        """The places of this process's devices in a batch, in the order in which JAX takes them."""
        cuts = self._by_example.addressable_devices_indices_map((batch,)).values()
        bounds = sorted({cut.indices(batch)[:2] for (cut,) in cuts})
        return Share(np.concatenate([np.arange(*each) for each in bounds]), batch)

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        values, before = ordered(self._shape, arrays, self._like), self._state or [None] * len(self._where)
        self._state = [
            kept if value is None else _placed(np.array(value, copy=True), where)
            for value, kept, where in zip(values, before, self._where, strict=True)
        ]

    def snapshot(self) -> Arrays:
        """As everywhere else, on every worker; of state that is cut, one tensor after the other is gathered for it:
        all workers ask at the same step."""
        if not self._sharded:
            return super().snapshot()
        named = zip(self._shape.names, self._state, self._shape.saved, strict=True)
        return {name: np.array(self._gathered(value), copy=True) for name, value, saved in named if saved}


def _placed(whole: npt.NDArray[np.generic], sharding: object) -> object:
    return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])
