"""What the sheets of a model and of a data set of the Hugging Face Hub share: facts, token, how far it is, answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QVBoxLayout, QWidget

from tpu_studio.gui.kit.bars import ProgressBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.fields import LineEdit
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.fetching import FetchView

TICK_MS = 100


def browse(url: str) -> bool:
    return QDesktopServices.openUrl(QUrl(url))


class FetchSheet(Sheet):
    """Closed while something comes, that goes on; it is shown again by the same button."""

    def __init__(
        self, over: QWidget, title: str, sentence: str, *, page: Callable[[], str], stop: Callable[[], None], noun: str
    ) -> None:
        """*page*: where a person reads of it; *noun*: what is fetched here, of several."""
        super().__init__(over, title, sentence, width=600)
        self._lines = [Text("", "body") for _ in range(3)]
        self.problem = Note("", "", "bad")
        self.token = LineEdit()
        self.token.setEchoMode(LineEdit.EchoMode.Password)
        self.token.setAccessibleName("Access token of Hugging Face")
        self._asking = QWidget()
        column = QVBoxLayout(self._asking)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.xs)
        column.addWidget(Text("Access token", "label-strong"))
        column.addWidget(self.token)
        hint = f"For {noun} whose terms are to be accepted on their page first. It is used now and kept nowhere."
        column.addWidget(Text(hint, "caption", "text_2"))
        self.bar = ProgressBar(name="Download")
        self.words = Text("", "caption", "text_2")
        self.page = Button("Its page", icon="external-link", size="small")
        self.page.clicked.connect(lambda: browse(page()))
        self._left.addWidget(self.page)
        self.away = self.answer("Close", safe=True)
        self.stop = self.answer("Stop", stop, stays=True)
        self.go = self.answer("", self._go, kind="primary", main=True, stays=True)

    def put_facts(self) -> None:
        for line in self._lines:
            self.body.addWidget(line)

    def put_rest(self) -> None:
        for widget in (self.problem, self._asking, self.bar, self.words):
            self.body.addWidget(widget)

    def follow(self, end: Callable[[], None], tick: Callable[[], None]) -> None:
        """*end*: of the subscription that draws this sheet."""
        self.destroyed.connect(lambda: end())
        self._timer = QTimer(self)
        self._timer.timeout.connect(tick)
        self._timer.start(TICK_MS)

    def _go(self) -> None:
        raise NotImplementedError

    def draw_fetch(self, view: FetchView, facts: Sequence[str], *, wants_token: bool) -> None:
        for number, line in enumerate(self._lines):
            line.setText(facts[number] if number < len(facts) else "")
            line.setVisible(number < len(facts))
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        busy = bool(view.doing)
        self._asking.setVisible(wants_token and not busy)
        self.bar.setVisible(busy)
        self.bar.set_share(view.share)
        self.words.setVisible(busy)
        self.words.setText(view.words)
        self.away.setText("Go on in the background" if busy else "Close")
        self.stop.setVisible(busy)
