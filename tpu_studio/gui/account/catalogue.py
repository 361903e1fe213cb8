"""The sheet “What is known of TPUs”: where areas, slices and prices come from, what differs; one button renews."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.gui.bridge import Drain
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.card import Scroll, clear_layout
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.catalogue import CatalogueView, CatalogueViewModel
from tpu_studio.viewmodels.planwhere import PLACES

SENTENCE = (
    "Zones, slices, machines, runtime images and prices, as your own project may rent them. Asking is free and changes "
    "nothing."
)


class CataloguePanel(QWidget):
    def __init__(self, model: CatalogueViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.place = Segmented(PLACES[1:], model.state.value.place, name="Which cloud")
        self.place.changed.connect(model.show)
        self.problem = Note("", "", "bad")
        self.unread = Note("Not everything could be read", "", "warn")
        self.age = Text("", "label-strong", numbers=True)
        self.prices = Text("", "secondary", "text_2", numbers=True)
        self.fixed = Text("", "caption", "text_3")
        self.bar = ProgressBar(0.0, name="Lists that are read")
        self.asking = Text("", "caption", "text_2")
        self._lines = QVBoxLayout()
        self._lines.setContentsMargins(0, 0, Space.m, 0)
        self._lines.setSpacing(Space.s)
        self._shown: tuple[str, ...] | None = None
        inside = QWidget()
        inside.setObjectName("scrolled")
        inside.setLayout(self._lines)
        self._room = Tall(Scroll(inside), lambda width: min(self._lines.totalHeightForWidth(width), soft_px(260)), 60)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.m)
        for widget in (self.place, self.problem, self.age, self.prices, self.bar, self.asking, self.unread):
            column.addWidget(widget)
        column.addWidget(self._room, 1)
        column.addWidget(self.fixed)
        end = model.state.subscribe(self.draw)
        self.destroyed.connect(lambda: end())

    def draw(self, view: CatalogueView) -> None:
        self.place.set_value(view.place)
        for key, _ in PLACES[1:]:
            self.place.set_segment_enabled(key, not view.busy or key == view.place, "One moment.")
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self.age.setText(view.age)
        self.prices.setText(view.prices)
        self.fixed.setText(view.fixed)
        self.bar.setVisible(view.busy)
        self.asking.setVisible(view.busy)
        self.asking.setText(view.asking)
        self.bar.set_share(view.share, view.asking)
        self.unread.setVisible(bool(view.unread))
        self.unread.set_words("Not everything could be read", "\n".join(view.unread))
        if view.differs != self._shown:
            self._shown = view.differs
            clear_layout(self._lines)
            if view.differs:
                self._lines.addWidget(Text("Other than in the built-in table", "label"))
            for line in view.differs:
                self._lines.addWidget(Text(line, "secondary", "text_2", numbers=True))
            self._lines.addStretch(1)
        self._room.setVisible(bool(view.differs))


def open_catalogue(over: QWidget, model: CatalogueViewModel, place: str) -> Sheet:
    sheet = Sheet(over, "TPU catalogue", SENTENCE, width=720)
    sheet.body.addWidget(CataloguePanel(model), 1)
    cancel = sheet.answer("Stop asking", model.cancel, kind="quiet", left=True, stays=True)
    sheet.answer("Close", safe=True)
    renew = sheet.answer("Refresh from your account", model.refresh, kind="primary", stays=True)
    Drain(sheet, model.tick)

    def enable(view: CatalogueView) -> None:
        cancel.setVisible(view.busy)
        renew.setEnabled(not view.busy)
        renew.setText("Refreshing…" if view.busy else "Refresh from your account")

    sheet.closed = model.state.subscribe(enable)
    sheet.open()
    model.show(place)
    return sheet
