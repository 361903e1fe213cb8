"""What will go wrong on the practice cloud, over every page where one might forget it, and the list to undo it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Strip, clear_layout
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.faults import ArmedView, ArmedViewModel
from tpu_studio.viewmodels.shell import ShellViewModel

PAGES = ("home", "plan", "run")


class ArmedStrip(Strip):
    """Amber, with the number of things, on Home, Plan and Run; its button opens the list."""

    def __init__(self, model: ArmedViewModel, shell: ShellViewModel, show: Callable[[], None]) -> None:
        super().__init__("", "warn", "flask-conical")
        self._model, self._shell = model, shell
        self.button = Button("Show them", size="small")
        self.button.clicked.connect(show)
        layout = self.layout()
        assert layout is not None
        layout.addWidget(self.button)
        for item in filter(None, map(layout.itemAt, range(layout.count()))):
            item.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        ends = [model.state.subscribe(lambda _: self._draw()), shell.state.subscribe(lambda _: self._draw())]
        self.destroyed.connect(lambda: [end() for end in ends])

    def _draw(self) -> None:
        view = self._model.state.value
        self.words.setText(view.sentence)
        self.button.setText("Show it" if len(view.rows) == 1 else "Show them")
        self.button.setAccessibleName(f"{self.button.text()}: {view.words}")
        self.setVisible(bool(view.rows) and self._shell.state.value.page in PAGES)


def open_armed(over: QWidget, model: ArmedViewModel, more: Callable[[], None]) -> Sheet:
    """The list of what is armed, each with its button to undo it; *more* opens everything that could go wrong."""
    words = "You injected this into the practice cloud. It lasts until it has happened or is undone."
    sheet = Sheet(over, "What will go wrong", words, width=640)
    problem = Note("", "", "bad")
    sheet.body.addWidget(problem)
    box = QWidget()
    lines = QVBoxLayout(box)
    lines.setContentsMargins(0, 0, 0, 0)
    lines.setSpacing(Space.l)
    sheet.body.addWidget(box)
    sheet.answer("What else could go wrong?", more, kind="quiet", left=True)
    close = sheet.answer("Close", safe=True)
    every = sheet.answer("Clear all", model.disarm_all, stays=True)
    shown: list[tuple[str, str]] = []

    def draw(view: ArmedView) -> None:
        problem.setVisible(view.problem is not None)
        if view.problem is not None:
            problem.set_words(view.problem.title, view.problem.text)
        every.setVisible(len(view.rows) > 1)
        wanted = [(row.name, row.state) for row in view.rows]
        if wanted == shown and lines.count():
            return
        shown[:] = wanted
        focus: QWidget | None = sheet.window().focusWidget()
        inside = focus is not None and box.isAncestorOf(focus)
        clear_layout(lines)
        for row in view.rows:
            lines.addLayout(_line(row.sentence, row.state, lambda name=row.name: model.disarm(name)))  # type: ignore[misc]
        if not view.rows:
            lines.addWidget(Text("Nothing: no fault is left.", "body", "text_2"))
        if inside:
            close.setFocus(Qt.FocusReason.OtherFocusReason)

    sheet.closed = model.state.subscribe(draw)
    sheet.open()
    model.look()
    return sheet


def _line(sentence: str, state: str, act: Callable[[], None]) -> QHBoxLayout:
    button = Button("Undo", size="small", name=f"Undo: {sentence}")
    button.clicked.connect(lambda _=False: act())
    row = QHBoxLayout()
    row.setSpacing(Space.l)
    row.addWidget(Text(sentence, "secondary"), 1, Qt.AlignmentFlag.AlignVCenter)
    row.addWidget(Pill(state, "accent"))
    row.addWidget(button)
    return row
