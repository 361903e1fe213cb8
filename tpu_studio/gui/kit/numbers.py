"""Numbers as heroes: a row of big numbers with hairlines between, each with its unit and one line of context."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.card import Card, Divider
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain

_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6)  # of its size, for a figure that has too little room


class _Figure(Themed, QLabel):
    """Number and unit on one baseline."""

    def __init__(self, role: str) -> None:
        super().__init__()
        self._role, self._number, self._unit, self._tone = role, "–", "", "text"
        self.beside: list[_Figure] = [self]  # those of one row, which are all as small as the smallest needs
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.follow_theme()

    def set_figure(self, number: str, unit: str, tone: str) -> None:
        if (paint.typeset(number), unit, tone) != (self._number, self._unit, self._tone):
            self._number, self._unit, self._tone = paint.typeset(number), unit, tone
            self.setAccessibleName(f"{number} {unit}".strip())
            self.updateGeometry()
            for one in self.beside:
                one.update()

    def sizeHint(self) -> QSize:
        face = fonts.font(self._role)
        width = paint.text_width(face, self._number) + Space.m
        width += paint.text_width(fonts.font("body", numbers=True), self._unit) if self._unit else 0
        return QSize(int(width + 1), int(face.pixelSize() * 1.2 + 0.99))

    def minimumSizeHint(self) -> QSize:
        return QSize(int(paint.text_width(fonts.font(self._role), self._number) + 2), self.sizeHint().height())

    def fitting(self) -> tuple[QFont, QFont]:
        """The faces of number and unit, smaller where both would not fit: a limit cut off says something else."""
        return self._faces(max(one.shrinking() for one in self.beside if one is self or one.isVisible()))

    def shrinking(self) -> int:
        """Which of `_SHARES` it needs to fit."""
        fits = (at for at in range(len(_SHARES)) if self.extent(*self._faces(at)) <= self.width())
        return next(fits, len(_SHARES) - 1)

    def _faces(self, at: int) -> tuple[QFont, QFont]:
        face, small = QFont(fonts.font(self._role)), QFont(fonts.font("body", numbers=True))
        face.setPixelSize(round(face.pixelSize() * _SHARES[at]))
        small.setPixelSize(round(small.pixelSize() * max(_SHARES[at], 0.8)))
        return face, small

    def extent(self, face: QFont, small: QFont) -> float:
        """Width of number and unit in pixels."""
        wide = QFontMetricsF(face).horizontalAdvance(self._number)
        return wide + (Space.m + QFontMetricsF(small).horizontalAdvance(self._unit) if self._unit else 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        face, small = self.fitting()
        metrics = QFontMetricsF(face)
        base = (self.height() + metrics.capHeight()) / 2
        painter.setFont(face)
        painter.setPen(ink(self._tone))
        painter.drawText(QPointF(0, base), self._number)
        x = metrics.horizontalAdvance(self._number) + Space.m
        painter.setFont(small)
        painter.setPen(ink("text_2" if self._tone == "text" else "text_3"))
        unit = QFontMetricsF(small).elidedText(self._unit, Qt.TextElideMode.ElideRight, self.width() - x)
        painter.drawText(QPointF(x, base), unit)


class BigNumber(QWidget):
    """Label, number, unit, and one line of context with an icon or a thin bar before it.

    `set_number` changes it in place. *stale* ("40 s ago") turns the number grey and says its age.
    """

    def __init__(self, label: str, *, medium: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = label
        self.label = Line(label, "label", "text_2", fit=True)
        self.figure = _Figure("medium-number" if medium else "big-number")
        self.context = Text("", "caption-medium", "text_2", numbers=True)
        self.more = Text("", "caption-medium", "text_2", numbers=True)
        self._more_icon = Icon("cpu", size=14)
        self._more = QWidget()
        self._more.hide()
        row = QHBoxLayout(self._more)
        row.setContentsMargins(0, Space.hair, 0, 0)
        row.setSpacing(Space.s)
        row.addWidget(self._more_icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.more, 1)
        self._icon = Icon("clock", size=14)
        self._icon.hide()
        self._bar = ProgressBar(0, name=f"{label}, share")
        self._bar.hide()
        below = QHBoxLayout()
        below.setSpacing(Space.s)
        below.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        below.addWidget(self._bar, 0, Qt.AlignmentFlag.AlignVCenter)
        self._bar_gap = below
        below.addWidget(self.context, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.label, 0, Qt.AlignmentFlag.AlignLeft)
        column.addSpacing(1)
        column.addWidget(self.figure)
        column.addSpacing(Space.xs)
        column.addLayout(below)
        column.addWidget(self._more)
        column.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._bar.setFixedWidth(min(max(self.width() - px(150), 48), 100))  # the words beside it come first

    def set_label(self, label: str) -> None:
        """What the number is, where that changes with the state ("Time left", then "Time")."""
        if label != self._name:
            self._name = label
            self.label.setText(label)

    def set_number(
        self,
        number: str,
        unit: str = "",
        context: str = "",
        *,
        icon: str = "",
        tone: str = "text_2",
        share: float | None = None,
        stale: str = "",
        more: str = "",
        more_icon: str = "cpu",
        hover: str = "",
        counts: str = "",
    ) -> None:
        """*icon* and *tone* go before the context; *share* draws a thin bar there instead (cost of the limit).

        *more*: a second line below the context, after *more_icon*; *hover* explains it, *counts* the number itself, to
        the mouse and to screen readers.
        """
        self.figure.set_figure(number, unit, "text_3" if stale else "text")
        self.context.setText(stale or context)
        self._icon.setVisible(bool(icon) and share is None)
        if icon:
            self._icon.set_icon(icon, tone)
        self._bar.setVisible(share is not None)
        gap = Space.s if share is None else Space.m + 2
        if gap != self._bar_gap.spacing():  # telling it the same lays the whole page out anew
            self._bar_gap.setSpacing(gap)
        if share is not None:
            self._bar.set_share(share)
            self._bar.set_tone("bad_bar" if share >= 1 else "warn_bar" if share >= 0.8 else "accent")
        self.context.setVisible(bool(context or stale))
        more = "" if stale else more
        self.more.setText(more)
        self._more_icon.set_icon(more_icon, "text_2")
        self._more.setVisible(bool(more))
        self._more.setToolTip(plain(hover))
        said = (f"{self._name}:", number, unit, context, more.replace("\n", ", "), stale)
        self.setAccessibleName(" ".join(part for part in said if part))
        self.setToolTip(plain(counts))
        self.figure.setToolTip(plain(counts or unit))
        self.setAccessibleDescription(" ".join(part for part in (counts, hover if more else "") if part))


class BigNumberRow(Card):
    """Four (or any) `BigNumber`s of equal width in one card, hairlines between. `tile(label)` finds one again."""

    def __init__(self, *labels: str, medium: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(margins=(22, 13, 22, 13), parent=parent)
        self._tiles: dict[str, BigNumber] = {}
        row = QHBoxLayout()
        row.setSpacing(Space.xxl)
        for index, label in enumerate(labels):
            if index:
                row.addWidget(Divider(vertical=True))
            tile = BigNumber(label, medium=medium)
            self._tiles[label] = tile
            row.addWidget(tile, 1)
        together = [tile.figure for tile in self._tiles.values()]
        for tile in self._tiles.values():
            tile.figure.beside = together
        self.body.addLayout(row)
        # not Maximum: that holds the row at the height of unwrapped words
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)

    def tile(self, label: str) -> BigNumber:
        return self._tiles[label]
