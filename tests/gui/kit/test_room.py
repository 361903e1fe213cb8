"""Room for words: nothing is clipped, overlapped or lost at 150% text; no widget makes a window grow past 1440."""

import pytest
from PySide6.QtWidgets import QAbstractButton, QWidget

from tpu_studio.gui.kit import gallery_run, gallery_sheets, paint
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.text import Text

SHEETS = {
    "controls": gallery_sheets.controls,
    "rows": gallery_sheets.rows,
    "states": gallery_sheets.states,
    "run": gallery_run.run_page,
}


@pytest.fixture(params=[*SHEETS])
def sheet(request, qtbot, kit):
    kit.set_text_scale(1.5)
    it = SHEETS[request.param]()
    qtbot.addWidget(it)
    it.show()
    qtbot.waitExposed(it)
    gallery_sheets.settle(it)
    return it


def test_at_150_percent_the_sheets_still_fit_1440(sheet):
    assert sheet.width() == 1440


def test_at_150_percent_no_word_is_cut_and_no_button_lost(sheet):
    whole = sheet.rect()
    for widget in sheet.findChildren(QWidget):
        if not widget.isVisible():
            continue
        if isinstance(widget, Text):
            assert widget.height() >= widget.heightForWidth(widget.width()), widget.text()
        elif isinstance(widget, Button | Pill):
            assert widget.width() >= widget.sizeHint().width(), widget.text()
        if isinstance(widget, QAbstractButton) and widget.window() is sheet:
            corner = widget.mapTo(sheet, widget.rect().bottomRight())
            assert whole.contains(corner), widget.accessibleName() or widget.text()


def test_siblings_do_not_lie_on_each_other(sheet):
    for parent in sheet.findChildren(QWidget):
        texts = [child for child in parent.children() if isinstance(child, Text | Button) and child.isVisible()]
        for index, one in enumerate(texts):
            for other in texts[index + 1 :]:
                assert not one.geometry().adjusted(1, 1, -1, -1).intersects(other.geometry()), (
                    one.text(),
                    other.text(),
                )


def test_lines_broken_by_hand_or_width_are_counted_alike():
    from tpu_studio.gui.kit import fonts

    face = fonts.font("body")
    _layout, one, _width = paint.lay_out("a", face, 200)
    _layout, two, _width = paint.lay_out("a\nb", face, 200)
    assert two == pytest.approx(2 * one)
