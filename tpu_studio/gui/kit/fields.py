"""Fields: a label above, the box, a help line below, an error in its place, and a question mark for the explainer.

`Field` is the frame; `LineEdit`, `SpinBox`, `DecimalBox` and `ComboBox` are boxes for it (any widget may stand in it).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QFocusEvent, QKeyEvent, QPaintEvent, QValidator, QWheelEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.button import IconButton
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import FORM_WIDTH, Height, Radius, Space


def holds_files(data: QMimeData) -> bool:
    """Files or folders of this computer; many programs give their addresses as text besides."""
    return any(url.isLocalFile() for url in data.urls())


class LineEdit(RingFocus, Themed, QLineEdit):
    """One line of input. *suffix* is the word in grey at its right end ("batch size"); *placeholder* an example."""

    def __init__(
        self, text: str = "", *, name: str = "", suffix: str = "", placeholder: str = "", icon: str = "",
        parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._suffix, self._icon, self._bad = suffix, icon, False
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self.setFrame(False)
        self.setAttribute(Qt.WidgetAttribute.WA_MacShowFocusRect, False)
        self.setText(text)
        self.follow_theme()

    def set_suffix(self, suffix: str) -> None:
        self._suffix = suffix
        self.restyle()
        self.update()

    def set_bad(self, bad: bool) -> None:
        """Outline in `bad`; `Field.set_error` calls this and says why."""
        if bad != self._bad:
            self._bad = bad
            self.update()

    def restyle(self) -> None:
        self.setFont(fonts.font("body-medium", numbers=True))
        palette = self.palette()
        palette.setColor(palette.ColorRole.Base, Qt.GlobalColor.transparent)
        palette.setColor(palette.ColorRole.Text, ink("text"))
        palette.setColor(palette.ColorRole.PlaceholderText, ink("text_3"))
        self.setPalette(palette)
        self.setFixedHeight(max(px(Height.field), 30))
        self.setTextMargins(*self._margins())

    def _margins(self) -> tuple[int, int, int, int]:
        left = Space.l - 2 + (px(16) + Space.m if self._icon else 0)
        right = Space.l - 2
        if self._suffix:
            right += int(paint.text_width(fonts.font("secondary"), self._suffix)) + Space.m
        return left, 0, right, 0

    def minimumSizeHint(self) -> QSize:
        left, _, right, _ = self._margins()
        return QSize(left + right + px(44), self.height())

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Words may be dropped here. Files are for what lies around: their address is no number and no name."""
        if holds_files(event.mimeData()):
            event.ignore()
        else:
            super().dragEnterEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.isAutoRepeat() and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            return  # held down since the button that has led here: it confirms nothing
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        focused = self.hasFocus()
        line = ink("bad" if self._bad else "accent" if focused else "control")
        paint.outlined(painter, box, Radius.control, ink("card" if self.isEnabled() else "window"), line)
        if self._icon:
            icons.paint(painter, self._icon, QRectF(Space.l, 0, px(16), box.height()), "text_3", px(16))
        if self._suffix:
            room = box.adjusted(Space.l, 0, -Space.l, 0)
            paint.draw_text(
                painter, room, self._suffix, fonts.font("secondary"), ink("text_3"), Qt.AlignmentFlag.AlignRight
            )
        painter.end()
        super().paintEvent(event)


