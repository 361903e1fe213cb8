"""The HTML of a page: every text in it is cut by `private` and escaped here, and a policy allows only what is inside.

Its data stands in one block of JSON that no browser runs. Style and script are ours, the same in every page; the policy
names both by their hash, so nothing that came from outside could run if it were there.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from tpu_studio.domain import figures
from tpu_studio.planner.report.frame import STYLE
from tpu_studio.viewmodels.onepage.content import Money, Row
from tpu_studio.viewmodels.onepage.data import COMMAND, LONGEST, MOST_ROWS, Section, Told, block
from tpu_studio.viewmodels.onepage.points import Line, Plot, Series, span
from tpu_studio.viewmodels.onepage.private import Private
from tpu_studio.wire.resources import resource_path

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 560, 250, 66, 14, 14, 30
_INNER_W, _INNER_H = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_LETTERS = 2_000
_NAME_LETTERS = 200


@cache
def style() -> str:
    return STYLE + resource_path("onepage", "page.css").read_text("utf-8")


@cache
def script() -> str:
    return resource_path("onepage", "page.js").read_text("utf-8")


def policy() -> str:
    """The Content Security Policy of every page."""
    return (
        f"default-src 'none'; style-src '{_hash(style())}'; script-src '{_hash(script())}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


class Document:
    """Writes one page. *private* cuts every text."""

    def __init__(self, private: Private) -> None:
        self._private = private
        self._sections: list[Section] = []

    def text(self, text: object, longest: int = _LETTERS) -> str:
        """*text* for between tags and within quotation marks."""
        return html.escape(self._private(str(text), longest), quote=True)

    def page(
        self,
        *,
        title: str,
        pill: tuple[str, str],
        lead: str,
        numbers: Sequence[Row],
        plots: Sequence[Plot],
        parts: Sequence[str],
    ) -> str:
        """The whole file. *parts*: HTML that this class has made, in the order in which it was made."""
        name, (word, tone) = self.text(title, _NAME_LETTERS), pill
        tiles = "".join(
            f'<div class="number"><span>{self.text(label)}</span><strong>{self.text(value)}</strong>'
            f"<em>{self.text(more)}</em></div>"
            for label, value, more in numbers
        )
        told = Told(
            self._private(title, _NAME_LETTERS),
            (self._private(word), tone),
            self._private(lead, _LETTERS),
            tuple(self._cells(row) for row in numbers),
            tuple(map(self._plot, plots)),
            tuple(self._sections),
        )
        return (
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
            f'<link rel="icon" href="data:,">\n<title>{name} – TPU Studio</title>\n<style>{style()}</style>\n</head>\n'
            f'<body>\n<main>\n<header><h1 dir="auto">{name}</h1><span class="pill {self.text(tone)}">{self.text(word)}'
            f'</span></header>\n<p class="lead" dir="auto">{self.text(lead)}</p>\n<div class="numbers">{tiles}</div>\n'
            f"{chr(10).join(part for part in parts if part)}\n{block(told)}\n</main>\n"
            f"<script>{script()}</script>\n</body>\n</html>\n"
        )

    def table(self, title: str, rows: Sequence[Sequence[str]], before: str = "", head: Sequence[str] = ()) -> str:
        """A section; "" of nothing. *before*: words over the rows; *head*: what the columns are called."""
        if not rows and not before:
            return ""
        kept = tuple(self._cells(row) for row in rows[:MOST_ROWS])
        self._sections.append(Section(self._private(title), self._private(before, _LETTERS), kept, self._cells(head)))
        shown = "".join(
            f'<tr><th scope="row">{self.text(row[0])}</th>'
            f"{''.join(f'<td>{self.text(cell)}</td>' for cell in row[1:])}</tr>"
            for row in rows[:MOST_ROWS]
        )
        if head:
            titles = "".join(f'<th scope="col">{self.text(cell)}</th>' for cell in head)
            shown = f"<tr>{titles}</tr>{shown}"
        more = f"<p>and {len(rows) - MOST_ROWS:,} more</p>" if len(rows) > MOST_ROWS else ""
        words = f"<p>{self.text(before)}</p>" if before else ""
        return f"<section><h2>{self.text(title)}</h2>{words}{f'<table>{shown}</table>' if rows else ''}{more}</section>"

    def money(self, told: Money) -> str:
        return self.table(told.title, told.rows, told.text)

    def repeat(self, needs: str, job: str, title: str = "How to repeat it") -> str:
        self._sections.append(
            Section(self._private(title), self._private(needs, _LETTERS), code=self._private(job, LONGEST))
        )
        return (
            f"<section><h2>{self.text(title)}</h2><p>{self.text(needs)}</p><pre>{COMMAND}</pre>"
            f'<pre dir="ltr">{self.text(job, LONGEST)}</pre></section>'
        )

    def curves(self, plots: Sequence[Plot]) -> str:
        if not plots:
            return "<section><h2>Curves</h2><p>It ended before there was anything to draw.</p></section>"
        return f'<div class="curves">{"".join(map(self._figure, plots, range(len(plots))))}</div>'

    def _cells(self, row: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._private(str(cell), _LETTERS) for cell in row)

    def _plot(self, plot: Plot) -> Plot:
        lines = tuple(replace(line, name=self._private(line.name)) for line in plot.lines)
        return replace(plot, title=self._private(plot.title), lines=lines)

    def _figure(self, plot: Plot, number: int) -> str:
        legend = "".join(
            f'<span><i class="s{line.tone}"></i>{self.text(line.name)} <b>{_read(line.last, plot.percent)}</b></span>'
            for line in plot.lines
        )
        ends = ", ".join(f"{line.name} ends at {_read(line.last, plot.percent)}" for line in plot.lines)
        told = self.text(f"{plot.title}: {ends}")
        return (
            f'<figure><figcaption><h2>{self.text(plot.title)}</h2><div class="legend">{legend}</div></figcaption>'
            f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{told}">{_ends(plot)}'
            f"{_lines(plot.lines, number)}</svg>"
            f'<div class="tools"></div><p class="more">{self.text(how_many(plot))}</p></figure>'
        )


def how_many(plot: Plot) -> str:
    """How many points the run has, and how many stand in the page."""
    if plot.drawn >= plot.count:
        return f"All {plot.count:,} points." if plot.count > 1 else "One point."
    return f"{plot.count:,} points; {plot.drawn:,} of them are here: the lowest and the highest of each stretch."


def _read(value: float | None, percent: bool) -> str:
    return figures.share(value) if percent else figures.figure(value)


def _ends(plot: Plot) -> str:
    """The ends of both axes, until the script draws the axes themselves."""
    if (ends := span(plot.lines)) is None:
        return '<g class="axes"></g>'
    first, last, low, high = ends
    under, right = _HEIGHT - 10, _WIDTH - _RIGHT
    marks = ((_LEFT - 8, _TOP + 4, "end", high), (_LEFT - 8, _TOP + _INNER_H, "end", low))
    texts = [f'<text x="{x}" y="{y}" text-anchor="{side}">{_read(v, plot.percent)}</text>' for x, y, side, v in marks]
    texts.append(f'<text x="{_LEFT}" y="{under}">{figures.count(first)}</text>')
    texts.append(f'<text x="{right}" y="{under}" text-anchor="end">{figures.count(last)} steps</text>')
    return f'<g class="axes">{"".join(texts)}</g>'


def _lines(lines: Sequence[Line], number: int) -> str:
    """The curves of figure *number*, cut at its edges."""
    return (
        f'<clipPath id="edges{number}"><rect width="{_INNER_W}" height="{_INNER_H}"/></clipPath>'
        f'<g class="lines" clip-path="url(#edges{number})" transform="translate({_LEFT} {_TOP})" data-left="{_LEFT}" '
        f'data-top="{_TOP}" data-width="{_INNER_W}" data-height="{_INNER_H}">{_paths(lines)}</g>'
    )


def _paths(lines: Sequence[Line]) -> str:
    """A path for each series, in the order in which the script counts them."""
    if (ends := span(lines)) is None:
        ends = (0.0, 1.0, 0.0, 1.0)
    parts = []
    for line in lines:
        raw = " raw" if line.smooth else ""
        parts.append(f'<path class="s{line.tone}{raw}" d="{_path(line.points, ends)}"/>')
        if line.smooth:
            parts.append(f'<path class="s{line.tone}" d="{_path(line.smooth, ends)}"/>')
    return "".join(parts)


def _path(points: Series, ends: tuple[float, float, float, float]) -> str:
    first, last, low, high = ends
    width, height = (last - first) or 1.0, (high - low) or 1.0
    path, pen = [], "M"
    for step, value in points:
        if value is None:
            pen = "M"
            continue
        x = (step - first) / width * _INNER_W
        y = _INNER_H - (min(max(value, low), high) - low) / height * _INNER_H
        path.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return "".join(path)
