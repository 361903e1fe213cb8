"""What happened: time, icon and one sentence a line, newest first. Rows are kept when the list changes at its top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain


@dataclass(frozen=True)
class EventLine:
    """*tone* colours the icon only; *more* is the whole story on hover."""

    time: str
    icon: str
    text: str
    tone: str = "text_2"
    more: str = ""


_TOP = Qt.AlignmentFlag.AlignTop


class EventList(QWidget):
    def __init__(self, *, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: tuple[EventLine, ...] = ()
        self._rows: list[tuple[Line, Icon, Text]] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        self._grid = QGridLayout()
        column.addLayout(self._grid)
        column.addStretch(1)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(Space.gap)
        self._grid.setVerticalSpacing(Space.s)
        self._grid.setColumnStretch(2, 1)

    def set_lines(self, lines: Sequence[EventLine]) -> None:
        lines = tuple(lines)
        if lines == self._lines:
            return
        self._lines = lines
        while len(self._rows) > len(lines):
            for widget in self._rows.pop():
                widget.hide()
                self._grid.removeWidget(widget)
                widget.deleteLater()
        for index, line in enumerate(lines):
            if index == len(self._rows):
                row = (
                    Line("", "caption", "text_3", numbers=True, fit=True),
                    Icon("info"),
                    Text("", "secondary", numbers=True),
                )
                self._rows.append(row)
                for column, part in enumerate(row):
                    self._grid.addWidget(part, index, column, _TOP if column < 2 else Qt.AlignmentFlag(0))
            when, icon, words = self._rows[index]
            when.setText(line.time)
            icon.set_icon(line.icon, line.tone)
            words.setText(line.text)
            words.setToolTip(plain(line.more))
            words.setAccessibleName(f"{line.time}: {line.text}")
