"""Pretrained weights into a model, and the two halves of a model that begins from them.

`fill` gives every weight but the answer's what the published file has, read after its hash was checked; which is
which the family's builder says (`starters`). Those of a folder of the person's are `pretrained`'s. `halves` cuts a
model where its family says that features end: what stands before may stay as it is, and what stands behind learns.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import keras
import numpy as np

from tpu_studio.trainer.models import initial, pretrained
from tpu_studio.wire import families, models
from tpu_studio.wire.errors import ModelError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.pretrained import tuned


def fill(model: Any, plan: Plan, description: Mapping[str, object]) -> None:
    """Nothing where the plan begins from nothing, or where models are built for their shapes alone.

    Args:
        description: Of the data: whose classes are those of a result that it begins from, keeps its answers, too.

    Raises:
        ModelError: ``starter-missing``, ``starter-damaged``, and those of `pretrained` and `based`.
    """
    if not plan.job.model.starts_from or not initial.draws():
        return
    builder = import_module(f"{__package__}.{_family(plan).builder}")
    if plan.job.model.folder:
        preset = pretrained.preset_of(plan)
        if preset.base is not None and not preset.is_decoder:
            from tpu_studio.trainer.models import based  # the reader of results, which most trainings do without

            based.fill(model, preset, description, again=plan.job.training.freeze != "none")
        else:
            builder.fill(model, preset)
        return
    tensors = _read(plan)
    weights = {weight.path: weight for weight in model.weights}
    for path, name, turned in builder.starters():
        weights[path].assign(np.transpose(tensors[name], turned))


def halves(model: Any, plan: Plan) -> tuple[keras.Model, keras.Model]:
    """What makes features of an example, and what makes the answer of features; their layers are *model*'s own."""
    features = model.get_layer(_family(plan).features).output
    return keras.Model(model.inputs, features, name="backbone"), keras.Model(features, model.output, name="head")


def sha256_of(plan: Plan) -> str:
    """Of the weights that it begins from; "" where there are none."""
    if plan.job.model.folder:
        return pretrained.preset_of(plan).sha256
    preset = plan.job.model.starts_from
    return models.starter(preset).sha256 if preset else ""


def origin(plan: Plan) -> dict[str, str] | None:
    """What the model began from, for the result's card; None: from nothing."""
    if plan.job.model.folder:
        preset = pretrained.preset_of(plan)
        if preset.base is not None:
            told = {"run": preset.base.run, "name": preset.base.name, "model": preset.base.model}
            return told | {"sha256": plan.preset_sha256}
        return {"network": preset.kind, "sha256": plan.preset_sha256}
    begins = plan.job.model.starts_from
    return {"preset": begins, "sha256": sha256_of(plan)} if begins else None


def network(plan: Plan, description: Mapping[str, object]) -> dict[str, object] | None:
    """What the result's card says of a network that no model's name says, so that others begin from it."""
    if not plan.job.model.folder or not models.spec(plan.job.model.id).from_folder:
        return None
    return tuned.told(pretrained.preset_of(plan), str(description.get("chat_template") or ""))


def _family(plan: Plan) -> families.Family:
    return families.by_id(models.spec(plan.job.model.id).family)


def _read(plan: Plan) -> dict[str, Any]:
    from safetensors.numpy import load_file

    preset = plan.job.model.starts_from
    starter = models.starter(preset)
    if problem := starter.problem():
        raise ModelError(problem, preset=preset, path=str(starter.path))
    return dict(load_file(starter.path))
