"""Rows, bars, timeline, sidebar, table, dialog, notices and explainer."""

from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, Qt, QUrl
from PySide6.QtGui import QAccessible, QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from tpu_studio.gui.kit import fonts, theme
from tpu_studio.gui.kit.bars import MemoryBar, MemoryPart, ProgressBar, QuotaBar
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.card import PageHeader, Scroll
from tpu_studio.gui.kit.events import EventLine, EventList
from tpu_studio.gui.kit.explainer import Explainer, Help
from tpu_studio.gui.kit.nav import NavItem, Sidebar
from tpu_studio.gui.kit.notice import Notices
from tpu_studio.gui.kit.numbers import BigNumberRow
from tpu_studio.gui.kit.pill import Pill
from tpu_studio.gui.kit.rail import Step, StepRail
from tpu_studio.gui.kit.rows import Note, SummaryRow
from tpu_studio.gui.kit.states import DropZone, EmptyState
from tpu_studio.gui.kit.table import Cell, Column, Table
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import ink
from tpu_studio.gui.kit.timeline import Stage, StageTimeline

Key = Qt.Key


def shown(qtbot, widget, width=900, height=600):
    window = QWidget()
    window.resize(width, height)
    column = QVBoxLayout(window)
    column.addWidget(widget)
    column.addStretch(1)
    qtbot.addWidget(window)
    qtbot.kept = window  # qtbot itself holds it weakly
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return window


def test_the_timeline_is_told_in_full_to_a_screen_reader(qtbot):
    line = StageTimeline(
        [Stage("Queued", "done", "2 min"), Stage("Training", "current", "18 of about 30 min", 0.62, 2.6)]
    )
    shown(qtbot, line)
    assert line.accessibleName() == "Queued: done, 2 min. Training: going on, 62%, 18 of about 30 min"
    assert QAccessible.queryAccessibleInterface(line).role() == QAccessible.Role.StaticText


def test_training_is_wider_and_short_stages_still_fit_their_words(qtbot):
    stages = [Stage(name, "done", "1 min 42 s") for name in ("Getting TPU", "Setting up", "Compiling")]
    line = StageTimeline([*stages, Stage("Training", "current", "18 of about 30 min", 0.5, 2.6)])
    shown(qtbot, line, width=480)
    boxes = line._boxes()
    assert boxes[-1][1].width() > boxes[0][1].width()
    for stage, box in boxes:
        assert box.width() >= line._needs(stage) - 1
    assert boxes[-1][1].right() == pytest.approx(line.width(), abs=1)


def test_a_quota_of_zero_is_not_an_empty_bar(qtbot):
    unused, forbidden = QuotaBar(0, 16, name="v5e"), QuotaBar(0, 0, name="v6e")
    window = shown(qtbot, unused)
    window.layout().addWidget(forbidden)
    assert unused.accessibleDescription() == "0 of 16 in use"
    assert forbidden.accessibleDescription() == "none allowed"
    forbidden.show()
    assert unused.grab().toImage() != forbidden.grab().toImage()


def test_a_progress_bar_is_one_to_a_screen_reader_with_its_value(qtbot):
    bar = ProgressBar(0.25, name="Reading pictures")
    shown(qtbot, bar)
    bar.set_share(0.5, "4 of 8 folders")
    told = QAccessible.queryAccessibleInterface(bar)
    assert told.role() == QAccessible.Role.ProgressBar
    assert bar.value() == 500
    assert bar.accessibleDescription() == "4 of 8 folders"


def test_memory_is_told_with_its_parts(qtbot):
    bar = MemoryBar()
    bar.set_memory([MemoryPart("Weights", 4e9), MemoryPart("Pictures", 4e9)], 16e9, "8 of 16 GB")
    shown(qtbot, bar)
    assert bar.accessibleName() == "Memory: 8 of 16 GB. Weights 25%, Pictures 25%"


