"""Try the model: pick a picture, fill in a row, or type the beginning of a text; the answer of the trained model.

Draws `RunPageState.trial`; the questions go through `RunViewModel.ask`. The model is loaded with the first question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
)
from PySide6.QtWidgets import (
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QVBoxLayout,
)

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card
from tpu_studio.gui.kit.dragged import local_paths
from tpu_studio.gui.kit.fields import ComboBox, Field, LineEdit
from tpu_studio.gui.kit.numberedit import DecimalBox, NumberEdit, SpinBox
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.learn.termtext import explain_term
from tpu_studio.gui.run.conversation import Conversation
from tpu_studio.gui.run.trypieces import Answers, Picture, Prompt, QuestionBox, Written
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial
from tpu_studio.viewmodels.samples import Passage, Sample, passages_of, samples_of
from tpu_studio.viewmodels.thumbnails import may_be_picture
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.records import items, whole

PICTURES = "Pictures (*.jpg *.jpeg *.png *.bmp *.gif *.webp *.tif *.tiff);;All files (*)"
FIELDS_SHOWN = 12
NONE_CHOSEN = "No picture chosen yet"
SAMPLES_SHOWN = 8
TEMPERATURE, HOTTEST = 0.8, 10.0  # as `predict` has them
PASSAGES_SHOWN, PASSAGE_LETTERS = 4, 60


def panel_for(model: RunViewModel) -> TryPanel:
    """The panel that fits what the model has learnt from."""
    facts = model.state.value.facts
    if tasks.by_id(facts.task).has_chats:
        return ChatPanel(model)
    if tasks.by_id(facts.task).has_tokens:
        return TextPanel(model)
    kind = kinds.find(facts.kind)
    if kind is not None and kind.has_text:
        return PassagePanel(model)
    if facts.columns:
        return RowPanel(model)
    return PicturePanel(model, samples_of(model.plan))


class TryPanel(Card):
    """Title, what to do, the question (`ask_box`), and the answer (`answer_box`) beside it."""

    def __init__(self, model: RunViewModel, sentence: str, *, ask_share: int = 1) -> None:
        super().__init__()
        self.model = model
        self.title("Try the model")
        self.body.addWidget(Text(sentence, "secondary", "text_2"))
        row = QHBoxLayout()
        row.setSpacing(Space.xxl)
        self.ask_box, self.answer_box = QVBoxLayout(), QVBoxLayout()
        for box in (self.ask_box, self.answer_box):
            box.setSpacing(Space.m)
        row.addLayout(self.ask_box, ask_share)
        row.addLayout(self.answer_box, 1)
        self.body.addLayout(row)
        self.problem = Note("", "", "bad")
        self.problem.hide()
        self.body.addWidget(self.problem)

    def show_trial(self, trial: Trial) -> None:
        self.problem.setVisible(trial.problem is not None)
        if trial.problem is not None:
            self.problem.set_words(trial.problem.title, f"{trial.problem.meaning} {trial.problem.action}".strip())
        self.draw(trial)

    def draw(self, trial: Trial) -> None:
        raise TypeError("a panel draws its own answer")


class PicturePanel(TryPanel):
    """Drop a picture, choose a file, or press one of the pictures of the data."""

    def __init__(self, model: RunViewModel, known: Sequence[Sample]) -> None:
        noun = model.state.value.facts.noun
        below = f", or press one of the {noun} below" if known else ""
        unseen = " They were kept aside: the model has never seen them." if known and known[0].kept else ""
        super().__init__(model, f"Choose a picture that it has not seen, or drop one here{below}.{unseen}")
        self.setAcceptDrops(True)
        self.choose = Button("Choose an image…", icon="image")
        self.choose.clicked.connect(self._choose)
        self.shown = Picture(model, "", "The picture that was asked about", 148)
        self.shown.setEnabled(False)
        self.shown.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.name = Line(NONE_CHOSEN, "caption", "text_3")
        left = QHBoxLayout()
        left.setSpacing(Space.xl)
        left.addWidget(self.shown, 0, Qt.AlignmentFlag.AlignTop)
        right = QVBoxLayout()
        right.setSpacing(Space.m)
        right.addWidget(self.choose, 0, Qt.AlignmentFlag.AlignLeft)
        right.addWidget(self.name)
        strip = QGridLayout()
        strip.setSpacing(Space.s)
        for index, sample in enumerate(known[:SAMPLES_SHOWN]):
            small = Picture(model, str(sample.path), f"{sample.label}, {sample.path.name}", 44)
            small.clicked.connect(lambda _=False, sample=sample: self.ask(str(sample.path), sample.label))
            strip.addWidget(small, index // 4, index % 4)
        strip.setColumnStretch(4, 1)
        right.addLayout(strip)
        right.addStretch(1)
        left.addLayout(right, 1)
        self.ask_box.addLayout(left)
        self.answers = Answers("The answer appears here")
        self.answer_box.addWidget(self.answers)

    def ask(self, path: str, label: str = "") -> None:
        """*label*: what the data calls it, told beside the answer."""
        self.model.ask({"image": path})
        self.shown.load(path)
        self.name.setText(f"{Path(path).name}, in the data: {label}" if label else Path(path).name)

    def _choose(self) -> None:
        dialog = QFileDialog(self, "Choose an image", "", PICTURES)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda path: self.ask(path))
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Anything but a picture is for the window around it: a run, data, or what it knows nothing of."""
        self.shown.mark(bool(_picture_in(event)))
        event.setAccepted(self.shown.marked)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.shown.mark(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self.shown.mark(False)
        if path := _picture_in(event):
            event.acceptProposedAction()
            self.ask(path)

    def draw(self, trial: Trial) -> None:
        if self.shown.path and trial.question is None:  # another model is there now, which was asked nothing yet
            self.shown.clear()
            self.name.setText(NONE_CHOSEN)
        self.answers.show_answer(trial, "This is ")


class RowPanel(TryPanel):
    """A form with a field for each column the model uses, filled with a row of the data."""

    def __init__(self, model: RunViewModel) -> None:
        facts = model.state.value.facts
        super().__init__(model, f"Fill in a row and see which {facts.target or 'answer'} the model gives.", ask_share=3)
        self._boxes: dict[str, LineEdit | ComboBox] = {}
        grid = QGridLayout()
        grid.setHorizontalSpacing(Space.l)
        grid.setVerticalSpacing(Space.m)
        columns = [
            column
            for column in facts.columns
            if not column.get("target") and column.get("kind") in ("number", "category", "date")
        ]
        for index, column in enumerate(columns[:FIELDS_SHOWN]):
            grid.addWidget(self._field(column), index // 4, index % 4)
        self.ask_box.addLayout(grid)
        if len(columns) > FIELDS_SHOWN:
            left = len(columns) - FIELDS_SHOWN
            self.ask_box.addWidget(Text(f"{left} more columns are taken as missing.", "caption", "text_3"))
        self.button = Button("Predict", icon="wand-sparkles")
        self.button.clicked.connect(self._ask)
        self.ask_box.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        self.answers = Answers("The answer appears here")
        self.answer_box.addWidget(self.answers)

    def _field(self, column: Mapping[str, Any]) -> Field:
        name = str(column["name"])
        values = [str(items(pair)[0]) for pair in items(column.get("top"))]
        if column.get("kind") == "category" and values and len(values) >= whole(column.get("distinct")):
            options = [(value, value) for value in values]
            if column.get("missing"):
                options.append(("", "(missing)"))
            box: LineEdit | ComboBox = ComboBox(options, values[0], name=name)
        else:
            example = next(iter(values or items(column.get("examples"))), "")
            box = LineEdit(str(example), name=name)
            box.returnPressed.connect(self._ask)
        self._boxes[name] = box
        return Field(name, box)

    def row(self) -> dict[str, str]:
        return {name: box.value if isinstance(box, ComboBox) else box.text() for name, box in self._boxes.items()}

    def _ask(self) -> None:
        self.model.ask({"row": self.row()})

    def draw(self, trial: Trial) -> None:
        self.answers.show_answer(trial, "")
        if trial.value is not None:
            target = self.model.state.value.facts.target
            what = f"is the {target} the model expects." if target else "is what the model expects."
            self.answers.under.setText(f"{what} {trial.unread}".strip())
            self.answers.under.show()


class WritingPanel(TryPanel):
    """What is typed, how much is to be written, and buttons; a subclass asks, and shows what was written."""

    MOST = ""  # what is to be known of how much is written

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
        self.row = QHBoxLayout()
        self.row.setSpacing(Space.m)
        for widget in (self.button, self.cancel):
            self.row.addWidget(widget)
        self.row.addStretch(1)
        self.loading = Text("The first words take a few seconds: the model is being loaded.", "caption", "text_2")
        self.ask_box.addWidget(self.prompt)
        self.ask_box.addLayout(self._fields(token))
        self.ask_box.addLayout(self.row)
        self.ask_box.addWidget(self.loading)
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
        if self.cancel.hasFocus() and not trial.asking:  # else the focus would fall somewhere else on the page
            self.button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.cancel.setVisible(trial.asking)
        self.loading.setVisible(trial.asking and not trial.text)


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
        begin = str((trial.question or {}).get("prompt", ""))
        self.written.show_text(begin + trial.text if trial.question else "", trial.asking)


class ChatPanel(WritingPanel):
    """A conversation: a question of one's own, or one of the data, and the next. The model answers each until it is
    through, or has written so much, and is told what was said before."""

    MOST = "At most: an answer may end sooner."

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
            words = " ".join(passage.text.split())
            short = f"{words[:PASSAGE_LETTERS]} …" if len(words) > PASSAGE_LETTERS else words
            button = Button(short, "quiet", size="small", hover=f"In the data: {passage.label}")
            button.clicked.connect(lambda _=False, one=passage: self._say(one.text))
            self.ask_box.insertWidget(self.ask_box.count() - 1, button, 0, Qt.AlignmentFlag.AlignLeft)
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


class PassagePanel(TryPanel):
    """A text of one's own, or one of the data; the model says of which kind it is."""

    def __init__(self, model: RunViewModel) -> None:
        known = passages_of(model.plan)
        kept = " Those below were kept aside: the model has never seen them." if known and known[0].kept else ""
        super().__init__(model, f"Type or paste a text and see which class the model predicts.{kept}")
        self.prompt = Prompt()
        self.prompt.setAccessibleName("The text")
        self.prompt.setTabChangesFocus(True)
        self.prompt.setPlaceholderText("A text that it has not seen")
        self.button = Button("Predict", icon="wand-sparkles")
        self.button.clicked.connect(self._ask)
        self.label = Line("", "caption", "text_3")
        self.ask_box.addWidget(self.prompt)
        row = QHBoxLayout()
        row.setSpacing(Space.m)
        row.addWidget(self.button)
        row.addWidget(self.label, 1)
        self.ask_box.addLayout(row)
        self.samples: list[Button] = []
        for passage in known[:PASSAGES_SHOWN]:
            words = " ".join(passage.text.split())
            short = f"{words[:PASSAGE_LETTERS]} …" if len(words) > PASSAGE_LETTERS else words
            button = Button(short, "quiet", size="small", hover=words)
            button.clicked.connect(lambda _=False, one=passage: self._show(one))
            self.samples.append(button)
            self.ask_box.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        self.ask_box.addStretch(1)
        self.answers = Answers("The answer appears here")
        self.answer_box.addWidget(self.answers)

    def _show(self, passage: Passage) -> None:
        self.prompt.setPlainText(passage.text)
        self._ask()
        self.label.setText(f"In the data: {passage.label}")

    def _ask(self) -> None:
        self.label.setText("")
        self.model.ask({"prompt": self.prompt.toPlainText()})

    def draw(self, trial: Trial) -> None:
        self.answers.show_answer(trial, "This is ")


def _picture_in(event: QDropEvent) -> str:
    """Path of the first picture that is dragged; "" where there is none."""
    return next((str(path) for path in local_paths(event.mimeData()) if may_be_picture(path)), "")
