"""The step rail of Plan: done, current and to do, each with a one-line summary. A click asks to scroll there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.focus import RingFocus
from tpu_studio.gui.kit.theme import Themed, ink, px, soft_px
from tpu_studio.gui.kit.tooltip import plain


@dataclass(frozen=True)
class Step:
    key: str
    title: str
    summary: str = ""
    state: Literal["done", "current", "ahead"] = "ahead"
    tone: str = "text_3"  # of the summary: "warn" for suggestions, "bad" for what is missing


class _StepRow(RingFocus, Themed, QAbstractButton):
    def __init__(self, number: int, last: bool) -> None:
        super().__init__()
        self._number, self._last = number, last
        self.step = Step("", "")
        self.next_done = False
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def show_step(self, step: Step) -> None:
        if step != self.step:
            self.step = step
            self.setText(step.title)
            state = {"done": "done", "current": "current step", "ahead": "to do"}[step.state]
            self.setAccessibleName(", ".join(part for part in (step.title, step.summary, state) if part))
            self.setToolTip(plain(step.summary))
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(soft_px(140), px(40) if self._last else px(68))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        side = px(26)
        circle = QRectF(1, px(4), side, side)
        step = self.step
        if not self._last:
            done = step.state == "done"
            painter.setPen(QPen(ink("accent" if done else "border_strong"), 2))
            x = circle.center().x()
            painter.drawLine(QPointF(x, circle.bottom() + 5), QPointF(x, self.height() - 1))
        if step.state == "done":
            paint.outlined(painter, circle, side / 2, ink("accent"))
            icons.paint(painter, "check", circle, "on_accent", px(15))
        else:
            line = ink("accent" if step.state == "current" else "control")
            paint.outlined(painter, circle, side / 2, ink("card"), line, 2)
            tone = "accent" if step.state == "current" else "text_2"
            face = fonts.font("caption-strong", numbers=True)
            paint.draw_text(
                painter, circle, str(self._number), face, ink(tone), Qt.AlignmentFlag.AlignHCenter, elide=False
            )
        left = side + 14
        room = self.width() - left
        face = fonts.font("body-medium" if step.state == "ahead" else "row-title")
        tone = "text_2" if step.state == "ahead" else "text"
        paint.draw_text(painter, QRectF(left, px(2), room, px(19)), step.title, face, ink(tone))
        paint.draw_text(
            painter, QRectF(left, px(20), room, px(17)), step.summary, fonts.font("caption"), ink(step.tone)
        )


class StepRail(QWidget):
    """`chosen` carries the key of the step that was clicked."""

    chosen = Signal(str)

    def __init__(self, count: int, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._rows = [_StepRow(index + 1, index == count - 1) for index in range(count)]
        for row in self._rows:
            row.clicked.connect(lambda _on=False, row=row: self.chosen.emit(row.step.key))
            column.addWidget(row)
        column.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def set_steps(self, steps: Sequence[Step]) -> None:
        """As many as the rail was made for."""
        for row, step in zip(self._rows, steps, strict=True):
            row.show_step(step)
