"""Which framework runs, where, and how a step is best called there. The first thing the trainer does, before Keras.

`begin` sets the environment that Keras, JAX and TensorFlow read when they are imported. `way` is the one place that
knows, from measurements (docs/training.md), how each family of models is called fastest. What differs between the
frameworks: ``frameworks``.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from tpu_studio.trainer.frameworks import Steps, Way, module_of, needs_a_tpu
from tpu_studio.trainer.frameworks.on_jax import quicken
from tpu_studio.trainer.recipe import Recipe
from tpu_studio.trainer.state import Layout
from tpu_studio.wire import evaluating, places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.utilisation import Utilisation

OPENING_S = 300.0
"""For so long a rented TPU may take to be opened: it takes some seconds, and a libtpu that waits is charged."""

__all__ = [
    "Way",
    "begin",
    "check_devices",
    "evaluation_batch",
    "has_convolutions",
    "make_steps",
    "needs_a_tpu",
    "utilisation",
    "way",
]


def begin(plan: Plan, workers: int = 1) -> None:
    """Choose the framework of *plan*, of whose devices this is one worker of *workers*. Call once, before keras."""
    assert "keras" not in sys.modules, "keras reads its backend when it is imported"
    os.environ["KERAS_BACKEND"] = plan.framework
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if places.by_id(plan.place).on_this_computer:
        os.environ["JAX_PLATFORMS"] = "cpu"
        os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
        module_of(plan.framework).begin_here(plan, plan.devices // workers)


def check_devices(plan: Plan, workers: int = 1) -> None:
    """The devices that the plan counted on are there: this worker's share, and all of them together.

    Raises:
        StudioError: ``devices-differ``; ``tpu-not-opened``: a TPU that cannot be opened, or is done without.
    """
    found = module_of(plan.framework).devices(plan)
    if found.all != plan.devices:
        raise StudioError("devices-differ", planned=plan.devices, found=found.all, device=found.kind)
    if found.here * workers != found.all:
        raise StudioError("devices-differ", planned=plan.devices // workers, found=found.here, device=found.kind)


def way(plan: Plan, *, convolutions: bool) -> Way:
    """The fastest way for this model at this place; on TPUs everything is compiled."""
    slow = convolutions and places.by_id(plan.place).on_this_computer
    return module_of(plan.framework).way(plan, slow_convolutions=slow)


def utilisation(plan: Plan) -> Utilisation | None:
    """What MFU is measured by; None where processors train, whatever the plan says: they have no such peak."""
    return plan.utilisation if needs_a_tpu(plan) else None


def has_convolutions(model: Any) -> bool:
    """Whether a layer of *model*, at any depth, convolves pictures (or anything else)."""
    return any("conv" in type(layer).__name__.lower() for layer in model._flatten_layers())


def evaluation_batch(plan: Plan, model: object, examples: int) -> int:
    """Of *examples* unseen ones, how many are evaluated at once: `wire.evaluating` has the rule."""
    from tpu_studio.trainer.models.widest import widest

    part = plan.job.training.global_batch // plan.job.training.accumulate
    return evaluating.batch_of(part, widest(model), plan.devices, examples)


def make_steps(plan: Plan, model: object, recipe: Recipe, shape: Layout, chosen: Way, workers: int = 1) -> Steps:
    """The step functions of the plan's framework."""
    if workers > 1:
        from tpu_studio.trainer.team_steps import TeamSteps

        if places.by_id(plan.place).on_this_computer:
            quicken(model)
        return TeamSteps(model, recipe, shape, devices=plan.devices, sharded=plan.sharded)
    return module_of(plan.framework).make_steps(plan, model, recipe, shape, chosen)
