"""“Begin from a run of mine…”, in the section Model: a quiet line, and the sheet that lists the runs that suit."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from tpu_studio.domain.sentences.bases import begins_from
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Scroll
from tpu_studio.gui.kit.choose import ChoiceCard, ChoiceGroup
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels import planbases
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planstate import PlanView

ABOUT = "Its weights go on learning on this data (transfer learning): a few dozen examples may be enough."


class BaseLine(QWidget):
    """Says what the model begins from, where that is a run, and offers another one, or none."""

    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.choose = Button("Begin from a run of mine…", "quiet", icon="layers", size="small")
        self.choose.clicked.connect(self.ask)
        self.without = Button("Begin without it", "quiet", size="small")
        self.without.clicked.connect(lambda: model.apply({"model.preset": None}))
        self.words = Text(ABOUT, "caption", "text_3")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.l)
        row.addWidget(self.choose)
        row.addWidget(self.words, 1)
        row.addWidget(self.without)

    def draw(self, view: PlanView) -> None:
        note = begins_from(view.job.model.starts_from)
        self.setVisible(bool(note or planbases.suited(view.bases, view.job)))
        self.choose.setText("Another run…" if note else "Begin from a run of mine…")
        self.words.setText(f"{note[:1].upper()}{note[1:]}. {ABOUT}" if note else ABOUT)
        self.without.setVisible(bool(note))

    def ask(self) -> Sheet:
        return ask_base(self.window(), self._model)


def ask_base(over: QWidget, model: PlanViewModel) -> Sheet:
    """Which run."""
    view = model.state.value
    choices = planbases.with_result(planbases.suited(view.bases, view.job))
    words = (
        "The model and its options are that run's, and its weights go on learning on your data. The run stays as it is."
        if choices
        else "None of your runs has a result for this kind of data yet. Train one first; it stands here when it ends."
    )
    sheet = Sheet(over, "Begin from a run of mine", words, width=600)
    if not choices:
        sheet.answer("Close", safe=True)
        sheet.open()
        return sheet
    cards = [ChoiceCard(one.name, one.text, one.run, icon="layers", key=one.run) for one in choices]
    group = ChoiceGroup(cards, name="Run", columns=1)
    known = {one.run: one for one in choices}
    current = planbases.run_in(view.job)
    group.set_value(current if current in known else choices[0].run)
    sheet.body.addWidget(Tall(Scroll(group), lambda width: group.heightForWidth(width) + 4), 1)
    sheet.answer("Cancel", safe=True)
    sheet.answer("Begin from it", lambda: model.apply(known[group.value].changes), kind="primary")
    sheet.open()
    return sheet
