"""TensorFlow: graphs, through XLA where that is faster."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_studio.trainer.frameworks import Devices, Example, Steps, Way
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Layout
from tpu_studio.wire import places
from tpu_studio.wire.plan import Plan


def begin_here(plan: Plan, devices: int) -> None:
    """Nothing: logical processors are made in the process (`devices`)."""


def devices(plan: Plan) -> Devices:
    import tensorflow as tf

    if not places.by_id(plan.place).on_this_computer:
        count = len(tf.config.list_logical_devices("TPU"))
        return Devices(count, count, "tpu")
    processor = tf.config.list_physical_devices("CPU")[0]
    if plan.devices > 1:
        tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * plan.devices)
    count = len(tf.config.list_logical_devices("CPU"))
    return Devices(count, count, "cpu")


def way(plan: Plan, *, slow_convolutions: bool) -> Way:
    """On processors convolutions run through oneDNN three times faster than through XLA, one step a call; everything
    else gains from XLA, and short steps from many a call. On several devices gradients are summed between graphs."""
    if slow_convolutions or plan.devices > 1:
        return Way(False, 1)
    return Way(True, max(1, plan.job.training.steps_per_call))


def make_steps(plan: Plan, model: object, recipe: Recipe, shape: Layout, chosen: Way) -> Steps:
    from tpu_studio.trainer.step_tf import TfSteps

    return TfSteps(model, recipe, shape, devices=plan.devices, compiled=chosen.compiled, per_call=chosen.per_call)


def watch_compiling() -> Callable[[], dict[str, Any]]:
    return dict  # it keeps none


def keep_attention_plain() -> None:
    """Nothing: Keras has no kernel of its own here."""


def recomputed(function: Callable[..., object]) -> Callable[..., object]:
    import tensorflow as tf

    return tf.recompute_grad(function)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class TfTrace:
    """Of ``tf.profiler.experimental``."""

    tf: Any

    def mark(self, name: str) -> AbstractContextManager[object]:
        return self.tf.profiler.experimental.Trace(name)  # type: ignore[no-any-return]

    def stop(self) -> None:
        try:
            self.tf.profiler.experimental.stop()
        except self.tf.errors.OpError as error:
            raise RuntimeError(str(error)) from error


def trace(folder: Path) -> TfTrace:
    import tensorflow as tf

    profiler = tf.profiler.experimental
    options = profiler.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
    try:
        profiler.start(str(folder), options=options)
    except tf.errors.OpError as error:
        raise RuntimeError(str(error)) from error
    return TfTrace(tf)


def count_model(model: Any, recipe: Recipe, example: Example, batch: int) -> dict[str, object]:
    from tpu_studio.trainer.work.graph import count_model

    return count_model(model, recipe, example, batch)


def compiled(model: Any) -> Callable[[object], object]:
    import tensorflow as tf

    return tf.function(lambda x: model(x, training=False), reduce_retracing=True)  # type: ignore[no-any-return]
