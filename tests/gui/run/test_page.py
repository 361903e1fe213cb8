"""The Run page as a person uses it: a real guardian and run folder behind it, a trainer that counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from tests.fakes.ended import Ended
from tests.fakes.plans import plan
from tests.fakes.studio import Studio
from tpu_studio.gui.bridge import QtTasks
from tpu_studio.gui.kit import theme
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.fields import ComboBox, LineEdit
from tpu_studio.gui.kit.numberedit import DecimalBox
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.plots.scale import EPOCHS, STEPS, TIME
from tpu_studio.gui.run.page import RunPage
from tpu_studio.gui.run.trying import PicturePanel, RowPanel
from tpu_studio.gui.run.trypieces import Picture
from tpu_studio.gui.run.trywriting import TextPanel
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runports import Trial
from tpu_studio.viewmodels.samples import Sample
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.resources import resource_path
from tpu_studio.workflow.background import BackgroundLoop


class Oracle:
    """Answers every question at once."""

    def __init__(self, *answers: Mapping[str, Any]) -> None:
        self.answers, self.asked = answers, list[Mapping[str, Any]]()

    def ask(self, question: Mapping[str, Any], on_answer: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        self.asked.append(question)
        for answer in self.answers:
            on_answer(answer)
        return lambda: None

    def close(self) -> None:
        pass


class Shown:
    """A page in its window."""

    def __init__(self, qtbot: Any, studio: Studio, run: str, oracle: Oracle) -> None:
        self.tasks = QtTasks(BackgroundLoop)
        folder = studio.runs.folder(run)
        self.model = RunViewModel(
            run, folder, studio.runs.plan(run), lambda: studio.runs.follow(run), studio.runs, self.tasks, lambda: oracle
        )
        self.window = QWidget()
        self.page = RunPage(self.model, self.window)
        self.window.resize(1200, 900)
        self.page.resize(1200, 900)
        qtbot.addWidget(self.window)
        self.window.show()
        qtbot.waitUntil(lambda: not self.model.state.value.loading)

    @property
    def sheet(self) -> Sheet | None:
        return next((sheet for sheet in self.window.findChildren(Sheet) if sheet.isVisible()), None)

    def answer(self, qtbot: Any, words: str) -> None:
        assert self.sheet is not None
        button = next(one for one in self.sheet.findChildren(Button) if one.text() == words)
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def close(self) -> None:
        self.page.close_run()
        assert self.tasks.stop()


@pytest.fixture
def studio(tmp_path: Path, qapp: Any) -> Iterator[Studio]:
    theme.install(qapp)
    studio = Studio(tmp_path, "--steps", "400", "--step-s", "0.01", "--save-every", "50")
    yield studio
    for row in studio.runs.list():
        if not row.over:
            studio.runs.stop(row.run, keep=False)
            studio.wait(row.run)
    studio.close()


@pytest.fixture
def open_page(qtbot: Any, studio: Studio) -> Iterator[Callable[..., Shown]]:
    shown: list[Shown] = []

    def show(run: str, oracle: Oracle | None = None) -> Shown:
        shown.append(Shown(qtbot, studio, run, oracle or Oracle()))
        return shown[-1]

    yield show
    for one in shown:
        one.close()


def test_a_live_run_moves_and_is_stopped_and_kept_after_asking(
    qtbot: Any, studio: Studio, open_page: Callable[..., Shown]
):
    run = studio.runs.launch(plan(steps=400))
    shown = open_page(run)
    qtbot.waitUntil(lambda: shown.model.state.value.view.step > 20, timeout=10_000)
    assert shown.page.pill.text().startswith("Training")

    qtbot.mouseClick(shown.page.stop_button, Qt.MouseButton.LeftButton)
    assert shown.sheet is not None
    shown.answer(qtbot, "Stop & keep model")

    qtbot.waitUntil(lambda: shown.model.state.value.over, timeout=15_000)
    assert shown.page.pill.text() == "Stopped by you"
    assert not shown.page.stop_button.isVisible()
    assert shown.page.ending.isVisible()


def test_loss_and_speed_are_the_same_in_the_big_numbers_and_beside_their_curves(
    qtbot: Any, studio: Studio, ended: Ended, open_page: Callable[..., Shown]
):
    run = ended.put(studio.home, plan(steps=20), "--steps", "20", "--at", "10:speed")
    shown = open_page(run)
    loss, speed, *_ = shown.model.state.value.numbers
    charts = shown.page.charts
    qtbot.waitUntil(lambda: charts.loss.legend.accessibleName() == f"training {loss.value}", timeout=10_000)
    assert loss.value == "0.0500"  # 1 of 20
    qtbot.waitUntil(lambda: charts.speed.legend.accessibleName().endswith(f" {speed.value}"), timeout=10_000)


def test_keep_training_is_the_safe_answer(qtbot: Any, studio: Studio, open_page: Callable[..., Shown]):
    shown = open_page(studio.runs.launch(plan(steps=400)))
    shown.page.stop_asked()
    sheet = shown.sheet
    assert sheet is not None
    qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert shown.sheet is None and not shown.model.state.value.view.stopping


def test_a_run_that_is_over_is_trained_longer_from_its_page(
    tmp_path: Path, qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    studio.trainer[:] = ["--steps", "20", "--save-every", "10"]
    run = ended.put(studio.home, plan(steps=20), "--steps", "20", "--save-every", "10")
    shown = open_page(run)
    assert shown.page.pill.text() == "Finished"

    qtbot.mouseClick(shown.page.extend_button, Qt.MouseButton.LeftButton)
    shown.answer(qtbot, "Train longer")
    assert shown.window.focusWidget() is shown.page.area  # not what comes after the button that is busy now

    qtbot.waitUntil(lambda: shown.model.state.value.view.step > 20 and shown.model.state.value.over, timeout=15_000)
    assert [step for step, _ in studio.points(run)] == list(range(1, shown.model.state.value.view.step + 1))
    charts = shown.page.charts  # the axis is still of time, and shows where the run was carried on
    qtbot.waitUntil(lambda: [gap.words for gap in charts.loss.canvas.gaps] == ["resumed"], timeout=10_000)
    assert {plot.canvas.x_scale for plot in (charts.loss, charts.quality, charts.speed, charts.split)} == {TIME}
    end, view = charts.loss.canvas.drawn[0].curve.source.last(), shown.model.state.value.view
    assert end is not None and 0 < end[0] <= view.spans[Phase.TRAINING].seconds(0) + 0.1


def test_enter_in_the_number_trains_longer_and_first_corrects_what_cannot_be(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    studio.trainer[:] = ["--steps", "20", "--save-every", "10"]
    run = ended.put(studio.home, plan(steps=20), "--steps", "20", "--save-every", "10")
    shown = open_page(run)
    asked: list[float] = []
    shown.model.extend = asked.append  # type: ignore[method-assign]

    qtbot.mouseClick(shown.page.extend_button, Qt.MouseButton.LeftButton)
    assert shown.sheet is not None
    box = shown.sheet.findChild(DecimalBox)
    assert shown.window.focusWidget() is box and box.selectedText() == box.text()
    qtbot.keyClick(shown.sheet, Qt.Key.Key_Escape)
    assert shown.sheet is None and not asked

    qtbot.mouseClick(shown.page.extend_button, Qt.MouseButton.LeftButton)
    box = shown.sheet.findChild(DecimalBox)
    held = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.NoModifier, "", True)
    QApplication.sendEvent(box, held)  # the Enter that opened the sheet is still down
    qtbot.keyClicks(box, "0")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert shown.sheet is not None and not asked and box.text() == "0.1"
    box.selectAll()
    qtbot.keyClicks(box, "2.5")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert shown.sheet is None and asked == [2.5]


def test_a_failed_run_says_what_happened_and_can_be_carried_on(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    run = ended.put(studio.home, plan(steps=40), "--steps", "40", "--save-every", "10", "--at", "25:raise")
    shown = open_page(run)
    assert shown.page.pill.text() == "Failed"
    assert shown.page.ending.isVisible() and shown.page.ending.title.text()
    assert "Traceback" not in shown.page.ending.text.text()
    asked = []
    shown.page.model.planned_again = asked.append
    qtbot.mouseClick(shown.page.again_button, Qt.MouseButton.LeftButton)
    assert [job.name for job in asked] == [shown.page.model.plan.job.name]
    logs = []
    shown.page.model.ask_explain = logs.append
    assert shown.page.ending.button is not None and shown.page.ending.button.text() == "Explain its log"
    qtbot.mouseClick(shown.page.ending.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(logs))


def test_another_training_begins_from_what_a_run_has_learned(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    run = ended.put(studio.home, plan(steps=20), "--steps", "20")
    shown = open_page(run)
    asked = []
    shown.page.model.planned_again = asked.append
    assert shown.page.another_button.text() == "Begin another training from this"
    qtbot.mouseClick(shown.page.another_button, Qt.MouseButton.LeftButton)
    (job,) = asked
    assert (job.model.name, job.model.preset) == (shown.page.model.plan.job.model.name, f"run:{run}")
    assert job.data.path is None and not job.data.kind  # which is chosen now


def test_a_run_that_failed_before_its_first_step_waits_for_nothing_and_offers_nothing_dead(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    run = ended.put(studio.home, plan(steps=40), "--steps", "40", "--at", "1:raise")
    page = open_page(run).page
    assert page.pill.text() == "Failed"
    words = [plot.canvas.waits_for for plot in (page.charts.loss, page.charts.quality, page.charts.split)]
    assert not [sentence for sentence in words if "Waits" in sentence]
    assert page.numbers.tile("third").context.text() == "not reached"
    assert not page.export_button.isVisible()
    assert not page.extend_button.isVisible()


def test_the_page_folds_to_one_column_and_every_card_stays(qtbot: Any, open_page: Callable[..., Shown], studio: Studio):
    shown = open_page(studio.runs.launch(plan(steps=400)))
    for width, columns in ((1200, 3), (700, 1), (1036, 2), (1200, 3)):
        shown.page.resize(width, 900)
        qtbot.waitUntil(lambda columns=columns: shown.page._columns == columns)
        assert all(card.isVisible() for card in [*shown.page.charts.cards, shown.page.happened])


def test_a_run_with_a_price_draws_its_cost_up_to_the_limit(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    run = ended.put(
        studio.home,
        plan(steps=20, usd_per_hour=3.6, limits={"money_usd": 5.0}),
        "--steps",
        "20",
        "--at",
        "8:speed",
        "--at",
        "12:speed",
        "--at",
        "16:speed",
    )
    shown = open_page(run)
    charts = shown.page.charts
    assert charts.cost is not None
    curve = shown.model.curve("usd")
    assert curve is not None and len(curve) == 3
    assert 0 < curve.last()[2] < 0.5
    assert [drawn.curve.name for drawn in charts.cost.canvas.drawn] == ["would have cost"]
    assert [limit.words for limit in charts.cost.canvas.limits] == ["stops at $5.00"]
    shown.page.axis.segment("cost").click()  # what was reached for how much
    assert charts.loss.canvas.drawn[0].curve.source.last()[0] == pytest.approx(curve.last()[2])
    shown.page.axis.segment("examples").click()
    assert charts.loss.canvas.drawn[0].curve.source.last()[0] == 20 * 144
    for width, columns in ((1200, 3), (700, 1), (1036, 2)):
        shown.page.resize(width, 900)
        qtbot.waitUntil(lambda columns=columns: shown.page._columns == columns)
        assert len(charts.cards) == 5 and all(card.isVisible() for card in [*charts.cards, shown.page.happened])


def test_curves_stand_along_time_steps_or_epochs_and_the_axis_of_a_run_that_is_over_fits(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    run = ended.put(studio.home, plan(steps=40), "--steps", "40", "--step-s", "0.001")
    page = open_page(run).page
    canvas = page.charts.loss.canvas

    def ends() -> float:
        canvas.refresh()
        last = canvas.drawn[0].curve.source.last()
        assert last is not None and canvas.frame is not None
        assert last[0] <= canvas.frame.view.x_high <= 2.2 * last[0]  # a plot of ten seconds was nearly empty
        return last[0]

    assert canvas.x_scale is TIME and ends() < 10
    page.axis.segment("step").click()
    assert canvas.x_scale is STEPS and ends() == 40
    page.axis.segment("epoch").click()
    each = page.model.plan.steps_per_epoch
    assert canvas.x_scale is EPOCHS and ends() == pytest.approx(40 / each)
    page.axis.segment("time").click()
    assert canvas.x_scale is TIME


def test_a_run_without_a_price_has_no_cost_curve(qtbot: Any, open_page: Callable[..., Shown], studio: Studio):
    shown = open_page(studio.runs.launch(plan(steps=400)))
    assert shown.page.charts.cost is None and len(shown.page.charts.cards) == 4


def test_the_full_log_is_shown(qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended):
    run = ended.put(studio.home, plan(steps=5), "--steps", "5")
    shown = open_page(run)
    qtbot.mouseClick(shown.page.happened.log, Qt.MouseButton.LeftButton)
    from PySide6.QtWidgets import QPlainTextEdit

    text = shown.window.findChild(QPlainTextEdit)
    assert text is not None
    qtbot.waitUntil(lambda: "[end]" in text.toPlainText())
    explained: list[str] = []
    shown.model.ask_explain = explained.append
    shown.answer(qtbot, "Explain it")
    assert "[end]" in explained[0]
    qtbot.mouseClick(shown.page.happened.log, Qt.MouseButton.LeftButton)
    shown.answer(qtbot, "Close")


def test_a_run_that_is_over_and_is_carried_on_by_another_window_goes_on_in_this_one(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    studio.trainer[:] = ["--steps", "5"]
    run = ended.put(studio.home, plan(steps=5), "--steps", "5")
    state = open_page(run).model.state
    qtbot.waitUntil(lambda: state.value.over, timeout=30_000)
    studio.runs.extend(run, 1)
    qtbot.waitUntil(lambda: state.value.view.attempt == 2, timeout=30_000)
    studio.wait(run)


def test_a_picture_is_asked_about_and_the_likeliest_answers_are_shown(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    run = ended.put(studio.home, plan(steps=5), "--steps", "5")
    oracle = Oracle({"classes": [{"name": "seven", "probability": 0.9}, {"name": "one", "probability": 0.1}]})
    shown = open_page(run, oracle)
    panel = PicturePanel(shown.model, [])
    qtbot.addWidget(panel)
    panel.ask("/pictures/7.png")
    panel.show_trial(shown.model.state.value.trial)
    assert oracle.asked == [{"image": "/pictures/7.png"}]
    assert panel.answers.head.text() == "This is seven"
    panel.show_trial(replace(shown.model.state.value.trial, classes=(("seven", 0.6), ("one", 0.4))))
    assert panel.answers.head.text() == "Probably seven"
    panel.show_trial(replace(shown.model.state.value.trial, classes=(("seven", 0.19), ("one", 0.18))))
    assert panel.answers.head.text() == "Not sure, perhaps seven"
    assert panel.name.text() == "7.png"
    panel.show_trial(Trial())  # the run was trained longer: this model has not been asked
    assert (panel.name.text(), panel.shown.path) == ("No picture chosen yet", "")


def test_a_picture_held_over_the_panel_is_shown_where_it_lands_and_what_is_none_is_left_to_the_window(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended, tmp_path: Path
):
    run = ended.put(studio.home, plan(steps=5), "--steps", "5")
    oracle = Oracle({"classes": [{"name": "7", "probability": 0.9}]})
    panel = PicturePanel(open_page(run, oracle).model, [])
    qtbot.addWidget(panel)
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    seven = next(resource_path("samples", "digits", "preview").glob("7-*.png"))
    for path, taken in ((tmp_path / "rows.csv", False), (tmp_path, False), (seven, True)):
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path))])
        held = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        entering = QDragEnterEvent(QPoint(5, 5), *held)
        QApplication.sendEvent(panel, entering)
        assert (entering.isAccepted(), panel.shown.marked) == (taken, taken)
    QApplication.sendEvent(panel, QDropEvent(QPointF(5, 5), *held))
    assert oracle.asked == [{"image": str(seven)}]
    assert not panel.shown.marked


def test_pictures_that_were_kept_aside_are_offered_and_say_what_they_are(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    run = ended.put(studio.home, plan(steps=5), "--steps", "5")
    oracle = Oracle({"classes": [{"name": "7", "probability": 0.9}]})
    shown = open_page(run, oracle)
    seven = next(resource_path("samples", "digits", "preview").glob("7-*.png"))
    panel = PicturePanel(shown.model, [Sample(seven, "7", kept=True)])
    qtbot.addWidget(panel)
    assert any("never seen them" in text.text() for text in panel.findChildren(Text))
    offered = next(one for one in panel.findChildren(Picture) if one.isEnabled())
    qtbot.waitUntil(lambda: offered.readable)
    qtbot.mouseClick(offered, Qt.MouseButton.LeftButton)
    assert oracle.asked == [{"image": str(seven)}]
    assert panel.name.text() == f"{seven.name}, in the data: 7"


def test_tab_goes_from_the_head_through_the_trial_to_the_curves(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    run = ended.put(studio.home, plan(steps=5), "--steps", "5")
    page = open_page(run).page
    panel = PicturePanel(page.model, [])
    page.column.addWidget(panel)
    page._tab_through(panel, page.problem.button or page.stop_button)
    stops, at = [], page.folder_button.nextInFocusChain()
    while at is not page.folder_button:
        stops.append(at)
        at = at.nextInFocusChain()
    places = [stops.index(one) for one in (page.stop_button, panel.choose, page.charts.loss._more)]
    assert places == sorted(places)


def test_a_row_can_leave_a_kind_missing_type_a_rare_one_and_is_told_what_was_not_understood(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended
):
    run = ended.put(studio.home, plan(steps=5), "--steps", "5")
    shown = open_page(run, Oracle({"value": 1987.0, "unread": [["size", "big"]]}))
    columns = (
        {"name": "size", "kind": "number", "examples": ["3"]},
        {"name": "weather", "kind": "category", "top": [["sun", 4], ["rain", 3]], "distinct": 2, "missing": 5},
        {"name": "city", "kind": "category", "top": [["Rome", 2], ["Oslo", 1]], "distinct": 300, "missing": 0},
    )
    state = shown.model.state.value
    shown.model.state.set(replace(state, facts=replace(state.facts, columns=columns, target="price")))
    panel = RowPanel(shown.model)
    qtbot.addWidget(panel)
    weather, city = panel._boxes["weather"], panel._boxes["city"]
    assert isinstance(weather, ComboBox) and isinstance(city, LineEdit)
    weather.set_value("")
    assert weather.currentText() == "(missing)"
    assert panel.row() == {"size": "3", "weather": "", "city": "Rome"}
    qtbot.mouseClick(panel.button, Qt.MouseButton.LeftButton)
    panel.show_trial(shown.model.state.value.trial)
    assert panel.answers.head.text() == "1987"  # it may be a year: values of data are not grouped
    assert panel.answers.under.text() == "is the price the model expects. Not understood, so left out: size “big”."


@pytest.mark.parametrize("panel", [RowPanel, TextPanel])
def test_a_problem_with_an_answer_is_told_in_words(
    qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended, panel: type
):
    run = ended.put(studio.home, plan(steps=5), "--steps", "5")
    shown = open_page(run, Oracle({"error": {"id": "predict-stopped", "facts": {"code": -9}}}))
    made = panel(shown.model)
    qtbot.addWidget(made)
    made.show()
    qtbot.mouseClick(made.button, Qt.MouseButton.LeftButton)
    made.show_trial(shown.model.state.value.trial)
    assert made.problem.isVisible() and made.problem.title.text()


def test_tab_brings_a_whole_plot_into_view(qtbot: Any, open_page: Callable[..., Shown], studio: Studio, ended: Ended):
    run = ended.put(studio.home, plan(steps=20), "--steps", "20")
    shown = open_page(run)
    shown.page.resize(1200, 500)
    shown.page.area.verticalScrollBar().setValue(0)
    plot = shown.page.charts.speed.canvas
    shown.page.area.ensureWidgetVisible(plot)  # what Qt does on Tab
    assert plot.visibleRegion().boundingRect().height() == plot.height()
