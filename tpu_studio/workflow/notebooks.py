"""A run that a notebook trains: launched and its notebook written, or neither."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.runs import Runs

T = TypeVar("T")


def launched(runs: Runs, plan: Plan, write: Callable[[Plan], T]) -> tuple[str, T]:
    """Freeze *plan* as a run that waits for its zip, and have *write* make the notebook of the frozen plan.

    Raises what `Runs.launch` and *write* raise; the run is deleted again then.
    """
    run = runs.launch(plan)
    try:
        return run, write(runs.plan(run))
    except BaseException:
        runs.delete(run)
        raise
