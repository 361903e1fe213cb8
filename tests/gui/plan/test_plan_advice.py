"""The Plan page before paying: the verdict, the other ways, the compiler's check, the free path, each number explained.

The real planner and widgets; only the compiler's process and the environment it lives in are made up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from tests.fakes.planning import World
from tests.fakes.tasks import LaterTasks
from tests.gui.studios import OpenStudio
from tpu_studio.gui.kit import theme
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.explainer import Explainer
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.plan import colab_sheet
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.local.engine.state import EngineState
from tpu_studio.viewmodels.engine import EngineViewModel
from tpu_studio.viewmodels.shell import PlanRequest
from tpu_studio.wire.plan import Plan

TOO_MUCH = {
    "traced": {"programs": 2, "problems": [], "operations": []},
    "compiled": {
        "fits": False,
        "device_bytes": 30 << 30,
        "limit_bytes": 16_911_433_728,
        "parts": {},
        "words": "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.",
        "seconds": 12.0,
    },
    "largest_batch": {"largest_batch": 16},
    "compiler": "ready",
    "versions": {"libtpu": "0.0.42"},
}


class Compiler:
    """The process that compiles: gives TOO_MUCH, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Plan] = []
        self.answer: Mapping[str, Any] = TOO_MUCH
        self.cancelled: Callable[[], bool] = lambda: False

    def known(self, plan: Plan) -> Mapping[str, Any] | None:
        return None

    def ask(self, plan: Plan, stage: Callable[[str], None], cancelled: Callable[[], bool]) -> Mapping[str, Any]:
        self.asked.append(plan)
        stage("compiling")
        return self.answer


class Environment:
    """Where the compiler lives; `install` makes it."""

    def __init__(self, status: str) -> None:
        self.status, self.installed = status, 0

    def state(self) -> EngineState:
        return EngineState(self.status)  # type: ignore[arg-type]

    def install(self, progress: Callable[[Any], None], cancelled: Callable[[], bool]) -> None:
        self.installed += 1
        self.status = "ready"

    repair = install

    def remove(self) -> None:
        self.status = "missing"


def page_of(qtbot: QtBot, world: World, status: str = "ready") -> tuple[PlanPage, Compiler, Environment]:
    compiler, environment = Compiler(), Environment(status)
    installer = EngineViewModel(world.tasks)
    installer.connect(environment)
    world.model.connect(world, world, world.stopwatch, compiler, installer)
    page = PlanPage(world.model)
    qtbot.addWidget(page)
    page.resize(1400, 900)
    page.show()
    return page, compiler, environment


def press(qtbot: QtBot, button: QWidget) -> None:
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def button_in(widget: QWidget, words: str) -> Button:
    return next(one for one in widget.findChildren(Button) if one.text() == words and not one.isHidden())


def texts(widget: QWidget) -> str:
    return " ".join(one.text() for one in widget.findChildren(Text))


def on_cloud(world: World) -> None:
    world.model.choose_data("images", Path("/hands"))
    world.model.set_place("cloud")


def test_the_verdict_says_no_with_its_numbers_and_one_press_follows_it_and_ctrl_z_takes_it_back(qtbot: QtBot):
    world = World()
    page, _, _ = page_of(qtbot, world)
    on_cloud(world)
    card = page.verdict
    assert card.answer.text() == "No: train on this computer."
    assert "at no cost" in card.why.text() and "$" in card.why.text()
    card.action.click()
    assert world.view.job["where.place"] == "computer" and world.view.plan is not None
    assert world.view.plan.place == "computer"
    world.model.undo()
    assert world.view.job["where.place"] == "cloud"


def test_advice_is_one_press_and_one_undo(qtbot: QtBot):
    world = World()
    page_of(qtbot, world)
    on_cloud(world)
    world.model.set("training.epochs", 2000)
    before = world.view.job
    check = next(one for one in world.view.warnings if one.id == "advice-epochs")
    world.model.apply(dict(check.fix or {}))
    assert world.view.job["training.epochs"] != 2000
    assert all(one.id != "advice-epochs" for one in world.view.warnings)
    world.model.undo()
    assert world.view.job == before


