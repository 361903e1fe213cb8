"""No word of the window is cut off, on any page, in the least window, at its usual size and half as large again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLabel, QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.plans import plan
from tests.gui.studios import OpenStudio
from tpu_studio.gui.kit import paint, theme
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.fields import ComboBox, LineEdit
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.text import Line, Text

LEAST = (1100, 700)
SETTLES_S = 60.0
OF_THE_DATA = ("today ", os.sep)
"""What a table shows of a run below its name, and paths: shortened, and whole on hover."""
Painted = Callable[[QWidget], list[str]]


def cut_off(window: QWidget, painted: Painted) -> list[str]:
    found = []
    for widget in window.findChildren(QWidget):
        if not widget.isVisible():
            continue
        words = _words(widget)
        if isinstance(widget, Text) and widget.height() < widget.heightForWidth(widget.width()):
            found.append(f"too low for: {words}")
        elif isinstance(widget, Line) and widget.shortened:
            found.append(f"shortened: {words}")
        elif isinstance(widget, Button | Pill) and words and widget.width() < widget.sizeHint().width():
            found.append(f"too narrow for: {words}")
        elif isinstance(widget, QLineEdit) and _needs(widget) > widget.width():
            found.append(f"too narrow for: {widget.placeholderText()}")
        if words and (beyond := _beyond(widget)):
            found.append(f"{beyond} pixels beyond what holds it: {words}")
    return [one for one in (*found, *painted(window)) if not one.partition(": ")[2].startswith(OF_THE_DATA)]


def _words(widget: QWidget) -> str:
    return widget.text() if isinstance(widget, QLabel | QAbstractButton) else ""


def _needs(field: QLineEdit) -> int:
    inside = isinstance(field.parent(), QComboBox)
    return 0 if inside else field.fontMetrics().horizontalAdvance(field.placeholderText())


def _beyond(widget: QWidget) -> int:
    """Pixels of it that lie left or right of something that it stands in."""
    most, parent = 0, widget.parentWidget()
    while parent is not None and not parent.isWindow():
        left = widget.mapTo(parent, QPoint(0, 0)).x()
        most = max(most, -left, left + widget.width() - parent.width())
        parent = parent.parentWidget()
    return most


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> Painted:
    """What is too long for the place in which it is painted, in a picture of a window."""
    long: list[str] = []
    draw = paint.draw_text

    def watched(painter: Any, rect: Any, text: str, font: Any, *rest: Any, **more: Any) -> float:
        if text and paint.text_width(font, text) > rect.width() + 1.0:
            long.append(f"painted: {text}")
        return draw(painter, rect, text, font, *rest, **more)

    def look(window: QWidget) -> list[str]:
        long.clear()
        window.grab()
        return [*dict.fromkeys(long)]

    monkeypatch.setattr(paint, "draw_text", watched)
    return look


@pytest.mark.parametrize("percent", [100, 150])
def test_no_word_of_any_page_is_cut_off(qtbot: QtBot, studio: OpenStudio, painted: Painted, percent: int) -> None:
    """Help was 158 pixels wider than the least window at 150 %, and what Compare draws was “Loss (train…”."""
    services, shell, window = studio.studio.services, studio.shell, studio.window
    assert services is not None
    studio._trainer[:] = ["--steps", "6", "--step-s", "0.01", "--at", "2:speed", "--at", "5:speed"]
    runs = [services.runs.launch(plan(name=name, steps=6, usd_per_hour=36.0), beside=True) for name in ("one", "two")]
    for run in runs:
        studio.wait_over(run)
    studio.studio.settings.set(text_size=percent)
    window.resize(*LEAST)
    found: dict[str, list[str]] = {}

    def look(page: str) -> None:
        assert (window.width(), window.height()) == LEAST
        until = time.monotonic() + SETTLES_S  # cards are laid out one after another
        qtbot.wait(50)
        while (found.update({page: cut_off(window, painted)}) or found[page]) and time.monotonic() < until:
            qtbot.wait(50)

    for page in ("home", "runs", "models", "account", "learn", "help", "settings"):
        shell.go(page)
        qtbot.waitUntil(lambda page=page: shell.state.value.page == page)  # type: ignore[misc]
        qtbot.waitUntil(lambda: getattr(studio.page, "page", studio.page) is not None)
        look(page)
    window.act("glossary")
    look("glossary")
    studio.runs.compared(tuple(runs))
    compare: Any = window.page("compare")
    qtbot.waitUntil(lambda: compare.page is not None and len(compare.page.model.state.value.rows) == 2)
    look("compare")
    window.open_run(runs[0], "one")
    held: Any = window.run_page
    qtbot.waitUntil(lambda: held.page is not None and not held.page.model.state.value.loading)
    look("run")
    shell.new_run()
    holder: Any = window.page("plan")
    qtbot.waitUntil(lambda: holder.page is not None)
    look("plan, nothing chosen")
    holder.model.choose_data("digits", None)
    qtbot.waitUntil(lambda: holder.model.state.value.plan is not None)
    look("plan")
    assert {page: words for page, words in found.items() if words} == {}


def test_the_look_finds_what_is_cut_off(qtbot: QtBot, painted: Painted, qapp: Any) -> None:
    theme.install(qapp, mode="light")
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    long = "Words that are longer than there is room"
    for widget in (Text(long), Line(long), Button(long), LineEdit(placeholder=long), ComboBox([("a", long)])):
        widget.setFixedSize(80, 22)
        column.addWidget(widget)
    held = QWidget(window)
    column.addWidget(held)
    outside = Button("Out", parent=held)
    window.resize(200, 400)
    window.show()
    outside.move(held.width() - 10, 0)
    found = cut_off(window, painted)
    kinds = ("too low", "shortened", "too narrow", "pixels beyond", "painted")
    assert all(any(kind in one for one in found) for kind in kinds), found
    assert sum("too narrow" in one for one in found) == 2
