"""Batch and width against padding: two sliders, what of the work was asked for, and how that goes with the width."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.slider import MoneySlider
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.viewmodels.learnwidgets import BY_CATALOGUE, Filling, units

MOST_ROWS, MOST_WIDTH = 256, 1024


class Saw(Themed, QWidget):
    """Share of the work that was asked for by the width of the layer, and where the slider stands."""

    def __init__(self) -> None:
        super().__init__()
        self._filling: Filling | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Used share of the chip by width of the layer")
        self.follow_theme()

    def restyle(self) -> None:
        self.setFixedHeight(px(150))

    def sizeHint(self) -> QSize:
        return QSize(px(400), px(150))

    def show_filling(self, filling: Filling) -> None:
        self._filling = filling
        wide = filling.unit.width
        self.setAccessibleDescription(
            f"It rises to 100% at each multiple of {wide} and drops behind it. {filling.sentence}"
        )
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        now = self._filling
        if now is None:
            return
        painter = paint.open_painter(self)
        left, foot = px(44), px(22)
        box = QRectF(left, 6, self.width() - left - px(30), self.height() - foot - 6)
        face = fonts.font("caption", numbers=True)
        for share in (0.0, 0.5, 1.0):
            y = box.bottom() - share * box.height()
            paint.hairline(painter, box.left(), y, box.right(), y, ink("border"))
            words = QRectF(0, y - px(9), left - 6, px(18))
            paint.draw_text(painter, words, f"{share:.0%}", face, ink("text_3"), Qt.AlignmentFlag.AlignRight)
        for wide in range(0, MOST_WIDTH + 1, 256):
            at = QRectF(box.left() + wide / MOST_WIDTH * box.width() - px(30), box.bottom() + 3, px(60), px(18))
            paint.draw_text(painter, at, f"{wide:,}", face, ink("text_3"), Qt.AlignmentFlag.AlignHCenter, elide=False)
        line = QPolygonF([_at(box, Filling(now.rows, wide, now.unit)) for wide in range(8, MOST_WIDTH + 1, 8)])
        painter.setPen(QPen(ink("s1"), 2.0))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(line)
        painter.setPen(QPen(ink("card"), 2))
        painter.setBrush(ink("s2"))
        painter.drawEllipse(_at(box, now), 6, 6)


def _at(box: QRectF, filling: Filling) -> QPointF:
    return QPointF(box.left() + filling.width / MOST_WIDTH * box.width(), box.bottom() - filling.used * box.height())


class Padding(Card):
    """Goals: ``full``, nothing of it padding, and ``empty``, more than half of it."""

    def __init__(self, reached: Callable[[str], None], parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._reached = reached
        self._units = {one.id: one for one in units()}
        self.choice = Segmented(
            [(one.id, f"{one.name} ({one.width})") for one in units()],
            units()[0].id,
            name="Generation, width of its unit",
        )
        self.choice.changed.connect(lambda _: self._draw())
        self.rows = MoneySlider(100, MOST_ROWS, name="Batch of one chip", step=1, spelled="{:,.0f}".format)
        self.wide = MoneySlider(200, MOST_WIDTH, name="Width of the layer", step=8, spelled="{:,.0f}".format)
        self.batch_words, self.width_words = Text("", "label", numbers=True), Text("", "label", numbers=True)
        for slider in (self.rows, self.wide):
            slider.moved.connect(lambda _: self._draw())
        self.sentence = Text("", "section", numbers=True)
        self.bar = ProgressBar(0, name="Share of the chip's work that was asked for", tone="ok_bar", height=10)
        self.saw = Saw()
        self.title("What of the work was asked for")
        for widget in (
            self.choice,
            self.batch_words,
            self.rows,
            self.width_words,
            self.wide,
            self.sentence,
            self.bar,
            self.saw,
            Text(f"Across: the width of the layer. {BY_CATALOGUE}", "caption", "text_3"),
        ):
            self.body.addWidget(widget)
        self._draw()

    def _draw(self) -> None:
        rows, wide = max(1, int(self.rows.amount)), max(8, int(self.wide.amount))
        filling = Filling(rows, wide, self._units[self.choice.value])
        self.batch_words.setText(f"Batch size of one chip: {rows:,}")
        self.width_words.setText(f"Width of the layer: {wide:,}")
        self.sentence.setText(filling.sentence)
        self.bar.set_share(filling.used, f"{filling.used:.0%}")
        self.saw.show_filling(filling)
        if filling.used > 0.995:
            self._reached("full")
        elif filling.used < 0.5:
            self._reached("empty")
