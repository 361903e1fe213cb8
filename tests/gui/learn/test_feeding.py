"""Chapter 6 in the real window: photographs are made, the plan says that a TPU waits for them, one press mends it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton

from tests.gui.learn.test_learn_page import learned, strip
from tpu_studio.gui.kit.button import Button

SEE, MEND = "feeding/see", "feeding/mend"


def done(studio: Any, key: str) -> bool:
    return next(one for view in learned(studio).state.value.chapters for one in view.steps if one.key == key).done


def waits(studio: Any) -> list[QAbstractButton]:
    found: list[QAbstractButton] = studio.window.page("plan").findChildren(Button)
    return [one for one in found if one.text() == "Use 768 px" and one.isVisible()]


def test_a_tpu_that_waits_for_pictures_is_seen_and_mended_by_one_press(qtbot, studio):
    learned(studio).press(SEE)
    assert any("1,200" in one.title for one in studio.shell.state.value.notices)  # says what it is doing
    learned(studio).press(SEE)  # pressed again meanwhile: they are made once
    qtbot.waitUntil(lambda: studio.shell.state.value.page == "plan")
    assert not any("1,200" in one.title for one in studio.shell.state.value.notices)
    assert not done(studio, SEE)  # not yet timed
    qtbot.waitUntil(lambda: done(studio, SEE))
    assert "step 2 of 4" in strip(studio).title.text() and not strip(studio).button.isVisible()
    model = studio.window.page("plan").model
    waiting = model.state.value.plan
    qtbot.waitUntil(lambda: len(waits(studio)) == 1)
    QTest.mouseClick(waits(studio)[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: done(studio, MEND))
    mended = model.state.value.plan
    assert mended.job.data.image_size == 768
    assert mended.examples_per_s.expected > 2 * waiting.examples_per_s.expected
