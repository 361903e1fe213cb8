"""What floats over the page: hover texts, explainers and lists leave in sight what they belong to."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from tpu_studio.gui.kit import paint
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.explainer import Explainer
from tpu_studio.gui.kit.fields import ComboBox
from tpu_studio.gui.kit.nav import NavItem, NavRow
from tpu_studio.gui.kit.text import Text

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def column(qtbot: QtBot, *widgets: QWidget) -> QWidget:
    page = QWidget()
    box = QVBoxLayout(page)
    for widget in widgets:
        box.addWidget(widget)
    box.addStretch(1)
    page.resize(500, 700)
    qtbot.addWidget(page)
    page.show()
    qtbot.waitExposed(page)
    return page


def test_the_hover_text_of_a_folded_row_lies_beside_it_and_covers_none_of_the_next(qtbot: QtBot):
    rows = [NavRow(NavItem(str(at), f"Page {at}", "house")) for at in range(4)]
    page = column(qtbot, *rows)
    for row in rows:
        row.setFixedWidth(40)
        row.set_folded(True)
    at = QPoint(10, 10)
    QApplication.sendEvent(rows[0], QHelpEvent(QEvent.Type.ToolTip, at, rows[0].mapToGlobal(at)))
    assert QToolTip.isVisible() and QToolTip.text() == "Page 0"
    tip = next(one for one in QApplication.topLevelWidgets() if one.metaObject().className() == "QTipLabel")
    assert tip.geometry().left() >= rows[0].mapToGlobal(QPoint(rows[0].width(), 0)).x()
    QToolTip.hideText()
    page.close()


def test_an_explainer_leaves_its_field_in_sight(qtbot: QtBot):
    question = Button("?")
    field = QWidget()
    inner = QVBoxLayout(field)
    for widget in (question, ComboBox([("a", "One")]), Text("The hint below", "caption")):
        inner.addWidget(widget)
    page = column(qtbot, field)
    explainer = Explainer("Batch size", "Examples a step.")
    explainer.open_at(question, keeps=field)
    assert explainer.geometry().top() > field.mapToGlobal(QPoint(0, field.height())).y()
    explainer.close()
    page.close()


def test_a_list_opens_below_its_field_with_rows_as_high_as_a_menus(qtbot: QtBot):
    box = ComboBox([(str(at), f"Choice {at}") for at in range(40)], "20")
    page = column(qtbot, box)
    box.showPopup()
    popup = box.view().window()
    below = box.mapToGlobal(QPoint(0, box.height())).y()
    assert below - 2 <= popup.geometry().top() <= below + 4
    assert popup.height() < page.height() / 2  # as many as a person looks through, and the rest scrolls
    assert box.view().sizeHintForRow(0) >= 28
    box.hidePopup()
    page.close()


def test_the_rows_of_a_list_are_not_cut_off_where_its_field_is_narrow(qtbot: QtBot):
    box = ComboBox([("a", "Short"), ("b", "Recommended: falling like a cosine, after a linear warm-up")], "a")
    box.setFixedWidth(160)
    page = column(qtbot, box)
    box.showPopup()
    longest = paint.text_width(box.view().font(), box.itemText(1))
    assert box.view().viewport().width() >= longest + 16  # and its padding
    box.hidePopup()
    page.close()
