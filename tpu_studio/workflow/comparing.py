"""Runs read for a comparison (`domain.comparison`), whoever drives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tpu_studio.domain.comparison import Comparison, Contender, compare
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.phases import Status
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.ports import Curve, Following, RunSummary


class Readable(Protocol):
    """`Runs`, or `ReadingRuns` where nothing may be changed."""

    def summary(self, run: str) -> RunSummary: ...
    def follow(self, run: str) -> Following: ...


class Reading:
    """One run that is compared, held open. Blocks.

    Raises:
        RunError: no such run, or one that cannot be read.
    """

    def __init__(self, runs: Readable, run: str) -> None:
        row = runs.summary(run)
        if row.problem:
            raise RunError("run-unreadable", run=row.run, folder=str(row.folder))
        self._runs, self.run, self.folder = runs, row.run, row.folder
        self._following = runs.follow(row.run)
        self.contender = _contender(row, self._following)

    def poll(self) -> None:
        """What has come down since."""
        self._following.poll()
        self.contender = _contender(self._runs.summary(self.run), self._following)

    def metrics(self) -> tuple[str, ...]:
        return tuple(self._following.metrics)

    def curve(self, metric: str) -> Curve:
        return self._following.curve(metric)

    def begun(self) -> tuple[float, ...]:
        """When training began, and began again."""
        return self._following.view.begun

    @property
    def plan(self) -> Plan:
        return self._following.plan

    def close(self) -> None:
        self._following.close()


def compare_runs(runs: Readable, names: Sequence[str]) -> Comparison:
    """Raises RunError: no such run, or one that cannot be read; BadInput as `compare`."""
    contenders = []
    for name in names:
        reading = Reading(runs, name)
        try:
            reading.poll()
            contenders.append(reading.contender)
        finally:
            reading.close()
    return compare(contenders)


def _contender(row: RunSummary, following: Following) -> Contender:
    plan = following.plan
    return Contender(
        run=row.run,
        name=row.name,
        place=row.place,
        accelerator=plan.accelerator,
        task=plan.task,
        settings=_settings(plan),
        data=str(plan.data.get("fingerprint", "")),
        best={metric: value for metric, (value, _) in following.view.best.items()},
        time_s=row.duration_s,
        usd=row.usd,
        usd_most=row.usd_most,
        steps=row.step,
        is_over=row.over,
        is_whole=not row.over or row.status == Status.FINISHED.value,
    )


def _settings(plan: Plan) -> dict[str, object]:
    """Of the plan, with the options of its model one by one."""
    values = {path: value for path, value in plan.job.values.items() if path != "model.options"}
    return values | {f"model.options.{name}": value for name, value in plan.options.items()}
