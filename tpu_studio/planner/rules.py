"""The numbers behind "auto", one table: change a figure here and every plan changes with it.

What differs between the families of models stands in ``wire.families``. The rules are general: sizes of data and
model go in, nothing knows a data set by name.
"""

from __future__ import annotations

# GPT: the rate of GPT-3's smallest (Brown et al. 2020, table 2.1: 6e-4 at width 768), larger for narrower models.
GPT_RATE = 6e-4
GPT_RATE_WIDTH = 768
GPT_TOKENS_PER_WEIGHT = 50  # small models gain from far more text than the 20 of Hoffmann et al. 2022
GPT_TIMES_THROUGH = 40  # beyond this, even a small model mostly memorises
GPT_LEAST_STEPS = 300
GPT_LONG_CONTEXT = 256  # above it, a step holds few sequences

# How far a batch may grow with the chips, none of which should starve: as far as the learning rate reaches.
RATE_MOST = 5.7e-3  # AdamW's, of the families whose rate grows with the batch: beyond it training is rarely steady
GPT_TOKENS_A_STEP = 524_288  # GPT_RATE holds up to the batch that it was published with (Brown et al. 2020, table 2.1)
TOKENS_A_CHIP = 16_384  # at once: beyond it a chip gains little, for the optimizer's share of its traffic is small
STEPS_LEFT = 1_000  # in the run at least: warm-up and cosine need steps, however many examples are in each

AUGMENT_UP_TO = 50_000  # pictures; with more there is variety enough
AUGMENT_FROM_SIDE = 16  # pixels; a shift of one pixel is too much for smaller ones

UNEVEN_CLASSES = 3.0  # times as many of the most frequent as of the rarest: from there on the rare ones count more

# Of a model that begins from starter weights, where they stay at first (how long: `Family.head_share`).
UNFREEZE_UP_TO = 5_000  # pictures, on a processor; with more, hours would go into the rest

EVALUATION_SHARE = 0.1  # of the time, at most, goes into checks on unseen data
EVALUATIONS_AT_LEAST = 5  # in a run, so that the curve has a shape
CHECKPOINT_SECONDS = 45.0  # between two copies, once the speed is known
CALL_BYTES = 64 << 20  # of pictures that are handed over at once
CALLS_AT_LEAST = 20  # calls of the device in a run, so that progress can be seen and a stop is heard soon

HOURS_FACTOR = 1.5  # limits are this many times the high end of the estimate (docs/job-file.md)
# Where a minute costs nothing, a limit is for what never ends: other programs may take most of the computer meanwhile.
COMPUTER_HOURS_FACTOR, COMPUTER_HOURS_LEAST = 4.0, 1.0
HOURS_LEAST = 0.05  # three minutes: a limit below that stops a run for a hiccup

LORA_RANK = 8  # Hu et al. 2021, section 7.2: four to eight suffice where every product has its matrices
