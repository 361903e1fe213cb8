"""How fast a training runs on a TPU: a physical model of one step, fitted to published measurements.

* ``workload`` reads what is asked, ``families`` knows what is usual, ``terms`` counts the physics;
* ``model`` holds the fitted numbers and predicts a range, ``estimate`` gives the answer;
* ``fit`` is for developers: it makes `resources/catalogue/throughput.json` (``tools/fit_throughput.py``).
"""

from __future__ import annotations

from tpu_studio.planner.throughput.estimate import Throughput, estimate
from tpu_studio.planner.throughput.workload import Notice, Workload, load, parse

__all__ = ["Notice", "Throughput", "Workload", "estimate", "load", "parse"]
