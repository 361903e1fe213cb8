"""The words and tables of a plan's page, for a browser; ``printed`` puts the same on paper. Takes the finished plan
alone; whatever came from outside is escaped.
"""

from __future__ import annotations

import html
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import title_of
from tpu_studio.domain.sentences import say_check
from tpu_studio.domain.sentences.advice import about
from tpu_studio.domain.sentences.bases import begins_from
from tpu_studio.planner.broken import broken
from tpu_studio.planner.report.besides import besides
from tpu_studio.planner.report.cap import cap, nets
from tpu_studio.planner.report.frame import FRAME, STYLE
from tpu_studio.planner.report.plot import Point, plot
from tpu_studio.wire import frameworks, loans, models, places
from tpu_studio.wire.plan import Check, Plan, Range
from tpu_studio.wire.planparts import Alternative
from tpu_studio.wire.records import whole
from tpu_studio.wire.schema import KEYS, concerns
from tpu_studio.wire.visible import visible

_MARKS = {"error": "In the way", "warning": "Look at this", "info": "Good to know", "ok": "In order"}


def page(plan: Plan) -> str:
    """One HTML document: no script, nothing fetched, light and dark."""
    ways = ways_of(plan)
    advice = [check for check in plan.checks if check.id.startswith("advice-")]
    checks = [check for check in plan.checks if check not in advice]
    return FRAME.format(
        style=STYLE,
        title=_e(plan.job.name),
        lead=_e(lead(plan)),
        numbers="".join(
            f'<div class="number"><span>{_e(label)}</span><strong>{_e(value)}</strong><em>{_e(more)}</em></div>'
            for label, value, more in numbers(plan)
        ),
        answer=_e(answer(plan)),
        why=_e(plan.verdict.why if plan.verdict else ""),
        plot=_section("Time against money", _plot(ways), "plot"),
        ways=_section("Where else", _ways(ways)),
        advice=_section("Advice", _notes(advice)),
        checks=_section("Checks", _notes(checks)),
        run=_rows(run_rows(plan)),
        settings="".join(
            f"<tr><th>{_e(title)}</th><td>{_e(value)}</td><td>{_e(why)}</td></tr>"
            for title, value, why in setting_rows(plan)
        ),
        made=_e(made_by(plan)),
    )


def lead(plan: Plan) -> str:
    return f"A plan for {places.by_id(plan.place).short}: {_model(plan)} on {_data(plan)}."


def made_by(plan: Plan) -> str:
    return f"Made by {plan.app or 'TPU Studio'} on {time.strftime('%d %B %Y', time.gmtime(plan.created))}"


def ways_of(plan: Plan) -> list[Way]:
    """Alternatives with a known price, each told whether something else is both quicker and cheaper."""
    ways = [Way(one, one.cost_usd, plan) for one in plan.alternatives if one.cost_usd]
    for way in ways:
        way.front = not any(other.beats(way) for other in ways)
    return ways


class Way:
    """One alternative, with its place on the page."""

    def __init__(self, told: Alternative, cost: Range, plan: Plan) -> None:
        self.time, self.cost = told.time_s, cost
        self.place, self.accelerator, self.tier = told.place, told.accelerator, told.tier
        self.front = False
        same = self.place == plan.place and self.accelerator == plan.accelerator
        self.planned = same and (not places.by_id(self.place).charges or self.tier == plan.job.where.tier)

    @property
    def name(self) -> str:
        if places.by_id(self.place).charges:
            return loans.beside(title_of(self.accelerator), self.tier)
        return places.by_id(self.place).short

    def beats(self, other: Way) -> bool:
        mine, its = (self.time.expected, self.cost.expected), (other.time.expected, other.cost.expected)
        return mine[0] <= its[0] and mine[1] <= its[1] and mine != its


