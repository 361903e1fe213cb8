"""Run in the engine: pictures varied by a framework's step; prints a digest of them, and what TensorFlow or JAX alone
has to say."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import numpy as np

from tpu_studio.data.augment import mixes, variations
from tpu_studio.trainer.varying import varied

framework = sys.argv[1]


def digest(pictures: Any) -> str:
    pictures = np.asarray(pictures)
    return hashlib.sha256(f"{pictures.dtype}{pictures.shape}".encode() + pictures.tobytes()).hexdigest()


rng = np.random.default_rng(7)
told = {}
for name, shape, top, how in (
    ("photos", (16, 37, 53, 3), 255, ""),
    ("digits", (16, 8, 8, 1), 16, ""),
    ("photos mixup", (16, 37, 53, 3), 255, "mixup"),
    ("photos cutmix", (16, 37, 53, 3), 255, "cutmix"),
):
    pictures = rng.integers(0, top + 1, shape, dtype=np.uint8)
    drawn = variations(np.random.default_rng(3), 16, shape[1:3], mirror=True, value_max=top)
    if how:
        drawn |= mixes(np.random.default_rng(4), 16, shape[1:3], how)
    batch = {"x": pictures, **drawn}
    if framework == "jax":
        import jax

        from tpu_studio.trainer.step_jax import by_gather, by_product, picked

        told[name] = digest(jax.jit(lambda batch: varied(batch, picked))(batch))
        told[f"{name}, as on a TPU"] = digest(jax.jit(lambda batch: varied(batch, by_product))(batch))
        told[f"{name}, as on a processor"] = digest(jax.jit(lambda batch: varied(batch, by_gather))(batch))
    else:
        import tensorflow as tf

        from tpu_studio.trainer.step_tf import picked

        for words, compiled in (("by XLA", True), ("without", False)):
            run = tf.function(lambda batch: varied(batch, picked), jit_compile=compiled, autograph=False)
            told[f"{name}, {words}"] = digest(run({key: tf.constant(value) for key, value in batch.items()}))
print(json.dumps(told))
