"""The gallery of models: as it is before there is data, and on few photographs, where one model is recommended. `make
pictures` calls it once the engine is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driving import Driver


def photograph(driver: Driver, out: Path) -> None:
    import pictures

    shell = driver.studio.shell
    shell.go("models")
    driver.linger(1)
    pictures.both(driver, out, "models")
    pictures.planned(driver, "few-photos")
    shell.go("models")
    page: Any = driver.window.page("models")
    told = page.model.state
    driver.wait(lambda: len(told.value.outlooks) >= page._columns, 60, "No model was planned.")
    driver.linger(1)
    pictures.both(driver, out, "models-data")
