"""Help: an error text is pasted, dropped or opened, and its causes are told, best first. Draws `HelpView`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from tpu_studio.domain import figures
from tpu_studio.gui.help.cause import CauseCard, HarmlessCard
from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Card, PageHeader, clear_layout
from tpu_studio.gui.kit.dragged import local_paths
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.page import ColumnPage
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import Themed, px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.viewmodels.helping import CommonError, HelpView, HelpViewModel

LONGEST = 50_000  # letters that stand in the field; a longer text is looked at whole and shown so far
BEGINNING = "Of its {whole} letters, the first {shown} are shown here. All are explained, until you change the text."
ASK = (
    "Paste an error text or the last lines of a log here: from this app, a terminal, Colab, Kaggle or gcloud. "
    "Or drop a log file."
)
COMMON_HINT = "What people meet first, from getting a TPU to training on it: how it looks, and what to do about it."
MORE = (  # words, icon, command of the window
    ("Learn in chapters", "lightbulb", "learn"),
    ("Glossary", "type", "glossary"),
    ("Find anything, with its keys…", "keyboard", "find"),
    ("Open a saved page, a job or data…", "folder-open", "open"),
)
F1 = "F1 explains the control that has the focus; an underlined word explains itself when it is pressed."
PRIVATE = "It is looked at on this computer only. Nothing is sent or kept."


class ErrorText(Themed, QPlainTextEdit):
    """The field for the text. Ctrl+Enter asks; Tab goes on to the next control."""

    asked = Signal()
    too_long = Signal(str)  # what was pasted, and does not stand in it: a line of a million letters takes half a minute

    def __init__(self) -> None:
        super().__init__()
        self.setPlaceholderText(ASK)
        self.setTabChangesFocus(True)
        self.setAccessibleName("Error text")
        self.setAccessibleDescription(ASK)
        self.setAcceptDrops(False)  # the whole page takes what is dropped
        self.follow_theme()

    def restyle(self) -> None:
        self.setFont(fonts.font("mono"))
        self.setFixedHeight(px(150))

    def insertFromMimeData(self, source: QMimeData) -> None:
        if source.hasText() and len(text := source.text()) > LONGEST:
            self.too_long.emit(text)
        else:
            super().insertFromMimeData(source)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and event.modifiers() & _CONTROL:
            self.asked.emit()
        else:
            super().keyPressEvent(event)


_MIDDLE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_CONTROL = Qt.KeyboardModifier.ControlModifier


class HelpPage(ColumnPage):
    """*act* does a command of the window; *open_page* shows an address in the browser."""

    acted = Signal(str)

    def __init__(self, model: HelpViewModel, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = model
        self._drawn: HelpView | None = None
        self.setAcceptDrops(True)
        self.text = ErrorText()
        self.text.asked.connect(self.ask)
        self.text.too_long.connect(self.explain_text)
        self.button = Button("Explain", "primary", icon="circle-question-mark")
        self.button.clicked.connect(self.ask)
        self.button.setEnabled(False)
        self.text.textChanged.connect(self._changed)
        self.beginning = Text("", "caption", "text_2")
        self.beginning.hide()
        self._given: tuple[str, bool] | None = None  # the text of the field, whole, and whether its TPU may be rented
        self.file = Button("Open a log…", icon="folder-open")
        self.file.clicked.connect(self.choose)
        self.clear = Button("Clear", "quiet")
        self.clear.clicked.connect(self._clear)
        buttons = QHBoxLayout()
        buttons.setSpacing(Space.m)
        for button in (self.button, self.file, self.clear):
            buttons.addWidget(button)
        buttons.addWidget(Text(PRIVATE, "caption", "text_2", align=_MIDDLE), 1)
        card = Card()
        card.title("Why did it fail?")
        card.body.addWidget(self.text)
        card.body.addWidget(self.beginning)
        card.body.addLayout(buttons)

        self.answer = Text("", "section")
        self.cut = Note("", "", "warn")
        self.problem = Note("", "", "bad")
        self.common = CommonErrors()
        self.common.chosen.connect(self.explain_text)
        self._results = QVBoxLayout()
        self._results.setSpacing(Space.l)

        column = self.column
        column.addWidget(PageHeader("Help", "What an error text means, and what to do about it."))
        for widget in (card, self.answer, self.problem, self.cut):
            column.addWidget(widget)
        column.addLayout(self._results)
        column.addWidget(self.common)
        self.more = MoreHelp()
        self.more.acted.connect(self.acted)
        column.addWidget(self.more)
        column.addStretch(1)
        self.setFocusProxy(self.text)
        self._ends = (model.common.subscribe(self._offer), model.state.subscribe(self._draw))
        self.destroyed.connect(lambda: [end() for end in self._ends])
        model.offer_common()

    def ask(self) -> None:
        text, rented = self._given or (self.text.toPlainText(), True)
        self.model.explain_text(text, rented=rented)

    def explain_text(self, text: str, *, rented: bool = True) -> None:
        """Put *text* into the field, and ask. *rented*: it may come from a TPU that is charged for."""
        self.text.setPlainText(text[:LONGEST])
        self._given = text, rented
        self.beginning.setText(BEGINNING.format(whole=figures.count(len(text)), shown=figures.count(LONGEST)))
        self.beginning.setVisible(len(text) > LONGEST)
        self.ask()

    def _changed(self) -> None:
        self._given = None
        self.beginning.hide()
        self.button.setEnabled(not self.text.document().isEmpty())

    def choose(self) -> None:
        dialog = QFileDialog(self.window(), "Open a log")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda name: self._file(Path(name)))
        dialog.open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _file_of(event.mimeData()) or event.mimeData().hasText():
            event.acceptProposedAction()
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        self.take(event.mimeData())

    def take(self, data: QMimeData) -> None:
        """What was dropped or copied: one file, or words."""
        if file := _file_of(data):
            self._file(file)
        elif data.hasText():
            self.explain_text(data.text())

    def _file(self, path: Path) -> None:
        self.text.clear()
        self.model.explain_file(path)

    def _clear(self) -> None:
        self.text.clear()
        self.model.clear()
        self.text.setFocus(Qt.FocusReason.OtherFocusReason)

    def _offer(self, common: tuple[CommonError, ...]) -> None:
        self.common.show_errors(common)
        self._show_common(self.model.state.value)

    def _show_common(self, view: HelpView) -> None:
        """Where nothing was asked, and where nothing is known of what was."""
        explained = view.is_looking or view.problem is not None or bool(view.causes)
        self.common.setVisible(bool(self.model.common.value) and not (view.asked and explained))

    def _draw(self, view: HelpView) -> None:
        self._show_common(view)
        self.answer.setText("Looking…" if view.is_looking else view.answer)
        self.answer.setVisible(bool(self.answer.text()))
        self.clear.setEnabled(bool(view.asked))
        self.problem.setVisible(view.problem is not None)
        if view.problem is not None:
            self.problem.set_words(view.problem.title, view.problem.text)
        self.cut.setVisible(bool(view.cut))
        self.cut.set_words("It is a long log", view.cut)
        clear_layout(self._results)
        for cause in view.causes:
            card = CauseCard(cause)
            card.acted.connect(self.acted)
            self._results.addWidget(card)
        if view.left_out:
            self._results.addWidget(
                Text(f"{view.left_out} more causes are less likely than these.", "caption", "text_2")
            )
        if view.harmless:
            self._results.addWidget(HarmlessCard(view.harmless))
        if view.asked and not (view.is_looking or view.problem or view.causes):
            self._results.addWidget(Note(*_NOTHING))


class CommonErrors(Card):
    """What there is to learn from where nothing was asked yet: an example of each is explained by a press."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.title("Common errors")
        self.body.addWidget(Text(COMMON_HINT, "body", "text_2"))
        self._flow = FlowLayout(gap=Space.s)
        self.body.addLayout(self._flow)
        self.buttons: list[Button] = []

    def show_errors(self, common: Sequence[CommonError]) -> None:
        clear_layout(self._flow)
        self.buttons = []
        for one in common:
            button = Button(one.title, "quiet", size="small", icon="circle-question-mark")
            button.clicked.connect(lambda _=False, text=one.text: self.chosen.emit(text))
            self._flow.addWidget(button)
            self.buttons.append(button)


class MoreHelp(Card):
    """What explains and finds besides: each is a command of the window."""

    acted = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.title("More help")
        flow = FlowLayout(gap=Space.m)
        self.buttons = [Button(words, "secondary", size="small", icon=icon) for words, icon, _ in MORE]
        for button, (_, _, command) in zip(self.buttons, MORE, strict=True):
            button.clicked.connect(lambda _=False, command=command: self.acted.emit(command))
            flow.addWidget(button)
        self.body.addLayout(flow)
        self.body.addWidget(Text(F1, "caption", "text_2"))


_NOTHING = (
    "Give more of the text",
    "What helps: the lines before the first “Error” or “Traceback”, and the last lines. Of a run of this app, its log "
    "stands on the run's page.",
)


def _file_of(data: QMimeData) -> Path | None:
    """The one file in it."""
    files = local_paths(data)
    return files[0] if len(files) == 1 else None
