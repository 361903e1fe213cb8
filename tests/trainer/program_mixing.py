"""Run in the engine: the loss of drawn scores and mixed classes, beside the same in numpy."""

from __future__ import annotations

import json

import numpy as np

from tpu_studio.data.augment import mixes
from tpu_studio.trainer import maths
from tpu_studio.trainer.recipe import Recipe

WEIGHTS = (0.5, 1.0, 1.5)
rng = np.random.default_rng(0)
scores, y = rng.normal(size=(32, 3)).astype(np.float32), rng.integers(0, 3, 32).astype(np.int32)
mix = mixes(rng, 32, (8, 8), "cutmix")["mix"]
recipe = Recipe("classification", label_smoothing=0.1, class_weights=WEIGHTS)
loss, total, right = maths.loss_terms(recipe, scores, y, None, training=True, mix=mix)
whole = mix.copy()
whole[:, 0] = 256  # nothing of another
unmixed, _, _ = maths.loss_terms(recipe, scores, y, None, training=True, mix=whole)
plain, _, _ = maths.loss_terms(recipe, scores, y, None, training=True)

logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))


def of(labels: np.ndarray) -> np.ndarray:
    each = 0.9 * -logs[np.arange(32), labels] + 0.1 * -logs.mean(1)
    return np.asarray(each * np.asarray(WEIGHTS)[labels])


share = mix[:, 0] / 256
wanted = (share * of(y) + (1 - share) * of(np.roll(y, 1))).sum()
print(
    json.dumps(
        {
            "loss": float(loss),
            "wanted": float(wanted),
            "right": float(right),
            "wanted_right": float((scores.argmax(1) == y).sum()),
            "whole": float(unmixed),
            "plain": float(plain),
        }
    )
)
