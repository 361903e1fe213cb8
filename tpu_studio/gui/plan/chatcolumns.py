"""Which column of a table is the question and which the answer: chosen here where their names do not tell it."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from tpu_studio.data.chatlayout import QUESTIONS
from tpu_studio.gui.kit.fields import ComboBox, Field
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.planstate import PlanView

_NONE = ("", "Choose…")


class ChatColumns(QWidget):
    """Hidden where the columns are no question."""

    def __init__(self, model: PlanViewModel) -> None:
        super().__init__()
        self.question, self.answer = ComboBox(name="Question column"), ComboBox(name="Answer column")
        self.question.chosen.connect(model.set_question)
        self.answer.chosen.connect(lambda name: model.set("data.target", name or None))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.l)
        row.addWidget(Field("Question column", self.question, "What the model is asked."))
        row.addWidget(Field("Answer column", self.answer, "What it learns to answer."))
        self.hide()

    def draw(self, view: PlanView) -> None:
        columns = view.look_problem.columns if view.look_problem is not None else ()
        self.setVisible(bool(columns))
        if not columns:
            return
        options = [_NONE, *((name, name) for name in columns)]
        asked = next((name for name, kind in view.job.data.columns.items() if kind == QUESTIONS), "")
        for box, value in ((self.question, asked), (self.answer, view.job.data.target or "")):
            box.set_options(options)
            box.set_value(value)