def test_a_big_number_changes_in_place_and_turns_grey_with_its_age(qtbot):
    row = BigNumberRow("Loss", "Speed")
    shown(qtbot, row)
    tile = row.tile("Loss")
    tile.set_number("0.412", "", "was 0.468 ten minutes ago", icon="trending-down", tone="ok")
    before = tile.geometry()
    tile.set_number("0.409", "", "was 0.468 ten minutes ago", stale="40 s ago")
    assert tile.context.text() == "40 s ago"
    assert "0.409" in tile.accessibleName()
    assert tile.geometry() == before


def test_a_big_number_may_have_a_second_line_that_the_hover_explains(qtbot):
    row = BigNumberRow("Loss", "Speed")
    shown(qtbot, row)
    tile = row.tile("Speed")
    tile.set_number("128", "pictures/s", "4 steps a second", more="TPU busy 71%", hover="As it tells.")
    assert tile.more.isVisible()
    assert (tile._more.toolTip(), tile.accessibleDescription()) == ("As it tells.",) * 2
    assert "TPU busy 71%" in tile.accessibleName()
    tile.set_number("128", "pictures/s", "4 steps a second", counts="Of steps alone.")
    assert (tile.toolTip(), tile.figure.toolTip(), tile.accessibleDescription()) == ("Of steps alone.",) * 3
    tile.set_number("128", "pictures/s", "4 steps a second", more="TPU busy 71%", stale="40 s ago")
    assert not tile.more.isVisible()  # of then, not of now


def test_the_sidebar_chooses_pages_by_keyboard_and_folds(qtbot):
    bar = Sidebar([NavItem("home", "Home", "house"), NavItem("runs", "Runs", "activity")])
    shown(qtbot, bar)
    bar.select("home")
    bar.set_live("runs")
    assert bar.row("runs").accessibleName() == "Runs, Live"
    bar.row("runs").setFocus(Qt.FocusReason.TabFocusReason)
    with qtbot.waitSignal(bar.page_chosen, check_params_cb=lambda key: key == "runs"):
        qtbot.keyClick(bar.row("runs"), Key.Key_Space)
    assert bar.width() == 224
    bar.adapt(1200)
    assert bar.folded
    assert bar.width() == 64
    assert bar.row("runs").toolTip() == "Runs"
    assert bar.new_button.accessibleName() == "New run"
    bar.adapt(1400)
    assert bar.width() == 224


def test_select_nothing_for_a_page_outside_the_sidebar(qtbot):
    bar = Sidebar([NavItem("home", "Home", "house"), NavItem("runs", "Runs", "activity")])
    shown(qtbot, bar)
    bar.select("home")
    bar.select("")
    assert not any(bar.row(key).isChecked() for key in ("home", "runs"))
    bar.select("runs")
    assert bar.row("runs").isChecked()


def test_words_wrap_inside_a_long_name_and_never_leave_their_box(qtbot):
    name = "flowers-" + "x" * 120
    words = Text(name)
    shown(qtbot, words, width=200)
    assert words.width() < 200
    assert words.heightForWidth(180) >= 4 * words.fontMetrics().height()


def test_a_line_too_long_ends_in_an_ellipsis_and_says_all_on_hover(qtbot):
    line = Line("A run with quite a long name that does not fit", fit=False)
    window = shown(qtbot, line, width=140)
    assert line.shortened
    assert line.toolTip() == line.text()
    window.resize(800, 100)
    qtbot.waitUntil(lambda: not line.shortened)
    assert line.toolTip() == ""


def test_markup_in_words_is_shown_not_obeyed(qtbot):
    words = Text("<b>R&D</b>")
    shown(qtbot, words)
    assert QAccessible.queryAccessibleInterface(words).text(QAccessible.Text.Name) == "<b>R&D</b>"


