"""The training step in JAX: many steps in one compiled call, the state donated, the batch cut over the devices.

Made by `steps.make`; `maths` has the formulas. The loop takes the number of steps as a value, so calls of any length
share one compilation, and a step's arithmetic does not depend on how calls were cut: that is what makes a resumed run
bit-identical.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tpu_studio.data.opened import Share
from tpu_studio.trainer import maths
from tpu_studio.trainer.models import attention, scoring, splash
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Arrays, Layout, give_up_values, initial, ordered
from tpu_studio.trainer.varying import varied

Batch = dict[str, Any]
LEAST = 8  # rows that each device holds of a tensor that is cut


class JaxFormulas:
    """The functions of a step, as they are compiled; no state and no device. Also what `check` compiles for a TPU."""

    def __init__(self, model: Any, recipe: Recipe, shape: Layout, kernel: attention.Kernel | None = None) -> None:
        """*kernel*: attends in place of what the model has written down."""
        self._model, self._recipe, self._shape, self._kernel = model, recipe, shape, kernel

    def run_many(
        self, state: list[Any], stack: Batch, rates: Any, first: Any, count: Any
    ) -> tuple[list[Any], dict[str, Any]]:
        length = rates.shape[0]
        told = {name: jnp.zeros((length,), jnp.float32) for name in maths.told_names(self._recipe)}

        def body(carry: Any) -> Any:
            at, state, told = carry
            batch = {name: _at(value, at) for name, value in stack.items()}
            state, values = self._one(state, batch, rates[at], (first + at + 1).astype(jnp.float32))
            told = {name: told[name].at[at].set(values[name]) for name in told}
            return at + 1, state, told

        _, state, told = jax.lax.while_loop(lambda carry: carry[0] < count, body, (jnp.int32(0), state, told))
        return state, told

    def _one(
        self, state: list[object], batch: Batch, rate: object, step: object
    ) -> tuple[list[object], dict[str, object]]:
        weights, others, slots = self._shape.split(state)
        (loss, (others, total, right)), gradients = self._gradients(weights, others, batch)
        decays = self._shape.decays
        weights, slots, norm = maths.update(self._recipe, decays, weights, gradients, total, slots, rate, step)
        return Layout.join(weights, others, slots), maths.step_metrics(self._recipe, loss, total, right, norm)

    def _gradients(self, weights: list[Any], others: list[Any], batch: Batch) -> Any:
        differentiate = jax.value_and_grad(self._summed_loss, has_aux=True)
        parts = self._recipe.accumulate
        if parts == 1:
            return differentiate(weights, others, batch)
        cut = jax.tree.map(lambda array: _interleaved(array, parts), batch)

        def add(carry: Any, part: Batch) -> Any:
            sums, others = carry
            (loss, (others, total, right)), gradients = differentiate(weights, others, part)
            return (jax.tree.map(jnp.add, sums, (loss, total, right, gradients)), others), None

        zero = jnp.zeros(())
        begin = ((zero, zero, zero, [jnp.zeros_like(weight) for weight in weights]), others)
        ((loss, total, right, gradients), others), _ = jax.lax.scan(add, begin, cut)
        return (loss, (others, total, right)), gradients

    def _summed_loss(self, weights: list[Any], others: list[Any], batch: Batch) -> Any:
        x = varied(batch, picked)
        with attention.by(self._kernel), scoring.held_back(self._recipe.scored_at_once > 0) as held:
            outputs, others, extra = self._model.stateless_call(weights, others, x, training=True, return_losses=True)
        if held:
            counts = self._recipe.learns.has_classes
            loss, total, right = self._loss_of(held, outputs, batch, self._recipe.label_smoothing, counts=counts)
        else:
            loss, total, right = maths.loss_terms(
                self._recipe, outputs, batch["y"], batch.get("weight"), training=True, mix=batch.get("mix")
            )
        for penalty in extra:  # regularisers of a person's own layers count once per step, whatever the batch
            loss = loss + penalty.astype(jnp.float32) * total
        return loss, (others, total, right)

    def _loss_of(
        self, held: list[scoring.Unscored], outputs: Any, batch: Batch, smoothing: float, *, counts: bool
    ) -> tuple[Any, Any, Any]:
        """As `maths.loss_terms`, of scores that were not made. *outputs*: of their shape."""
        (unscored,) = held
        assert self._kernel is not None  # which holds scores back
        how = scoring.Scores(self._recipe.scored_at_once, outputs.shape[-1], smoothing, counts, self._kernel.mesh)
        y, weight = batch["y"], jnp.asarray(batch.get("weight", 1.0), jnp.float32)
        weight = jnp.broadcast_to(weight.reshape(weight.shape + (1,) * (y.ndim - weight.ndim)), y.shape).reshape(-1)
        loss, right = how.summed(unscored, y.reshape(-1), weight)
        return loss, jnp.sum(weight), right

    def run_evaluate(self, state: list[object], batch: Batch) -> dict[str, object]:
        weights, others = state[: len(self._shape.weights)], state[len(self._shape.weights) :]
        with attention.by(self._kernel), scoring.held_back(self._recipe.scored_at_once > 0) as held:
            outputs, _ = self._model.stateless_call(weights, others, batch["x"], training=False)
        if held:
            loss, total, right = self._loss_of(held, outputs, batch, 0.0, counts=True)
            return {"loss": loss, "total": total, "right": right}
        return maths.evaluation(self._recipe, outputs, batch)


def state_shardings(mesh: Mesh, shapes: Sequence[tuple[int, ...]], *, sharded: bool) -> list[NamedSharding]:
    """Where each tensor of the state lies: whole on every device, or *sharded*, cut along its longest axis that the
    devices divide (Rajbhandari et al. 2020, ZeRO, stage 3). Small ones stay whole: they would be gathered for nothing.
    """
    found = []
    for shape in shapes:
        cut = [side if sharded and side % mesh.size == 0 and side >= LEAST * mesh.size else 0 for side in shape]
        axis = cut.index(max(cut)) if any(cut) else -1
        found.append(NamedSharding(mesh, PartitionSpec(*[None] * axis, *["batch"][: axis + 1])))
    return found


class JaxSteps(JaxFormulas):
    """State on the devices and the compiled functions that move it; all methods are for one thread.

    The model's own variables have no values from here on. *sharded*: each device holds its share of the state.
    """

    def __init__(
        self,
        model: Any,
        recipe: Recipe,
        shape: Layout,
        *,
        devices: int,
        sharded: bool = False,
        kernel: Callable[[Mesh], attention.Kernel | None] = splash.over,
    ) -> None:
        mesh = Mesh(np.array(jax.devices()[:devices]), ("batch",))
        super().__init__(model, recipe, shape, kernel(mesh))
        self._everywhere = NamedSharding(mesh, PartitionSpec())
        self._by_example = NamedSharding(mesh, PartitionSpec("batch"))
        self._by_stacked_example = NamedSharding(mesh, PartitionSpec(None, "batch"))
        self._alone = devices == 1
        begin = initial(model, shape)
        give_up_values(model)
        self._like = {name: jax.ShapeDtypeStruct(value.shape, value.dtype) for name, value in begin.items()}
        shapes = [one.shape for one in self._like.values()]
        self._where = state_shardings(mesh, shapes, sharded=sharded)
        self._sharded = sharded
        self._state: list[Any] = []
        self.restore(begin)
        stays = {"out_shardings": (self._where, self._everywhere)} if sharded else {}
        self._many = jax.jit(self.run_many, donate_argnums=0, **stays)
        self._evaluate = jax.jit(self.run_evaluate)

    def train(self, stack: Batch, rates: npt.NDArray[np.generic], first: int, count: int) -> Any:
        """Begin *count* steps, numbered from *first* + 1, on a stack [k, B, …]; returns what `fetch` takes."""
        placed = self._placed(stack, self._by_stacked_example)
        self._state, told = self._many(self._state, placed, rates, np.int32(first), np.int32(count))
        return told, count

    def share(self, batch: int) -> Share | None:
        """What of a batch of so many examples this process hands over; None: all of it."""
        return None

    def _placed(self, tree: object, sharding: NamedSharding) -> object:
        """*tree* over the devices. One device takes numpy's arrays as they are: 0.5 ms a call less of Python."""
        return tree if self._alone else jax.device_put(tree, sharding)

    def fetch(self, handle: Any) -> Arrays:
        """Wait for the steps of *handle*; arrays [count] of loss, grad_norm and, for classification, accuracy."""
        told, count = handle
        return {name: np.asarray(values)[:count] for name, values in told.items()}

    def evaluate(self, batch: Batch) -> Any:
        held = len(self._shape.weights) + len(self._shape.others)
        return self._evaluate(self._state[:held], self._placed(batch, self._by_example))

    def fetch_evaluation(self, handle: Any) -> Arrays:
        return {name: np.asarray(value) for name, value in handle.items()}

    def snapshot(self) -> Arrays:
        """A copy of the whole state in this process's memory; waits for the steps under way."""
        for value in itertools.compress(self._state, self._shape.saved):
            value.copy_to_host_async()  # all are on their way before the first is waited for
        named = zip(self._shape.names, self._state, self._shape.saved, strict=True)
        return {name: np.array(value, copy=True) for name, value, saved in named if saved}

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        # May-alias is off: the state is donated, and memory that numpy owns must not be overwritten.
        values, before = ordered(self._shape, arrays, self._like), self._state or [None] * len(self._where)
        self._state = [
            kept if value is None else self._placed(jnp.array(value, copy=True), where)
            for value, kept, where in zip(values, before, self._where, strict=True)
        ]

    @property
    def compiles(self) -> int:
        return int(self._many._cache_size() + self._evaluate._cache_size())


