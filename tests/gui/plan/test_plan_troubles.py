"""The Plan page when something is in the way: data that cannot be read, no engine, an own model, a failed launch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tests.fakes.tasks import LaterTasks
from tests.gui.plan.pages import as_wide_as
from tpu_studio.data.looked import Finding
from tpu_studio.gui.plan import consent
from tpu_studio.gui.plan.consent import ConsentSheet
from tpu_studio.gui.plan.notes import TallNote
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.viewmodels.engine import Bar, EngineView
from tpu_studio.wire.errors import DataError, NotReady, RunError, SignedOut, StudioError
from tpu_studio.workflow import ownfile


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
    sheet = page.window().findChild(ConsentSheet)
    assert sheet is not None
    assert "build_model" in sheet.code.toPlainText()
    assert sheet.code.lineWrapMode() != QPlainTextEdit.LineWrapMode.NoWrap  # none of it stands far out to the right
    assert page.window().focusWidget() is sheet.no
    qtbot.keyClick(sheet.no, Qt.Key.Key_Escape)
    assert not world.launched
    world.model.start()
    sheet = next(found for found in page.window().findChildren(ConsentSheet) if found.isVisible())
    qtbot.mouseClick(sheet.yes, Qt.MouseButton.LeftButton)
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
    assert "470 MB" in page.card.start.engine.text.text()
    assert not world.launched


def test_creating_the_engine_can_be_cancelled_where_it_was_begun(qtbot: QtBot, page: PlanPage, world: World):
    page.show()
    world.model.choose_data("digits", None)
    for width in (1300, 900):
        as_wide_as(page, width)
        world.engine.state.set(EngineView("missing", doing="install", bar=Bar(0.3, "Downloading", "3 of 9 packages")))
        cancel = page.card.start.cancel if width == 1300 else page.bar.engine.button
        assert cancel is not None and cancel.isVisible() and cancel.text() == "Cancel"
        qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
        assert world.engine.state.value.cancelling
        assert (cancel.text(), cancel.isEnabled()) == ("Stopping…", False)
        world.engine.state.set(EngineView("missing"))
        start = page.card.start.button if width == 1300 else page.bar.button
        assert start.isEnabled() and not cancel.isVisible()


def test_a_launch_that_fails_is_told_above_the_button(qtbot: QtBot, page: PlanPage, world: World):
    as_wide_as(page, 1300)
    world.launch_trouble = RunError("disk-full", folder="/runs", raw="x")
    world.model.choose_data("digits", None)
    qtbot.mouseClick(page.card.start.button, Qt.MouseButton.LeftButton)
    assert page.card.start.problem.isVisible()
    assert page.card.start.problem.title.text() == "The disk is full"


@pytest.mark.parametrize(
    ("trouble", "button"),
    [(SignedOut("signed-out"), "Sign in"), (NotReady("cloud-not-ready", raw="No project is selected"), "Open account")],
)
def test_what_the_account_lacks_leads_to_the_account_page_with_one_click(
    qtbot: QtBot, page: PlanPage, world: World, trouble: StudioError, button: str
):
    opened: list[str] = []
    world.model.open_account = lambda: opened.append("account")
    world.launch_trouble = trouble
    world.model.choose_data("digits", None)
    for width, box in ((1300, page.card.start), (900, page.bar)):
        as_wide_as(page, width)
        qtbot.mouseClick(box.button, Qt.MouseButton.LeftButton)
        assert box.problem.isVisible() and box.problem.button is not None
        assert box.problem.button.text() == button
        qtbot.mouseClick(box.problem.button, Qt.MouseButton.LeftButton)
        assert not box.problem.isVisible()
    assert opened == ["account", "account"]


def test_before_a_model_file_runs_on_a_rented_machine_it_is_said_what_it_reaches_there_and_what_is_unseen_stands_out(
    qtbot: QtBot, tmp_path: Path
):
    file = tmp_path / "model.py"
    file.write_text("def build_model(job): ...  # \u202eharmless\u2066\u200b\x07\rimport os\n", "utf-8")
    window = QWidget()
    qtbot.addWidget(window)
    told = {}
    for place in ("computer", "cloud"):
        sheet = ConsentSheet(ownfile.read(file, None), place, window, lambda: None, lambda: None)
        told[place] = " ".join(text.text() for text in sheet.findChildren(QLabel))
        shown = sheet.code.toPlainText()
        assert all(f"\\u{{{number}}}" in shown for number in ("202e", "2066", "200b", "7", "d"))
        assert shown.isprintable() or shown.replace("\n", "").isprintable()
    assert "it shares that machine's Google account" in told["cloud"] and "delete TPUs" in told["cloud"]
    assert "read what is set on all of its virtual machines (metadata)" in told["cloud"]
    assert "rented machine" not in told["computer"]


def test_a_line_without_end_is_shown_whole_in_pieces_that_are_laid_out_one_by_one(qtbot: QtBot, tmp_path: Path):
    """One line of a million letters held the window for half a minute, and again at each change of its width."""
    code = f"x = 1\n# {'a' * 1_234} import os; os.system('x')\n\ny = 2\n"
    file = tmp_path / "model.py"
    file.write_text(code, "utf-8")
    window = QWidget()
    qtbot.addWidget(window)
    shown = ConsentSheet(ownfile.read(file, None), "computer", window, lambda: None, lambda: None).code.toPlainText()
    assert max(map(len, shown.splitlines())) <= consent.LONGEST_LINE + len(consent.GOES_ON)
    assert shown.replace(f"\n{consent.GOES_ON}", "") == code
