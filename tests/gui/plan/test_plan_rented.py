"""The Plan page for rented TPUs: cost first, who lends them, and the review that alone rents."""

from __future__ import annotations

from datetime import date

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tests.gui.plan.pages import as_wide_as, press, rented, sheet_of, shown_notes, words_in
from tpu_studio.cloud.prices import with_rows
from tpu_studio.domain import renewed
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.choose import CheckBox
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.plan.notes import TallNote
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.planner.report.worst import worst_case
from tpu_studio.viewmodels import draft
from tpu_studio.viewmodels.planstart import waived


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


@pytest.mark.parametrize(
    ("slice", "said", "stands"),
    [
        ("v5litepod-1", "TensorFlow on a TPU: by Google's recipe, not yet seen on a TPU", False),
        ("v6e-8", "TensorFlow does not train on v6e · 8 chips", True),
    ],
)
def test_tensorflow_on_a_rented_tpu_is_one_press_from_jax(
    qtbot: QtBot, page: PlanPage, world: World, slice: str, said: str, stands: bool
):
    as_wide_as(page, 1400)
    rented(page, world, "cloud")
    world.model.set_slice(slice)
    page.where_section.framework.segment("tensorflow").click()
    assert world.view.missing[1] == (said if stands else "")
    assert shown_notes(page.card)[0] == said
    note = next(note for note in page.card.findChildren(TallNote) if note.isVisible())
    assert note.button is not None and note.button.text() == "Use JAX"
    qtbot.mouseClick(note.button, Qt.MouseButton.LeftButton)
    assert world.view.plan is not None and world.view.plan.framework == "jax" and not world.view.missing[1]


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
    assert world.view.plan is not None and not world.view.missing[1] and "platform" in world.view.plan.limits.stops
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
        "Independent shut-offs",
        "The TPU VM itself",
        "we verify it is gone",
    ):
        assert part in told, part
    assert "Charging begins when the TPU VM exists" in told and "would" not in told
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


def test_a_new_practice_account_is_led_to_before_the_rehearsal_and_not_after_it(
    qtbot: QtBot, page: PlanPage, world: World
):
    as_wide_as(page, 1400)
    world.model.account_changed("", practice_missing="Set up the practice account first")
    rented(page, world, "practice")
    assert page.card.start.note.text().startswith("Set up the practice account first")
    asked: list[str] = []
    world.model.open_account = lambda: asked.append("account")
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    press(qtbot, sheet_of(page), "Set up the practice account first")
    assert asked == ["account"] and world.launched == []


ROW = {
    "generation": "v5e",
    "region": "us-west4",
    "tier": "on-demand",
    "min_chips": 1,
    "max_chips": 256,
    "note": "",
    "usd_per_chip_hour": 0.9,
    "as_of": "2026-11-22",
    "source": "live",
    "confidence": "high",
}


def button_in(sheet: Sheet, words: str) -> Button | None:
    return next((one for one in sheet.findChildren(Button) if one.text() == words and one.isVisible()), None)


def test_a_price_that_comes_while_the_review_is_open_is_read_before_anything_is_rented(
    qtbot: QtBot, page: PlanPage, world: World, monkeypatch: pytest.MonkeyPatch
):
    rented(page, world, "cloud")
    world.model.start()
    QApplication.processEvents()
    sheet, shown = sheet_of(page), world.view.plan
    assert button_in(sheet, "Rent 1 chip & train") and "changed while you read" not in words_in(sheet)
    monkeypatch.setitem(renewed._renewed, "cloud", with_rows([ROW], date(2026, 11, 22)))
    world.model.prices_changed("")
    QApplication.processEvents()
    assert "Price: $1.20 an hour → $0.90 an hour" in words_in(sheet) and "Worst case: " in words_in(sheet)
    assert button_in(sheet, "Rent 1 chip & train") is None
    world.model.start_reviewed()
    assert world.launched == [], "the older price is not launched by any way"
    press(qtbot, sheet, "Show the new figures")
    QApplication.processEvents()
    told = words_in(sheet_of(page))
    assert sheet_of(page) is not sheet and "$0.90 an hour" in told and "$1.20" not in told
    press(qtbot, sheet_of(page), "Rent 1 chip & train")
    assert [plan for plan, _ in world.launched] == [world.view.plan] != [shown]


def test_a_price_list_that_fails_changes_no_figure_and_what_was_shown_is_launched(
    qtbot: QtBot, page: PlanPage, world: World
):
    rented(page, world, "cloud")
    world.model.start()
    QApplication.processEvents()
    shown = world.view.plan
    world.model.prices_changed("Google's price list could not be read today: Google cannot be reached.")
    assert "could not be read today" not in words_in(sheet_of(page))
    press(qtbot, sheet_of(page), "Rent 1 chip & train")
    assert [plan for plan, _ in world.launched] == [shown]


