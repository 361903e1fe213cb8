"""The step that is under way, over the pages on which it is done: what to do, what it means, and the way back."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.focus import TabOrder
from tpu_studio.gui.kit.notice import announce
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, ink
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.learn.steps import ICONS, TO_DO, Question
from tpu_studio.gui.learn.termtext import TermText
from tpu_studio.viewmodels.learning import ChapterView, LearnViewModel, StepView
from tpu_studio.viewmodels.shell import ShellViewModel

PAGES = ("plan", "run", "runs", "account", "compare")
_TOP = Qt.AlignmentFlag.AlignTop


class LearnStrip(Themed, QFrame):
    def __init__(self, model: LearnViewModel, shell: ShellViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model, self._shell = model, shell
        self._said = ""
        self._icon = Icon(TO_DO[0], "accent_text", size=18)
        self.title = Text("", "label-strong")
        self.text = TermText("", "secondary", "text_2")
        self.question = Question()
        self.question.answered.connect(self._answer)
        self.button = Button("", size="small")
        self.button.clicked.connect(self._press)
        self.learn = Button("To the chapter", size="small", kind="quiet")
        self.learn.clicked.connect(lambda: self._open(model.state.value.active))
        self.close_button = IconButton("x", "Leave this chapter for now", icon_size=16)
        self.close_button.clicked.connect(model.leave)
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        for widget in (self.title, self.text, self.question):
            words.addWidget(widget)
        row = QHBoxLayout(self)
        self._tabs = TabOrder(row)
        row.setContentsMargins(Space.page, Space.m, Space.l, Space.m)
        row.setSpacing(Space.m)
        row.addWidget(self._icon, 0, _TOP)
        row.addLayout(words, 1)
        for button in (self.button, self.learn, self.close_button):
            row.addWidget(button, 0, _TOP)
        ends = [model.state.subscribe(lambda _: self._draw()), shell.state.subscribe(lambda _: self._draw())]
        self.destroyed.connect(lambda: [end() for end in ends])
        self.follow_theme()

    @property
    def _chapter(self) -> ChapterView | None:
        return self._model.state.value.under_way

    def _draw(self) -> None:
        chapter = self._chapter
        shown = chapter is not None and self._shell.state.value.page in PAGES
        self.setVisible(shown)
        if chapter is None or not shown:
            return
        step = chapter.now
        if step is None:
            self._icon.set_icon("circle-check", "ok")
            self.title.setText(f"{chapter.chapter.title} is done")
            self.text.set_marked(f"You have seen: {', '.join(chapter.chapter.learns)}.")
            self.button.hide()
        else:
            icon, tone, _ = ICONS.get(step.state, TO_DO)
            self._icon.set_icon(icon, "accent_text" if tone == "text_2" else tone)
            self.title.setText(f"{chapter.chapter.title}, step {step.number} of {len(chapter.steps)}: {step.title}")
            self.text.set_marked(" ".join(filter(None, (step.text, step.note if _bad(step) else ""))))
            self.button.setVisible(bool(step.button) and not self._is_here(step))
            self.button.setText(step.button)
        self.question.draw(step)
        self.learn.setText("To the chapter" if step else "What comes next?")
        if self.title.text() != self._said:
            self._said = self.title.text()
            announce(self, self._said)
        self._tabs.follow()

    def _is_here(self, step: StepView) -> bool:
        """The step is done on the page that is shown, so its button would lead nowhere else."""
        at = self._shell.state.value
        planned = at.page == "plan" and at.request.lesson in step.plans
        return not _bad(step) and (planned or at.page == step.page)

    def _press(self) -> None:
        if (chapter := self._chapter) is not None and chapter.now is not None:
            self._model.press(chapter.now.key)

    def _answer(self, number: int) -> None:
        if (chapter := self._chapter) is not None and chapter.now is not None:
            self._model.answer(chapter.now.key, number)

    def _open(self, chapter: str) -> None:
        view = self._model.state.value.chapter(chapter)
        if view is None or view.is_over:
            self._model.show("")
            self._model.leave()
        else:
            self._model.show(chapter)
        self._shell.go("learn")

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = paint.open_painter(self)
        painter.fillRect(self.rect(), ink("accent_tint"))
        painter.fillRect(QRectF(0, self.height() - 1, self.width(), 1), ink("border"))


def _bad(step: StepView) -> bool:
    return step.state in ("failed", "stopped", "gone")
