"""Figures that nobody publishes and the advice needs all the same: each named, with why it has this value.

`docs/advice.md` lists them with the rules that use them. A person who knows better for their account changes one here.
"""

from __future__ import annotations

import math

from tpu_studio.wire.plan import Range

# What an hour of waiting is worth, in dollars: decides between a free slow place and a fast one that costs.
WAIT_USD_PER_HOUR = 1.0
# Work that a place asks of the person, counted as waiting: a notebook opened and watched by hand; a GPU elsewhere.
COLAB_TROUBLE_H = 0.25
GPU_TROUBLE_H = 0.5
# Another slice, loan or place is advised only when it is better by this share and by this much money or waiting.
CLEARLY = 0.15
CLEARLY_USD = 0.10

# Hours of a spot TPU until Google takes it back. Not published; one note of 2026 tells of ten minutes, other runs last
# days. low: a good time; high: a bad one.
SPOT_LASTS_H = Range(48.0, 8.0, 2.0)

# The free TPU of Colab: one v5e chip; its users tell of sessions of one and a half hours (colabtools #5566, 2025).
COLAB_ACCELERATOR = "v5litepod-1"
COLAB_SESSION_S = 1.5 * 3600
COLAB_SETUP_S = Range(120.0, 240.0, 600.0)  # opened by hand, packages installed, compiled

# A GPU used with usual care reaches this share of its half-precision peak, or what one v5e chip reaches with the same
# work if that is less: small products fill neither. GPU_FLOAT32: of that in float32, where a T4 has 8 of 65 TFLOP/s, an
# L4 30 of 121, an A100 with TF32 156 of 312. GPU_AROUND: how far off that is. GPU_STEP_S: the time to start one step.
GPU_SHARE = 0.25
GPU_FLOAT32 = 0.25
GPU_AROUND = Range(1.8, 1.0, 0.35)
GPU_STEP_S = Range(0.001, 0.003, 0.008)

# Python between two calls of the device (about 1 ms with JAX; `planner.estimate` uses the same).
CALL_S = Range(0.0003, 0.001, 0.003)

# Pictures that do not lie in memory are read by processes of a machine (``wire.reading`` says how many), which together
# reach this share of as many times one core here: a vCPU is one of two threads of a core, and both together do a fifth
# to a third more than one alone (a judgement).
IN_MEMORY_BYTES = 2 * 2**30  # of decoded pictures, at most (``trainer.parts``)
READING_TOGETHER = Range(0.5, 0.65, 1.0)

# A folder of pretrained weights on its way, bytes a second; low is the good case. BUCKET: from a bucket to a machine in
# the same region, one range after the other; PRACTICE: the same on one computer. READ: from a machine's disk, with a
# hash. UPLOAD: from a home, 5 to 100 Mbit/s. All are judgements: no run of a person with such a folder was seen yet.
BUCKET_BYTES_PER_S = Range(200e6, 80e6, 20e6)
PRACTICE_BYTES_PER_S = Range(200e6, 80e6, 20e6)
READ_BYTES_PER_S = Range(1000e6, 400e6, 120e6)
UPLOAD_BYTES_PER_S = Range(12.5e6, 2.5e6, 0.625e6)
# What a TPU machine's disk holds before a run: its image, and what is installed for training, with what was fetched.
DISK_TAKEN_BYTES = 30 * 10**9

# Training that early stopping leaves out: often nothing, at times half (a judgement; Prechelt 1998 found that how much
# depends on the problem).
EARLY_STOPPING_SAVES = Range(0.0, 0.15, 0.5)

# Traffic out of a bucket into another region, dollars for a GB: low within North America, high between continents.
TRAFFIC_USD_PER_GB = Range(0.01, 0.02, 0.12)

USUAL_TIMES_TOO_MANY = 2.0  # times through the data, beyond this many times the usual number, rarely help


def spot_time(training: Range, again: Range, interval_s: float) -> Range:
    """*training* on a machine that is taken back now and then.

    Args:
        again: Seconds until the next machine trains.
        interval_s: Seconds between two copies: on average half of it is lost each time.
    """

    def longer(name: str) -> float:
        time, lasts = getattr(training, name), getattr(SPOT_LASTS_H, name) * 3600
        return float(time + time / lasts * (getattr(again, name) + min(interval_s, time) / 2))

    return Range(longer("low"), longer("expected"), longer("high"))


def best_interval_s(saving_s: float, lasts_s: float) -> float:
    """Seconds between two copies that lose least: √(2 · saving · mean time between losses), less the saving itself.

    Young 1974, A first order approximation to the optimum checkpoint interval (CACM 17); Daly 2006, A higher order
    estimate of the optimum checkpoint interval for restart dumps (FGCS 22): this is its first order.
    """
    return max(1.0, math.sqrt(2 * saving_s * lasts_s) - saving_s)
