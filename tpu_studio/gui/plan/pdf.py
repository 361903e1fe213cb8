"""A plan as a PDF: Qt lays out what ``planner.report.printed`` wrote, the plot as lines, not as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QRectF, QSizeF, Qt
from PySide6.QtGui import (
    QFont,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QPyTextObject,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer

from tpu_studio.planner.report.printed import PLOT, TEXT_3, Printed, printed
from tpu_studio.wire.plan import Plan

DOTS = 300  # an inch
MARGIN_MM = 16.0
_PLOT_KIND = QTextFormat.ObjectTypes.UserObject + 1


class _Plot(QPyTextObject):
    """The plot, as wide as the page's text."""

    def __init__(self, told: Printed, width: float, document: QTextDocument) -> None:
        super().__init__(document)
        self._renderer = QSvgRenderer(QByteArray(told.plot.encode()))
        self._size = QSizeF(width, width * told.size[1] / told.size[0])

    def intrinsicSize(self, doc: object, posInDocument: int, format: object) -> QSizeF:
        return self._size

    def drawObject(self, painter: QPainter, rect: Any, doc: object, posInDocument: int, format: object) -> None:
        self._renderer.render(painter, QRectF(rect))


def pdf_of(plan: Plan) -> bytes:
    """The whole file, A4. Needs an application object and the app's fonts."""
    told = printed(plan)
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(DOTS)
    writer.setTitle(f"{plan.job.name} – plan")
    writer.setCreator("TPU Studio")
    margins = QMarginsF(MARGIN_MM, MARGIN_MM, MARGIN_MM, MARGIN_MM)
    writer.setPageLayout(
        QPageLayout(
            QPageSize(QPageSize.PageSizeId.A4), QPageLayout.Orientation.Portrait, margins, QPageLayout.Unit.Millimeter
        )
    )
    document = QTextDocument()
    document.documentLayout().setPaintDevice(writer)
    document.setDocumentMargin(0)
    room = writer.pageLayout().paintRectPixels(DOTS)
    if told.plot:
        document.documentLayout().registerHandler(_PLOT_KIND, _Plot(told, float(room.width()), document))
    document.setHtml(told.text)
    _put_plot(document)
    foot = DOTS * 0.3  # for the page's number
    document.setPageSize(QSizeF(room.width(), room.height() - foot))
    _keep_with_what_follows(document)
    painter = QPainter(writer)
    pages = document.pageCount()
    for number in range(pages):
        if number:
            writer.newPage()
        painter.save()
        top = number * document.pageSize().height()
        painter.translate(0, -top)
        document.drawContents(painter, QRectF(0, top, room.width(), document.pageSize().height()))
        painter.restore()
        painter.setFont(QFont("Inter", 8))
        painter.setPen(TEXT_3)
        where = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom
        painter.drawText(QRectF(0, 0, room.width(), room.height()), where, f"{number + 1} of {pages}")
    painter.end()
    buffer.close()
    return bytes(data.data())


def write(plan: Plan, file: Path) -> None:
    """Raises OSError."""
    from tpu_studio.wire.runfolder import write_atomically

    write_atomically(file, pdf_of(plan))


def _keep_with_what_follows(document: QTextDocument) -> None:
    """No heading stands alone at the foot of a page: Qt knows no such rule."""
    place, high = document.documentLayout().blockBoundingRect, document.pageSize().height()
    block = document.begin()
    while (after := block.next()).isValid():
        if block.blockFormat().headingLevel() and place(after).bottom() > (place(block).top() // high + 1) * high:
            shape = block.blockFormat()
            shape.setPageBreakPolicy(QTextFormat.PageBreakFlag.PageBreak_AlwaysBefore)
            QTextCursor(block).setBlockFormat(shape)
        block = after


def _put_plot(document: QTextDocument) -> None:
    """The placeholder becomes the plot."""
    found = document.find(PLOT)
    if found.isNull():
        return
    shape = QTextCharFormat()
    shape.setObjectType(_PLOT_KIND)
    cursor = QTextCursor(found)
    cursor.insertText(PLOT, shape)