def test_summary_row_and_note_offer_their_action(qtbot):
    row = SummaryRow("Model", "Vision Transformer, small", "22 million weights", icon="brain")
    note = Note("Chips are part idle", "1,000 does not divide.", "warn", action="Use 1,024")
    window = shown(qtbot, row)
    window.layout().addWidget(note)
    with qtbot.waitSignal(row.change):
        row.button.click()
    assert row.button.accessibleName() == "Change model"
    with qtbot.waitSignal(note.acted):
        note.button.click()


def test_the_rail_says_where_each_step_stands_and_goes_there(qtbot):
    rail = StepRail(2)
    rail.set_steps(
        [Step("model", "Model", "ViT, small", "done"), Step("data", "Data", "2 suggestions", "current", "warn")]
    )
    shown(qtbot, rail)
    rows = rail.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    assert [row.accessibleName() for row in rows] == ["Model, ViT, small, done", "Data, 2 suggestions, current step"]
    with qtbot.waitSignal(rail.chosen, check_params_cb=lambda key: key == "data"):
        qtbot.keyClick(rows[1], Key.Key_Space)


def test_events_change_without_building_all_rows_anew(qtbot):
    said = EventList()
    shown(qtbot, said)
    said.set_lines([EventLine("14:20", "cpu", "Model built")])
    first = said.findChildren(Text)[0]
    said.set_lines(
        [EventLine("14:21", "play", "First training step", "accent"), EventLine("14:20", "cpu", "Model built")]
    )
    assert [words.text() for words in said.findChildren(Text)] == ["First training step", "Model built"]
    assert said.findChildren(Text)[0] is first
    said.set_lines([])
    assert not [words for words in said.findChildren(Text) if words.isVisible()]


def table_of(qtbot, rows):
    table = Table([Column("Run"), Column("Cost", 80, "number")], name="Recent runs")
    table.set_rows(rows)
    shown(qtbot, table)
    return table


def test_enter_opens_the_row_of_a_table_and_arrows_walk_it(qtbot):
    table = table_of(qtbot, [("a", ["one", "$1.00"]), ("b", [Cell("two", "below", strong=True), "$2.00"])])
    table.setFocus()
    table.selectRow(0)
    qtbot.keyClick(table, Key.Key_Down)
    assert table.value == "b"
    with qtbot.waitSignal(table.opened, check_params_cb=lambda key: key == "b"):
        qtbot.keyClick(table, Key.Key_Return)


def test_a_number_in_a_table_is_never_shortened(qtbot):
    table = table_of(qtbot, [("a", ["one", "$1,234,567.89"])])
    assert table.columnWidth(1) > 80


@pytest.mark.parametrize("contrast", ["normal", "high"])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_selected_row_is_readable_with_and_without_the_focus(qtbot, kit, mode, contrast):
    """Over Qt's own blue stood dark words, as soon as a menu or a dialog was open."""
    kit.mode, kit.contrast = mode, contrast
    kit.apply()
    table = table_of(qtbot, [("a", ["one", "$1.00"]), ("b", ["two", "$2.00"])])
    table.selectRow(1)
    for focused in (False, True):
        if focused:
            table.setFocus()
        else:
            table.clearFocus()
        ground = table.viewport().grab().toImage().pixelColor(4, table.rowHeight(0) + 20)
        assert ground.name() == ink("hover").name()


def test_new_figures_keep_the_selected_row(qtbot):
    table = table_of(qtbot, [("a", ["one", "$1.00"]), ("b", ["two", "$2.00"])])
    table.selectRow(1)
    table.set_rows([("a", ["one", "$1.10"]), ("b", ["two", "$2.20"])])
    assert table.value == "b"


def test_a_cell_is_spoken_with_its_column(qtbot):
    table = table_of(qtbot, [("a", [Cell("one", "Vision Transformer"), "$1.00"])])
    spoken = table.model().index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Run: one, Vision Transformer"