def test_another_way_is_chosen_from_the_plot_or_with_the_keys(qtbot: QtBot):
    world = World()
    page, _, _ = page_of(qtbot, world)
    on_cloud(world)
    card = page.verdict
    card.unfold(True)
    QApplication.processEvents()
    assert world.view.verdict is not None
    way = next(one for one in world.view.verdict.ways if one.key == "cloud/v6e-1/spot")
    assert not card.choose.isVisible() and "Choose a row or a point" in card.note.text()
    assert ("Joined by a line" in card.note.text()) == (sum(one.best for one in world.view.verdict.ways) > 1)
    alone = [replace(one, best=one.planned) for one in world.view.verdict.ways]
    card._draw_ways(replace(world.view.verdict, ways=tuple(alone)))
    assert "Joined by a line" not in card.note.text()  # no line is drawn then
    card.select(way.key)
    assert card.choose.isVisible() and "Choose a row" not in card.note.text()
    assert card.choose.text() == "Plan it for v6e · 1 chip, spot"
    card.choose.click()
    assert world.view.plan is not None
    assert (world.view.plan.accelerator, world.view.plan.job["where.tier"]) == ("v6e-1", "spot")
    assert next(one for one in world.view.verdict.ways if one.planned).key == way.key
    free = next(one for one in world.view.verdict.ways if one.key.startswith("colab"))
    QTest.mouseClick(card.plot, Qt.MouseButton.LeftButton, pos=card.plot.place_of("computer/cpu/").toPoint())
    assert card.choose.text() in ("Plan it for This computer", f"Plan it for {free.name}")
    before = card.choose.text()
    QTest.keyClick(card.plot, Qt.Key.Key_Right)
    assert card.choose.text() != before


def test_the_compiler_is_fetched_only_after_its_licence_was_accepted(qtbot: QtBot):
    world = World()
    page, compiler, environment = page_of(qtbot, world, "missing")
    on_cloud(world)
    box = page.card.figures.check
    assert box.button.text() == "Check this plan with the TPU compiler"
    box.button.click()
    assert page.compiler_sheet is not None and "https://cloud.google.com/terms" in texts(page.compiler_sheet)
    press(qtbot, button_in(page.compiler_sheet, "Not now"))
    assert page.compiler_sheet is None and not environment.installed and not compiler.asked
    box.button.click()
    assert page.compiler_sheet is not None
    press(qtbot, button_in(page.compiler_sheet, "Accept, fetch & check"))
    assert environment.installed == 1 and compiler.asked == [compiler.asked[0]]
    assert page.compiler_sheet is None


def test_who_checks_without_the_compiler_gets_a_check_and_nothing_is_fetched(qtbot: QtBot):
    world = World()
    page, compiler, environment = page_of(qtbot, world, "missing")
    on_cloud(world)
    page.card.figures.check.button.click()
    press(qtbot, button_in(page.compiler_sheet, "Check without it"))
    assert len(compiler.asked) == 1 and not environment.installed
    assert page.compiler_sheet is None


def test_what_the_compiler_says_replaces_the_estimate_and_its_repair_is_one_press(qtbot: QtBot):
    world = World()
    page, compiler, _ = page_of(qtbot, world)
    on_cloud(world)
    figures = page.card.figures
    QApplication.processEvents()
    top = figures.check.y()
    figures.check.button.click()
    QApplication.processEvents()
    assert world.view.plan is not None and world.view.plan.memory.by == "tpu-compiler"
    assert figures.fits.text() == "Does not fit" and page.card.pill.text() == "Checked by the compiler"
    assert "does not fit" in figures.check.words.text() and "libtpu 0.0.42" in figures.check.words.text()
    assert figures.check.y() == top, "nothing above the answer moves"
    assert world.view.missing == ("where", "It does not fit into this TPU")
    smaller = next(one for one in world.view.warnings if one.id == "memory-does-not-fit")
    assert smaller.fix == {"training.global_batch": 16}
    world.model.apply(smaller.fix)
    assert world.view.plan.memory.by == "estimate", "another batch was not compiled yet"
    world.model.undo()
    assert world.view.plan.memory.by == "tpu-compiler", "and this one was"
    assert len(compiler.asked) == 1


