"""The Plan page as a person uses it: with the mouse, with the keyboard alone, wide, narrow and with large text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tests.fakes.tasks import LaterTasks
from tpu_studio.cloud.prices import with_rows
from tpu_studio.data.looked import Finding
from tpu_studio.domain import catalogue as catalogues
from tpu_studio.gui.kit import theme
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.explainer import Explainer
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.plan.consent import AGREE, DECLINE, ConsentDialog
from tpu_studio.gui.plan.notes import TallNote
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.shell import PlanRequest
from tpu_studio.wire.errors import DataError, RunError, SignedOut


@pytest.fixture(autouse=True, scope="module")
def dress(qapp: QApplication) -> None:
    theme.install(qapp, mode="light")


@pytest.fixture(autouse=True)
def usual_text_size() -> Iterator[None]:
    yield
    if theme.controller().text_scale != 1.0:
        theme.controller().set_text_scale(1.0)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def page(qtbot: QtBot, world: World) -> PlanPage:
    page = PlanPage(world.model)
    qtbot.addWidget(page)
    page.resize(1216, 900)
    page.show()
    page.window().setMinimumWidth(1)
    return page


def as_wide_as(page: PlanPage, width: int, height: int = 900) -> None:
    page.resize(width, height)
    QApplication.processEvents()


def shown_notes(widget: QWidget) -> list[str]:
    QApplication.processEvents()
    return [note.title.text() for note in widget.findChildren(TallNote) if note.isVisible()]


def test_from_nothing_to_a_started_run_with_the_mouse(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1300)
    qtbot.mouseClick(page.data_section.kinds.card("digits"), Qt.MouseButton.LeftButton)
    assert page.card.figures.headline.text() != "–"
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    assert world.launched[0][0] == world.view.plan
    assert world.started


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


def test_a_rented_plan_shows_cost_first_and_each_choice_plans_anew(page: PlanPage, world: World):
    as_wide_as(page, 1400)
    rented(page, world, "cloud")
    box, figures = page.where_section.rented, page.card.figures
    assert box.isVisible() and figures.headline.text().startswith("$")
    assert world.view.plan is not None and world.view.plan.accelerator == "v5litepod-1"
    assert "an hour" in box.price.text() and "Nov 2026" in box.price_why.text()
    assert box.cards is not None
    box.cards.card("v6e-1").click()
    assert world.view.plan.accelerator == "v6e-1"
    box.generation.chosen.emit("v5e")
    box.size_box.chosen.emit("v5litepod-8")
    assert world.view.plan.accelerator == "v5litepod-8" and world.view.plan.devices == 8
    assert figures.rows["Each chip gets"].isVisibleTo(figures)
    box.tier.segment("spot").click()
    assert world.view.plan.job["where.tier"] == "spot"
    box.region.chosen.emit("us-west4")
    assert world.view.plan.job["where.zones"] == ["us-west4-a", "us-west4-b"]
    box.zones["us-west4-b"].click()
    assert world.view.plan.job["where.zones"] == ["us-west4-a"]
    page.where_section.place.segment("computer").click()
    assert world.view.plan.place == "computer" and not box.isVisible()
    assert "where.accelerator" not in world.view.job.given


def test_what_cannot_be_rented_is_disabled_with_its_reason(page: PlanPage, world: World):
    rented(page, world, "cloud")
    box = page.where_section.rented
    box.generation.chosen.emit("v6e")
    box.region.chosen.emit("us-central1")
    world.model.set_generation("v4")
    spot = box.tier.segment("flex-start")
    assert not spot.isEnabled() and "not documented for v4" in spot.toolTip()
    world.model.set("training.framework", "tensorflow")
    item = box.generation.model().item(box.generation.findData("tpu7x"))
    assert not item.isEnabled() and "TensorFlow" in item.toolTip() and item.text() == "tpu7x · not possible"


def test_who_lends_the_tpu_can_be_chosen_where_both_do_and_says_why_where_not(page: PlanPage, world: World):
    as_wide_as(page, 1400)
    rented(page, world, "cloud")
    box = page.where_section.rented
    assert not box.lender.isVisible()
    box.more.click()
    assert not box.lender.segment("compute-engine").isEnabled()
    assert "Compute Engine does not lend v5e" in box.lender_field.note.text()
    world.model.set_slice("v6e-8")
    box.lender.segment("compute-engine").click()
    assert world.view.job["where.backend"] == "compute-engine"
    assert world.view.plan is not None and not world.view.missing[1] and "platform" in world.view.plan.limits["stops"]
    world.model.set_slice("v6e-16")  # several machines: only the Cloud TPU service lends them
    assert "where.backend" not in world.view.job.given and world.view.where.lender == "tpu-api"
    assert "as one machine only" in box.lender_field.note.text()
    world.model.set_generation("tpu7x")
    assert world.view.where.lender == "compute-engine" and not box.lender.segment("tpu-api").isEnabled()


def test_start_opens_the_review_and_only_its_button_rents(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1400)
    rented(page, world, "cloud")
    assert page.card.start.button.text() == "Review and start"
    assert page.card.start.note.text() == "Nothing is charged until the TPU starts."
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    told = words_in(sheet_of(page))
    for part in (
        "v5e · 1 chip",
        "an hour",
        "Nov 2026",
        "Stops from outside",
        "The machine itself",
        "its absence is proved",
    ):
        assert part in told, part
    assert "Charging begins when the machine is there" in told and "would" not in told
    assert world.launched == []
    asked: list[object] = []
    page.show_commands = asked.append
    press(qtbot, sheet_of(page), "Show me the commands")
    assert asked == [world.view.plan] and sheet_of(page).isVisible()
    press(qtbot, sheet_of(page), "Change the plan")
    assert page.review is None and world.launched == [] and not world.view.reviewing
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    press(qtbot, sheet_of(page), "Rent 1 chip & train")
    assert [plan for plan, _ in world.launched] == [world.view.plan]
    assert page.review is None


def test_signed_out_the_review_leads_to_the_account_and_rents_nothing(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1400)
    world.model.account_changed("Sign in to Google first")
    world.model.new()  # another plan does not forget it
    rented(page, world, "practice")
    assert "Sign in" not in page.card.start.note.text()  # the practice cloud needs no account
    page.where_section.place.segment("cloud").click()
    assert page.card.start.note.text().startswith("Sign in to Google first")
    asked: list[str] = []
    world.model.open_account = lambda: asked.append("account")
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    assert "Nothing can be rented before" in words_in(sheet_of(page))
    press(qtbot, sheet_of(page), "Sign in to Google first")
    assert asked == ["account"] and world.launched == [] and page.review is None
    world.model.account_changed("")
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    press(qtbot, sheet_of(page), "Rent 1 chip & train")
    assert len(world.launched) == 1


ROW = {"generation": "v5e", "region": "us-west4", "tier": "on-demand", "min_chips": 1, "max_chips": 256, "note": "",
       "usd_per_chip_hour": 0.9, "as_of": "2026-11-22", "source": "live", "confidence": "high"}  # fmt: skip


def test_what_the_review_shows_is_launched_whatever_prices_come_meanwhile(
    qtbot: QtBot, page: PlanPage, world: World, monkeypatch: pytest.MonkeyPatch
):
    rented(page, world, "cloud")
    world.model.start()
    QApplication.processEvents()
    shown = world.view.plan
    monkeypatch.setitem(catalogues._priced, "cloud", with_rows([ROW], date(2026, 11, 22)))
    world.model.prices_changed("Google's price list could not be read today: Google cannot be reached.")
    assert world.view.plan != shown and "could not be read today" not in words_in(sheet_of(page))
    press(qtbot, sheet_of(page), "Rent 1 chip & train")
    assert [plan for plan, _ in world.launched] == [shown]


def test_practice_says_that_nothing_is_real_and_what_would_be(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1400)
    rented(page, world, "practice")
    assert "would be" in page.card.figures.subline.text()
    assert "would have cost" in page.card.figures.limit.title.text()
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    told = words_in(sheet_of(page))
    assert "Practice: nothing here is real" in told and "Would be $1.20 an hour" in told and "Would cost" in told
    qtbot.keyClick(sheet_of(page).focusWidget() or sheet_of(page), Qt.Key.Key_Escape)
    assert world.launched == [] and page.review is None
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    press(qtbot, sheet_of(page), "Start the rehearsal")
    assert len(world.launched) == 1 and world.started


def test_a_practice_run_asks_for_the_engine_and_a_rented_one_does_not(qtbot: QtBot, page: PlanPage):
    for place, asks in (("practice", True), ("cloud", False)):
        world = World(engine="missing")
        other = PlanPage(world.model)
        qtbot.addWidget(other)
        rented(other, world, place)
        world.model.start()
        assert world.view.asking_engine is asks and world.view.reviewing is not asks
        if other.review is not None:
            other.review.close()


def test_the_price_of_an_edit_stays_small_with_a_rented_place(page: PlanPage, world: World):
    """Every edit makes the plan and three more for the cards; none is made twice."""
    rented(page, world, "cloud")
    assert len(world.view.slice_choices) == 3
    assert len({one.accelerator for one in world.view.slice_choices}) == 3


def test_data_that_cannot_be_read_is_told_with_a_way_out(qtbot: QtBot, page: PlanPage, world: World):
    world.trouble = DataError("data-empty", path="/hands")
    world.model.choose_data("images", Path("/hands"))
    assert page.data_section.problem.isVisible()
    assert page.data_section.problem.title.text() == "“hands” holds nothing to learn from"
    world.trouble = None
    assert page.data_section.problem.button is not None
    qtbot.mouseClick(page.data_section.problem.button, Qt.MouseButton.LeftButton)
    assert not page.data_section.problem.isVisible()
    assert world.view.plan is not None


def test_a_slow_look_shows_how_far_it_is_and_can_be_stopped(qtbot: QtBot):
    tasks = LaterTasks()
    world = World(tasks)
    page = PlanPage(world.model)
    qtbot.addWidget(page)
    page.resize(1216, 900)
    page.show()
    world.model.choose_data("images", Path("/hands"))
    world.model.tick()
    assert not page.data_section._looking.isVisible()  # under 300 ms nothing changes
    world.time += 1
    world.model.tick()
    assert page.data_section.bar.isVisible()
    qtbot.mouseClick(page.data_section.stop, Qt.MouseButton.LeftButton)
    assert world.model._looks._now is not None
    assert world.model._looks._now.cancelled
    world.model.close()


def test_findings_stand_beside_the_data(page: PlanPage, world: World, monkeypatch: pytest.MonkeyPatch):
    from tests.fakes import planning

    finding = Finding("leak-id", "warning", {"column": "id", "target": "price"})
    look = replace(planning.LOOKS["table"], findings=(finding,))
    monkeypatch.setitem(planning.LOOKS, "table", look)
    world.model.choose_data("table", Path("/d.csv"))
    note = next(note for note in page.data_section.findChildren(TallNote))
    assert note.title.text() == "“id” looks like a number of the row"
    assert note.button is not None
    note.button.click()
    assert world.view.job["data.columns"] == {"id": "ignore"}


def test_an_own_model_is_shown_before_it_runs_and_no_is_the_safe_answer(
    qtbot: QtBot, page: PlanPage, world: World, tmp_path: Path
):
    file = tmp_path / "model.py"
    file.write_text("def build_model(job): ...\n")
    world.model.choose_data("digits", None)
    world.model.choose_file(file)
    world.model.start()
    dialog = page.window().findChild(ConsentDialog)
    assert dialog is not None
    assert "build_model" in dialog.code.toPlainText()
    assert dialog.buttons[DECLINE].isDefault()
    qtbot.mouseClick(dialog.buttons[DECLINE], Qt.MouseButton.LeftButton)
    assert not world.launched
    world.model.start()
    dialog = next(found for found in page.window().findChildren(ConsentDialog) if found.isVisible())
    qtbot.mouseClick(dialog.buttons[AGREE], Qt.MouseButton.LeftButton)
    assert world.launched


def test_without_an_engine_start_offers_to_create_it(qtbot: QtBot):
    world = World(engine="missing")
    page = PlanPage(world.model)
    qtbot.addWidget(page)
    page.resize(1300, 900)
    page.show()
    world.model.choose_data("digits", None)
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    assert page.card.start.engine.isVisible()
    assert "350 MB" in page.card.start.engine.text.text()
    assert not world.launched


def test_a_launch_that_fails_is_told_above_the_button(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1300)
    world.launch_trouble = RunError("disk-full", folder="/runs", raw="x")
    world.model.choose_data("digits", None)
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    assert page.card.start.problem.isVisible()
    assert page.card.start.problem.title.text() == "The disk is full"


def test_who_is_not_signed_in_comes_to_the_account_page_with_one_click(qtbot: QtBot, page: PlanPage, world: World):
    opened: list[str] = []
    world.model.open_account = lambda: opened.append("account")
    world.launch_trouble = SignedOut("signed-out")
    world.model.choose_data("digits", None)
    for width, box in ((1300, page.card.start), (900, page.bar)):
        as_wide_as(page, width)
        qtbot.mouseClick(box.button, Qt.MouseButton.LeftButton)
        assert box.problem.isVisible() and box.problem.button is not None
        assert box.problem.button.text() == "Sign in"
        qtbot.mouseClick(box.problem.button, Qt.MouseButton.LeftButton)
        assert not box.problem.isVisible()
    assert opened == ["account", "account"]


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
    before = world.view.plan.limits["money_usd"]
    track.setFocus()
    qtbot.keyClick(track, Qt.Key.Key_Right)
    assert world.view.plan.limits["money_usd"] > before
    assert world.view.job["limits.money_usd"] == world.view.plan.limits["money_usd"]


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


def test_pressing_a_step_goes_to_its_section(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1300, 600)
    world.model.choose_data("digits", None)
    qtbot.mouseClick(page.rail._rows[3], Qt.MouseButton.LeftButton)
    where = page.where_section.card
    top = where.mapTo(page.scroller.viewport(), QPoint(0, 0)).y()
    assert 0 <= top < page.scroller.viewport().height()
    assert page.where_section.isAncestorOf(page.focusWidget())


def test_every_control_has_a_name_for_screen_readers(page: PlanPage, world: World):
    world.model.choose_data("table", Path("/d.csv"))
    page.settings_section.more.unfold(True)
    nameless = [
        widget for widget in page.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
        and not widget.accessibleName() and not (getattr(widget, "text", None) and widget.text())
    ]  # fmt: skip
    assert nameless == []


def test_the_page_lets_go_of_its_model_when_it_is_gone(qtbot: QtBot, world: World):
    before = world.model.state.listeners
    page = PlanPage(world.model)
    assert world.model.state.listeners == before + 1
    page.deleteLater()
    qtbot.waitUntil(lambda: not shiboken6.isValid(page))
    assert world.model.state.listeners == before
