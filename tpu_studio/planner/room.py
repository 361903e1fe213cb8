"""Room on this computer's disk that a run needs: for its checkpoints, its model and its curves."""

from __future__ import annotations

from collections.abc import Iterator

from tpu_studio.domain.sentences import say_finding
from tpu_studio.wire import places
from tpu_studio.wire.plan import Check

_WEIGHT_BYTES = 4
_CHECKPOINT = 3  # times the weights: they and the optimizer's two moments
_CHECKPOINTS = 4  # the last two, the best one, and the next while it is written (`trainer.checkpoints`)
_MODELS = 2  # as Keras file and as SavedModel
_LOG_BYTES, _STEP_BYTES = 1 << 20, 200  # what a step writes of its metrics, in events and in curves


def least_bytes(params: int) -> int:
    """To end with a model at all: one checkpoint, the model, and a log."""
    return _LOG_BYTES + (_CHECKPOINT + _MODELS) * _WEIGHT_BYTES * params


def needed_bytes(params: int, steps: int) -> int:
    """All that lies there at the same time when it is most."""
    weights = (_CHECKPOINTS * _CHECKPOINT + _MODELS) * _WEIGHT_BYTES * params
    return _LOG_BYTES + weights + steps * _STEP_BYTES


def of_disk(place: str, params: int, steps: int, free_bytes: int | None) -> Iterator[Check]:
    """Whether the disk has room; *free_bytes*: None where nobody looked. Of a run elsewhere the result comes here."""
    here = places.by_id(place).on_this_computer
    need = needed_bytes(params, steps) if here else least_bytes(params)
    if free_bytes is None or free_bytes >= need:
        return
    facts = {"need_bytes": need, "free_bytes": free_bytes, "here": here, "least_bytes": least_bytes(params)}
    yield Check("disk-nearly-full", "warning", say_finding("disk-nearly-full", facts).title, None, facts)
