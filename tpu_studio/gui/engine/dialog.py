"""Asked for when a run needs the training engine and there is none: create it, watch it come, go on with the run.

`EngineDialog.open_over(widget, model, then=start_the_run)`. It can be put away while the engine is being created: the
run starts when it is ready, and Home and Settings show the progress.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from tpu_studio.gui.bridge import Drain
from tpu_studio.gui.engine.panel import EngineProgress
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.engine import EngineView, EngineViewModel


@dataclass(frozen=True)
class Words:
    """Of something else that is fetched beside the engine, in place of the engine's own: before, and meanwhile."""

    title: str
    sentence: str
    go: str
    working: str


class EngineDialog(Sheet):
    def __init__(
        self,
        over: QWidget,
        model: EngineViewModel,
        then: Callable[[], None] | None = None,
        words: Words | None = None,
    ) -> None:
        super().__init__(over, words.title if words else "Create the training engine first?", "", width=540)
        self._model, self._then, self._words = model, then, words
        self._asked = False
        self.progress = EngineProgress()
        self.problem = Note("", "", "bad", action="Copy the details")
        self.problem.acted.connect(self._copy)
        self.body.addWidget(self.problem)
        self.body.addWidget(self.progress)
        self.stop = self.answer("Stop", model.cancel, left=True, stays=True)
        self.away = self.answer("Not now", safe=True)
        self.go = self.answer("Create the engine", self._go, kind="primary", main=True, stays=True)
        self._end = model.state.subscribe(self._draw)
        self.closed = self._end
        self._drain = Drain(self, model.tick, 200)

    @staticmethod
    def open_over(
        over: QWidget, model: EngineViewModel, then: Callable[[], None] | None = None, words: Words | None = None
    ) -> EngineDialog:
        dialog = EngineDialog(over, model, then, words)
        dialog.open()
        return dialog

    def _go(self) -> None:
        self._asked = True
        if self._model.state.value.remedy[0] == "repair":
            self._model.repair(self._then)
        else:
            self._model.install(self._then)

    def _draw(self, view: EngineView) -> None:
        if view.ready and (self._asked or self.isVisible()):
            self.close()
            return
        self.progress.draw(view)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        command, words = view.remedy
        working = bool(view.doing)
        if self._words is not None:
            self.title.setText(self._words.working if working else self._words.title)
            self.sentence.setText(self._words.sentence)
            self.sentence.setVisible(True)
            self._draw_answers(view, self._words.go if command else "")
            return
        titles = {"broken": "Repair the training engine first?", "outdated": "Update the training engine first?"}
        self.title.setText(
            "The training engine is on its way"
            if working
            else titles.get(view.status, "Create the training engine first?")
        )
        told = view.sentence
        if working and self._then is not None:
            told += " Your run starts by itself when it is ready."
        self.sentence.setText(told)
        self.sentence.setVisible(bool(told))
        self._draw_answers(view, words if command else "")

    def _draw_answers(self, view: EngineView, go: str) -> None:
        working = bool(view.doing)
        self.stop.setVisible(working)
        self.stop.setEnabled(not view.cancelling)
        self.away.setText("Go on in the background" if working else "Not now")
        self.go.setVisible(bool(go) and not working)
        self.go.setText("Try again" if view.problem else go)
        self._later()

    def _copy(self) -> None:
        problem = self._model.state.value.problem
        if problem is not None:
            QGuiApplication.clipboard().setText(f"{problem.title}\n{problem.text}\n{problem.details}")
