"""Learn as a person uses it: the offer on Home, steps over other pages, live widgets, terms and the glossary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QWidget

from tests.gui.studios import OpenStudio, open_studio
from tpu_studio.domain.learning.chapters import chapters
from tpu_studio.gui.home.page import HomePage
from tpu_studio.gui.kit.button import IconButton
from tpu_studio.gui.kit.explainer import Explainer
from tpu_studio.gui.kit.theme import controller
from tpu_studio.gui.learn.page import LearnPage
from tpu_studio.gui.learn.steps import StepCard
from tpu_studio.gui.learn.strip import LearnStrip
from tpu_studio.gui.learn.termtext import TermText
from tpu_studio.gui.learn.widgets import WIDGETS, make
from tpu_studio.gui.shell.palette import commands
from tpu_studio.viewmodels.learning import FIRST, LearnViewModel


@pytest.fixture
def page(studio: OpenStudio) -> LearnPage:
    studio.window.activateWindow()
    QTest.keyClick(studio.window, Qt.Key.Key_9, Qt.KeyboardModifier.ControlModifier)
    page = studio.window.page("learn")
    assert isinstance(page, LearnPage) and studio.shell.state.value.page == "learn"
    return page


@pytest.fixture
def closed() -> Iterator[None]:
    yield
    for one in QApplication.topLevelWidgets():
        if isinstance(one, Explainer):
            one.close()


def card(page: LearnPage, key: str) -> StepCard:
    assert page.box is not None
    return next(one for one in page.box.steps if one.key == key)


def strip(studio: OpenStudio) -> LearnStrip:
    found = studio.window.findChild(LearnStrip)
    assert isinstance(found, LearnStrip)
    return found


def home(studio: OpenStudio) -> HomePage:
    found = studio.window.page("home")
    assert isinstance(found, HomePage)
    return found


def explainer() -> Explainer:
    return next(one for one in QApplication.topLevelWidgets() if isinstance(one, Explainer) and one.isVisible())


def press(widget: QWidget) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def learned(studio: OpenStudio) -> LearnViewModel:
    return studio.studio.lessons().model


def test_the_first_start_offers_the_first_model_until_it_is_put_off(qtbot, studio):
    offered = home(studio)
    qtbot.waitUntil(lambda: offered._first is not None and offered._first.isVisible())
    assert offered.computer.button.kind == "secondary"  # one filled button on the screen
    press(offered._first.later)
    assert not offered._first.isVisible() and offered.computer.button.kind == "primary"
    assert json.loads((studio.studio.home / "learn.json").read_text())["put_off"] is True


def test_one_press_plans_the_first_model_and_its_run_ticks_the_steps(qtbot, studio, page):
    """By mouse alone: Begin, and then what the counting trainer does; the strip goes along over the pages."""
    studio.shell.go("home")
    qtbot.waitUntil(lambda: home(studio)._first is not None)
    press(home(studio)._first.button)
    assert studio.shell.state.value.page == "plan"
    assert studio.shell.state.value.request.lesson == f"{FIRST}/start"
    assert strip(studio).isVisible() and "step 1 of 4" in strip(studio).title.text()
    run = studio.launch()
    studio.window.page("plan")._started(run, "digits")
    assert "step 2 of 4" in strip(studio).title.text()
    studio.wait_over(run)
    qtbot.waitUntil(lambda: "step 3 of 4" in strip(studio).title.text())
    qtbot.waitUntil(strip(studio).question.answers[0].isVisible)
    press(strip(studio).question.answers[0])
    assert "step 3 of 4" in strip(studio).title.text()
    press(strip(studio).question.answers[1])
    assert "step 4 of 4" in strip(studio).title.text()
    learned(studio).happened("tried", run=run)
    assert strip(studio).title.text() == "First model is done"
    press(strip(studio).learn)
    assert studio.shell.state.value.page == "learn"


def test_a_failed_run_says_so_over_the_page_and_offers_another(qtbot, studio):
    learned(studio).press(f"{FIRST}/start")
    run = studio.launch("digits", "--at", "3:raise")
    studio.window.page("plan")._started(run, "digits")
    studio.wait_over(run)
    qtbot.waitUntil(lambda: strip(studio).button.isVisible())
    assert "failed" in strip(studio).text.accessibleName()
    studio.shell.go("home")
    studio.shell.go("run")
    press(strip(studio).button)
    assert studio.shell.state.value.page == "plan"


def test_it_is_taken_up_at_the_next_start_and_a_deleted_run_is_missed(qtbot, home: Path):
    with open_studio(qtbot, home) as studio:
        learned(studio).press(f"{FIRST}/start")
        run = studio.launch()
        studio.window.page("plan")._started(run, "digits")
        studio.wait_over(run)
        qtbot.waitUntil(lambda: learned(studio).state.value.first.steps[1].done)
        studio.runs.delete([run])
        qtbot.waitUntil(lambda: studio.runs.state.value.row(run) is None)
    with open_studio(qtbot, home) as studio:
        steps = learned(studio).state.value.first.steps
        assert [one.state for one in steps] == ["done", "done", "gone", "gone"]
        assert "deleted" in steps[2].note


def test_a_damaged_file_of_progress_is_told_and_stops_nothing(qtbot, home: Path):
    home.mkdir(parents=True, exist_ok=True)
    (home / "learn.json").write_text("{ damaged")
    with open_studio(qtbot, home) as studio:
        learned(studio)
        assert any(one.title == "About Learn" for one in studio.shell.state.value.notices)


@pytest.mark.parametrize("chapter", chapters(), ids=lambda chapter: chapter.id)
def test_every_chapter_opens_with_its_steps_named(page, chapter):
    page.open_chapter(chapter.id)
    assert page.box is not None and len(page.box.steps) == len(chapter.steps)
    for step in page.box.steps:
        assert step.accessibleName().startswith("Step ")
        assert step.button.accessibleName() or not step.button.isVisible()
    assert (page.box.widget is not None) == bool(chapter.widget)


def test_the_matrix_unit_reaches_its_goals(page, qtbot):
    page.open_chapter("what-a-tpu-is")
    unit = page.box.widget
    assert controller().reduce_motion  # nothing moves, and the numbers are through
    press(unit.button)
    unit.choice.changed.emit(unit.choice.value)
    wide = next(one.id for one in unit._units.values() if one.width == 256)
    unit.choice.set_value(wide)
    unit.choice.changed.emit(wide)
    for name in ("flow", "width", "empty"):
        assert "Done" in card(page, f"what-a-tpu-is/{name}").accessibleName()
    assert "256 × 256" in unit.grid.accessibleDescription()


def test_padding_is_moved_by_the_keyboard(page):
    page.open_chapter("batches-and-padding")
    padding = page.box.widget
    padding.wide.setFocus()
    QTest.keyClick(padding.wide, Qt.Key.Key_Home)
    assert "Done" in card(page, "batches-and-padding/empty").accessibleName()
    padding.rows.setValue(128)
    padding.wide.setValue(128 // 8)
    assert "Done" in card(page, "batches-and-padding/full").accessibleName()
    assert "everything" in padding.sentence.text()


def test_shapes_are_counted(page):
    page.open_chapter("static-shapes")
    shapes = page.box.widget
    for cut in ("powers", "one"):
        shapes.choice.set_value(cut)
        shapes.choice.changed.emit(cut)
        assert "Done" in card(page, f"static-shapes/{cut}").accessibleName()


def test_every_widget_that_a_chapter_names_is_there(qtbot):
    named = {chapter.widget for chapter in chapters() if chapter.widget}
    assert named == set(WIDGETS)
    goals = {step.subject for chapter in chapters() for step in chapter.steps if step.when == "widget"}
    assert {goal.partition("/")[0] for goal in goals} == named
    reached: list[str] = []
    for name in named:
        qtbot.addWidget(make(name, reached.append))
    assert all(goal.partition("/")[0] in named for goal in reached)


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_a_term_is_explained_by_a_press_and_by_the_keyboard(page, closed):
    page.open_chapter(FIRST)
    text = card(page, f"{FIRST}/loss").findChild(TermText)
    assert text is not None and text.focusPolicy() == Qt.FocusPolicy.StrongFocus
    text.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(text, Qt.Key.Key_Return)
    assert explainer().accessibleName().startswith("Loss. ")
    explainer().close()
    QTest.keyClick(text, Qt.Key.Key_Tab)
    QTest.keyClick(text, Qt.Key.Key_Return)
    assert explainer().accessibleName().startswith("Step. ")


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_f1_explains_what_is_about_a_term(studio, closed):
    about = studio.window.page("home")
    about.setProperty("term", "loss")
    home(studio).computer.button.setFocus()
    studio.window.act("what-is-this")
    assert explainer().accessibleName().startswith("Loss. How wrong")


def test_the_palette_leads_to_the_glossary(studio):
    entry = next(one for one in commands(studio.window) if one.group == "Glossary" and one.title == "Batch size")
    entry.run()
    page = studio.window.page("learn")
    assert studio.shell.state.value.page == "learn"
    assert [one.term.id for one in page.glossary.entries] == ["batch-size"]
    page.glossary.search("no such word")
    assert page.glossary.entries == []


def test_learn_shows_the_chapters_after_a_jump_to_a_term(qtbot, studio):
    """Much later it still showed that one entry."""
    studio.window.show_term("loss")
    page = studio.window.page("learn")
    assert page.choice.value == "glossary" and len(page.glossary.entries) < 12
    studio.shell.go("home")
    studio.window.sidebar.page_chosen.emit("learn")
    assert page.choice.value == "chapters" and page.cards[0].isVisible() and not page.glossary.isVisible()
    studio.window.activateWindow()
    page.choice.set_value("glossary")
    page.choice.changed.emit("glossary")
    assert page.glossary.field.text() == "" and page.glossary.field.hasFocus()
    qtbot.waitUntil(lambda: len(page.glossary.entries) > 60)


def test_the_search_of_the_glossary_is_cleared_by_its_button(qtbot, studio):
    studio.window.show_term("loss")
    page = studio.window.page("learn")
    (button,) = page.glossary.field.findChildren(QAbstractButton)
    qtbot.waitUntil(button.isVisible)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
    assert page.glossary.field.text() == ""


def test_the_glossary_shows_all_terms_in_their_alphabet(qtbot, page):
    page.choice.set_value("glossary")
    page.choice.changed.emit("glossary")
    qtbot.waitUntil(lambda: len(page.glossary.entries) > 60)
    titles = [one.term.title.casefold() for one in page.glossary.entries]
    assert titles == sorted(titles)


def test_the_strip_is_left_by_its_cross(studio):
    learned(studio).press(f"{FIRST}/start")
    assert strip(studio).isVisible()
    press(strip(studio).close_button)
    assert not strip(studio).isVisible()


def test_markup_in_a_text_with_terms_stays_words(qtbot):
    text = TermText("<b>x</b> [[loss|<img src=a>]]")
    qtbot.addWidget(text)
    assert "<b>" not in text.text() and "&lt;b&gt;" in text.text() and "<img" not in text.text()
    assert text.accessibleName() == "<b>x</b> <img src=a>"


def reached_by_tab(studio: OpenStudio, wanted: QWidget) -> bool:
    """Whether Tab comes to *wanted* from the first control of the window on."""
    for _ in range(120):
        QTest.keyClick(studio.window.focusWidget() or studio.window, Qt.Key.Key_Tab)
        if studio.window.focusWidget() is wanted:
            return True
    return False


def test_the_first_chapter_is_gone_through_by_the_keyboard_alone(qtbot, studio):
    studio.window.activateWindow()
    qtbot.waitUntil(lambda: home(studio)._first is not None)
    assert reached_by_tab(studio, home(studio)._first.button)
    QTest.keyClick(home(studio)._first.button, Qt.Key.Key_Return)
    assert studio.shell.state.value.page == "plan"
    run = studio.launch()
    studio.window.page("plan")._started(run, "digits")
    studio.wait_over(run)
    qtbot.waitUntil(lambda: "step 3 of 4" in strip(studio).title.text())
    answer = strip(studio).question.answers[1]
    qtbot.waitUntil(answer.isVisible)  # Qt shows what is made late in an event of its own
    assert reached_by_tab(studio, answer)
    QTest.keyClick(answer, Qt.Key.Key_Return)
    assert "step 4 of 4" in strip(studio).title.text()
    assert reached_by_tab(studio, strip(studio).learn)
    QTest.keyClick(strip(studio).learn, Qt.Key.Key_Return)
    assert studio.shell.state.value.page == "learn"


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_nothing_is_wider_than_the_window_in_large_letters(qtbot, studio, page, scale):
    studio.window.resize(1100, 700)
    controller().set_text_scale(scale)
    try:
        for chapter in ("", *(one.id for one in chapters())):
            page.open_chapter(chapter)
            QApplication.processEvents()
            view = page.scroller.viewport().width()
            assert page.scroller.widget().minimumSizeHint().width() <= view, chapter
        studio.shell.go("home")
        qtbot.waitUntil(lambda: home(studio)._first is not None)
        QApplication.processEvents()
        inside = home(studio)._scroll
        assert inside.widget().minimumSizeHint().width() <= inside.viewport().width()
    finally:
        controller().set_text_scale(1.0)


def step_of(studio: OpenStudio, key: str):
    views = learned(studio).state.value.chapters
    return next(one for view in views for one in view.steps if one.key == key)


def test_a_verdict_on_the_plan_page_ticks_the_step_that_planned_it(qtbot, studio):
    learned(studio).press("worth-it/small")
    qtbot.waitUntil(lambda: step_of(studio, "worth-it/small").done)
    assert not step_of(studio, "worth-it/yours").done
    studio.shell.open_job(chapters()[0].steps[0].job_path)  # opened by oneself, not out of Learn
    qtbot.waitUntil(lambda: step_of(studio, "worth-it/yours").done)


def test_two_runs_that_are_compared_tick_their_step(qtbot, studio):
    for name in ("float32", "bfloat16"):
        learned(studio).press(f"bfloat16/{name}")
        run = studio.launch(name)
        studio.window.page("plan")._started(run, name)
        studio.wait_over(run)
    qtbot.waitUntil(lambda: step_of(studio, "bfloat16/ended").done)
    assert not step_of(studio, "bfloat16/compare").done
    learned(studio).press("bfloat16/compare")
    assert studio.shell.state.value.page == "compare"
    assert step_of(studio, "bfloat16/compare").done


def test_the_strip_leads_on_to_a_step_that_is_done_elsewhere(qtbot, studio):
    learned(studio).press("worth-it/small")
    assert not strip(studio).button.isVisible()  # it is done here
    qtbot.waitUntil(lambda: step_of(studio, "worth-it/small").done)
    assert strip(studio).button.isVisible() and strip(studio).button.text() == "Plan GPT-2 small"
    press(strip(studio).button)
    assert studio.shell.state.value.request.lesson == "worth-it/large"
    assert not strip(studio).button.isVisible()


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_the_curves_of_a_run_explain_their_metric(qtbot, studio, closed):
    run = studio.launch()
    studio.wait_over(run)
    studio.window.open_run(run)
    qtbot.waitUntil(lambda: getattr(studio.page, "page", None) is not None)
    loss = studio.page.page.charts.loss
    question = next(one for one in loss.findChildren(IconButton) if one.accessibleName() == "What is loss?")
    press(question)
    assert explainer().accessibleName().startswith("Loss. How wrong")
    explainer().close()
    loss.canvas.setFocus()
    studio.window.act("what-is-this")
    assert explainer().accessibleName().startswith("Loss. How wrong")


def test_every_control_has_a_name(qtbot, studio, page):
    """On the list, in every chapter, in the glossary, and in the strip over the other pages."""
    nameless: list[str] = []

    def look(root: QWidget) -> None:
        for one in root.findChildren(QWidget):
            takes_focus = one.focusPolicy() & Qt.FocusPolicy.TabFocus
            words = one.accessibleName() or (one.text() if isinstance(one, (QAbstractButton, QLabel)) else "")
            if takes_focus and one.isVisibleTo(root) and not words:
                nameless.append(f"{type(one).__name__} in {type(one.parentWidget()).__name__}")

    for chapter in ("", *(one.id for one in chapters())):
        page.open_chapter(chapter)
        look(page)
    studio.window.show_term("loss")
    look(page)
    learned(studio).press(f"{FIRST}/start")
    look(strip(studio))
    look(home(studio))
    assert nameless == []


def test_the_wave_moves_where_motion_is_wanted_and_ends_by_itself(qtbot, page):
    page.open_chapter("what-a-tpu-is")
    unit = page.box.widget
    controller().set_reduce_motion(False)
    try:
        press(unit.button)
        qtbot.waitUntil(lambda: 0.0 < unit.grid._phase < 1.0)
        assert "To do" in card(page, "what-a-tpu-is/flow").accessibleName()
        qtbot.waitUntil(lambda: "Done" in card(page, "what-a-tpu-is/flow").accessibleName())
    finally:
        controller().set_reduce_motion(True)


def test_the_glossary_leads_to_the_chapters_that_teach_a_term(studio, qtbot):
    studio.shell.go("learn")
    page = studio.window.page("learn")
    page.show_term("overfitting")
    (entry,) = [one for one in page.glossary.entries if one.term.id == "overfitting"]
    (chapter,) = entry.chapters
    chapter.click()
    assert page.model.state.value.shown == "first-model" and page.choice.value == "chapters"
    assert page.header.title.text() == "First model"


def test_sizes_that_are_kept_are_those_of_the_words_and_the_font_of_now(qtbot):
    text = TermText("one [[loss]] two " * 20)
    qtbot.addWidget(text)
    tall = text.heightForWidth(300)
    text.set_marked("short")
    low = text.heightForWidth(300)
    assert low == QLabel.heightForWidth(text, 300) < tall and text.sizeHint() == QLabel.sizeHint(text)
    font = text.font()
    font.setPointSize(40)
    text.setFont(font)
    assert text.heightForWidth(300) == QLabel.heightForWidth(text, 300) > low
