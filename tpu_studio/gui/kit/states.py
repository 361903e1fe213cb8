"""Empty, loading, wrong and dropped: what a place shows when it has nothing to show yet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.button import Button, Kind
from tpu_studio.gui.kit.dragged import local_paths
from tpu_studio.gui.kit.pill import IconTile
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import Radius, Space
from tpu_studio.wire.owncode import in_a_share

_CENTRE = Qt.AlignmentFlag.AlignHCenter


class EmptyState(QWidget):
    """Icon tile, what will be here, the smallest first step, and one quiet alternative."""

    acted = Signal()
    turned = Signal()  # the alternative

    def __init__(
        self,
        title: str,
        text: str = "",
        *,
        icon: str = "chart-line",
        action: str = "",
        action_icon: str = "",
        kind: Kind = "primary",
        alternative: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.button: Button | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.xxl, Space.xxl, Space.xxl, Space.xxl)
        column.setSpacing(Space.s)
        column.addStretch(1)
        column.addWidget(IconTile(icon, "accent", side=56, icon_size=26), 0, _CENTRE)
        column.addSpacing(Space.m)
        column.addWidget(Text(title, "card-title", align=_CENTRE))
        if text:
            column.addWidget(Text(text, "body", "text_2", align=_CENTRE))
        column.addSpacing(Space.m)
        row = QHBoxLayout()
        row.setSpacing(Space.m)
        row.addStretch(1)
        if action:
            self.button = Button(action, kind, icon=action_icon)
            self.button.clicked.connect(self.acted)
            row.addWidget(self.button)
        if alternative:
            other = Button(alternative, "quiet")
            other.clicked.connect(self.turned)
            row.addWidget(other)
        row.addStretch(1)
        column.addLayout(row)
        column.addStretch(1)


class Skeleton(Themed, QWidget):
    """Still grey shapes of the coming layout. Shown only after 300 ms: quick answers never flash."""

    def __init__(
        self, rows: int = 4, shares: Sequence[float] = (0.21, 0.11, 0.44, 0.13), *, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._rows, self._shares = rows, tuple(shares)
        self._due = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.show_now)
        self.setAccessibleName("Loading")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.follow_theme()
        self._timer.start(300)

    def show_now(self) -> None:
        self._due = True
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(240), self._rows * px(27))

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._due:
            return
        painter = paint.open_painter(self)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink("track"))
        free = self.width() * (1 - sum(self._shares)) / max(len(self._shares) - 1, 1)
        for row in range(self._rows):
            x = 0.0
            for index, share in enumerate(self._shares):
                width = self.width() * share * (1 - 0.09 * row * (index < len(self._shares) - 1))
                tall = 10 if index == 2 else 13
                y = row * px(27) + (px(27) - tall) / 2
                left = x if index < len(self._shares) - 1 else self.width() - width
                painter.drawRoundedRect(QRectF(left, y, width, tall), 5, 5)
                x += width + free


class Loading(QWidget):
    """For waits over two seconds: what is being done, a count, grey shapes, the usual duration, and a way to stop."""

    stopped = Signal()

    def __init__(
        self, title: str, *, usual: str = "", stop: str = "", rows: int = 4, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._title = Text(title, "section")
        self._count = Line("", "label", "text_2", numbers=True, fit=True)
        self._bar = ProgressBar(0, name=title)
        top = QHBoxLayout()
        top.addWidget(self._title, 1)
        top.addWidget(self._count)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.m)
        column.addLayout(top)
        column.addWidget(self._bar)
        column.addSpacing(Space.s)
        column.addWidget(Skeleton(rows))
        foot = QHBoxLayout()
        foot.addWidget(Line(usual, "caption", "text_3"), 1)
        if stop:
            button = Button(stop, size="small")
            button.clicked.connect(self.stopped)
            foot.addWidget(button)
        column.addLayout(foot)

    def set_progress(self, share: float, count: str) -> None:
        """*count* in words: "4 of 11 areas"."""
        self._bar.set_share(share, count)
        self._count.setText(count)


class WayOut(QWidget):
    """One numbered way out of an error: what to do, what it means, a button. The first is the best and is filled."""

    taken = Signal()

    def __init__(self, number: int, title: str, text: str, action: str, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.button = Button(action, "primary" if number == 1 else "secondary", size="small")
        self.button.clicked.connect(self.taken)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addStretch(1)
        words.addWidget(Text(title, "row-title"))
        if text:
            words.addWidget(Text(text, "secondary", "text_2"))
        words.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.l)
        row.addWidget(NumberMark(number))
        row.addLayout(words, 1)
        row.addWidget(self.button)


class NumberMark(Themed, QWidget):
    def __init__(self, number: int) -> None:
        super().__init__()
        self._words = str(number)
        self.setAccessibleName(f"Number {number}")
        self.follow_theme()

    def restyle(self) -> None:
        self.setFixedSize(px(26), px(26))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect())
        paint.outlined(painter, box, box.height() / 2, ink("neutral_tint"))
        face = fonts.font("caption-strong", numbers=True)
        paint.draw_text(painter, box, self._words, face, ink("text_2"), Qt.AlignmentFlag.AlignHCenter, elide=False)


class DropZone(Themed, QWidget):
    """Drop files or a folder here, or press the button; `dropped` carries the paths, `browse` the wish for a dialog."""

    dropped = Signal(list)
    browse = Signal()

    def __init__(
        self,
        title: str,
        text: str = "",
        *,
        action: str = "Choose a folder",
        icon: str = "upload",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._over = False
        self._icon = icon
        self.setAcceptDrops(True)
        self.setAccessibleName(title)
        self.button = Button(action, size="small", icon="folder-open")
        self.button.clicked.connect(self.browse)
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.card, px(54), Space.card, Space.card)
        column.setSpacing(Space.xs)
        column.addWidget(Text(title, "row-title", align=_CENTRE))
        if text:
            column.addWidget(Text(text, "secondary", "text_2", align=_CENTRE))
        column.addSpacing(Space.m)
        column.addWidget(self.button, 0, _CENTRE)
        self.follow_theme()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Of another computer's files the window around it says what to do."""
        if _paths(event):
            event.acceptProposedAction()
            self._mark(True)
        else:
            event.ignore()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._mark(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self._mark(False)
        if paths := _paths(event):
            event.acceptProposedAction()
            self.dropped.emit(paths)

    def _mark(self, over: bool) -> None:
        self._over = over
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        pen = QPen(ink("accent" if self._over else "control"), 1.5)
        pen.setDashPattern([4, 3])
        painter.setPen(pen)
        painter.setBrush(ink("accent_tint") if self._over else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, Radius.inner, Radius.inner)
        icons.paint(
            painter,
            self._icon,
            QRectF(0, Space.card, self.width(), px(26)),
            "accent" if self._over else "text_2",
            px(24),
        )


def _paths(event: QDropEvent) -> list[Path]:
    return [path for path in local_paths(event.mimeData()) if not in_a_share(path)]
