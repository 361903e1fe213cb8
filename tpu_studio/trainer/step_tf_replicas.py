"""The training step in TensorFlow on several devices, and on a TPU: a replica on each, by `tf.distribute`.

One way for both strategies: `TPUStrategy` where there is a TPU, `MirroredStrategy` over a computer's logical
processors, by which tests run this very code. It is what TensorFlow documents for a TPU (the guides "Use TPUs" and
"Custom training with tf.distribute.Strategy", the docstring of `tf.distribute.TPUStrategy`): open the system, make
the variables under the strategy, many calls of `strategy.run` in one `tf.function`, to each replica its share of the
batch.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from tpu_studio.trainer import maths
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Layout, ordered
from tpu_studio.trainer.step_tf import Batch, TfState

HOST = "/CPU:0"


def open_chips() -> None:
    """Open this machine's TPU, once a process; from then on what is not part of a replica is the processor's.

    Without that scope TensorFlow may give each single operation of the computer's, such as those that begin a model's
    weights, to a chip; `experimental_connect_to_cluster` enters one in the same way where the TPU is not local.

    Raises:
        tf.errors.OpError, RuntimeError, ValueError: There is none, or it does not open.
    """
    resolver = _resolver()
    tf.config.experimental_connect_to_cluster(resolver)  # nothing to do where it is local; the recipe has it
    tf.tpu.experimental.initialize_tpu_system(resolver)
    tf.device(HOST).__enter__()


@functools.cache
def over_chips() -> Any:
    """A replica on each device of the TPU that was opened: two a chip on v2 and v3, else one (see the catalogue)."""
    return tf.distribute.TPUStrategy(_resolver())


def _resolver() -> Any:
    return tf.distribute.cluster_resolver.TPUClusterResolver(tpu="local")


@functools.cache  # a second one of the same processors would count its sums from the beginning again, and be refused
def over_processors(count: int) -> Any:
    """A replica on each of *count* logical processors."""
    return tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(count)])


class Replicas:
    """A strategy, and what is handed to its replicas and taken from them."""

    def __init__(self, strategy: Any) -> None:
        self.strategy, self.count = strategy, int(strategy.num_replicas_in_sync)

    def variables(self, values: Iterable[object]) -> list[Any]:
        """Each replica has its own copy of each; whoever writes them writes the same in all."""
        with self.strategy.scope():
            return [
                tf.Variable(
                    value,
                    trainable=False,
                    synchronization=tf.VariableSynchronization.ON_READ,
                    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
                )
                for value in values
            ]

    def shares(self, batch: Any) -> Any:
        """Of arrays [B, …] each replica's B / replicas examples, in order; B is a multiple of the replicas."""
        share = tf.nest.flatten(batch)[0].shape[0] // self.count

        def mine(context: Any) -> Any:
            start = context.replica_id_in_sync_group * share
            return tf.nest.map_structure(lambda a: a[start : start + share], batch)

        return self.strategy.experimental_distribute_values_from_function(mine)

    def copies(self, value: Any) -> tuple[Any, ...]:
        """Those of all replicas, of a variable or of what `run` gave."""
        return tuple(self.strategy.experimental_local_results(value))


class ReplicatedTfSteps(TfState):
    """Each replica holds the whole state and takes an equal share of the batch; gradients are summed over all of them,
    so that all make the same update and stay equal.

    The batch of a step, in training and evaluation, is a multiple of the replicas.
    """

    def __init__(self, model: Any, recipe: Recipe, shape: Layout, strategy: Any) -> None:
        self._replicas = Replicas(strategy)
        super().__init__(model, recipe, shape)
        self._train = tf.function(self._run_steps, autograph=False)
        self._evaluate = tf.function(self._run_evaluate, autograph=False)

    def _copies(self, variable: Any) -> tuple[Any, ...]:
        return self._replicas.copies(variable)

    def _make_variables(self) -> list[Any]:
        return self._replicas.variables(ordered(self._shape, self._like, self._like))

    def _run_steps(self, stack: Batch, rates: Any, first: Any, count: Any) -> dict[str, Any]:
        """The loop is the computer's, and each trip of it a step of all replicas: that is how TensorFlow documents many
        steps a call, and under `MirroredStrategy` no sum over replicas may stand in a loop of theirs."""
        names, length = maths.told_names(self._recipe), rates.shape[0]
        places = tf.range(length)

        def body(at: Any, told: list[Any]) -> Any:
            batches = self._replicas.shares(tf.nest.map_structure(lambda a: a[at], stack))
            step = tf.cast(first + at + 1, tf.float32)
            values = self._replicas.strategy.run(self._one_replica, args=(batches, rates[at], step))
            told = [
                tf.where(places == at, self._replicas.copies(values[name])[0], old)
                for name, old in zip(names, told, strict=True)
            ]
            return at + 1, told

        begun = (tf.constant(0), [tf.zeros((length,), tf.float32) for _ in names])
        _, told = tf.while_loop(lambda at, told: at < count, body, begun, parallel_iterations=1)
        return dict(zip(names, told, strict=True))

    def _one_replica(self, batch: Batch, rate: object, step: object) -> dict[str, object]:
        context = tf.distribute.get_replica_context()
        state = [variable.read_value() for variable in self._variables]

        def summed(values: object) -> object:
            return context.all_reduce("SUM", values)

        state, told = self._one(state, batch, rate, step, summed, self._replicas.count)
        for variable, value in zip(self._variables, state, strict=True):
            variable.assign(value)
        return told

    def _run_evaluate(self, batch: Batch) -> dict[str, Any]:
        told = self._replicas.strategy.run(self._evaluate_replica, args=(self._replicas.shares(batch),))
        parts = {name: list(self._replicas.copies(value)) for name, value in told.items()}
        return {
            name: tf.concat(values, 0) if name in maths.OF_EACH_EXAMPLE else tf.add_n(values)
            for name, values in parts.items()
        }

    def _evaluate_replica(self, batch: Batch) -> dict[str, Any]:
        held = len(self._shape.weights) + len(self._shape.others)
        return self.run_evaluate([variable.read_value() for variable in self._variables[:held]], batch)


class ReplicatedForward:
    """The function of one array [B, …] that a model is when it does not train, each replica with its share of it.

    The model's own variables lie in the computer's memory, where no chip reads them: these are a copy.
    """

    def __init__(self, model: Any, strategy: Any) -> None:
        self._model, self._replicas = model, Replicas(strategy)
        weights = [np.array(variable) for variable in model.trainable_variables]
        others = [np.array(variable) for variable in model.non_trainable_variables]
        self._count, self._variables = len(weights), self._replicas.variables([*weights, *others])
        self._run = tf.function(self._run_replicated, autograph=False)

    def __call__(self, x: Any) -> object:
        left = -len(x) % self._replicas.count
        whole = np.concatenate([x, np.repeat(x[-1:], left, axis=0)]) if left else x
        return self._run(tf.constant(whole))[: len(x)]

    def _run_replicated(self, x: Any) -> object:
        return tf.concat(
            self._replicas.copies(self._replicas.strategy.run(self._forward, args=(self._replicas.shares(x),))), 0
        )

    def _forward(self, x: object) -> object:
        state = [variable.read_value() for variable in self._variables]
        return self._model.stateless_call(state[: self._count], state[self._count :], x, training=False)[0]
