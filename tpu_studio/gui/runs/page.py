"""The Runs page: every run, sortable, found by a few letters; open, train longer, save a copy, delete with undo."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices, QKeyEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QSizePolicy, QVBoxLayout, QWidget

from tpu_studio.domain.comparison import AT_MOST
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, PageHeader
from tpu_studio.gui.kit.choose import CheckBox
from tpu_studio.gui.kit.fields import Field, LineEdit
from tpu_studio.gui.kit.numberedit import DecimalBox
from tpu_studio.gui.kit.pill import IconTile
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import px, soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.runs.deleted import DeletedSheet
from tpu_studio.gui.runs.marking import ask_name, ask_note, ask_tags
from tpu_studio.gui.runs.skeleton import SkeletonRows
from tpu_studio.gui.runs.table import RunTable
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.runrows import RunRow
from tpu_studio.viewmodels.runs import RunsView, RunsViewModel
from tpu_studio.viewmodels.shell import ShellViewModel


class RunsPage(QWidget):
    def __init__(
        self,
        model: RunsViewModel,
        shell: ShellViewModel,
        choose_run_folder: Callable[[], None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._model, self._shell, self._choose_folder = model, shell, choose_run_folder
        self._folder_button = Button("Open a run folder…", icon="folder-open")
        self._folder_button.clicked.connect(choose_run_folder)
        self.deleted = Button("Deleted…", kind="quiet", icon="trash-2")
        self.deleted.clicked.connect(lambda: DeletedSheet(self, model).open())
        self.header = PageHeader(
            "Runs",
            "Everything you have trained. Open a run to watch it, or to try its model.",
            self.deleted,
            self._folder_button,
        )

        self.filter = LineEdit(placeholder="Find by name, tag, note, model or day", name="Find a run", icon="search")
        self.filter.setClearButtonEnabled(False)
        self.filter.textChanged.connect(lambda _: self._draw(model.state.value))
        self.filter.installEventFilter(self)
        self.starred = CheckBox("Starred")
        self.starred.setToolTip(plain("Only runs with a star"))
        self.starred.toggled.connect(lambda _: self._draw(model.state.value))
        self.count = Line("", "secondary", "text_2", numbers=True)
        self.chosen = Line("", "label-strong", numbers=True, fit=True)
        self.extend = Button("Train longer…", size="small", icon="plus")
        self.extend.clicked.connect(lambda: self._extend(self._one()))
        self.export = Button("Export…", size="small", icon="download")
        self.export.clicked.connect(lambda: self._export(self._one()))
        self.compare = Button("Compare", size="small", icon="git-compare-arrows")
        self.compare.clicked.connect(lambda: model.compared(tuple(row.run for row in self._chosen_rows())))
        self.delete = Button("Delete", size="small", icon="trash-2")
        self.delete.clicked.connect(self._delete)
        bar = QHBoxLayout()
        bar.setSpacing(Space.m)
        bar.addWidget(self.filter)
        bar.addWidget(self.starred)
        bar.addWidget(self.count, 100)
        bar.addStretch(1)
        bar.addWidget(self.chosen)
        for button in (self.compare, self.extend, self.export, self.delete):
            bar.addWidget(button)
        self._beside = (self.starred, self.count, self.chosen, self.compare, self.extend, self.export, self.delete)
        self._bar = QWidget()
        bar.setContentsMargins(0, 0, 0, 0)
        self._bar.setLayout(bar)

        self.table = RunTable(sortable=True, choosing=True)
        self.table.opened.connect(self._open)
        self.table.sorting_changed.connect(lambda *_: self._draw(model.state.value))
        self.table.menu_asked.connect(self._menu)
        self.table.delete_asked.connect(self._delete)
        self.table.rename_asked.connect(self._rename)
        self.table.star_asked.connect(self._star)
        self.table.again_asked.connect(self._again)
        self.table.runs.chosen_changed.connect(self._draw_chosen)
        self._card = Card(margins=1, spacing=0)
        self._card.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._card.body.addWidget(self.table)
        self._nothing = Text("", "secondary", "text_2", align=Qt.AlignmentFlag.AlignHCenter)
        self.show_all = Button("Show all runs", size="small")
        self.show_all.clicked.connect(self._show_all)
        self._empty_search = QWidget()
        none = QVBoxLayout(self._empty_search)
        none.setContentsMargins(20, 28, 20, 28)
        none.setSpacing(Space.l)
        none.addWidget(self._nothing)
        none.addWidget(self.show_all, 0, Qt.AlignmentFlag.AlignHCenter)
        self._card.body.addWidget(self._empty_search)
        self.skeleton = SkeletonRows(6)
        self.reading = Text("", "secondary", "text_2", numbers=True)
        self.problem = Note("", "", "bad", action="Try again")
        self.problem.acted.connect(model.look)
        self.empty = self._make_empty()

        column = QVBoxLayout(self)
        column.setContentsMargins(Space.page, 26, Space.page, Space.page)
        column.setSpacing(Space.xl)
        column.addWidget(self.header)
        column.addWidget(self.problem)
        column.addWidget(self._bar)
        column.addWidget(self._card, 1000)
        column.addWidget(self.reading)
        column.addWidget(self.skeleton)
        column.addWidget(self.empty)
        column.addStretch(1)
        self._end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: self._end())

    def refresh(self) -> None:
        self._model.look()

    def _make_empty(self) -> Card:
        card = Card(margins=(20, 36, 20, 36), spacing=Space.s)
        middle = Qt.AlignmentFlag.AlignHCenter
        start = Button("Train a tiny model here", "primary", icon="play")
        start.clicked.connect(self._start_first)
        other = Button("Open a run folder…", "quiet")
        other.clicked.connect(self._choose_folder)
        card.body.addWidget(IconTile("chart-line", "accent", side=56, icon_size=24), 0, middle)
        card.body.addSpacing(Space.m)
        card.body.addWidget(Text("No runs yet", "card-title", align=middle))
        card.body.addWidget(
            Text("Your first one takes about two minutes and costs nothing.", "body", "text_2", align=middle)
        )
        card.body.addSpacing(Space.m)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(start)
        row.addWidget(other)
        row.addStretch(1)
        card.body.addLayout(row)
        return card

    # --------------------------------------------------------------------------------------------------------- drawing

    def _draw(self, view: RunsView) -> None:
        starred = self.starred.isChecked()
        rows = view.shown(self.filter.text(), self.table.sorted_by, self.table.descending, starred=starred)
        everything = view.rows or ()
        self.table.set_rows(rows)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self.skeleton.setVisible(view.loading)
        self.reading.setVisible(view.loading and view.reading is not None)
        if view.reading is not None:
            read, of = view.reading
            far = f"{read:,} of {of:,} runs are read."
            self.reading.setText(f"The list is being made anew: {far} Next time it is there at once.")
        self.empty.setVisible(view.rows == ())
        self._folder_button.setVisible(view.rows != ())
        self.deleted.setVisible(bool(view.deleted))
        self._bar.setVisible(bool(everything))
        self._card.setVisible(bool(everything))
        self.table.setVisible(bool(rows))
        self._empty_search.setVisible(not rows)
        self.starred.setVisible(starred or any(row.mark.star for row in everything))
        self._nothing.setText(_found_nothing(self.filter.text(), starred))
        self.count.setText(_counted(len(rows), everything, view.going_on))
        self._draw_chosen()

    def _draw_chosen(self) -> None:
        chosen = self._chosen_rows()
        self.chosen.setText(f"{len(chosen)} selected")
        self.chosen.setVisible(bool(chosen))
        self.count.setVisible(not chosen)  # at 150 % text there is no room for both
        self.delete.setVisible(bool(chosen))
        busy = [row for row in chosen if row.may_stop]
        self.delete.setEnabled(not busy)
        self.delete.setToolTip(plain("" if not busy else f"{busy[0].name} is still going on: stop it first."))
        sound = [row for row in chosen if not row.problem]
        self.compare.setVisible(1 < len(sound) == len(chosen) <= AT_MOST)
        self.extend.setVisible(len(chosen) == 1 and (chosen[0].may_extend or chosen[0].live))
        self.export.setVisible(len(chosen) == 1 and chosen[0].over and not chosen[0].problem)
        self._fit_filter()

    def _chosen_rows(self) -> list[RunRow]:
        return [row for row in self._model.state.value.rows or () if row.run in self.table.runs.chosen]

    def _one(self) -> str:
        return next(iter(self.table.runs.chosen), "")

    # ---------------------------------------------------------------------------------------------------------- acting

    def _open(self, run: str) -> None:
        row = self._model.state.value.row(run)
        self._shell.open_run(run, row.name if row else "")

    def _delete(self) -> None:
        runs = [row.run for row in self._chosen_rows() if not row.may_stop]
        if not runs and not self._chosen_rows() and self.table.current_run:
            row = self._model.state.value.row(self.table.current_run)
            runs = [row.run] if row is not None and not row.may_stop else []
        if runs:
            self.table.setFocus(Qt.FocusReason.OtherFocusReason)  # the button goes, and the focus would look lost
            self._model.delete(runs)

    def _extend(self, run: str) -> None:
        row = self._model.state.value.row(run)
        if row is None:
            return
        sheet = Sheet(
            self, f"Train {row.name} longer?", "It goes on from its last checkpoint: one run, one curve.", width=460
        )
        epochs = DecimalBox(1, 0.01, 10_000, step=1, decimals=2, name="More epochs", suffix="passes")
        sheet.body.addWidget(Field("More epochs", epochs, help=row.extension_price))
        sheet.answer("Leave it as it is", safe=True)
        go = sheet.answer("Train longer", lambda: self._model.extend(run, epochs.value()), kind="primary")
        sheet.needs(epochs, go)
        if not row.rented:
            sheet.ask(epochs, go)
        sheet.open()

    def _show_all(self) -> None:
        self.starred.setChecked(False)
        self.filter.clear()

    def _star(self, run: str) -> None:
        row = self._model.state.value.row(run)
        if row is not None and not row.problem:
            self._model.star(run, not row.mark.star)

    def _again(self, run: str) -> None:
        row = self._model.state.value.row(run)
        if row is not None and not row.problem:
            self._model.plan_again(run)

    def _rename(self, run: str) -> None:
        row = self._model.state.value.row(run)
        if row is not None and not row.problem:
            ask_name(self, row, self._model)

    def _export(self, run: str) -> None:
        dialog = QFileDialog(self, "Where shall the copy go?")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly, True)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self._model.export(run, Path(path)))
        dialog.open()

    def _start_first(self) -> None:
        from tpu_studio.viewmodels.examples import shipped

        first = next(iter(shipped()), None)
        if first is None:
            self._shell.new_run()
        else:
            self._shell.open_job(first.path)

    def _menu(self, run: str, at: QPoint) -> None:
        row = self._model.state.value.row(run)
        if row is not None:
            self.menu_of(row).popup(at)

    def menu_of(self, row: RunRow) -> QMenu:
        """What can be done to one run, from the right mouse button or the menu key."""
        run = row.run
        menu = QMenu(self)
        menu.aboutToHide.connect(menu.deleteLater)

        def add(text: str, act: Callable[[], object], possible: bool = True) -> None:
            action = QAction(text, menu)
            action.triggered.connect(act)
            action.setEnabled(possible)
            menu.addAction(action)

        add("Open", lambda: self._open(run))
        add("Open its folder", lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(row.folder))))
        menu.addSeparator()
        if row.may_stop:
            add("Stop & keep model".replace("&", "&&"), lambda: self._model.stop(run))
        if row.may_resume and not row.may_extend:
            add("Resume", lambda: self._model.resume(run))
        add("Train longer…", lambda: self._extend(run), row.may_extend or row.live)
        add("Export…", lambda: self._export(run), row.over and not row.problem)
        menu.addSeparator()
        add("Duplicate and edit\tCtrl+D", lambda: self._again(run), not row.problem)
        add("Rename…\tF2", lambda: self._rename(run), not row.problem)
        add("Take the star off" if row.mark.star else "Star", lambda: self._star(run), not row.problem)
        add("Tags…", lambda: ask_tags(self, row, self._model), not row.problem)
        add("Note…", lambda: ask_note(self, row, self._model), not row.problem)
        menu.addSeparator()
        add("Delete\tDel", lambda: self._model.delete([run]), not row.may_stop)
        return menu

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Down leads from the field to what was found, Esc shows all again."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Down and self.table.isVisible():
                self.table.setFocus(Qt.FocusReason.TabFocusReason)
                return True
            if event.key() == Qt.Key.Key_Escape and self.filter.text():
                self.filter.clear()
                return True
        return False

    def resizeEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().resizeEvent(event)
        self._fit_filter()

    def _fit_filter(self) -> None:
        """As wide as what stands beside it leaves room for."""
        beside = [part for part in self._beside if not part.isHidden()]
        taken = sum(part.sizeHint().width() + Space.m for part in beside) + 2 * Space.m
        room = self.width() - 2 * Space.page - taken
        words = self.filter.fontMetrics().horizontalAdvance(self.filter.placeholderText()) + px(52)
        self.filter.setFixedWidth(min(max(soft_px(300), words), max(room, px(120))))


def _found_nothing(words: str, starred: bool) -> str:
    some = "No run with a star" if starred else "No run"
    return f"{some} has “{words}” in its name, tags, note, model, place, status or day." if words else f"{some} yet."


def _counted(shown: int, rows: tuple[RunRow, ...], going_on: tuple[RunRow, ...]) -> str:
    total = "1 run" if len(rows) == 1 else f"{len(rows):,} runs"
    words = total if shown == len(rows) else f"{shown:,} of {total}"
    waiting = sum(row.waiting for row in going_on)
    live = len(going_on) - waiting
    more = [f"{live} going on" if live else "", f"{waiting} waiting" if waiting else ""]
    return ", ".join([words, *(word for word in more if word)])
