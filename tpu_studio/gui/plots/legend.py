"""The legend on the title line: a short stroke, the name, the current value. Never a box floating over the lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tooltip import plain


@dataclass(frozen=True)
class Entry:
    name: str
    value: str
    tone: str
    dashed: bool = False


class Legend(Themed, QLabel):
    def __init__(self, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entries: tuple[Entry, ...] = ()
        self._explained = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def set_entries(self, entries: Sequence[Entry]) -> None:
        entries = tuple(entries)
        if entries == self._entries:
            return
        self._entries = entries
        self.setAccessibleName(self._words())
        self._tell()
        self.updateGeometry()
        self.update()

    def set_explained(self, words: str) -> None:
        """What the lines mean, below their names when hovering."""
        self._explained = words
        self._tell()

    def _words(self) -> str:
        return ", ".join(f"{entry.name} {entry.value}".strip() for entry in self._entries)

    def _tell(self) -> None:
        self.setToolTip(plain("\n".join(part for part in (self._words(), self._explained) if part)))

    def _widths(self) -> list[tuple[float, float]]:
        name, value = fonts.font("caption"), fonts.font("caption-strong", numbers=True)
        return [(paint.text_width(name, it.name), paint.text_width(value, it.value)) for it in self._entries]

    def sizeHint(self) -> QSize:
        widths = self._widths()
        total = sum(19 + name + (7 + value if value else 0) for name, value in widths) + 22 * max(len(widths) - 1, 0)
        return QSize(int(total + 2), px(20))

    def minimumSizeHint(self) -> QSize:
        widths = self._widths()
        least = sum(19 + min(name, 24) + (7 + value if value else 0) for name, value in widths)
        return QSize(int(least + 12 * max(len(widths) - 1, 0)), px(20))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        widths = self._widths()
        between = 22.0
        total = self.sizeHint().width() - 2
        over = max(total - self.width(), 0.0)
        if over:
            tighter = min(over, (len(widths) - 1) * 10.0)
            between -= tighter / max(len(widths) - 1, 1)
            over -= tighter
        names = sum(name for name, _value in widths) or 1.0
        shrink = max(1 - over / names, 0.0)
        x = max(self.width() - (total - (22.0 - between) * max(len(widths) - 1, 0)), 0.0)
        middle = self.height() / 2
        small, bold = fonts.font("caption"), fonts.font("caption-strong", numbers=True)
        for entry, (name, value) in zip(self._entries, widths, strict=True):
            pen = QPen(ink(entry.tone), 2)
            pen.setCapStyle(Qt.PenCapStyle.FlatCap if entry.dashed else Qt.PenCapStyle.RoundCap)
            if entry.dashed:
                pen.setDashPattern([2.5, 1.5])
            painter.setPen(pen)
            painter.drawLine(QPointF(x + 1, middle), QPointF(x + 13, middle))
            room = name * shrink
            paint.draw_text(painter, QRectF(x + 19, 0, room + 0.6, self.height()), entry.name, small, ink("text_2"))
            x += 19 + room
            if entry.value:
                box = QRectF(x + 7, 0, value + 1, self.height())
                paint.draw_text(painter, box, entry.value, bold, ink("text"), elide=False)
                x += 7 + value
            x += between
