"""A field for running text of a length that Qt lays out at once: a paragraph of half a million letters takes it ten
seconds, each time that its width changes."""

from __future__ import annotations

from PySide6.QtCore import QMimeData
from PySide6.QtWidgets import QPlainTextEdit, QToolTip, QWidget

from tpu_studio.gui.kit.tooltip import plain


class ShortText(QPlainTextEdit):
    """Of what is pasted or dropped, as much as fits into *most* letters goes in; then it says so."""

    def __init__(self, text: str = "", *, most: int, parent: QWidget | None = None) -> None:
        super().__init__(text[:most], parent)
        self.most = most

    def setPlainText(self, text: str) -> None:
        super().setPlainText(text[: self.most])

    def insertFromMimeData(self, source: QMimeData) -> None:
        chosen = len(self.textCursor().selectedText())
        room = max(0, self.most - (self.document().characterCount() - 1 - chosen))
        if not source.hasText() or len(text := source.text()) <= room:
            super().insertFromMimeData(source)
            return
        self.textCursor().insertText(text[:room])
        self.ensureCursorVisible()
        words = f"It takes {self.most:,} letters: the end of what you pasted was left out. Your clipboard still has it."
        if self.isVisible():
            QToolTip.showText(self.mapToGlobal(self.cursorRect().bottomLeft()), plain(words), self)
        self.setAccessibleDescription(words)
