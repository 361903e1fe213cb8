"""Section Where: the place, the framework, what to do beside another run; and what holds for every run here."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.choose import Segmented, SwitchRow
from tpu_studio.gui.kit.fields import Field
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.planner.computer import this_computer
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planstate import PlanView

LATER = "Comes with a later version"
PLACES = [("computer", "This computer"), ("practice", "Practice cloud"), ("cloud", "Cloud TPU"), ("colab", "Colab")]
EARLY_CHECKS = 5


class WhereSection(QWidget):
    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._drawing = False
        self.card = Card(spacing=Space.l)
        self.place = Segmented(PLACES, "computer", name="Where")
        for key, _ in PLACES[1:]:
            self.place.set_segment_enabled(key, False, LATER)
        self.title = self.card.title("Where", self.place)
        computer = this_computer()
        cores = "1 core" if computer.cores == 1 else f"{computer.cores} cores"
        later = "The practice cloud, Cloud TPU and Colab come with a later version."
        here = f"{cores}, {computer.memory_bytes / 2**30:.0f} GB of memory. {later}"
        self.card.body.addWidget(Text(here, "secondary", "text_2"))
        self.framework = Segmented(
            [("", "Recommended"), ("tensorflow", "TensorFlow"), ("jax", "JAX")], name="Framework"
        )
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
        self.early = SwitchRow("Stop early when it no longer improves", "")
        self.early.toggled.connect(self._early)
        self.promises.body.addWidget(self.early)
        self.promises.body.addWidget(_promise())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.gap)
        column.addWidget(self.card)
        column.addWidget(self.promises)

    def draw(self, view: PlanView) -> None:
        self._drawing = True
        job, plan = view.job, view.plan
        self.place.set_value(str(job["where.place"]))
        chosen = (
            str(job["training.framework"])
            if "training.framework" in job.given and not job.is_auto("training.framework")
            else ""
        )
        self.framework.set_value(chosen)
        if plan is not None:
            word = planwords.FRAMEWORK_WORDS.get(plan.framework, plan.framework)
            why = plan.reasons.get("training.framework", "")
            self.framework_field.set_help(
                f"{word}. {why}" if why else "The model is the same in both, and can be taken from one to the other."
            )
        self.beside_field.setVisible(bool(view.running))
        self.beside_field.label.setText(view.running_words or "Another run is training")
        self.beside.set_value("beside" if view.beside else "wait")
        self.beside_field.set_help(
            "Both at once share the processor, so both are slower."
            if view.beside
            else "It starts by itself when the other is over, also with this window closed."
        )
        checks = int(job["training.early_stopping"] or 0)
        self.early.setChecked(checks > 0)
        noun = planwords.noun_of(job)
        self.early.explanation.setText(
            f"After {checks or EARLY_CHECKS} checks on unseen {noun} without a better result."
        )
        self.early.explanation.show()
        self._drawing = False

    def _early(self, on: bool) -> None:
        if not self._drawing:
            self._model.set("training.early_stopping", EARLY_CHECKS if on else None)


def _promise() -> QWidget:
    """What holds for every run here: nothing leaves the computer."""
    holder = QWidget()
    words = QVBoxLayout()
    words.setSpacing(Space.hair)
    words.addWidget(Text("Everything stays on this computer", "label-strong"))
    words.addWidget(
        Text(
            "Always. Your data is not copied anywhere; the model and the charts are saved in the run's folder.",
            "caption",
            "text_3",
        )
    )
    row = QHBoxLayout(holder)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(Space.l)
    side = QHBoxLayout()
    lock = Icon("lock", "ok", size=20)
    space = (px(38) - px(20)) // 2
    side.addSpacing(space)
    side.addWidget(lock)
    side.addSpacing(space)
    row.addLayout(side)
    row.addLayout(words, 1)
    return holder
