"""The Learn page: its chapters, one with its live widget, the glossary, and a step over the page of a run. `make
pictures` calls it while the first example is planned and trained."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from driving import Driver


def photograph(driver: Driver, out: Path) -> None:
    import pictures

    driver.studio.shell.go("learn")
    page: Any = driver.window.page("learn")
    driver.linger(1)
    pictures.both(driver, out, "learn")
    page.open_chapter("what-a-tpu-is")
    unit = page.box.widget
    unit.choice.set_value(next(one.id for one in unit._units.values() if one.width == 256))
    unit.width_slider.setValue(12)
    unit.width_slider.moved.emit(unit.width_slider.amount)
    driver.linger(1)
    pictures.both(driver, out, "learn-chapter")
    driver.window.show_term("batch-size")
    page.glossary.search("")
    driver.linger(1)
    pictures.both(driver, out, "learn-glossary")
    page.choice.set_value("chapters")
    page.model.begin_anew("what-a-tpu-is")


def photograph_step(driver: Driver, out: Path) -> None:
    """The first chapter's run, with the step that asks over its page."""
    import demo
    import pictures

    from tpu_studio.gui.learn.strip import LearnStrip

    driver.studio.lessons().model.press("first-model/start")
    holder: Any = driver.window.page("plan")
    model = holder.model
    settled = demo.settled_with(model, {})
    ready: Callable[[], bool] = lambda: model.state.value.file == pictures.example("digits") and settled()  # noqa: E731
    driver.wait(ready, 120, "The plan of the first model was not ready.")
    pictures.start(driver)
    strip: Any = driver.window.findChild(LearnStrip)
    driver.wait(lambda: "step 3" in strip.title.text(), pictures.TRAIN_S, "The first model was not trained.")
    driver.linger(2)
    pictures.both(driver, out, "learn-step")
    driver.studio.lessons().model.leave()
    driver.studio.lessons().model.put_off()
