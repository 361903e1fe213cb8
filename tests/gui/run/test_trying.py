"""Waiting for the first characters says why; once they come, nothing but the text is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.fakes.tasks import InlineTasks
from tpu_studio.gui.kit import theme
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.explainer import Explainer
from tpu_studio.gui.kit.fields import Field
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.run.trying import PassagePanel, PicturePanel, panel_for
from tpu_studio.gui.run.trypictures import PictureRow
from tpu_studio.gui.run.trypieces import MOST_LETTERS, Answers, Written
from tpu_studio.gui.run.trywriting import ChatPanel, TextPanel
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial
from tpu_studio.viewmodels.trying import MOST_PICTURES, Trying
from tpu_studio.wire import kinds, tasks

SORTS = next(task.id for task in tasks.all_tasks() if task.has_classes and task.id in kinds.by_id("text").tasks)


def test_while_the_model_is_loaded_the_text_panel_says_so(qtbot: QtBot) -> None:
    facts = SimpleNamespace(subtitle="my diary.txt", token="token")
    state = SimpleNamespace(value=SimpleNamespace(facts=facts))
    model: Any = SimpleNamespace(state=state, cancel_trial=lambda: None, may_compare=False)
    panel = TextPanel(cast(RunViewModel, model))
    qtbot.addWidget(panel)
    panel.show()
    shown = []
    asked = Trial({"prompt": "Today "}, asking=True)
    for trial in (Trial(), asked, replace(asked, text="I")):
        panel.show_trial(trial)
        shown.append(panel.loading.isVisible())
    assert shown == [False, True, False] and panel.written.toPlainText() == "Today I"
    assert panel.length.accessibleName() == "Tokens to write"


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # of what floats
def test_the_temperature_goes_along_stays_and_explains_itself(qtbot: QtBot, chat: ChatPanel, oracle: Oracle) -> None:
    ask(qtbot, chat, "Who?")
    assert oracle.asked[-1]["temperature"] == 0.8
    qtbot.mouseDClick(chat.temperature, Qt.MouseButton.LeftButton)
    chat.temperature.selectAll()
    qtbot.keyClicks(chat.temperature, "0")
    ask(qtbot, chat, "Why?")
    qtbot.mouseClick(chat.anew, Qt.MouseButton.LeftButton)
    ask(qtbot, chat, "Where?")
    assert [one["temperature"] for one in oracle.asked] == [0.8, 0.0, 0.0]
    field = next(one for one in chat.findChildren(Field) if one.label.text() == "Temperature")
    assert field.property("term") == "temperature" and "likeliest" in chat.temperature.accessibleDescription()
    assert field.question is not None
    qtbot.mouseClick(field.question, Qt.MouseButton.LeftButton)
    (shown,) = chat.findChildren(Explainer)
    assert any("Temperature" in text.text() for text in shown.findChildren(Text))
    shown.close()


def test_a_number_with_two_readings_is_asked_about_before_the_model_is(
    qtbot: QtBot, chat: ChatPanel, oracle: Oracle
) -> None:
    chat.temperature.selectAll()
    qtbot.keyClicks(chat.temperature, "1,500")
    assert chat.temperature.doubt and not chat.button.isEnabled()
    ask(qtbot, chat, "Who?")
    assert oracle.asked == [] and chat.prompt.toPlainText() == "Who?"
    chat.temperature.take("1.5")
    qtbot.keyClick(chat.prompt, Qt.Key.Key_Return)
    assert oracle.asked[-1]["temperature"] == 1.5


def test_a_text_is_asked_about_and_one_of_the_data_tells_what_it_is_there(qtbot: QtBot) -> None:
    asked: list[dict[str, object]] = []
    facts = SimpleNamespace(task=SORTS, kind="text", columns=())
    texts = [
        {"text": "Seen & learned <b>", "class": "good", "kept": False},
        {"text": "A dull day " * 9, "class": "bad", "kept": True},
    ]
    plan = SimpleNamespace(data={"preview": {"texts": texts}})
    state = SimpleNamespace(value=SimpleNamespace(facts=facts))
    panel = panel_for(cast(RunViewModel, SimpleNamespace(state=state, plan=plan, ask=asked.append)))
    assert isinstance(panel, PassagePanel)
    qtbot.addWidget(panel)
    panel.show()

    assert len(panel.samples) == 1 and panel.samples[0].text().endswith(" …")  # what it has learned is no test
    panel.samples[0].click()
    assert asked == [{"prompt": "A dull day " * 9}] and panel.label.text() == "In the data: bad"
    panel.show_trial(Trial({"prompt": "A dull day"}, classes=(("bad", 0.9), ("good", 0.1))))
    assert panel.answers.head.text() == "This is bad"

    panel.prompt.setPlainText("My own words")
    panel.button.click()
    assert asked[-1] == {"prompt": "My own words"} and panel.label.text() == ""


class Oracle:
    """A predictor that answers when told to."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []
        self.answer: Callable[[Mapping[str, object]], None] = lambda answer: None
        self.cancelled = 0
        self.closed = False

    def ask(self, question: Mapping[str, object], on_answer: Callable[[Mapping[str, object]], None]) -> Any:
        self.asked.append(question)
        self.answer = on_answer

        def cancel() -> None:
            self.cancelled += 1

        return cancel

    def close(self) -> None:
        self.closed = True


