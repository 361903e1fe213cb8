"""Waiting for the first characters says why; once they come, nothing but the text is there."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from pytestqt.qtbot import QtBot

from tpu_studio.gui.kit import theme
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.run.trying import ChatPanel, PassagePanel, TextPanel, panel_for
from tpu_studio.gui.run.trypieces import MOST_LETTERS, Answers, Written
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial
from tpu_studio.wire import kinds, tasks

SORTS = next(task.id for task in tasks.all_tasks() if task.has_classes and task.id in kinds.by_id("text").tasks)


def test_while_the_model_is_loaded_the_text_panel_says_so(qtbot: QtBot) -> None:
    facts = SimpleNamespace(subtitle="my diary.txt", token="token")
    model: Any = SimpleNamespace(state=SimpleNamespace(value=SimpleNamespace(facts=facts)), cancel_trial=lambda: None)
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


def test_a_question_is_asked_and_the_answer_stands_alone(qtbot: QtBot) -> None:
    asked: list[dict[str, object]] = []
    answers = next(task.id for task in tasks.all_tasks() if task.has_chats)
    facts = SimpleNamespace(task=answers, kind="text", columns=(), subtitle="pairs.jsonl", token="token")
    texts = [
        {"text": "Who was there?", "class": "Nobody.", "kept": True},
        {"text": "Learned?", "class": "Yes.", "kept": False},
    ]
    plan = SimpleNamespace(data={"preview": {"texts": texts}})
    model = SimpleNamespace(
        state=SimpleNamespace(value=SimpleNamespace(facts=facts)),
        plan=plan,
        ask=asked.append,
        cancel_trial=lambda: None,
    )
    panel = panel_for(cast(RunViewModel, model))
    assert isinstance(panel, ChatPanel)
    qtbot.addWidget(panel)
    panel.show()
    samples = [one for one in panel.findChildren(Button) if one.text() == "Who was there?"]
    assert len(samples) == 1 and not [one for one in panel.findChildren(Button) if one.text() == "Learned?"]
    samples[0].click()
    assert asked[-1]["prompt"] == panel.prompt.toPlainText() == "Who was there?"
    panel.show_trial(Trial({"prompt": "Who was there?"}, text="Nobody."))
    assert panel.written.toPlainText() == "Nobody."


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
