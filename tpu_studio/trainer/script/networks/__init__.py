"""How a script builds the models of ``trainer.models``: the same layers under the same names, one after the other.

For each ``builder`` of ``wire.families`` that can be said plainly a module of its name, with a function ``part``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tpu_studio.trainer.script.parts import Part
from tpu_studio.trainer.script.refusing import refusal
from tpu_studio.wire import families, models
from tpu_studio.wire.plan import Plan


def network(plan: Plan, card: Mapping[str, Any]) -> Part:
    """``build_model()``, and ``load_starter_weights(model)`` where it begins from such.

    Raises:
        RunError: Of `refusal`.
        ModelError: ``starter-missing``, ``starter-damaged``.
    """
    if plan.job.model.is_own:
        raise refusal("own-model")
    module = f"{__package__}.{families.by_id(models.spec(plan.job.model.id).family).builder}"
    if plan.job.model.folder or find_spec(module) is None:
        raise refusal("other-layers")
    part: Part = import_module(module).part(plan, card)
    return part
