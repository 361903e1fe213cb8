"""Choosing: segments, switch, checkbox and choice cards. All are Qt's own radio buttons and checkboxes underneath, so
arrow keys, Space, screen readers and groups work as everywhere."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QRadioButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.motion import CHANGE_MS, Glide
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.gui.kit.tooltip import plain


class _Segment(RingFocus, Themed, QRadioButton):
    ring_radius = Radius.thumb

    def __init__(self, text: str, small: bool) -> None:
        super().__init__(text.replace("&", "&&"))
        self.label = text
        self._small = small
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def hitButton(self, position) -> bool:  # type: ignore[no-untyped-def]
        return bool(self.rect().contains(position))

    def sizeHint(self) -> QSize:
        width = paint.text_width(fonts.font("label"), self.label)
        return QSize(int(width + 25), px(26 if self._small else 30))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        tone = "text_2"
        if self.isChecked():
            paint.outlined(painter, box, Radius.thumb, ink("card"), ink("border_strong"))
            tone = "text"
        elif self.underMouse() and self.isEnabled():
            tone = "text"
        if not self.isEnabled():
            tone = "text_3"
        paint.draw_text(
            painter, box, self.label, fonts.font("label"), ink(tone), Qt.AlignmentFlag.AlignHCenter, elide=False
        )


class Segmented(Themed, QWidget):
    """A few words of which one is chosen. `changed` carries the key; `set_value` is silent."""

    changed = Signal(str)

    def __init__(
        self,
        options: Sequence[tuple[str, str]],
        value: str = "",
        *,
        name: str,
        small: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """*options* are (key, text); *name* tells a screen reader what is chosen here."""
        super().__init__(parent)
        self.setAccessibleName(name)
        self._group = QButtonGroup(self)
        self._segments: dict[str, _Segment] = {}
        self._silent: bool = False
        row = QHBoxLayout(self)
        row.setContentsMargins(3, 3, 3, 3)
        row.setSpacing(2)
        for key, text in options:
            segment = _Segment(text, small)
            segment.setAccessibleName(f"{name}: {text}")
            self._segments[key] = segment
            self._group.addButton(segment)
            row.addWidget(segment)
            segment.toggled.connect(lambda on, key=key: self.changed.emit(key) if on and not self._silent else None)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        if options:
            self.set_value(value or options[0][0])
        self.follow_theme()

    @property
    def value(self) -> str:
        return next((key for key, segment in self._segments.items() if segment.isChecked()), "")

    def set_value(self, key: str) -> None:
        self._silent = True
        self._segments[key].setChecked(True)
        self._silent = False

    def segment(self, key: str) -> QRadioButton:
        return self._segments[key]

    def set_segment_enabled(self, key: str, enabled: bool, why: str = "") -> None:
        """A disabled segment says *why* on hover."""
        self._segments[key].setEnabled(enabled)
        self._segments[key].setToolTip(plain("" if enabled else why))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        paint.outlined(painter, QRectF(self.rect()), Radius.inner, ink("neutral_tint"), ink("border"))


class Switch(RingFocus, Themed, QCheckBox):
    """On or off, at once. Alone it needs *name*; `SwitchRow` puts words beside it."""

    ring_radius = 11

    def __init__(self, name: str, on: bool = False, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setChecked(on)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._knob = Glide(self, CHANGE_MS, 1.0 if on else 0.0)
        self.toggled.connect(lambda checked: self._knob.to(1.0 if checked else 0.0))
        self.follow_theme()

    def restyle(self) -> None:
        self.setFixedSize(px(38), px(22))

    def hitButton(self, position) -> bool:  # type: ignore[no-untyped-def]
        return bool(self.rect().contains(position))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        at = self._knob.value
        ground = ink("accent" if at >= 0.5 else "control")
        if not self.isEnabled():
            ground = ink("track")
        paint.outlined(painter, box, box.height() / 2, ground)
        inset = px(3)
        side = box.height() - 2 * inset
        x = inset + (box.width() - 2 * inset - side) * at
        painter.setBrush(ink("on_accent" if at >= 0.5 else "card"))
        painter.drawEllipse(QRectF(x, inset, side, side))


class SwitchRow(QWidget):
    """A switch with its title and one line of explanation; a click on the words turns it too."""

    toggled = Signal(bool)

    def __init__(self, title: str, explanation: str = "", on: bool = False, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = Switch(title, on)
        self.switch.setAccessibleDescription(explanation)
        self.title = Text(title, "label-strong")
        self.explanation = Text(explanation, "caption", "text_3")
        if not explanation:
            self.explanation.hide()
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(self.title)
        words.addWidget(self.explanation)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.l)
        row.addWidget(self.switch, 0, Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(words, 1)
        self.switch.toggled.connect(self.toggled)

    def isChecked(self) -> bool:
        return self.switch.isChecked()

    def setChecked(self, on: bool) -> None:
        self.switch.setChecked(on)

    def mouseReleaseEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.switch.click()


class CheckBox(RingFocus, Themed, QCheckBox):
    """A box with its word. The text wraps no line: keep it short, explain beneath with `Text`."""

    ring_radius = 6

    def __init__(self, text: str, on: bool = False, *, parent: QWidget | None = None) -> None:
        super().__init__(text.replace("&", "&&"), parent)
        self.label = text
        self.setChecked(on)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def hitButton(self, position) -> bool:  # type: ignore[no-untyped-def]
        return bool(self.rect().contains(position))

    def sizeHint(self) -> QSize:
        width = paint.text_width(fonts.font("label"), self.label)
        return QSize(int(px(18) + Space.m + width + 2), max(px(24), 24))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        side = px(18)
        box = QRectF(0.5, (self.height() - side) / 2, side, side)
        if self.isChecked():
            paint.outlined(painter, box, 5, ink("accent" if self.isEnabled() else "text_3"))
            icons.paint(painter, "check", box, "on_accent", px(14))
        else:
            paint.outlined(painter, box, 5, ink("card"), ink("control"), 1.5)
        room = QRectF(side + Space.m, 0, self.width() - side - Space.m, self.height())
        paint.draw_text(painter, room, self.label, fonts.font("label"), ink("text" if self.isEnabled() else "text_3"))


class ChoiceCard(RingFocus, Themed, QRadioButton):
    """One of a few large choices. Put equal siblings into one `ChoiceGroup` so arrow keys walk them.

    *icon* stands before the title (models, places); *detail* is the line in the accent when selected (time, price).
    """

    ring_radius = Radius.inner

    def __init__(
        self,
        title: str,
        text: str = "",
        detail: str = "",
        *,
        icon: str = "",
        key: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.key = key or title
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setText(title.replace("&", "&&"))
        self.setAccessibleName(title)
        self.setAccessibleDescription(". ".join(part for part in (text, detail) if part))
        self._icon = icon
        self._title = Text(title, "row-title")
        self._text = Text(text, "caption", "text_2")
        self._detail = Text(detail, "caption-medium", "text_2", numbers=True)
        self._column = QVBoxLayout(self)
        self._column.setSpacing(Space.hair + 1)
        for words in (self._title, self._text, self._detail):
            words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            if not words.text():
                words.hide()
            self._column.addWidget(words)
        self._column.addStretch(1)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.toggled.connect(self._toned)
        self.follow_theme()

    def set_words(self, text: str, detail: str = "") -> None:
        for label, value in ((self._text, text), (self._detail, detail)):
            label.setText(value)
            label.setVisible(bool(value))
        self.setAccessibleDescription(". ".join(part for part in (text, detail) if part))

    def restyle(self) -> None:
        left = Space.l + (px(20) + Space.l if self._icon else 0)
        self._column.setContentsMargins(left, Space.l - 1, Space.l + px(22), Space.l)

    def hitButton(self, position) -> bool:  # type: ignore[no-untyped-def]
        return bool(self.rect().contains(position))

    def sizeHint(self) -> QSize:
        return QSize(px(180), self._column.totalSizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(self._column.totalMinimumSize().width(), self._column.totalMinimumSize().height())

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._column.totalHeightForWidth(width)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        chosen = self.isChecked()
        ground = "hover" if self.underMouse() and not chosen and self.isEnabled() else "card"
        line = ink("accent") if chosen else ink("border")
        paint.outlined(painter, box, Radius.inner, ink(ground), line, 2 if chosen else 1)
        if self._icon:
            spot = QRectF(Space.l, Space.l - 2, px(20), px(20))
            icons.paint(painter, self._icon, spot, "accent" if chosen else "text_2", px(20))
        if chosen:
            side = px(16)
            icons.paint(painter, "circle-check", QPointF(box.right() - Space.l - side, Space.l), "accent", side)

    def _toned(self, chosen: bool) -> None:
        self._detail.set_tone("accent_text" if chosen else "text_2")
        self.update()


class ChoiceGroup(QWidget):
    """Choice cards side by side with equal widths, whatever their text; `columns` wraps them."""

    changed = Signal(str)

    def __init__(
        self, cards: Sequence[ChoiceCard], *, name: str, columns: int = 0, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self._cards = list(cards)
        self._buttons = QButtonGroup(self)
        self._silent = False
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(Space.m + 2)
        columns = columns or max(len(self._cards), 1)
        for index, card in enumerate(self._cards):
            self._buttons.addButton(card)
            grid.addWidget(card, index // columns, index % columns)
            card.toggled.connect(lambda on, key=card.key: self.changed.emit(key) if on and not self._silent else None)
        for column in range(columns):
            grid.setColumnStretch(column, 1)
            grid.setColumnMinimumWidth(column, 0)

    @property
    def value(self) -> str:
        return next((card.key for card in self._cards if card.isChecked()), "")

    def set_value(self, key: str) -> None:
        """ "" chooses none of them."""
        self._silent = True
        self._buttons.setExclusive(bool(key))
        for card in self._cards:
            if card.key == key or not key:
                card.setChecked(bool(key))
        self._buttons.setExclusive(True)
        self._silent = False

    def card(self, key: str) -> ChoiceCard:
        return next(card for card in self._cards if card.key == key)
