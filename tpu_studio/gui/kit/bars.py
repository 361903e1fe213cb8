"""Bars: progress, quota and memory. All are QProgressBars or labels to screen readers and carry their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QProgressBar, QSizePolicy, QWidget

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.motion import BAR_MS, Glide
from tpu_studio.gui.kit.theme import Themed, ink, px, theme
from tpu_studio.gui.kit.tokens import Height, Space


class ProgressBar(Themed, QProgressBar):
    """A share from 0 to 1, 6 high. *tone*: ``accent``, ``ok_bar``, ``warn_bar``, ``bad_bar``. Glides in 300 ms."""

    def __init__(
        self,
        share: float = 0.0,
        *,
        name: str,
        tone: str = "accent",
        height: int = Height.bar,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._tone, self._high = tone, height
        self._glide = Glide(self, BAR_MS, share)
        self.setRange(0, 1000)
        self.setTextVisible(False)
        self.setAccessibleName(name)
        self.setFixedHeight(height)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        super().setValue(round(share * 1000))
        self.follow_theme()

    def sizeHint(self) -> QSize:
        return QSize(px(120), self._high)

    def minimumSizeHint(self) -> QSize:
        return QSize(px(40), self._high)

    @property
    def share(self) -> float:
        return self._glide.target

    def set_share(self, share: float, words: str = "") -> None:
        """*words* is what a screen reader says for the value ("4 of 11 areas")."""
        super().setValue(round(min(max(share, 0.0), 1.0) * 1000))
        self._glide.to(share)
        if words:
            self.setAccessibleDescription(words)

    def set_tone(self, tone: str) -> None:
        if tone != self._tone:
            self._tone = tone
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(0, (self.height() - self._high) / 2, self.width(), self._high)
        paint.bar(painter, box, self._glide.value, ink(self._tone), ink("track"))
        if theme().high_contrast:
            paint.outlined(painter, box, box.height() / 2, None, ink("border"))


class QuotaBar(ProgressBar):
    """Used of allowed, 8 high. Nothing allowed is a dashed outline, not an empty bar."""

    def __init__(self, used: int, allowed: int, *, name: str, parent: QWidget | None = None) -> None:
        self._allowed = allowed
        tone = "warn_bar" if allowed and used / allowed > 0.8 else "accent"
        share = used / allowed if allowed else 0.0
        super().__init__(share, name=name, tone=tone, height=Height.bar_quota, parent=parent)
        self.setAccessibleDescription(f"{used:,} of {allowed:,} in use" if allowed else "none allowed")

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._allowed:
            super().paintEvent(event)
            return
        painter = paint.open_painter(self)
        box = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        pen = QPen(ink("control"), 1)
        pen.setDashPattern([3, 3])
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)


@dataclass(frozen=True)
class MemoryPart:
    """*legend*: what the legend says, where it is more than the name."""

    name: str
    size_bytes: float
    legend: str = ""


class MemoryBar(Themed, QLabel):
    """What fills the memory of a chip, in up to three steps of the accent, split by hairlines, with its legend.

    *total* is in words ("9.8 of 16 GB") and is read to a screen reader with the parts. *beside* stands at the right end
    of the legend, which leaves it its room.
    """

    def __init__(self, *, beside: QWidget | None = None, what: str = "Memory", parent: QWidget | None = None) -> None:
        """*what* it shows, for a screen reader."""
        super().__init__(parent)
        self._beside, self._what = beside, what
        self._parts: tuple[MemoryPart, ...] = ()
        self._room_bytes = 1.0
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.follow_theme()

    def set_memory(self, parts: Sequence[MemoryPart], room_bytes: float, total: str) -> None:
        self._parts = tuple(parts)
        self._room_bytes = max(room_bytes, 1.0)
        shares = ", ".join(f"{part.name} {part.size_bytes / self._room_bytes:.0%}" for part in self._parts)
        self.setAccessibleName(f"{self._what}: {total}. {shares}")
        self.updateGeometry()
        self.update()

    def _taken(self) -> QSize:
        """What stands beside the legend takes."""
        return QSize(0, 0) if self._beside is None or self._beside.isHidden() else self._beside.sizeHint()

    def _legend_lines(self, width: float) -> list[list[tuple[int, str, float]]]:
        font = fonts.font("caption-medium")
        taken = self._taken().width()
        width -= taken + Space.m if taken else 0
        lines: list[list[tuple[int, str, float]]] = [[]]
        x = 0.0
        for index, part in enumerate(self._parts):
            shown = part.legend or part.name
            need = 14 + paint.text_width(font, shown)
            if x and x + need > width:
                lines.append([])
                x = 0.0
            lines[-1].append((index, shown, x))
            x += need + Space.gap
        return lines

    def sizeHint(self) -> QSize:
        return QSize(px(240), self.heightForWidth(max(self.width(), px(180))))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(120), self.heightForWidth(max(self.width(), px(120))))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        beyond = max(0, self._taken().height() - px(18))  # so that its middle is that of the last line
        return Height.bar_memory + Space.m + len(self._legend_lines(width)) * px(18) + (beyond + 1) // 2

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        box = QRectF(0, 0, self.width(), Height.bar_memory)
        clip = QPainterPath()
        clip.addRoundedRect(box, 4, 4)
        painter.fillPath(clip, ink("track"))
        painter.save()
        painter.setClipPath(clip)
        x = 0.0
        used = sum(part.size_bytes for part in self._parts)
        scale = box.width() / max(self._room_bytes, used)
        for index, part in enumerate(self._parts):
            width = part.size_bytes * scale
            painter.fillRect(QRectF(x, 0, width, box.height()), ink(theme().memory[min(index, 2)]))
            x += width
            painter.fillRect(QRectF(x - 1, 0, 1.5, box.height()), ink("card"))
        if used > self._room_bytes:
            edge = self._room_bytes * scale
            painter.fillRect(QRectF(edge, 0, box.width() - edge, box.height()), ink("bad_bar"))
        painter.restore()
        y = Height.bar_memory + Space.m
        font = fonts.font("caption-medium")
        for line in self._legend_lines(self.width()):
            for index, name, at in line:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(ink(theme().memory[min(index, 2)]))
                painter.drawRoundedRect(QRectF(at, y + (px(18) - 8) / 2, 8, 8), 2, 2)
                paint.draw_text(painter, QRectF(at + 14, y, self.width() - at - 14, px(18)), name, font, ink("text_2"))
            y += px(18)
