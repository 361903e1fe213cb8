"""Measuring on unseen data: every example exactly once, in the units a person knows.

The device gives sums and, for a regression, each prediction; R² and the mean error are worked out here in float64,
after the scaling of the target has been undone (``data.predicting``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tpu_studio.data.opened import Share, Source, of_share
from tpu_studio.trainer.feed import Batch
from tpu_studio.trainer.frameworks import Steps
from tpu_studio.trainer.order import evaluation_batches
from tpu_studio.wire import tasks

Units = Callable[[object], object]


def evaluate(
    steps: Steps, source: Source, task: str, batch: int, in_units: Units, limit: int | None = None
) -> dict[str, float]:
    """`val_…` metrics of the steps' present state on *source* (its first *limit* batches, for timing)."""
    loss = total = right = 0.0
    predicted, wanted = [], []
    under_way: list[tuple[Any, Any]] = []
    share = steps.share(batch)

    def take(handle: object, weight: Any) -> None:
        nonlocal loss, total, right
        told = steps.fetch_evaluation(handle)
        loss, total = loss + float(told["loss"]), total + float(told["total"])
        if tasks.by_id(task).has_number:
            predicted.append(told["predicted"][weight > 0])
            wanted.append(told["wanted"][weight > 0])
        else:
            right += float(told["right"])

    for number, (indices, weight) in enumerate(evaluation_batches(len(source), batch)):
        if limit is not None and number >= limit:
            break
        under_way.append((steps.evaluate(padded_batch(source, indices, weight, share)), weight))
        if len(under_way) > 1:  # the next batch is gathered while the device works on this one
            take(*under_way.pop(0))
    for handle, weight in under_way:
        take(handle, weight)
    values = {"val_loss": loss / total if total else math.nan}
    if tasks.by_id(task).has_number:
        return values | regression(in_units(np.concatenate(predicted)), in_units(np.concatenate(wanted)))
    values["val_accuracy"] = right / total if total else math.nan
    if tasks.by_id(task).has_tokens:
        values["val_nats_per_token"] = values["val_loss"]
        values["val_bits_per_byte"] = values["val_loss"] * source.tokens_a_byte / math.log(2.0)
    return values


def padded_batch(source: Source, indices: Any, weight: Any, share: Share | None) -> Batch:
    batch, weight = source.batch(indices, rng=np.random.default_rng(0), share=share), of_share(weight, share)
    given = batch.get("weight")
    if given is not None:
        weight = given * weight.reshape(-1, *(1,) * (given.ndim - 1))
    return {**batch, "weight": np.asarray(weight, np.float32)}


def regression(predicted: object, wanted: object) -> dict[str, float]:
    """R² (1 is perfect, 0 as good as always saying the mean) and mean absolute error, in the unit of the column."""
    predicted, wanted = np.asarray(predicted, np.float64), np.asarray(wanted, np.float64)
    residual = float(np.sum((wanted - predicted) ** 2))
    spread = float(np.sum((wanted - wanted.mean()) ** 2))
    r2 = 1.0 - residual / spread if spread else math.nan
    return {"val_r2": r2, "val_mae": float(np.mean(np.abs(wanted - predicted)))}


def better(task: str, new: dict[str, float], old: dict[str, float] | None) -> bool:
    """Whether *new* beats *old*: by accuracy, then loss, for a classification; else by loss."""
    if old is None:
        return math.isfinite(new["val_loss"])
    if tasks.by_id(task).has_classes and new["val_accuracy"] != old["val_accuracy"]:
        return new["val_accuracy"] > old["val_accuracy"]
    return new["val_loss"] < old["val_loss"]
