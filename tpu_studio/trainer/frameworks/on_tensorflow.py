"""TensorFlow: graphs, through XLA where that is faster."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_studio.trainer.frameworks import Devices, Example, Steps, Way, needs_a_tpu
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Layout
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plan import Plan

_CHIP_FILES = ("/dev/accel[0-9]*", "/dev/vfio/[0-9]*")  # v2 to v5e, and newer ones; as libtpu names them
_RUNTIME = {
    "NEXT_PLUGGABLE_DEVICE_USE_C_API": "true",  # read by libtpu alone; TF_PLUGGABLE_DEVICE_LIBRARY_PATH by TensorFlow
    "TF_XLA_FLAGS": "--tf_mlir_enable_mlir_bridge=true "
    "--tf_mlir_enable_convert_control_to_data_outputs_pass=true "
    "--tf_mlir_enable_merge_control_flow_pass=true",  # TensorFlow 2.20 knows each; an unknown one ends the process
}
"""The TPU through PJRT and the MLIR bridge, as in Google's release tests of TensorFlow (ml-auto-solutions,
configs/tensorflow/common.py) and in Keras's own example for the package `tensorflow-tpu` (keras-rs,
"DistributedEmbedding using TPU SparseCore and TensorFlow"). Left out: the tests' flag for SparseCore's tables, and the
example's PJRT_DEVICE, which neither TensorFlow nor libtpu reads."""


def begin_here(plan: Plan, devices: int) -> None:
    """Nothing: logical processors are made in the process (`devices`)."""


def devices(plan: Plan) -> Devices:
    if needs_a_tpu(plan):
        return _chips(plan)
    import tensorflow as tf

    processor = tf.config.list_physical_devices("CPU")[0]
    if plan.devices > 1:
        tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * plan.devices)
    count = len(tf.config.list_logical_devices("CPU"))
    return Devices(count, count, "cpu")


def _chips(plan: Plan) -> Devices:
    """Those of this machine, opened: TensorFlow lists none before.

    Without a chip to open, libtpu ends the process (SIGSEGV in ``ConfigureTpuOp_Compute``, 0.0.29), so that its files
    are looked for first.
    """
    library, files = libtpu(), [file for pattern in _CHIP_FILES for file in glob.glob(pattern)]
    if library is None or not files:
        raw = f"there is no {' and no '.join(_CHIP_FILES)}" if library else "libtpu is not installed"
        raise StudioError("tpu-not-opened", raw=raw, place=plan.place)
    os.environ.update(_RUNTIME, TF_PLUGGABLE_DEVICE_LIBRARY_PATH=str(library))  # before TensorFlow is imported
    import tensorflow as tf

    from tpu_studio.trainer import step_tf_replicas

    try:
        step_tf_replicas.open_chips()
    except (tf.errors.OpError, RuntimeError, ValueError) as error:
        raise StudioError("tpu-not-opened", raw=str(error)[:1000], place=plan.place) from error
    count = len(tf.config.list_logical_devices("TPU"))
    return Devices(count, count, "tpu")


def libtpu() -> Path | None:
    """The library that is installed in this environment; None: none is."""
    found = importlib.util.find_spec("libtpu")
    for folder in (found.submodule_search_locations or ()) if found else ():
        if (file := Path(folder) / "libtpu.so").exists():
            return file
    return None


def way(plan: Plan, *, slow_convolutions: bool) -> Way:
    """On one processor convolutions run through oneDNN three times faster than through XLA, one step a call; everything
    else gains from XLA, and short steps from many a call. On several devices, and on a TPU, steps are called by
    `tf.distribute`, which has a TPU's compiled."""
    if slow_convolutions:
        return Way(False, 1)
    return Way(plan.devices == 1 or needs_a_tpu(plan), max(1, plan.job.training.steps_per_call))


def make_steps(plan: Plan, model: object, recipe: Recipe, shape: Layout, chosen: Way) -> Steps:
    from tpu_studio.trainer import step_tf, step_tf_replicas

    if needs_a_tpu(plan):
        return step_tf_replicas.ReplicatedTfSteps(model, recipe, shape, step_tf_replicas.over_chips())
    if plan.devices > 1:
        return step_tf_replicas.ReplicatedTfSteps(model, recipe, shape, step_tf_replicas.over_processors(plan.devices))
    return step_tf.TfSteps(model, recipe, shape, compiled=chosen.compiled)


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

    if tf.config.list_logical_devices("TPU"):  # which `devices` has opened
        from tpu_studio.trainer import step_tf_replicas

        return step_tf_replicas.ReplicatedForward(model, step_tf_replicas.over_chips())
    return tf.function(lambda x: model(x, training=False), reduce_retracing=True)  # type: ignore[no-any-return]
