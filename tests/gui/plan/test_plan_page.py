"""The Plan page as a person uses it: with the mouse, with the keyboard alone, wide, narrow and with large text."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tests.gui.plan.pages import as_wide_as, shown_notes, words_in
from tpu_studio.gui.kit import theme
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.explainer import Explainer
from tpu_studio.gui.kit.fields import LineEdit
from tpu_studio.gui.plan.notes import TallNote
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.shell import PlanRequest


def test_from_nothing_to_a_started_run_with_the_mouse(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1300)
    qtbot.mouseClick(page.data_section.kinds.card("digits"), Qt.MouseButton.LeftButton)
    assert page.card.figures.headline.text() != "–"
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    assert world.launched[0][0] == world.view.plan
    assert world.started


def test_a_plan_that_cannot_start_does_not_look_as_if_it_could(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1300)
    button = page.card.start.button
    assert (button.text(), button.kind) == ("Show what is missing", "secondary")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert page.data_section.isAncestorOf(page.focusWidget()) and not world.started
    qtbot.mouseClick(page.data_section.kinds.card("digits"), Qt.MouseButton.LeftButton)
    assert (button.text(), button.kind) == ("Start training", "primary")


def test_a_run_is_named_from_the_head_of_its_plan(qtbot: QtBot, page: PlanPage, world: World):
    world.model.choose_data("digits", None)
    qtbot.mouseClick(page.name, Qt.MouseButton.LeftButton)
    sheet = page.window().findChild(Sheet)
    field = sheet.findChild(LineEdit)
    assert field.text() == field.selectedText() == world.view.name
    qtbot.keyClicks(field, "  seven fingers ")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert world.view.name == "seven fingers" and world.view.plan.job.name == "seven fingers"
    world.model.choose_data("text", None)
    assert world.view.name == "seven fingers"  # what somebody has called it stays


def test_from_nothing_to_a_started_run_with_the_keyboard_alone(qtbot: QtBot, page: PlanPage, world: World):
    page.activateWindow()
    cards = [page.data_section.kinds.card(kind) for kind in ("images", "table", "text", "digits")]
    for _ in range(40):
        if page.focusWidget() in cards:
            break
        qtbot.keyClick(page.focusWidget() or page, Qt.Key.Key_Tab)
    for _ in range(6):
        if page.focusWidget() is cards[3]:
            break
        qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Down)
    qtbot.keyClick(page.focusWidget(), Qt.Key.Key_Space)
    assert world.view.job["data.kind"] == "digits"
    qtbot.keyClick(page.focusWidget() or page, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert world.started


def test_a_file_to_begin_with_opens_folded_and_can_be_changed(
    qtbot: QtBot, page: PlanPage, world: World, tmp_path: Path
):
    file = tmp_path / "digits.tpujob"
    file.write_text('format = 1\nname = "digits"\n[model]\nname = "small-cnn"\n[data]\nkind = "digits"\n')
    page.start(PlanRequest(1, job=file))
    assert page.model_section.row.isVisible()
    assert page.data_section.row.isVisible()
    qtbot.mouseClick(page.model_section.row.button, Qt.MouseButton.LeftButton)
    assert page.model_section.card.isVisible()
    qtbot.mouseClick(page.model_section.group.card("mlp"), Qt.MouseButton.LeftButton)
    assert world.view.job["model.name"] == "mlp"
    assert page.model_section.row.isVisible()


def test_dropped_data_begins_a_plan(page: PlanPage, world: World, tmp_path: Path):
    page.start(PlanRequest(1, data=tmp_path, data_kind="images"))
    assert world.view.job["data.path"] == str(tmp_path)
    assert world.view.plan is not None


def test_typing_into_a_field_changes_the_estimate_with_every_letter(qtbot: QtBot, page: PlanPage, world: World):
    world.model.choose_data("digits", None)
    box = page.settings_section.box("training.epochs")
    assert box is not None
    assert box.line is not None
    before = world.view.plan
    box.line.setFocus()
    box.line.selectAll()
    qtbot.keyClicks(box.line, "9")
    assert world.view.job["training.epochs"] == 9
    assert world.view.plan != before
    qtbot.keyClicks(box.line, "9")
    assert world.view.job["training.epochs"] == 99
    assert box.line.text() == "99"


def test_a_wrong_value_is_told_under_its_field_and_start_says_why_it_does_not(
    qtbot: QtBot, page: PlanPage, world: World
):
    as_wide_as(page, 1300)
    world.model.choose_data("digits", None)
    box = page.settings_section.box("training.global_batch")
    assert box is not None
    assert box.line is not None
    assert box.field is not None
    box.line.setFocus()
    box.line.selectAll()
    qtbot.keyClicks(box.line, "0")
    assert box.field.error == "It may be 1 to 1,048,576."
    assert page.card.start.note.text() == "A value needs correcting."
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    assert not world.launched
    assert box.line.hasFocus()


def test_start_leads_to_a_wrong_value_also_behind_more_settings(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1300)
    world.model.choose_data("digits", None)
    more = page.settings_section.more
    more.unfold(True)
    box = page.settings_section.box("training.seed")
    assert box is not None
    assert box.line is not None
    box.line.setFocus()
    box.line.selectAll()
    qtbot.keyClicks(box.line, "x")
    more.unfold(False)
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    assert more.is_unfolded
    assert box.line.hasFocus()


def test_clearing_a_field_brings_the_recommended_value_back(qtbot: QtBot, page: PlanPage, world: World):
    world.model.choose_data("digits", None)
    box = page.settings_section.box("training.learning_rate")
    assert box is not None
    assert box.line is not None
    box.line.setFocus()
    box.line.selectAll()
    qtbot.keyClicks(box.line, "0.5")
    assert world.view.job["training.learning_rate"] == 0.5
    box.line.selectAll()
    qtbot.keyClick(box.line, Qt.Key.Key_Delete)
    assert "training.learning_rate" not in world.view.job.given
    box.line.clearFocus()
    assert box.line.text() == "0.001"


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_explainer_says_what_is_recommended_and_why_and_brings_it_back(qtbot: QtBot, page: PlanPage, world: World):
    world.model.choose_data("digits", None)
    world.model.set("training.learning_rate", 0.5)
    box = page.settings_section.box("training.learning_rate")
    assert box is not None
    assert box.line is not None
    box.line.setFocus()
    assert page.explain()
    explainer = page.findChild(Explainer)
    assert explainer is not None
    use = next(button for button in explainer.findChildren(Button) if button.text() == "Use it")
    qtbot.mouseClick(use, Qt.MouseButton.LeftButton)
    assert "training.learning_rate" not in world.view.job.given


def test_more_settings_hold_every_other_key_and_work(qtbot: QtBot, page: PlanPage, world: World):
    world.model.choose_data("images", Path("/hands"))
    qtbot.mouseClick(page.settings_section.more.button, Qt.MouseButton.LeftButton)
    combo = page.settings_section.box("training.optimizer")
    assert combo is not None
    assert combo.combo is not None
    combo.combo.setCurrentIndex(combo.combo.findData("sgd"))
    combo.combo.activated.emit(combo.combo.currentIndex())
    assert world.view.job["training.optimizer"] == "sgd"
    switch = page.settings_section.box("data.augment")
    assert switch is not None
    assert switch.switch is not None
    assert switch.switch.isChecked()
    switch.switch.switch.click()
    assert world.view.job["data.augment"] is False


def test_a_warning_is_repaired_with_one_press(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1300)
    world.model.choose_data("images", Path("/hands"))
    page.where_section.framework.segment("jax").click()
    assert shown_notes(page.card) == ["JAX is about three times slower here with pictures"]
    note = next(note for note in page.card.findChildren(TallNote) if note.isVisible())
    assert note.button is not None
    qtbot.mouseClick(note.button, Qt.MouseButton.LeftButton)
    assert world.view.plan is not None
    assert world.view.plan.framework == "tensorflow"
    assert shown_notes(page.card) == []


def test_the_estimates_badge_has_room_for_its_words_from_the_first_picture(page: PlanPage, world: World):
    as_wide_as(page, 1240)
    world.model.choose_data("digits", None)
    QApplication.processEvents()
    pill = page.card.pill
    for timing, words in (("none", "Rough"), ("measuring", "Timing real steps")):
        page.card.draw(replace(world.view, timing=timing))
        assert pill.text() == words and pill.width() == pill.sizeHint().width()
        assert pill.geometry().right() < page.card.width()


def test_the_limit_is_moved_with_the_arrow_keys(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1300)
    world.model.choose_data("text", Path("/plays.txt"))
    world.model.set("where.usd_per_hour", 3.0)
    track = page.card.figures.limit.track
    assert world.view.plan is not None
    before = world.view.plan.limits.money_usd
    track.setFocus()
    qtbot.keyClick(track, Qt.Key.Key_Right)
    assert world.view.plan.limits.money_usd > before
    assert world.view.job["limits.money_usd"] == world.view.plan.limits.money_usd


def test_the_rail_folds_first_and_the_estimate_becomes_a_bar_next(page: PlanPage, world: World):
    world.model.choose_data("digits", None)
    as_wide_as(page, 1300)
    assert page.rail.isVisible()
    assert page.card.isVisible()
    as_wide_as(page, 1200)
    assert not page.rail.isVisible()
    assert page.card.isVisible()
    as_wide_as(page, 1100, 700)
    assert not page.card.isVisible()
    assert page.bar.isVisible()
    assert page.bar.headline.text() == world.view.headline


@pytest.mark.parametrize("width", [1920, 1300, 1200, 1100])
def test_title_and_cards_begin_and_end_together(page: PlanPage, world: World, width: int):
    world.model.choose_data("digits", None)
    as_wide_as(page, width)

    def edges(widget: QWidget) -> tuple[int, int]:
        left = widget.mapTo(page, QPoint(0, 0)).x()
        return left, left + widget.width()

    first = page.data_section if page.rail.isHidden() else page.rail
    last = page.bar if page.card.isHidden() else page.card
    assert edges(page.header)[0] == edges(first)[0]
    assert edges(page.header)[1] == edges(last)[1]


@pytest.mark.parametrize(("width", "scale"), [(1440, 1.0), (1216, 1.5), (1100, 1.0), (1036, 1.3)])
def test_nothing_is_wider_than_its_place(page: PlanPage, world: World, width: int, scale: float):
    theme.controller().set_text_scale(scale)
    for kind in ("images", "table", "text"):
        world.model.choose_data(kind, Path("/a folder with quite a long name for what is in it"))
        as_wide_as(page, width)
        assert page.width() == width
        assert page._sheet.minimumSizeHint().width() <= page.scroller.viewport().width()


def test_ctrl_z_takes_an_edit_back(qtbot: QtBot, page: PlanPage, world: World):
    world.model.choose_data("digits", None)
    world.model.set("training.epochs", 9)
    page.activateWindow()
    page.rail._rows[0].setFocus()
    qtbot.keyClick(page.rail._rows[0], Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert world.view.job["training.epochs"] is None


@pytest.mark.parametrize("section", ["data", "model", "settings", "where"])
def test_pressing_a_step_puts_the_heading_of_its_section_at_the_top(
    qtbot: QtBot, page: PlanPage, world: World, section: str
):
    as_wide_as(page, 1300, 600)
    world.model.choose_data("digits", None)
    page.settings_section.more.unfold(True)
    bar, wanted = page.scroller.verticalScrollBar(), page.sections[section]

    def is_at_the_top() -> bool:
        top = wanted.mapTo(page.scroller.viewport(), QPoint(0, 0)).y()
        return 0 <= top <= 4 or (bar.value() == bar.maximum() and 0 <= top < page.scroller.viewport().height() / 2)

    for start in (bar.minimum(), bar.maximum()):
        bar.setValue(start)
        row = next(row for row in page.rail._rows if row.step.key == section)
        qtbot.mouseClick(row, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(is_at_the_top)
        assert wanted.isAncestorOf(page.focusWidget())


def test_data_comes_before_the_model_because_it_decides_which_fit(page: PlanPage, world: World):
    world.model.new()
    assert [row.step.title for row in page.rail._rows] == ["Data", "Model", "Settings", "Where"]
    assert page.data_section.y() < page.model_section.y()
    assert page.rail._rows[0].step.state == "current"
    assert "Choose the data first" in words_in(page.model_section)


def test_every_control_has_a_name_for_screen_readers(page: PlanPage, world: World):
    world.model.choose_data("table", Path("/d.csv"))
    page.settings_section.more.unfold(True)
    nameless = [
        widget
        for widget in page.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and widget.isVisible()
        and not widget.accessibleName()
        and not (getattr(widget, "text", None) and widget.text())
    ]
    assert nameless == []


def test_the_page_lets_go_of_its_model_when_it_is_gone(qtbot: QtBot, world: World):
    before = world.model.state.listeners
    page = PlanPage(world.model)
    assert world.model.state.listeners == before + 1
    page.deleteLater()
    qtbot.waitUntil(lambda: not shiboken6.isValid(page))
    assert world.model.state.listeners == before


def test_tab_leads_down_the_page_also_through_what_was_made_late(page: PlanPage, world: World):
    world.model.choose_data("digits", None)
    page.settings_section.more.unfold(True)
    page.where_section.place.segment("practice").click()
    QApplication.processEvents()
    places = []
    widget = page.save
    while (widget := widget.nextInFocusChain()) is not page.save:
        if widget.isVisible() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus and page._sheet.isAncestorOf(widget):
            places.append(widget.mapTo(page._sheet, QPoint(0, widget.height() // 2)).y())
    assert len(places) > 25
    assert all(after > before - 60 for before, after in pairwise(places))  # down, or along a row
