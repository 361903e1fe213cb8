"""Icons: Lucide's drawings from resources/icons, in any colour of the theme, sharp at the screen's ratio.

`paint` draws inside a paintEvent; `pixmap` and `icon` serve menus and field actions. An unknown name raises
`FileNotFoundError`, so that a typo shows in the first test and not as a hole on a screen.
"""

from __future__ import annotations

import re
from functools import lru_cache

from PySide6.QtCore import QByteArray, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from tpu_studio.gui.kit.theme import ink
from tpu_studio.wire.resources import resource_path

_STROKE = re.compile(r'stroke-width="[0-9.]+"')


def stroke_for(size: float) -> float:
    """Line width on the 24-unit grid: thin icons drown in small text, thick ones shout in large."""
    return 2.0 if size <= 16 else 1.75


@lru_cache(maxsize=256)
def _source(name: str) -> str:
    return resource_path("icons", f"{name}.svg").read_text(encoding="utf-8")


def read_all() -> None:
    """Read every drawing now: a packaged program may be removed while its window is open."""
    for file in resource_path("icons").glob("*.svg"):
        _source(file.stem)


@lru_cache(maxsize=512)
def _renderer(name: str, colour: str, stroke: float) -> QSvgRenderer:
    svg = _source(name).replace("currentColor", colour)
    svg = _STROKE.sub(f'stroke-width="{stroke}"', svg)
    return QSvgRenderer(QByteArray(svg.encode("utf-8")))


@lru_cache(maxsize=512)
def _pixmap(name: str, colour: str, size: float, ratio: float) -> QPixmap:
    drawing = _renderer(name, colour, stroke_for(size))  # first: an error while a painter is open would crash Qt
    edge = max(round(size * ratio), 1)
    pixels = QPixmap(edge, edge)
    pixels.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixels)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    drawing.render(painter, QRectF(0, 0, edge, edge))
    painter.end()
    pixels.setDevicePixelRatio(ratio)
    return pixels


def pixmap(name: str, colour: str | QColor = "text_2", size: float = 16, ratio: float = 1.0) -> QPixmap:
    """*colour* is a token of the theme or a colour; *size* is logical pixels."""
    value = colour if isinstance(colour, QColor) else ink(colour)
    return _pixmap(name, value.name(), float(size), float(ratio))


def paint(
    painter: QPainter, name: str, at: QPointF | QRectF, colour: str | QColor = "text_2", size: float = 16
) -> None:
    """Draw with the top left corner at a point, or centred in a rectangle. Opacity follows the painter's."""
    if isinstance(at, QRectF):
        at = QPointF(at.center().x() - size / 2, at.center().y() - size / 2)
    device = painter.device()
    ratio = device.devicePixelRatio()
    spot = QPointF(round(at.x() * ratio) / ratio, round(at.y() * ratio) / ratio)
    painter.drawPixmap(spot, pixmap(name, colour, size, ratio))


def icon(name: str, colour: str | QColor = "text_2", size: float = 16) -> QIcon:
    """A QIcon for menus and actions; it keeps its colour, so make it anew after a theme change."""
    it = QIcon()
    for ratio in (1.0, 2.0, 3.0):
        it.addPixmap(pixmap(name, colour, size, ratio))
    return it
