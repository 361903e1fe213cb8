"""Buttons. One primary (filled) per screen; everything else is outlined (`secondary`), quiet, a link, or danger.

The text is shown as it is written: an ampersand is an ampersand.
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QEnterEvent, QFont, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QToolButton, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.motion import HOVER_MS, Glide
from tpu_studio.gui.kit.theme import Themed, ink, px, theme
from tpu_studio.gui.kit.tokens import Height, Radius
from tpu_studio.gui.kit.tooltip import plain

Kind = Literal["primary", "secondary", "quiet", "danger", "link"]
Size = Literal["small", "normal", "main"]

_HEIGHTS = {"small": Height.button_small, "normal": Height.button, "main": Height.button_main}
_PADDING = {"small": 11, "normal": 15, "main": 18}


class Button(RingFocus, Themed, QPushButton):
    def __init__(
        self,
        text: str,
        kind: Kind = "secondary",
        *,
        size: Size = "normal",
        icon: str = "",
        hover: str = "",
        name: str = "",
        parent: QWidget | None = None,
    ) -> None:
        """*hover* is the hover text (put the key there), *name* what a screen reader says if not the text."""
        super().__init__(parent)
        self._kind: Kind = kind
        self._size: Size = size
        self._icon = icon
        self._label = ""
        self._hover = Glide(self, HOVER_MS)
        self.setText(text)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAutoDefault(kind == "primary")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        wide = QSizePolicy.Policy.Minimum if size == "main" else QSizePolicy.Policy.Fixed
        self.setSizePolicy(wide, QSizePolicy.Policy.Fixed)
        if hover:
            self.setToolTip(plain(hover))
        if name:
            self.setAccessibleName(name)
        self.follow_theme()

    def text(self) -> str:
        return self._label

    def setText(self, text: str) -> None:
        if text == self._label:
            return
        self._label = text
        super().setText(text.replace("&", "&&"))
        self.updateGeometry()

    def set_kind(self, kind: Kind) -> None:
        if kind != self._kind:
            self._kind = kind
            self._theme_changed()

    @property
    def kind(self) -> Kind:
        return self._kind

    def set_icon(self, name: str) -> None:
        self._icon = name
        self.updateGeometry()
        self.update()

    def stretch(self) -> Button:
        """Fill the width the layout gives, for buttons under equal siblings. Returns itself."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        return self

    def restyle(self) -> None:
        self.setFont(self._face())

    def sizeHint(self) -> QSize:
        return QSize(int(self._content_width() + 2 * self._pad() + 0.99), max(px(_HEIGHTS[self._size]), 30))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self._hover.to(1.0)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover.to(0.0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        fill, line, words = self._colours()
        if self.isDown() and fill is not None:
            fill = _mix(fill, ink("text"), 0.07)
        if fill is not None or line is not None:
            paint.outlined(painter, box, Radius.control, fill, line)
        width = self._content_width()
        x = 0.0 if self._kind == "link" and self._pad() == 0 else max((box.width() - width) / 2, self._pad())
        if self._icon:
            side = self._icon_side()
            x = x if self._label else (box.width() - side) / 2
            icons.paint(painter, self._icon, QRectF(x, 0, side, box.height()), words, side)
            x += side + self._gap()
        room = QRectF(x, 0, box.width() - x - (self._pad() / 2), box.height())
        paint.draw_text(painter, room, self._label, self.font(), words)
        if self._kind == "link" and self.hasFocus():
            end = x + min(paint.text_width(self.font(), self._label), room.width())
            base = box.height() / 2 + self.font().pixelSize() * 0.62
            paint.hairline(painter, x, base, end, base, words)

    def _colours(self) -> tuple[QColor | None, QColor | None, QColor]:
        hover = self._hover.value
        if not self.isEnabled():
            if self._kind == "primary":
                return ink("track"), None, ink("text_3" if not theme().high_contrast else "text_2")
            line = ink("border") if self._kind in ("secondary", "danger") else None
            return None, line, ink("text_3")
        if self._kind == "primary":
            return _mix(ink("accent"), ink("accent_hover"), hover), None, ink("on_accent")
        if self._kind == "secondary":
            return _mix(ink("card"), ink("hover"), hover), ink("border_strong"), ink("text")
        if self._kind == "danger":
            return _mix(ink("card"), ink("bad_tint"), hover), ink("bad"), ink("bad")
        if self._kind == "link":
            return None, None, _mix(ink("accent_text"), ink("accent"), hover)
        return (ink("hover", max(hover, 0.01)) if hover else None), None, ink("text_2" if hover < 0.5 else "text")

    def _face(self) -> QFont:
        if self._kind == "primary":
            return fonts.font("button-main" if self._size == "main" else "button-primary")
        return fonts.font("button")

    def _pad(self) -> float:
        return 4 if self._kind == "link" else _PADDING[self._size]

    def _gap(self) -> float:
        return 7 if self._size != "small" else 6

    def _icon_side(self) -> float:
        return px(16 if self._size != "small" else 15)

    def _content_width(self) -> float:
        width = paint.text_width(self.font(), self._label)
        if self._icon:
            width += self._icon_side() + (self._gap() if self._label else 0)
        return width


class IconButton(RingFocus, Themed, QToolButton):
    """An icon alone: only for settings, close, more and question marks. *name* is required and is its hover text."""

    def __init__(
        self,
        icon: str,
        name: str,
        *,
        side: int = 30,
        icon_size: int = 18,
        tone: str = "text_2",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._icon, self._side, self._icon_size, self._tone = icon, side, icon_size, tone
        self.setAccessibleName(name)
        self.setToolTip(plain(name))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.follow_theme()

    def restyle(self) -> None:
        side = max(px(self._side), 20)
        self.setFixedSize(side, side)

    def set_icon(self, name: str, tone: str | None = None) -> None:
        self._icon, self._tone = name, tone or self._tone
        self.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        if self.underMouse() and self.isEnabled() and self._side >= 26:
            paint.outlined(painter, box, Radius.control, ink("hover"))
        tone = self._tone if self.isEnabled() else "text_3"
        if self.underMouse() and self.isEnabled():
            tone = "text"
        icons.paint(painter, self._icon, box, tone, px(self._icon_size))


def _mix(a: QColor, b: QColor, share: float) -> QColor:
    if share <= 0:
        return a
    return QColor.fromRgbF(
        a.redF() + (b.redF() - a.redF()) * share,
        a.greenF() + (b.greenF() - a.greenF()) * share,
        a.blueF() + (b.blueF() - a.blueF()) * share,
    )
