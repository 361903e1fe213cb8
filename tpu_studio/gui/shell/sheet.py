"""A dialog inside the window: a question as title, what will happen, and buttons that are the answers.

Not a second window and never `exec()`: the page behind stays alive. Tab stays inside, Esc takes the safe answer, which
also has the focus where the others cost or last; where they do not, Enter takes the main one (`answer`, `ask`). Fill
`body`; give the buttons with `answer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import shiboken6
from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtGui import QAccessible, QKeyEvent, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QRadioButton,
    QScrollArea,
    QScrollBar,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button, Kind
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.numberedit import NumberEdit
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import controller, ink, soft_px
from tpu_studio.gui.kit.tokens import Space

_SCROLLS = {
    Qt.Key.Key_PageUp: QScrollBar.SliderAction.SliderPageStepSub,
    Qt.Key.Key_PageDown: QScrollBar.SliderAction.SliderPageStepAdd,
    Qt.Key.Key_Home: QScrollBar.SliderAction.SliderToMinimum,
    Qt.Key.Key_End: QScrollBar.SliderAction.SliderToMaximum,
}


class Tall(QWidget):
    """What may be cut short in a sheet: it is given *height*, or what it needs at its width, where the window has room
    for that, and less where it has not; *inner* scrolls."""

    def __init__(self, inner: QWidget, height: Callable[[int], int], least: int = 110) -> None:
        super().__init__()
        self._height, self._least = height, least
        self._wanted_at = 0
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(inner)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height(self._wanted_at or self.width()))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), soft_px(self._least))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != self._wanted_at:
            self._wanted_at = event.size().width()
            self.updateGeometry()


class Veil(QWidget):
    """What lies over the whole window and has the keyboard to itself."""


def covered(window: QWidget) -> bool:
    """Whether something lies over *window*: its page's keys do nothing then."""
    return any(veil.isVisible() for veil in window.findChildren(Veil))


