"""Plan → model: picks the builder of the family and the number format, and counts weights."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

import keras

from tpu_studio.trainer.models import attention, convolution, dense, gpt
from tpu_studio.trainer.models.shapes import shapes
from tpu_studio.wire import models as catalogue
from tpu_studio.wire.plan import Plan

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


def build(plan: Plan, description: Mapping[str, Any]) -> keras.Model:
    """The untrained model of *plan*, with its initial weights, on the backend that Keras was started with.

    Args:
        plan: Everything "auto" resolved. Seed, precision and rematerialisation are read from it.
        description: The data as in ``dataset.json``: kind, classes, input_shape, value_max, outputs.

    Raises:
        ModelError: The user's own file was refused (see ``own``), or the data's shapes are not known.
    """
    sizes, seed = shapes(plan, description), int(plan.job["training.seed"])
    attention.keep_plain()
    if plan.job.has_own_model:
        from tpu_studio.trainer.models import own  # reads and runs a person's file: only when asked to

        return own.build(own.path_of(plan), plan.consent, own.own_job(plan, sizes))
    chosen, family = plan.options, catalogue.spec(plan.job.model).family
    keras.utils.clear_session()  # names of layers, hence of weights, must not depend on what was built before
    with precision(str(plan.job["training.precision"])):
        if family == "mlp":
            return dense.mlp(sizes, chosen, seed)
        if family == "cnn":
            return convolution.small_cnn(sizes, chosen, seed)
        recompute = plan.job["training.rematerialize"] is True
        return gpt.gpt(sizes, chosen, seed, rematerialize=recompute, table_rows=plan.table_rows)


def count_params(model: keras.Model) -> int:
    """Trained weights: what people mean by "124 million"."""
    return sum(math.prod(weight.shape) for weight in model.trainable_weights)


@contextlib.contextmanager
def precision(name: str) -> Iterator[None]:
    """Layers made inside compute in *name*; their weights stay float32 either way."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(POLICIES.get(name, "float32"))
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
