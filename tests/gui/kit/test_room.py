"""Room for words: nothing is clipped, overlapped or lost at 150% text; no widget makes a window grow past 1440."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QAbstractButton, QApplication, QGridLayout, QPlainTextEdit, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, gallery_run, gallery_sheets, paint
from tpu_studio.gui.kit.bars import MemoryBar, MemoryPart
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.choose import Segmented
from tpu_studio.gui.kit.fields import ComboBox, Field
from tpu_studio.gui.kit.numbers import BigNumberRow
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.rows import SummaryRow
from tpu_studio.gui.kit.table import Cell, Column, Table
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import px
from tpu_studio.gui.kit.tokens import Height, Space
from tpu_studio.gui.settings.licences import open_licences

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
    face = fonts.font("body")
    _layout, one, _width = paint.lay_out("a", face, 200)
    _layout, two, _width = paint.lay_out("a\nb", face, 200)
    assert two == pytest.approx(2 * one)


def held(qtbot, *widgets, width):
    window = QWidget()
    column = QVBoxLayout(window)
    for widget in widgets:
        column.addWidget(widget)
    column.addStretch(1)
    window.resize(width, 600)
    qtbot.addWidget(window)
    window.show()
    QApplication.processEvents()
    return window


def test_in_a_card_wider_than_a_form_the_help_of_a_field_is_not_cut(qtbot, kit):
    kit.set_text_scale(1.5)
    choice = Segmented([("a", "Recommended"), ("b", "TensorFlow")], name="Framework")
    field = Field("Framework", choice, "TensorFlow. TensorFlow trains fastest on a processor, above all with pictures.")
    qtbot.kept = held(qtbot, field, width=1000)
    assert field.note.height() >= field.note.heightForWidth(field.note.width()) > kit_line()
    assert choice.height() >= choice.sizeHint().height()


def kit_line():
    """Height of one line of a caption."""
    return paint.lay_out("a", fonts.font("caption"), 1000)[1] + 1


def test_what_a_section_is_called_wraps_and_is_never_shortened(qtbot, kit):
    kit.set_text_scale(1.5)
    row = SummaryRow("Model", "GPT, 124 million weights", "124 million weights", icon="brain")
    qtbot.kept = held(qtbot, row, width=640)
    title = next(one for one in row.findChildren(Text) if one.text() == "GPT, 124 million weights")
    assert title.height() >= title.heightForWidth(title.width()) and row.rect().contains(title.geometry())


def test_the_word_beside_the_memory_bar_lies_neither_on_the_bar_nor_on_its_legend(qtbot, kit):
    kit.set_text_scale(1.5)
    fits = Pill("Does not fit", "bad", icon="circle-x")
    bar = MemoryBar(beside=fits)
    bar.set_memory([MemoryPart(name, 1e9) for name in ("Program", "Model", "Pieces of text")], 1e9, "29 of 17 GB")
    both = QWidget()
    grid = QGridLayout(both)
    grid.addWidget(bar, 0, 0)
    grid.addWidget(fits, 0, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom)
    qtbot.kept = held(qtbot, both, width=420)
    assert fits.y() - bar.y() > Height.bar_memory
    ends = [
        x + 14 + paint.text_width(fonts.font("caption-medium"), name)
        for line in bar._legend_lines(bar.width())
        for _, name, x in line
    ]
    assert len(bar._legend_lines(bar.width())) > 1 and bar.x() + max(ends) < fits.x()
    assert bar.height() >= bar.heightForWidth(bar.width())


def test_the_word_beside_the_memory_bar_stands_in_line_with_its_legend(qtbot, kit):
    fits = Pill("Fits", "ok", icon="check")
    bar = MemoryBar(beside=fits)
    bar.set_memory([MemoryPart(name, 1e9) for name in ("Program", "Model")], 9e9, "2 of 9 GB")
    both = QWidget()
    grid = QGridLayout(both)
    grid.addWidget(bar, 0, 0)
    grid.addWidget(fits, 0, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom)
    qtbot.kept = held(qtbot, both, width=420)
    legend = bar.y() + Height.bar_memory + Space.m + px(18) / 2
    assert abs(fits.geometry().center().y() + 0.5 - legend) <= 1


def test_numbers_keep_their_names_and_the_words_beside_a_bar_their_room(qtbot, kit):
    kit.set_text_scale(1.5)
    row = BigNumberRow("Loss", "Speed on average", "Would have cost", "Time")
    row.tile("Would have cost").set_number("$0.00–$0.01", "of $0.27", "not known exactly", share=0.1)
    qtbot.kept = held(qtbot, row, width=980)
    assert not any(row.tile(name).label.shortened for name in ("Loss", "Speed on average", "Would have cost", "Time"))
    small = BigNumberRow("Loss", "Speed", "Cost", "Time")
    small.tile("Cost").set_number("$0.01", "of $0.27", "about $0.01 at the end", share=0.1)
    qtbot.kept = held(qtbot, small, width=980)
    words = small.tile("Cost").context
    assert words.width() >= paint.text_width(words.font(), "about $0.01")


def test_where_a_table_has_little_room_its_first_column_keeps_its_names(qtbot, kit):
    kit.set_text_scale(1.5)
    columns = (Column("What"), Column("Area", 150), Column("Whose", 190), Column("$ an hour", 140, "number"))
    table = Table(columns, name="What may cost money")
    cost = Cell("under $1,234.56", strong=True)
    table.set_rows([("a", [Cell("Bucket", "tpu-studio-012"), "us-west4-a", "Ours", cost])])
    qtbot.kept = window = held(qtbot, table, width=860)
    assert table.columnWidth(0) >= 180
    assert table.columnWidth(1) >= paint.text_width(fonts.font("secondary"), "us-west4-a") + 20
    assert table.columnWidth(3) >= paint.text_width(fonts.font("row-title", numbers=True), "under $1,234.56") + 28
    window.resize(1400, 600)
    QApplication.processEvents()
    assert table.columnWidth(1) == px(150)


def test_the_answers_of_the_licences_lie_below_their_text_in_a_low_window(qtbot, kit):
    kit.set_text_scale(1.5)
    qtbot.kept = window = held(qtbot, width=1100)
    window.resize(1100, 700)
    sheet = open_licences(window)
    sheet.place()
    QApplication.processEvents()
    text, button = sheet.findChild(QPlainTextEdit), sheet.findChild(Button)
    assert text.mapTo(sheet, text.rect().bottomLeft()).y() < button.mapTo(sheet, button.rect().topLeft()).y()
    assert sheet.card.geometry().contains(QRect(button.mapTo(sheet, QPoint(0, 0)), button.size()))
    sheet.close()


def test_a_choice_that_its_narrow_field_cuts_off_is_whole_on_hover_and_to_a_screen_reader(qtbot, kit):
    long = "One that goes on and on, and then a little further"
    box = ComboBox([("a", "Short"), ("b", long)], "b", name="Choice")
    qtbot.addWidget(box)
    box.resize(120, box.height())
    box.grab()
    assert long in box.toolTip()
    assert QAccessible.queryAccessibleInterface(box).text(QAccessible.Text.Value) == long
    box.set_value("a")
    box.grab()
    assert box.toolTip() == ""
