"""A plan's page for paper: the same words as ``page``, in the plainer HTML that Qt can lay out and print as PDF.

Qt knows tables, colours and page breaks, and no grid, no CSS variables and no SVG inside a text. So boxes are tables,
and the plot comes beside the text, to be drawn where `PLOT` stands.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass

from tpu_studio.domain.sentences import say_check
from tpu_studio.planner.report import page as pages
from tpu_studio.planner.report.plot import HEIGHT, WIDTH
from tpu_studio.wire.plan import Check, Plan
from tpu_studio.wire.visible import visible

PLOT = "\ufffc"
"""One character: where the plot belongs. Absent where there is none."""
TEXT, TEXT_2, TEXT_3, BORDER, ACCENT, ACCENT_TINT = "#15181e", "#4a5160", "#626a79", "#e1e4ea", "#3457d5", "#e8edfc"
_LEVELS = {"error": "#b3261e", "warning": "#8f5200"}
_STYLES = {  # of the plot, which takes its colours from the page on a screen
    "grid": f'stroke="{BORDER}"',
    "axis": f'stroke="{TEXT_3}"',
    "front": f'stroke="{ACCENT}" stroke-width="1.5" stroke-dasharray="4 4"',
    "other": f'fill="{TEXT_3}" opacity="0.55"',
    "best": f'fill="{ACCENT}"',
    "planned": f'fill="#ffffff" stroke="{ACCENT}" stroke-width="3"',
    "name": f'fill="{TEXT}" font-weight="500"',
}


@dataclass(frozen=True)
class Printed:
    """*text*: HTML; *plot*: an SVG document of *size*, "" where there is nothing to draw."""

    text: str
    plot: str
    size: tuple[int, int] = (WIDTH, HEIGHT)


def printed(plan: Plan) -> Printed:
    ways = pages.ways_of(plan)
    drawn = pages.drawn(ways)
    advice = [check for check in plan.checks if check.id.startswith("advice-")]
    checks = [check for check in plan.checks if check not in advice and check.level != "ok"]
    fine = [say_check(one.id, one.title, one.facts).title for one in plan.checks if one.level == "ok"]
    parts = [
        f'<p class="h1">{_e(plan.job.name)}</p><p class="lead">{_e(pages.lead(plan))}</p>',
        _numbers(plan),
        _verdict(plan),
        _section("Time against money", f'<p class="plot">{PLOT}</p><p class="more">{_e(pages.PLOT_NOTE)}</p>')
        if drawn
        else "",
        _section("Where else", _ways(ways)) if ways else "",
        _section("Advice", "".join(map(_note, advice))) if advice else "",
        _section(
            "Checks",
            "".join(map(_note, checks)) + (f'<p class="more">In order: {_e(", ".join(fine))}.</p>' if fine else ""),
        )
        if checks or fine
        else "",
        _section("What will be run", _table([[_head(label), _e(value)] for label, value in pages.run_rows(plan)])),
        _section("Settings and why", _table([[_head(a), _e(b), _e(c)] for a, b, c in pages.setting_rows(plan)])),
        f'<p class="more" style="margin-top:12px">{_e(pages.made_by(plan))}. Nothing was rented for this page.</p>',
    ]
    return Printed(f"<html><head><style>{_CSS}</style></head><body>{''.join(parts)}</body></html>", plain_svg(drawn))


def plain_svg(drawn: str) -> str:
    """The plot with its colours in each element, as a document of its own."""
    if not drawn:
        return ""
    svg = re.sub(r'class="(\w+)"', lambda found: _STYLES.get(found[1], ""), drawn)
    svg = re.sub(r"<title>.*?</title>", "", svg, flags=re.DOTALL)
    text = f'<text font-family="Inter" font-size="11.5" fill="{TEXT_3}"'
    svg = re.sub(r"<text (?=[^>]*fill=)", '<text font-family="Inter" font-size="11.5" ', svg)
    svg = re.sub(r"<text (?![^>]*font-family)", f"{text} ", svg)
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


_CSS = f"""
body {{ color: {TEXT}; font-family: Inter; font-size: 9pt; }}
p {{ margin: 0 0 3px 0; }}
.h1 {{ font-size: 19pt; font-weight: 600; }}
h2 {{ font-size: 11pt; font-weight: 600; margin: 14px 0 4px 0; }}
.lead {{ color: {TEXT_2}; margin-bottom: 10px; }}
.more, .small {{ color: {TEXT_3}; font-size: 8pt; }}
.value {{ font-size: 12pt; font-weight: 600; }}
.answer {{ font-size: 12pt; font-weight: 600; }}
.plot {{ margin-top: 4px; }}
td {{ padding: 3px 10px 3px 0; }}
.box {{ padding: 8px 10px; }}
.note {{ margin: 5px 0 0 0; }}
.code {{ font-family: JetBrains Mono; font-size: 8pt; }}
"""


def _numbers(plan: Plan) -> str:
    told = pages.numbers(plan)
    if not told:
        return ""
    cells = "".join(
        f'<td class="box" width="{100 // len(told)}%" bgcolor="#f5f6f8"><p class="small">{_e(label)}</p>'
        f'<p class="value">{_e(value)}</p><p class="small">{_e(more)}</p></td>'
        for label, value, more in told
    )
    return f'<table width="100%" cellspacing="4"><tr>{cells}</tr></table>'


def _verdict(plan: Plan) -> str:
    why = plan.verdict.why if plan.verdict else ""
    if not why:
        return ""
    return (
        f'<table width="100%" cellspacing="4"><tr><td class="box" bgcolor="{ACCENT_TINT}">'
        f'<p class="small">Is a TPU worth it?</p><p class="answer">{_e(pages.answer(plan))}</p>'
        f"<p>{_e(why)}</p></td></tr></table>"
    )


def _ways(ways: list[pages.Way]) -> str:
    rows = [[_head(one) for one in ("Place", "Time", "from – to", "Cost", "from – to")]]
    for way in ways:
        name = f"{way.name} (as planned)" if way.planned else way.name
        told = (name, *pages.way_cells(way))
        grey = f' style="color:{TEXT_3}"' if not (way.front or way.planned) else ""
        rows.append(
            [
                f"<span{grey}>{'<b>' if way.planned else ''}{_e(one)}{'</b>' if way.planned else ''}</span>"
                for one in told
            ]
        )
    return f'{_table(rows)}<p class="more">Grey: something else is both quicker and cheaper.</p>'


def _note(check: Check) -> str:
    said = say_check(check.id, check.title, check.facts)
    more = " ".join(part for part in (said.meaning, "" if check.fix else said.action) if part)
    colour = _LEVELS.get(check.level, TEXT)
    fix = " ".join(f"{path} = {json.dumps(value)}" for path, value in (check.fix or {}).items())
    return (
        f'<p class="note"><b style="color:{colour}">{_e(said.title)}</b></p>'
        + (f'<p style="color:{TEXT_2}">{_e(more)}</p>' if more else "")
        + (f'<p>In the job file: <span class="code">{_e(fix)}</span></p>' if fix else "")
    )


def _section(title: str, inside: str) -> str:
    return f"<h2>{_e(title)}</h2>{inside}"


def _head(text: str) -> str:
    return f'<span style="color:{TEXT_2}">{_e(text)}</span>'


def _table(rows: list[list[str]]) -> str:
    """A line above each row but the first: a thin row of its own, for Qt draws all borders or none."""
    across = len(rows[0]) if rows else 1
    line = f'<tr><td colspan="{across}" bgcolor="{BORDER}" style="padding:0;font-size:1pt"></td></tr>'
    told = line.join("<tr>" + "".join(f'<td valign="top">{cell}</td>' for cell in row) + "</tr>" for row in rows)
    return f'<table width="100%" cellspacing="0">{told}</table>'


def _e(text: str) -> str:
    return html.escape(visible(text))
