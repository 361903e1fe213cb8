"""Measuring on unseen data: every example exactly once, in the units a person knows.

The device gives sums and, for a regression, each prediction; R² and the mean error are worked out here in float64,
after the scaling of the target has been undone (``data.predicting``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tpu_studio.data.opened import Source
from tpu_studio.trainer.feed import Batch
from tpu_studio.trainer.order import evaluation_batches
from tpu_studio.trainer.recipe import LANGUAGE, REGRESSION

Units = Callable[[Any], Any]


def evaluate(
    steps: Any, source: Source, task: str, batch: int, in_units: Units, limit: int | None = None
) -> dict[str, float]:
    """`val_…` metrics of the steps' present state on *source* (its first *limit* batches, for timing)."""
    loss = total = right = 0.0
    predicted, wanted = [], []
    under_way: list[tuple[Any, Batch]] = []

    def take(handle: Any, inputs: Batch) -> None:
        nonlocal loss, total, right
        told = steps.fetch_evaluation(handle)
        loss, total = loss + float(told["loss"]), total + float(told["total"])
        if task == REGRESSION:
            counts = inputs["weight"] > 0
            predicted.append(told["predicted"][counts])
            wanted.append(inputs["y"].reshape(-1)[counts])
        else:
            right += float(told["right"])

    for number, (indices, weight) in enumerate(evaluation_batches(len(source), batch)):
        if limit is not None and number >= limit:
            break
        inputs = padded_batch(source, indices, weight)
        under_way.append((steps.evaluate(inputs), inputs))
        if len(under_way) > 1:  # the next batch is gathered while the device works on this one
            take(*under_way.pop(0))
    for handle, inputs in under_way:
        take(handle, inputs)
    values = {"val_loss": loss / total if total else math.nan}
    if task == REGRESSION:
        return values | regression(in_units(np.concatenate(predicted)), in_units(np.concatenate(wanted)))
    values["val_accuracy"] = right / total if total else math.nan
    if task == LANGUAGE:
        values["val_nats_per_token"] = values["val_loss"]
    return values


def padded_batch(source: Source, indices: Any, weight: Any) -> Batch:
    batch = source.batch(indices, rng=np.random.default_rng(0))
    given = batch.get("weight")
    if given is not None:
        weight = given * weight.reshape(-1, *(1,) * (given.ndim - 1))
    return {**batch, "weight": np.asarray(weight, np.float32)}


def regression(predicted: Any, wanted: Any) -> dict[str, float]:
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
    if task == "classification" and new["val_accuracy"] != old["val_accuracy"]:
        return new["val_accuracy"] > old["val_accuracy"]
    return new["val_loss"] < old["val_loss"]
