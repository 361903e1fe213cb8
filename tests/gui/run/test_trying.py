"""Waiting for the first characters says why; once they come, nothing but the text is there."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from pytestqt.qtbot import QtBot

from tpu_studio.gui.kit import theme
from tpu_studio.gui.run.trying import TextPanel, Written
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial


def test_while_the_model_is_loaded_the_text_panel_says_so(qtbot: QtBot) -> None:
    facts = SimpleNamespace(subtitle="my diary.txt")
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


def test_what_is_written_grows_with_the_text_size(qtbot: QtBot) -> None:
    written = Written()
    qtbot.addWidget(written)
    before = written.font().pixelSize()
    theme.controller().set_text_scale(1.5)
    try:
        assert written.font().pixelSize() == round(1.5 * before)
    finally:
        theme.controller().set_text_scale(1.0)
