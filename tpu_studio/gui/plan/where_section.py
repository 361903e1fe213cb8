"""Section Where: the place, the framework, what to do beside another run; and what holds for every run here."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, Scroll
from tpu_studio.gui.kit.choose import Segmented, SwitchRow
from tpu_studio.gui.kit.fields import Field
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plan.rented_box import RentedBox
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.planner.computer import this_computer
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planexplain import greyed_out
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.wire import places
from tpu_studio.wire.keys import AUTO

EARLY_CHECKS = 5


class WhereSection(QWidget):
    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._drawing = False
        self.card = Card(spacing=Space.l)
        self.place = Segmented([(place.id, place.tab) for place in places.all_places()], places.IDS[0], name="Where")
        self.place.changed.connect(model.set_place)
        self.title = self.card.title("Where")
        self.card.body.addWidget(self.place)
        computer = this_computer()
        cores = "1 core" if computer.cores == 1 else f"{computer.cores} cores"
        self._here = f"{cores}, {figures.size(computer.memory_bytes)} of memory. Free of charge."
        self.about = Text(self._here, "secondary", "text_2")
        self.card.body.addWidget(self.about)
        self.rented = RentedBox(model)
        self.card.body.addWidget(self.rented)
        self.grey = Button("Why are some greyed out?", "link", size="small", icon="circle-question-mark")
        self.grey.clicked.connect(self._explain_grey)
        self.card.body.addWidget(self.grey, 0, Qt.AlignmentFlag.AlignLeft)
        self.framework = Segmented([("", "Recommended"), *planwords.FRAMEWORK_WORDS.items()], name="Framework")
        self.framework.changed.connect(lambda value: model.set("training.framework", value or None))
        self.framework_field = Field("Framework", self.framework, "")
        self.card.body.addWidget(self.framework_field)
        self.beside = Segmented(
            [("wait", "Wait its turn"), ("beside", "Train beside it")], "wait", name="While another run trains"
        )
        self.beside.changed.connect(lambda value: model.set_beside(value == "beside"))
        self.beside_field = Field("Another run is training", self.beside, "")
        self.card.body.addWidget(self.beside_field)

        self.promises = Card(spacing=Space.gap)
        self.early = SwitchRow("Early stopping", "")
        self.early.toggled.connect(self._early)
        self.promises.body.addWidget(self.early)
        self.promise = Promise()
        self.promises.body.addWidget(self.promise)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.gap)
        column.addWidget(self.card)
        column.addWidget(self.promises)

    def draw(self, view: PlanView) -> None:
        self._drawing = True
        job, plan = view.job, view.plan
        self.place.set_value(job.where.place)
        self.about.setText(places.by_id(view.where.place).about or self._here)
        self.rented.setVisible(view.rented)
        if view.rented:
            self.rented.draw(view)
        self.grey.setVisible(bool(greyed_out(view.where)))
        self.promise.draw(view.where.place)
        chosen = job.training.framework if "training.framework" in job.given and job.training.framework != AUTO else ""
        self.framework.set_value(chosen)
        if plan is not None:
            word = planwords.FRAMEWORK_WORDS.get(plan.framework, plan.framework)
            why = plan.reasons.get("training.framework", "")
            self.framework_field.set_help(
                f"{word}. {why}" if why else "The model is the same in both, and can be taken from one to the other."
            )
        self.beside_field.setVisible(bool(view.running) and not view.rented and not view.free_tpu)
        self.beside_field.label.setText(view.running_words or "Another run is training")
        self.beside.set_value("beside" if view.beside else "wait")
        self.beside_field.set_help(
            "Both at once share the processor, so both are slower."
            if view.beside
            else "It starts by itself when the other is over, also with this window closed."
        )
        checks = job.training.early_stopping
        self.early.setChecked(checks > 0)
        noun = figures.noun(job.data.kind, view.plan.task if view.plan else "")
        self.early.explanation.setText(
            f"Stop after {checks or EARLY_CHECKS} checks on unseen {noun} without a better result."
        )
        self.early.explanation.show()
        self._drawing = False

    def _explain_grey(self) -> None:
        """Each thing that cannot be picked, with its reason."""
        lines = greyed_out(self._model.state.value.where)
        by_reason: dict[str, list[str]] = {}
        for words, why in lines:
            by_reason.setdefault(why, []).append(words)
        sheet = Sheet(self, "Why are some greyed out?", "What could not work is not offered.", width=620)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, Space.m, 0)
        for why, names in by_reason.items():
            column.addWidget(Text(", ".join(dict.fromkeys(names)), "label-strong"))
            column.addWidget(Text(why, "secondary", "text_2"))
            column.addSpacing(Space.m)
        sheet.body.addWidget(Tall(Scroll(inside), lambda width: inside.heightForWidth(width) + 4), 1)
        sheet.answer("Close", safe=True)
        sheet.open()

    def _early(self, on: bool) -> None:
        if not self._drawing:
            self._model.set("training.early_stopping", EARLY_CHECKS if on else None)


class Promise(QWidget):
    """What holds for every run at the place, whatever is chosen."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = Text("", "label-strong")
        self.text = Text("", "caption", "text_3")
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        words.addWidget(self.title)
        words.addWidget(self.text)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.l)
        side = QHBoxLayout()
        space = (px(38) - px(20)) // 2
        side.addSpacing(space)
        side.addWidget(Icon("lock", "ok", size=20))
        side.addSpacing(space)
        row.addLayout(side)
        row.addLayout(words, 1)

    def draw(self, place: str) -> None:
        title, text = places.by_id(place).promise
        self.title.setText(title)
        self.text.setText(text)
