"""What this person's own runs teach the estimate: measured against modelled, laid over the model's next answer.

* ``record`` reads from a run's plan and its events what was planned and what was measured;
* ``likeness`` says how much two trainings have in common;
* ``learn`` turns the differences into a correction with an honest width; ``own`` holds the runs and applies it.

Runs at different places never teach each other: a practice machine's speed is this computer's, not a TPU's.
"""

from __future__ import annotations

from tpu_studio.planner.own.own import NOTHING, Lesson, Mine, OwnRuns, of_workload
from tpu_studio.planner.own.record import OwnRun, record_of, runs_of

__all__ = ["NOTHING", "Lesson", "Mine", "OwnRun", "OwnRuns", "of_workload", "record_of", "runs_of"]