class Asked(SimpleNamespace):
    """What a panel has of a run's view-model, with the real `Trying`: each new trial is drawn.

    *before*: answers as the model before training. *why*: why it cannot be asked.
    """

    def __init__(
        self,
        oracle: Oracle,
        facts: SimpleNamespace,
        preview: Mapping[str, Any],
        before: Oracle | None = None,
        why: str = "",
    ) -> None:
        drawn: list[Callable[[Trial], None]] = []

        def show(trial: Trial) -> None:
            for draw in drawn:
                draw(trial)

        def look_before(shown: Callable[[str], None]) -> Callable[[], None]:
            shown(why)
            return lambda: None

        trying = Trying(lambda: oracle, lambda: before or oracle, InlineTasks(), show)
        super().__init__(
            state=SimpleNamespace(value=SimpleNamespace(facts=facts)),
            plan=SimpleNamespace(data={"preview": preview}),
            drawn=drawn,
            trying=trying,
            ask=trying.ask,
            say=trying.say,
            new_chat=trying.begin_anew,
            ask_pictures=trying.ask_pictures,
            show_picture=lambda path, side, shown: lambda: None,
            cancel_trial=trying.cancel,
            may_compare=before is not None,
            look_before=look_before,
            compare=trying.compare,
        )


CHATS = {
    "texts": [
        {"text": "Who was there?", "class": "Nobody.", "kept": True},
        {"text": "Learned?", "class": "Yes.", "kept": False},
    ]
}


@pytest.fixture
def oracle() -> Oracle:
    return Oracle()


def shown(qtbot: QtBot, oracle: Oracle, *, chats: bool, before: Oracle | None = None, why: str = "") -> Any:
    task = next(task.id for task in tasks.all_tasks() if task.has_tokens and task.has_chats == chats)
    facts = SimpleNamespace(task=task, kind="text", columns=(), subtitle="pairs.jsonl", token="token", context=128)
    model = Asked(oracle, facts, CHATS, before, why)
    panel = panel_for(cast(RunViewModel, model))
    model.drawn.append(panel.show_trial)
    qtbot.addWidget(panel)
    panel.show()
    panel.show_trial(Trial())
    return panel


@pytest.fixture
def chat(qtbot: QtBot, oracle: Oracle) -> ChatPanel:
    panel = shown(qtbot, oracle, chats=True)
    assert isinstance(panel, ChatPanel)
    return panel


def ask(qtbot: QtBot, panel: ChatPanel, words: str) -> None:
    qtbot.keyClicks(panel.prompt, words)
    qtbot.keyClick(panel.prompt, Qt.Key.Key_Return)


def test_a_question_of_the_data_is_asked_with_a_click(qtbot: QtBot, chat: ChatPanel, oracle: Oracle) -> None:
    samples = [one for one in chat.findChildren(Button) if one.text() == "Who was there?"]
    assert len(samples) == 1 and not [one for one in chat.findChildren(Button) if one.text() == "Learned?"]
    qtbot.mouseClick(samples[0], Qt.MouseButton.LeftButton)
    assert oracle.asked[-1]["prompt"] == "Who was there?" and "turns" not in oracle.asked[-1]
    oracle.answer({"text": "Nobody."})
    assert chat.talk.toPlainText() == "You\nWho was there?\nThe model\nNobody."


