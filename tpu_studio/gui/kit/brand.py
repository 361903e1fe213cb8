"""The brand mark: work moving through a TPU's grid of multipliers. Painted, so it is sharp at every size."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QLinearGradient, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.theme import Themed, px

TOP_LEFT, BOTTOM_RIGHT = "#4F6DF0", "#2A48B8"  # the same in light and dark: a mark is not themed
FADE = (1.0, 0.82, 0.62, 0.44, 0.28)  # opacity by distance along the diagonal, 0 at the top left
CORNER, CELL, GAP = 0.26, 0.17, 0.055  # shares of the side


def draw_mark(painter: QPainter, box: QRectF) -> None:
    side = box.width()
    ground = QLinearGradient(box.topLeft(), box.bottomRight())
    ground.setColorAt(0, QColor(TOP_LEFT))
    ground.setColorAt(1, QColor(BOTTOM_RIGHT))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ground)
    painter.drawRoundedRect(box, side * CORNER, side * CORNER)
    cell, gap = side * CELL, side * GAP
    start = (side - 3 * cell - 2 * gap) / 2
    for row in range(3):
        for column in range(3):
            white = QColor("#FFFFFF")
            white.setAlphaF(FADE[row + column])
            painter.setBrush(white)
            corner = QPointF(box.x() + start + column * (cell + gap), box.y() + start + row * (cell + gap))
            painter.drawRoundedRect(QRectF(corner.x(), corner.y(), cell, cell), cell * 0.22, cell * 0.22)


class BrandMark(Themed, QWidget):
    def __init__(self, *, side: int = 30, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._side = side
        self.follow_theme()

    def restyle(self) -> None:
        self.setFixedSize(px(self._side), px(self._side))

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_mark(paint.open_painter(self), QRectF(self.rect()))


def app_icon() -> QIcon:
    it = QIcon()
    for side in (16, 24, 32, 48, 64, 128, 256):
        it.addPixmap(mark_pixmap(side))
    return it


def mark_pixmap(side: int) -> QPixmap:
    pixels = QPixmap(side, side)
    pixels.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixels)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    draw_mark(painter, QRectF(0, 0, side, side))
    painter.end()
    return pixels


def mark_svg(side: int = 512) -> str:
    """The mark as a file: resources/icons/app.svg is this text (tests hold the two together)."""
    cell, gap = side * CELL, side * GAP
    start = (side - 3 * cell - 2 * gap) / 2
    cells = "\n".join(
        f'  <rect x="{start + column * (cell + gap):.2f}" y="{start + row * (cell + gap):.2f}" width="{cell:.2f}" '
        f'height="{cell:.2f}" rx="{cell * 0.22:.2f}" fill="#FFFFFF" fill-opacity="{FADE[row + column]}"/>'
        for row in range(3)
        for column in range(3)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}" viewBox="0 0 {side} {side}">\n'
        f'  <defs><linearGradient id="ground" x1="0" y1="0" x2="1" y2="1"><stop offset="0" stop-color="{TOP_LEFT}"/>'
        f'<stop offset="1" stop-color="{BOTTOM_RIGHT}"/></linearGradient></defs>\n'
        f'  <rect width="{side}" height="{side}" rx="{side * CORNER:.2f}" fill="url(#ground)"/>\n{cells}\n</svg>\n'
    )
