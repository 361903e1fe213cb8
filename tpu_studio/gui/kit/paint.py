"""Shapes that every painted widget needs: crisp outlines, filled bars, elided and wrapped text."""

from __future__ import annotations

import re

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QTextLayout, QTextOption
from PySide6.QtWidgets import QWidget

from tpu_studio.wire.brief import cut

LETTERS = 4_000  # of one text are laid out: somebody else may have written millions, and none reads them
_BEFORE_UNIT = re.compile(
    r"(?:(?<=\d) (?=(?:ms|s|min|h|days|bytes|[kMGT]i?B)\b)|(?<=\d min) (?=\d+ s\b)|(?<=\d h) (?=\d\d\b))"
)
_MINUS = re.compile(r"(?<![\w.)\]/-])-(?=\.?\d)")


def typeset(text: str) -> str:
    """*text* as it is drawn: no line ends between a number and its unit, and a number below zero has a minus. What
    screen readers, copies and tests get stays as it was written."""
    return _MINUS.sub("\u2212", _BEFORE_UNIT.sub("\u00a0", text))


def open_painter(widget: QWidget) -> QPainter:
    painter = QPainter(widget)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    return painter


def outlined(
    painter: QPainter, rect: QRectF, radius: float, fill: QColor | None, line: QColor | None = None, width: float = 1.0
) -> None:
    """A rounded rectangle whose outline lies inside *rect*, so that a thicker line never changes the size."""
    inset = width / 2 if line is not None else 0.0
    box = rect.adjusted(inset, inset, -inset, -inset)
    painter.setPen(QPen(line, width) if line is not None else Qt.PenStyle.NoPen)
    painter.setBrush(fill if fill is not None else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box, max(radius - inset, 0), max(radius - inset, 0))


def bar(painter: QPainter, rect: QRectF, share: float, fill: QColor, track: QColor) -> None:
    """A fully round bar; the fill's inner end is cut straight, as bars in the pictures are."""
    radius = rect.height() / 2
    painter.setPen(Qt.PenStyle.NoPen)
    clip = QPainterPath()
    clip.addRoundedRect(rect, radius, radius)
    painter.fillPath(clip, track)
    share = min(max(share, 0.0), 1.0)
    if share > 0:
        painter.save()
        painter.setClipPath(clip)
        painter.fillRect(QRectF(rect.x(), rect.y(), max(rect.width() * share, 2.0), rect.height()), fill)
        painter.restore()


def hairline(painter: QPainter, x1: float, y1: float, x2: float, y2: float, colour: QColor) -> None:
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(QPen(colour, 1))
    painter.drawLine(round(x1), round(y1), round(x2), round(y2))
    painter.restore()


def text_width(font: QFont, text: str) -> float:
    return QFontMetricsF(font).horizontalAdvance(typeset(cut(text, LETTERS)))


def draw_text(
    painter: QPainter,
    rect: QRectF,
    text: str,
    font: QFont,
    colour: QColor,
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    *,
    elide: bool = True,
) -> float:
    """One line, centred up and down, shortened with an ellipsis when it does not fit. Returns its width."""
    metrics, text = QFontMetricsF(font), typeset(cut(text, LETTERS))
    shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, rect.width() + 0.5) if elide else text
    painter.setFont(font)
    painter.setPen(colour)
    painter.drawText(rect, int(align | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), shown)
    return metrics.horizontalAdvance(shown)


def lay_out(text: str, font: QFont, width: float) -> tuple[QTextLayout, float, float]:
    """*text* broken into lines no wider than *width*, inside a word if there is no other place; a number and its unit
    stay together.

    Returns the layout, its height and the width really used.
    """
    layout = QTextLayout(typeset(cut(text, LETTERS)).replace("\n", "\u2028"), font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    height = used = 0.0
    while True:
        line = layout.createLine()
        if not line.isValid():
            break
        line.setLineWidth(max(width, 1.0))
        line.setLeadingIncluded(True)
        line.setPosition(QPointF(0, height))
        height += line.height()
        used = max(used, line.naturalTextWidth())
    layout.endLayout()
    return layout, height, used
