"""Try the model: pick pictures, fill in a row, or type a text; the answer of the trained model. What it writes: see
``trywriting``.

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
from tpu_studio.gui.kit.dragged import local_paths
from tpu_studio.gui.kit.fields import ComboBox, Field, LineEdit
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.run.trypanel import PASSAGES_SHOWN, TryPanel, shortened
from tpu_studio.gui.run.trypictures import PictureAnswers, path_of
from tpu_studio.gui.run.trypieces import Answers, Picture, Prompt
from tpu_studio.gui.run.trywriting import ChatPanel, TextPanel
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial
from tpu_studio.viewmodels.samples import Passage, Sample, passages_of, samples_of
from tpu_studio.viewmodels.thumbnails import is_called_a_picture, may_be_picture
from tpu_studio.viewmodels.trying import MOST_PICTURES
from tpu_studio.wire import kinds, tasks
from tpu_studio.wire.records import items, whole

PICTURES = "Pictures (*.jpg *.jpeg *.png *.bmp *.gif *.webp *.tif *.tiff);;All files (*)"
FIELDS_SHOWN = 12
NONE_CHOSEN = "No picture chosen yet"
SAMPLES_SHOWN = 8


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


class PicturePanel(TryPanel):
    """Drop pictures, choose files, or press one of the pictures of the data. Of several each has its answer below; the
    one that is pressed there stands large above."""

    def __init__(self, model: RunViewModel, known: Sequence[Sample]) -> None:
        noun = model.state.value.facts.noun
        below = f", or press one of the {noun} below" if known else ""
        unseen = " They were kept aside: the model has never seen them." if known and known[0].kept else ""
        super().__init__(model, f"Choose pictures that it has not seen, or drop them here{below}.{unseen}")
        self.setAcceptDrops(True)
        self.choose = Button("Choose images…", icon="image")
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
        right.addLayout(self._strip(known))
        right.addStretch(1)
        left.addLayout(right, 1)
        self.ask_box.addLayout(left)
        self.answers = Answers("The answer appears here")
        self.answer_box.addWidget(self.answers)
        self.several = PictureAnswers(model)
        self.several.chosen.connect(self._show_one)
        self.several.hide()
        self.body.addWidget(self.several)

    def _strip(self, known: Sequence[Sample]) -> QGridLayout:
        strip = QGridLayout()
        strip.setSpacing(Space.s)
        for index, sample in enumerate(known[:SAMPLES_SHOWN]):
            small = Picture(self.model, str(sample.path), f"{sample.label}, {sample.path.name}", 44)
            small.clicked.connect(lambda _=False, sample=sample: self.ask(str(sample.path), sample.label))
            strip.addWidget(small, index // 4, index % 4)
        strip.setColumnStretch(4, 1)
        return strip

    def ask(self, path: str, label: str = "") -> None:
        """*label*: what the data calls it, told beside the answer."""
        self.model.ask({"image": path})
        self._show(path, label)

    def ask_each(self, paths: Sequence[str]) -> None:
        if len(paths) == 1:
            self.ask(paths[0])
        elif paths:
            self.model.ask_pictures(paths)

    def _show(self, path: str, label: str = "") -> None:
        if path != self.shown.path:
            self.shown.load(path)
        self.name.setText(f"{Path(path).name}, in the data: {label}" if label else Path(path).name)

    def _show_one(self, one: Trial) -> None:
        """One of several, large."""
        self._show(path_of(one))
        self.answers.show_answer(one, "This is ")

    def _choose(self) -> None:
        dialog = QFileDialog(self, "Choose images", "", PICTURES)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(lambda paths: self.ask_each(paths))
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Anything but a picture is for the window around it: a run, data, or what it knows nothing of."""
        self.shown.mark(any(map(may_be_picture, local_paths(event.mimeData()))))
        event.setAccepted(self.shown.marked)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.shown.mark(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self.shown.mark(False)
        if paths := _pictures_in(event):
            event.acceptProposedAction()
            self.ask_each(paths)

    def draw(self, trial: Trial) -> None:
        self.several.setVisible(bool(trial.pictures))
        if trial.pictures:
            self.several.show_trial(trial)  # which chooses one of them
            return
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
            hover = " ".join(passage.text.split())
            button = Button(shortened(passage.text), "quiet", size="small", hover=hover)
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


def _pictures_in(event: QDropEvent) -> list[str]:
    """Paths of the pictures that are dragged: more than are taken go by their names alone."""
    paths = local_paths(event.mimeData())
    first, rest = paths[: 10 * MOST_PICTURES], paths[10 * MOST_PICTURES :]
    return [str(path) for path in (*filter(may_be_picture, first), *filter(is_called_a_picture, rest))]