def test_a_model_that_cannot_run_shows_what_is_wrong_and_no_money(qtbot: QtBot):
    world = World()
    page, compiler, _ = page_of(qtbot, world)
    on_cloud(world)
    page.verdict.unfold(True)
    said = "ValueError: \x1b[1mThe total size must be unchanged\x1b[0m" + "\nand more" * 400
    wrong = {"id": "model-shapes", "facts": {"got": "(64,)", "wanted": "(9, 9)", "raw": said}}
    compiler.answer = {"traced": {"problems": [wrong], "operations": []}, "compiler": "ready"}
    figures = page.card.figures
    figures.check.button.click()
    assert figures.headline.text() == "Not like this" and "The shapes do not meet" in figures.subline.text()
    assert figures.limit.isHidden() and figures.rows["Training"].isHidden() and figures.fits.isHidden()
    assert "$" not in page.verdict.why.text() and not page.verdict.is_unfolded and page.verdict.action.isHidden()
    assert not [one for one in world.view.warnings if one.id.startswith("advice-")]

    press(qtbot, figures.check.raw)  # all of it, to read and to copy
    sheet = next(one for one in page.window().children() if type(one).__name__ == "Sheet")
    assert isinstance(sheet, QWidget)
    press(qtbot, button_in(sheet, "Copy all"))
    copied = QApplication.clipboard().text()
    assert copied.startswith("ValueError: The total size must be unchanged") and copied.count("and more") == 400


def test_a_check_under_way_shows_what_it_does_and_can_be_stopped(qtbot: QtBot):
    tasks = LaterTasks()
    world = World(tasks)
    page, compiler, _ = page_of(qtbot, world)
    tasks.finish_all()
    on_cloud(world)
    tasks.finish_all()
    box = page.card.figures.check
    box.button.click()
    assert not box.bar.isHidden() and box.button.text() == "Stop" and "Starting" in box.words.text()
    box.button.click()
    tasks.finish_all()
    assert box.bar.isHidden() and len(compiler.asked) == 1


def test_an_edit_during_a_check_keeps_the_new_plan_an_estimate(qtbot: QtBot):
    tasks = LaterTasks()
    world = World(tasks)
    page_of(qtbot, world)
    tasks.finish_all()
    on_cloud(world)
    tasks.finish_all()
    world.model.check()
    world.model.set("training.global_batch", 8)
    tasks.finish_all()
    assert world.view.plan is not None and world.view.plan.memory.by == "estimate"
    world.model.undo()
    tasks.finish_all()
    assert world.view.plan.memory.by == "tpu-compiler"


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_each_number_explains_itself_with_the_values_of_this_run(qtbot: QtBot):
    world = World()
    page, _, _ = page_of(qtbot, world)
    on_cloud(world)
    world.model.set_slice("v5litepod-8")
    figures = page.card.figures
    for widget, parts in (
        (figures.rows["Each chip gets"], ("÷ 8",)),
        (figures.rows["Training"], ("steps ×", "a step")),
        (figures.memory_row, ("weights", "optimizer")),
    ):
        widget.setFocus()
        QTest.keyClick(widget, Qt.Key.Key_Return)
        explainer = widget.findChild(Explainer)
        assert explainer is not None
        for part in parts:
            assert part in explainer.accessibleName(), part
        explainer.close()
    figures.how.click()
    told = figures.how.findChild(Explainer)
    assert told is not None and "an hour =" in told.accessibleName() and "Nov 2026" in told.accessibleName()


def test_what_is_greyed_out_says_why_without_hovering(qtbot: QtBot):
    world = World()
    page, _, _ = page_of(qtbot, world)
    on_cloud(world)
    world.model.set("training.framework", "tensorflow")
    page.where_section.grey.click()
    sheet = next(one for one in page.window().children() if type(one).__name__ == "Sheet")
    assert isinstance(sheet, QWidget) and "tpu7x" in texts(sheet) and "TensorFlow" in texts(sheet)


