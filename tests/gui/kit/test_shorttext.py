"""A field of running text that takes so much of what is pasted as it lays out at once."""

from __future__ import annotations

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QTextCursor

from tpu_studio.gui.kit.shorttext import ShortText


def pasted(text: str) -> QMimeData:
    data = QMimeData()
    data.setText(text)
    return data


def test_what_does_not_fit_is_left_out_and_that_is_said(qtbot):
    field = ShortText("begin ", most=20)
    qtbot.addWidget(field)
    field.moveCursor(QTextCursor.MoveOperation.End)
    field.insertFromMimeData(pasted("and end"))
    assert field.toPlainText() == "begin and end" and field.accessibleDescription() == ""
    field.insertFromMimeData(pasted("x" * 600_000))
    assert field.toPlainText() == "begin and end" + "x" * 7
    assert "20 letters" in field.accessibleDescription() and "clipboard still has it" in field.accessibleDescription()
    field.selectAll()
    field.insertFromMimeData(pasted("y" * 20))  # in the place of what is chosen
    assert field.toPlainText() == "y" * 20
    field.setPlainText("z" * 600_000)
    assert field.toPlainText() == "z" * 20
