"""Home's cards: a way to run, and an example to start from."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QBoxLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.pill import Icon, IconTile, Pill
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink, px, soft_px
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.viewmodels.examples import Example
from tpu_studio.viewmodels.home import Way


class WayCard(Card):
    """A way to run: tile, price pill, title, two lines, a readiness line, and one button if it can be used now."""

    pressed = Signal()

    def __init__(
        self,
        icon: str,
        kind: str,
        pill: tuple[str, str],
        title: str,
        text: str,
        *,
        button: str = "",
        primary: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(margins=(20, 19, 20, 20), spacing=0, parent=parent)
        self._head = head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        head.setSpacing(Space.m)
        self.pill = Pill(pill[0], pill[1])  # type: ignore[arg-type]
        self._pill_tone = pill[1]
        self._tile = IconTile(icon, kind, side=44, icon_size=20)
        head.addWidget(self._tile)
        head.addStretch(1)
        head.addWidget(self.pill, 0, Qt.AlignmentFlag.AlignVCenter)
        self._ready_icon = Icon("laptop", "text_2", size=16)
        self._ready = Text("", "secondary", "text_2")
        ready = QHBoxLayout()
        ready.setSpacing(Space.m)
        ready.addWidget(self._ready_icon, 0, Qt.AlignmentFlag.AlignTop)
        ready.addWidget(self._ready, 1)
        self.body.addLayout(head)
        self.body.addSpacing(14)
        self.body.addWidget(Line(title, "card-title"))
        self.body.addSpacing(2)
        self.body.addWidget(Text(text, "body", "text_2"))
        self.body.addStretch(1)
        self.body.addSpacing(16)
        self.body.addLayout(ready)
        self.button = Button(button, "primary" if primary else "secondary")
        self.button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.button.clicked.connect(self.pressed)
        self.body.addSpacing(12)
        self.body.addWidget(self.button)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)

    @property
    def head_width(self) -> int:
        """How wide the card must be for its pill to stand beside its tile."""
        margins = self.body.contentsMargins()
        head = self._tile.width() + 2 * self._head.spacing() + self.pill.sizeHint().width()
        return head + margins.left() + margins.right()

    def set_stacked(self, stacked: bool) -> None:
        """The pill stands under the tile."""
        direction = QBoxLayout.Direction.TopToBottom if stacked else QBoxLayout.Direction.LeftToRight
        if direction is not self._head.direction():
            self._head.setDirection(direction)
            self._head.setAlignment(self._tile, Qt.AlignmentFlag.AlignLeft)
            side = Qt.AlignmentFlag.AlignLeft if stacked else Qt.AlignmentFlag.AlignVCenter
            self._head.setAlignment(self.pill, side)

    def set_ready(self, icon: str, tone: str, words: str) -> None:
        self._ready_icon.set_icon(icon, {"neutral": "text_2"}.get(tone, tone))
        self._ready.setText(words)

    def set_way(self, way: Way) -> None:
        self.set_ready(way.icon, way.tone, way.words)
        self.button.setVisible(bool(way.button))
        self.button.setText(way.button)
        if way.pill:
            self.pill.set_pill(way.pill, self._pill_tone)  # type: ignore[arg-type]

    @property
    def ready_words(self) -> str:
        return self._ready.text()


class FreeStrip(Card):
    """A TPU for nothing, for who has no budget: `button` plans a run for the place that lends one."""

    def __init__(self, icon: str, title: str, text: str, action: str, parent: QWidget | None = None) -> None:
        super().__init__(margins=(15, 10, 15, 10), parent=parent)
        self.button = Button(action, size="small")
        names = QVBoxLayout()
        names.setSpacing(0)
        names.addWidget(Text(title, "row-title"))
        names.addWidget(Text(text, "secondary", "text_2"))
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        row.addWidget(IconTile(icon, "neutral", side=36, icon_size=18))
        row.addLayout(names, 1)
        row.addWidget(self.button)
        self.body.addLayout(row)


class ExampleCard(RingFocus, Themed, QAbstractButton):
    """A small card that is one button: opens the Plan with the example filled in."""

    ring_radius = Radius.inner

    def __init__(self, example: Example, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.example = example
        self.setText(example.title)
        self.setAccessibleName(f"Start with the example {example.title}")
        self.setAccessibleDescription(example.text)
        self.setToolTip("")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.follow_theme()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        room = self._words_width(width)
        title = paint.lay_out(self.example.title, fonts.font("row-title"), room)[1]
        text = paint.lay_out(self.example.text, fonts.font("secondary"), room)[1]
        return int(max(title + text + 2 + 28, px(36) + 28) + 0.99)

    def sizeHint(self) -> QSize:
        width = soft_px(250)
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(soft_px(190), px(64))

    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        over = self.underMouse() or self.isDown()
        paint.outlined(painter, box, Radius.inner, ink("card"), ink("accent" if over else "border"))
        side = px(36)
        tile = QRectF(14, 14, side, side)
        paint.outlined(painter, tile, Radius.inner, ink("neutral_tint"))
        icons.paint(painter, self.example.icon, tile, "text_2", px(18))
        room = self._words_width(self.width())
        x = 14 + side + 12
        title, height, _ = paint.lay_out(self.example.title, fonts.font("row-title"), room)
        painter.setPen(ink("text"))
        title.draw(painter, QRectF(x, 13, 0, 0).topLeft())
        text, _, _ = paint.lay_out(self.example.text, fonts.font("secondary"), room)
        painter.setPen(ink("text_2"))
        text.draw(painter, QRectF(x, 13 + height + 2, 0, 0).topLeft())

    def _words_width(self, width: float) -> float:
        return max(width - 14 - px(36) - 12 - 14, px(60))