def test_a_notice_goes_after_its_time_and_undo_reaches_its_owner(qtbot):
    window = QWidget()
    window.resize(900, 600)
    qtbot.addWidget(window)
    window.show()
    notices = Notices(window)
    first = notices.show("Deleted flowers-vit-1", action="Undo")
    second = notices.show("Saved", stays_ms=40)
    assert first.geometry().bottom() < second.geometry().top() <= 600
    with qtbot.waitSignal(second.gone, timeout=2000):
        pass
    with qtbot.waitSignal(first.acted):
        first.button.click()


def test_a_notice_stays_while_it_is_pointed_at(qtbot, monkeypatch):
    button = Button("Elsewhere")
    window = shown(qtbot, button, 1800, 1200)
    button.setFocus()
    notice = Notices(window).show("Deleted", stays_ms=30)
    monkeypatch.setattr(notice, "underMouse", lambda: True)
    notice._time_is_up()
    assert notice.isVisible()
    monkeypatch.setattr(notice, "underMouse", lambda: False)
    with qtbot.waitSignal(notice.gone, timeout=2000):
        pass


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
def test_the_explainer_closes_by_escape_and_gives_the_focus_back(qtbot):
    button = Button("Input-bound 34%")
    shown(qtbot, button)
    button.setFocus()
    explainer = Explainer("Input-bound", "The TPU waits.", [Help("Keep pictures in memory", "Do it", "cache")])
    explainer.open_at(button)
    qtbot.waitExposed(explainer)
    assert explainer.accessibleName() == "Input-bound. The TPU waits."
    qtbot.keyClick(explainer, Key.Key_Escape)
    qtbot.waitUntil(lambda: button.hasFocus())


def test_an_empty_place_has_one_first_step_and_a_quiet_alternative(qtbot):
    empty = EmptyState("No runs yet", action="Train a tiny model here", alternative="Take the tour")
    shown(qtbot, empty)
    with qtbot.waitSignal(empty.acted):
        empty.button.click()
    quiet = next(button for button in empty.findChildren(Button) if button.kind == "quiet")
    with qtbot.waitSignal(empty.turned):
        quiet.click()


def test_dropped_files_arrive_as_paths(qtbot, tmp_path):
    zone = DropZone("Drop pictures here")
    shown(qtbot, zone)
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path))])
    spot = QPointF(10, 10)
    kinds = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(spot.toPoint(), *kinds)
    QApplication.sendEvent(zone, enter)
    assert enter.isAccepted()
    with qtbot.waitSignal(zone.dropped, check_params_cb=lambda paths: paths == [Path(tmp_path)]):
        QApplication.sendEvent(zone, QDropEvent(spot, *kinds))


def test_files_of_another_computer_are_left_to_the_window_which_refuses_them(qtbot):
    zone = DropZone("Drop a key here")
    shown(qtbot, zone)
    data = QMimeData()
    data.setUrls([QUrl("file://host/share/key.json")])
    held = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(QPointF(10, 10).toPoint(), *held)
    QApplication.sendEvent(zone, enter)
    assert not enter.isAccepted()


def test_actions_of_a_page_stand_below_its_title_where_there_is_little_room(qtbot):
    buttons = [Button(words) for words in ("Open folder", "Export…", "Train longer…", "Resume")]
    header = PageHeader("hands-that-count", "Small CNN · hands · this computer", *buttons)
    window = shown(qtbot, header, width=1000)
    assert buttons[0].mapTo(header, buttons[0].rect().topLeft()).x() > 300
    window.resize(560, 600)
    qtbot.waitUntil(lambda: header.width() < 560)
    QApplication.processEvents()
    places = [button.mapTo(header, button.rect().topLeft()) for button in buttons]
    assert places[0].x() == 0
    assert all(place.y() >= header.sentence.geometry().bottom() for place in places)
    assert places[-1].x() + buttons[-1].width() <= header.width()
    buttons[1].hide()
    buttons[2].hide()
    qtbot.waitUntil(lambda: buttons[0].mapTo(header, buttons[0].rect().topLeft()).x() > 200)


