"""``compare``: runs laid beside each other: which is better, by how much, and whether that is more than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tpu_studio.cli import paging
from tpu_studio.cli.output import Output, table
from tpu_studio.cli.parser import Arguments
from tpu_studio.cli.studio import studio
from tpu_studio.domain import figures
from tpu_studio.wire import brief

if TYPE_CHECKING:
    from tpu_studio.domain.comparison import Comparison, Contender

NAME = 32  # letters of it
SHOWN = 6  # settings that differ, in words; JSON has all


def compare(arguments: Arguments, output: Output) -> int:
    from tpu_studio.workflow.comparing import compare_runs

    if paging.is_asked_for(arguments):
        return _save_page(arguments, output)
    with studio() as services:
        found = compare_runs(services.reading, arguments.runs)
    output.answer(as_json(found), _words(found))
    return 0


def _save_page(arguments: Arguments, output: Output) -> int:
    from tpu_studio.viewmodels.onepage.comparison import page_of_comparison

    with studio() as services:
        made = page_of_comparison(services.reading, arguments.runs)
    told = paging.save_page(made.page, arguments, output)
    output.answer({**as_json(made.comparison), **told}, str(told["file"]))
    return 0


def as_json(found: Comparison) -> dict[str, Any]:
    finding = found.finding
    return {
        "metric": found.metric or None,
        "finding": {
            "title": finding.title,
            "text": finding.text,
            "best": finding.best or None,
            "p": finding.p,
            "same_money": finding.same_money or None,
        },
        "differing": list(found.differing),
        "sides": [
            {"runs": list(side.runs), "values": list(side.values), "mean": side.mean, "cost_usd": side.usd}
            for side in found.sides
        ],
        "runs": [
            {
                "run": one.run,
                "name": one.name,
                "place": one.place,
                "accelerator": one.accelerator,
                "task": one.task,
                "steps": one.steps,
                "time_s": one.time_s,
                "cost_usd": one.usd,
                "over": one.is_over,
                "star": one.mark.star,
                "tags": list(one.mark.tags),
                "best": dict(one.best),
                "settings": {path: one.settings.get(path) for path in found.differing},
            }
            for one in found.contenders
        ],
    }


def _words(found: Comparison) -> str:
    from tpu_studio.viewmodels.comparing import title_of
    from tpu_studio.wire import metrics

    title = metrics.by_id(found.metric).title if found.metric else ""
    shown = found.differing[:SHOWN]
    rows = [["Run", "Name", *([title] if title else []), "Time", "Cost", *map(title_of, shown)]]
    order = [run for side in found.sides for run in side.runs]
    ranked = sorted(found.contenders, key=lambda one: order.index(one.run) if one.run in order else len(order))
    rows += [_row(found, one, shown) for one in ranked]
    left = len(found.differing) - len(shown)
    more = f"{left} more settings differ: --json tells them." if left > 0 else ""
    head = "\n".join(filter(None, (found.finding.title, found.finding.text, found.finding.same_money)))
    return "\n\n".join(filter(None, (head, table(rows), more)))


def _row(found: Comparison, one: Contender, shown: tuple[str, ...]) -> list[str]:
    measured = [figures.metric(found.metric, found.value(one))] if found.metric else []
    from tpu_studio.viewmodels.comparing import spelled

    settings = [spelled(one.settings.get(path)) for path in shown]
    return [
        one.run,
        brief.cut(one.name, NAME),
        *measured,
        figures.duration(one.time_s),
        figures.money(one.usd),
        *settings,
    ]