class _NumberEdit(LineEdit):
    """A number typed as people write it (1,000), stepped with Up and Down or the wheel while focused."""

    def __init__(
        self, number: float, low: float, high: float, step: float, decimals: int, *, name: str, suffix: str,
        doubling: bool, parent: QWidget | None,
    ) -> None:  # fmt: skip
        self._low, self._high, self._step, self._decimals, self._doubling = low, high, step, decimals, doubling
        self._number = number
        super().__init__(self._spelled(number), name=name, suffix=suffix, parent=parent)
        self.setValidator(_NumberValidator(self))
        self.textEdited.connect(lambda _text: self._edited())

    def _spelled(self, number: float) -> str:
        if self._decimals == 0:
            return f"{round(number):,}"
        text = f"{number:.{self._decimals}f}".rstrip("0").rstrip(".")
        return text if number == 0 or float(text) == number or abs(number) >= 10**-self._decimals else f"{number:g}"

    def _typed(self) -> float | None:
        try:
            number = float(self.text().replace(",", "").replace(" ", "").replace("\u202f", ""))
        except ValueError:
            return None
        return number if math.isfinite(number) else None

    def _read(self) -> float | None:
        number = self._typed()
        return number if number is not None and self._low <= number <= self._high else None

    def _edited(self) -> None:
        number = self._read()
        if number is not None and number != self._number:
            self._number = number
            self._tell()

    def _settle(self) -> None:
        """On leaving and on Enter: spelled well; out of range the nearest allowed; nothing typed, the old one."""
        number = self._typed()
        before = self._number
        if number is not None:
            self._number = min(max(number, self._low), self._high)
        self.setText(self._spelled(self._number))
        if self._number != before:
            self._tell()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            self._settle()
        super().focusOutEvent(event)

    def _tell(self) -> None:
        raise NotImplementedError

    def step_by(self, steps: int) -> None:
        if self._doubling:
            number = self._number * 2.0**steps
        else:
            number = self._number + steps * self._step
        number = min(max(number, self._low), self._high)
        if number != self._number:
            self._number = round(number) if self._decimals == 0 else number
            self.setText(self._spelled(self._number))
            self._tell()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()), 0)
        if steps and not self.isReadOnly():
            self.step_by(steps)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.isAutoRepeat():
            as_typed = self._read() is not None
            self._settle()
            if as_typed:  # else Enter only corrects the number: nobody has seen yet what it would confirm
                super().keyPressEvent(event)
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # a page that scrolls must not change a number on the way


