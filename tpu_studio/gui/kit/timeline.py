"""The stages of a run as one line of bars: green done, accent now with its progress, grey ahead. Training is wider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from PySide6.QtCore import QEvent, QRectF, QSize
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QWidget

from tpu_studio.gui.kit import fonts, icons, paint
from tpu_studio.gui.kit.motion import BAR_MS, Glide
from tpu_studio.gui.kit.theme import Themed, ink, px, theme
from tpu_studio.gui.kit.tokens import Height
from tpu_studio.gui.kit.tooltip import plain

_GAP = 8
_TONES = {"done": "ok_bar", "current": "accent", "failed": "bad_bar", "stopped": "warn_bar", "told": "text_3"}


@dataclass(frozen=True)
class Stage:
    """*caption* is the real duration of a done stage, "18 of about 30 min" of the current one. *told*: said to be done,
    and nobody here has seen it."""

    name: str
    state: Literal["done", "current", "ahead", "failed", "stopped", "skipped", "told"] = "ahead"
    caption: str = ""
    progress: float = 0.0  # of the current (or failed, stopped) stage, 0 to 1
    weight: float = 1.0  # 2.6 for training


class StageTimeline(Themed, QLabel):
    """Give it all stages each time something changed: `set_stages`. Narrow: captions are shortened, hover says all."""

    def __init__(self, stages: Sequence[Stage] = (), *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stages: tuple[Stage, ...] = ()
        self._progress = Glide(self, BAR_MS)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_stages(stages)
        self.follow_theme()

    def set_stages(self, stages: Sequence[Stage]) -> None:
        stages = tuple(replace(stage, progress=round(stage.progress, 3)) for stage in stages)  # finer is no pixel
        if stages == self._stages:
            return
        before = self._running(self._stages)
        self._stages = stages
        now = self._running(stages)
        if now is not None:
            if before is None or before.name != now.name:
                self._progress.jump(now.progress)
            else:
                self._progress.to(now.progress)
        self.setAccessibleName(self.words())
        self.update()

    def words(self) -> str:
        """The whole picture as text, for screen readers."""
        state = {
            "done": "done",
            "current": "going on",
            "ahead": "still to come",
            "failed": "failed",
            "stopped": "stopped",
            "told": "said to be done",
        }
        parts = []
        for stage in self._stages:
            said = f"{stage.name}: {state.get(stage.state, 'left out')}"
            if stage.state in ("current", "failed", "stopped"):
                said += f", {stage.progress:.0%}"
            parts.append(said + (f", {stage.caption}" if stage.caption else ""))
        return ". ".join(parts)

    @staticmethod
    def _running(stages: Sequence[Stage]) -> Stage | None:
        return next((stage for stage in stages if stage.state in ("current", "failed", "stopped")), None)

    def sizeHint(self) -> QSize:
        return QSize(px(90) * max(len(self._stages), 1), Height.bar + px(10) + px(19) + px(18))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(46) * max(len(self._stages), 1), self.sizeHint().height())

    def _boxes(self) -> list[tuple[Stage, QRectF]]:
        if not self._stages:
            return []
        total = sum(stage.weight for stage in self._stages)
        room = self.width() - _GAP * (len(self._stages) - 1)
        shares = [room * stage.weight / total for stage in self._stages]
        needs = [min(self._needs(stage), room) for stage in self._stages]
        short = sum(max(need - share, 0) for need, share in zip(needs, shares, strict=True))
        spare = sum(max(share - need, 0) for need, share in zip(needs, shares, strict=True))
        if short > 0 and spare > 0:  # what is wider than its words lends to what is not
            lent = min(short / spare, 1.0)
            given = min(spare / short, 1.0)
            pairs = zip(needs, shares, strict=True)
            shares = [
                share - (share - need) * lent if share > need else share + (need - share) * given
                for need, share in pairs
            ]
        boxes, x = [], 0.0
        for stage, width in zip(self._stages, shares, strict=True):
            boxes.append((stage, QRectF(x, 0, width, self.height())))
            x += width + _GAP
        return boxes

    @staticmethod
    def _needs(stage: Stage) -> float:
        mark = px(14) + 5 if stage.state in ("done", "failed", "stopped") else 0
        name = paint.text_width(fonts.font("label-strong"), stage.name) + mark
        return max(name, paint.text_width(fonts.font("caption-medium", numbers=True), stage.caption)) + 4

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        for stage, box in self._boxes():
            self._draw(painter, stage, box)

    def _draw(self, painter: QPainter, stage: Stage, box: QRectF) -> None:
        top = QRectF(box.x(), 1, box.width(), Height.bar)
        share = {"done": 1.0, "ahead": 0.0, "skipped": 0.0, "told": stage.progress}.get(
            stage.state, self._progress.value
        )
        paint.bar(painter, top, share, ink(_TONES.get(stage.state, "track")), ink("track"))
        if theme().high_contrast:
            paint.outlined(painter, top, Height.bar / 2, None, ink("border"))
        x = box.x()
        row = QRectF(x, Height.bar + px(9), box.width(), px(19))
        mark = {"done": ("check", "ok"), "failed": ("circle-x", "bad"), "stopped": ("square", "warn")}.get(stage.state)
        if mark:
            side = px(14)
            icons.paint(painter, mark[0], QRectF(x, row.y(), side, row.height()), mark[1], side)
            row.setLeft(x + side + 5)
        now = stage.state in ("current", "failed", "stopped")
        name_tone = "text" if now else "text_2" if stage.state in ("done", "told") else "text_3"
        paint.draw_text(painter, row, stage.name, fonts.font("label-strong" if now else "label"), ink(name_tone))
        below = QRectF(x, row.bottom(), box.width(), px(18))
        tone = "text_2" if now else "text_3"
        paint.draw_text(
            painter, below, stage.caption, fonts.font("caption-medium" if now else "caption", numbers=True), ink(tone)
        )

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            for stage, box in self._boxes():
                if box.left() <= event.pos().x() <= box.right():
                    words = f"{stage.name}: {stage.caption}" if stage.caption else stage.name
                    QToolTip.showText(event.globalPos(), plain(words), self)
                    return True
        return super().event(event)
