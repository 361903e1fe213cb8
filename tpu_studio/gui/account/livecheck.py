"""The sheet “Live check”: every call and its price before, what was seen of each doubt after; one file to send."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from tpu_studio.gui.bridge import Drain
from tpu_studio.gui.kit.card import Scroll, clear_layout
from tpu_studio.gui.kit.fields import Field
from tpu_studio.gui.kit.numberedit import DecimalBox
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import soft_px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.livecheck import DEFAULT_USD, MOST_USD, Line, LiveCheckView, LiveCheckViewModel

SENTENCE = (
    "Some of what this program assumes of Google, only a real account can show. Reading is free and changes nothing; "
    "the rest makes small things, and rents one TPU for minutes, with all the shut-offs that a run has."
)
HEIGHT = 300


class LiveCheckPanel(QWidget):
    def __init__(self, model: LiveCheckViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.problem = Note("", "", "bad")
        self.left = Note("Something is left", "", "bad")
        self.in_use = Note("In use from earlier checks", "", "accent")
        self.price = Text("", "label-strong", numbers=True)
        self.cap = DecimalBox(DEFAULT_USD, 0.0, MOST_USD, step=0.5, decimals=2, name="At most, in dollars", suffix="$")
        self.cap.valueChanged.connect(model.limit)
        self.field = Field("At most", self.cap, "Nothing is done that goes over this.")
        self.asking = Text("", "caption", "text_2")
        self._lines = QVBoxLayout()
        self._lines.setContentsMargins(0, 0, Space.m, 0)
        self._lines.setSpacing(Space.s)
        self._shown: tuple[Line, ...] | None = None
        inside = QWidget()
        inside.setObjectName("scrolled")
        inside.setLayout(self._lines)
        self._room = Tall(
            Scroll(inside), lambda width: min(self._lines.totalHeightForWidth(width), soft_px(HEIGHT)), 60
        )
        self._room.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.m)
        for widget in (self.problem, self.left, self.in_use, self.price):
            column.addWidget(widget)
        column.addWidget(self._room, 1)
        column.addWidget(self.field)
        column.addWidget(self.asking)
        end = model.state.subscribe(self.draw)
        self.destroyed.connect(lambda: end())

    def draw(self, view: LiveCheckView) -> None:
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self.left.setVisible(bool(view.left))
        self.left.set_words("Something is left", view.left)
        self.in_use.setVisible(bool(view.in_use))
        self.in_use.set_words("In use from earlier checks", " ".join(view.in_use))
        self.price.setText(view.ended or view.price)
        self.field.setVisible(not view.outcome)
        self.asking.setVisible(view.busy)
        self.asking.setText(view.asking or "One moment…")
        lines = view.outcome or view.calls
        if lines == self._shown:
            return
        self._shown = lines
        self._room.hide()
        clear_layout(self._lines)
        for line in lines:
            self._lines.addWidget(Text(line.title, "label", line.tone or "text"))
            self._lines.addWidget(Text(line.text, "secondary", "text_2"))
        self._lines.addStretch(1)
        self._room.setVisible(bool(lines))


def open_live_check(over: QWidget, model: LiveCheckViewModel, place: str) -> Sheet:
    sheet = Sheet(over, "Live check", SENTENCE, width=720)
    panel = LiveCheckPanel(model)
    sheet.body.addWidget(panel, 1)
    cancel = sheet.answer("Stop asking", model.cancel, kind="quiet", left=True, stays=True)
    save = sheet.answer("Save as a file…", lambda: _ask_file(sheet, model), kind="quiet", left=True, stays=True)
    sheet.answer("Close", safe=True)
    everything = sheet.answer("Read, make and rent", lambda: model.check(True), stays=True)
    read = sheet.answer("Only read, free", lambda: model.check(False), kind="primary", stays=True)
    sheet.needs(panel.cap, everything)
    Drain(sheet, model.tick)

    def enable(view: LiveCheckView) -> None:
        cancel.setVisible(view.busy)
        save.setVisible(view.may_save)
        everything.setVisible(not view.outcome)
        read.setVisible(not view.outcome)
        for button in (read, everything):
            button.setEnabled(not view.busy and bool(view.calls))

    sheet.closed = model.state.subscribe(enable)
    sheet.open()
    model.show(place)
    return sheet


def _ask_file(sheet: Sheet, model: LiveCheckViewModel) -> None:
    dialog = QFileDialog(sheet, "Save what was seen", str(Path.home() / "live-check.json"), "Files (*.json)")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix("json")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(model.save)
    dialog.open()
