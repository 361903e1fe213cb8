"""Measuring on unseen data: every example exactly once, in the units a person knows.

The device gives sums and, for a regression, each prediction; R² and the mean error are worked out here in float64,
after the scaling of the target has been undone (``data.predicting``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tpu_studio.data.opened import Share, Source, of_share
from tpu_studio.trainer.feed import Batch
from tpu_studio.trainer.frameworks import Steps
from tpu_studio.trainer.order import evaluation_batches
from tpu_studio.wire import tasks

Units = Callable[[object], object]


@dataclass(frozen=True)
class Checked:
    """Attributes:
    values: The `val_…` metrics.
    labels: Where examples have labels, for each the numbers of examples that are said to have it and do, that are said
        to, and that do.
    """

    values: dict[str, float]
    labels: list[list[int]]


def evaluate(steps: Steps, source: Source, task: str, batch: int, in_units: Units, limit: int | None = None) -> Checked:
    """Measure the steps' present state on *source* (its first *limit* batches, for timing)."""
    loss = total = right = 0.0
    predicted, wanted = [], []
    labels: Any = 0
    under_way: list[tuple[Any, Any]] = []
    share = steps.share(batch)

    def take(handle: object, weight: Any) -> None:
        nonlocal loss, total, right, labels
        told = steps.fetch_evaluation(handle)
        loss, total = loss + float(told["loss"]), total + float(told["total"])
        if tasks.by_id(task).has_number:
            predicted.append(told["predicted"][weight > 0])
            wanted.append(told["wanted"][weight > 0])
        elif tasks.by_id(task).has_labels:
            labels = labels + np.stack([told[name] for name in ("hits", "said", "has")], axis=1).astype(np.int64)
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
        return Checked(values | regression(in_units(np.concatenate(predicted)), in_units(np.concatenate(wanted))), [])
    if tasks.by_id(task).has_labels:
        return Checked(values | {"val_macro_f1": macro_f1(labels)}, labels.tolist())
    values["val_accuracy"] = right / total if total else math.nan
    if tasks.by_id(task).has_tokens:
        values["val_nats_per_token"] = values["val_loss"]
        values["val_bits_per_byte"] = values["val_loss"] * source.tokens_a_byte / math.log(2.0)
    return Checked(values, [])


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


def macro_f1(labels: object) -> float:
    """The mean F1 over the labels that any example has; NaN where none has one.

    Args:
        labels: As `Checked.labels`. F1 of a label is 2·hits / (said + has), the harmonic mean of precision,
            hits / said, and recall, hits / has (van Rijsbergen 1979, Information Retrieval, chapter 7).
    """
    hits, said, has = np.asarray(labels, np.float64).reshape(-1, 3).T
    there = has > 0
    return float(np.mean(2.0 * hits[there] / (said + has)[there])) if there.any() else math.nan


def better(task: str, new: dict[str, float], old: dict[str, float] | None) -> bool:
    """Whether *new* beats *old*: by accuracy, or macro F1, then loss, for a classification; else by loss."""
    if old is None:
        return math.isfinite(new["val_loss"])
    learns = tasks.by_id(task)
    if learns.has_names:
        mine, best = new[learns.metric], old[learns.metric]
        if math.isfinite(mine) and math.isfinite(best) and mine != best:
            return mine > best
    return new["val_loss"] < old["val_loss"]
