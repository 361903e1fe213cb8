"""Home as a person sees it: honest about what works, quick ways to a first run, and what goes on."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from tpu_studio.gui.kit.button import Button


def test_the_one_filled_button_is_the_cheapest_thing_that_works(studio):
    filled = [button for button in studio.page.findChildren(Button) if button.kind == "primary" and button.isVisible()]
    assert [button.text() for button in filled] == ["Train on this computer"]


def test_what_comes_later_says_so_and_has_no_button(studio):
    for card in (studio.page.practice, studio.page.cloud):
        assert card.ready_words == "Comes with a later version"
        assert card.button is None


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
