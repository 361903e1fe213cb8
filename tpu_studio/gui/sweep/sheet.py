"""The sheet “Billable resources”: a table, and one button that deletes what is ours after a question."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.table import Cell, Column, Table
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.planwhere import PLACES
from tpu_studio.viewmodels.sweep import SweepRow, SweepView, SweepViewModel
from tpu_studio.wire import places

COLUMNS = (
    Column("What"),
    Column("Location", 150),
    Column("Whose", 190),
    Column("State", 140),
    Column("$ an hour", 120, "number"),
)


class SweepPanel(QWidget):
    def __init__(self, model: SweepViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.place = Segmented(PLACES[1:], model.state.value.place, name="Which cloud")
        self.place.changed.connect(model.show)
        self.sentence = Text("", "secondary", "text_2", numbers=True)
        self.practice = Note("Practice: nothing here is real", "", "accent", icon="flask-conical")
        self.problem = Note("", "", "bad")
        self.unclear = Note("Something could not be checked", "", "warn")
        self.outcome = Note("", "", "ok")
        self.bar = ProgressBar(0, name="Asking every zone and region")
        self.table = Table(COLUMNS, name="Billable resources")
        self._card = Card(margins=1, spacing=0)
        self._card.body.addWidget(Tall(self.table, lambda _: soft_px(320)))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.m)
        column.addWidget(self.place)
        for widget in (self.practice, self.problem, self.unclear, self.outcome, self.sentence, self._card):
            column.addWidget(widget)
        column.setStretchFactor(self._card, 1)
        end = model.state.subscribe(self.draw)
        self.destroyed.connect(lambda: end())

    def draw(self, view: SweepView) -> None:
        self.place.set_value(view.place)
        for key, _ in PLACES[1:]:
            self.place.set_segment_enabled(key, not view.busy or key == view.place, "One moment.")
        self.practice.setVisible(places.by_id(view.place).rehearses)
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self.unclear.setVisible(bool(view.unclear))
        self.unclear.set_words("Something could not be checked", " ".join(view.unclear))
        self.outcome.setVisible(view.outcome is not None)
        if view.outcome is not None:
            self.outcome.set_kind("ok" if view.outcome[0] == "ok" else "bad")
            self.outcome.set_words(view.outcome[1])
        doing = {"looking": "Asking every zone and region…", "deleting": "Deleting, and verifying that it is gone…"}
        self.sentence.setText(doing.get(view.busy, view.sentence))
        self._card.setVisible(bool(view.rows))
        self.table.set_rows([(str(number), _cells(row)) for number, row in enumerate(view.rows or ())])


def _cells(row: SweepRow) -> list[Cell]:
    tone = "" if row.item.ours else "text_3"
    return [
        Cell(row.kind, row.name, tone=tone),
        Cell(row.zone, tone=tone),
        Cell(row.whose, tone=tone),
        Cell(row.state, row.until, tone=tone),
        Cell(row.cost, strong=bool(row.item.usd_per_hour), tone=tone),
    ]


def open_sweep(over: QWidget, model: SweepViewModel, to_account: Callable[[], object]) -> Sheet:
    """*to_account* shows the Account page, where nobody is signed in or something is missing there."""
    sheet = Sheet(
        over,
        "Billable resources",
        "Everything that may cost money, in every zone and region. TPU Studio knows its own by their labels; others "
        "are shown, and never touched. The bucket with your results stays.",
        width=900,
    )
    panel = SweepPanel(model)
    sheet.body.addWidget(panel, 1)
    sheet.answer("Check again", model.look, kind="quiet", left=True, stays=True)
    sheet.answer("Close", safe=True)
    account = sheet.answer("Sign in", to_account, kind="primary")
    delete = sheet.answer("Delete TPU Studio's resources", lambda: _ask(over, model), kind="danger", stays=True)

    def enable(view: SweepView) -> None:
        count = len(view.doomed_items)
        delete.setVisible(bool(count))
        delete.setText("Delete 1 resource" if count == 1 else f"Delete {count} resources")
        delete.setEnabled(not view.busy)
        mends = view.problem.account_button if view.problem is not None else ""
        account.setVisible(bool(mends))
        account.setText(mends)

    end = model.state.subscribe(enable)
    sheet.destroyed.connect(lambda: end())
    sheet.open()
    model.look()
    return sheet


def _ask(over: QWidget, model: SweepViewModel) -> Sheet:
    doomed = model.state.value.doomed
    count = len(model.state.value.doomed_items)
    what = "this resource" if count == 1 else f"these {count} resources"
    sheet = Sheet(over, f"Delete {what} permanently?", "")
    shown = [f"{row.kind} {row.name} in {row.zone}" for row in doomed[:6]]
    if len(doomed) > 6:
        shown.append(f"and {len(doomed) - 6} more")
    sheet.facts(shown, icon="circle-x", tone="bad")
    sheet.facts(["No run under way needs them.", "It counts as deleted only when Google answers that it is gone."])
    sheet.answer("Cancel", safe=True)
    sheet.answer("Delete permanently", model.delete, kind="danger")
    sheet.open()
    return sheet
