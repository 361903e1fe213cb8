"""Tags, note, star and name of a run: their sheets, and the strip on the Run page. They stay on this computer."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from tpu_studio.domain.mark import NOTE_LETTERS, Mark, noted, tagged
from tpu_studio.gui.kit.button import Button, IconButton
from tpu_studio.gui.kit.fields import Field, LineEdit
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.shorttext import ShortText
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.problem import problem_of
from tpu_studio.viewmodels.runrows import RunRow
from tpu_studio.viewmodels.runs import KEPT, RunsView, RunsViewModel
from tpu_studio.wire.errors import StudioError

_STAYS = "It stays on this computer, and is not sent along with the run."
DELETED = f"Its model and curves are kept for {KEPT} under “Deleted” on the Runs page"
_SHOWN = 8  # of the tags that other runs have


def ask_tags(over: QWidget, row: RunRow, model: RunsViewModel) -> None:
    others = [tag for tag in model.state.value.tags if tag not in row.mark.tags][:_SHOWN]
    help = " ".join(["Separated by commas.", *([f"Others of yours: {', '.join(others)}."] if others else [])])
    sheet = Sheet(over, f"Tags of {row.name}", "The list finds it by them. They stay on this computer.", width=460)
    edit = LineEdit(", ".join(row.mark.tags), name="Tags")
    field = Field("Tags", edit, help=help)
    sheet.body.addWidget(field)
    sheet.answer("Cancel", safe=True)

    def save() -> None:
        wanted = _tags(edit.text())
        model.tag(row.run, wanted, [tag for tag in row.mark.tags if tag not in wanted])

    go = sheet.answer("Save", save, kind="primary")

    def check(text: str) -> None:
        problem = _refused(lambda: _tags(text))
        field.set_error(problem)
        go.setEnabled(not problem)

    edit.textChanged.connect(check)
    sheet.ask(edit, go)
    sheet.open()


def _tags(text: str) -> tuple[str, ...]:
    """Of a line in which commas part them; one at the end is still being typed. Raises BadInput as `tagged`."""
    line = text.strip(" ,")
    return tagged(Mark(), [line]).tags if line else ()


def ask_note(over: QWidget, row: RunRow, model: RunsViewModel) -> None:
    sheet = Sheet(over, f"A note on {row.name}", _STAYS, width=520)
    edit = ShortText(row.mark.note, most=5 * NOTE_LETTERS)
    edit.setTabChangesFocus(True)
    edit.setMinimumHeight(soft_px(150))
    field = Field("Note", edit, help=_room(row.mark.note))
    sheet.body.addWidget(field)
    sheet.answer("Cancel", safe=True)
    go = sheet.answer("Save", lambda: model.note(row.run, edit.toPlainText()), kind="primary")

    def check() -> None:
        problem = _refused(lambda: noted(Mark(), edit.toPlainText()))
        field.set_error(problem)
        field.set_help(_room(edit.toPlainText()))
        go.setEnabled(not problem)

    edit.textChanged.connect(check)
    edit.installEventFilter(_Saves(edit, go))
    sheet.open()
    edit.setFocus(Qt.FocusReason.PopupFocusReason)
    edit.moveCursor(QTextCursor.MoveOperation.End)


class _Saves(QObject):
    """Ctrl+Enter saves: Enter begins a line."""

    def __init__(self, edit: QPlainTextEdit, save: Button) -> None:
        super().__init__(edit)
        self._save = save

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self._save.click()
                return True
        return False


def ask_name(over: QWidget, row: RunRow, model: RunsViewModel) -> None:
    words = "Shown on this computer. Its folder and its id stay; without a name it is called as its job says."
    sheet = Sheet(over, f"Rename {row.name}", words, width=460)
    name = LineEdit(row.name, name="Name")
    sheet.body.addWidget(Field("Name", name, help=f"Its id is {row.run}."))
    sheet.answer("Cancel", safe=True)
    go = sheet.answer("Rename", lambda: model.rename(row.run, name.text()), kind="primary")
    sheet.ask(name, go)
    sheet.open()


def _refused(check: Callable[[], object]) -> str:
    """Why what is typed cannot be taken; "" where it can."""
    try:
        check()
    except StudioError as error:
        problem = problem_of(error)
        return problem.title
    return ""


def _room(text: str) -> str:
    return f"{len(text.strip()):,} of {NOTE_LETTERS:,} letters. Ctrl+Enter saves."


class MarksStrip(QWidget):
    """Star, tags and note of one run, its name and its end, below the head of its page; follows the list of runs.

    *leave* is called before the run is deleted: its page has nothing to show then.
    """

    def __init__(self, model: RunsViewModel, run: str, leave: Callable[[], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._model, self._run, self._leave = model, run, leave
        self._drawn: Mark | None = None
        self.star = IconButton("star", "Star", side=28, icon_size=16)
        self.star.setCheckable(True)
        self.star.clicked.connect(lambda on: model.star(run, on))
        self.tags = Button("Add tags…", "quiet", size="small", icon="plus")
        self.tags.clicked.connect(lambda: self._with_row(ask_tags))
        self.write = Button("Write a note…", "quiet", size="small", icon="notebook-pen")
        self.write.clicked.connect(lambda: self._with_row(ask_note))
        self.rename = Button("Rename…", "quiet", size="small", icon="pencil")
        self.rename.clicked.connect(lambda: self._with_row(ask_name))
        self.delete = Button("Delete", "quiet", size="small", icon="trash-2")
        self.delete.clicked.connect(self._delete)
        self.note = Text("", "body", "text_2")
        self._chips: list[Pill] = []
        line = QWidget()
        self._flow = FlowLayout(line, gap=Space.s)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.s)
        column.addWidget(line)
        column.addWidget(self.note)
        self.hide()
        self._end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: self._end())

    def _with_row(self, ask: Callable[[QWidget, RunRow, RunsViewModel], None]) -> None:
        if (row := self._model.state.value.row(self._run)) is not None:
            ask(self, row, self._model)

    def _delete(self) -> None:
        self._leave()
        self._model.delete([self._run])

    def _draw(self, view: RunsView) -> None:
        row = view.row(self._run)
        self.setVisible(row is not None and not row.problem)
        if row is None:
            return
        self.delete.setEnabled(not row.may_stop)
        self.delete.setToolTip(plain("It is still going on: stop it first." if row.may_stop else DELETED))
        if row.mark == self._drawn:
            return
        mark = self._drawn = row.mark
        self.star.setChecked(mark.star)
        self.star.set_icon(*(("star-filled", "accent") if mark.star else ("star", "text_2")))
        hover = "Take the star off" if mark.star else "Put a star on it: the list can show those alone"
        self.star.setToolTip(plain(hover))
        self.tags.setText("Tags…" if mark.tags else "Add tags…")
        self.write.setText("Change the note…" if mark.note else "Write a note…")
        self.note.setText(mark.note)
        self.note.setVisible(bool(mark.note))
        for chip in self._chips:
            chip.hide()
            chip.deleteLater()
        self._chips = [Pill(tag) for tag in mark.tags]
        while self._flow.count():
            self._flow.takeAt(0)
        for widget in (self.star, *self._chips, self.tags, self.write, self.rename, self.delete):
            self._flow.addWidget(widget)
            widget.show()
