"""The Compare page as a person uses it: chosen on the Runs page, added, taken out, drawn along both axes, saved."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

from tests.fakes.ended import Ended
from tests.fakes.pages import data_of, read
from tests.fakes.plans import plan
from tests.gui.studios import OpenStudio
from tpu_studio.app.holders import CompareHolder
from tpu_studio.gui.compare.page import ComparePage
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.shell.sheet import Sheet


@pytest.fixture
def two_runs(home: Path, ended: Ended) -> tuple[str, str]:
    """There before the window is."""
    one, other = (
        ended.put(home, plan(name=name, steps=steps), "--steps", str(steps))
        for name, steps in (("first", 10), ("second", 12))
    )
    return one, other


def shown(qtbot, studio: OpenStudio) -> ComparePage:
    holder = studio.window.page("compare")
    assert isinstance(holder, CompareHolder)
    qtbot.waitUntil(lambda: holder.page is not None)
    assert isinstance(holder.page, ComparePage)
    return holder.page


@pytest.fixture
def compared(qtbot, two_runs: tuple[str, str], studio: OpenStudio) -> tuple[ComparePage, str, str]:
    one, other = two_runs
    studio.shell.go("runs")
    runs = studio.page
    for run in (one, other):
        runs.table.runs.toggle(run)
    assert not runs.compare.isHidden()
    runs.compare.click()
    page = shown(qtbot, studio)
    qtbot.waitUntil(lambda: len(page.model.state.value.rows) == 2)
    return page, one, other


def test_chosen_runs_are_laid_beside_each_other_with_a_finding_curves_and_a_table(compared, studio):
    page, one, other = compared
    view = page.model.state.value
    assert studio.shell.state.value.page == "compare"
    assert view.title and page.finding.title.text() == view.title
    assert {row.run for row in view.rows} == {one, other}
    assert dict(view.measures) and view.measure in dict(view.measures)
    assert page.plot is not None and {line.run for line in page.model.lines()} == {one, other}
    assert page.table is not None and page.table.model().rowCount() == 2


def test_axis_and_measure_are_chosen(qtbot, compared):
    page, one, other = compared
    before = page.plot
    page.axis.changed.emit("step")
    assert page.model.state.value.axis == "step" and page.plot is not before
    assert max(drawn.curve.source.last()[0] for drawn in page.plot.canvas.drawn) == 12
    page.axis.segment("epoch").click()
    each = {line.run: line.course.steps_per_epoch for line in page.model.lines()}
    ends = {drawn.curve.key: drawn.curve.source.last()[0] for drawn in page.plot.canvas.drawn}
    assert ends == {run: pytest.approx(steps / each[run]) for run, steps in ((one, 10), (other, 12))}
    drawn = page.plot
    page.measure.chosen.emit("loss")
    assert page.model.state.value.measure == "loss" and page.plot.title.text() == "Loss (training)"
    qtbot.waitUntil(lambda: len(page.model.lines()) == 2)
    assert page.plot is drawn  # it was the loss already


def test_along_the_cost_stand_those_that_cost_something_and_the_others_are_named(qtbot, studio):
    services, speeds = studio.studio.services, [word for n in (2, 5, 8) for word in ("--at", f"{n}:speed")]
    studio._trainer[:] = ["--steps", "10", "--step-s", "0.02", *speeds]
    dear = services.runs.launch(plan(name="dear", steps=10, usd_per_hour=36.0), beside=True)
    studio.wait_over(dear)
    free = studio.launch("free", steps=10)
    studio.wait_over(free)
    studio.runs.compared((dear, free))
    page = shown(qtbot, studio)
    qtbot.waitUntil(lambda: len(page.model.state.value.rows) == 2 and page.model.state.value.costs)
    page.axis.segment("cost").click()
    spent = studio.studio.services.runs.summary(dear).usd
    [drawn] = page.plot.canvas.drawn
    assert drawn.curve.name == "dear" and 0 < drawn.curve.source.last()[0] <= spent
    assert page.plot._finding.text() == "“free” cost nothing, and has no place along the cost."
    page.axis.segment("examples").click()
    assert {drawn.curve.source.last()[0] for drawn in page.plot.canvas.drawn} == {1440.0}  # ten batches of 144
    assert page.plot._finding.text() == ""


def test_of_runs_that_cost_nothing_there_is_no_axis_by_cost(compared):
    page, *_ = compared
    assert not page.axis.segment("cost").isEnabled()
    assert "None of these runs cost anything" in page.axis.segment("cost").toolTip()


def test_the_table_is_sorted_by_its_heads_and_from_its_menu(qtbot, compared):
    page, one, other = compared
    header = page.table.horizontalHeader()
    place = [page.table.model().headerData(n, Qt.Orientation.Horizontal) for n in range(header.count())].index("Time")

    def order():
        return [key for key, _ in page.table.model().rows]

    def press():
        spot = QPoint(header.sectionViewportPosition(place) + header.sectionSize(place) // 2, header.height() // 2)
        qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=spot)

    column = page.model.state.value.columns.index("Time")
    quickest, slowest = (  # of two that took as long the first stays the first
        [row.run for row in sorted(page.model.state.value.rows, key=lambda row: row.keys[column], reverse=down)]
        for down in (False, True)
    )
    press()
    assert order() == quickest
    assert page.table.sorted_by == (place, False)
    spoken = page.table.model().headerData(place, Qt.Orientation.Horizontal, Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Time, sorted up"
    press()
    assert order() == slowest
    press()
    assert page.table.sorted_by == (-1, False)
    (sorting,) = [action.menu() for action in page.menu_of(one).actions() if action.menu() is not None]
    next(action for action in sorting.actions() if action.text() == "Run").trigger()
    assert order() == [one, other]  # "first", "second"


def test_a_run_is_taken_out_and_added_again_and_one_alone_says_what_to_do(qtbot, compared):
    page, one, other = compared
    take_out = page.menu_of(other).actions()[1]
    take_out.trigger()
    qtbot.waitUntil(lambda: page.model.state.value.runs == (one,) and not page.model.state.value.is_reading)
    assert not page.empty.isHidden() and page.finding.isHidden()
    add = [action for action in page.addable().actions() if other in action.text()]
    add[0].trigger()
    qtbot.waitUntil(lambda: len(page.model.state.value.rows) == 2)
    assert page.empty.isHidden()


def test_what_is_saved_is_shown_in_its_folder_and_its_notice_goes(qtbot, compared, tmp_path: Path, monkeypatch):
    page, *_ = compared
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    assert page.saved.isHidden()
    page.model.save_table(tmp_path / "t.csv")
    qtbot.waitUntil(lambda: not page.saved.isHidden())
    page.saved.button.click()
    assert opened == [str(tmp_path)] and page.saved.title.text() == "t.csv is saved"
    page.saved.cross.click()
    assert page.saved.isHidden()


def test_the_table_is_saved_whole(qtbot, compared, tmp_path: Path):
    page, one, other = compared
    page.model.save_table(tmp_path / "t.csv")
    qtbot.waitUntil(lambda: bool(page.model.state.value.saved))
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text("utf-8").splitlines()))
    assert sorted(row["run"] for row in rows) == sorted([one, other])
    assert {"time_s", "cost_usd", "steps"} <= set(rows[0])


def test_the_next_run_is_planned_from_the_best(compared, studio, monkeypatch):
    page, *_ = compared
    planned = []
    monkeypatch.setattr(page.model, "planned", planned.append)
    if page.model.state.value.best:
        page.finding.acted.emit()
        assert planned
    else:
        assert page.finding.button.isHidden()


def test_a_run_that_is_deleted_meanwhile_is_told_and_nothing_breaks(qtbot, compared, studio):
    page, one, other = compared
    studio.studio.services.runs.delete(other)
    studio.shell.go("runs")
    studio.shell.go("compare")
    qtbot.waitUntil(lambda: page.model.state.value.problem is not None)
    assert not page.problem.isHidden() and page.table is not None
    assert [row.run for row in page.model.state.value.rows] == [one, other]  # the one that is there is still shown
    assert not page.export.isVisible() and not page.page.isVisible()
    words = page.table.model().index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "The run was deleted" in words
    opened, take_out = page.menu_of(other).actions()[:2]
    assert not opened.isEnabled()
    take_out.trigger()
    qtbot.waitUntil(lambda: page.model.state.value.runs == (one,) and not page.model.state.value.is_reading)
    page.model.show((one, "never-was"))
    qtbot.waitUntil(lambda: page.model.state.value.problem is not None)
    assert not page.problem.isHidden()


def test_a_run_that_is_renamed_is_called_so_in_table_and_curves(qtbot, compared, studio):
    page, _, other = compared
    studio.studio.services.runs.rename(other, "Mine")
    qtbot.waitUntil(lambda: {row.name for row in page.model.state.value.rows} == {"first", "Mine"})
    assert {drawn.curve.name for drawn in page.plot.canvas.drawn} == {"first", "Mine"}


def test_before_anything_is_chosen_the_page_leads_to_the_runs(qtbot, studio):
    studio.shell.go("compare")
    page = shown(qtbot, studio)
    qtbot.waitUntil(lambda: not page.empty.isHidden())
    page.empty.acted.emit()
    assert studio.shell.state.value.page == "runs"


def test_a_comparison_is_saved_as_one_page_after_saying_what_is_in_it(qtbot, compared, tmp_path: Path):
    page, *_ = compared
    assert page.page.isEnabled()
    page.page.click()
    qtbot.waitUntil(lambda: any(sheet.isVisible() for sheet in page.window().findChildren(Sheet)))
    (sheet,) = [sheet for sheet in page.window().findChildren(Sheet) if sheet.isVisible()]
    assert "Your data, and samples of it" in [text.text() for text in sheet.findChildren(Text)]
    next(button for button in sheet.findChildren(Button) if button.text() == "Save as one page…").click()
    (dialog,) = page.findChildren(QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "page.html"))
    dialog.close()
    qtbot.waitUntil(lambda: bool(page.model.state.value.saved))
    (plot, *_) = data_of(read((tmp_path / "page.html").read_bytes()))["plots"]
    tones = {drawn.curve.name: drawn.curve.tone for drawn in page.plot.canvas.drawn}
    assert {line["name"]: f"s{line['tone']}" for line in plot["lines"]} == tones
    assert set(tones) == {"first", "second"}
