"""Under the memory bar: the check by the TPU compiler. As high before, during and after, so nothing moves by it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.plan import PlanViewModel
from tpu_studio.viewmodels.plancheck import LICENCE_URL
from tpu_studio.viewmodels.planstate import PlanView
from tpu_studio.wire import places


class CompilerBox(QWidget):
    def __init__(self, model: PlanViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.bar = ProgressBar(name="Checking the plan")
        policy = self.bar.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.bar.setSizePolicy(policy)
        self.words = Text("", "caption", "text_2", numbers=True)
        self.button = Button("", "link", size="small", icon="cpu")
        self.button.clicked.connect(self._pressed)
        self.raw = Button("Its own words", "link", size="small")
        self.raw.clicked.connect(self._show_raw)
        row = QHBoxLayout()
        row.setSpacing(Space.m)
        row.addWidget(self.button)
        row.addWidget(self.raw)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.xs)
        column.addWidget(self.bar)
        column.addWidget(self.words, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(row)

    def draw(self, view: PlanView) -> None:
        check = view.check
        self.setVisible(check.offered)
        self.bar.setVisible(check.busy)
        self.bar.set_share(check.share, check.doing)
        tpu = not view.plan or not places.by_id(view.plan.place).local
        if check.busy:
            words, button = f"{check.doing}…", "Stop"
        elif check.problem is not None:
            words, button = f"{check.problem.title}. {check.problem.text}", "Check again"
        elif check.status == "done":
            words, button = check.told, "Check again"
        else:
            before = "before you pay" if view.plan and places.by_id(view.plan.place).charges else "before it starts"
            words = f"Will it fit and run? Checked on this computer, {before}."
            button = "Check this plan with the TPU compiler" if tpu else "Check shapes and operations"
        self.words.setText(words)
        self.words.setMinimumHeight(2 * self.words.fontMetrics().lineSpacing())
        self.button.setText(button)
        self.raw.setVisible(bool(check.words) and not check.busy)

    def _pressed(self) -> None:
        if self._model.state.value.check.busy:
            self._model.cancel_check()
        else:
            self._model.check()

    def _show_raw(self) -> None:
        sheet = Sheet(self, "In its own words", "All that the compiler, or the model's own program, said.", width=860)
        text = QPlainTextEdit(self._model.state.value.check.words)
        text.setReadOnly(True)
        text.setTabChangesFocus(True)
        text.setFont(fonts.font("mono"))
        text.setMinimumHeight(soft_px(320))
        text.setAccessibleName("What was said")
        text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        sheet.body.addWidget(text, 1)
        copy = sheet.answer("Copy all", stays=True)

        def copied() -> None:
            QGuiApplication.clipboard().setText(text.toPlainText())
            copy.setText("Copied")

        copy.clicked.connect(copied)
        sheet.answer("Close", safe=True)
        sheet.open()


def ask_for_compiler(over: QWidget, model: PlanViewModel) -> Sheet:
    """May Google's TPU compiler be fetched? Answered by its buttons; Esc fetches nothing."""
    sheet = Sheet(
        over,
        "Fetch Google's TPU compiler?",
        "The very program that will compile this on the TPU also runs here, without a TPU and without an account.",
        width=600,
    )
    sheet.facts(
        [
            "It is kept in a folder of its own beside the training engine: 1.4 GB on disk, removed at any time.",
            "Nothing of yours is sent anywhere, and nothing is charged.",
            "Once it is there, a check takes about a minute; large picture networks take several.",
        ]
    )
    sheet.facts(
        [f"libtpu is under Google's terms, which you accept by fetching it: {LICENCE_URL}"], "triangle-alert", "warn"
    )
    sheet.answer("Not now", safe=True)
    sheet.answer("Check without it", model.check_without_compiler, stays=True)  # the check closes it; closed is no
    sheet.answer("Accept, fetch & check", model.accept_compiler, kind="primary", stays=True)
    sheet.closed = model.decline_compiler
    sheet.open()
    return sheet
