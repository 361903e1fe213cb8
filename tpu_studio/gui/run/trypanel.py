"""What every panel of “try the model” is: title, what to do, a question, and the answer beside it."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial

PASSAGES_SHOWN, PASSAGE_LETTERS = 4, 60


def shortened(text: str) -> str:
    """The begin of a text of the data, in one line, as a button has room for."""
    words = " ".join(text.split())
    return f"{words[:PASSAGE_LETTERS]} …" if len(words) > PASSAGE_LETTERS else words


class TryPanel(Card):
    """Title, what to do, the question (`ask_box`), and the answer (`answer_box`) beside it."""

    def __init__(self, model: RunViewModel, sentence: str, *, ask_share: int = 1) -> None:
        super().__init__()
        self.model = model
        self.title("Try the model")
        self.body.addWidget(Text(sentence, "secondary", "text_2"))
        self.columns = row = QHBoxLayout()
        row.setSpacing(Space.xxl)
        self.ask_box, self.answer_box = QVBoxLayout(), QVBoxLayout()
        for box in (self.ask_box, self.answer_box):
            box.setSpacing(Space.m)
        row.addLayout(self.ask_box, ask_share)
        row.addLayout(self.answer_box, 1)
        self.body.addLayout(row)
        self.problem = Note("", "", "bad")
        self.problem.hide()
        self.body.addWidget(self.problem)

    def show_trial(self, trial: Trial) -> None:
        self.problem.setVisible(trial.problem is not None)
        if trial.problem is not None:
            self.problem.set_words(trial.problem.title, f"{trial.problem.meaning} {trial.problem.action}".strip())
        self.draw(trial)

    def draw(self, trial: Trial) -> None:
        raise TypeError("a panel draws its own answer")
