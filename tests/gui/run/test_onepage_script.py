"""The script of a run's page: it draws axes and curves, zooms, and reads values. In Qt's JavaScript engine, on a small
stand-in for a browser; in a real browser where there is one."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtQml import QJSEngine

from tests.fakes.pages import curve_of, read
from tests.unit.viewmodels.test_onepage import page_of

DOM = Path(__file__).parents[2] / "fakes" / "dom.js"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell")


class Browser:
    """A page whose script has run."""

    def __init__(self, data: bytes) -> None:
        self._engine = QJSEngine()
        page = read(data)
        (script,) = [one.text for one in page.all("script") if "id" not in one.attributes]
        self.run(f"var page = {json.dumps(page.to_json())};\n{DOM.read_text('utf-8')}\n{script}\nvar done = true; done")

    def run(self, program: str) -> Any:
        found = self._engine.evaluate(program)
        assert not found.isError(), f"line {found.property('lineNumber').toInt()}: {found.toString()}"
        return found.toVariant()

    def path(self) -> str:
        return str(self.run('root.querySelector("path").attributes.d'))

    def words(self, within: str) -> list[str]:
        told = self.run(f'JSON.stringify(root.querySelectorAll("{within}").map((one) => one.textContent))')
        return [str(word) for word in json.loads(told)]


@pytest.fixture
def browser(tmp_path: Path, qapp: QCoreApplication) -> Browser:
    values = np.linspace(2.0, 1.0, 1000)
    values[600] = 9.0
    return Browser(page_of(tmp_path, curves={"loss": curve_of(tmp_path, values)}).data)


def test_axes_and_curve_are_drawn(browser: Browser) -> None:
    assert browser.path().startswith("M0.0 ") and browser.path().count("L") > 900
    words = browser.words("text")
    assert "200" in words and "steps" in words and "2" in words
    assert browser.words("button") == ["+", "−", "‹", "›", "All"]


def test_zooming_in_shows_a_part_and_all_shows_all_again(browser: Browser) -> None:
    whole = browser.path()
    browser.run('root.querySelectorAll("button")[0].fire("click"); root.querySelectorAll("button")[0].fire("click")')
    part = browser.path()
    assert 200 < part.count("L") < 300
    assert max(map(len, browser.words("text"))) <= 7  # no 0.30000000000000004
    assert browser.run('root.querySelectorAll("button")[1].disabled') is False
    browser.run('root.querySelectorAll("button")[3].fire("click")')
    assert browser.path() != part
    browser.run('root.querySelectorAll("button")[4].fire("click")')
    assert browser.path() == whole
    assert browser.run('root.querySelectorAll("button")[1].disabled') is True


def test_thousands_stand_apart(tmp_path: Path, qapp: QCoreApplication) -> None:
    shown = Browser(page_of(tmp_path, curves={"loss": curve_of(tmp_path, np.linspace(2.0, 1.0, 40_000))}).data)
    assert {"10,000", "20,000", "30,000"} <= set(shown.words("text"))
    shown.run('root.querySelector("svg").fire("pointermove", { clientX: 66 + 480 })')
    assert shown.words("output") == ["step 40,000: training 1"]


def test_dragging_over_a_part_zooms_to_it_and_a_double_click_back(browser: Browser) -> None:
    whole = browser.path()
    browser.run(
        """var svg = root.querySelector("svg");
        svg.fire("pointerdown", { button: 0, pointerType: "mouse", clientX: 66 + 240, pointerId: 1 });
        svg.fire("pointermove", { clientX: 66 + 288 });
        svg.fire("pointerup", { clientX: 66 + 288 });"""
    )
    assert 90 < browser.path().count("L") < 110  # a tenth of it
    assert "8" in browser.words("text")  # the spike at six tenths is just within
    browser.run('svg.fire("dblclick", {})')
    assert browser.path() == whole


def test_the_values_under_the_pointer_are_said(browser: Browser) -> None:
    browser.run('root.querySelector("svg").fire("pointermove", { clientX: 66 })')
    assert browser.words("output") == ["step 1: training 2"]
    browser.run('root.querySelector("svg").fire("pointerleave", {})')
    assert browser.words("output") == [""]


@pytest.mark.parametrize("values", [[1.0], [np.nan, 1e308], [1e100, -1e100], [3.0, 3.0]], ids=str)
def test_odd_curves_break_nothing(tmp_path: Path, qapp: QCoreApplication, values: list[float]) -> None:
    browser = Browser(page_of(tmp_path, curves={"loss": curve_of(tmp_path, np.array(values))}).data)
    assert "NaN" not in browser.path()
    browser.run('root.querySelectorAll("button").forEach((one) => one.fire("click"))')
    assert "NaN" not in browser.path()


def test_a_browser_shows_it_without_a_word_of_complaint(tmp_path: Path) -> None:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)}")
    file = tmp_path / "page.html"
    file.write_bytes(page_of(tmp_path).data)
    argv = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path}/u",
    ]
    done = subprocess.run([*argv, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0
    assert ">All</button>" in done.stdout
    assert "CONSOLE" not in done.stderr