def test_more_actions_than_a_line_holds_wrap_and_none_is_lost(qtbot):
    theme.controller().set_text_scale(1.5)
    names = ("Stopped by you", "Open folder", "Export…", "Train longer…", "Duplicate and edit", "Resume")
    buttons = [Pill(names[0]), *(Button(words) for words in names[1:])]
    header = PageHeader("hands-that-count", "Small CNN · hands · this computer", *buttons)
    qtbot.kept = window = shown(qtbot, header, width=960)
    QApplication.processEvents()
    assert window.width() == 960
    boxes = [QRect(button.mapTo(header, QPoint(0, 0)), button.size()) for button in buttons]
    middles = sorted(box.center().y() for box in boxes)
    assert sum(lower - upper > 1 for upper, lower in pairwise(middles)) == 1  # two lines, each on its middle
    assert all(
        header.rect().contains(box) and box.size() == button.sizeHint()
        for box, button in zip(boxes, buttons, strict=True)
    )
    assert boxes[0].y() >= header.sentence.geometry().bottom()


def test_a_limit_is_never_cut_off_its_number_grows_smaller_instead(qtbot):
    theme.controller().set_text_scale(1.5)
    row = BigNumberRow("Loss", "Speed", "Cost", "Time")
    row.tile("Cost").set_number("$0.00", "of $0.60")
    shown(qtbot, row, width=840)
    QApplication.processEvents()
    figure = row.tile("Cost").figure
    full = figure.extent(*(fonts.font(role, numbers=True) for role in ("big-number", "body")))
    assert figure.extent(*figure.fitting()) <= figure.width() < full
    figure.resize(400, figure.height())
    assert figure.extent(*figure.fitting()) == pytest.approx(full, abs=1)
    theme.controller().set_text_scale(1.0)


def test_the_numbers_of_one_row_are_as_large_as_one_another(qtbot):
    row = BigNumberRow("Validation loss", "Speed", "Cost", "Time")
    row.tile("Validation loss").set_number("0.576")
    row.tile("Speed").set_number("12,345,678", "pictures/s")
    shown(qtbot, row, width=700)
    QApplication.processEvents()
    sizes = {row.tile(name).figure.fitting()[0].pixelSize() for name in ("Validation loss", "Speed", "Cost", "Time")}
    assert len(sizes) == 1 and sizes < set(range(fonts.font("big-number").pixelSize()))


def test_the_context_of_a_big_number_has_room_for_two_lines(qtbot):
    row = BigNumberRow("Loss", "Speed", "Validation accuracy", "Time")
    for name in ("Loss", "Speed", "Validation accuracy", "Time"):
        row.tile(name).set_number("1.03", "", "was 2.66 at the start of it all", icon="clock")
    shown(qtbot, row, width=560)
    QApplication.processEvents()
    context = row.tile("Loss").context
    assert context.height() >= context.heightForWidth(context.width())
    assert context.heightForWidth(context.width()) > 1.5 * context.heightForWidth(2000)


def test_tab_into_a_scrolled_page_brings_what_it_reaches_into_view(qtbot):
    outside, inside = Button("Outside"), QWidget()
    column = QVBoxLayout(inside)
    buttons = [Button(f"Button {number}") for number in range(30)]
    for button in buttons:
        column.addWidget(button)
    whole = QWidget()
    around = QVBoxLayout(whole)
    around.addWidget(outside)
    around.addWidget(scroll := Scroll(inside))
    shown(qtbot, whole, width=400)
    whole.window().resize(400, 300)
    whole.window().activateWindow()
    QApplication.processEvents()
    bar = scroll.verticalScrollBar()
    bar.setValue(bar.maximum())
    outside.setFocus()
    qtbot.waitUntil(outside.hasFocus)
    assert bar.value() > 200
    qtbot.keyClick(outside, Qt.Key.Key_Tab)
    assert buttons[0].hasFocus() and not buttons[0].visibleRegion().isEmpty()
