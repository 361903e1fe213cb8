"""`RunRow`s as a Qt model: what each column says on screen and to a screen reader, and which rows are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.viewmodels.runrows import RunRow

Index = QModelIndex | QPersistentModelIndex
ROW = Qt.ItemDataRole.UserRole
CHOOSE, STAR, NAME, STATUS, PLACE, LOSS, METRIC, TIME, COST, WHEN, OPEN = range(11)
TITLES = ("", "", "Run", "Status", "Where", "Loss over time", "Result", "Time", "Cost", "Started", "")
KEYS = ("", "star", "name", "status", "place", "loss", "metric", "time", "cost", "created", "")


class RunModel(QAbstractTableModel):
    """`RunRow`s in the order given. New values for the same runs only repaint."""

    chosen_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows: tuple[RunRow, ...] = ()
        self.chosen: set[str] = set()
        self._from = ""  # where choosing several with Shift begins

    def set_rows(self, rows: Sequence[RunRow]) -> None:
        new = tuple(rows)
        if new == self.rows:
            return
        if [row.run for row in new] == [row.run for row in self.rows]:
            self.rows = new
            self.dataChanged.emit(self.index(0, 0), self.index(len(new) - 1, OPEN))
            return
        self.beginResetModel()
        self.rows = new
        self.endResetModel()
        kept = self.chosen & {row.run for row in new}
        if kept != self.chosen:
            self.chosen = kept
            self.chosen_changed.emit()

    def toggle(self, run: str) -> None:
        self.chosen ^= {run}
        self._from = run
        self._boxes_changed()

    def choose_up_to(self, run: str) -> None:
        """Also all from the one chosen last to *run*."""
        runs = [row.run for row in self.rows]
        first = runs.index(self._from) if self._from in runs else runs.index(run)
        low, high = sorted((first, runs.index(run)))
        self.choose(self.chosen | set(runs[low : high + 1]))

    def choose(self, runs: set[str]) -> None:
        if runs != self.chosen:
            self.chosen = set(runs)
            self._boxes_changed()

    def _boxes_changed(self) -> None:
        if self.rows:
            self.dataChanged.emit(self.index(0, CHOOSE), self.index(len(self.rows) - 1, CHOOSE))
        self.chosen_changed.emit()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008  Qt's own signature
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(TITLES)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return {CHOOSE: "All", STAR: "Star", OPEN: "Open"}.get(section, TITLES[section])
        return TITLES[section] if role == Qt.ItemDataRole.DisplayRole else None

    def flags(self, index: Index) -> Qt.ItemFlag:
        plain = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return plain | Qt.ItemFlag.ItemIsUserCheckable if index.column() == CHOOSE else plain

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        column = index.column()
        if role == ROW:
            return row
        if role == Qt.ItemDataRole.DisplayRole:
            return ("", "", row.name, row.status, row.place, "", row.metric, row.time, row.cost, row.when, "")[column]
        if role == Qt.ItemDataRole.CheckStateRole and column == CHOOSE:
            return Qt.CheckState.Checked if row.run in self.chosen else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return (
                f"Choose {row.name}",
                "Starred" if row.mark.star else "Without a star",
                row.spoken,
                row.status,
                row.place,
                _spoken_curve(row),
                f"{row.metric_name} {row.metric}",
                row.time,
                row.cost,
                f"Started {figures.date(row.created)}",
                f"Open {row.name}",
            )[column]
        if role == Qt.ItemDataRole.ToolTipRole:
            started = f"Started {figures.date(row.created)}"
            star = "Take the star off" if row.mark.star else "Put a star on it"
            marks = [f"Tags: {', '.join(row.mark.tags)}"] if row.mark.tags else []
            name = "\n".join([row.run, started, *marks, *([row.mark.note] if row.mark.note else [])])
            told = {NAME: name, STAR: star, METRIC: row.metric_name, LOSS: _spoken_curve(row), WHEN: started}
            return plain(told.get(column, "")) or None
        return None


def _spoken_curve(row: RunRow) -> str:
    if len(row.losses) < 2:
        return "No loss yet"
    return f"Loss from {figures.figure(row.losses[0])} to {figures.figure(row.losses[-1])}"
