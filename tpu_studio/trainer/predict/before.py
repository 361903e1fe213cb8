"""The model of a run as it was before training: the same network, in the same number format, with the weights that it
began from and nothing that was learned beside them.

What a run's plan says may be a stranger's: no file of a person's runs here, its base is opened as at the start of a
training, and only if it is the very one that was planned with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras

from tpu_studio.trainer import memory
from tpu_studio.trainer.models import pretrained
from tpu_studio.trainer.models.build import build
from tpu_studio.trainer.result import loading
from tpu_studio.trainer.result.files import CARD
from tpu_studio.wire import plan as plans
from tpu_studio.wire import tasks
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.wire.plan import Plan


def load(run: Path, result: Path, card: Mapping[str, Any]) -> keras.Model:
    """The model that answers as the run's did when it began.

    Args:
        run: The run's folder, with its plan: an exported result has none.
        result: Its result; *card*: that result's, whose description of the data is the model's, too.

    Raises:
        BadInput: ``predict-bad-question``: it began from nothing that is known, or is no language model.
        ModelError: As ``models.build``: what it began from is not here any more, or another one.
        RunError: ``result-unreadable``; ``plan-…``: there is no plan of it here.
    """
    plan = plans.read(run)
    job = plan.job
    if job.model.is_own or not (job.model.folder and plan.preset_sha256) or not tasks.by_id(plan.task).has_tokens:
        raise BadInput("predict-bad-question", raw="--before: it began from no pretrained language model")
    data = card["data"]
    if card["task"] != plan.task or data.get("input_shape") != [job.data.sequence_length]:
        raise RunError("result-unreadable", path=str(result / CARD), raw="it is not of the plan beside it")
    memory.hold(pretrained.preset_of(plan).size_bytes, loading.room(card))
    return build(_bare(plan), data)


def _bare(plan: Plan) -> Plan:
    """Without what is for learning alone: small matrices beside the weights, and a memory that is saved by counting
    twice."""
    model = replace(plan.job.model, lora_rank=0)
    training = replace(plan.job.training, rematerialize=False, freeze="none")
    return replace(plan, job=replace(plan.job, model=model, training=training))