def answer(plan: Plan) -> str:
    """Whether a TPU is worth it, in a few words."""
    verdict = plan.verdict
    if verdict is None or (instead := verdict.instead) is None:
        if verdict is None or not verdict.worth_it:
            return "Not like this."
        return "No: stay on this computer." if places.by_id(plan.place).local else "Yes, as planned."
    if instead == "gpu":
        return "A GPU would do it for less."
    if stay := places.by_id(instead).stay:
        return stay
    return f"Yes, on {title_of(str(instead))}."


def numbers(plan: Plan) -> list[tuple[str, str, str]]:
    """Label, value and a word more of the largest figures; none of a model that cannot run."""
    told: list[tuple[str, str, str]] = []
    if broken(plan) is not None:
        return []  # what is wrong stands in the verdict and among the checks
    if plan.time_s:
        told.append(("Time, set-up included", about(plan.time_s.expected), _range(plan.time_s, about)))
    if plan.cost_usd and plan.price:
        usual = "practice dollars" if places.by_id(plan.place).rehearses else plan.price.as_of or ""
        note = f"{_range(plan.cost_usd, figures.money)}{f', price of {usual}' if usual else ''}"
        told.append(("Cost", figures.money(plan.cost_usd.expected), note))
    else:
        told.append(("Cost", "free" if places.by_id(plan.place).free else "not known", ""))
    if plan.examples_per_s:
        noun = figures.noun(plan.job.data.kind, plan.task)
        speed = f"{figures.figure(plan.examples_per_s.expected)} {noun}/s"
        told.append(("Speed", speed, _range(plan.examples_per_s, figures.figure)))
    need, limit = plan.memory.device_bytes, plan.memory.limit_bytes
    if need and limit:
        by = "by the TPU compiler" if plan.memory.compiled else "estimated"
        fits = f"{'fits' if plan.fits else 'does not fit'}, of {figures.size(limit)}, {by}"
        told.append(("Memory", figures.size(need), fits))
    return told


def _range(value: Range, words: Any) -> str:
    low, high = words(value.low), words(value.high)
    return f"{low} to {high}" if low != high else f"about {low}"


PLOT_NOTE = "Ring: as planned. Joined: nothing else is both quicker and cheaper. The table has the ranges."


def drawn(ways: Sequence[Way]) -> str:
    return plot([Point(way.name, way.time.expected, way.cost.expected, way.front, way.planned) for way in ways])


def _plot(ways: Sequence[Way]) -> str:
    return f'{svg}<p class="more">{PLOT_NOTE}</p>' if (svg := drawn(ways)) else ""


def way_cells(way: Way) -> tuple[str, str, str, str]:
    """Time, its range, cost, its range."""
    return (about(way.time.expected), _range(way.time, about), *_costs(way.cost))


def _ways(ways: Sequence[Way]) -> str:
    if not ways:
        return ""
    rows = ["<tr><th>Place</th><th>Time</th><th>from – to</th><th>Cost</th><th>from – to</th></tr>"]
    for way in ways:
        kind = "planned" if way.planned else "" if way.front else "beaten"
        rows.append(
            f'<tr class="{kind}"><td>{_e(way.name)}{" (as planned)" if way.planned else ""}</td>'
            + "".join(f'<td class="n">{_e(cell)}</td>' for cell in way_cells(way))
            + "</tr>"
        )
    return f'<table>{"".join(rows)}</table><p class="more">Grey: something else is both quicker and cheaper.</p>'


def _costs(cost: Range) -> tuple[str, str]:
    return (figures.money(cost.expected), _range(cost, figures.money)) if cost.expected else ("free", "")


