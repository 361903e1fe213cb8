"""The stages of a training: the last layer alone on features that were made once, and then all of the model.

Most trainings have one stage, the model as it is. A model that begins from starter weights may have two
(`training.freeze`): first what stands before its last layer stays as it is, each example goes through that once
(`features`), and the steps train the last layer on what came out; from the step `training.unfreeze_at` on all of it
learns, its optimizer begun anew. A checkpoint holds the tensors of the stage that its step belongs to, so a stage is
entered with another one's tensors, or with none before its own are restored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tpu_studio.data.opened import Source
from tpu_studio.trainer import state
from tpu_studio.trainer.frameworks import Steps
from tpu_studio.wire.plan import Plan

FOREVER = 2**40  # steps


@dataclass
class Stage:
    """Attributes:
    first: Steps that were made before it.
    last: It ends with this step.
    steps: The step functions, with the stage's state (`step_jax`, `step_tf`).
    source, unseen: Examples that it learns from, and those that it is measured on.
    varies: Whether its examples can be varied, as pictures can.
    evaluation_batch: Unseen ones at once.
    per_call: Steps a call at most.
    """

    first: int
    last: int
    model: Any
    shape: state.Layout
    steps: Steps
    source: Source
    unseen: Source
    varies: bool
    evaluation_batch: int
    per_call: int

    def put(self, arrays: state.Arrays) -> None:
        """Give the model's variables the weights and statistics in *arrays*."""
        state.put_into_model(self.model, self.shape, arrays)

    def holds(self, step: int) -> bool:
        """Whether a checkpoint of that step is of this stage: at its last step the next has not begun."""
        return self.first < step <= self.last or step == self.first == 0


Enter = Callable[[int, state.Arrays | None], Stage]
"""The stage in which training goes on after a step, begun with the tensors of the one before; None: to be restored."""


def unfreeze_at(plan: Plan) -> int:
    """The step after which what stands before the last layer learns too; 0: from the start, `FOREVER`: never."""
    training = plan.job.training
    if not plan.job.model.starts_from or training.freeze == "none":
        return 0
    return FOREVER if training.freeze == "backbone" else training.unfreeze_at
