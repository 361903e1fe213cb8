"""The sheet of a data set of the Hugging Face Hub: its name, what it has, which part of it is wanted, its way here."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.domain.hubwords import split_words
from tpu_studio.gui.kit.card import Scroll, clear_layout
from tpu_studio.gui.kit.choose import CheckBox
from tpu_studio.gui.kit.fields import ComboBox, Field, LineEdit
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plan.fetch_sheet import FetchSheet
from tpu_studio.gui.shell.sheet import Tall
from tpu_studio.viewmodels.datafetch import DataFetch, DataView, subset_label
from tpu_studio.wire.hubdata import Subset

TITLE = "A data set from Hugging Face"
SENTENCE = "A table, texts or chats, as their owner publishes them. Nothing is asked before you look it up."
ROOM = 190  # of the splits, before they scroll


class HubDataSheet(FetchSheet):
    def __init__(self, over: QWidget, model: DataFetch) -> None:
        super().__init__(over, TITLE, SENTENCE, page=lambda: model.state.value.page, stop=model.stop, noun="data sets")
        self._model = model
        self._subset: Subset | None = None
        self.name = LineEdit(placeholder="owner/name, such as stanfordnlp/imdb")
        self.name.textEdited.connect(model.rename)
        self._name = Field("Name", self.name, "As its page has it at the top; the page's address will do, too.")
        self.body.addWidget(self._name)
        self.put_facts()
        self.subsets = ComboBox(name="Subset")
        self.subsets.chosen.connect(model.choose)
        self._choice = Field("Subset", self.subsets)
        self.body.addWidget(self._choice)
        self.splits: dict[str, CheckBox] = {}
        self._splits = QVBoxLayout()
        self._splits.setSpacing(Space.xs)
        self._put_splits()
        self._columns = Text("", "caption", "text_2")
        self._advice = Text("", "caption", "text_2")
        self.body.addWidget(self._columns)
        self.body.addWidget(self._advice)
        self.put_rest()
        self.ask(self.name, self.go)
        self.name.setText(model.state.value.name)
        self.follow(model.state.subscribe(self._draw), model.tick)

    def _put_splits(self) -> None:
        inside = QWidget()
        inside.setLayout(self._splits)
        self._splits.setContentsMargins(2, 2, 2, 2)
        self._room = QWidget()
        column = QVBoxLayout(self._room)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.xs)
        column.addWidget(Text("Splits", "label"))
        self._tall = Tall(Scroll(inside), lambda _: min(self._wanted_height(), soft_px(ROOM)), 30)
        column.addWidget(self._tall)
        self.body.addWidget(self._room)

    def _wanted_height(self) -> int:
        """Of all splits; their layout counts new ones only once they are shown."""
        return sum(one.sizeHint().height() + Space.xs for one in self.splits.values()) + 6

    def _go(self) -> None:
        token = self.token.text().strip()
        if self._model.state.value.found is None:
            self._model.look_up(token)
        else:
            self._model.download(token)

    def _draw(self, view: DataView) -> None:
        found, busy = view.found, bool(view.doing)
        if found is not None and self.name.text() != found.name:  # an old name has a new one
            self.name.setText(found.name)
        self.name.setEnabled(not busy)
        self.page.setVisible(bool(view.name))
        self.draw_fetch(view, view.facts, wants_token=view.wants_token)
        self._choice.setVisible(found is not None and len(found.subsets) > 1)
        self._room.setVisible(found is not None)
        if view.chosen != self._subset:
            self._draw_subset(view)
        for name, box in self.splits.items():
            box.setChecked(name in view.splits)
            box.setEnabled(not busy)
        self.subsets.setEnabled(not busy)
        for text, words in ((self._columns, view.columns), (self._advice, view.advice)):
            text.setText(words)
            text.setVisible(bool(words))
        self.go.setVisible(not busy)
        self.go.setText("Look up" if found is None else "Use it" if view.is_here else "Download")
        self.go.setEnabled(bool(view.name) if found is None else view.may_download)

    def _draw_subset(self, view: DataView) -> None:
        self._subset = subset = view.chosen
        self.splits = {}
        clear_layout(self._splits)
        if view.found is None or subset is None:
            return
        self.subsets.set_options([(one.name, subset_label(one)) for one in view.found.subsets])
        self.subsets.set_value(subset.name)
        for split in subset.splits:
            box = CheckBox(split_words(split), split.name in view.splits)
            box.clicked.connect(lambda on, name=split.name: self._model.pick(name, on))
            self.splits[split.name] = box
            self._splits.addWidget(box)
        self._tall.updateGeometry()
