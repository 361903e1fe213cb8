"""The Runs page: finding, sorting, opening, choosing, deleting with undo."""

import shutil
from dataclasses import replace
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from tests.fakes.plans import plan
from tests.fakes.studio import Studio
from tests.gui.studios import open_studio
from tests.unit.viewmodels.test_runs import DONE
from tpu_studio.gui.kit import fonts
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.fields import Field, LineEdit
from tpu_studio.gui.kit.numberedit import DecimalBox
from tpu_studio.gui.kit.paint import text_width
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.kit.theme import controller
from tpu_studio.gui.runs.marking import MarksStrip
from tpu_studio.gui.runs.model import CHOOSE, COST, LOSS, METRIC, NAME, STAR, TIME, WHEN
from tpu_studio.gui.runs.rowpainter import GAP
from tpu_studio.gui.runs.spark import paint_spark
from tpu_studio.gui.runs.table import RunTable
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.runrows import rows_of
from tpu_studio.viewmodels.runs import RunsView


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A home with two finished runs, "apple" and "birch"."""
    there = Studio(tmp_path_factory.mktemp("trained"), "--steps", "5")
    for name in ("apple", "birch"):
        there.wait(there.runs.launch(plan(name=name, steps=5)))
    there.close()
    return there.home


@pytest.fixture
def studio(trained, home, qtbot):
    shutil.copytree(trained, home, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.db*"))
    with open_studio(qtbot, home) as opened:
        yield opened


@pytest.fixture
def page(studio, qtbot):
    """The Runs page with the runs that were `trained`."""
    studio.shell.go("runs")
    qtbot.waitUntil(lambda: len(studio.page.table.runs.rows) == 2)
    return studio.page


def click(qtbot, table, row, column, keys=Qt.KeyboardModifier.NoModifier):
    table.scrollTo(table.runs.index(row, NAME))
    place = table.visualRect(table.runs.index(row, column)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, keys, place)


def test_the_newest_run_stands_first_and_a_click_opens_it(studio, page, qtbot):
    assert [row.name for row in page.table.runs.rows] == ["birch", "apple"]
    click(qtbot, page.table, 0, NAME)
    assert studio.shell.state.value.page == "run"
    assert studio.shell.state.value.run_name == "birch"


def test_typing_finds_runs_and_says_when_there_is_none(page, qtbot):
    qtbot.keyClicks(page.filter, "app")
    assert [row.name for row in page.table.runs.rows] == ["apple"]
    qtbot.keyClicks(page.filter, "xyz")
    assert page._nothing.isVisible() and "appxyz" in page._nothing.text()
    QApplication.processEvents()
    assert page._card.height() >= page._nothing.heightForWidth(page._nothing.width()) + 40  # not squeezed
    qtbot.mouseClick(page.show_all, Qt.MouseButton.LeftButton)
    assert [row.name for row in page.table.runs.rows] == ["birch", "apple"]


def test_a_head_sorts_and_sorts_the_other_way_when_pressed_again(page, qtbot):
    header = page.table.horizontalHeader()
    spot = QPoint(header.sectionViewportPosition(NAME) + 20, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert [row.name for row in page.table.runs.rows] == ["apple", "birch"]
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=spot)
    assert [row.name for row in page.table.runs.rows] == ["birch", "apple"]


def test_several_are_chosen_by_their_boxes_deleted_and_brought_back(studio, page, qtbot):
    assert not page.delete.isVisible()
    click(qtbot, page.table, 0, CHOOSE)
    click(qtbot, page.table, 1, CHOOSE)
    assert page.chosen.text() == "2 selected" and not page.count.isVisible()  # there is not always room for both
    qtbot.mouseClick(page.delete, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: studio.runs.state.value.rows == ())
    assert page.empty.isVisible()
    undo = next(card.action for card in studio.window.notices.cards if card.notice.action == "Undo")
    qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(studio.runs.state.value.rows or ()) == 2)


def test_after_the_notice_has_gone_a_deleted_run_is_brought_back_from_the_list_of_the_deleted(studio, page, qtbot):
    assert not page.deleted.isVisible()
    studio.runs.delete([page.table.runs.rows[0].run])
    qtbot.waitUntil(page.deleted.isVisible)
    qtbot.mouseClick(page.deleted, Qt.MouseButton.LeftButton)
    sheet = studio.window.findChild(Sheet)
    assert sheet.title.text() == "Deleted runs"
    studio.studio.settings.set(text_size=150)
    qtbot.waitUntil(lambda: sheet._area.height() >= sheet._area.widget().sizeHint().height())
    studio.studio.settings.set(text_size=100)
    back = next(button for button in sheet.findChildren(Button) if button.accessibleName() == "Bring birch back")
    qtbot.mouseClick(back, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: [row.name for row in studio.runs.state.value.rows] == ["birch", "apple"])
    assert "Nothing is deleted any more." in [words.text() for words in sheet.findChildren(Text) if words.isVisible()]
    qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert not page.deleted.isVisible()


def test_what_was_deleted_is_removed_for_good_only_after_a_second_yes(studio, page, qtbot, home):
    studio.runs.delete([row.run for row in page.table.runs.rows])
    qtbot.waitUntil(page.deleted.isVisible)

    def press(words):
        sheet = next(one for one in studio.window.findChildren(Sheet) if one.isVisible())
        button = next(one for one in sheet.findChildren(Button) if one.text() == words)
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    for answer, left in (("Keep", 2), ("Remove for good", 0)):
        qtbot.mouseClick(page.deleted, Qt.MouseButton.LeftButton)
        press("Delete all permanently…")
        press(answer)
        qtbot.waitUntil(lambda left=left: len(studio.runs.state.value.deleted) == left)
        qtbot.waitUntil(lambda left=left: len(list((home / "trash").iterdir())) == left)
    assert not page.deleted.isVisible()


def test_the_keyboard_alone_walks_chooses_opens_and_deletes(studio, page, qtbot):
    studio.window.activateWindow()
    page.table.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.waitUntil(page.table.hasFocus)
    qtbot.keyClick(page.table, Qt.Key.Key_Down)
    qtbot.keyClick(page.table, Qt.Key.Key_Space)
    assert page.table.runs.chosen == {page.table.runs.rows[1].run}
    qtbot.keyClick(page.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: len(studio.runs.state.value.rows) == 1)
    page.table.setFocus(Qt.FocusReason.TabFocusReason)
    page.table.setCurrentIndex(page.table.runs.index(0, NAME))
    qtbot.keyClick(page.table, Qt.Key.Key_Return)
    assert studio.shell.state.value.page == "run"


def test_a_run_that_goes_on_cannot_be_deleted_and_the_button_says_why(studio, page, qtbot):
    run = studio.launch("cedar", "--step-s", "0.2", steps=100)
    qtbot.waitUntil(lambda: studio.runs.state.value.row(run) is not None, timeout=10_000)
    page.table.runs.toggle(run)
    assert not page.delete.isEnabled() and "stop it first" in page.delete.toolTip()
    studio.studio.services.runs.stop(run, keep=False)
    studio.wait_over(run)


def test_training_longer_asks_how_much_and_leads_to_the_run(studio, page, qtbot):
    run = page.table.runs.rows[0].run
    page.table.runs.toggle(run)
    qtbot.mouseClick(page.extend, Qt.MouseButton.LeftButton)
    sheet = studio.window.findChild(Sheet)
    assert "Train birch longer?" in sheet.title.text()
    go = next(button for button in sheet.findChildren(type(page.extend)) if button.text() == "Train longer")
    qtbot.mouseClick(go, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(
        lambda: studio.shell.state.value.run == run and studio.shell.state.value.page == "run", timeout=15_000
    )
    qtbot.waitUntil(lambda: studio.runs.state.value.row(run).seconds > 0)
    studio.wait_over(run)


def test_a_screen_reader_hears_the_whole_row(page):
    said = page.table.runs.index(0, NAME).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said.startswith("birch") and "Finished" in said and "cost $0.00" in said
    assert "Loss from" in page.table.runs.index(0, LOSS).data(Qt.ItemDataRole.AccessibleTextRole)


def test_columns_give_way_to_the_name_in_a_narrow_window_the_least_needed_first(studio, page):
    table = page.table
    studio.window.resize(1440, 900)
    assert not table.isColumnHidden(LOSS)
    table.resize(560, 300)
    assert table.isColumnHidden(LOSS) and not table.isColumnHidden(METRIC)
    assert table.columnWidth(NAME) >= 150


def test_a_small_curve_with_a_gap_is_painted_and_one_point_draws_nothing(qapp):
    def dots(values):
        image = QImage(100, 30, QImage.Format.Format_ARGB32)
        image.fill(0)
        painter = QPainter(image)
        paint_spark(painter, QRectF(0, 0, 100, 30), values)
        painter.end()
        return sum(image.pixelColor(x, y).alpha() > 100 for x in range(100) for y in range(30))

    assert dots([1.0]) == 0
    assert dots([3.0, float("nan"), 1.0, 2.0]) > 20
    assert dots([1.0, 1.0, 1.0]) > 50


def test_rows_that_only_change_keep_the_chosen_ones(page):
    model = page.table.runs
    model.toggle(model.rows[0].run)
    kept = set(model.chosen)
    model.set_rows(tuple(model.rows))
    assert model.chosen == kept and DONE.run not in model.chosen


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_a_cost_is_never_shortened_and_the_time_gives_way_first(qtbot, scale):
    controller().set_text_scale(scale)
    try:
        table = RunTable(choosing=True)
        qtbot.addWidget(table)
        table.resize(1006, 400)
        table.show()
        (done,) = rows_of([DONE])
        table.set_rows([done, replace(done, run="b", place_id="practice", usd=1234.56, usd_most=1240.0)])
        assert not table.isColumnHidden(COST)
        room = table.columnWidth(COST) - GAP
        assert room >= text_width(fonts.font("body-medium", numbers=True), "$1,240.00")
        assert room >= text_width(fonts.font("caption"), "practice, at most")
        assert table.isColumnHidden(TIME) is (scale > 1)
        table.set_rows([done])
        assert not table.isColumnHidden(TIME)
    finally:
        controller().set_text_scale(1.0)


def test_what_can_be_done_to_a_run_lies_beside_the_search_at_150_percent(studio, page, qtbot):
    for width in (1100, 1250):
        studio.window.resize(width, 700)
        studio.studio.settings.set(text_size=150)
        click(qtbot, page.table, 0, CHOOSE)
        try:
            QApplication.processEvents()
            places = [part.geometry() for part in (page.filter, page.chosen, page.extend, page.export, page.delete)]
            assert all(one.right() < other.left() for one, other in pairwise(places))
            assert places[-1].right() < page._bar.width()
            click(qtbot, page.table, 0, CHOOSE)
        finally:
            studio.studio.settings.set(text_size=100)


def test_enter_in_the_number_trains_longer(studio, page, qtbot):
    run = page.table.runs.rows[0].run
    page.table.runs.toggle(run)
    qtbot.mouseClick(page.extend, Qt.MouseButton.LeftButton)
    box = studio.window.findChild(Sheet).findChild(DecimalBox)
    assert studio.window.focusWidget() is box and box.selectedText() == "1"
    qtbot.keyClick(box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: studio.shell.state.value.run == run, timeout=15_000)
    studio.wait_over(run)


def test_the_keys_go_from_the_search_to_the_first_and_last_run_and_choose_all(studio, page, qtbot):
    studio.window.activateWindow()
    page.filter.setFocus()
    qtbot.keyClicks(page.filter, "ap")
    qtbot.keyClick(page.filter, Qt.Key.Key_Escape)
    assert page.filter.text() == "" and page.table.runs.rowCount() == 2
    qtbot.keyClick(page.filter, Qt.Key.Key_Down)
    assert page.table.hasFocus() and page.table.currentIndex().row() == 0
    for key, row in ((Qt.Key.Key_End, 1), (Qt.Key.Key_Home, 0)):
        qtbot.keyClick(page.table, key)
        assert page.table.currentIndex().row() == row
    qtbot.keyClick(page.table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert page.table.runs.chosen == {row.run for row in page.table.runs.rows}


def test_shift_chooses_all_from_the_one_chosen_last_and_opens_nothing(qtbot):
    table = RunTable(choosing=True)
    qtbot.addWidget(table)
    opened = []
    table.opened.connect(opened.append)
    table.resize(970, 400)
    table.show()
    table.set_rows(rows_of([replace(DONE, run=run, created=at) for at, run in enumerate("edcba")]))
    click(qtbot, table, 3, CHOOSE)
    click(qtbot, table, 1, NAME, Qt.KeyboardModifier.ShiftModifier)
    assert table.runs.chosen == {"b", "c", "d"} and not opened


def test_a_long_first_reading_says_how_far_it_is(studio, page):
    page._draw(RunsView(reading=(340, 1000)))
    assert page.skeleton.isVisible() and "340 of 1,000 runs are read" in page.reading.text()
    page._draw(studio.runs.state.value)
    assert not page.reading.isVisible()


def pressed(menu, words):
    action = next(one for one in menu.actions() if one.text().partition("\t")[0] == words)
    assert action.isEnabled()
    action.trigger()


def test_a_run_is_renamed_by_f2_and_shown_so_everywhere_until_the_name_is_taken_out(studio, page, qtbot):
    run = page.table.runs.rows[1].run
    studio.window.activateWindow()
    page.table.setFocus(Qt.FocusReason.TabFocusReason)
    page.table.setCurrentIndex(page.table.runs.index(1, NAME))
    qtbot.keyClick(page.table, Qt.Key.Key_F2)
    sheet = next(one for one in studio.window.findChildren(Sheet) if one.isVisible())
    field = sheet.findChild(LineEdit)
    assert (field.text(), field.selectedText()) == ("apple", "apple")
    qtbot.keyClicks(field, "  pear   tree ")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: studio.runs.state.value.row(run).name == "pear tree")
    page._open(run)
    qtbot.waitUntil(lambda: studio.window.run_page.page is not None)
    shown = studio.window.run_page.page
    assert shown.header.title.text() == "pear tree"
    shown.findChild(MarksStrip).rename.click()
    field = opened_sheet(studio).findChild(LineEdit)
    field.clear()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: shown.header.title.text() == "apple")


def test_a_run_is_deleted_from_its_own_page_and_comes_back(studio, page, qtbot):
    run = page.table.runs.rows[0].run
    page._open(run)
    qtbot.waitUntil(lambda: studio.window.run_page.page is not None)
    strip = studio.window.run_page.page.findChild(MarksStrip)
    qtbot.waitUntil(strip.isVisible)
    qtbot.mouseClick(strip.delete, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "runs" and studio.runs.state.value.row(run) is None)
    notice = next(one for one in studio.shell.state.value.notices if one.action == "Undo")
    notice.act()
    qtbot.waitUntil(lambda: studio.runs.state.value.row(run) is not None)


def opened_sheet(studio):
    return next(one for one in studio.window.findChildren(Sheet) if one.isVisible())


def test_a_star_is_put_on_by_a_press_and_the_list_shows_those_alone(studio, page, qtbot):
    assert not page.starred.isVisible()  # there is none yet
    click(qtbot, page.table, 1, STAR)
    qtbot.waitUntil(lambda: page.table.runs.rows[1].mark.star)
    assert page.table.runs.index(1, STAR).data(Qt.ItemDataRole.AccessibleTextRole) == "Starred"
    assert page.starred.isVisible()
    page.starred.click()
    assert [row.name for row in page.table.runs.rows] == ["apple"]
    pressed(page.menu_of(page.table.runs.rows[0]), "Take the star off")
    qtbot.waitUntil(lambda: not page.table.isVisible())
    assert page._nothing.text() == "No run with a star yet."
    page.show_all.click()
    assert len(page.table.runs.rows) == 2 and not page.starred.isVisible()


def test_tags_are_typed_between_commas_and_what_cannot_be_one_is_told_before_it_is_saved(studio, page, qtbot):
    run = page.table.runs.rows[0].run
    pressed(page.menu_of(page.table.runs.rows[0]), "Tags…")
    sheet = opened_sheet(studio)
    edit, field = sheet.findChild(LineEdit), sheet.findChild(Field)
    save = next(one for one in sheet.findChildren(Button) if one.text() == "Save")
    edit.setText("x" * 200)
    assert field.error == "A tag has at most 40 letters" and not save.isEnabled()
    edit.setText("baseline, warm-up,")
    assert not field.error and save.isEnabled()
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: studio.runs.state.value.row(run).mark.tags == ("baseline", "warm-up"))
    page.filter.setText("warm-up")
    assert [row.run for row in page.table.runs.rows] == [run]
    assert not page.grab().isNull()  # chips and all
    pressed(page.menu_of(page.table.runs.rows[0]), "Tags…")
    sheet = opened_sheet(studio)
    sheet.findChild(LineEdit).setText("baseline")
    qtbot.keyClick(sheet.findChild(LineEdit), Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: studio.runs.state.value.row(run).mark.tags == ("baseline",))


def test_the_run_page_shows_tags_and_the_note_and_one_writes_it_there(studio, page, qtbot):
    run = page.table.runs.rows[0].run
    page._open(run)
    qtbot.waitUntil(lambda: studio.window.run_page.page is not None)
    strip = studio.window.run_page.page.findChild(MarksStrip)
    qtbot.waitUntil(strip.isVisible)
    strip.star.click()
    qtbot.waitUntil(lambda: studio.runs.state.value.row(run).mark.star and strip.star.isChecked())
    before = strip.tags.x()
    studio.runs.tag(run, ("baseline", "first"))
    qtbot.waitUntil(lambda: strip.tags.x() > before)  # behind the tags, and never below them
    row = [one.geometry() for one in (strip.star, *strip._chips, strip.tags, strip.write)]
    assert all(one.right() < other.left() for one, other in pairwise(row))
    strip.write.click()
    sheet = opened_sheet(studio)
    edit = sheet.findChild(QPlainTextEdit)
    save = next(one for one in sheet.findChildren(Button) if one.text() == "Save")
    edit.setPlainText("x" * 10_000)
    assert sheet.findChild(Field).error == "A note has at most 2,000 letters" and not save.isEnabled()
    edit.setPlainText("<b>falls apart</b>\nabove 0.01")
    qtbot.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: strip.note.text() == "<b>falls apart</b>\nabove 0.01")  # words, never markup
    assert strip.write.text() == "Change the note…"


def test_any_run_is_the_start_of_the_next_one_from_its_menu_and_by_ctrl_d(studio, page, qtbot):
    pressed(page.menu_of(page.table.runs.rows[0]), "Duplicate and edit")
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "plan")
    holder = studio.window.page("plan")
    qtbot.waitUntil(lambda: holder.page is not None and holder.model.state.value.job.name == "birch")
    studio.shell.go("runs")
    page.table.setFocus(Qt.FocusReason.TabFocusReason)
    page.table.setCurrentIndex(page.table.runs.index(1, NAME))
    qtbot.keyClick(page.table, Qt.Key.Key_D, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "plan")
    qtbot.waitUntil(lambda: holder.model.state.value.job.name == "apple")


def test_the_menu_renames_too(studio, page):
    pressed(page.menu_of(page.table.runs.rows[0]), "Rename…")
    sheet = next(one for one in studio.window.findChildren(Sheet) if one.isVisible())
    assert sheet.title.text() == "Rename birch"
    sheet.close()


def test_each_run_says_when_it_was_started_also_where_the_column_has_no_room(page):
    table = page.table
    table.resize(1300, 300)
    assert table.has_dates and table.runs.index(0, WHEN).data().startswith("today ")
    assert "today" in table.runs.index(0, NAME).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "Started" in table.runs.index(0, NAME).data(Qt.ItemDataRole.ToolTipRole)
    narrow = table.grab(table.visualRect(table.runs.index(0, NAME))).toImage()
    table.resize(560, 300)
    assert not table.has_dates
    dated = table.grab(table.visualRect(table.runs.index(0, NAME))).toImage()
    assert dated != narrow