def test_the_next_question_goes_along_with_what_was_said(qtbot: QtBot, chat: ChatPanel, oracle: Oracle) -> None:
    ask(qtbot, chat, "Who?")
    assert chat.prompt.toPlainText() == "" and chat.loading.isVisible() and chat.cancel.isVisible()
    for answer in ({"text": "No<b>body", "done": False}, {"text": " ", "done": False}, {"text": ".", "done": True}):
        oracle.answer(answer)
    assert not chat.cancel.isVisible()
    ask(qtbot, chat, "Why?")
    turns = [{"role": "user", "text": "Who?"}, {"role": "assistant", "text": "No<b>body ."}]
    assert (oracle.asked[-1]["prompt"], oracle.asked[-1]["turns"]) == ("Why?", turns)
    oracle.answer({"text": "", "left_out": 1, "done": False})
    oracle.answer({"text": "So."})
    lines = chat.talk.toPlainText().splitlines()
    assert lines[:4] == ["You", "Who?", "The model", "No<b>body ."]
    assert (
        lines[4] == "From here on, the first question and its answer are left out: the model sees 128 tokens at once."
    )
    assert lines[5:] == ["You", "Why?", "The model", "So."]

    qtbot.mouseClick(chat.anew, Qt.MouseButton.LeftButton)
    assert chat.talk.toPlainText() == "" and not chat.anew.isVisible()
    ask(qtbot, chat, "Where?")
    assert "turns" not in oracle.asked[-1]


def test_what_was_stopped_and_what_failed_do_not_go_along(qtbot: QtBot, chat: ChatPanel, oracle: Oracle) -> None:
    ask(qtbot, chat, "Who?")
    oracle.answer({"text": "Nobody.", "done": True})
    ask(qtbot, chat, "Why?")
    oracle.answer({"text": "Because of", "done": False})
    qtbot.mouseClick(chat.cancel, Qt.MouseButton.LeftButton)
    assert oracle.cancelled == 1 and not chat.cancel.isVisible()
    assert chat.talk.toPlainText().endswith("Because of\nStopped. The next question goes without this one.")
    ask(qtbot, chat, "Where?")
    assert [one["text"] for one in oracle.asked[-1]["turns"]] == ["Who?", "Nobody."]
    oracle.answer({"error": {"id": "predict-stopped", "facts": {"code": -9}}})
    assert chat.problem.isVisible() and chat.prompt.toPlainText() == "Where?"  # to be asked again
    qtbot.keyClick(chat.prompt, Qt.Key.Key_Return)
    assert [one["text"] for one in oracle.asked[-1]["turns"]] == ["Who?", "Nobody."]
    oracle.answer({"text": "Here."})
    assert not chat.problem.isVisible() and chat.talk.toPlainText().count("Where?") == 1
    ask(qtbot, chat, "And?")
    assert [one["text"] for one in oracle.asked[-1]["turns"]] == ["Who?", "Nobody.", "Where?", "Here."]


