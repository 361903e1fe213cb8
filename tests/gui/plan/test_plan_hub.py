"""A model of the Hugging Face Hub on the Plan page: planned with, looked up, agreed to and downloaded, by presses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.fakes import hub as fakes
from tests.fakes import presets as samples
from tests.fakes.planning import World
from tests.fakes.tasks import InlineTasks, LaterTasks
from tpu_studio.cloud.hub import Hub
from tpu_studio.cloud.session import Patience
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.plan.hub_sheet import HubSheet
from tpu_studio.gui.plan.notes import TallNote
from tpu_studio.gui.plan.page import PlanPage
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.hubfetch import HubFetch
from tpu_studio.wire import hub

NAME = "hf:owner/small-llama"
KNOWN = "hf:Qwen/Qwen2.5-0.5B"
AT_ONCE = Patience(tries=2, sleep=lambda seconds: None, first_s=0.0, most_s=0.0)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fakes.Fake]:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    with fakes.running() as found:
        found.repositories["owner/small-llama"] = fakes.Repository(samples.decoder("llama", tmp_path))
        yield found


def chosen(world: World, name: str) -> None:
    world.model.choose_data("text", Path("/plays"))
    world.model.choose_model("pretrained-lm")
    world.model.apply({"model.preset": name})


def fetch(fake: fakes.Fake, world: World, tasks: InlineTasks | LaterTasks | None = None) -> HubFetch:
    found = HubFetch(
        tasks or InlineTasks(),
        lambda token: Hub(token, endpoint=fake.address, patience=AT_ONCE),
        lambda view: world.model.plan_again(),
    )
    world.model.open_hub = found.show
    return found


def note(page: PlanPage, words: str) -> TallNote:
    return next(one for one in page.findChildren(TallNote) if words in one.title.text())


def press(qtbot: QtBot, button: Button | None) -> None:
    assert button is not None and button.isVisible() and button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def test_from_its_name_to_its_weights_by_four_presses(
    qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake
) -> None:
    found = fetch(fake, world)
    chosen(world, NAME)
    qtbot.mouseClick(note(page, "was not looked up").button, Qt.MouseButton.LeftButton)
    sheet = HubSheet(page, found)
    sheet.open()
    assert "hears the model's name" in sheet._lines[1].text() and not sheet.token.isVisible()
    press(qtbot, sheet.go)
    assert "apache-2.0" in sheet._lines[1].text() and sheet.go.text() == "Download"
    assert world.view.plan is not None and world.view.plan.verdict is not None
    assert "cannot start" not in world.view.plan.verdict.why
    qtbot.mouseClick(note(page, "are not downloaded yet").button, Qt.MouseButton.LeftButton)
    press(qtbot, sheet.go)
    assert not sheet.go.isVisible() and found.state.value.whole
    assert world.view.plan is not None and not world.view.plan.blocking
    sheet.close()


def test_a_known_model_is_planned_with_before_anything_is_asked(page: PlanPage, world: World, fake: fakes.Fake) -> None:
    fetch(fake, world)
    chosen(world, KNOWN)
    plan = world.view.plan
    assert plan is not None and [one.id for one in plan.blocking] == [hub.LOOKED_UP] and not plan.faults
    assert plan.memory.device_bytes and plan.preset_bytes == 988_065_536
    assert planwords.model_title(world.view.job) == "Qwen/Qwen2.5-0.5B"
    opened: list[str] = []
    world.model.open_hub = opened.append
    page.card.start.button.click()
    assert opened == [KNOWN] and not world.launched
    assert plan.verdict is not None and "cannot start" not in plan.verdict.why
    assert not fake.asked


def test_terms_are_accepted_on_its_page_and_the_token_is_kept_nowhere(
    qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake, tmp_path: Path
) -> None:
    fake.repositories["owner/small-llama"].token = "hf_right_token"
    found = fetch(fake, world)
    chosen(world, NAME)
    found.show(NAME)
    sheet = HubSheet(page, found)
    sheet.open()
    press(qtbot, sheet.go)
    assert sheet.problem.isVisible() and sheet.token.isVisible()
    assert found.state.value.problem is not None and "accept its terms" in found.state.value.problem.action
    qtbot.keyClicks(sheet.token, "hf_right_token")
    press(qtbot, sheet.go)
    press(qtbot, sheet.go)
    assert found.state.value.whole
    assert "hf_right_token" not in repr(found.state.value)
    for one in (tmp_path / "home").rglob("*"):
        assert not one.is_file() or b"hf_right_token" not in one.read_bytes()
    sheet.close()


def test_it_goes_on_behind_a_closed_sheet_and_is_stopped_by_a_press(
    qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake
) -> None:
    tasks = LaterTasks()
    found = fetch(fake, world, tasks)
    found.show(NAME)
    sheet = HubSheet(page, found)
    sheet.open()
    press(qtbot, sheet.go)
    assert sheet.bar.isVisible() and sheet.away.text() == "Go on in the background" and not sheet.go.isVisible()
    press(qtbot, sheet.away)
    found.show("hf:owner/other")  # one at a time: it shows what is under way
    assert found.state.value.preset == NAME
    sheet = HubSheet(page, found)
    sheet.open()
    press(qtbot, sheet.stop)
    tasks.finish_all()
    assert found.state.value.problem is None and not found.state.value.doing
    assert sheet.go.isVisible() and hub.entry(hub.folder(NAME)) is None
    sheet.close()


def test_what_goes_wrong_is_said_in_the_sheet(qtbot: QtBot, page: PlanPage, world: World, fake: fakes.Fake) -> None:
    fake.faults["/revision/main"] = ["cut"] * 9
    found = fetch(fake, world)
    found.show(NAME)
    sheet = HubSheet(page, found)
    sheet.open()
    press(qtbot, sheet.go)
    assert sheet.problem.isVisible() and "does not answer" in sheet.problem.title.text()
    fake.faults.clear()
    press(qtbot, sheet.go)
    assert not sheet.problem.isVisible() and sheet.go.text() == "Download"
    sheet.close()