class SpinBox(_NumberEdit):
    """A whole number. *doubling*: Up and Down double and halve it (batch sizes). `valueChanged` while typing."""

    valueChanged = Signal(int)

    def __init__(
        self, value: int = 0, low: int = 0, high: int = 1_000_000_000, *, step: int = 1, name: str = "",
        suffix: str = "", doubling: bool = False, parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(value, low, high, step, 0, name=name, suffix=suffix, doubling=doubling, parent=parent)

    def value(self) -> int:
        return round(self._number)

    def setValue(self, value: int) -> None:
        if value != self.value():
            self._number = value
            self.setText(self._spelled(value))
            self.valueChanged.emit(value)

    def _tell(self) -> None:
        self.valueChanged.emit(self.value())


class DecimalBox(_NumberEdit):
    """A number with decimals (learning rate, money)."""

    valueChanged = Signal(float)

    def __init__(
        self, value: float = 0.0, low: float = 0.0, high: float = 1e9, *, step: float = 0.1, decimals: int = 6,
        name: str = "", suffix: str = "", doubling: bool = False, parent: QWidget | None = None,
    ) -> None:  # fmt: skip
        super().__init__(value, low, high, step, decimals, name=name, suffix=suffix, doubling=doubling, parent=parent)

    def value(self) -> float:
        return self._number

    def setValue(self, value: float) -> None:
        if value != self._number:
            self._number = value
            self.setText(self._spelled(value))
            self.valueChanged.emit(value)

    def _tell(self) -> None:
        self.valueChanged.emit(self._number)


class _NumberValidator(QValidator):
    def __init__(self, edit: _NumberEdit) -> None:
        super().__init__(edit)
        self._edit = edit

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        allowed = "0123456789, " + (".eE-+" if self._edit._decimals else "-" if self._edit._low < 0 else "")
        if any(character not in allowed for character in text):
            return QValidator.State.Invalid, text, position
        try:
            number = float(text.replace(",", "").replace(" ", ""))
        except ValueError:
            return QValidator.State.Intermediate, text, position
        good = self._edit._low <= number <= self._edit._high
        return (QValidator.State.Acceptable if good else QValidator.State.Intermediate), text, position


class ComboBox(RingFocus, Themed, QComboBox):
    """One of many words. `chosen` carries the key of the option a person picks; `set_value` is silent."""

    chosen = Signal(str)

    def __init__(
        self, options: Sequence[tuple[str, str]] = (), value: str = "", *, name: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(8)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_options(options)
        if value:
            self.set_value(value)
        self.activated.connect(lambda _index: self.chosen.emit(self.value))
        self.follow_theme()

    def set_options(self, options: Sequence[tuple[str, str]]) -> None:
        """(key, text) each; the present key stays chosen if it is still there."""
        kept = self.value
        self.blockSignals(True)
        self.clear()
        for key, text in options:
            self.addItem(text, key)
        self.blockSignals(False)
        if kept:
            self.set_value(kept)
        self.update()

    def set_option_enabled(self, key: str, enabled: bool, why: str = "") -> None:
        """A disabled option stays in the list and says *why* on hover."""
        item = self.model().item(self.findData(key))  # type: ignore[attr-defined]
        item.setEnabled(enabled)
        item.setToolTip(why)

    @property
    def value(self) -> str:
        return str(self.currentData() or "")

    def set_value(self, key: str) -> None:
        index = self.findData(key)
        if index >= 0:
            self.blockSignals(True)
            self.setCurrentIndex(index)
            self.blockSignals(False)
            self.update()

    def restyle(self) -> None:
        self.setFont(fonts.font("body-medium"))
        self.setFixedHeight(max(px(Height.field), 30))

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave):
            self.update()
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        ground = "card" if self.isEnabled() else "window"
        if self.underMouse() and self.isEnabled():
            ground = "hover"
        paint.outlined(painter, box, Radius.control, ink(ground), ink("control"))
        side = px(16)
        icons.paint(
            painter, "chevron-down", QPointF(box.right() - Space.l - side, (box.height() - side) / 2), "text_2", side
        )
        room = box.adjusted(Space.l, 0, -(Space.l + side + Space.xs), 0)
        text = self.currentText() or self.placeholderText()
        tone = "text" if self.isEnabled() and self.currentText() else "text_3"
        width = paint.text_width(self.font(), text)
        if (width > room.width()) != bool(self.toolTip()):
            self.setToolTip(text if width > room.width() else "")
        paint.draw_text(painter, room, text, self.font(), ink(tone))


class _FormColumn(QVBoxLayout):
    """No wider than a form: Qt asks a layout how high it is at a width that its widget never gets."""

    def heightForWidth(self, width: int) -> int:
        return super().heightForWidth(min(width, FORM_WIDTH))

    def minimumHeightForWidth(self, width: int) -> int:
        return super().minimumHeightForWidth(min(width, FORM_WIDTH))


class Field(QWidget):
    """Label, question mark, box, then help or error. `help_asked` when the question mark is pressed.

    The error replaces the help line, stands under the field in `bad` with an icon, and is the box's description.
    """

    help_asked = Signal()

    def __init__(
        self,
        label: str,
        box: QWidget,
        help: str = "",
        *,
        term: str = "",
        explain: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """*term* is the technical word, grey, after the plain label; *explain* adds the question mark."""
        super().__init__(parent)
        self.box = box
        self._help = help
        if not box.accessibleName():
            box.setAccessibleName(f"{label} ({term})" if term else label)
        top = QHBoxLayout()
        top.setSpacing(Space.hair)
        self.label = Line(label, "label")
        top.addWidget(self.label)
        if term:
            top.addSpacing(Space.xs)
            top.addWidget(Line(f"({term})", "label", "text_3"))
        self.question: IconButton | None = None
        if explain:
            self.question = IconButton("circle-help", f"What is {label.lower()}?", side=22, icon_size=15, tone="text_3")
            self.question.clicked.connect(self.help_asked)
            top.addWidget(self.question)
        top.addStretch(1)
        self._icon = Icon("circle-alert", "bad", size=14)
        self._icon.hide()
        self.note = Text(help, "caption", "text_3")
        below = QHBoxLayout()
        below.setSpacing(Space.xs + 1)
        below.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        below.addWidget(self.note, 1)
        column = _FormColumn(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.s - 1)
        column.addLayout(top)
        left = box.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Fixed
        column.addWidget(box, 0, Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag(0))
        column.addLayout(below)
        column.addStretch(1)
        self.setMaximumWidth(FORM_WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self._show_note()

    def set_help(self, help: str) -> None:
        self._help = help
        self._show_note()

    def set_error(self, error: str) -> None:
        """The sentence that says what is wrong and what would be right; "" takes it away."""
        if self._error == error:
            return
        self._error = error
        set_bad = getattr(self.box, "set_bad", None)
        if set_bad is not None:
            set_bad(bool(error))
        self._show_note()

    _error = ""

    @property
    def error(self) -> str:
        return self._error

    def _show_note(self) -> None:
        words = self._error or self._help
        self.note.setText(words)
        self.note.set_tone("bad" if self._error else "text_3")
        self.note.setVisible(bool(words))
        self._icon.setVisible(bool(self._error))
        self.box.setAccessibleDescription(words)