class Sheet(Veil):
    """*closed* is called once, however it was closed."""

    spoken_role = QAccessible.Role.Dialog

    def __init__(self, over: QWidget, title: str, sentence: str = "", *, width: int = 520) -> None:
        host = over.window()
        super().__init__(host)
        self._host, self._wanted = host, width
        self._before = _with_ancestors(host.focusWidget())
        self._safe: Button | None = None
        self._first: QWidget | None = None
        self._gone = False
        self.closed: Callable[[], None] = lambda: None
        self.card = Card(margins=(24, 20, 24, 20), spacing=Space.l, strong=True, parent=self)
        self.title = Text(title, "card-title")
        self.sentence = Text(sentence, "body", "text_2")
        if not sentence:
            self.sentence.hide()
        head = QVBoxLayout()
        head.setSpacing(Space.xs)
        head.addWidget(self.title)
        head.addWidget(self.sentence)
        self.body = QVBoxLayout()
        self.body.setSpacing(Space.m)
        self._left = QHBoxLayout()
        self._right = QHBoxLayout()
        for row in (self._left, self._right):
            row.setSpacing(Space.m)
        answers = QHBoxLayout()
        answers.addLayout(self._left)
        answers.addStretch(1)
        answers.addLayout(self._right)
        self.card.body.addLayout(head)
        self.card.body.addLayout(self.body)
        self.card.body.addSpacing(Space.s)
        self.card.body.addLayout(answers)
        self.setAccessibleName(title)
        self.setAccessibleDescription(sentence)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        host.installEventFilter(self)
        controller().changed.connect(self._later)

    def facts(self, lines: Sequence[str], icon: str = "check", tone: str = "ok") -> None:
        """What will happen, a line each with a mark before it."""
        for line in lines:
            row = QHBoxLayout()
            row.setSpacing(Space.l)
            row.addWidget(Icon(icon, tone, size=16), 0, Qt.AlignmentFlag.AlignTop)
            row.addWidget(Text(line, "body"), 1)
            self.body.addLayout(row)

    def answer(
        self,
        text: str,
        act: Callable[[], object] | None = None,
        *,
        kind: Kind = "secondary",
        left: bool = False,
        safe: bool = False,
        main: bool = False,
        stays: bool = False,
    ) -> Button:
        """A button. It closes the sheet, then acts; *safe* is what Esc takes; *stays* leaves the sheet open. *main* has
        the focus, so Enter takes it: never what costs money, deletes, or cannot be taken back."""
        button = Button(text, kind)
        if safe:
            self._safe = button
        if main:
            self._first = button

        def pressed() -> None:
            if not stays:
                self.close()
            if act is not None:
                act()

        button.clicked.connect(pressed)
        (self._left if left else self._right).addWidget(button)
        return button

    def ask(self, field: QLineEdit, main: Button) -> None:
        """*field* has the focus, to be typed over, and Enter in it presses *main*: what `answer` says of that holds."""
        self._first = field
        field.returnPressed.connect(main.click)

    def needs(self, number: NumberEdit, main: Button) -> None:
        """*main* uses *number*: it waits until what is typed there is clear."""
        number.doubted.connect(lambda doubt: main.setEnabled(not doubt))

    def open(self) -> None:
        self.place()
        self.show()
        self.raise_()
        first = self._first or self._safe or next(iter(self.findChildren(Button)), None)
        if first is not None:
            first.setFocus(Qt.FocusReason.PopupFocusReason)
        if isinstance(first, QLineEdit):
            first.selectAll()

    def close(self) -> bool:
        if self._gone:
            return True
        self._gone = True
        self._host.removeEventFilter(self)
        controller().changed.disconnect(self._later)
        self.hide()
        for place in self._before:  # what had the focus may have been drawn anew meanwhile
            if shiboken6.isValid(place) and place.isVisible():
                place.setFocus(Qt.FocusReason.PopupFocusReason)
                break
        self.setParent(None)
        self.deleteLater()
        self.closed()
        return True

    def place(self) -> None:
        """Over the whole window, the card in its middle, as high as its words need."""
        self.setGeometry(self._host.rect())
        width = min(soft_px(self._wanted), self.width() - 2 * Space.page)
        layout = self.card.body
        layout.activate()
        height = layout.heightForWidth(width) if layout.hasHeightForWidth() else self.card.sizeHint().height()
        height = min(height, self.height() - 2 * Space.xl)
        self.card.setGeometry(
            (self.width() - width) // 2, max((self.height() - height) * 2 // 5, Space.xl), width, height
        )

    def _later(self) -> None:
        QTimer.singleShot(0, self, self.place)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.place()
        return False

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._later()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key == Qt.Key.Key_Escape:
            if self._safe is not None:
                self._safe.click()
            else:
                self.close()
        elif key in _SCROLLS:
            areas = (area for area in self.findChildren(QScrollArea) if area.isVisible())
            for area in areas:  # the focus is on the buttons below
                area.verticalScrollBar().triggerAction(_SCROLLS[key])

    def focusNextPrevChild(self, forward: bool) -> bool:
        """Tab goes round among the controls of the sheet."""
        stops = [
            child
            for child in self.findChildren(QWidget)
            if child.isVisibleTo(self) and child.isEnabled() and _takes_tab(child)
        ]
        if not stops:
            return False
        now = self._host.focusWidget()
        at = stops.index(now) if now in stops else -1
        reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
        to = stops[(at + (1 if forward else -1)) % len(stops)]
        to.setFocus(reason)
        for area in self.findChildren(QScrollArea):
            if area.isAncestorOf(to):
                area.ensureWidgetVisible(to)
        return True

    def mousePressEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        event.accept()

    def paintEvent(self, event: QPaintEvent) -> None:
        paint.open_painter(self).fillRect(self.rect(), ink("#000000", 0.5 if controller().theme.dark else 0.28))


def _takes_tab(child: QWidget) -> bool:
    """Of a group of which one is chosen, only that one; Qt leaves it to whichever had the focus last."""
    if isinstance(child, QRadioButton) and child.group() is not None and child.group().checkedButton() is not None:
        return child.isChecked()
    return bool(child.focusPolicy() & Qt.FocusPolicy.TabFocus)


def _with_ancestors(widget: QWidget | None) -> list[QWidget]:
    """*widget* and what it lies in, without the window."""
    found = []
    while widget is not None and not widget.isWindow():
        found.append(widget)
        widget = widget.parentWidget()
    return found