def _notes(checks: Sequence[Check]) -> str:
    items = []
    for check in checks:
        said = say_check(check.id, check.title, check.facts)
        more = " ".join(part for part in (said.meaning, "" if check.fix else said.action) if part)
        mark = _e(_MARKS.get(check.level, ""))
        items.append(
            f'<li class="{_e(check.level)}"><b>{_e(said.title)}</b> <span class="more">{mark}</span>'
            f"{f'<p>{_e(more)}</p>' if more else ''}{_fix(check.fix)}</li>"
        )
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _fix(fix: Mapping[str, object] | None) -> str:
    """What to write for it on the command line."""
    if not fix:
        return ""
    told = " ".join(f"<code>{_e(path)} = {_e(json.dumps(value))}</code>" for path, value in fix.items())
    return f"<p>In the job file: {told}</p>"


def run_rows(plan: Plan) -> list[tuple[str, str]]:
    limits, job = plan.limits, plan.job
    batch = job.training.global_batch
    told = [
        ("Model", _model(plan)),
        ("Data", _data(plan)),
        ("Steps", f"{plan.steps:,} of {batch:,} {figures.noun(job.data.kind, plan.task)}"),
        ("Framework", frameworks.title_of(plan.framework)),
        ("Runs on", _machine(plan)),
    ]
    if places.by_id(plan.place).rents:
        told.append(("Rented", f"{job.where.tier}, in {', '.join(job.where.zones)}"))
        if plan.price:
            as_of = f" (as of {plan.price.as_of})" if plan.price.as_of else ""
            as_of = " (the price in the job)" if plan.price.from_job else as_of
            told.append(("Price", f"{figures.money(plan.price.usd_per_hour)} an hour{as_of}"))
        told += [(f"Besides: {one.title}", f"{one.cost}. {one.how} {one.source}") for one in besides(plan)]
        told += [("Stops when it has cost", cap(plan)), ("Ended by", nets(plan))]
    elif limits.money_usd:
        told.append(("Stops when it has cost", figures.money(limits.money_usd)))
    if limits.hours:
        told.append(("Stops after", figures.duration(limits.hours * 3600)))
    if why := plan.reasons.get("estimate"):
        told.append(("The estimate", why))
    return told


def _machine(plan: Plan) -> str:
    """`v5e · 1 chip (v5litepod-1)`"""
    if places.by_id(plan.place).local:
        return "this computer's processor"
    title = title_of(plan.accelerator)
    return title if title == plan.accelerator else f"{title} ({plan.accelerator})"


def setting_rows(plan: Plan) -> list[tuple[str, str, str]]:
    """Title, value and reason of what was chosen, by the person or by a rule; usual values and files are left out."""
    rows = []
    for key in KEYS:
        value, why = plan.job[key.path], plan.reasons.get(key.path)
        chosen = why or value != key.default
        if (
            key.table in ("training", "data")
            and chosen
            and key.kind != "path"
            and concerns(key, plan.job.data.kind, plan.task)
        ):
            rows.append((key.title or key.path, plain(value), why or "As given."))
    return rows


def plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return json.dumps(value) if isinstance(value, (dict, list)) else str(value)


def _model(plan: Plan) -> str:
    params = plan.memory.params
    known = models.BY_NAME.get(str(plan.job.model.name))
    name = known.title if known else str(plan.job.model.name or plan.job.model.file or "").rpartition("/")[2]
    told = f"{name}, {params:,} weights" if params else name
    return ", ".join(filter(None, (told, begins_from(plan.job.model.starts_from))))


def _data(plan: Plan) -> str:
    kind = plan.job.data.kind
    name = (plan.job.data.path or "").rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    examples = whole(plan.data.get("examples"))
    count = f"{examples:,} {figures.noun(kind, plan.task)}" if examples else figures.noun(kind, plan.task)
    return f"{name} ({count})" if name else count


def _rows(rows: Sequence[tuple[str, str]]) -> str:
    return "".join(f"<tr><th>{_e(label)}</th><td>{_e(value)}</td></tr>" for label, value in rows)


def _section(title: str, inside: str, kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f"<section{of_kind}><h2>{_e(title)}</h2>{inside}</section>" if inside else ""


def _e(text: str) -> str:
    return html.escape(visible(text))
