"""A run that a notebook trains: launched and its notebook written, or neither."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from tpu_studio.wire.plan import Plan

T = TypeVar("T")


class Launcher(Protocol):
    """What is needed of `runs.Runs`."""

    def launch(self, plan: Plan, *, beside: bool = False, notebook: bool = False) -> str: ...
    def plan(self, run: str) -> Plan: ...
    def delete(self, run: str) -> object: ...


def launched(runs: Launcher, plan: Plan, write: Callable[[Plan], T]) -> tuple[str, T]:
    """Freeze *plan* as a run that waits for its zip, and have *write* make the notebook of the frozen plan.

    Raises what `Runs.launch` and *write* raise; the run is deleted again then.
    """
    run = runs.launch(plan, notebook=True)
    try:
        return run, write(runs.plan(run))
    except BaseException:
        runs.delete(run)
        raise
