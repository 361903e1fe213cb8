"""Run in the engine: TensorFlow's steps over two replicas beside those of one processor, and as a TPU's strategy.

Two logical processors under `MirroredStrategy` stand for chips. `TPUStrategy` itself cannot be run without a TPU, but
made for one that is described to it, it builds the graph of the very same steps: `as_on_a_tpu` tells of that.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.client import session
from tensorflow.python.tpu import tpu_system_metadata

from tpu_studio.trainer import recipe, state, step_tf
from tpu_studio.trainer.step_tf_replicas import ReplicatedForward, ReplicatedTfSteps, open_chips, over_processors

STEPS, BATCH, INPUTS = 5, 32, 16
numbers = np.random.default_rng(0)
X = numbers.normal(size=(STEPS, BATCH, INPUTS)).astype(np.float32)
CLASSES = numbers.integers(0, 4, (STEPS, BATCH)).astype(np.int32)
LABELS = numbers.integers(0, 2, (STEPS, BATCH, 4)).astype(np.float32)
WEIGHT = np.r_[np.ones(BATCH - 3), np.zeros(3)].astype(np.float32)  # the last ones pad
RATES = np.full(STEPS, 1e-2, np.float32)
TASKS = {"classification": (CLASSES, 4), "regression": (X[:, :, :1], 1), "multi-label": (LABELS, 4)}


def built(outputs: int, *, normalised: bool = False) -> Any:
    keras.utils.clear_session()
    keras.utils.set_random_seed(1)
    x = inputs = keras.Input((INPUTS,))
    x = keras.layers.Dense(32, activation="gelu")(x)
    if normalised:
        x = keras.layers.Dropout(0.1)(keras.layers.BatchNormalization()(x))
    return keras.Model(inputs, keras.layers.Dense(outputs)(x))


def steps_of(task: str, replicas: int, parts: int) -> step_tf.TfState:
    model, constants = built(TASKS[task][1]), recipe.Recipe(task, accumulate=parts)
    shape = state.layout(model, constants)
    if replicas == 1:
        return step_tf.TfSteps(model, constants, shape, compiled=True)
    return ReplicatedTfSteps(model, constants, shape, over_processors(replicas))


def told(task: str, replicas: int, parts: int = 1) -> dict[str, Any]:
    steps, stack = steps_of(task, replicas, parts), {"x": X, "y": TASKS[task][0]}
    begun = steps.snapshot()
    loss = steps.fetch(steps.train(stack, RATES, 0, STEPS))["loss"]
    seen = steps.fetch_evaluation(steps.evaluate({"x": X[0], "y": stack["y"][0], "weight": WEIGHT}))
    ended = steps.snapshot()
    steps.restore(begun)
    again = [*steps.fetch(steps.train(stack, RATES, 0, 2))["loss"]]
    steps.restore(steps.snapshot())
    rest = {name: np.concatenate([array[2:], array[:2]]) for name, array in stack.items()}
    again += [*steps.fetch(steps.train(rest, RATES, 2, STEPS - 2))["loss"]]
    same = all(np.array_equal(array, ended[name]) for name, array in steps.snapshot().items())
    return {
        "loss": loss.tolist(),
        "unseen": {name: np.ravel(value).tolist() for name, value in seen.items()},
        "resumed": same and [float(one) for one in again] == loss.tolist(),
        "state": [float(np.linalg.norm(array)) for array in ended.values()],
        "compiles": steps.compiles,
    }


def forward() -> float:
    """How far a model over three replicas, whose share of 32 examples does not come out even, is from itself."""
    model = built(4, normalised=True)
    given = ReplicatedForward(model, over_processors(3))(X[0])
    return float(np.abs(np.asarray(given) - np.asarray(model(X[0], training=False))).max())


class Described(tf.distribute.cluster_resolver.TPUClusterResolver):  # type: ignore[misc]
    """A TPU of two chips that is not there."""

    def get_tpu_system_metadata(self) -> Any:
        kinds = [("CPU", 1), ("TPU_SYSTEM", 1), ("TPU", 2)]
        devices = [
            session._DeviceAttributes(f"/job:localhost/replica:0/task:0/device:{kind}:{number}", kind, 1 << 30, number)
            for kind, count in kinds
            for number in range(count)
        ]
        return tpu_system_metadata.TPUSystemMetadata(2, 1, 2, None, devices)


def as_on_a_tpu() -> dict[str, Any]:
    """What operations `TPUStrategy` makes of several steps and of an evaluation: counts by type, by graph."""
    strategy = tf.distribute.TPUStrategy(Described(tpu="local"))
    model, constants = built(4, normalised=True), recipe.Recipe("classification", accumulate=2)
    shape = state.layout(model, constants)
    begun = state.initial(model, shape)
    kept, step_tf.initial = step_tf.initial, lambda *_: begun  # a graph cannot read a model's numbers
    with tf.Graph().as_default() as graph:
        steps = ReplicatedTfSteps(model, constants, shape, strategy)
        y = tf.zeros((STEPS, BATCH), tf.int32)
        steps._train({"x": tf.zeros(X.shape), "y": y}, tf.zeros(STEPS), tf.constant(0), tf.constant(STEPS))
        before = _counted(graph)
        steps._evaluate({"x": tf.zeros((BATCH, INPUTS)), "y": y[0], "weight": tf.ones(BATCH)})
    step_tf.initial = kept
    return {"train": before, "evaluate": _counted(graph) - before, "tensors": len(begun)}


def _counted(graph: Any) -> Counter[str]:
    functions = graph.as_graph_def().library.function
    replicas = Counter(
        f"{node.attr['num_replicas'].i} replicas"
        for one in functions
        for node in one.node_def
        if node.op == "TPUReplicateMetadata"
    )
    loops = Counter(
        "step in a loop"
        for one in functions
        if one.signature.name.startswith("while_body")
        for node in one.node_def
        if node.op == "TPUReplicateMetadata"
    )
    return Counter(node.op for one in functions for node in one.node_def) + replicas + loops


def opened() -> str:
    """Google's recipe to its end, where there is no TPU; which refusal comes of it."""
    try:
        open_chips()
    except (tf.errors.OpError, RuntimeError, ValueError) as error:
        return str(error)
    return ""


def main() -> None:
    processor = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 3)
    found: dict[str, Any] = {
        f"{task}, {parts} parts": {str(count): told(task, count, parts) for count in (1, 2)}
        for task, parts in (("classification", 1), ("classification", 4), ("regression", 1), ("multi-label", 1))
    }
    assert math.isfinite(found["regression, 1 parts"]["2"]["loss"][-1])
    print(json.dumps({"steps": found, "forward": forward(), "tpu": as_on_a_tpu(), "opened": opened()}))


main()
