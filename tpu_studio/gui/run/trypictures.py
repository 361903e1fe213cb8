"""The answers for several pictures at once: a small picture, its name and what the model says of it, each."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit.card import clear_layout
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.run.trypieces import Picture, several_words
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial

COLUMNS, SIDE = 2, 44


def path_of(one: Trial) -> str:
    return str((one.question or {}).get("image", ""))


class PictureAnswers(QWidget):
    """Draws `Trial.pictures`. `chosen` carries the one to be shown large: the first, or the one that is pressed."""

    chosen = Signal(object)

    def __init__(self, model: RunViewModel) -> None:
        super().__init__()
        self._model, self._rows, self._question, self._at = model, list[PictureRow](), object(), 0
        self._pictures: tuple[Trial, ...] = ()
        self.note = Text("", "caption", "text_2")
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(Space.xxl)
        self._grid.setVerticalSpacing(Space.m)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.m)
        column.addWidget(self.note)
        column.addLayout(self._grid)
        for index in range(COLUMNS):
            self._grid.setColumnStretch(index, 1)

    def show_trial(self, trial: Trial) -> None:
        self._pictures = trial.pictures
        if trial.question is not self._question:
            self._question, self._at = trial.question, 0
            self._begin(trial)
        for row, one in zip(self._rows, trial.pictures, strict=True):
            row.show_answer(one)
        self.chosen.emit(trial.pictures[self._at])

    def _begin(self, trial: Trial) -> None:
        clear_layout(self._grid)
        left = f" {trial.left_over:,} more were left out: so many are asked about at once."
        self.note.setText(
            f"{len(trial.pictures)} pictures.{left if trial.left_over else ''} Press one to see it large."
        )
        self._rows = [PictureRow(self._model, path_of(one)) for one in trial.pictures]
        before: QWidget | None = None
        for place, row in enumerate(self._rows):
            self._grid.addWidget(row, place // COLUMNS, place % COLUMNS)
            row.picture.clicked.connect(lambda _=False, place=place: self._choose(place))
            if before is not None:
                QWidget.setTabOrder(before, row.picture)
            before = row.picture

    def _choose(self, place: int) -> None:
        self._at = place
        self.chosen.emit(self._pictures[place])


class PictureRow(QWidget):
    def __init__(self, model: RunViewModel, path: str) -> None:
        super().__init__()
        self.picture = Picture(model, path, Path(path).name, SIDE)
        self.answer = Line("", "label-strong")
        self.name = Line(Path(path).name, "caption", "text_3")
        self.share = Line("", "label-strong", numbers=True, fit=True, align=Qt.AlignmentFlag.AlignRight)
        self.why = Text("", "caption", "text_2")
        self.why.hide()
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addStretch(1)
        for line in (self.answer, self.name, self.why):
            words.addWidget(line)
        words.addStretch(1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.l)
        row.addWidget(self.picture)
        row.addLayout(words, 1)
        row.addWidget(self.share)

    def show_answer(self, one: Trial) -> None:
        words, share = answer_words(one)
        self.answer.setText(words)
        self.answer.set_tone("bad" if one.problem is not None else "text" if one.answered else "text_2")
        self.share.setText(share)
        self.name.setVisible(one.problem is None)
        self.why.setVisible(one.problem is not None)
        if one.problem is not None:
            words = f"{one.problem.title}. {one.problem.meaning}"
            self.why.setText(words)
        self.picture.setAccessibleName(f"{self.name.text()}: {words} {share}".strip())


def answer_words(one: Trial) -> tuple[str, str]:
    """What the model says of a picture, and how likely it finds that, where it tells."""
    if one.problem is not None:
        return "No answer", ""
    if one.value is not None:
        return figures.datum(one.value, 4), ""
    if one.several:
        return several_words(one.classes), ""
    if one.classes:
        best, likely = one.classes[0]
        return best, figures.share(likely)
    return "Thinking…" if one.asking else "Not asked", ""
