"""Practice numbers: what this computer tells of the training program, in the words in which libtpu tells of a TPU.

Found on a practice machine under libtpu's own name, so that a rehearsal is read by the same code as a TPU. Nothing here
is a TPU's: "duty cycle" is the share of this computer's processors that training kept busy since the last question,
"memory in use" what the training program holds, divided evenly among the chips. Only the size of a chip's memory is
that of the TPU which is rehearsed. The training program is whoever started the process that asks.
"""

import os
import time

import psutil

CHIPS = int(os.environ.get("TPU_STUDIO_PRACTICE_CHIPS", "1"))
HBM_BYTES = int(os.environ.get("TPU_STUDIO_PRACTICE_HBM_BYTES", str(16 * 2**30)))


class Metric:
    def __init__(self, description, each):
        self._description, self._each = description, each

    def description(self):
        return self._description

    def data(self):
        """One string a chip; none while there is nothing to tell, as libtpu does."""
        return [] if self._each is None else [self._each] * CHIPS


class _Training:
    def __init__(self):
        self.process = psutil.Process(os.getppid())
        self.before = self._spent()

    def _spent(self):
        times = self.process.cpu_times()
        return time.monotonic(), times.user + times.system

    def busy_percent(self):
        """Of all processors that may be used, since it was asked last; None the first time, just after the start."""
        (then, before), self.before = self.before, self._spent()
        now, spent = self.before
        if now - then < 0.5:
            return None
        return min(100.0, 100.0 * (spent - before) / (now - then) / _processors())

    def bytes_a_chip(self):
        return self.process.memory_info().rss // CHIPS


def _processors():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_training = _Training()


def list_supported_metrics():
    return ["duty_cycle_pct", "hbm_capacity_total", "hbm_capacity_usage"]


def get_metric(name):
    if name == "duty_cycle_pct":
        busy = _training.busy_percent()
        return Metric("practice: processors of this computer, %", None if busy is None else f"{busy:.2f}")
    if name == "hbm_capacity_usage":
        return Metric("practice: memory of the training program, bytes", str(_training.bytes_a_chip()))
    if name == "hbm_capacity_total":
        return Metric("practice: memory of a chip of the rehearsed TPU, bytes", str(HBM_BYTES))
    raise ValueError(f"no such metric: {name}")
