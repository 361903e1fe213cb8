"""The conversation with a model that answers: who said what, as it grows. Draws `Trial.talk`."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit

from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.theme import Themed, ink, px
from tpu_studio.gui.run.trypieces import MOST_LETTERS
from tpu_studio.viewmodels.runports import Exchange

YOU, MODEL = "You", "The model"
Run = tuple[str, str]
"""(what it is, its words): a note above, who speaks, what is said, and a note below."""


class Conversation(Themed, QTextEdit):
    """Who said what, as plain text whatever is written in it; grows as the model writes, can be selected and copied."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)
        self.setAccessibleName("The conversation")
        self.setPlaceholderText("The conversation appears here.")
        self._runs: list[Run] = []
        self.follow_theme()

    def restyle(self) -> None:
        self.setMinimumHeight(px(240))
        runs, self._runs = self._runs, []
        self._show(runs)

    def show_talk(self, talk: Sequence[Exchange], tokens: int) -> None:
        """*tokens*: how many the model sees at once; 0: not known."""
        self._show([run for one in talk for run in _runs(one, tokens)])

    def _show(self, runs: list[Run]) -> None:
        """Only what is new is written, so that what somebody has selected stays so while the model goes on."""
        if runs == self._runs:
            return
        bar = self.verticalScrollBar()
        follows, kept = bar.value() >= bar.maximum() - px(24), len(self._runs)
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if _goes_on(self._runs, runs):
            what, words = runs[kept - 1]
            if more := words[len(self._runs[-1][1]) :]:
                cursor.insertText(more, _look(what))
        else:
            self.clear()
            cursor, kept = QTextCursor(self.document()), 0
        for number, (what, words) in enumerate(runs[kept:], kept):
            space = QTextBlockFormat()
            space.setTopMargin(0 if not number else px(_ABOVE[what]))
            if number:
                cursor.insertBlock(space)
            else:
                cursor.setBlockFormat(space)
            cursor.insertText(words, _look(what))
        self._runs = runs
        if follows:
            bar.setValue(bar.maximum())


def _runs(one: Exchange, tokens: int) -> list[Run]:
    found: list[Run] = []
    if one.left_out:
        sees = f"the model sees {tokens:,} tokens at once" if tokens else "the model sees no more at once"
        what = "first question and its answer are" if one.left_out == 1 else "first questions and their answers are"
        which = "" if one.left_out == 1 else f"{one.left_out:,} "
        found.append(("gap", f"From here on, the {which}{what} left out: {sees}."))
    found += [("who", YOU), ("said", _head(one.asked))]
    if one.answer or one.ended in ("", "whole"):
        found += [("who", MODEL), ("said", _head(one.answer) if one.answer or not one.ended else "…")]
    if one.ended and not one.goes_along:
        found.append(("note", _NOTES[one.ended]))
    return found


_ABOVE = {"gap": 14, "who": 14, "said": 2, "note": 4}
_NOTES = {
    "whole": "It ended its answer at once, without a word. The next question goes without this one.",
    "stopped": "Stopped. The next question goes without this one.",
    "failed": "No answer came. The next question goes without this one.",
}


def _head(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


def _goes_on(before: list[Run], now: list[Run]) -> bool:
    """Whether *now* is *before*, the last of which may have become longer, and more behind it."""
    if not before or len(now) < len(before) or now[: len(before) - 1] != before[:-1]:
        return False
    (what, words), (what_now, words_now) = before[-1], now[len(before) - 1]
    return what == what_now and words_now.startswith(words)


def _look(what: str) -> QTextCharFormat:
    look = QTextCharFormat()
    role, tone = {"who": ("label-strong", "accent_text"), "said": ("body", "text")}.get(what, ("caption", "text_2"))
    look.setFont(fonts.font(role))
    look.setForeground(ink(tone))
    return look