def test_steps_that_are_timed_while_the_review_is_open_are_told_in_it(qtbot: QtBot, page: PlanPage, world: World):
    rented(page, world, "practice")
    world.model.start()
    QApplication.processEvents()
    sheet, before = sheet_of(page), world.view.plan
    world.pause()
    QApplication.processEvents()
    assert world.timed and world.view.plan is not None and world.view.plan.cost_usd != before.cost_usd  # type: ignore[union-attr]
    assert "Would cost: " in words_in(sheet) and "Time: " in words_in(sheet)
    assert button_in(sheet, "Start the rehearsal") is None
    press(qtbot, sheet, "Show the new figures")
    QApplication.processEvents()
    press(qtbot, sheet_of(page), "Start the rehearsal")
    assert [plan for plan, _ in world.launched] == [world.view.plan]


def test_a_plan_that_cannot_start_any_more_leads_from_its_review_to_what_is_amiss(
    qtbot: QtBot, page: PlanPage, world: World
):
    rented(page, world, "cloud")
    world.model.start()
    QApplication.processEvents()
    world.model.set_slice("v6e-8")
    world.model.set("training.framework", "tensorflow")
    QApplication.processEvents()
    assert "TensorFlow does not train on v6e · 8 chips. Nothing was rented." in words_in(sheet_of(page))
    press(qtbot, sheet_of(page), "Back to the plan")
    assert page.review is None and world.launched == [] and world.view.attention[0] == "where"


def test_practice_says_that_nothing_is_real_and_what_would_be(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1400)
    rented(page, world, "practice")
    assert "would be" in page.card.figures.subline.text()
    assert "Simulated" in page.card.figures.limit.title.text()
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


def refused_before(page: PlanPage, world: World) -> None:
    """A launch of this job was refused, for no shut-off timer can be had in its areas."""
    rented(page, world, "cloud")
    zones = world.view.plan.job["where.zones"]
    regions = tuple(zone.rpartition("-")[0] for zone in zones)
    world.model.open_draft(draft.edited(world.view.job, {"where.zones": zones}), None, regions)


def test_going_without_an_outside_stop_is_a_tick_of_the_review_that_only_a_refused_launch_brings(
    qtbot: QtBot, page: PlanPage, world: World
):
    rented(page, world, "cloud")
    world.model.start()
    assert not sheet_of(page).findChildren(CheckBox)
    press(qtbot, sheet_of(page), "Change the plan")
    refused_before(page, world)
    world.model.start()
    sheet = sheet_of(page)
    (tick,) = sheet.findChildren(CheckBox)
    usd = worst_case(waived(world.view.plan)).usd_per_day
    assert not tick.isChecked() and f"${usd:.2f} a day at worst" in tick.text()
    assert f"${usd:.2f} a day" not in words_in(sheet)
    tick.click()
    assert f"${usd:.2f} a day" in words_in(sheet) and "until somebody deletes it" in words_in(sheet)
    press(qtbot, sheet, "Rent 1 chip & train")
    assert world.launched[-1][0].limits.without_outside_stop is True
    assert not world.view.plan.limits.without_outside_stop  # the next launch asks anew


def test_without_the_tick_the_same_review_launches_with_outside_stops(qtbot: QtBot, page: PlanPage, world: World):
    refused_before(page, world)
    world.model.start()
    press(qtbot, sheet_of(page), "Rent 1 chip & train")
    assert not world.launched[-1][0].limits.without_outside_stop


def test_another_area_takes_the_tick_away(page: PlanPage, world: World):
    refused_before(page, world)
    assert world.view.may_waive
    world.model.apply({"where.zones": ["europe-west4-b"]})
    assert not world.view.may_waive


def test_a_smaller_worst_case_is_one_press_in_the_review(qtbot: QtBot, page: PlanPage, world: World):
    rented(page, world, "cloud")
    world.model.start()
    words = words_in(sheet_of(page))
    assert "Worst case" in words and "instead of 4 h" in words
    cap, worst = (
        next(one for one in sheet_of(page).findChildren(Text) if one.accessibleName().startswith(f"{label}: $"))
        for label in ("Stops at", "Worst case")
    )
    assert cap.font() == worst.font() and cap.font().pixelSize() > sheet_of(page).font().pixelSize()
    press(qtbot, sheet_of(page), "Wait 30 min")
    assert page.review is None and world.view.job["limits.wait_hours"] == 0.5 and world.launched == []


@pytest.mark.parametrize("place", ["practice", "cloud"])
def test_what_a_bucket_keeps_of_deleted_things_is_in_the_review_of_either_place(
    page: PlanPage, world: World, place: str
):
    rented(page, world, place)
    world.model.start()
    assert "7 days more" not in words_in(sheet_of(page))
    sheet_of(page).close()
    world.model.account_changed("", "us-central1", kept_days={place: 7})
    assert world.view.plan is not None and world.view.plan.extras.kept_days == 7
    world.model.start()
    assert "keep what is deleted 7 days more" in words_in(sheet_of(page))
    other = "cloud" if place == "practice" else "practice"
    world.model.account_changed("", "us-central1", kept_days={other: 7})
    assert world.view.plan.extras.kept_days == 0


def test_a_rehearsal_says_so_over_its_plan(page: PlanPage, world: World):
    world.model.choose_data("digits", None)
    for place, practised in (("practice", True), ("cloud", False), ("computer", False)):
        world.model.set_place(place)
        assert page.practice.isVisibleTo(page) is practised
    assert "nothing here is real" in page.practice.accessibleName()
