"""Which framework runs, where, and how a step is best called there. The first thing the trainer does, before Keras.

`begin` sets the environment that Keras, JAX and TensorFlow read when they are imported. `way` is the one place that
knows, from measurements (docs/training.md), how each family of models is called fastest.
"""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from typing import Any

from tpu_studio.trainer.recipe import LANGUAGE, Recipe
from tpu_studio.trainer.state import Layout
from tpu_studio.wire import evaluating
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plan import Plan

ON_THIS_COMPUTER = ("computer", "practice")
COLAB = "colab"
STANDS_IN = "TPU_STUDIO_COLAB_ENGINE"  # of tests: the notebook trains on this computer (`trainer.notebook`)
OPENING_S = 300.0
"""For so long a rented TPU may take to be opened: it takes some seconds, and a libtpu that waits is charged."""
_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8  # malloc.h


def begin(plan: Plan, workers: int = 1) -> None:
    """Choose the framework of *plan*, of whose devices this is one worker of *workers*. Call once, before keras."""
    assert "keras" not in sys.modules, "keras reads its backend when it is imported"
    os.environ["KERAS_BACKEND"] = plan.framework
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if plan.place in ON_THIS_COMPUTER:
        os.environ["JAX_PLATFORMS"] = "cpu"
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
        if plan.framework == "jax" and plan.task == LANGUAGE:
            keep_memory()
        here = plan.devices // workers
        if here > 1 and plan.framework == "jax" and "device_count" not in os.environ.get("XLA_FLAGS", ""):
            os.environ["XLA_FLAGS"] = (
                f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={here}".strip()
            )


def keep_memory() -> None:
    """Have the C library keep memory it was given back, where it can be told so (glibc).

    XLA on a processor takes its working memory anew for each call, and glibc returns large pieces to the system at
    once: gpt-nano pays 26,000 page faults a call, 45 ms, for memory it had a moment ago. Small models need little
    memory a call, and the one arena that this takes costs their short steps 6 %: for language models only.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    for name, value in ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, 2**31 - 1), (_M_ARENA_MAX, 1)):
        mallopt(name, value)


def needs_a_tpu(plan: Plan) -> bool:
    """Whether a processor must not train: off this computer, a TPU is charged or was given for it."""
    return plan.place not in ON_THIS_COMPUTER and not (plan.place == COLAB and os.environ.get(STANDS_IN))


def check_devices(plan: Plan, workers: int = 1) -> None:
    """The devices that the plan counted on are there: this worker's share, and all of them together.

    Raises:
        StudioError: ``devices-differ``; ``tpu-not-opened``: a TPU that JAX cannot open, or does without.
    """
    if plan.framework == "jax":
        import jax

        try:
            here, found, kind = len(jax.local_devices()), len(jax.devices()), jax.default_backend()
        except RuntimeError as error:  # "Unable to initialize backend 'tpu': …"
            raise StudioError("tpu-not-opened", raw=str(error)[:1000], place=plan.place) from error
        if needs_a_tpu(plan) and kind != "tpu":  # where there is no libtpu, JAX goes on without a word
            raise StudioError("tpu-not-opened", raw=f"JAX found no TPU, only {kind}", place=plan.place)
        if found == plan.devices and here * workers != found:
            raise StudioError("devices-differ", planned=plan.devices // workers, found=here, device=kind)
    else:
        import tensorflow as tf

        if plan.place in ON_THIS_COMPUTER:
            processor = tf.config.list_physical_devices("CPU")[0]
            if plan.devices > 1:
                tf.config.set_logical_device_configuration(
                    processor, [tf.config.LogicalDeviceConfiguration()] * plan.devices
                )
            found, kind = len(tf.config.list_logical_devices("CPU")), "cpu"
        else:
            found, kind = len(tf.config.list_logical_devices("TPU")), "tpu"
    if found != plan.devices:
        raise StudioError("devices-differ", planned=plan.devices, found=found, device=kind)


@dataclass(frozen=True)
class Way:
    """How steps are called: through XLA or not, and how many a call at most."""

    compiled: bool
    per_call: int


def way(plan: Plan, *, convolutions: bool) -> Way:
    """The fastest way for this model at this place.

    On processors TensorFlow runs convolutions through oneDNN three times faster than XLA does, one step a call;
    everything else gains from XLA, and short steps from many a call. JAX always compiles; its convolutions on a
    processor are slow either way, and one step a call keeps compiling short. On TPUs everything is compiled.
    """
    per_call = max(1, int(plan.job["training.steps_per_call"]))
    if plan.place in ON_THIS_COMPUTER and convolutions:
        return Way(compiled=plan.framework == "jax", per_call=1)
    if plan.devices > 1 and plan.framework == "tensorflow":
        return Way(compiled=False, per_call=1)  # gradients are summed between graphs, one step at a time
    return Way(compiled=True, per_call=per_call)


def has_convolutions(model: Any) -> bool:
    """Whether a layer of *model*, at any depth, convolves pictures (or anything else)."""
    return any("conv" in type(layer).__name__.lower() for layer in model._flatten_layers())


def evaluation_batch(plan: Plan, model: Any, examples: int) -> int:
    """Of *examples* unseen ones, how many are evaluated at once: `wire.evaluating` has the rule."""
    from tpu_studio.trainer.models.widest import widest

    part = int(plan.job["training.global_batch"]) // int(plan.job["training.accumulate"])
    return evaluating.batch_of(part, widest(model), plan.devices, examples)


def make_steps(plan: Plan, model: Any, recipe: Recipe, shape: Layout, chosen: Way, workers: int = 1) -> Any:
    """The step functions of the plan's framework (`step_jax.JaxSteps` or `step_tf.TfSteps`: the same methods)."""
    if plan.framework == "jax" and plan.place in ON_THIS_COMPUTER:
        from tpu_studio.trainer.models import quick

        quick.quicken(model)
    if workers > 1:
        from tpu_studio.trainer.team_steps import TeamSteps

        return TeamSteps(model, recipe, shape, devices=plan.devices)
    if plan.framework == "jax":
        from tpu_studio.trainer.step_jax import JaxSteps

        return JaxSteps(model, recipe, shape, devices=plan.devices)
    from tpu_studio.trainer.step_tf import TfSteps

    return TfSteps(model, recipe, shape, devices=plan.devices, compiled=chosen.compiled, per_call=chosen.per_call)
