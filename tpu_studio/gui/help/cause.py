"""A cause as a card: its lines, what it means, what to do, with the commands to copy; and what is no error."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.states import NumberMark
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.helping import CauseView, HarmlessView, Step

_SHOWN = 4  # harmless lines
_TOP = Qt.AlignmentFlag.AlignTop
_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class CauseCard(Card):
    """`acted` carries the window's command that its button stands for."""

    acted = Signal(str)

    def __init__(self, cause: CauseView, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.setAccessibleName(cause.title)
        self.title(cause.title, *([Pill(cause.sure, "neutral")] if cause.sure else []))
        self.body.addWidget(Lines(cause.lines))
        self.body.addWidget(Text(cause.means, "body"))
        self.copies: list[IconButton] = []
        for number, step in enumerate(cause.steps, 1):
            self.body.addLayout(self._step(number, step))
        foot = QHBoxLayout()
        foot.setSpacing(Space.m)
        if cause.button:
            self.button = Button(cause.button, "primary", size="small")
            self.button.clicked.connect(lambda: self.acted.emit(cause.act))
            foot.addWidget(self.button)
        if cause.source.startswith("https://"):
            self.source = Button("Read more", size="small", kind="quiet", icon="external-link")
            self.source.setAccessibleDescription(f"Opens {cause.source} in the browser")
            self.source.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(cause.source)))
            foot.addWidget(self.source)
        foot.addWidget(Text(cause.source, "caption", "text_2", align=_MIDDLE), 1)
        self.body.addLayout(foot)

    def _step(self, number: int, step: Step) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.m)
        row.addWidget(NumberMark(number), 0, _TOP)
        row.addWidget(Text(step.words, "body", align=_MIDDLE), 1)
        if step.command:
            copy = IconButton("copy", f"Copy “{step.command}”", icon_size=16)
            copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(step.command))
            self.copies.append(copy)
            row.addWidget(copy, 0, _TOP)
        return row


class Lines(Card):
    """Lines of somebody's log, as they are."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(margins=(12, 8, 12, 8), spacing=Space.hair, tone="neutral_tint")
        for line in lines:
            self.body.addWidget(Text(line, "mono", "text_2"))


class HarmlessCard(Card):
    def __init__(self, harmless: Sequence[HarmlessView]) -> None:
        super().__init__()
        self.title("No errors, though they look like some")
        for one in harmless[:_SHOWN]:
            words = QVBoxLayout()
            words.setSpacing(Space.hair)
            words.addWidget(Text(one.why, "body"))
            words.addWidget(Text(one.line, "mono", "text_2"))
            self.body.addLayout(words)
        if (left := len(harmless) - _SHOWN) > 0:
            self.body.addWidget(Text(f"{left} more like these.", "caption", "text_2"))
