"""The training step in TensorFlow, with the state in variables of our own; same interface as `step_jax`.

Two ways to run the same formulas on one processor: `compiled`, XLA and many steps a call (its loop takes the number of
steps as a value, so calls of any length share one compilation); `plain`, a graph of one step without XLA, for
convolutions, which oneDNN runs three times faster. On a TPU and on several devices: ``step_tf_replicas``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tpu_studio.data.opened import Share
from tpu_studio.trainer import maths
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Arrays, Layout, initial, ordered
from tpu_studio.trainer.varying import varied

Batch = dict[str, Any]


class TfFormulas:
    """The functions of a step, as they are compiled; no state and no device. Also what `check` lowers for a TPU."""

    def __init__(self, model: Any, recipe: Recipe, shape: Layout) -> None:
        self._model, self._recipe, self._shape = model, recipe, shape
        self._vary: Callable[[Batch], Any] = lambda batch: varied(batch, picked)

    def run_many(
        self, state: list[Any], stack: Batch, rates: Any, first: Any, count: Any
    ) -> tuple[list[Any], dict[str, Any]]:
        names = maths.told_names(self._recipe)
        length = rates.shape[0]
        told = [tf.zeros((length,), tf.float32) for _ in names]
        places = tf.range(length)

        def body(at: Any, state: list[Any], told: list[Any]) -> Any:
            batch = tf.nest.map_structure(lambda a: a[at], stack)
            state, values = self._one(state, batch, rates[at], tf.cast(first + at + 1, tf.float32))
            told = [tf.where(places == at, values[name], old) for name, old in zip(names, told, strict=True)]
            return at + 1, state, told

        _, state, told = tf.while_loop(lambda at, state, told: at < count, body, (tf.constant(0), state, told))
        return state, dict(zip(names, told, strict=True))

    def run_evaluate(self, state: list[object], batch: Batch) -> dict[str, object]:
        weights, others = state[: len(self._shape.weights)], state[len(self._shape.weights) :]
        outputs, _ = self._model.stateless_call(weights, others, batch["x"], training=False)
        return maths.evaluation(self._recipe, outputs, batch)

    def _one(
        self, state: list[Any], batch: Batch, rate: Any, step: Any, over_replicas: Any = None, replicas: int = 1
    ) -> tuple[list[Any], dict[str, Any]]:
        weights, others, slots = self._shape.split(state)
        (loss, total, right, gradients), others = self._gradients(weights, others, batch)
        if over_replicas is not None:
            floats = [other for other in others if other.dtype.is_floating]
            loss, total, right, gradients, floats = over_replicas([loss, total, right, gradients, floats])
            averaged = iter(floats)  # batch statistics: the mean over the replicas, each of which saw its own share
            others = [next(averaged) / replicas if other.dtype.is_floating else other for other in others]
        decays = self._shape.decays
        weights, slots, norm = maths.update(self._recipe, decays, weights, gradients, total, slots, rate, step)
        return Layout.join(weights, others, slots), maths.step_metrics(self._recipe, loss, total, right, norm)

    def _gradients(self, weights: list[Any], others: list[Any], batch: Batch) -> Any:
        parts = self._recipe.accumulate
        if parts == 1:
            return self._differentiate(weights, others, batch)
        cut = tf.nest.map_structure(lambda a: tf.reshape(a, (parts, a.shape[0] // parts, *a.shape[1:])), batch)
        zero = tf.zeros(())
        sums: Any = [zero, zero, zero, [tf.zeros_like(weight) for weight in weights]]

        def add(at: Any, sums: Any, others: list[Any]) -> Any:
            new, others = self._differentiate(weights, others, tf.nest.map_structure(lambda a: a[at], cut))
            return at + 1, tf.nest.map_structure(tf.add, sums, list(new)), others

        _, sums, others = tf.while_loop(lambda at, sums, others: at < parts, add, (tf.constant(0), sums, others))
        return tuple(sums), others

    def _differentiate(self, weights: list[Any], others: list[Any], batch: Batch) -> Any:
        x = self._vary(batch)
        with tf.GradientTape() as tape:
            tape.watch(weights)
            outputs, others, extra = self._model.stateless_call(weights, others, x, training=True, return_losses=True)
            loss, total, right = maths.loss_terms(
                self._recipe, outputs, batch["y"], batch.get("weight"), training=True, mix=batch.get("mix")
            )
            for penalty in extra:  # regularisers of a person's own layers count once per step, whatever the batch
                loss = loss + tf.cast(penalty, tf.float32) * total
        gradients = tape.gradient(loss, weights, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return (loss, total, right, [tf.convert_to_tensor(gradient) for gradient in gradients]), list(others)


class TfState(TfFormulas):
    """State in variables, and what is asked of it; all methods are for one thread. Who derives from it gives `_train`
    and `_evaluate`, which are ``tf.function`` of tensors."""

    _train: Any
    _evaluate: Any

    def __init__(self, model: Any, recipe: Recipe, shape: Layout) -> None:
        super().__init__(model, recipe, shape)
        self._like = initial(model, shape)
        self._variables = self._make_variables()

    def train(self, stack: Batch, rates: npt.NDArray[np.generic], first: int, count: int) -> Any:
        """Run *count* steps, numbered from *first* + 1, on a stack [k, B, …]; returns what `fetch` takes."""
        told = self._train(
            _tensors(stack), tf.constant(rates), tf.constant(first, tf.int32), tf.constant(count, tf.int32)
        )
        return told, count

    def fetch(self, handle: Any) -> Arrays:
        """Arrays [count] of loss, grad_norm and, for classification, accuracy."""
        told, count = handle
        return {name: np.atleast_1d(values.numpy())[:count] for name, values in told.items()}

    def share(self, batch: int) -> Share | None:
        """What of a batch of so many examples this process hands over: all of it, as it is the only one."""
        return None

    def evaluate(self, batch: Batch) -> Any:
        return self._evaluate(_tensors(batch))

    def fetch_evaluation(self, handle: Any) -> Arrays:
        return {name: value.numpy() for name, value in handle.items()}

    def snapshot(self) -> Arrays:
        """A copy of the whole state as numpy arrays."""
        return {
            name: np.array(self._copies(variable)[0].numpy(), copy=True)
            for name, variable, saved in zip(self._shape.names, self._variables, self._shape.saved, strict=True)
            if saved
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[np.generic]]) -> None:
        for variable, value in zip(self._variables, ordered(self._shape, arrays, self._like), strict=True):
            if value is not None:
                for copy in self._copies(variable):
                    with tf.device(copy.device):
                        copy.assign(value)

    @property
    def compiles(self) -> int:
        return int(self._train.experimental_get_tracing_count() + self._evaluate.experimental_get_tracing_count())

    def _copies(self, variable: Any) -> tuple[Any, ...]:
        """Those of each device."""
        return (variable,)

    def _make_variables(self) -> list[Any]:
        return [tf.Variable(value, trainable=False) for value in ordered(self._shape, self._like, self._like)]


class TfSteps(TfState):
    """On one processor."""

    def __init__(self, model: Any, recipe: Recipe, shape: Layout, *, compiled: bool) -> None:
        super().__init__(model, recipe, shape)
        if compiled:
            self._train = tf.function(self._run_many, jit_compile=True, autograph=False)
        else:
            self._train = tf.function(self._run_stack_of_one, autograph=False)
            self._vary = tf.function(self._vary, autograph=False, jit_compile=True)  # without: nine times as long
        self._evaluate = tf.function(self._run_evaluate, autograph=False, jit_compile=compiled)

    def _run_many(self, stack: Batch, rates: object, first: object, count: object) -> dict[str, object]:
        state = [variable.read_value() for variable in self._variables]
        state, told = self.run_many(state, stack, rates, first, count)
        for variable, value in zip(self._variables, state, strict=True):
            variable.assign(value, read_value=False)
        return told

    def _run_stack_of_one(self, stack: Batch, rates: Any, first: Any, count: Any) -> dict[str, Any]:
        del count  # always 1
        batch = tf.nest.map_structure(lambda a: a[0], stack)
        state = [variable.read_value() for variable in self._variables]
        state, told = self._one(state, batch, rates[0], tf.cast(first + 1, tf.float32))
        for variable, value in zip(self._variables, state, strict=True):
            variable.assign(value, read_value=False)
        return told

    def _run_evaluate(self, batch: Batch) -> dict[str, Any]:
        held = len(self._shape.weights) + len(self._shape.others)
        return self.run_evaluate([variable.read_value() for variable in self._variables[:held]], batch)


def picked(x_BxHxWxC: object, rows_BxH: object, columns_BxW: object) -> object:
    """Pixels in these rows and columns of each picture."""
    return tf.gather(tf.gather(x_BxHxWxC, rows_BxH, axis=1, batch_dims=1), columns_BxW, axis=2, batch_dims=1)


def _tensors(batch: Batch) -> Any:
    return tf.nest.map_structure(tf.constant, batch)
