"""The sheet of the free path: how free TPUs work and end, the notebook, what to do next, and the browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Divider
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.colab import OPEN_URL, ColabView, ColabViewModel
from tpu_studio.wire.plan import Plan

TITLE = "Train on a free TPU in Colab"
SENTENCE = "TPU Studio writes a notebook of exactly this plan; you run it in your browser."


def browse(url: str) -> bool:
    return QDesktopServices.openUrl(QUrl(url))


class ColabSheet(Sheet):
    """*leave* is called whenever it closes; *show_run* opens the run that waits for its zip."""

    def __init__(
        self,
        over: QWidget,
        model: ColabViewModel,
        plan: Plan,
        folder: Path,
        leave: Callable[[], None],
        show_run: Callable[[str], None],
    ) -> None:
        super().__init__(over, TITLE, SENTENCE, width=640)
        self._model, self._plan, self.folder = model, plan, folder
        model.begin()
        self._before_box, self._after_box = QWidget(), QWidget()
        self.where = Text("", "label", "text_2")
        change = Button("Choose a folder…", size="small")
        change.clicked.connect(self._choose)
        row = QHBoxLayout(self._before_box)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.l)
        row.addWidget(self.where, 1)
        row.addWidget(change)
        self.problem = Note("", "", "bad")
        self.written = Note("", "", "ok")
        self.steps = Text("", "body")
        self.body.addWidget(Text("How free TPUs work and end", "label-strong"))
        for line in model.state.value.limits:
            self.facts([line], "info", "text_2")
        self.body.addWidget(Divider())
        for widget in (self._before_box, self.problem, self.written, self.steps):
            self.body.addWidget(widget)
        self.answer("Close", safe=True)
        self.run = self.answer("Show the run", lambda: show_run(model.state.value.run))
        self.make = self.answer("Write the notebook", self._make, kind="primary", main=True, stays=True)
        self.go = self.answer("Open Colab", self._browse, kind="primary", stays=True)
        self.closed = leave
        self._end = model.state.subscribe(self._draw)
        end = self._end
        self.destroyed.connect(lambda: end())
        self._show_folder()

    def _draw(self, view: ColabView) -> None:
        written = view.notebook is not None
        self._before_box.setVisible(not written)
        self.make.setVisible(not written)
        self.make.setEnabled(not view.busy)
        self.make.setText(view.busy or "Write the notebook")
        self.run.setVisible(written)
        self.go.setVisible(written)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self.written.setVisible(written)
        self.steps.setVisible(written)
        if view.notebook is not None:
            self.written.set_words(
                f"{view.notebook.name} is written",
                f"{view.run} waits for its result. It is saved to {view.notebook.parent}.",
            )
            self.steps.setText("\n".join(f"{number}. {step}" for number, step in enumerate(view.steps, 1)))

    def _make(self) -> None:
        self._model.make(self._plan, self.folder)

    def _browse(self) -> None:
        if not browse(OPEN_URL):
            self.problem.set_words("No browser could be opened", f"The address is {OPEN_URL}.")
            self.problem.show()

    def _choose(self) -> None:
        dialog = QFileDialog(self, "Where should the notebook go?", str(self.folder))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly, True)
        dialog.fileSelected.connect(self._chosen)
        dialog.open()

    def _chosen(self, folder: str) -> None:
        self.folder = Path(folder)
        self._show_folder()

    def _show_folder(self) -> None:
        self.where.setText(f"The notebook goes into {self.folder}.")
