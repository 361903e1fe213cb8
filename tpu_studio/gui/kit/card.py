"""Surfaces: the card, its title line, hairlines, and the head of a page."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink, soft_px
from tpu_studio.gui.kit.tokens import Radius, Space

Margins = tuple[int, int, int, int]
QWIDGETSIZE_MAX = (1 << 24) - 1  # Qt's own: no limit
LEAST_WORDS = 260  # room that a page's title and sentence keep beside its actions


class Card(Themed, QFrame):
    """A one-pixel border on a different surface; no shadow. Fill it by `body` (a vertical layout).

    *strong* is for what floats or asks (dialogs). *tone* is a token for the ground, ``"bad_row"`` for instance.
    """

    def __init__(
        self,
        *,
        margins: Margins | int = Space.card,
        spacing: int = Space.l,
        strong: bool = False,
        tone: str = "card",
        radius: int = Radius.card,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._strong, self._tone, self._radius = strong, tone, radius
        self.body = QVBoxLayout(self)
        left, top, right, bottom = margins if isinstance(margins, tuple) else (margins,) * 4
        self.body.setContentsMargins(left, top, right, bottom)
        self.body.setSpacing(spacing)
        self.follow_theme()

    def set_tone(self, tone: str) -> None:
        self._tone = tone
        self.update()

    def title(self, text: str, *right: QWidget, role: str = "section") -> Text:
        """A title line at the end of `body`, with widgets at its right. Returns the title, to be changed later."""
        line = Text(text, role, align=Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        row = QHBoxLayout()
        row.setSpacing(Space.m)
        row.addWidget(line, 1)
        for widget in right:
            row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        self.body.addLayout(row)
        return line

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        line = ink("border_strong" if self._strong else "border")
        paint.outlined(painter, QRectF(self.rect()), self._radius, ink(self._tone), line)


class Surface(Themed, QWidget):
    """A plain ground in one token's colour (page, sidebar). With *line* a hairline on its right edge."""

    def __init__(self, tone: str = "window", *, line: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tone, self._line = tone, line
        self.follow_theme()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        painter.fillRect(self.rect(), ink(self._tone))
        if self._line:
            painter.fillRect(QRectF(self.width() - 1, 0, 1, self.height()), ink("border"))


class Divider(Themed, QWidget):
    def __init__(self, *, vertical: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        if vertical:
            self.setFixedWidth(1)
            self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        else:
            self.setFixedHeight(1)
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def paintEvent(self, event: QPaintEvent) -> None:
        paint.open_painter(self).fillRect(self.rect(), ink("border"))


class PageHeader(QWidget):
    """Title, one sentence saying what the page is for, actions top right (`add_action`, left to right).

    Where the actions leave the words too little room they stand below them, on several lines if need be.
    """

    def __init__(self, title: str, sentence: str = "", *actions: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = Line(title, "page-title")
        self.sentence = Text(sentence, "body", "text_2")
        if not sentence:
            self.sentence.hide()  # setVisible(True) before it has a parent would flash it as a window
        words = QVBoxLayout()
        words.setSpacing(Space.hair + 2)
        words.addWidget(self.title)
        words.addWidget(self.sentence)
        self._side = QWidget()
        self._actions = FlowLayout(self._side, gap=Space.l)
        self._below = False
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(Space.xxl)
        self._row.addLayout(words, 1)
        self._row.addWidget(self._side, 0, Qt.AlignmentFlag.AlignVCenter)
        for action in actions:
            self.add_action(action)

    def minimumSizeHint(self) -> QSize:
        """As narrow as its parts below one another, so that a page can become narrow enough to put them there."""
        least = super().minimumSizeHint()
        return QSize(
            min(least.width(), max(self._side.minimumSizeHint().width(), soft_px(LEAST_WORDS))), least.height()
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # an action has come, gone, or changed its words
            self._place()
        return super().event(event)

    def _place(self) -> None:
        wide = self._actions.one_line()
        below = wide + Space.xxl + soft_px(LEAST_WORDS) > self.width()
        least, most = (0, QWIDGETSIZE_MAX) if below else (wide, wide)
        if (self._side.minimumWidth(), self._side.maximumWidth()) != (least, most):
            self._side.setMinimumWidth(least)
            self._side.setMaximumWidth(most)
        if below != self._below:
            self._below = below
            direction = QBoxLayout.Direction.TopToBottom if below else QBoxLayout.Direction.LeftToRight
            self._row.setDirection(direction)
            self._row.setSpacing(Space.l if below else Space.xxl)
            side = Qt.AlignmentFlag(0) if below else Qt.AlignmentFlag.AlignVCenter
            self._row.setAlignment(self._side, side)
            self.updateGeometry()

    def set_title(self, title: str) -> None:
        self.title.setText(title)

    def set_sentence(self, sentence: str) -> None:
        self.sentence.setText(sentence)
        self.sentence.setVisible(bool(sentence))

    def add_action(self, widget: QWidget) -> None:
        self._actions.addWidget(widget)


class FactRow(QWidget):
    """A label left, a number right, as in the Estimate: decimals under each other, nothing shifts."""

    def __init__(self, label: str, value: str = "", *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.label = Text(label, "secondary", "text_2")
        self.value = Line(value, "label-strong", numbers=True, fit=True, align=Qt.AlignmentFlag.AlignRight)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.l)
        row.addWidget(self.label, 1)
        row.addWidget(self.value)

    def set_value(self, value: str) -> None:
        self.value.setText(value)


class Scroll(QScrollArea):
    """*content* scrolls up and down on whatever ground is beneath; its width is the view's."""

    def __init__(self, content: QWidget, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        content.setObjectName("scrolled")  # the style sheet keeps it transparent
        self.setWidget(content)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        content.setAutoFillBackground(False)


def clear_layout(layout: QLayout) -> None:
    """Remove and delete everything in *layout*, for parts that are built anew from a state."""
    while layout.count():
        item = layout.takeAt(0)
        if item is None:
            break
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            widget.hide()
            widget.setParent(None)
            widget.deleteLater()
        elif inner is not None:
            clear_layout(inner)
            inner.deleteLater()


class Strip(Themed, QFrame):
    """The permanent line at the top of practice pages, or the amber one for a lost connection."""

    def __init__(
        self, text: str, kind: str = "accent", icon: str = "flask-conical", *, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._kind = kind
        tone = "accent_text" if kind == "accent" else kind
        self.words = Text(text, "label", tone)
        row = QHBoxLayout(self)
        row.setContentsMargins(Space.page, 9, Space.page, 9)
        row.setSpacing(Space.m)
        row.addWidget(Icon(icon, tone, size=16), 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.words, 1)
        self.follow_theme()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        painter.fillRect(self.rect(), ink(f"{self._kind}_tint"))
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), ink("border"))
