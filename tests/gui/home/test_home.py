"""Home as a person sees it: honest about what works, quick ways to a first run, and what goes on."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QScrollArea

from tests.fakes.plans import plan
from tpu_studio.gui.kit.button import Button
from tpu_studio.viewmodels.home import CloudKnown


def test_the_one_filled_button_is_the_cheapest_thing_that_works(studio):
    filled = [button for button in studio.page.findChildren(Button) if button.kind == "primary" and button.isVisible()]
    assert [button.text() for button in filled] == ["Begin"]  # at the first start: the first model


def test_without_the_offer_of_a_first_model_this_computer_has_the_filled_button(studio):
    studio.page._first.put_off.emit()
    filled = [button for button in studio.page.findChildren(Button) if button.kind == "primary" and button.isVisible()]
    assert [button.text() for button in filled] == ["Train on this computer"]


def test_the_three_ways_stand_in_order_of_cost_each_with_what_is_ready_and_one_button(studio, qtbot):
    home = studio.page
    qtbot.waitUntil(lambda: home.cloud.pill.text().startswith("From about $"), timeout=10_000)
    assert home.computer.x() < home.practice.x() < home.cloud.x()
    assert home.practice.button.kind == home.cloud.button.kind == "secondary"
    assert "o sign-in" in home.practice.ready_words
    assert home.cloud.ready_words == "Not signed in yet"
    assert home.cloud.button.text() == "Sign in"


def test_practice_opens_a_plan_for_the_practice_cloud(studio, qtbot):
    qtbot.mouseClick(studio.page.practice.button, Qt.MouseButton.LeftButton)
    assert studio.shell.state.value.page == "plan" and studio.shell.state.value.request.place == "practice"
    holder = studio.window.page("plan")
    qtbot.waitUntil(lambda: holder.page is not None, timeout=20_000)
    assert holder.model.state.value.job["where.place"] == "practice"


def test_who_has_no_budget_is_led_to_a_free_tpu_in_colab(studio, qtbot):
    home = studio.page
    assert home.free.y() > home.cloud.y() and home.free.button.text() == "Plan a free Colab run"
    qtbot.mouseClick(home.free.button, Qt.MouseButton.LeftButton)
    holder = studio.window.page("plan")
    qtbot.waitUntil(lambda: holder.page is not None, timeout=20_000)
    assert holder.model.state.value.job["where.place"] == "colab"


def test_without_an_account_the_cloud_leads_to_signing_in(studio, qtbot):
    qtbot.mouseClick(studio.page.cloud.button, Qt.MouseButton.LeftButton)
    assert studio.shell.state.value.page == "account"


def test_an_account_shows_how_far_it_is_and_the_month_in_the_sidebar(studio, qtbot):
    home, model = studio.page, studio.studio.home_model
    qtbot.waitUntil(lambda: home.cloud.pill.text().startswith("From about $"), timeout=10_000)
    assert not studio.window.sidebar.money.isVisible()
    known = CloudKnown(True, "mina@example.org", "flowers-lab", True, 25.0)
    studio.studio._money._known_now(known, 1.2)
    assert home.cloud.ready_words == "Ready · flowers-lab" and home.cloud.button.text() == "Train on a Cloud TPU"
    money = studio.window.sidebar.money
    assert money.isVisible() and money._cap.text() == "Your monthly cap is $25.00"
    model.account_looked(2)
    assert home.cloud.ready_words == "Signed in · 2 things to fix" and home.cloud.button.text() == "Finish setting up"
    model.account_looked(0)
    qtbot.mouseClick(home.cloud.button, Qt.MouseButton.LeftButton)
    assert studio.shell.state.value.request.place == "cloud"


def test_an_example_opens_the_plan_with_its_job(studio, qtbot):
    card = next(card for card in studio.page.examples if card.example.name == "digits")
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton)
    assert studio.shell.state.value.page == "plan"
    assert studio.shell.state.value.request.job.name == "digits.tpujob"


def test_without_runs_home_says_how_the_first_one_goes(studio):
    assert studio.page._none.isVisible() and not studio.page._recent.isVisible()


def test_a_run_that_goes_on_has_its_strip_with_progress_and_watch_leads_to_it(studio, qtbot):
    home = studio.page
    run = studio.launch("hands", "--step-s", "0.2", steps=60)
    qtbot.waitUntil(lambda: home.strips[0].isVisible(), timeout=10_000)
    qtbot.waitUntil(lambda: studio.runs.state.value.row(run).progress > 0, timeout=15_000)
    assert home.strips[0].run == run
    qtbot.waitUntil(lambda: "Live" in studio.window.sidebar.row("runs").accessibleName(), timeout=5000)
    qtbot.mouseClick(home.strips[0].button, Qt.MouseButton.LeftButton)
    assert (studio.shell.state.value.page, studio.shell.state.value.run) == ("run", run)
    studio.studio.services.runs.stop(run, keep=False)
    studio.wait_over(run)


def test_recent_runs_stand_before_the_examples_once_there_are_some(studio, qtbot):
    home = studio.page
    run = studio.launch("first")
    studio.wait_over(run)
    qtbot.waitUntil(home._recent.isVisible, timeout=5000)
    QApplication.processEvents()
    assert home._recent_box.y() < home._examples_box.y()
    assert home.table.runs.rows[0].status == "Finished"
    assert not home.strips[0].isVisible()


def test_pictures_and_words_stay_whole_when_the_window_is_small(studio):
    studio.window.resize(1100, 700)
    QApplication.processEvents()
    for card in studio.page.examples:
        assert card.height() >= card.heightForWidth(card.width()) - 1


@pytest.fixture
def a_run_before(home, ended):
    """There when the window opens."""
    ended.put(home, plan(name="first"), "--steps", "20")


@pytest.mark.parametrize(("size", "width"), [(100, 1440), (150, 1100), (150, 1240), (150, 1290), (150, 1600)])
def test_the_ways_are_equally_large_and_no_pill_touches_its_tile_at_any_size_of_text(
    a_run_before, studio, qtbot, size, width
):
    home = studio.page
    qtbot.waitUntil(home._recent.isVisible, timeout=5000)
    qtbot.waitUntil(lambda: home.cloud.pill.text().startswith("From about $"), timeout=10_000)
    studio.window.resize(width, 700)
    studio.studio.settings.set(text_size=size)
    try:
        cards = (home.computer, home.practice, home.cloud)
        qtbot.waitUntil(lambda: max(card.width() for card in cards) - min(card.width() for card in cards) <= 1)
        qtbot.waitUntil(lambda: len({card.height() for card in cards}) == 1)
        for card in cards:
            tile, pill = card._tile, card.pill
            apart = lambda t=tile, p=pill: p.x() >= t.geometry().right() + 8 or p.y() >= t.geometry().bottom() + 8  # noqa: E731
            qtbot.waitUntil(apart)
            assert card.rect().contains(pill.geometry())
        inside = home.findChild(QScrollArea)
        qtbot.waitUntil(lambda: inside.widget().width() == inside.viewport().width())
    finally:
        studio.studio.settings.set(text_size=100)


def test_tab_leads_down_home_also_where_the_latest_runs_stand_before_the_examples(a_run_before, studio, qtbot):
    home = studio.page
    qtbot.waitUntil(home._recent.isVisible, timeout=5000)
    found, widget = [], home.cloud.button
    while (widget := widget.nextInFocusChain()) is not home.cloud.button:
        if widget in (home.table, home.examples[0], home.examples[-1]):
            found.append(widget)
    assert found == [home.table, home.examples[0], home.examples[-1]]


def test_arrows_in_the_latest_runs_scroll_the_page_to_the_row(home, ended, a_run_before, studio, qtbot):
    for name in ("second", "third"):
        ended.put(home, plan(name=name), "--steps", "20")
    home = studio.page
    qtbot.waitUntil(lambda: home._recent.isVisible() and len(home.table.runs.rows) == 3, timeout=5000)
    studio.window.resize(1100, 700)
    studio.studio.settings.set(text_size=150)
    try:
        QApplication.processEvents()
        home.table.setFocus(Qt.FocusReason.TabFocusReason)
        for _ in range(2):
            qtbot.keyClick(home.table, Qt.Key.Key_Down)
        assert home.table.currentIndex().row() == 2
        view = home.table.viewport()
        qtbot.waitUntil(
            lambda: view.visibleRegion().contains(home.table.visualRect(home.table.currentIndex()).center())
        )
    finally:
        studio.studio.settings.set(text_size=100)
