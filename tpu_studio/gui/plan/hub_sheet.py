"""The sheet of a model of the Hugging Face Hub: what it is, its licence, and its way here."""

from __future__ import annotations

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.fields import LineEdit
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.hubfetch import HubFetch, HubView

TICK_MS = 100
SENTENCE = "A language model on the Hugging Face Hub, as its owner publishes it."


def browse(url: str) -> bool:
    return QDesktopServices.openUrl(QUrl(url))


class HubSheet(Sheet):
    """Closed while something comes, that goes on; it is shown again by the same button."""

    def __init__(self, over: QWidget, model: HubFetch) -> None:
        super().__init__(over, model.state.value.name, SENTENCE, width=600)
        self._model = model
        self._lines = [Text("", "body") for _ in range(3)]
        for line in self._lines:
            self.body.addWidget(line)
        self.problem = Note("", "", "bad")
        self.body.addWidget(self.problem)
        self.token = LineEdit()
        self.token.setEchoMode(QLineEdit.EchoMode.Password)
        self.token.setAccessibleName("Access token of Hugging Face")
        self._asking = QWidget()
        column = QVBoxLayout(self._asking)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.xs)
        column.addWidget(Text("Access token", "label-strong"))
        column.addWidget(self.token)
        hint = "For models whose terms are to be accepted on their page first. It is used now and kept nowhere."
        column.addWidget(Text(hint, "caption", "text_2"))
        self.body.addWidget(self._asking)
        self.bar = ProgressBar(name="Download")
        self.words = Text("", "caption", "text_2")
        self.body.addWidget(self.bar)
        self.body.addWidget(self.words)
        self.page = Button("Its page", icon="external-link", size="small")
        self.page.clicked.connect(lambda: browse(model.state.value.card))
        self._left.addWidget(self.page)
        self.away = self.answer("Close", safe=True)
        self.stop = self.answer("Stop", model.stop, stays=True)
        self.go = self.answer("", self._go, kind="primary", main=True, stays=True)
        self._end = model.state.subscribe(self._draw)
        end = self._end
        self.destroyed.connect(lambda: end())
        self._timer = QTimer(self)
        self._timer.timeout.connect(model.tick)
        self._timer.start(TICK_MS)

    def _go(self) -> None:
        token = self.token.text().strip()
        if self._model.state.value.entry is None:
            self._model.look_up(token)
        else:
            self._model.download(token)

    def _draw(self, view: HubView) -> None:
        for number, line in enumerate(self._lines):
            line.setText(view.facts[number] if number < len(view.facts) else "")
            line.setVisible(number < len(view.facts))
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        busy = bool(view.doing)
        self._asking.setVisible(view.wants_token and not busy)
        self.bar.setVisible(busy)
        self.bar.set_share(view.share)
        self.words.setVisible(busy)
        self.words.setText(view.words)
        self.away.setText("Go on in the background" if busy else "Close")
        self.stop.setVisible(busy)
        self.go.setVisible(not busy and not view.whole)
        self.go.setText("Look up" if view.entry is None else "Download")
