"""What Home offers at the first start: the first model in three pictures, one press, and the steps as a tick-list."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, clear_layout
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, ink, px, soft_px
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.viewmodels.learning import ChapterView

_WORDS = ("Examples", "It learns", "You try it")
_SEVEN = ("#####", "    #", "   # ", "  #  ", "  #  ")


class ThreePictures(Themed, QWidget):
    """Examples, a loss that falls, an answer; drawn, and said in one sentence to a screen reader."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Examples go in, the model learns from them, and you try it on something new.")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def restyle(self) -> None:
        self.setMinimumWidth(soft_px(300))
        self.setFixedHeight(px(118))

    def sizeHint(self) -> QSize:
        return QSize(soft_px(420), px(118))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        arrow = px(26)
        wide = (self.width() - 2 * arrow) / 3
        for number, words in enumerate(_WORDS):
            tile = QRectF(number * (wide + arrow), 0, wide, self.height() - px(24))
            paint.outlined(painter, tile, Radius.inner, ink("window"), ink("border"))
            (_examples, _curve, _answer)[number](painter, tile.adjusted(px(12), px(12), -px(12), -px(12)))
            below = QRectF(tile.left(), tile.bottom() + 2, wide, px(22))
            middle = Qt.AlignmentFlag.AlignHCenter
            paint.draw_text(painter, below, words, fonts.font("caption-medium"), ink("text_2"), middle)
            if number:
                box = QRectF(tile.left() - arrow, tile.top(), arrow, tile.height())
                icons.paint(painter, "arrow-right", box, "text_2", px(16))


def _examples(painter: QPainter, box: QRectF) -> None:
    """Six small pictures in their classes' colours."""
    side = min(box.width() / 3, box.height() / 2) - 5
    left = box.center().x() - 1.5 * (side + 5)
    for number in range(6):
        tile = QRectF(left + number % 3 * (side + 5), box.top() + number // 3 * (side + 5), side, side)
        paint.outlined(painter, tile, 3, ink("card"), ink("control"))
        _seven(painter, tile, ink(f"s{number % 3 + 1}"))


def _seven(painter: QPainter, tile: QRectF, colour: QColor) -> None:
    cell = tile.width() / 8
    for row, line in enumerate(_SEVEN):
        for column, mark in enumerate(line):
            if mark == "#":
                painter.fillRect(
                    QRectF(tile.left() + (1.5 + column) * cell, tile.top() + (1.5 + row) * cell, cell, cell), colour
                )


def _curve(painter: QPainter, box: QRectF) -> None:
    """A loss that falls fast and then flattens."""
    points = [
        QPointF(box.left() + box.width() * t / 24, box.bottom() - box.height() * (0.08 + 0.88 * 0.80**t))
        for t in range(25)
    ]
    painter.setPen(QPen(ink("border_strong"), 1))
    painter.drawLine(box.bottomLeft(), box.bottomRight())
    painter.setPen(QPen(ink("s1"), 2.0))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPolyline(QPolygonF(points))


def _answer(painter: QPainter, box: QRectF) -> None:
    """A picture, and a bar for each answer: one is long."""
    side = min(box.height(), box.width() * 0.42)
    tile = QRectF(box.left(), box.center().y() - side / 2, side, side)
    paint.outlined(painter, tile, 3, ink("card"), ink("control"))
    _seven(painter, tile, ink("text"))
    left, wide = tile.right() + 8, box.right() - tile.right() - 8
    for number, share in enumerate((0.12, 0.92, 0.2)):
        rail = QRectF(left, tile.top() + (number + 0.5) * side / 3 - 3, wide, 6)
        paint.bar(painter, rail, share, ink("ok_bar" if share > 0.5 else "control"), ink("track"))


class FirstCard(Card):
    """`begun`: the one press; `learn`: to the chapter; `put_off`: not now."""

    begun = Signal()
    learn = Signal()
    put_off = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(margins=(22, 18, 22, 18), spacing=Space.m, parent=parent)
        self._title = Text("", "card-title")
        self._text = Text("", "body", "text_2")
        self.button = Button("", "primary", icon="play")
        self.button.clicked.connect(self.begun)
        self.more = Button("To the chapter", "quiet")
        self.more.clicked.connect(self.learn)
        self.later = Button("Not now", "quiet")
        self.later.clicked.connect(self.put_off)
        self._ticks = QVBoxLayout()
        self._ticks.setSpacing(Space.xs)
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.m)
        for button in (self.button, self.more, self.later):
            buttons.addWidget(button)
        buttons.addStretch(1)
        words = QVBoxLayout()
        words.setSpacing(Space.m)
        words.addWidget(self._title)
        words.addWidget(self._text)
        words.addLayout(self._ticks)
        words.addStretch(1)
        words.addLayout(buttons)
        row = QHBoxLayout()
        row.setSpacing(Space.xxl)
        row.addLayout(words, 1)
        row.addWidget(ThreePictures(), 0, Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(row)
        self._drawn: ChapterView | None = None

    def draw(self, view: ChapterView, setup: str) -> None:
        """*setup*: what must be made once before, with its size; "" for nothing."""
        begun = view.done > 0
        self._title.setText(
            "Your first model" if begun else f"Train your first model in {view.chapter.minutes} minutes"
        )
        once = f" Before, once: {setup}" if setup else ""
        self._text.setText(f"{view.chapter.sentence} Free, and nothing leaves this computer.{once}")
        self.button.setText("Go on" if begun else "Begin")
        self.button.setAccessibleName(f"{self.button.text()}: {view.chapter.title}")
        if view == self._drawn:
            return
        self._drawn = view
        clear_layout(self._ticks)
        for step in view.steps:
            line = QWidget()
            row = QHBoxLayout(line)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(Space.m)
            row.addWidget(Icon("circle-check" if step.done else "circle-dashed", "ok" if step.done else "text_2"))
            row.addWidget(Text(step.title, "secondary", "text_2" if step.done else "text"), 1)
            line.setAccessibleName(f"{step.title}, {'done' if step.done else 'to do'}")
            self._ticks.addWidget(line)
