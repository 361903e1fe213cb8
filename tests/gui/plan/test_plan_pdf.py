"""The plan as a PDF: one press, the same words as the page, its plot drawn as lines."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QSizeF
from PySide6.QtGui import QTextDocument
from PySide6.QtSvg import QSvgRenderer

from tests.fakes.looks import DIGITS, LAPTOP, NOW, job
from tests.fakes.making import make_plan
from tpu_studio.gui.kit import fonts
from tpu_studio.gui.plan import pdf
from tpu_studio.local import planpdf
from tpu_studio.planner.report.plot import Point, plot
from tpu_studio.planner.report.printed import PLOT, plain_svg, printed
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.plan import Plan


def with_ways() -> Plan:
    made = make_plan(job("mlp", "digits", where={"place": "cloud"}), DIGITS, now=NOW, computer=LAPTOP)
    assert made.alternatives
    return replace(made, job=made.job.with_values({"name": "<b>Häuser</b> & Bäume"}))


def alone() -> Plan:
    return replace(with_ways(), alternatives=())


def drawn(data: bytes) -> list[bytes]:
    """What each page draws, in PDF's own operators."""
    streams = re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL)
    found = []
    for stream in streams:
        try:
            found.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return [one for one in found if b" re\n" in one or b"BT\n" in one]


def test_a_plan_becomes_pages_with_its_plot_as_lines(qapp: object) -> None:
    fonts.load()
    data = pdf.pdf_of(with_ways())
    assert data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")
    without = pdf.pdf_of(alone())
    assert data.count(b"/Type /Page\n") >= 1
    curves = [sum(page.count(b" c\n") for page in drawn(one)) for one in (data, without)]
    assert curves[0] > curves[1]  # circles of the plot
    assert b"/Subtype /Image" not in data


def test_whatever_came_from_outside_stays_text_and_the_plot_has_its_place() -> None:
    told = printed(with_ways())
    assert "&lt;b&gt;Häuser&lt;/b&gt; &amp; Bäume" in told.text and told.text.count(PLOT) == 1
    assert printed(alone()).plot == "" and PLOT not in printed(alone()).text


@pytest.mark.parametrize("lines", range(30, 60))
def test_no_heading_stands_alone_at_the_foot_of_a_page(qapp: object, lines: int) -> None:
    document = QTextDocument()
    document.setHtml("<p>line</p>" * lines + "<h2>Checks</h2><table><tr><td>first</td></tr></table>" + "<p>x</p>" * 9)
    document.setPageSize(QSizeF(400, 700))
    pdf._keep_with_what_follows(document)
    high, place = 700.0, document.documentLayout().blockBoundingRect
    block = document.begin()
    while not block.blockFormat().headingLevel():
        block = block.next()
    first = block.next()
    while first.text() != "first":
        first = first.next()
    assert place(block).top() // high == (place(first).bottom() - 1) // high


def test_the_plot_stands_by_itself_with_its_colours(qapp: object) -> None:
    svg = plain_svg(plot([Point("a", 60, 1.0, True), Point("b & c", 90, 0.0, True, True), Point("d", 99, 2.0)]))
    assert "class=" not in svg and "var(" not in svg
    assert QSvgRenderer(svg.encode()).isValid()


def test_a_process_of_its_own_writes_it_and_says_where_it_cannot(tmp_path: Path) -> None:
    planpdf.write(with_ways(), tmp_path / "plan.pdf")
    assert (tmp_path / "plan.pdf").read_bytes().startswith(b"%PDF-")
    with pytest.raises(BadInput) as raised:
        planpdf.write(with_ways(), tmp_path / "plan.pdf" / "inside-a-file.pdf")
    assert raised.value.id == "plan-report-unwritable" and raised.value.facts["raw"]
    assert "Traceback" not in raised.value.facts["raw"]