def test_nothing_typed_asks_nothing_and_shift_begins_a_line(qtbot: QtBot, chat: ChatPanel, oracle: Oracle) -> None:
    qtbot.mouseClick(chat.button, Qt.MouseButton.LeftButton)
    assert oracle.asked == []
    qtbot.keyClicks(chat.prompt, "a")
    qtbot.keyClick(chat.prompt, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(chat.prompt, "b")
    qtbot.mouseClick(chat.button, Qt.MouseButton.LeftButton)
    assert [one["prompt"] for one in oracle.asked] == ["a\nb"]


def test_what_is_selected_stays_so_while_the_model_writes(qtbot: QtBot, chat: ChatPanel, oracle: Oracle) -> None:
    ask(qtbot, chat, "Who?")
    oracle.answer({"text": "Nobody", "done": False})
    cursor = chat.talk.textCursor()
    cursor.setPosition(4)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    chat.talk.setTextCursor(cursor)
    oracle.answer({"text": ", I say", "done": False})
    assert chat.talk.textCursor().selectedText() == "Who?" and chat.talk.toPlainText().endswith("Nobody, I say")


def test_of_an_answer_without_end_the_begin_is_laid_out(qtbot: QtBot, chat: ChatPanel, oracle: Oracle) -> None:
    ask(qtbot, chat, "Who?")
    oracle.answer({"text": "a" * 10**6, "done": False})
    oracle.answer({"text": "b" * 10**6, "done": True})
    assert len(chat.talk.toPlainText()) < MOST_LETTERS + 100 and chat.talk.toPlainText().endswith("a…")


def test_the_model_before_training_answers_the_same_beside(qtbot: QtBot, oracle: Oracle) -> None:
    before = Oracle()
    panel = shown(qtbot, oracle, chats=True, before=before)
    assert panel.beside.tick.isEnabled() and not panel.beside.tick.isChecked() and not panel.beside.isVisible()
    ask(qtbot, panel, "Who?")
    oracle.answer({"text": "Nobody."})
    assert before.asked == []

    qtbot.mouseClick(panel.beside.tick, Qt.MouseButton.LeftButton)
    assert before.asked == oracle.asked and panel.beside.isVisible() and panel.after.isVisible()  # what stands there
    assert panel.beside.note.text().startswith("Its first words take") and panel.cancel.isVisible()
    before.answer({"text": "Who asks?"})
    assert panel.beside.written.toPlainText() == "Who asks?" and not panel.cancel.isVisible()

    ask(qtbot, panel, "Why?")
    assert before.asked == oracle.asked and len(before.asked) == 2 and panel.beside.written.toPlainText() == ""
    before.answer({"error": {"id": "predict-stopped", "facts": {"code": -9}}})
    assert "memory" in panel.beside.note.text() and not panel.problem.isVisible()  # the other goes on
    oracle.answer({"text": "So.", "done": False})
    assert panel.talk.toPlainText().endswith("So.")
    qtbot.mouseClick(panel.cancel, Qt.MouseButton.LeftButton)

    qtbot.mouseClick(panel.beside.tick, Qt.MouseButton.LeftButton)
    assert before.closed and not panel.beside.isVisible() and not panel.after.isVisible()  # its memory is free
    ask(qtbot, panel, "Where?")
    assert len(before.asked) == 2


def test_both_go_on_from_the_same_beginning_and_stop_together(qtbot: QtBot, oracle: Oracle) -> None:
    before = Oracle()
    panel = shown(qtbot, oracle, chats=False, before=before)
    qtbot.mouseClick(panel.beside.tick, Qt.MouseButton.LeftButton)
    qtbot.keyClicks(panel.prompt, "Today ")
    qtbot.mouseClick(panel.button, Qt.MouseButton.LeftButton)
    oracle.answer({"text": "I", "done": False})
    before.answer({"text": "he", "done": False})
    assert (panel.written.toPlainText(), panel.beside.written.toPlainText()) == ("Today I", "Today he")
    late = before.answer
    qtbot.mouseClick(panel.cancel, Qt.MouseButton.LeftButton)
    late({"text": " lay", "done": False})
    assert (oracle.cancelled, before.cancelled) == (1, 1) and not panel.cancel.isVisible()
    assert panel.beside.written.toPlainText() == "Today he"


def test_where_the_model_before_training_is_not_here_the_tick_says_why(qtbot: QtBot, oracle: Oracle) -> None:
    panel = shown(qtbot, oracle, chats=True, before=Oracle(), why="What it began from is not on this computer.")
    assert not panel.beside.tick.isEnabled() and panel.beside.why.text().endswith("not on this computer.")
    assert "not on this computer" in panel.beside.tick.accessibleDescription()


def test_of_a_picture_with_several_labels_all_that_are_likely_are_said(qtbot: QtBot) -> None:
    answers = Answers("The answer appears here")
    qtbot.addWidget(answers)
    answers.show()
    shares = {"beach": 0.98, "dog": 0.5, "cat": 0.49, "car": 0.2, "tree": 0.1, "sea": 0.05}
    told = []
    for said in (shares, {"beach": 0.98, "dog": 0.1}, {"cat": 0.49}, dict.fromkeys("abcdefg", 0.9)):
        answers.show_answer(Trial({"image": "a.jpg"}, classes=tuple(said.items()), several=True), "This is ")
        told.append(answers.head.text())
    assert told == ["beach and dog", "beach", "None of the labels", "a, b, c, d, e and 2 more"]


def test_of_a_line_without_end_the_end_is_laid_out(qtbot: QtBot) -> None:
    """A model that somebody sent may write them: each piece of it held the window for seconds."""
    written = Written()
    qtbot.addWidget(written)
    written.show_text("a" * 10**6 + "b", True)
    assert len(written.toPlainText()) == MOST_LETTERS + 1
    assert written.toPlainText().startswith("…a") and written.toPlainText().endswith("ab")
    written.show_text("short", False)
    assert written.toPlainText() == "short"


def test_what_is_written_grows_with_the_text_size(qtbot: QtBot) -> None:
    written = Written()
    qtbot.addWidget(written)
    before = written.font().pixelSize()
    theme.controller().set_text_scale(1.5)
    try:
        assert written.font().pixelSize() == round(1.5 * before)
    finally:
        theme.controller().set_text_scale(1.0)


@pytest.fixture
def pictures(qtbot: QtBot, oracle: Oracle) -> PicturePanel:
    facts = SimpleNamespace(task="", kind="", columns=(), noun="pictures")
    model = Asked(oracle, facts, {})
    panel = PicturePanel(cast(RunViewModel, model), [])
    model.drawn.append(panel.show_trial)
    qtbot.addWidget(panel)
    panel.show()
    panel.show_trial(Trial())
    return panel


def drop(panel: PicturePanel, paths: Sequence[Path]) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    held = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(panel, QDragEnterEvent(QPoint(5, 5), *held))
    QApplication.sendEvent(panel, QDropEvent(QPointF(5, 5), *held))


def made(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"{number}.png" for number in range(count)]
    for path in paths:
        path.write_bytes(b"")
    return paths


def rows(panel: PicturePanel) -> list[tuple[str, str, str]]:
    return [(one.name.text(), one.answer.text(), one.share.text()) for one in panel.findChildren(PictureRow)]


def test_several_pictures_are_asked_about_one_after_another_and_a_broken_one_stops_nothing(
    qtbot: QtBot, pictures: PicturePanel, oracle: Oracle, tmp_path: Path
) -> None:
    paths = made(tmp_path, 3)
    (tmp_path / "notes.txt").write_text("")
    drop(pictures, [*paths, tmp_path / "notes.txt"])
    assert oracle.asked == [{"image": str(paths[0])}] and pictures.several.isVisible()
    oracle.answer({"classes": [{"name": "cat", "probability": 0.93}, {"name": "dog", "probability": 0.07}]})
    broken = {"id": "data-unreadable-picture", "facts": {"path": str(paths[1])}}
    oracle.answer({"error": broken})
    assert rows(pictures)[2] == ("2.png", "Thinking…", "")
    oracle.answer({"classes": [{"name": "dog", "probability": 0.6}]})
    assert [one["image"] for one in oracle.asked] == [str(path) for path in paths]
    first, second, third = rows(pictures)
    assert (first, third) == (("0.png", "cat", "93%"), ("2.png", "dog", "60%"))
    assert second[1] == "No answer" and not pictures.problem.isVisible()
    assert pictures.findChildren(PictureRow)[1].why.text().startswith("“1.png” cannot be read. It may be cut short")

    assert (pictures.name.text(), pictures.answers.head.text()) == ("0.png", "This is cat")
    row = pictures.findChildren(PictureRow)[2]
    assert row.picture.accessibleName() == "2.png: dog 60%"
    qtbot.mouseClick(row.picture, Qt.MouseButton.LeftButton)
    assert (pictures.name.text(), pictures.answers.head.text()) == ("2.png", "Probably dog")

    pictures.ask(str(paths[0]))  # one alone, as ever
    assert not pictures.several.isVisible() and pictures.name.text() == "0.png"
    oracle.answer({"classes": [{"name": "cat", "probability": 0.93}]})
    assert pictures.answers.head.text() == "This is cat"


def test_of_very_many_pictures_the_first_are_asked_about_and_the_rest_is_counted(
    pictures: PicturePanel, oracle: Oracle, tmp_path: Path
) -> None:
    drop(pictures, made(tmp_path, MOST_PICTURES + 5))
    assert pictures.several.note.text().startswith("20 pictures. 5 more were left out")
    for _ in range(MOST_PICTURES):
        oracle.answer({"value": 3.5})
    assert len(oracle.asked) == MOST_PICTURES and {answer for _, answer, _ in rows(pictures)} == {"3.5"}


def test_a_model_that_has_ended_is_not_asked_about_the_other_pictures(
    pictures: PicturePanel, oracle: Oracle, tmp_path: Path
) -> None:
    drop(pictures, made(tmp_path, 3))
    oracle.answer({"error": {"id": "predict-stopped", "facts": {"code": -9}}})
    assert len(oracle.asked) == 1 and pictures.problem.isVisible()
    assert [answer for _, answer, _ in rows(pictures)][1:] == ["Not asked", "Not asked"]


def test_another_question_takes_the_place_of_pictures_that_are_not_asked_yet(
    pictures: PicturePanel, oracle: Oracle, tmp_path: Path
) -> None:
    paths = made(tmp_path, 3)
    drop(pictures, paths[:2])
    late = oracle.answer
    drop(pictures, paths[2:])
    assert oracle.cancelled == 1 and pictures.name.text() == "2.png"
    late({"classes": [{"name": "cat", "probability": 0.9}]})
    assert [one["image"] for one in oracle.asked] == [str(paths[0]), str(paths[2])]
    assert pictures.answers.head.text() == "Thinking…"
