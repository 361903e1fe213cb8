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
    lesson = None
    if arguments.own_runs:
        from tpu_studio.cli.studio import studio
        from tpu_studio.planner.own import of_workload

        with studio() as services:
            answer, lesson = of_workload(services.own_runs(), workload, answer, known)
        output.say(lesson.words if lesson else "None of your own runs on real TPUs is like it.")
    for notice in answer.notices:
        said = say_notice(notice.id, notice.facts)
        output.say(f"{said.title}. {said.meaning}".rstrip())
    own = lesson.to_json() if lesson else None  # None also without --own-runs: then the model alone answers
    output.answer({**answer.to_json(), "own_runs": own}, _text(answer))
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
