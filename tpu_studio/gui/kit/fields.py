"""Fields: a label above, the box, a help line below, an error in its place, and a question mark for the explainer.

`Field` is the frame; `LineEdit` and `ComboBox` are boxes for it, as are the numbers of ``gui.kit.numberedit`` (any
widget may stand in it).
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QKeyEvent, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QSizePolicy, QStyledItemDelegate, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.card import clear_layout
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import FORM_WIDTH, Height, Radius, Space
from tpu_studio.gui.kit.tooltip import plain


def holds_files(data: QMimeData) -> bool:
    """Files or folders of this computer; many programs give their addresses as text besides."""
    return any(url.isLocalFile() for url in data.urls())


SEARCHED = 500  # letters of a search: each word of it is looked for at each letter that is typed


class LineEdit(RingFocus, Themed, QLineEdit):
    """One line of input. *suffix* is the word in grey at its right end ("batch size"); *placeholder* an example."""

    def __init__(
        self,
        text: str = "",
        *,
        name: str = "",
        suffix: str = "",
        placeholder: str = "",
        icon: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._suffix, self._icon, self._bad = suffix, icon, False
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self.setFrame(False)
        self.setAttribute(Qt.WidgetAttribute.WA_MacShowFocusRect, False)
        if icon == "search":
            self.setMaxLength(SEARCHED)
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
        self.setItemDelegate(QStyledItemDelegate(self))  # Qt's own for combo boxes does not know the style sheet's rows
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

    def whole_width(self) -> int:
        """Pixels with which none of its options is cut off."""
        texts = [self.itemText(row) for row in range(self.count())]
        return int(max((paint.text_width(self.font(), text) for text in texts), default=0.0)) + 2 + self._beside()

    def _beside(self) -> int:
        """Pixels that stand left and right of the words."""
        return 2 * Space.l + px(16) + Space.xs

    def set_option_enabled(self, key: str, enabled: bool, why: str = "") -> None:
        """A disabled option stays in the list and says *why* on hover."""
        item = self.model().item(self.findData(key))  # type: ignore[attr-defined]
        item.setEnabled(enabled)
        item.setToolTip(plain(why))

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

    def showPopup(self) -> None:
        """As wide as its longest row, so that none is cut off."""
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 4 * Space.l)
        super().showPopup()

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
        room = box.adjusted(Space.l, 0, Space.l - self._beside(), 0)
        text = self.currentText() or self.placeholderText()
        tone = "text" if self.isEnabled() and self.currentText() else "text_3"
        width = paint.text_width(self.font(), text)
        if (width > room.width()) != bool(self.toolTip()):
            self.setToolTip(plain(text if width > room.width() else ""))
        paint.draw_text(painter, room, text, self.font(), ink(tone))


class _FormColumn(QVBoxLayout):
    """No wider than a form: Qt asks a layout how high it is at a width that its widget never gets."""

    def heightForWidth(self, width: int) -> int:
        return super().heightForWidth(min(width, FORM_WIDTH))

    def minimumHeightForWidth(self, width: int) -> int:
        return super().minimumHeightForWidth(min(width, FORM_WIDTH))


class Field(QWidget):
    """Label, question mark, box, then help or error. `help_asked` when the question mark is pressed.

    The error replaces the help line, stands under the field in `bad` with an icon, and is the box's description; what
    could be meant instead stands below it as buttons (`offered` carries the key). A number's own doubts are shown so.
    """

    help_asked = Signal()
    offered = Signal(str)

    def __init__(
        self,
        label: str,
        box: QWidget,
        help: str = "",
        *,
        explain: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """*label* is the field's term, *help* the plain words below; *explain* adds the question mark."""
        super().__init__(parent)
        self.box = box
        self._help = help
        if not box.accessibleName():
            box.setAccessibleName(label)
        top = QHBoxLayout()
        top.setSpacing(Space.hair)
        self.label = Line(label, "label")
        top.addWidget(self.label)
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
        self._offers: tuple[tuple[str, str], ...] = ()
        self._ways = QWidget()
        self._flow = FlowLayout(self._ways, gap=Space.m)
        self._ways.hide()
        column.addWidget(self._ways)
        column.addStretch(1)
        if (doubted := getattr(box, "doubted", None)) is not None:  # a number of ``gui.kit.numberedit``
            doubted.connect(lambda doubt: self.set_error(doubt, box.offers))  # type: ignore[attr-defined]
            self.offered.connect(box.take)  # type: ignore[attr-defined]
        self.setMaximumWidth(FORM_WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self._show_note()

    def set_help(self, help: str) -> None:
        self._help = help
        self._show_note()

    def set_error(self, error: str, offers: Sequence[tuple[str, str]] = ()) -> None:
        """The sentence that says what is wrong and what would be right; "" takes it away. *offers*: (words, key)."""
        if self._error == error and self._offers == tuple(offers):
            return
        self._error = error
        self._show_offers(tuple(offers))
        set_bad = getattr(self.box, "set_bad", None)
        if set_bad is not None:
            set_bad(bool(error))
        self._show_note()

    def _show_offers(self, offers: tuple[tuple[str, str], ...]) -> None:
        if offers == self._offers:
            return
        self._offers = offers
        clear_layout(self._flow)
        for words, key in offers:
            button = Button(f"It is {words}", size="small")
            button.clicked.connect(lambda _=False, key=key: self.offered.emit(key))
            self._flow.addWidget(button)
        self._ways.setVisible(bool(offers))

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
