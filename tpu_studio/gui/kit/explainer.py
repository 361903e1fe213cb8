"""The explainer: what a word means in at most two sentences, then what helps, best first. Esc closes it.

Opened from a question mark, a badge, or F1; it floats beside what was asked about and gives the focus back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QCloseEvent, QGuiApplication, QKeyEvent, QPainterPath, QPaintEvent, QRegion, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, ink, soft_px
from tpu_studio.gui.kit.tokens import Radius, Space

_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True)
class Help:
    """One thing that helps; with *action* a button stands right of it and its *key* is emitted."""

    text: str
    action: str = ""
    key: str = ""


class Explainer(Themed, QFrame):
    """*badge* is the pill at its right, (text, kind): ("34%", "warn")."""

    acted = Signal(str)

    def __init__(
        self,
        term: str,
        text: str,
        helps: Sequence[Help] = (),
        *,
        badge: tuple[str, str] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self.setAccessibleName(f"{term}. {text}")
        self._giver: QWidget | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.card - 2, Space.gap, Space.gap, Space.xl)
        column.setSpacing(Space.s)
        top = QHBoxLayout()
        top.addWidget(Text(term, "row-title", align=_MIDDLE), 1)
        if badge is not None:
            top.addWidget(Pill(badge[0], badge[1]))  # type: ignore[arg-type]
        close = IconButton("x", "Close", icon_size=16)
        close.clicked.connect(self.close)
        top.addWidget(close)
        column.addLayout(top)
        column.addWidget(Text(text, "secondary", "text_2"))
        if helps:
            column.addSpacing(Space.m)
            column.addWidget(Text("What helps, best first", "caption-medium", "text_2"))
        for help in helps:
            row = QHBoxLayout()
            row.setSpacing(Space.l)
            row.addWidget(Text(help.text, "label", align=_MIDDLE), 1)
            if help.action:
                button = Button(help.action, size="small")
                button.clicked.connect(lambda _on=False, key=help.key: self._act(key))
                row.addWidget(button)
            column.addLayout(row)
        self.follow_theme()

    def restyle(self) -> None:
        self.setFixedWidth(soft_px(400))

    def open_at(self, widget: QWidget, keeps: QWidget | None = None) -> None:
        """Under *widget* (over it where there is no room), inside its screen; what it *keeps* stays in sight."""
        self._giver = widget
        keeps = keeps or widget
        layout = self.layout()
        assert layout is not None
        tall = layout.totalHeightForWidth(self.width())
        self.resize(self.width(), tall)
        screen = widget.screen().availableGeometry()
        corner = widget.mapToGlobal(QPoint(0, 0))
        above = keeps.mapToGlobal(QPoint(0, 0)).y()
        corner.setY(above + keeps.height() + 6)
        if corner.y() + tall > screen.bottom():
            corner.setY(max(above - 6 - tall, screen.top()))
        corner.setX(max(min(corner.x(), screen.right() - self.width() - 8), screen.left() + 8))
        self.move(corner)
        self.show()
        self.setFocus(Qt.FocusReason.PopupFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_F1):
            self.close()
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        giver, self._giver = self._giver, None
        if giver is not None:
            giver.setFocus(Qt.FocusReason.PopupFocusReason)
        super().closeEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if QGuiApplication.platformName() == "xcb":  # without a compositor X11 paints translucent corners black
            outline = QPainterPath()
            outline.addRoundedRect(QRectF(self.rect()), Radius.card, Radius.card)
            self.setMask(QRegion(outline.toFillPolygon().toPolygon()))

    def _act(self, key: str) -> None:
        self.acted.emit(key)
        self.close()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        paint.outlined(painter, QRectF(self.rect()), Radius.card, ink("card"), ink("border_strong"))
