"""Words on the screen. `Text` wraps so that nothing a person reads is cut; `Line` stays on one line and shortens itself
with an ellipsis, the whole text on hover.

Both are QLabels to screen readers, show their text as it is (no markup, '&' stays '&'), and follow the theme.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QFontMetricsF, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from tpu_studio.gui.kit import fonts, paint
from tpu_studio.gui.kit.theme import Themed, ink
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.wire.brief import cut

_MEASURED_AT_MOST, _WIDTHS_AT_MOST = 2000, 50
_measured: dict[tuple[str, str, float], tuple[int, int]] = {}  # words, font and width → height and width used


_HEADINGS = ("page-title", "card-title", "section", "plot-title")


class _Words(Themed, QLabel):
    def __init__(
        self, text: str, role: str, tone: str, numbers: bool, align: Qt.AlignmentFlag, parent: QWidget | None
    ) -> None:
        super().__init__(parent)
        self._role, self._tone, self._numbers = role, tone, numbers
        self._sizes: dict[float, tuple[int, int]] = {}  # of these words in this font, by width: Qt asks ever again
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setAlignment(align)
        QLabel.setText(self, cut(text, paint.LETTERS))
        self.follow_theme()

    def restyle(self) -> None:
        self._sizes.clear()
        self.setFont(fonts.font(self._role, numbers=self._numbers))

    def set_tone(self, tone: str) -> None:
        """The colour's token, for example ``"text_3"`` when a value has grown old."""
        if tone != self._tone:
            self._tone = tone
            self.update()

    @property
    def tone(self) -> str:
        return self._tone

    @property
    def spoken_role(self) -> QAccessible.Role | None:
        """What heads a page, a card or a plot is a heading to a screen reader: one goes from part to part by them."""
        return QAccessible.Role.Heading if self._role in _HEADINGS else None

    def setText(self, text: str) -> None:
        text = cut(text, paint.LETTERS)
        if text != self.text():
            self._sizes.clear()
            super().setText(text)
            self.updateGeometry()
            self.update()


class Text(_Words):
    """Words that wrap, inside a word if need be. `max_width` keeps running text readable (75 characters)."""

    def __init__(
        self,
        text: str = "",
        role: str = "body",
        tone: str = "text",
        *,
        numbers: bool = False,
        align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
        max_width: int | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, role, tone, numbers, align, parent)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        if max_width is not None:
            self.setMaximumWidth(max_width)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._measure(width)[0]

    def sizeHint(self) -> QSize:
        limit = min(self.maximumWidth(), 640)
        height, used = self._measure(limit)
        return QSize(min(used + 1, limit), height)

    def minimumSizeHint(self) -> QSize:
        metrics = QFontMetricsF(self.font())
        widest = max((metrics.horizontalAdvance(word) for word in self.text().split()), default=0.0)
        width = int(min(widest + 2, metrics.averageCharWidth() * 18))
        return QSize(width, int(metrics.height() + 0.99))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        layout, height, _used = paint.lay_out(self.text(), self.font(), self.width())
        option = layout.textOption()
        option.setAlignment(self.alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask)
        layout.setTextOption(option)
        painter.setPen(ink(self._tone))
        free = max(self.height() - height, 0)
        middle = bool(self.alignment() & Qt.AlignmentFlag.AlignVCenter)
        layout.draw(painter, QPointF(0, free / 2 if middle else 0))

    def _measure(self, width: float) -> tuple[int, int]:
        if (size := self._sizes.get(width)) is not None:
            return size
        key = (self.text(), self.font().key(), float(width))
        found = _measured.get(key)
        if found is None:
            _layout, height, used = paint.lay_out(self.text(), self.font(), width)
            found = int(height + 0.99), int(used + 0.99)
            if len(_measured) >= _MEASURED_AT_MOST:
                _measured.clear()
            _measured[key] = found
        if len(self._sizes) >= _WIDTHS_AT_MOST:
            self._sizes.clear()
        self._sizes[width] = found
        return found


class Line(_Words):
    """One line. Too little room: an ellipsis and the whole text on hover. `fit` keeps its full width at all times."""

    def __init__(
        self,
        text: str = "",
        role: str = "body",
        tone: str = "text",
        *,
        numbers: bool = False,
        align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
        fit: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        self._fit = fit
        self._hint = ""
        super().__init__(text, role, tone, numbers, align, parent)
        horizontal = QSizePolicy.Policy.Fixed if fit else QSizePolicy.Policy.Preferred
        self.setSizePolicy(horizontal, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self.font())
        return QSize(int(metrics.horizontalAdvance(self.text()) + 2), int(metrics.height() + 0.99))

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()
        if self._fit:
            return hint
        return QSize(min(hint.width(), int(QFontMetricsF(self.font()).averageCharWidth() * 5)), hint.height())

    def set_hover_text(self, text: str) -> None:
        """What hovering says when nothing is shortened."""
        self._hint = text
        self._update_hover()

    def resizeEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().resizeEvent(event)
        self._update_hover()

    def setText(self, text: str) -> None:
        super().setText(text)
        self._update_hover()

    @property
    def shortened(self) -> bool:
        return paint.text_width(self.font(), self.text()) > self.width() + 0.5

    def _update_hover(self) -> None:
        wanted = self.text() if self.shortened else self._hint
        if (wanted := plain(wanted)) != self.toolTip():
            self.setToolTip(wanted)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        side = self.alignment() & Qt.AlignmentFlag.AlignHorizontal_Mask
        paint.draw_text(painter, QRectF(self.rect()), self.text(), self.font(), ink(self._tone), side)
