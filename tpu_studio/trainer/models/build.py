"""Plan → model: picks the builder of the family and the number format, and counts weights."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

import keras

from tpu_studio.trainer import leaving
from tpu_studio.trainer.models import attention, initial, starting
from tpu_studio.trainer.models.shapes import Shapes, shapes
from tpu_studio.wire import families
from tpu_studio.wire import models as catalogue
from tpu_studio.wire.plan import Plan

Builder = Callable[[Shapes, Mapping[str, object], int, Plan], keras.Model]
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


def build(plan: Plan, description: Mapping[str, object]) -> keras.Model:
    """The model of *plan* before it was trained, with its initial weights, on the backend that Keras was started with.

    Args:
        plan: Everything "auto" resolved. Seed, precision and rematerialisation are read from it.
        description: The data as in ``dataset.json``: kind, classes, input_shape, value_max, outputs.

    Raises:
        ModelError: The user's own file was refused (see ``own``), the data's shapes are not known, or the starter
            weights that it begins from are not there as they were published (see ``starting``).
    """
    leaving.loaded()
    sizes, seed = shapes(plan, description), plan.job.training.seed
    attention.keep_plain()
    if plan.job.model.is_own:
        from tpu_studio.trainer.models import own  # reads and runs a person's file: only when asked to

        return own.build(own.path_of(plan), plan.consent, own.own_job(plan, sizes))
    chosen, family = plan.options, families.by_id(catalogue.spec(plan.job.model.id).family)
    keras.utils.clear_session()  # names of layers, hence of weights, must not depend on what was built before
    with precision(plan.job.training.precision), initial.to_fill():
        build: Builder = import_module(f"{__package__}.{family.builder}").build
        model = build(sizes, chosen, seed, plan)
    starting.fill(model, plan, description)
    return model


def for_result(model: keras.Model, plan: Plan, description: Mapping[str, object]) -> keras.Model:
    """What of a trained *model* is kept: what was learned beside its weights is added to them, in the machine's own
    memory: in float32 they may be more than a chip has room for.

    Raises:
        ModelError: The folder that it began from is not there as it was.
    """
    if not plan.job.model.rank:
        return model
    family = families.by_id(catalogue.spec(plan.job.model.id).family)
    with precision(plan.job.training.precision), keras.device("cpu"):
        found: keras.Model = import_module(f"{__package__}.{family.builder}").merged(
            model, plan, shapes(plan, description)
        )
    return found


def count_params(model: keras.Model) -> int:
    """Trained weights: what people mean by "124 million"."""
    return sum(math.prod(weight.shape) for weight in model.trainable_weights)


@contextlib.contextmanager
def precision(name: str) -> Iterator[None]:
    """Layers made inside compute in *name*; their weights stay float32 either way, but for `causal`'s that stay."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(POLICIES.get(name, "float32"))
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
