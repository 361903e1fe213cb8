"""Small marks with a meaning: the pill and the icon tile. Never colour alone: a pill always has a word."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.theme import Themed, ink, px, theme
from tpu_studio.gui.kit.tokens import Height, Radius

PillKind = Literal["neutral", "accent", "ok", "warn", "bad"]

_INK = {"neutral": "text_2", "accent": "accent_text", "ok": "ok", "warn": "warn", "bad": "bad", "violet": "violet"}


class Pill(Themed, QLabel):
    """*dot* says that something goes on now; *icon* is a Lucide name. A screen reader reads the text."""

    def __init__(
        self,
        text: str,
        kind: PillKind = "neutral",
        *,
        dot: bool = False,
        icon: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._kind: PillKind = kind
        self._dot, self._icon = dot, icon
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def set_pill(self, text: str, kind: PillKind, *, dot: bool = False, icon: str = "") -> None:
        if (text, kind, dot, icon) == (self.text(), self._kind, self._dot, self._icon):
            return
        self._kind, self._dot, self._icon = kind, dot, icon
        self.setText(text)
        self.updateGeometry()
        self.update()

    @property
    def kind(self) -> PillKind:
        return self._kind

    def restyle(self) -> None:
        self.setFont(fonts.font("caption-medium", numbers=True))

    def sizeHint(self) -> QSize:
        return pill_size(self.text(), dot=self._dot, icon=self._icon)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        draw_pill(painter, QRectF(self.rect()), self.text(), self._kind, dot=self._dot, icon=self._icon)


class IconTile(Themed, QWidget):
    """A rounded square with an icon; decoration, so screen readers skip it."""

    def __init__(
        self, icon: str, kind: str = "neutral", *, side: int = 40, icon_size: int = 20, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._icon, self._kind, self._side, self._icon_size = icon, kind, side, icon_size
        self.follow_theme()

    def set_icon(self, icon: str, kind: str | None = None) -> None:
        self._icon, self._kind = icon, kind or self._kind
        self.update()

    def restyle(self) -> None:
        self.setFixedSize(px(self._side), px(self._side))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        line = ink(_INK[self._kind]) if theme().high_contrast else None
        paint.outlined(painter, box, Radius.inner, ink(f"{self._kind}_tint"), line)
        icons.paint(painter, self._icon, box, _INK[self._kind], px(self._icon_size))


class Icon(Themed, QWidget):
    """An icon beside words that say the same; screen readers skip it."""

    def __init__(self, name: str, tone: str = "text_2", *, size: int = 16, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._tone, self._size = name, tone, size
        self.follow_theme()

    def set_icon(self, name: str, tone: str | None = None) -> None:
        self._name, self._tone = name, tone or self._tone
        self.update()

    def restyle(self) -> None:
        self.setFixedSize(px(self._size), px(self._size))

    def paintEvent(self, event: QPaintEvent) -> None:
        icons.paint(paint.open_painter(self), self._name, QRectF(self.rect()), self._tone, px(self._size))


def pill_size(text: str, *, dot: bool = False, icon: str = "") -> QSize:
    width = 20 + paint.text_width(fonts.font("caption-medium", numbers=True), text)
    if dot:
        width += 12
    if icon:
        width += px(14) + 5
    return QSize(int(width + 0.99), px(Height.pill))


def draw_pill(
    painter: QPainter,
    box: QRectF,
    text: str,
    kind: str,
    *,
    dot: bool = False,
    icon: str = "",
    breath: float = 1.0,
) -> None:
    """The pill itself, for delegates and other painted widgets."""
    words = ink(_INK[kind])
    line = words if theme().high_contrast else None
    paint.outlined(painter, box, box.height() / 2, ink(f"{kind}_tint"), line)
    x = box.x() + 10
    if dot:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink(_INK[kind], breath))
        painter.drawEllipse(QRectF(x - 1, box.center().y() - 3, 6, 6))
        x += 12
    if icon:
        side = px(14)
        icons.paint(painter, icon, QRectF(x - 1, box.y(), side, box.height()), words, side)
        x += side + 5
    room = QRectF(x, box.y(), box.right() - x - 8, box.height())
    paint.draw_text(painter, room, text, fonts.font("caption-medium", numbers=True), words)
