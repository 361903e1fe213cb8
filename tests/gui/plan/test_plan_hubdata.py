"""A data set of the Hugging Face Hub on the Plan page: from its name to a plan, by presses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.fakes import hub as fakes
from tests.fakes import hubdata as samples
from tests.fakes.planning import World
from tests.fakes.tasks import InlineTasks, LaterTasks
from tpu_studio.app.datasets import Datasets
from tpu_studio.cloud.hubdata import DataHub
from tpu_studio.cloud.session import Patience
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.choose import CheckBox
from tpu_studio.gui.plan.hubdata_sheet import HubDataSheet
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.viewmodels.datafetch import Came, DataFetch
from tpu_studio.wire import hubdata

AT_ONCE = Patience(tries=2, sleep=lambda seconds: None, first_s=0.0, most_s=0.0)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fakes.Fake]:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    with fakes.running() as found:
        found.datasets["owner/reviews"] = samples.reviews(tmp_path / "hub")
        yield found


def fetch(fake: fakes.Fake, came: list[Came], tasks: InlineTasks | LaterTasks | None = None) -> DataFetch:
    return DataFetch(
        tasks or InlineTasks(), lambda token: DataHub(token, endpoint=fake.address, patience=AT_ONCE), came.append
    )


def opened(page: PlanPage, model: DataFetch) -> HubDataSheet:
    sheet = HubDataSheet(page, model)
    sheet.open()
    return sheet


def press(qtbot: QtBot, button: Button | CheckBox) -> None:
    """Once it lies where it is shown: new ones are laid out later."""
    qtbot.waitUntil(lambda: button.isVisible() and button.isEnabled() and not button.visibleRegion().isEmpty())
    qtbot.waitUntil(lambda: button.visibleRegion().contains(button.rect().center()))
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton, pos=button.rect().center())


def typed(qtbot: QtBot, sheet: HubDataSheet, name: str) -> None:
    sheet.name.clear()
    qtbot.keyClicks(sheet.name, name)


def test_from_its_name_to_a_plan(qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake) -> None:
    """The plan has it by the way of a dropped folder."""
    came = list[Came]()
    model = fetch(fake, came)
    asked = list[bool]()
    world.model.open_datasets = lambda: asked.append(True)
    world.model.open_section("data")
    press(qtbot, page.data_section.hub)
    assert asked and not fake.asked
    sheet = opened(page, model)
    assert not sheet.go.isEnabled() and "hears the data set's name" in sheet._lines[0].text()
    typed(qtbot, sheet, "https://huggingface.co/datasets/owner/reviews")
    press(qtbot, sheet.go)
    assert "mit" in sheet._lines[0].text() and sheet.go.text() == "Download" and not sheet.token.isVisible()
    assert list(sheet.splits) == ["train", "test", "unsupervised"]
    assert [box.isChecked() for box in sheet.splits.values()] == [True, False, False]
    assert "160 rows" in sheet.splits["train"].label and "a first part only" in sheet.splits["unsupervised"].label
    assert sheet._columns.text() == "Columns text, label." and not [one for one, _ in fake.asked if "/resolve/" in one]
    press(qtbot, sheet.go)
    (one,) = came
    assert (one.name, one.kind) == ("owner/reviews", "text") and sheet.go.text() == "Use it"
    sheet.close()
    world.model.choose_path(one.path, one.kind, "reviews")
    job = world.view.job
    assert (job.data.kind, job.data.path, job.name) == ("text", str(one.path), "reviews")
    assert one.path == hubdata.folder("hf:owner/reviews") / "plain_text"


def test_a_subset_and_its_splits_are_chosen(qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake) -> None:
    came = list[Came]()
    model = fetch(fake, came)
    sheet = opened(page, model)
    typed(qtbot, sheet, "owner/reviews")
    qtbot.keyClick(sheet.name, Qt.Key.Key_Return)
    press(qtbot, sheet.splits["train"])
    assert not sheet.go.isEnabled() and sheet._advice.text() == "Choose a split."
    press(qtbot, sheet.splits["train"])
    press(qtbot, sheet.splits["test"])
    assert "learns from train" in sheet._advice.text()
    press(qtbot, sheet.go)
    assert len(list(came[0].path.iterdir())) == 3
    sheet.subsets.set_value("the numbers")
    sheet.subsets.activated.emit(1)
    assert list(sheet.splits) == ["train"] and "seen once it is here" in sheet._columns.text()
    press(qtbot, sheet.go)
    assert came[1].kind == "table"
    sheet.close()


def test_terms_are_accepted_on_its_page_and_the_token_is_kept_nowhere(
    qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake, tmp_path: Path
) -> None:
    fake.datasets["owner/reviews"].token = "hf_right_token"
    came = list[Came]()
    model = fetch(fake, came)
    sheet = opened(page, model)
    typed(qtbot, sheet, "owner/reviews")
    press(qtbot, sheet.go)
    assert sheet.token.isVisible() and not sheet.problem.isVisible()
    press(qtbot, sheet.go)
    assert sheet.problem.isVisible() and "The data set owner/reviews wants to be asked" in sheet.problem.title.text()
    qtbot.keyClicks(sheet.token, "hf_right_token")
    press(qtbot, sheet.go)
    assert came and "hf_right_token" not in repr(model.state.value)
    for one in (tmp_path / "home").rglob("*"):
        assert not one.is_file() or b"hf_right_token" not in one.read_bytes()
    sheet.close()


def test_it_goes_on_behind_a_closed_sheet_and_is_stopped_by_a_press(
    qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake
) -> None:
    tasks, came = LaterTasks(), list[Came]()
    model = fetch(fake, came, tasks)
    sheet = opened(page, model)
    typed(qtbot, sheet, "owner/reviews")
    press(qtbot, sheet.go)
    tasks.finish_all()
    press(qtbot, sheet.go)
    assert sheet.bar.isVisible() and sheet.away.text() == "Go on in the background"
    assert not sheet.name.isEnabled() and not sheet.splits["train"].isEnabled()
    press(qtbot, sheet.away)
    sheet = opened(page, model)
    assert sheet.bar.isVisible() and sheet.name.text() == "owner/reviews"
    press(qtbot, sheet.stop)
    tasks.finish_all()
    assert not came and model.state.value.problem is None and sheet.go.text() == "Download"
    press(qtbot, sheet.go)
    press(qtbot, sheet.away)
    tasks.finish_all()
    assert came


def test_what_goes_wrong_is_said_in_the_sheet(qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake) -> None:
    model = fetch(fake, [])
    sheet = opened(page, model)
    typed(qtbot, sheet, "no name")
    press(qtbot, sheet.go)
    assert "is no name of a data set" in sheet.problem.title.text() and not fake.asked
    typed(qtbot, sheet, "owner/none")
    assert not sheet.problem.isVisible()
    press(qtbot, sheet.go)
    assert "has no data set owner/none" in sheet.problem.title.text() and sheet.token.isVisible()
    sheet.close()


def test_more_than_is_fetched_cannot_be_pressed(
    qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fetch(fake, [])
    sheet = opened(page, model)
    typed(qtbot, sheet, "owner/reviews")
    monkeypatch.setattr(hubdata, "MOST_BYTES", 10)
    press(qtbot, sheet.go)
    assert not sheet.go.isEnabled() and "At most 20 GB" in sheet._advice.text()
    sheet.close()


class _Shell:
    def __init__(self) -> None:
        self.notices: list[tuple[str, Callable[[], None]]] = []
        self.page = ""

    def notify(self, title: str, text: str, *, tone: str, action: str, act: Callable[[], None]) -> None:
        self.notices.append((title, act))

    def go(self, page: str) -> None:
        self.page = page


def test_what_comes_is_planned_with_at_once_or_behind_a_closed_sheet_by_a_press(
    qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", fake.address)
    tasks, shell = LaterTasks(), _Shell()
    studio: Any = SimpleNamespace(window=page, tasks=tasks, shell=shell)
    datasets = Datasets(studio, world.model)
    datasets.show()
    sheet = page.findChild(HubDataSheet)
    typed(qtbot, sheet, "owner/reviews")
    press(qtbot, sheet.go)
    tasks.finish_all()
    press(qtbot, sheet.go)
    tasks.finish_all()
    assert not shell.notices and world.view.job.data.kind == "text" and world.view.job.name == "reviews"
    world.model.choose_data("table", Path("/homes.csv"))
    datasets.show()
    sheet = page.findChild(HubDataSheet)
    assert sheet.go.text() == "Use it"
    press(qtbot, sheet.go)
    press(qtbot, sheet.away)
    tasks.finish_all()
    ((title, act),) = shell.notices
    assert "owner/reviews" in title and world.view.job.data.kind == "table"
    act()
    assert shell.page == "plan" and world.view.job.data.kind == "text"
