"""What the tests of the Plan page look for and press."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.plan.notes import TallNote
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.gui.shell.sheet import Sheet


def as_wide_as(page: PlanPage, width: int, height: int = 900) -> None:
    page.resize(width, height)
    QApplication.processEvents()


def shown_notes(widget: QWidget) -> list[str]:
    QApplication.processEvents()
    return [note.title.text() for note in widget.findChildren(TallNote) if note.isVisible()]


def rented(page: PlanPage, world: World, place: str) -> None:
    """A plan for digits at *place*, chosen as a person does."""
    world.model.choose_data("digits", None)
    page.where_section.place.segment(place).click()
    QApplication.processEvents()


def sheet_of(page: PlanPage) -> Sheet:
    assert page.review is not None and page.review.isVisible()
    return page.review


def press(qtbot: QtBot, sheet: Sheet, words: str) -> None:
    button = next(one for one in sheet.findChildren(Button) if one.text() == words)
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def words_in(widget: QWidget) -> str:
    return " ".join(one.text() for one in widget.findChildren(Text))