def test_the_report_is_the_plan_on_screen(qtbot: QtBot, tmp_path: Path):
    world = World()
    page, _, _ = page_of(qtbot, world)
    assert not page.report.isEnabled()
    on_cloud(world)
    assert page.report.isEnabled()
    told: list[Path] = []
    world.model.reported = told.append
    world.model.save_report(tmp_path / "plan.html")
    assert told == [tmp_path / "plan.html"]
    assert "No: train on this computer." in told[0].read_text("utf-8")
    as_pdf: list[tuple[str, Path]] = []
    world.model.write_pdf = lambda plan, file: as_pdf.append((plan.job.name, file))
    world.model.save_report(tmp_path / "plan.PDF")
    assert as_pdf == [(world.view.name, tmp_path / "plan.PDF")] and told[-1] == tmp_path / "plan.PDF"
    world.model.save_report(tmp_path)
    assert world.view.problem is not None and world.view.problem.id == "place-no-file"
    world.model.save_report(tmp_path / "missing" / "\0")
    assert world.view.problem is not None


def test_the_report_is_offered_as_pdf_and_as_a_web_page(qtbot: QtBot):
    world = World()
    page, _, _ = page_of(qtbot, world)
    on_cloud(world)
    page.report.click()
    dialog = next(one for one in page.window().children() if isinstance(one, QFileDialog))
    assert dialog.defaultSuffix() == "pdf" and len(dialog.nameFilters()) == 2
    dialog.filterSelected.emit(dialog.nameFilters()[1])
    assert dialog.defaultSuffix() == "html"
    dialog.reject()


@pytest.mark.parametrize(("width", "scale"), [(1440, 1.0), (1216, 1.5), (1036, 1.3)])
def test_nothing_is_wider_than_its_place_with_everything_unfolded(qtbot: QtBot, width: int, scale: float):
    theme.controller().set_text_scale(scale)
    world = World()
    page, _, _ = page_of(qtbot, world)
    for place in ("cloud", "colab"):
        world.model.choose_data("images", Path("/a folder with quite a long name for what is in it"))
        world.model.set_place(place)
        page.verdict.unfold(True)
        page.resize(width, 900)
        QApplication.processEvents()
        assert page.width() == width
        assert page._sheet.minimumSizeHint().width() <= page.scroller.viewport().width()


def test_free_colab_from_the_plan_to_the_run_that_waits(
    studio: OpenStudio, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """A real notebook is written in the real window; the run waits, and the browser is opened."""
    opened: list[str] = []
    monkeypatch.setattr(colab_sheet, "browse", lambda url: not opened.append(url))  # type: ignore[func-returns-value]
    file = tmp_path / "digits.tpujob"
    file.write_text('format = 1\nname = "digits"\n[model]\nname = "mlp"\n[data]\nkind = "digits"\n')
    studio.shell.open_path(file)
    qtbot, holder = studio.qtbot, studio.window.page("plan")
    assert holder is not None
    qtbot.waitUntil(lambda: holder.page is not None and holder.model.state.value.plan is not None, timeout=20_000)
    page = holder.page
    page.where_section.place.segment("colab").click()
    assert holder.model.state.value.headline and "free Colab TPU" in holder.model.state.value.subline
    assert holder.model.state.value.start_words == "Write the notebook"
    holder.model.start()
    sheet = page.notebook
    assert sheet is not None and "free TPU a day" in texts(sheet) and sheet.folder == tmp_path
    sheet.make.click()
    qtbot.waitUntil(lambda: page.colab.state.value.notebook is not None, timeout=20_000)
    view = page.colab.state.value
    assert view.notebook == tmp_path / f"{view.run}.ipynb" and view.notebook.is_file()
    assert "Run all" in sheet.steps.text()
    sheet.go.click()
    assert opened == ["https://colab.research.google.com/#create=true"]
    sheet.run.click()
    qtbot.waitUntil(lambda: studio.runs.state.value.row(view.run) is not None, timeout=20_000)
    row = studio.runs.state.value.row(view.run)
    assert row is not None and not row.over and row.status == "Waiting for Colab"
    assert studio.shell.state.value.page == "run"


def test_begun_anew_forgets_the_verdict(qtbot: QtBot):
    world = World()
    page, _, _ = page_of(qtbot, world)
    on_cloud(world)
    page.start(PlanRequest(1))
    assert world.view.verdict is None and page.verdict.isHidden()
