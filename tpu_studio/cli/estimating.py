"""``estimate``: how fast a described workload trains on a TPU slice. Reads one JSON file; starts and rents nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpu_studio.cli.output import Output, table
from tpu_studio.cli.parser import Arguments

if TYPE_CHECKING:
    from tpu_studio.planner.throughput import Throughput
    from tpu_studio.wire.plan import Range

LIMITED_BY = {
    "compute": "the matrix units of the chips",
    "memory": "the chips' memory",
    "network": "the network between the chips",
    "input": "the host that prepares the data",
    "overhead": "starting each step: a larger batch would help",
}


def estimate(arguments: Arguments, output: Output) -> int:
    from tpu_studio.domain.catalogue import catalogue
    from tpu_studio.domain.sentences import say_notice
    from tpu_studio.planner.throughput import estimate as estimated
    from tpu_studio.planner.throughput import load

    known = catalogue()
    workload, notices = load(arguments.workload, known)
    answer = estimated(workload, known, notices=notices)
    for notice in answer.notices:
        said = say_notice(notice.id, notice.facts)
        output.say(f"{said.title}. {said.meaning}".rstrip())
    output.answer(answer.to_json(), _text(answer))
    return 0


def _text(answer: Throughput) -> str:
    from tpu_studio.domain import figures

    def row(name: str, of: Range, show: str) -> list[str]:
        told = [
            figures.share(value) if show == "share" else figures.figure(value)
            for value in (of.low, of.expected, of.high)
        ]
        return [name, *told]

    rows = [["", "low", "expected", "high"], row(f"{answer.unit}s/s", answer.units_per_s, "figure")]
    if answer.step_time_s:
        rows.append(row("seconds a step", answer.step_time_s, "figure"))
    rows.append(row("of the chips' peak", answer.mfu, "share"))
    return f"{table(rows, right=(1, 2, 3))}\nlimited by {LIMITED_BY[answer.limited_by]}"
