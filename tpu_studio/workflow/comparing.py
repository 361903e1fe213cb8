"""Runs read for a comparison (`domain.comparison`), whoever drives them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final, Protocol

from tpu_studio.domain.comparison import Comparison, Contender, compare, same_money
from tpu_studio.domain.spending import Spending
from tpu_studio.wire import metrics, places
from tpu_studio.wire.brief import cut
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.phases import Status
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.ports import Curve, Following, RunSummary

_COST: Final = "usd"  # what the store calls the curve of dollars
_POINTS: Final = 2000
_COLUMN: Final = 500  # letters of its name
_LEAST_OF_BILL: Final = 0.5  # what a machine tells ends before its deletion, and may be of its own making


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
        row = _readable(runs, run)
        self._runs, self.run, self.folder = runs, row.run, row.folder
        self._following = runs.follow(row.run)
        self._spending: Spending | None = None
        self.contender = _contender(row, self._following)

    def poll(self) -> None:
        """What has come down since. Raises as the beginning."""
        self._summary()
        self._following.poll()
        self.contender = _contender(self._summary(), self._following)

    def has_changed(self) -> bool:
        """Whether it is called or marked otherwise than when it was last read, or goes on again. Raises as the
        beginning."""
        row, known = self._summary(), self.contender
        return (row.name, row.mark, row.over) != (known.name, known.mark, known.is_over)

    def _summary(self) -> RunSummary:
        row = _readable(self._runs, self.run)
        if row.run != self.run:  # it was deleted, and another's id begins so
            raise RunError("run-unknown", run=self.run)
        return row

    def metrics(self) -> tuple[str, ...]:
        return tuple(self._following.metrics)

    def curve(self, metric: str) -> Curve:
        return self._following.curve(metric)

    def spending(self) -> Spending | None:
        """What it had spent when; None where nothing is known, or a rented machine told of far less than was billed."""
        if _COST not in self.metrics():
            return None
        curve = self.curve(_COST)
        if self._spending is None or self._spending.curve is not curve:
            self._spending = Spending(curve)
        billed = self.contender.usd if self.contender.is_over and places.by_id(self.plan.place).rents else 0.0
        known = self._spending.is_known and self._spending.total >= _LEAST_OF_BILL * billed
        return self._spending if known else None

    def best_by(self, metric: str, usd: float) -> float | None:
        """The best value of *metric* by the time that *usd* was spent; None: it had none."""
        spending = self.spending()
        if spending is None or metric not in self.metrics():
            return None
        until = spending.when(usd)
        t, low, high = self.curve(metric).window(0.0, until, _POINTS, "time")
        known = metrics.by_id(metric)
        values = (high if known.better == "higher" else low)[t <= until].tolist()
        values = [value for value in values if known.may_be(value)]  # no gaps, and nothing of a run that diverged
        if not values:
            return None
        return float(max(values) if known.better == "higher" else min(values))

    def begun(self) -> tuple[float, ...]:
        """When training began, and began again."""
        return self._following.view.begun

    @property
    def plan(self) -> Plan:
        return self._following.plan

    def close(self) -> None:
        self._following.close()


def _readable(runs: Readable, run: str) -> RunSummary:
    row = runs.summary(run)
    if row.problem:
        raise RunError(row.problem, run=row.run, folder=str(row.folder))
    return row


def compare_runs(runs: Readable, names: Sequence[str]) -> Comparison:
    """Raises RunError: no such run, or one that cannot be read; BadInput as `compare`."""
    with ExitStack() as opened:
        readings: list[Reading] = []
        for name in names:
            readings.append(reading := Reading(runs, name))
            opened.callback(reading.close)
            reading.poll()
        return judge(readings)


def judge(readings: Sequence[Reading]) -> Comparison:
    """What is found of runs that are open. Raises BadInput as `compare`."""
    found = compare([reading.contender for reading in readings])
    by_run = {reading.run: reading for reading in readings}
    spent = {run: spending.total for run, one in by_run.items() if (spending := one.spending()) is not None}
    return same_money(found, spent, lambda run, usd: by_run[run].best_by(found.metric, usd))


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
        mark=row.mark,
        is_over=row.over,
        is_whole=not row.over or row.status == Status.FINISHED.value,
        weights=plan.preset_sha256,
    )


def _settings(plan: Plan) -> dict[str, object]:
    """Of the plan, with the options of its model one by one, and the target column that the look has found."""
    values = {path: value for path, value in plan.job.values.items() if path != "model.options"}
    values["data.target"] = values["data.target"] or cut(str(plan.data.get("target") or ""), _COLUMN) or None
    return values | {f"model.options.{name}": value for name, value in plan.options.items()}
