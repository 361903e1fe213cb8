"""The drawings on the cards of models: what goes in, what the network does, what comes out. One family with those of
Home's first card: small tiles, thin outlines, the colours of the data.

A card names its drawing (`viewmodels.gallerycards.Card.drawing`), never itself.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import Radius

HEIGHT = 88
Sketch = Callable[[QPainter, QRectF, int], None]
_CENTRE = Qt.AlignmentFlag.AlignHCenter


class Drawing(Themed, QWidget):
    """*kind*: of `SKETCHES`; *rank*: how large it is among those drawn alike. A screen reader is told in words."""

    def __init__(self, kind: str, rank: int = 1, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words, self._sketch = SKETCHES[kind]
        self._rank = rank
        self.setAccessibleName(self._words)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def restyle(self) -> None:
        self.setFixedHeight(px(HEIGHT))

    def sizeHint(self) -> QSize:
        return QSize(px(260), px(HEIGHT))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        paint.outlined(painter, box, Radius.inner, ink("window"), ink("border"))
        wide = min(box.width() - px(28), px(280))
        inside = QRectF(box.center().x() - wide / 2, px(13), wide, box.height() - px(26))
        self._sketch(painter, inside, self._rank)


def _part(box: QRectF, start: float, end: float) -> QRectF:
    """From *start* to *end* of its width, as shares."""
    return QRectF(box.left() + start * box.width(), box.top(), (end - start) * box.width(), box.height())


def _square(box: QRectF, side: float) -> QRectF:
    return QRectF(box.center().x() - side / 2, box.center().y() - side / 2, side, side)


def _arrow(painter: QPainter, box: QRectF) -> None:
    icons.paint(painter, "arrow-right", box, "text_2", px(15))


def _answers(painter: QPainter, box: QRectF, best: int = 1) -> None:
    """A bar for each answer: one is long."""
    for number in range(3):
        rail = QRectF(box.left(), box.top() + (number + 0.5) * box.height() / 3 - 3, box.width(), 6)
        right = number == best
        paint.bar(
            painter, rail, 0.9 if right else 0.18 + 0.1 * number, ink("ok_bar" if right else "control"), ink("track")
        )


def _picture(painter: QPainter, tile: QRectF, colour: QColor) -> None:
    """A photograph: a hill and a sun."""
    paint.outlined(painter, tile, 3, ink("card"), ink("control"))
    inner = tile.adjusted(2.5, 2.5, -2.5, -2.5)
    hill = QPainterPath(inner.bottomLeft())
    for x, y in ((0.38, 0.42), (0.58, 0.7), (0.74, 0.55), (1.0, 1.0)):
        hill.lineTo(inner.left() + x * inner.width(), inner.top() + y * inner.height())
    hill.closeSubpath()
    painter.fillPath(hill, colour)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    sun = inner.width() * 0.11
    painter.drawEllipse(QPointF(inner.left() + 0.74 * inner.width(), inner.top() + 0.24 * inner.height()), sun, sun)


def _lines(painter: QPainter, box: QRectF, shares: tuple[float, ...], colour: QColor) -> None:
    """Lines of a text."""
    step = box.height() / len(shares)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    for number, share in enumerate(shares):
        thick = min(4.0, step * 0.5)
        rail = QRectF(box.left(), box.top() + (number + 0.5) * step - thick / 2, box.width() * share, thick)
        painter.drawRoundedRect(rail, thick / 2, thick / 2)


def _sheet(painter: QPainter, tile: QRectF, colour: QColor) -> None:
    """A short text."""
    paint.outlined(painter, tile, 3, ink("card"), ink("control"))
    _lines(painter, tile.adjusted(5, 4, -5, -4), (1.0, 0.7, 0.9), colour)


def _layers(painter: QPainter, box: QRectF, rank: int) -> None:
    """Rows of a table, neurons in layers, one number."""
    table = _part(box, 0.0, 0.24)
    for row, column in product(range(4), range(3)):
        cell = QRectF(
            table.left() + column * table.width() / 3,
            table.top() + row * table.height() / 4,
            table.width() / 3,
            table.height() / 4,
        ).adjusted(1, 1, -1, -1)
        paint.outlined(painter, cell, 2, ink("card"), ink("border_strong"))
        if column == row % 3 or row == 0:
            paint.outlined(painter, cell.adjusted(3, 3, -3, -3), 1, ink("s1") if row else ink("control"))
    layers = [_column(_part(box, at - 0.05, at + 0.05), count) for at, count in ((0.4, 4), (0.58, 4), (0.76, 3))]
    last = [QPointF(box.left() + 0.95 * box.width(), box.center().y())]
    painter.setPen(QPen(ink("border_strong"), 1))
    for before, after in zip(layers, [*layers[1:], last], strict=True):
        for one, other in product(before, after):
            painter.drawLine(one, other)
    painter.setPen(Qt.PenStyle.NoPen)
    for number, spots in enumerate([*layers, last]):
        painter.setBrush(ink("ok_bar") if number == len(layers) else ink("s1"))
        radius = px(5) if number == len(layers) else px(4)
        for spot in spots:
            painter.drawEllipse(spot, radius, radius)


def _column(box: QRectF, count: int) -> list[QPointF]:
    return [QPointF(box.center().x(), box.top() + (row + 0.5) * box.height() / count) for row in range(count)]


def _filters(painter: QPainter, box: QRectF, rank: int) -> None:
    """A picture, maps of shapes in it that grow more and smaller, and the answers."""
    side = min(box.height(), box.width() * 0.22)
    _picture(painter, _square(_part(box, 0.0, 0.22), side), ink("s2"))
    for at, count, share in ((0.34, 3, 0.72), (0.56, 5, 0.48)):
        for number in range(count):
            tile = _square(_part(box, at - 0.06, at + 0.06), side * share)
            tile.translate((number - (count - 1) / 2) * 5, (number - (count - 1) / 2) * 3)
            paint.outlined(painter, tile, 2, ink("card"), ink("s1"))
            if number == count - 1:
                painter.fillRect(tile.adjusted(3, tile.height() * 0.35, -tile.width() * 0.4, -3), ink("s1", 0.35))
    _answers(painter, _part(box, 0.76, 1.0))


def _known_picture(painter: QPainter, box: QRectF, rank: int) -> None:
    """Very many small pictures of before, two of yours, and the answers."""
    _crowd(painter, _part(box, 0.0, 0.4), lambda tile: _grey(painter, tile))
    _arrow(painter, _part(box, 0.42, 0.5))
    side = min(box.height() / 2 - 2, box.width() * 0.14)
    for number, colour in enumerate(("s2", "s3")):
        half = QRectF(box.left() + 0.53 * box.width(), box.top() + number * box.height() / 2, side, box.height() / 2)
        _picture(painter, _square(half, side), ink(colour))
    _answers(painter, _part(box, 0.76, 1.0))


def _known_text(painter: QPainter, box: QRectF, rank: int) -> None:
    """Very many lines of before, two texts of yours, and the answers."""
    _lines(painter, _part(box, 0.0, 0.18), (0.9, 1.0, 0.6, 0.95, 0.8, 1.0, 0.7, 0.9), ink("control"))
    _lines(painter, _part(box, 0.21, 0.39), (1.0, 0.7, 0.9, 0.6, 1.0, 0.85, 0.95, 0.5), ink("control"))
    _arrow(painter, _part(box, 0.42, 0.5))
    for number, colour in enumerate(("s2", "s3")):
        half = QRectF(
            box.left() + 0.53 * box.width(), box.top() + number * box.height() / 2, 0.17 * box.width(), box.height() / 2
        )
        _sheet(painter, half.adjusted(0, 2, 0, -2), ink(colour))
    _answers(painter, _part(box, 0.76, 1.0))


def _crowd(painter: QPainter, box: QRectF, draw: Callable[[QRectF], None]) -> None:
    side = box.height() / 5
    for row, column in product(range(5), range(int(box.width() / side))):
        draw(QRectF(box.left() + column * side, box.top() + row * side, side, side).adjusted(1.5, 1.5, -1.5, -1.5))


def _grey(painter: QPainter, tile: QRectF) -> None:
    paint.outlined(painter, tile, 2, ink("neutral_tint"), ink("control"))


def _letters(painter: QPainter, box: QRectF, rank: int) -> None:
    """Pieces of a text, each after those before it, and the one to come. More lines: a larger model."""
    words = ("To be, or not", "to be: that is", "the question")[:rank]
    face, high = fonts.font("caption-medium"), min(px(20), box.height() / 3)
    gap = (box.height() - len(words) * high) / (len(words) + 1)
    wide = box.width() / 14.5
    for line, text in enumerate(words):
        top = box.top() + gap + line * (high + gap)
        for at, letter in enumerate(text):
            tile = QRectF(box.left() + at * wide, top, wide - 2, high)
            if letter != " ":
                paint.outlined(painter, tile, 3, ink("card"), ink("border_strong"))
                paint.draw_text(painter, tile, letter, face, ink("s1"), _CENTRE, elide=False)
    at = len(words[-1])
    coming = QRectF(box.left() + at * wide, box.top() + gap + (len(words) - 1) * (high + gap), wide - 2, high)
    painter.setPen(QPen(ink("ok"), 1.5, Qt.PenStyle.DashLine))
    painter.setBrush(ink("ok_tint"))
    painter.drawRoundedRect(coming, 3, 3)
    paint.draw_text(painter, coming, "?", face, ink("ok"), _CENTRE, elide=False)


def _sorted(painter: QPainter, box: QRectF, rank: int) -> None:
    """Texts in a heap, and in three kinds."""
    high = box.height() / 3
    for row, column in product(range(3), range(2)):
        tile = QRectF(box.left() + column * 0.2 * box.width(), box.top() + row * high, 0.18 * box.width(), high)
        _sheet(painter, tile.adjusted(0, 1.5, 0, -1.5), ink(f"s{(row * 2 + column * 5) % 3 + 1}"))
    _arrow(painter, _part(box, 0.43, 0.53))
    for row, column in product(range(3), range(2)):
        tile = QRectF(box.left() + (0.6 + column * 0.2) * box.width(), box.top() + row * high, 0.18 * box.width(), high)
        _sheet(painter, tile.adjusted(0, 1.5, 0, -1.5), ink(f"s{row + 1}"))


def _folder(painter: QPainter, box: QRectF) -> None:
    """A folder, closed in front of what is in it."""
    tab = QRectF(box.left(), box.top() + box.height() * 0.16, box.width() * 0.45, box.height() * 0.2)
    paint.outlined(painter, tab, 3, ink("neutral_tint"), ink("control"))
    front = QRectF(box.left(), box.top() + box.height() * 0.3, box.width(), box.height() * 0.6)
    paint.outlined(painter, front, 4, ink("neutral_tint"), ink("control"))
    icons.paint(painter, "brain", front, "accent", px(20))


def _folder_picture(painter: QPainter, box: QRectF, rank: int) -> None:
    """A folder with a network in it, a picture of yours, and the answers."""
    _folder(painter, _part(box, 0.0, 0.26))
    _arrow(painter, _part(box, 0.3, 0.4))
    side = min(box.height() * 0.8, box.width() * 0.24)
    _picture(painter, _square(_part(box, 0.44, 0.7), side), ink("s4"))
    _answers(painter, _part(box, 0.76, 1.0))


def _folder_text(painter: QPainter, box: QRectF, rank: int) -> None:
    """A folder with a network in it, a question, and its answer."""
    _folder(painter, _part(box, 0.0, 0.26))
    _arrow(painter, _part(box, 0.3, 0.4))
    asked = QRectF(box.left() + 0.44 * box.width(), box.top(), 0.4 * box.width(), box.height() * 0.42)
    said = QRectF(
        box.left() + 0.56 * box.width(), box.top() + box.height() * 0.52, 0.44 * box.width(), box.height() * 0.48
    )
    for bubble, shares, colour in ((asked, (0.9, 0.5), "s5"), (said, (1.0, 0.7), "s1")):
        paint.outlined(painter, bubble, 6, ink("card"), ink("control"))
        _lines(painter, bubble.adjusted(8, 4, -8, -4), shares, ink(colour))


def _code(painter: QPainter, box: QRectF, rank: int) -> None:
    """Lines of a program."""
    page = _part(box, 0.18, 0.82)
    paint.outlined(painter, page, 4, ink("card"), ink("control"))
    rows = (
        (0, "s4", 0.22),
        (0.26, "text_3", 0.34),
        (0.1, "s1", 0.3),
        (0.1, "s2", 0.46),
        (0.1, "s3", 0.38),
        (0.1, "s4", 0.2),
    )
    inside = page.adjusted(10, 6, -10, -6)
    step = inside.height() / 5
    painter.setPen(Qt.PenStyle.NoPen)
    for number, (left, colour, wide) in enumerate(rows):
        line = max(0, number - 1)  # the first two stand in one line
        painter.setBrush(ink(colour))
        spot = QRectF(
            inside.left() + left * inside.width(), inside.top() + (line + 0.5) * step - 2, wide * inside.width(), 4
        )
        painter.drawRoundedRect(spot, 2, 2)


SKETCHES: dict[str, tuple[str, Sketch]] = {
    "layers": ("Rows of a table go through layers of neurons to one answer.", _layers),
    "filters": ("A picture is searched for shapes, small ones first, until an answer is found.", _filters),
    "known-picture": ("A network that has seen very many pictures learns from a few of yours.", _known_picture),
    "known-text": ("A network that has read very many texts learns from a few of yours.", _known_text),
    "letters": ("A text is gone on with, letter by letter.", _letters),
    "sorted": ("Texts are put in order, each to its kind.", _sorted),
    "folder-picture": ("A network in a folder of yours learns from your pictures.", _folder_picture),
    "folder-text": ("A network in a folder of yours learns to answer.", _folder_text),
    "code": ("A program of yours makes the network.", _code),
}
