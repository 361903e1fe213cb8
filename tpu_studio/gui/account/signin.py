"""Signing in, guided: a sheet with the ways in as numbered steps, and the sheet that waits for the browser.

Draws ``viewmodels.signin``. The first way is gcloud, also where it is absent; one's own client is walked through.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QVBoxLayout, QWidget

from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import Scroll, clear_layout
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.fields import ComboBox, Field, LineEdit
from tpu_studio.gui.kit.flow import FlowLayout
from tpu_studio.gui.kit.pill import Icon
from tpu_studio.gui.kit.rows import Note
from tpu_studio.gui.kit.states import DropZone, NumberMark
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Space
from tpu_studio.gui.kit.tooltip import plain
from tpu_studio.gui.shell.sheet import Sheet, Tall
from tpu_studio.viewmodels.account import AccountViewModel
from tpu_studio.viewmodels.accountview import AccountView
from tpu_studio.viewmodels.signin import UNVERIFIED, WAYS, GuideView, SignInGuide, Step, page_errors

LOOK_MS = 2000  # how often it is looked whether gcloud has come
SECOND_MS = 1000


def ask_sign_in(over: QWidget, model: AccountViewModel) -> Sheet:
    """How to sign in, step by step."""
    guide = model.guide()
    view = guide.state.value
    sheet = Sheet(over, view.title, view.sentence, width=700)
    if view.practice:
        words = "These are the steps at Google, needed once. Here you can go through them without an account."
        sheet.body.addWidget(Note("Practice: nothing here is real", words, "accent", icon="flask-conical"))
    ways = Segmented(WAYS, view.way, name="How to sign in")
    ways.changed.connect(guide.choose)
    sheet.body.addWidget(ways)
    steps = _Steps(guide)
    sheet.body.addWidget(Tall(Scroll(steps), lambda width: steps.heightForWidth(width) + 4), 1)
    problem = Note("", "", "bad")
    sheet.body.addWidget(problem)
    missing = Text("", "caption", "warn")
    sheet.body.addWidget(missing)
    sheet.answer("Not now", safe=True)

    def press() -> None:
        if guide.state.value.ends:
            sheet.close()  # first, so that the focus is back on the page when the browser's sheet comes
        guide.go()

    go = sheet.answer(view.verb, press, kind="primary", stays=True)

    def draw(seen: GuideView) -> None:
        ways.set_value(seen.way)
        steps.draw(seen)
        problem.setVisible(seen.problem is not None)
        if seen.problem is not None:
            problem.set_words(seen.problem.title, seen.problem.text)
        missing.setText(seen.missing)
        missing.setVisible(bool(seen.missing))
        go.setText(seen.verb)
        go.setEnabled(seen.may_go)

    timer = QTimer(sheet)
    timer.setInterval(LOOK_MS)
    timer.timeout.connect(guide.look)
    end = guide.state.subscribe(draw)

    def closed() -> None:
        timer.stop()
        end()

    sheet.closed = closed
    timer.start()
    sheet.open()
    return sheet


class _Steps(QWidget):
    """The numbered steps of one way; built anew only when they differ."""

    def __init__(self, guide: SignInGuide) -> None:
        super().__init__()
        self._guide = guide
        self._shown: object = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, Space.m, 0)
        self._column.setSpacing(Space.gap)

    def draw(self, view: GuideView) -> None:
        wanted = (view.way, view.about, view.steps)
        if wanted == self._shown:
            return
        focus: QWidget | None = self.window().focusWidget()
        had = focus.accessibleName() if focus is not None and self.isAncestorOf(focus) else ""
        self._shown = wanted
        clear_layout(self._column)
        self._column.addWidget(Text(view.about, "secondary", "text_2"))
        for number, step in enumerate(view.steps, 1):
            self._column.addLayout(self._step(number, step, view))
        self._column.addStretch(1)
        if had:
            again = next((one for one in self.findChildren(QWidget) if one.accessibleName() == had), None)
            if again is not None:
                again.setFocus(Qt.FocusReason.OtherFocusReason)

    def _step(self, number: int, step: Step, view: GuideView) -> QVBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.l)
        mark = Icon("circle-check", "ok", size=26) if step.done else NumberMark(number)
        row.addWidget(mark, 0, Qt.AlignmentFlag.AlignTop)
        words = QVBoxLayout()
        words.setSpacing(Space.hair)
        title = Text(step.title, "row-title")
        if step.done:
            title.setAccessibleName(f"{step.title}: done")
        words.addWidget(title)
        if step.text:
            words.addWidget(Text(step.text, "secondary", "text_2"))
        row.addLayout(words, 1)
        if step.link:
            link = Button(step.link_words, size="small", icon="external-link", name=f"{step.link_words}: {step.title}")
            link.setToolTip(plain(step.link))
            link.clicked.connect(lambda _=False, link=step.link: QDesktopServices.openUrl(QUrl(link)))
            row.addWidget(link, 0, Qt.AlignmentFlag.AlignTop)
        whole = QVBoxLayout()
        whole.setSpacing(Space.m)
        whole.addLayout(row)
        if step.command or step.drop:
            below = QHBoxLayout()
            below.setContentsMargins(px(26) + Space.l, 0, 0, 0)
            below.addWidget(_command(step.command) if step.command else self._drop(step, view), 1)
            whole.addLayout(below)
        return whole

    def _drop(self, step: Step, view: GuideView) -> QWidget:
        take = self._guide.take_client if view.way == "client" else self._guide.take_key
        zone = DropZone(step.drop, "It is only read, and checked at once.", action="Choose the file…", icon="file-code")
        zone.dropped.connect(lambda paths: take(paths[0]))
        zone.browse.connect(lambda: _choose(self, step.drop, take))
        if not (view.practice and view.way == "client"):
            return zone
        both = QWidget()
        column = QVBoxLayout(both)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.m)
        column.addWidget(zone)
        save = Button("Save a practice file…", "quiet", size="small", icon="download")
        save.clicked.connect(self._save)
        column.addWidget(save, 0, Qt.AlignmentFlag.AlignLeft)
        return both

    def _save(self) -> None:
        dialog = QFileDialog(self.window(), "Where should the practice file go?", str(Path.home()))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly, True)
        dialog.fileSelected.connect(lambda folder: self._guide.save_practice_file(Path(folder)))
        dialog.open()


def show_waiting(over: QWidget, model: AccountViewModel) -> Sheet:
    """While the browser is open: how long, the page once more, its link, and what it says where it blocks."""
    sheet = Sheet(over, "Confirm in your browser", model.waiting.sentence, width=600)
    elapsed = Text("", "body-medium", numbers=True)
    sheet.body.addWidget(elapsed)
    row = QWidget()
    buttons = FlowLayout(row, gap=Space.m)
    again = Button("Open again", icon="external-link")
    again.clicked.connect(model.open_again)
    copy = Button("Copy the link", icon="copy")
    copy.clicked.connect(lambda: _copy(copy, model.waiting.address))
    for button in (again, copy):
        buttons.addWidget(button)
    sheet.body.addWidget(row)
    sheet.body.addWidget(Text(UNVERIFIED, "secondary", "text_2"))
    errors = {code: (meaning, action) for code, meaning, action in page_errors()}
    which = ComboBox([("", "Google shows no error"), *((code, f"Error: {code}") for code in errors)])
    field = Field("Google shows an error", which)
    which.chosen.connect(lambda code: field.set_help(" ".join(errors.get(code, ()))))
    sheet.body.addWidget(field)
    sheet.answer("Stop waiting", model.cancel_sign_in, safe=True)

    def look() -> None:
        waiting = model.waiting
        sheet.sentence.setText(waiting.sentence)
        elapsed.setText(f"{waiting.words(model.now())}.")
        for button in (again, copy):
            button.setEnabled(bool(waiting.address))

    timer = QTimer(sheet)
    timer.setInterval(SECOND_MS)
    timer.timeout.connect(look)

    def draw(view: AccountView) -> None:
        if not view.signing_in:
            sheet.close()

    end = model.state.subscribe(draw)

    def closed() -> None:
        timer.stop()
        end()

    sheet.closed = closed
    look()
    timer.start()
    QTimer.singleShot(100, sheet, look)  # the address is there at once, mostly
    sheet.open()
    return sheet


def _command(words: str) -> QWidget:
    line = LineEdit(words, name="Command")
    line.setReadOnly(True)
    copy = Button("Copy it", size="small", icon="copy", name="Copy the command")
    copy.clicked.connect(lambda: _copy(copy, words))
    box = QWidget()
    row = QHBoxLayout(box)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(Space.m)
    row.addWidget(line, 1)
    row.addWidget(copy)
    return box


def _copy(button: Button, words: str) -> None:
    QGuiApplication.clipboard().setText(words)
    button.setText("Copied")


def _choose(over: QWidget, title: str, then: object) -> None:
    dialog = QFileDialog(over.window(), title, str(Path.home()))
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    dialog.setNameFilter("JSON (*.json)")
    dialog.fileSelected.connect(lambda path: then(Path(path)))  # type: ignore[operator]
    dialog.open()
