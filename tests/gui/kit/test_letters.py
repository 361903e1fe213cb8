"""However long a text is that somebody else wrote: the window lays out as much of it as a person reads."""

from __future__ import annotations

import re
from typing import Any

import pytest
from PySide6.QtGui import QFont, QFontMetricsF, QTextLayout
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.timeline import Stage, StageTimeline
from tpu_studio.gui.kit.tooltip import plain

LONG = "ab cd " * 100_000


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Letters of each text that is measured or laid out."""
    seen: list[int] = []

    class Metrics(QFontMetricsF):
        def horizontalAdvance(self, text: str, *_: Any) -> float:
            seen.append(len(text))
            return float(super().horizontalAdvance(text))

        def elidedText(self, text: str, *more: Any) -> str:
            seen.append(len(text))
            return str(super().elidedText(text, *more))

    class Layout(QTextLayout):
        def __init__(self, text: str, font: QFont) -> None:
            seen.append(len(text))
            super().__init__(text, font)

    monkeypatch.setattr(paint, "QFontMetricsF", Metrics)
    monkeypatch.setattr(paint, "QTextLayout", Layout)
    return seen


def made() -> list[QWidget]:
    return [Text(LONG), Line(LONG), Button(LONG, hover=LONG), StageTimeline([Stage(LONG, "current", LONG)])]


def test_no_more_of_a_text_is_laid_out_than_a_person_reads(qtbot: QtBot, laid_out: list[int]) -> None:
    for widget in made():
        qtbot.addWidget(widget)
        widget.resize(300, 200)
        widget.show()
        widget.grab()
        assert len(widget.toolTip()) <= paint.LETTERS
    line = Line()
    qtbot.addWidget(line)
    line.setText(LONG)
    line.set_hover_text(LONG)
    assert line.text().endswith("…") and len(line.text()) == paint.LETTERS
    assert laid_out and max(laid_out) <= paint.LETTERS


def test_a_tooltip_ends_where_nobody_reads_on() -> None:
    assert len(plain(LONG)) <= paint.LETTERS and plain(LONG).endswith("…")
    assert len(re.findall("ab", plain("<b>" + LONG))) < paint.LETTERS