def picked(x_BxHxWxC: object, rows_BxH: object, columns_BxW: object) -> object:
    """Pixels in these rows and columns of each picture. The same on a TPU, which multiplies faster than it gathers."""
    return jax.lax.platform_dependent(x_BxHxWxC, rows_BxH, columns_BxW, tpu=by_product, default=by_gather)


def by_gather(x_BxHxWxC: object, rows_BxH: object, columns_BxW: object) -> object:
    def one(x_HxWxC: Any, rows: Any, columns: Any) -> Any:
        of_rows = x_HxWxC.at[rows].get(mode="promise_in_bounds")
        return of_rows.at[:, columns].get(mode="promise_in_bounds")

    return jax.vmap(one)(x_BxHxWxC, rows_BxH, columns_BxW)


def by_product(x_BxHxWxC: Any, rows_BxH: Any, columns_BxW: Any) -> Any:
    """With matrices of one 1 a row: exact, for bfloat16 holds every whole number up to 256."""
    height, width = x_BxHxWxC.shape[1:3]
    from_row = jax.nn.one_hot(rows_BxH, height, dtype=jnp.bfloat16)
    from_column = jax.nn.one_hot(columns_BxW, width, dtype=jnp.bfloat16)
    x = jnp.einsum("bhi,biwc->bhwc", from_row, x_BxHxWxC.astype(jnp.bfloat16))
    return jnp.einsum("bwj,bhjc->bhwc", from_column, x).astype(x_BxHxWxC.dtype)


def _interleaved(array_Bx: Any, parts: int) -> Any:
    """[B, …] → [parts, B/parts, …]: every *parts*-th example, so that each part lies on all the devices that B is on.

    Cut into pieces in a row, a part would lie on a share of the devices, and XLA would have all of them work it out.
    """
    return array_Bx.reshape((array_Bx.shape[0] // parts, parts, *array_Bx.shape[1:])).swapaxes(0, 1)


def _at(value: object, at: object) -> object:
    return jax.tree.map(lambda a: jax.lax.dynamic_index_in_dim(a, at, keepdims=False), value)
