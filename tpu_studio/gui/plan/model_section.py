"""Section Model: cards of the models that fit the data, and the person's own Keras file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.choose import ChoiceCard, ChoiceGroup
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.plan.bases import BaseLine
from tpu_studio.gui.plan.sections import FoldingSection
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planstate import ModelChoice, PlanView
from tpu_studio.wire import families, models

OWN = "own-file"
_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def _icon(name: str) -> str:
    known = models.BY_NAME.get(name)
    return families.by_id(known.family).icon if known else "brain"


class ModelSection(FoldingSection):
    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__("Model", "brain", parent)
        self._model = model
        self._choices: tuple[ModelChoice, ...] | None = None
        self.group: ChoiceGroup | None = None
        self._hint = Text("", "secondary", "text_2")
        self._holder = QVBoxLayout()
        self.own = Button("Your own Keras file…", icon="file-code", size="small")
        self.own.clicked.connect(self.choose_file)
        self.agree = Button("Read it & agree…", "quiet", size="small")
        self.agree.clicked.connect(model.ask_consent)
        name = "All models, those of the Hugging Face Hub too"
        self.more = Button("All models…", "quiet", icon="search", size="small", name=name)
        self.more.clicked.connect(lambda: model.open_gallery())
        own_row = QHBoxLayout()
        own_row.setSpacing(Space.l)
        own_row.addWidget(self.own)
        own_row.addWidget(self.agree)
        own = Text(
            "A Python file with build_model(job). It runs only after you agree.", "caption", "text_3", align=_MIDDLE
        )
        own_row.addWidget(own, 1)
        own_row.addWidget(self.more)
        self.card.body.addWidget(self._hint)
        self.card.body.addLayout(self._holder)
        self.card.body.addLayout(own_row)
        self.bases = BaseLine(model)
        self.card.body.addWidget(self.bases)
        self.opened.connect(lambda: model.open_section("model"))
        self.closed.connect(lambda: model.close_section("model"))

    def draw(self, view: PlanView) -> None:
        is_open, chosen = view.is_open("model"), view.steps[1].state in ("done", "problem")
        self.show_open(is_open, chosen)
        icon = "file-code" if view.own else _icon(str(view.job.model.name))
        self.row.set_summary(planwords.model_title(view.job), planwords.model_note(view.job, view.plan), icon)
        if not is_open:
            return
        kind = view.job.data.kind
        best = next((choice for choice in view.choices if choice.why), None)
        told = f" Recommended: {best.title}. {best.why}" if best else ""
        self._hint.setText(
            f"These can learn from your data.{told}"
            if kind
            else "Choose the data first: it decides which of these fit."
        )
        if view.choices != self._choices:
            self._show(view.choices)
        self.bases.draw(view)
        if self.group is not None:
            self.group.set_value(view.job.model.name or "")
        self.own.setText(planwords.model_title(view.job) if view.own else "Your own Keras file…")
        self.agree.setVisible(view.needs_consent and view.own is not None and bool(view.own.sha256))

    def _show(self, choices: tuple[ModelChoice, ...]) -> None:
        names = [choice.name for choice in choices]
        if self._choices is not None and names == [choice.name for choice in self._choices] and self.group is not None:
            for choice in choices:
                self.group.card(choice.name).set_words(choice.text, choice.detail)
            self._choices = choices
            return
        self._choices = choices
        if self.group is not None:
            self.group.hide()
            self.group.deleteLater()
        cards = [ChoiceCard(one.title, one.text, one.detail, icon=_icon(one.name), key=one.name) for one in choices]
        self.group = ChoiceGroup(cards, name="Model", columns=min(2, max(1, len(cards))))
        self.group.changed.connect(self._model.choose_model)
        self._holder.addWidget(self.group)

    def choose_file(self) -> None:
        dialog = QFileDialog(self.window(), "Choose your model file", str(Path.home()), "Python files (*.py)")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: self._model.choose_file(Path(name)))
        dialog.open()
