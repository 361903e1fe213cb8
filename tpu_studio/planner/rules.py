"""The numbers behind "auto", one table: change a figure here and every plan changes with it.

A family is the kind of model (``wire.models``: mlp, cnn, gpt) or "file" for the user's own. The rules are general:
sizes of data and model go in, nothing knows a data set by name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FamilyRules:
    """Attributes:
    steps_per_epoch: The batch aims at about this many steps each time through the data…
    batch_least, batch_most: …within these bounds, as a power of two.
    learning_rate: For AdamW at a batch of 32; it grows with the square root of the batch
        (Malladi et al. 2022, On the SDEs and Scaling Rules for Adaptive Gradient Algorithms).
    sgd_rate: For SGD with momentum at a batch of 256; it grows with the batch (Goyal et al. 2017).
    epochs: (examples up to, times through the data): the first that applies.
    steps_per_call: Steps a call of the device on a processor, with TensorFlow and with JAX; on a TPU too where
        CHIP_STEPS_PER_CALL says nothing.
    """

    steps_per_epoch: int
    batch_least: int
    batch_most: int
    learning_rate: float
    sgd_rate: float
    warmup: float
    weight_decay: float
    clip_norm: float
    label_smoothing: float
    epochs: tuple[tuple[float, int], ...]
    steps_per_call: dict[str, int]


ALL = float("inf")

FAMILIES: dict[str, FamilyRules] = {
    "mlp": FamilyRules(
        steps_per_epoch=340,
        batch_least=32,
        batch_most=1024,
        learning_rate=1e-3,
        sgd_rate=0.05,
        warmup=0.05,
        weight_decay=0.01,
        clip_norm=1.0,
        label_smoothing=0.0,
        epochs=((2_000, 60), (100_000, 30), (ALL, 10)),
        steps_per_call={"tensorflow": 32, "jax": 32},
    ),
    "cnn": FamilyRules(
        steps_per_epoch=50,
        batch_least=32,
        batch_most=128,
        learning_rate=1e-3,
        sgd_rate=0.05,
        warmup=0.1,
        weight_decay=0.05,
        clip_norm=1.0,
        label_smoothing=0.1,
        epochs=((1_000, 60), (20_000, 25), (ALL, 10)),
        steps_per_call={"tensorflow": 1, "jax": 1},
    ),
    "gpt": FamilyRules(
        steps_per_epoch=0,
        batch_least=8,
        batch_most=32,
        learning_rate=0.0,
        sgd_rate=0.05,
        warmup=0.05,
        weight_decay=0.1,
        clip_norm=1.0,
        label_smoothing=0.0,
        epochs=(),
        steps_per_call={"tensorflow": 32, "jax": 32},
    ),
    "file": FamilyRules(
        steps_per_epoch=100,
        batch_least=16,
        batch_most=128,
        learning_rate=1e-3,
        sgd_rate=0.05,
        warmup=0.05,
        weight_decay=0.01,
        clip_norm=1.0,
        label_smoothing=0.0,
        epochs=((2_000, 30), (100_000, 10), (ALL, 3)),
        steps_per_call={"tensorflow": 1, "jax": 1},
    ),
}

# GPT: the rate of GPT-3's smallest (Brown et al. 2020, table 2.1: 6e-4 at width 768), larger for narrower models.
GPT_RATE = 6e-4
GPT_RATE_WIDTH = 768
GPT_TOKENS_PER_WEIGHT = 50  # small models gain from far more text than the 20 of Hoffmann et al. 2022
GPT_TIMES_THROUGH = 40  # beyond this, even a small model mostly learns by heart
GPT_LEAST_STEPS = 300
GPT_LONG_CONTEXT = 256  # above it, a step holds few sequences

# How far a batch may grow with the chips, none of which should starve: as far as the learning rate reaches.
RATE_MOST = 5.7e-3  # AdamW's, of the families whose rate grows with the batch: beyond it training is rarely steady
GPT_TOKENS_A_STEP = 524_288  # GPT_RATE holds up to the batch that it was published with (Brown et al. 2020, table 2.1)
STEPS_LEFT = 1_000  # in the run at least: warm-up and cosine need steps, however many examples are in each

CNN_IMAGE_SIZES = (
    16,
    24,
    32,
    48,
    64,
)  # the largest that the pictures themselves have; more costs time and gains little
MLP_IMAGE_SIZE = 32
AUGMENT_UP_TO = 50_000  # pictures; with more there is variety enough
AUGMENT_FROM_SIDE = 16  # pixels; a shift of one pixel is too much for smaller ones

EVALUATION_SHARE = 0.1  # of the time, at most, goes into checks on unseen data
EVALUATIONS_AT_LEAST = 5  # in a run, so that the curve has a shape
CHECKPOINT_SECONDS = 45.0  # between two copies, once the speed is known
ON_PROCESSORS = ("computer", "practice")  # where steps are computed by a processor; a practice TPU is a process here
CHIP_STEPS_PER_CALL = {"cnn": 32, "file": 32}  # a step takes milliseconds there, and Python one between two calls
CALL_BYTES = 64 << 20  # of pictures that are handed over at once
CALLS_AT_LEAST = 20  # calls of the device in a run, so that progress can be seen and a stop is heard soon

HOURS_FACTOR = 1.5  # limits are this many times the high end of the estimate (docs/job-file.md)
COMPUTER_HOURS_LEAST = 0.17  # where a minute costs nothing, a limit is no reason to end before the first step
HOURS_LEAST = 0.05  # three minutes: a limit below that stops a run for a hiccup
