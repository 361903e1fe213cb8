"""Runs of mine that a model can begin from (transfer learning): which suit the data, and how each is told. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.viewmodels.runrows import RunRow
from tpu_studio.wire import bases, kinds
from tpu_studio.wire.job import Job
from tpu_studio.wire.models import BY_NAME, begins_others
from tpu_studio.wire.runfolder import result_folder

MOST = 30  # that are offered, the newest


@dataclass(frozen=True)
class BaseChoice:
    """*text*: `Small CNN · accuracy 99.1% · 21 Nov, 14:02`. *example*: of its data; "record" may be any."""

    run: str
    name: str
    model: str
    text: str
    example: str
    folder: Path

    @property
    def changes(self) -> dict[str, object]:
        return {"model.name": self.model, "model.preset": f"{bases.PREFIX}{self.run}"}


def of_rows(rows: Iterable[RunRow]) -> tuple[BaseChoice, ...]:
    """Of the runs that are over; whether one has a result is looked at when they are shown (`with_result`)."""
    return tuple(_choice(row) for row in rows if row.over and not row.problem and begins_others(row.model))


def suited(choices: tuple[BaseChoice, ...], job: Job) -> tuple[BaseChoice, ...]:
    """Those whose data was of the kind of *job*'s; while none is chosen, all."""
    kind = kinds.find(job.data.kind)
    if kind is None or kind.is_converted:
        return choices
    both = (kind.example, "record")
    return tuple(one for one in choices if one.example in both)


def with_result(choices: tuple[BaseChoice, ...]) -> tuple[BaseChoice, ...]:
    return tuple(one for one in choices if (result_folder(one.folder) / bases.MODEL).is_file())[:MOST]


def run_in(job: Job) -> str:
    """The run that the model of *job* begins from; "" where there is none."""
    return bases.run_of(job.model.starts_from)


def _choice(row: RunRow) -> BaseChoice:
    kind = kinds.find(row.kind)
    told = [BY_NAME[row.model].title, *([f"{row.metric_name} {row.metric}"] if row.metric else []), row.when]
    example = kind.example if kind else "record"
    return BaseChoice(row.run, row.name, row.model, " · ".join(told), example, row.folder)
