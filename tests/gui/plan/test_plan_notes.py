"""A note in a narrow place: its title is not squeezed by its button."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tpu_studio.gui.plan.notes import TallNote


def at_width(qtbot: QtBot, note: TallNote, width: int) -> None:
    page = note.parentWidget() or QWidget()
    if note.parentWidget() is None:
        QVBoxLayout(page).addWidget(note)
        page.layout().setContentsMargins(0, 0, 0, 0)
        qtbot.addWidget(page)
        page.show()
        qtbot.kept = page
    page.resize(width, 300)
    QApplication.processEvents()


def test_the_button_stands_beside_a_short_title_and_below_one_that_it_would_squeeze(qtbot: QtBot):
    note = TallNote("Nothing is charged here, so the cost limit does nothing", "It can stay.", "warn", "Take it out")
    assert note.button is not None
    at_width(qtbot, note, 640)
    assert note.button.geometry().left() >= note.title.geometry().right()
    at_width(qtbot, note, 260)
    assert note.button.geometry().top() >= note.text.geometry().bottom()
    assert note.title.height() <= 3 * note.title.minimumSizeHint().height()
    at_width(qtbot, note, 640)
    assert note.button.geometry().left() >= note.title.geometry().right()
