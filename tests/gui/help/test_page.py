"""The Help page as a person uses it: pasted, dropped, opened, copied elsewhere; and what it never does."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from tests.gui.studios import OpenStudio
from tpu_studio.gui.help.cause import CauseCard
from tpu_studio.gui.help.page import LONGEST, HelpPage
from tpu_studio.gui.kit.rows import Note
from tpu_studio.viewmodels.helping import COMMON, OURS

MEMORY = (
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in "
    "memory space hbm. Used 21.95G of 15.48G hbm. Exceeded hbm capacity by 6.47G."
)


@pytest.fixture
def page(studio: OpenStudio) -> HelpPage:
    studio.shell.go("help")
    page = studio.window.page("help")
    assert isinstance(page, HelpPage)
    return page


def words(page: HelpPage) -> str:
    return "\n".join(label.text() for label in page.findChildren(QLabel) if label.isVisibleTo(page))


def drop(page: HelpPage, data: QMimeData) -> None:
    at = QPointF(QPoint(50, 50))
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    page.dropEvent(QDropEvent(at, copy, data, left, none))


def answered(qtbot, page: HelpPage) -> list[CauseCard]:
    qtbot.waitUntil(lambda: bool(page.model.state.value.answer or page.model.state.value.problem))
    cards: list[CauseCard] = page.findChildren(CauseCard)
    qtbot.waitUntil(lambda: all(card.isVisibleTo(page) for card in cards))  # which their layout does, a moment later
    return cards


def test_a_pasted_error_is_explained_with_its_figures_and_the_next_step(qtbot, page):
    page.text.setPlainText(MEMORY)
    QTest.keyClick(page.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    (card, *_) = answered(qtbot, page)
    assert "memory" in card.accessibleName()
    shown = words(page)
    assert "21.95" in shown and "15.48" in shown and "smaller batch" in shown
    assert "shows a known cause" in shown


def test_a_log_is_dropped_as_a_file_or_as_words(qtbot, page, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text(f"step 1\n{MEMORY}\n")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(log))])
    drop(page, data)
    assert answered(qtbot, page)
    assert "train.log shows" in words(page)
    page.model.clear()
    data = QMimeData()
    data.setText(MEMORY)
    drop(page, data)
    assert answered(qtbot, page)
    assert page.text.toPlainText() == MEMORY


def test_a_log_on_another_computer_is_refused_in_a_sentence(qtbot, page):
    data = QMimeData()
    data.setUrls([QUrl("file://host/share/train.log")])
    drop(page, data)
    qtbot.waitUntil(lambda: page.model.state.value.problem is not None)
    assert "is on another computer and was not opened" in words(page)


def test_ctrl_v_outside_of_fields_explains_what_was_copied_and_inside_it_pastes(qtbot, studio, page):
    QApplication.clipboard().setText(MEMORY)
    studio.shell.go("runs")
    studio.window.activateWindow()
    studio.window.page("runs").setFocus()
    studio.window.act("paste-error")
    assert studio.shell.state.value.page == "help"
    assert answered(qtbot, page)
    page.clear.click()
    page.text.setFocus()
    QTest.keyClick(page.text, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert page.text.toPlainText() == MEMORY
    assert page.model.state.value.asked == ""


def test_the_clipboard_is_not_read_unasked(studio, monkeypatch):
    read = []
    monkeypatch.setattr(QApplication, "clipboard", lambda: read.append(1))
    studio.shell.go("help")
    studio.window.page("help")
    studio.shell.go("home")
    assert read == []


def test_nothing_known_and_nothing_readable_say_what_helps(qtbot, page, tmp_path: Path):
    page.explain_text("all is well")
    answered(qtbot, page)
    assert "No known cause" in words(page)
    assert [note for note in page.findChildren(Note) if note.title.text() == "Give more of the text"]
    assert page.common.isVisibleTo(page)  # it may be one of those
    strange = tmp_path / "model.bin"
    strange.write_bytes(bytes(range(256)) * 20)
    drop_file(page, strange)
    qtbot.waitUntil(lambda: page.model.state.value.problem is not None)
    assert page.problem.title.text() == "That is no text"


def test_what_a_run_of_this_computer_logged_is_not_said_to_come_from_a_rented_tpu(qtbot, studio, page):
    """Its log's *Explain it* leads here: the same text from anywhere may be of a TPU that is charged for."""
    run = studio.launch("here", steps=3)
    studio.wait_over(run)
    studio.window.open_run(run, "here")
    qtbot.waitUntil(lambda: studio.window.run_page.page is not None)

    def means(ask) -> str:
        ask(MEMORY)
        qtbot.waitUntil(lambda: bool(page.model.state.value.causes))
        return " ".join(cause.means for cause in page.model.state.value.causes)

    anywhere = means(page.explain_text)
    assert "rented" in anywhere
    here = means(studio.window.run_page.page.model.ask_explain)
    assert "rented" not in here and here != anywhere
    assert studio.shell.state.value.page == "help"


