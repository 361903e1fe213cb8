"""Try a model that writes: it goes on with the beginning of a text, or answers in a conversation, as it is written."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.choose import CheckBox
from tpu_studio.gui.kit.fields import Field
from tpu_studio.gui.kit.numberedit import DecimalBox, NumberEdit, SpinBox
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.learn.termtext import explain_term
from tpu_studio.gui.run.conversation import Conversation
from tpu_studio.gui.run.trypanel import PASSAGES_SHOWN, TryPanel, shortened
from tpu_studio.gui.run.trypieces import Prompt, QuestionBox, Written
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial
from tpu_studio.viewmodels.samples import passages_of

TEMPERATURE, HOTTEST = 0.8, 10.0  # as `predict` has them


class Beside(QWidget):
    """What the model before training writes, beside that of the one that has learned; `tick` and `why` stand with the
    question: whether it is asked, and what that takes, or why it cannot be."""

    def __init__(self, model: RunViewModel, font: str) -> None:
        super().__init__()
        self.tick = CheckBox("Compare with the model before training")
        self.tick.setEnabled(False)
        self.tick.toggled.connect(self._turned)
        self.why = Text("", "caption", "text_2")
        self.written = Written("the model before training", font)
        self.note = Text("", "caption", "text_2")
        self._model = model
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.m)
        column.addWidget(Line("Before training", "label-strong"))
        column.addWidget(self.written, 1)
        column.addWidget(self.note)
        self.hide()
        forget = model.look_before(self._found)
        self.destroyed.connect(lambda: forget())

    def _found(self, problem: str) -> None:
        """*problem*: why it cannot be asked here."""
        self.tick.setEnabled(not problem)
        self.why.setText(problem or "It answers the same question beside, and takes as much memory again.")
        self.tick.setAccessibleDescription(self.why.text())

    def _turned(self, on: bool) -> None:
        self.setVisible(on)
        self._model.compare(on)

    def draw(self, before: Trial | None, begin: str) -> None:
        self.written.show_text(begin + before.text if before else "", bool(before and before.asking))
        words = ""
        if before is not None and before.problem is not None:
            words = f"{before.problem.title}. {before.problem.meaning} {before.problem.action}"
        elif before is not None and before.asking and not before.text:
            words = "Its first words take a few seconds: it is being loaded."
        self.note.setText(words)
        self.note.setVisible(bool(words))


class WritingPanel(TryPanel):
    """What is typed, how much is to be written, and buttons; a subclass asks, and shows what was written."""

    MOST = ""  # what is to be known of how much is written
    FONT = "mono"  # of what is written

    def __init__(self, model: RunViewModel, sentence: str, prompt: Prompt, verb: str) -> None:
        super().__init__(model, sentence)
        token = model.state.value.facts.token
        self.prompt = prompt
        self.prompt.setTabChangesFocus(True)
        self.length = SpinBox(300, 10, 2000, step=50, suffix=f"{token}s")
        self.temperature = DecimalBox(TEMPERATURE, 0.0, HOTTEST, step=0.1, decimals=2)
        self.button = Button(verb, icon="wand-sparkles")
        self.button.clicked.connect(self.ask)
        self.cancel = Button("Stop writing", kind="quiet")
        self.cancel.clicked.connect(model.cancel_trial)
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.m)
        for widget in (self.button, self.cancel):
            buttons.addWidget(widget)
        buttons.addStretch(1)
        self.loading = Text("The first words take a few seconds: the model is being loaded.", "caption", "text_2")
        self.ask_box.addWidget(self.prompt)
        self.ask_box.addLayout(self._fields(token))
        self.ask_box.addLayout(buttons)
        self.ask_box.addWidget(self.loading)
        self.offers = QVBoxLayout()  # questions of the data, to press
        self.ask_box.addLayout(self.offers)
        self.beside: Beside | None = None
        if model.may_compare:
            self.beside = Beside(model, self.FONT)
            self.ask_box.addWidget(self.beside.tick)
            self.ask_box.addWidget(self.beside.why)
            self.after = Line("After training", "label-strong")
            self.after.hide()
            self.answer_box.addWidget(self.after)
            self.columns.addWidget(self.beside, 1)
        self.ask_box.addStretch(1)

    def _fields(self, token: str) -> QHBoxLayout:
        """How much is written, and how boldly; both stay as they are until the page is closed."""
        length = _explained(f"{token.capitalize()}s to write", self.length, self.MOST, "tokenizer")
        bold = _explained("Temperature", self.temperature, "0 always takes the likeliest, 1 is bold.", "temperature")
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        for field, box in ((length, self.length), (bold, self.temperature)):
            box.doubted.connect(lambda _: self.button.setEnabled(not (self.length.doubt or self.temperature.doubt)))
            row.addWidget(field, 1)
        return row

    def ask(self) -> None:
        raise TypeError("a panel puts its own question")

    def wishes(self) -> dict[str, object]:
        return {"tokens": self.length.value(), "temperature": self.temperature.value(), "seed": 0}

    def draw(self, trial: Trial) -> None:
        if self.cancel.hasFocus() and not trial.writing:  # else the focus would fall somewhere else on the page
            self.button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.cancel.setVisible(trial.writing)
        self.loading.setVisible(trial.asking and not trial.text)
        if self.beside is not None:
            self.beside.draw(trial.before, self.begin(trial))
            self.after.setVisible(self.beside.tick.isChecked())

    def begin(self, trial: Trial) -> str:
        """What stands before what a model wrote."""
        return ""


def _explained(label: str, box: NumberEdit, hint: str, term: str) -> Field:
    """A field whose question mark, and F1, lead to that *term* of the glossary."""
    field = Field(label, box, hint, explain=True)
    field.setProperty("term", term)
    field.help_asked.connect(lambda: explain_term(term, field.question or field))
    return field


class TextPanel(WritingPanel):
    """The beginning of a text; the model goes on from it, as it is written."""

    def __init__(self, model: RunViewModel) -> None:
        token = model.state.value.facts.token
        prompt = Prompt("ROMEO:\n" if "shakespeare" in model.state.value.facts.subtitle else "")
        prompt.setAccessibleName("The beginning")
        prompt.setPlaceholderText("Once upon a time")
        sentence = f"Type a beginning. The model goes on from there, one {token} at a time."
        super().__init__(model, sentence, prompt, "Generate")
        self.written = Written()
        self.answer_box.addWidget(self.written)

    def ask(self) -> None:
        self.model.ask({"prompt": self.prompt.toPlainText() or "\n", **self.wishes()})

    def draw(self, trial: Trial) -> None:
        super().draw(trial)
        self.written.show_text(self.begin(trial) + trial.text, trial.asking)

    def begin(self, trial: Trial) -> str:
        return str((trial.question or {}).get("prompt", ""))


class ChatPanel(WritingPanel):
    """A conversation: a question of one's own, or one of the data, and the next. The model answers each until it is
    through, or has written so much, and is told what was said before."""

    MOST = "At most: an answer may end sooner."
    FONT = "body"

    def __init__(self, model: RunViewModel) -> None:
        known = [one for one in passages_of(model.plan) if one.kept]
        kept = " Those below were kept aside: the model has never seen them." if known else ""
        box = QuestionBox()
        box.setAccessibleName("The question")
        box.setPlaceholderText("What would you like to know?")
        super().__init__(model, f"Ask it something, and go on from its answer.{kept}", box, "Ask")
        box.entered.connect(self.ask)
        self._given_back: Mapping[str, object] | None = None
        for passage in known[:PASSAGES_SHOWN]:
            button = Button(shortened(passage.text), "quiet", size="small", hover=f"In the data: {passage.label}")
            button.clicked.connect(lambda _=False, one=passage: self._say(one.text))
            self.offers.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        self.talk = Conversation()
        self.anew = Button("New chat", icon="plus", size="small")
        self.anew.setToolTip(plain("Forget what was said so far: the model is asked as if for the first time"))
        self.anew.clicked.connect(self._begin_anew)
        self.answer_box.addWidget(self.talk, 1)
        self.answer_box.addWidget(self.anew, 0, Qt.AlignmentFlag.AlignLeft)

    def ask(self) -> None:
        self._say(self.prompt.toPlainText())

    def _say(self, words: str) -> None:
        if words.strip() and self.button.isEnabled():
            self.prompt.clear()
            self.model.say(words, **self.wishes())
        self.prompt.setFocus(Qt.FocusReason.OtherFocusReason)

    def _begin_anew(self) -> None:
        self.model.new_chat()
        self.prompt.setFocus(Qt.FocusReason.OtherFocusReason)

    def draw(self, trial: Trial) -> None:
        super().draw(trial)
        if trial.problem is not None and trial.question is not self._given_back:
            self._given_back = trial.question
            if not self.prompt.toPlainText():  # to be mended, or asked again
                self.prompt.setPlainText(str((trial.question or {}).get("prompt", "")))
        self.talk.show_talk(trial.talk, self.model.state.value.facts.context)
        self.anew.setVisible(bool(trial.talk))
