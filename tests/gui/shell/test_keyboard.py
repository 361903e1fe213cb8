"""The keyboard reaches everything: on each page Tab comes round, from one control to the next, and leaves none out."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QApplication,
    QComboBox,
    QLineEdit,
    QPushButton,
    QScrollBar,
    QVBoxLayout,
    QWidget,
)

from tests.fakes.hands import Keyboard, named
from tests.fakes.plans import plan
from tests.gui.studios import OpenStudio
from tpu_studio.domain.learning.chapters import chapters

PAGES = ("home", "runs", "models", "account", "learn", "help", "settings", "compare", "run", "plan")


def left_out(window: QWidget, stops: list[QWidget]) -> list[str]:
    """The controls in sight that no press of Tab came to; of a choice, one that is come to brings the arrows to all."""
    groups = {id(group) for stop in stops if isinstance(stop, QAbstractButton) and (group := stop.group())}
    found = []
    for widget in window.findChildren(QWidget):
        if not isinstance(widget, (QAbstractButton, QAbstractSlider, QComboBox, QLineEdit)):
            continue
        if isinstance(widget, QScrollBar):  # the arrows and the page keys move it
            continue
        if not (widget.isVisible() and widget.isEnabled()) or widget in stops or _is_part(widget, stops):
            continue
        if isinstance(widget, QAbstractButton) and id(widget.group()) in groups:
            continue
        found.append(f"{named(widget)} in {type(widget.parent()).__name__}")
    return found


def _is_part(widget: QWidget, stops: list[QWidget]) -> bool:
    """Of a control that is come to, such as the line of a box."""
    return any(stop.isAncestorOf(widget) for stop in stops)


def open_page(qtbot: Any, studio: OpenStudio, page: str) -> None:
    shell, window = studio.shell, studio.window
    if page in ("run", "compare"):
        services = studio.studio.services
        assert services is not None
        studio._trainer[:] = ["--steps", "6", "--step-s", "0.01"]
        made = [services.runs.launch(plan(name=name, steps=6), beside=True) for name in ("one", "two")]
        for run in made:
            studio.wait_over(run)
        if page == "run":
            window.open_run(made[0], "one")
            opened = window.run_page
            qtbot.waitUntil(lambda: opened.page is not None and not opened.page.model.state.value.loading)
        else:
            studio.runs.compared(tuple(made))
            opened = window.page("compare")
            qtbot.waitUntil(lambda: opened.page is not None and len(opened.page.model.state.value.rows) == 2)
    elif page == "plan":
        shell.new_run()
        holder = window.page("plan")
        qtbot.waitUntil(lambda: holder.page is not None)
        holder.model.choose_data("digits", None)
        qtbot.waitUntil(lambda: holder.model.state.value.plan is not None)
    else:
        shell.go(page)
        qtbot.waitUntil(lambda: opened_page(studio) is not None)
        qtbot.waitUntil(lambda: page != "account" or studio.page.again.isEnabled())  # looked at
        qtbot.waitUntil(lambda: page != "help" or bool(opened_page(studio).common.buttons))
    qtbot.waitUntil(lambda: shell.state.value.page == page)
    QApplication.processEvents()


def opened_page(studio: OpenStudio) -> Any:
    return getattr(studio.page, "page", studio.page)


@pytest.mark.parametrize("page", PAGES)
def test_tab_comes_round_and_leaves_no_control_out(qtbot: Any, studio: OpenStudio, page: str) -> None:
    studio.window.activateWindow()
    open_page(qtbot, studio, page)
    stops = Keyboard(studio.window).walk()
    assert left_out(studio.window, stops) == []


def test_tab_comes_round_in_every_chapter_and_in_the_glossary(qtbot: Any, studio: OpenStudio) -> None:
    studio.window.activateWindow()
    open_page(qtbot, studio, "learn")
    page: Any = studio.window.page("learn")
    found: dict[str, list[str]] = {}
    for chapter in chapters():
        page.open_chapter(chapter.id)
        QApplication.processEvents()
        found[chapter.id] = left_out(studio.window, Keyboard(studio.window).walk())
    page.model.show("")
    studio.window.show_term("batch-size")
    QApplication.processEvents()
    found["glossary"] = left_out(studio.window, Keyboard(studio.window).walk())
    assert {where: names for where, names in found.items() if names} == {}


def test_a_control_that_tab_passes_over_is_found(qtbot: Any) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    for words in ("one", "two", "three"):
        column.addWidget(button := QPushButton(words))
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    window.show()
    window.activateWindow()
    assert [words.split()[1] for words in left_out(window, Keyboard(window).walk())] == ["'three'"]
