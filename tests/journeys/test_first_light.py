"""One sitting with the real window and the real engine: pick data, start, watch, stop and keep, try, train longer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from tpu_studio.app.studio import Studio
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.run.page import RunPage
from tpu_studio.gui.run.trying import PicturePanel
from tpu_studio.gui.run.trypieces import Picture
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.wire.resources import resource_path

SECONDS = 1000
KINDS = ("0", "1", "5")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Three kinds of hands in folders as people name them, and one file that is no picture."""
    folder = tmp_path / "meine Hände ✋"
    for kind in KINDS:
        shutil.copytree(resource_path("samples", "sign-digits", kind), folder / f"hand {kind}")
    (folder / "hand 0" / "broken.jpg").write_bytes(b"\xff\xd8\xff not a picture")
    return folder


@pytest.fixture
def window(qapp: QApplication, home: Path) -> Iterator[Studio]:
    studio = Studio(qapp, home)
    yield studio
    studio.end()


def click(widget: QWidget) -> None:
    assert widget.isVisible() and widget.isEnabled(), f"{widget.accessibleName()!r} cannot be pressed"
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def answer(studio: Studio, words: str) -> None:
    sheet = next(sheet for sheet in studio.window.findChildren(Sheet) if sheet.isVisible())
    click(next(button for button in sheet.findChildren(Button) if button.text() == words))


def drop(on: QWidget, path: Path) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    middle, buttons, keys = on.rect().center(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(on, QDragEnterEvent(middle, Qt.DropAction.CopyAction, data, buttons, keys))
    QApplication.sendEvent(on, QDropEvent(QPointF(middle), Qt.DropAction.CopyAction, data, buttons, keys))


@pytest.mark.engine
@pytest.mark.slow
def test_from_a_folder_of_pictures_to_a_model_that_is_tried_and_trained_longer(
    qtbot: Any, window: Studio, pictures: Path, engine_python: Path
):
    window.show()
    qtbot.waitUntil(lambda: window.services is not None, timeout=20 * SECONDS)

    # a new run on one's own pictures
    click(window.window.sidebar.new_button)
    plan_holder: Any = window.window.page("plan")
    qtbot.waitUntil(lambda: plan_holder.page is not None, timeout=20 * SECONDS)
    page, model = plan_holder.page, plan_holder.model
    page.data_section.kinds.card("images").click()
    drop(page.data_section.zone, pictures)
    qtbot.waitUntil(
        lambda: model.state.value.look is not None and model.state.value.plan is not None, timeout=30 * SECONDS
    )
    assert model.state.value.look.broken_count == 1
    assert [name for name, _ in model.state.value.look.classes] == [f"hand {kind}" for kind in KINDS]

    # many times through the data, so that it can be stopped on the way
    page.go_to("settings")
    epochs = page.settings_section.box("training.epochs").line
    epochs.setFocus()
    epochs.selectAll()
    QTest.keyClicks(epochs, "400")
    QTest.keyClick(epochs, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: model.state.value.plan is not None and model.state.value.plan.job["training.epochs"] == 400)
    qtbot.waitUntil(lambda: page.card.start.button.isEnabled(), timeout=30 * SECONDS)
    click(page.card.start.button)

    # watch it learn, then stop and keep
    qtbot.waitUntil(lambda: window.shell.state.value.page == "run", timeout=30 * SECONDS)
    run_id = window.shell.state.value.run
    run_holder: Any = window.window.run_page
    qtbot.waitUntil(lambda: isinstance(run_holder.page, RunPage), timeout=20 * SECONDS)
    run: RunPage = run_holder.page
    state = run.model.state
    qtbot.waitUntil(lambda: "val_accuracy" in state.value.view.last, timeout=120 * SECONDS)
    qtbot.waitUntil(lambda: bool(run.charts.loss.canvas.drawn), timeout=10 * SECONDS)
    click(run.stop_button)
    answer(window, "Stop & keep model")
    qtbot.waitUntil(lambda: state.value.over, timeout=120 * SECONDS)
    assert run.pill.text() == "Stopped by you"
    stopped_at = state.value.view.step
    assert 0 < stopped_at < state.value.view.steps_planned

    # try the model on a picture of the data
    qtbot.waitUntil(lambda: bool(run.findChildren(PicturePanel)), timeout=20 * SECONDS)
    panel = run.findChildren(PicturePanel)[0]
    click(next(small for small in panel.findChildren(Picture) if small.isEnabled()))
    qtbot.waitUntil(
        lambda: bool(state.value.trial.classes) or state.value.trial.problem is not None, timeout=90 * SECONDS
    )
    assert state.value.trial.problem is None
    assert {name for name, _ in state.value.trial.classes} == {f"hand {kind}" for kind in KINDS}

    # a little longer, from where it stood, on one curve
    click(run.extend_button)
    sheet = next(sheet for sheet in window.window.findChildren(Sheet) if sheet.isVisible())
    from tpu_studio.gui.kit.numberedit import DecimalBox

    box = sheet.findChild(DecimalBox)
    assert box is not None
    box.setValue(1.0)
    answer(window, "Train longer")
    qtbot.waitUntil(lambda: state.value.view.attempt == 2 and state.value.view.step > stopped_at, timeout=120 * SECONDS)
    click(run.stop_button)
    answer(window, "Stop & keep model")
    qtbot.waitUntil(lambda: state.value.over, timeout=120 * SECONDS)

    folder = window.services.runs.folder(run_id)  # type: ignore[union-attr]
    following = window.services.runs.follow(run_id)  # type: ignore[union-attr]
    following.poll()
    steps = following.curve("loss").values()[0].tolist()  # type: ignore[attr-defined]
    following.close()
    assert steps == list(range(1, steps[-1] + 1)), "no step is missing and none is told twice"
    for name in ("model.keras", "saved_model", "metrics.csv", "report.html", "tensorboard"):
        assert (folder / "result" / name).exists()
    assert json.loads((folder / "result" / "model.json").read_text())
