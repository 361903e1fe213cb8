"""Run in the engine: loss and counts of examples with several labels each, beside the same in numpy."""

from __future__ import annotations

import json

import numpy as np

from tpu_studio.data.augment import mixes
from tpu_studio.trainer import maths
from tpu_studio.trainer.evaluation import macro_f1
from tpu_studio.trainer.recipe import Recipe

B, L, SMOOTHED = 32, 5, 0.2
PRESENT, ABSENT = (2.0, 1.5, 1.0, 0.5, 3.0), (0.5, 0.8, 1.0, 2.0, 0.6)
rng = np.random.default_rng(0)
scores, y = rng.normal(size=(B, L)).astype(np.float32) * 3, (rng.random((B, L)) < 0.3).astype(np.uint8)
y[:, 4] = 0  # a label that no unseen example has
weight = (rng.random(B) < 0.8).astype(np.float32)  # 0 where a batch is filled up
mix = mixes(rng, B, (8, 8), "mixup")["mix"]
plain = Recipe("multi-label")
whole = Recipe("multi-label", label_smoothing=SMOOTHED, class_weights=PRESENT, absent_weights=ABSENT)

shares = 1.0 / (1.0 + np.exp(-scores.astype(np.float64)))


def of(labels: np.ndarray, *, smoothed: float = 0.0, weighed: bool = False) -> np.ndarray:
    """Of each example, the mean over its labels."""
    asked = labels * (1 - smoothed) + smoothed / 2
    each = -(asked * np.log(shares) + (1 - asked) * np.log(1 - shares))
    if weighed:
        each = each * np.where(labels == 1, PRESENT, ABSENT)
    return np.asarray(each.mean(axis=1))


def told(recipe: Recipe, *, training: bool, mixed: bool = False, weighed: bool = True) -> list[float]:
    terms = maths.loss_terms(
        recipe, scores, y, weight if weighed else None, training=training, mix=mix if mixed else None
    )
    return [float(one) for one in terms]


own = mix[:, 0] / 256
both = own * of(y, smoothed=SMOOTHED, weighed=True) + (1 - own) * of(
    np.roll(y, 1, axis=0), smoothed=SMOOTHED, weighed=True
)
counted = maths.evaluation(plain, scores, {"y": y, "weight": weight})
found = np.stack([np.asarray(counted[name]) for name in ("hits", "said", "has")], axis=1)
said, real = (shares >= 0.5) & (weight[:, None] > 0), (y == 1) & (weight[:, None] > 0)
wanted = np.stack([(said & real).sum(axis=0), said.sum(axis=0), real.sum(axis=0)], axis=1)
f1 = []
for label in range(L - 1):
    precision = (said & real)[:, label].sum() / said[:, label].sum()
    recall = (said & real)[:, label].sum() / real[:, label].sum()
    f1.append(2 * precision * recall / (precision + recall))
huge = np.array([[1e4, -1e4]], np.float32)
print(
    json.dumps(
        {
            "plain": [told(plain, training=True), [float((of(y) * weight).sum()), float(weight.sum()), 0.0]],
            "unweighed": [told(plain, training=True, weighed=False), [float(of(y).sum()), float(B), 0.0]],
            "all": [told(whole, training=True, mixed=True, weighed=False), [float(both.sum()), float(B), 0.0]],
            "measured": [told(whole, training=False), [float((of(y) * weight).sum()), float(weight.sum()), 0.0]],
            "counts": [found.tolist(), wanted.tolist()],
            "f1": [macro_f1(found), float(np.mean(f1))],
            "huge": [
                [float(maths.loss_terms(plain, huge, np.array([[0, 1]], np.uint8), None, training=True)[0])],
                [1e4],
            ],
        }
    )
)
