"""Runs read for a comparison (`domain.comparison`), whoever drives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tpu_studio.domain.comparison import Comparison, Contender, compare
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.ports import Following, RunSummary


class Readable(Protocol):
    """`Runs`, or `ReadingRuns` where nothing may be changed."""

    def summary(self, run: str) -> RunSummary: ...
    def follow(self, run: str) -> Following: ...


def compare_runs(runs: Readable, names: Sequence[str]) -> Comparison:
    """Raises RunError: no such run, or one that cannot be read; BadInput as `compare`."""
    return compare([contender(runs, name) for name in names])


def contender(runs: Readable, name: str) -> Contender:
    """The run as far as it has come down.

    Raises:
        RunError: no such run, or one that cannot be read.
    """
    row = runs.summary(name)
    if row.problem:
        raise RunError("run-unreadable", run=row.run, folder=str(row.folder))
    following = runs.follow(name)
    try:
        following.poll()
        plan, view = following.plan, following.view
    finally:
        following.close()
    return Contender(
        run=row.run,
        name=row.name,
        place=row.place,
        accelerator=plan.accelerator,
        task=plan.task,
        settings=_settings(plan),
        data=str(plan.data.get("fingerprint", "")),
        best={metric: value for metric, (value, _) in view.best.items()},
        time_s=row.duration_s,
        usd=row.usd,
        usd_most=row.usd_most,
        steps=row.step,
        is_over=row.over,
    )


def _settings(plan: Plan) -> dict[str, object]:
    """Of the plan, with the options of its model one by one."""
    values = {path: value for path, value in plan.job.values.items() if path != "model.options"}
    return values | {f"model.options.{name}": value for name, value in plan.options.items()}
