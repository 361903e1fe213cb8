"""The training engine as a block: state, versions, size; create, repair, cancel, remove; what went wrong in words."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.bridge import Drain
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.pill import IconTile, Pill
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.engine import EngineView, EngineViewModel


class EngineProgress(QWidget):
    """Bar, what is being done, and the exact counts."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = Line("", "label-strong")
        self.share = Line("", "label-strong", numbers=True, fit=True)
        self.bar = ProgressBar(0, name="Progress of the training engine")
        self.detail = Text("", "secondary", "text_2", numbers=True)
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(self.share)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.s)
        column.addLayout(head)
        column.addWidget(self.bar)
        column.addWidget(self.detail)

    def draw(self, view: EngineView) -> None:
        self.setVisible(view.bar is not None)
        if view.bar is not None:
            self.title.setText("Stopping…" if view.cancelling else view.bar.title)
            self.share.setText(f"{view.bar.share:.0%}")
            self.bar.set_share(view.bar.share, view.bar.detail)
            self.detail.setText(view.bar.detail or " ")


class EnginePanel(QWidget):
    def __init__(self, model: EngineViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._tile = IconTile("package", "neutral", side=40)
        self.word = Line("TensorFlow, JAX and Keras", "row-title")
        self.pill = Pill("", "neutral")
        self.sentence = Text("", "secondary", "text_2")
        self.progress = EngineProgress()
        self.problem = Note("", "", "bad", action="Copy the details")
        self.problem.acted.connect(self._copy)
        self.remedy = Button("", "secondary", size="small")
        self.remedy.clicked.connect(self._remedy)
        self.repair = Button("Check and repair", size="small", icon="wand-sparkles")
        self.repair.clicked.connect(lambda: model.repair())
        self.remove = Button("Remove…", "quiet", size="small", icon="trash-2")
        self.remove.clicked.connect(self._ask_remove)
        self.cancel = Button("Stop", size="small", icon="square", name="Stop creating the engine")
        self.cancel.clicked.connect(model.cancel)
        head = QHBoxLayout()
        head.setSpacing(Space.m)
        head.addWidget(self.word)
        head.addWidget(self.pill)
        head.addStretch(1)
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.m)
        for button in (self.remedy, self.cancel, self.repair, self.remove):
            buttons.addWidget(button)
        buttons.addStretch(1)
        words = QVBoxLayout()
        words.setSpacing(Space.m)
        words.addLayout(head)
        words.addWidget(self.sentence)
        words.addWidget(self.problem)
        words.addWidget(self.progress)
        words.addLayout(buttons)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.gap)
        row.addWidget(self._tile, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        self._end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: self._end())
        self._drain = Drain(self, model.tick, 200)

    def _draw(self, view: EngineView) -> None:
        self._tile.set_icon("package", {"neutral": "neutral"}.get(view.tone, view.tone))
        self.pill.set_pill(view.word, view.tone, dot=bool(view.doing))  # type: ignore[arg-type]
        told = view.sentence
        if view.size and not view.doing:
            told = f"{told} · {view.size} on disk" if view.status == "ready" else told
        self.sentence.setText(told)
        self.sentence.setVisible(bool(told))
        self.progress.draw(view)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        command, words = view.remedy
        self.remedy.setVisible(bool(command))
        self.remedy.setText(words)
        self.repair.setVisible(view.may_repair and command != "repair")
        self.remove.setVisible(view.may_remove)
        self.cancel.setVisible(view.doing in ("install", "repair"))
        self.cancel.setEnabled(not view.cancelling)

    def _remedy(self) -> None:
        if self._model.state.value.remedy[0] == "repair":
            self._model.repair()
        else:
            self._model.install()

    def _copy(self) -> None:
        problem = self._model.state.value.problem
        if problem is not None:
            QGuiApplication.clipboard().setText(f"{problem.title}\n{problem.text}\n{problem.details}")

    def _ask_remove(self) -> None:
        view = self._model.state.value
        sheet = Sheet(
            self, "Remove the training engine?", "No run can start on this computer until it is created again."
        )
        freed = f"{view.size} of disk space is freed." if view.size else "Its disk space is freed."
        sheet.facts([freed, "Your runs, models and curves stay."])
        sheet.answer("Keep the engine", safe=True)
        sheet.answer("Remove it", self._model.remove, kind="danger")
        sheet.open()
