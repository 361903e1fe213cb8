"""Models: the gallery. A search and filters, and a card for each model. Draws `GalleryView`; decides nothing.

Which cards are in sight is told to the view-model, which works out what these come to and no others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFileDialog, QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import PageHeader, Scroll
from tpu_studio.gui.kit.choose import CheckBox, Segmented
from tpu_studio.gui.kit.fields import ComboBox, LineEdit
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.focus import TabOrder
from tpu_studio.gui.kit.states import EmptyState
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, px, soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.models.card import WIDE, ModelCard
from tpu_studio.gui.models.details import open_details
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.gallery import GalleryView, GalleryViewModel, filter_words
from tpu_studio.viewmodels.gallerycards import EXAMPLES, Card
from tpu_studio.wire import tasks

TITLE = "Models"
SENTENCE = "What can be trained: what each model is for, what it needs, and what it takes on your data."
NO_DATA = "Choose data for a plan, and each card tells time and price on it, and one is recommended."
WIDEST = 1600
_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class ModelsPage(Themed, QWidget):
    """*appeared* is called whenever the page comes into sight, *vanished* when it goes."""

    def __init__(self, model: GalleryViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self._columns = 0
        self._laid: list[str] = []
        self.sheet: Sheet | None = None
        self.appeared: Callable[[], None] = lambda: None
        self.vanished: Callable[[], None] = lambda: None
        model.pick = self._pick
        self._make_filters()
        self.data = Text("", "label", "text_2", align=_MIDDLE)
        self.choose = Button("Choose data…", "link", icon="folder-open")
        self.choose.clicked.connect(lambda: model.apply({}))
        self.cards = {card.key: ModelCard(card) for card in model.state.value.cards}
        for card in self.cards.values():
            card.used.connect(model.use)
            card.asked.connect(self._details)
            card.fetched.connect(model.fetch)
            card.use.moved.connect(lambda x, y, card=card: self._move(card, x, y))
        self._make_list()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(60)
        self._timer.timeout.connect(self._look)
        self.scroller.verticalScrollBar().valueChanged.connect(lambda _: self._timer.start())
        self.setFocusProxy(self.field)
        self.follow_theme()
        self._end = model.state.subscribe(self._draw)
        self.destroyed.connect(lambda: self._end())

    # ---------------------------------------------------------------------------------------------------------- parts

    def _make_filters(self) -> None:
        model = self.model
        self.field = LineEdit(placeholder="Search models", name="Search models", icon="search")
        self.field.textChanged.connect(model.search)
        self.example = Segmented([("", "All"), *EXAMPLES], name="Learns from", small=True)
        self.example.changed.connect(lambda key: model.filter(example=key))
        titles = [("", "Any task"), *((task.id, task.title) for task in tasks.all_tasks())]
        self.task = ComboBox(titles, name="Task")
        self.task.chosen.connect(lambda key: model.filter(task=key))
        starts = [
            ("", "From scratch or pretrained"),
            ("weights", "From pretrained weights"),
            ("hub", "From the Hugging Face Hub"),
            ("nothing", "From scratch"),
        ]
        self.begins = ComboBox(starts, name="Begins from")
        self.begins.chosen.connect(lambda key: model.filter(begins=key))
        self.fits = CheckBox("Fits my plan's data")
        self.fits.toggled.connect(lambda on: model.filter(fits=on))
        self.count = Text("", "caption", "text_3", numbers=True)

    def _make_list(self) -> None:
        self.nothing = EmptyState(
            "No model like that",
            "Nothing here has these words and passes these filters.",
            icon="search",
            action="Show all models",
            kind="secondary",
        )
        self.nothing.acted.connect(self._clear)
        self._list = QWidget()
        self._grid = QGridLayout(self._list)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(Space.gap)
        first = QHBoxLayout()
        first.setSpacing(Space.l)
        first.addWidget(self.field, 1)
        first.addWidget(self.example)
        more = QWidget()
        flow = FlowLayout(more, gap=Space.l)
        for widget in (self.task, self.begins, self.fits, self.count):
            flow.addWidget(widget)
        about = QHBoxLayout()
        about.setSpacing(Space.m)
        about.addWidget(self.data, 1)
        about.addWidget(self.choose)
        inside = self._inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(Space.page, 26, Space.page, Space.xl)
        column.setSpacing(Space.l)
        column.addWidget(PageHeader(TITLE, SENTENCE))
        column.addSpacing(Space.xs)
        column.addLayout(first)
        column.addWidget(more)
        column.addLayout(about)
        column.addWidget(self._list)
        column.addWidget(self.nothing)
        column.addStretch(1)
        self._tabs = TabOrder(column)
        holder = QWidget()
        middle = QHBoxLayout(holder)
        middle.setContentsMargins(0, 0, 0, 0)
        middle.addWidget(inside, 1000)
        middle.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        self.scroller = Scroll(holder)
        outer.addWidget(self.scroller)

    def restyle(self) -> None:
        self.field.setMinimumWidth(soft_px(220))
        self.task.setMinimumWidth(px(210))
        self.begins.setMinimumWidth(px(240))
        self._inside.setMaximumWidth(soft_px(WIDEST) + 2 * Space.page)
        self._lay(self._laid)

    # --------------------------------------------------------------------------------------------------------- drawing

    def _draw(self, view: GalleryView) -> None:
        wanted = view.filters
        if self.field.text() != wanted.words:
            self.field.setText(wanted.words)
        self.example.set_value(wanted.example)
        self.task.set_value(wanted.task)
        self.begins.set_value(wanted.begins)
        self.fits.blockSignals(True)
        self.fits.setChecked(wanted.fits)
        self.fits.blockSignals(False)
        self.fits.setEnabled(view.data is not None)
        self.fits.setToolTip("" if view.data else "There is no data in the plan yet.")
        self.count.setText(filter_words(view))
        self.data.setText(f"Your data: {view.data.words}" if view.data else NO_DATA)
        self.choose.setVisible(view.data is None)
        for card in self.cards.values():
            card.draw(view)
        self._lay([card.key for card in view.shown])
        self.nothing.setVisible(not view.shown)
        self._list.setVisible(bool(view.shown))
        if view.asking and self.sheet is None:
            self._ask(view)
        self._timer.start()

    def _lay(self, keys: list[str]) -> None:
        """The cards of *keys* in rows, the others out of sight."""
        columns = self._fitting_columns()
        if (keys, columns) == (self._laid, self._columns):
            return
        for key, card in self.cards.items():
            self._grid.removeWidget(card)
            card.setVisible(key in keys)
        for place, key in enumerate(keys):
            self._grid.addWidget(self.cards[key], place // columns, place % columns)
        for column in range(max(columns, self._columns)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        self._laid, self._columns = keys, columns
        self._tabs.follow()

    def _fitting_columns(self) -> int:
        room = min(self.width(), soft_px(WIDEST) + 2 * Space.page) - 2 * Space.page
        return max(1, min(4, (room + Space.gap) // (soft_px(WIDE) + Space.gap)))

    # ---------------------------------------------------------------------------------------------------------- acting

    def _details(self, key: str) -> None:
        if (card := self.model.state.value.card(key)) is not None:
            open_details(self, card)

    def _clear(self) -> None:
        self.model.clear()
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _ask(self, view: GalleryView) -> None:
        """It does not learn from the plan's data: other data, or another model."""
        card = view.card(view.asking)
        if card is None:
            return
        self.sheet = sheet = Sheet(self, f"{card.title} needs other data", view.needs(card))
        sheet.answer("Leave it", self.model.dismiss, safe=True)
        sheet.answer("Show what fits my data", self.model.show_fitting)
        sheet.answer("Choose other data", self.model.choose_data, kind="primary")
        sheet.closed = self._asked
        sheet.open()

    def _pick(self, card: Card) -> None:
        """A file or a folder of the person's, with which it is planned."""
        folder = card.picks == "folder"
        title = "Choose the folder of pretrained weights" if folder else "Choose your model file"
        dialog = QFileDialog(self.window(), title, str(Path.home()), "" if folder else "Python files (*.py)")
        dialog.setFileMode(QFileDialog.FileMode.Directory if folder else QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: self.model.picked(card.key, name))
        dialog.open()

    def _asked(self) -> None:
        self.sheet = None

    def _move(self, card: ModelCard, columns: int, rows: int) -> None:
        """The focus goes to the card beside, above or below; it stays where there is none."""
        at = self._laid.index(card.model.key)
        to = at + columns + rows * self._columns
        if 0 <= to < len(self._laid):
            self.cards[self._laid[to]].use.setFocus(Qt.FocusReason.TabFocusReason)

    def _look(self) -> None:
        """Tell which cards are in sight."""
        if self.isVisible():
            self.model.see(key for key in self._laid if self._in_sight(self.cards[key]))

    def _in_sight(self, card: ModelCard) -> bool:
        view = self.scroller.viewport()
        return view.rect().intersects(QRect(card.mapTo(view, QPoint(0, 0)), card.size()))

    def leave(self) -> None:
        self.model.leave()

    def refresh(self) -> None:
        """F5."""
        self.model.look_again()

    # -------------------------------------------------------------------------------------------------- Qt's own events

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay(self._laid)
        self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.appeared()
        self.model.look_again()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.vanished()
        self.model.leave()