def test_hostile_words_stay_words(qtbot, page):
    page.explain_text(f"<img src=x onerror=1><b>{MEMORY}</b>")
    (card, *_) = answered(qtbot, page)
    texts = [label for label in card.findChildren(QLabel) if "<b>" in label.text()]
    assert texts and all(label.textFormat() == Qt.TextFormat.PlainText for label in texts)


def test_a_command_is_copied_by_its_button(qtbot, page):
    page.explain_text("The TPU is already in use by process with pid 4321.")
    (card, *_) = answered(qtbot, page)
    card.copies[0].click()
    assert QApplication.clipboard().text() in [step.command for step in page.model.state.value.causes[0].steps]


def test_a_step_speaks_of_the_button_below_where_there_is_one_and_else_of_a_command(qtbot, page):
    page.explain_text(MEMORY)
    answered(qtbot, page)
    causes = page.model.state.value.causes
    assert causes[0].button and causes[0].steps[-1].words.startswith(f"{OURS} “{causes[0].button}”")
    assert not causes[0].steps[-1].command
    page.explain_text("OSError: [Errno 24] Too many open files: 'a.jpg'")
    answered(qtbot, page)
    last = page.model.state.value.causes[0].steps[-1]
    assert last.command == "tpu-studio convert" and page.model.state.value.causes[0].button == ""


def test_everything_is_reached_by_the_keyboard_and_cleared(qtbot, page):
    page.explain_text(MEMORY)
    answered(qtbot, page)
    page.clear.click()
    assert page.text.toPlainText() == "" and page.findChildren(CauseCard) == []
    assert page.answer.isHidden()


def drop_file(page: HelpPage, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    drop(page, data)


def test_a_long_text_is_pasted_into_the_page_and_does_not_stand_in_the_field(qtbot, page):
    """One line of a million letters held the window for half a minute in the field."""
    data = QMimeData()
    data.setText("x" * 300_000 + "\n" + MEMORY)
    page.text.insertFromMimeData(data)
    (card, *_) = answered(qtbot, page)
    assert "memory" in card.accessibleName()
    assert len(page.text.toPlainText()) == LONGEST


def test_a_long_text_is_explained_whole_until_its_field_is_changed(qtbot, page):
    """Explain, pressed again, looked at the beginning alone and knew no cause."""
    data = QMimeData()
    data.setText("step 1: loss 2.3\n" * 4_000 + MEMORY)
    page.text.insertFromMimeData(data)
    answered(qtbot, page)
    assert f"Of its {68_000 + len(MEMORY):,} letters, the first 50,000 are shown" in words(page)
    page.text.restyle()  # another theme or size of letters is no change of the text
    QTest.keyClick(page.text, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    (card, *_) = answered(qtbot, page)
    assert "memory" in card.accessibleName()
    QTest.keyClick(page.text, Qt.Key.Key_X)
    assert "are shown" not in words(page)
    page.button.click()
    qtbot.waitUntil(lambda: "No known cause" in page.model.state.value.answer)
    page.explain_text(MEMORY)
    assert answered(qtbot, page) and "are shown" not in words(page)


def test_what_is_known_not_to_be_rented_stays_so_when_it_is_asked_again(qtbot, page):
    page.explain_text(MEMORY, rented=False)
    answered(qtbot, page)
    page.button.click()
    answered(qtbot, page)
    assert "rented" not in " ".join(cause.means for cause in page.model.state.value.causes)


def test_where_nothing_was_asked_common_errors_are_offered_and_each_is_explained_by_a_press(
    page: HelpPage, qtbot: QtBot
) -> None:
    qtbot.waitUntil(lambda: len(page.common.buttons) == len(COMMON))
    assert page.common.isVisibleTo(page)
    for number, cause in enumerate(COMMON):
        title = page.common.buttons[number].text()
        page.common.buttons[number].click()
        qtbot.waitUntil(lambda: bool(page.model.state.value.causes))
        assert page.model.state.value.causes[0].title == title, cause
        assert page.text.toPlainText() and not page.common.isVisibleTo(page)
        page.clear.click()
        assert page.common.isVisibleTo(page)


def test_learn_the_glossary_and_the_palette_are_reached_from_help(
    page: HelpPage, studio: OpenStudio, qtbot: QtBot
) -> None:
    shown = {button.text(): button for button in page.more.buttons}
    shown["Glossary"].click()
    learn = studio.window.page("learn")
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "learn")
    assert learn.header.title.text() == "Glossary"
    studio.shell.go("help")
    shown["Learn in chapters"].click()
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "learn")
    assert learn.header.title.text() == "Learn"
    studio.shell.go("help")
    acted: list[str] = []
    page.acted.disconnect()
    page.acted.connect(acted.append)
    for button in page.more.buttons:
        button.click()
    assert acted == ["learn", "glossary", "find", "open"]
