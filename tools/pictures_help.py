"""The Help page with an error text and what it means, and the Compare page. `make pictures` calls them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driving import Driver

LOG = (
    "2026-11-25 10:01:12 I0000 Starting training\n"
    "W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT\n"
    "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in "
    "memory space hbm. Used 21.95G of 15.48G hbm. Exceeded hbm capacity by 6.47G.\n"
    'RPC failed with status = "Unavailable: Socket closed"\n'
)


def photograph(driver: Driver, out: Path) -> None:
    import pictures

    driver.studio.shell.go("help")
    page: Any = driver.window.page("help")
    page.explain_text(LOG)
    driver.wait(lambda: bool(page.model.state.value.answer), 30, "The text was not explained.")
    pictures.both(driver, out, "help-explained")


def photograph_comparison(driver: Driver, out: Path, runs: list[str]) -> None:
    import demo
    import pictures

    others = [demo.train(driver, pictures.example("digits")).run for _ in range(2)]
    driver.studio.runs.compared((runs[0], *others))
    holder: Any = driver.window.page("compare")
    driver.wait(lambda: holder.page is not None and len(holder.page.model.state.value.rows) == 3, 60, "No comparison.")
    driver.linger(2)
    pictures.both(driver, out, "compare")
