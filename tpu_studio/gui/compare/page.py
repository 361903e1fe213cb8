"""Compare runs: what was found in a sentence, the curves along one axis, and the table of what differs. Draws
`CompareView`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QAction, QDesktopServices, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from tpu_studio.domain.mark import Mark
from tpu_studio.gui.bridge import Drain
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, PageHeader, Scroll
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.fields import ComboBox
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.states import EmptyState, Skeleton
from tpu_studio.gui.kit.table import Cell, Column, Table
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.plots.along import SCALES, along
from tpu_studio.gui.plots.plot import Plot
from tpu_studio.gui.plots.scale import COUNT, MONEY, PERCENT, PLAIN, Scale
from tpu_studio.gui.plots.source import Curve
from tpu_studio.viewmodels.comparing import CompareView, CompareViewModel, Row
from tpu_studio.viewmodels.runs import RunsViewModel
from tpu_studio.viewmodels.shell import ShellViewModel
from tpu_studio.wire import metrics

READ_MS = 2000
_PLOT = 340
_MEASURE_WIDTH = 190  # of the name of what is drawn: so much there is beside the choice of axis
_WHERE_FROM, _NAMES, _FIGURES = 900, 170, 105
_ASKS = "Which is better, by how much, and is it more than chance?"
_COURSE: dict[str, Scale] = {"examples_per_s": COUNT, "usd": MONEY}


class ComparePage(QWidget):
    def __init__(
        self, model: CompareViewModel, runs: RunsViewModel, shell: ShellViewModel, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.model, self._runs, self._shell = model, runs, shell
        self._drawn: tuple[str, str] | None = None
        self._columns: tuple[tuple[str, ...], bool] = (), False
        self.plot: Plot | None = None
        self.table: Table | None = None

        self.add = Button("Add a run", icon="plus")
        self.add.clicked.connect(self._ask_which)
        self.export = Button("Save the table…", "quiet", icon="download")
        self.export.clicked.connect(self._ask_where)
        self.page = Button("Save as one page…", "quiet", icon="share")
        self.page.setToolTip(plain("One file with the curves of all and what differs, to show to anybody"))
        self.page.clicked.connect(self._make_page)
        self.header = PageHeader("Compare runs", _ASKS, self.add, self.export, self.page)
        self.finding = Note("", "", "accent", action="Plan the next run from this one", icon="lightbulb")
        self.finding.acted.connect(model.plan_best)
        self.problem = Note("", "", "bad")
        self.saved = Note("", "", "ok", action="Show in folder", closes=True)
        self.saved.acted.connect(self._show_saved)
        self.saved.closed.connect(model.dismiss_saved)
        self.measure = ComboBox(name="What is drawn")
        self.measure.chosen.connect(model.choose_measure)
        self.axis = Segmented(_AXES, "time", name="Along which axis", small=True)
        self.axis.changed.connect(model.choose_axis)
        choice = QHBoxLayout()
        choice.setSpacing(Space.m)
        choice.addWidget(self.measure, 1)
        choice.addStretch(3)
        choice.addWidget(self.axis)
        self.chart = Card(margins=(18, 12, 18, 12))
        self.chart.body.addLayout(choice)
        self.sheet = Card(margins=1, spacing=0)
        self.more = Text("", "caption", "text_2")
        self._more_foot = QWidget()  # a text's own margins are not measured
        foot = QVBoxLayout(self._more_foot)
        foot.setContentsMargins(18, 8, 18, 10)
        foot.addWidget(self.more)
        self.skeleton = Skeleton(6)
        self.empty = EmptyState(
            "Nothing to compare yet",
            "Tick two runs or more on the Runs page, and press Compare. Or add them here.",
            icon="git-compare-arrows",
            action="Go to Runs",
            kind="primary",
        )
        self.empty.acted.connect(lambda: shell.go("runs"))

        inside = QWidget()
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(Space.page, 26, Space.page, Space.xl)
        self.column.setSpacing(Space.l)
        for widget in (
            self.header,
            self.problem,
            self.saved,
            self.finding,
            self.skeleton,
            self.empty,
            self.chart,
            self.sheet,
        ):
            self.column.addWidget(widget)
        self.column.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(Scroll(inside))
        self._end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: self._end())
        self._drain = Drain(self, model.tick, READ_MS)

    def show_runs(self, runs: tuple[str, ...]) -> None:
        self.model.show(runs)

    def refresh(self) -> None:
        self.model.show(self.model.state.value.runs)

    # --------------------------------------------------------------------------------------------------------- drawing

    def _draw(self, view: CompareView) -> None:
        several = view.compared > 1
        count = len(view.runs)
        words = f"{count} runs. Settings that differ stand in the table." if several else ""
        self.header.sentence.setText(words or _ASKS)
        self.export.setVisible(several)
        self.page.setVisible(several)
        self.page.setEnabled(not any(row.goes_on for row in view.rows))  # its figures are the last ones
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self.saved.setVisible(bool(view.saved))
        self.saved.set_words(f"{Path(view.saved).name} is saved", view.saved)
        self.finding.setVisible(bool(view.title))
        self.finding.set_words(view.title, view.text)
        if self.finding.button is not None:
            self.finding.button.setVisible(bool(view.best))
        self.skeleton.setVisible(view.is_reading and not view.rows)
        self.empty.setVisible(count < 2 and not view.is_reading)
        self.chart.setVisible(view.compared > 0 and bool(view.measures))
        self.sheet.setVisible(bool(view.rows))
        self.measure.set_options(view.measures)
        self.measure.setMinimumWidth(min(self.measure.whole_width(), px(_MEASURE_WIDTH)))
        self.measure.set_value(view.measure)
        self.axis.set_value(view.axis)
        self.axis.set_segment_enabled("cost", view.costs, "None of these runs cost anything.")
        self._draw_table(view)
        self._draw_curves(view)

    def _draw_table(self, view: CompareView) -> None:
        columns = view.columns[: self._room(len(view.columns))]
        where = [Column("Where", 200)] if self._shows_where else []
        if self.table is None or (columns, bool(where)) != self._columns:
            if self.table is not None:
                self.sheet.body.removeWidget(self.table)
                self.table.hide()
                self.table.deleteLater()
            self._columns = columns, bool(where)
            wide = [Column(title, 118, "number") for title in columns]
            self.table = Table([Column("Run"), *where, *wide], name="Runs", all_rows=True, sortable=True)
            self.table.sort_asked.connect(lambda place: self.model.sort(self._sorts()[place][0]))
            self.table.opened.connect(self._open)
            self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
            self.table.customContextMenuRequested.connect(self._menu)
            self.sheet.body.insertWidget(0, self.table)
            self.sheet.body.addWidget(self._more_foot)
        keys = [key for key, _ in self._sorts()]
        self.table.show_sorting(keys.index(view.sorted_by) if view.sorted_by in keys else -1, view.descending)
        self.table.set_rows(
            [
                (
                    row.run,
                    [
                        Cell(
                            row.name,
                            row.problem or _marks(row.mark),
                            swatch=_tone(row.colour),
                            strong=True,
                            words=_spoken(row),
                        ),
                        *([row.place] if where else []),
                        *(
                            Cell(text, pill="ok", icon="award") if place in row.best else Cell(text)
                            for place, text in enumerate(row.cells[: len(columns)])
                        ),
                    ],
                )
                for row in view.sorted_rows
            ]
        )
        left = view.more_settings + len(view.columns) - len(columns)
        self.more.setText(
            f"{left} more {'column' if left == 1 else 'columns'}, of settings that differ: “Save the table” has all."
        )
        self._more_foot.setVisible(left > 0)

    def _sorts(self) -> list[tuple[str, str]]:
        """What each column shown sorts by, and its title."""
        columns, where = self._columns
        return [("name", "Run"), *([("place", "Where")] if where else []), *((title, title) for title in columns)]

    @property
    def _shows_where(self) -> bool:
        return self.width() >= px(_WHERE_FROM)

    def _room(self, wanted: int) -> int:
        """For how many columns of figures there is room beside the names, three at least."""
        free = self.width() - 2 * Space.page - px(_NAMES) - (px(200) if self._shows_where else 0)
        return max(3, min(wanted, free // px(_FIGURES)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        view = self.model.state.value
        if view.rows and (view.columns[: self._room(len(view.columns))], self._shows_where) != self._columns:
            self._draw_table(view)

    def _draw_curves(self, view: CompareView) -> None:
        if not view.measure:
            return
        if self.plot is None or self._drawn != (view.measure, view.axis):
            if self.plot is not None:
                self.chart.body.removeWidget(self.plot)
                self.plot.hide()
                self.plot.deleteLater()
            self._drawn = (view.measure, view.axis)
            title = dict(view.measures)[view.measure]
            scale, top = _scale(view.measure)
            self.plot = Plot(
                title, SCALES[view.axis], scale, waits_for="Waits for the first point.", y_top=top, log=top is None
            )
            self.plot.setMinimumHeight(px(_PLOT))
            self.chart.body.addWidget(self.plot, 1)
        self.plot.set_curves(
            [
                Curve(
                    line.run,
                    line.name,
                    along(line.curve, view.axis, line.course),
                    _tone(line.colour),
                    "line",
                    end_label=True,
                    ended=line.is_over,
                )
                for line in self.model.lines()
            ]
        )
        self.plot.set_finding(_left_out(view))
        self.plot.touch()

    # ---------------------------------------------------------------------------------------------------------- acting

    def _open(self, run: str) -> None:
        row = self._row(run)
        if row is None or not row.problem:
            self._shell.open_run(run, row.name if row else "")

    def _row(self, run: str) -> Row | None:
        return next((row for row in self.model.state.value.rows if row.run == run), None)

    def menu_of(self, run: str) -> QMenu:
        menu = QMenu(self)
        menu.aboutToHide.connect(menu.deleteLater)
        row = self._row(run)
        _add(menu, "Open", lambda: self._open(run), possible=row is None or not row.problem)
        _add(menu, "Take out of the comparison", lambda: self.model.remove(run))
        sort = menu.addMenu("Sort by")
        for key, title in self._sorts():
            _add(sort, title.replace("&", "&&"), functools.partial(self.model.sort, key))
        return menu

    def _menu(self, at: QPoint) -> None:
        if self.table is not None and self.table.value:
            self.menu_of(self.table.value).popup(self.table.viewport().mapToGlobal(at))

    def addable(self) -> QMenu:
        """Runs of the list that are not here yet, newest first."""
        menu = QMenu(self)
        menu.aboutToHide.connect(menu.deleteLater)
        here = set(self.model.state.value.runs)
        others = [row for row in self._runs.state.value.rows or () if row.run not in here and not row.problem]
        for row in others[:30]:
            _add(menu, f"{row.name}  ({row.run})".replace("&", "&&"), functools.partial(self.model.add, row.run))
        if not others:
            _add(menu, "There is no other run", lambda: None, possible=False)
        return menu

    def _ask_which(self) -> None:
        self.addable().popup(self.add.mapToGlobal(QPoint(0, self.add.height())))

    def _make_page(self) -> None:
        from tpu_studio.gui.shell.onepage import ask_save

        self.model.make_page(lambda page: ask_save(self, "this comparison", page, "comparison", self.model.save_page))

    def _show_saved(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(Path(self.model.state.value.saved).absolute().parent)))

    def _ask_where(self) -> None:
        dialog = QFileDialog(self.window(), "Save the table")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(["Table (*.csv)"])
        dialog.setDefaultSuffix("csv")
        dialog.selectFile("comparison.csv")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: self.model.save_table(Path(name)))
        dialog.open()


def _add(menu: QMenu, text: str, act: Callable[[], object], *, possible: bool = True) -> None:
    action = QAction(text, menu)
    action.triggered.connect(lambda _checked=False: act())
    action.setEnabled(possible)
    menu.addAction(action)


def _tone(colour: int) -> str:
    return f"s{colour + 1}"


def _marks(mark: Mark) -> str:
    """Below the name: star, tags, and the note's first line."""
    return " · ".join(filter(None, ("★" if mark.star else "", *mark.tags, mark.first_line)))


def _spoken(row: Row) -> str:
    mark = row.mark
    words = [
        row.name,
        row.problem,
        "goes on" if row.goes_on else "",
        "starred" if mark.star else "",
        *mark.tags,
        mark.note,
    ]
    return ", ".join(filter(None, words))


_AXES = [
    ("time", "by time"),
    ("step", "by step"),
    ("epoch", "by epoch"),
    ("examples", "by examples"),
    ("cost", "by cost"),
]


def _left_out(view: CompareView) -> str:
    """Who has no place along the cost."""
    names = tuple(f"“{name}”" for name in view.unplaced) if view.axis == "cost" else ()
    if not names:
        return ""
    first, last = (names[:-1], names[-1]) if len(names) < 5 else (names[:3], f"{len(names) - 3} more")
    some = " and ".join(filter(None, (", ".join(first), last)))
    return f"{some} cost nothing, and {'have' if first else 'has'} no place along the cost."


def _scale(measure: str) -> tuple[Scale, float | None]:
    if measure in _COURSE:
        return _COURSE[measure], None
    metric = metrics.by_id(measure)
    return PERCENT if metric.percent else PLAIN, metric.top
