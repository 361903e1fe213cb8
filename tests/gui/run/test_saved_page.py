"""A run that was saved as one page is opened in the window again: its figures, curves and tables, to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QLabel

from tests.unit.viewmodels.test_onepage import hostile_page, page_of
from tpu_studio.gui.saved.page import SavedPage
from tpu_studio.viewmodels.onepage.data import Section, Told, block


def words(page: SavedPage) -> str:
    return "\n".join(one.text() for one in page.findChildren(QLabel))


def opened(qtbot: Any, studio: Any, file: Path) -> SavedPage:
    studio.shell.open_path(file)
    page = studio.window.page("saved")
    assert studio.shell.state.value.page == "saved" and isinstance(page, SavedPage)
    qtbot.waitUntil(lambda: page.model.state.value.told is not None or page.model.state.value.problem is not None)
    return page


def test_it_is_a_run_to_look_at(qtbot, studio, tmp_path: Path):
    file = tmp_path / "rocks.html"
    file.write_bytes(page_of(tmp_path).data)
    page = opened(qtbot, studio, file)
    assert page.header.title.text() == "rocks"
    (plot,) = page.plots
    assert "50 points" in words(page) and plot.title.text() == "Loss"
    for title in ("What was run", "Settings and why", "How to repeat it"):
        assert title in words(page)
    _, _, repeat = words(page).partition("Then, with TPU Studio:\n")
    assert repeat.startswith("tpu-studio run job.tpujob\n") and 'name = "rocks"' in repeat
    bad = tmp_path / "other.html"
    bad.write_text("<h1>99 %</h1>")
    page = opened(qtbot, studio, bad)
    assert "no page of TPU Studio" in words(page) and "99 %" not in words(page) and not page.plots


@pytest.mark.parametrize("word", ["<b>bold</b><img src=x>", "שלום עולם"])
def test_markup_in_names_is_shown_as_it_stands(qtbot, studio, tmp_path: Path, word: str):
    file = tmp_path / "page.html"
    file.write_bytes(hostile_page(tmp_path, word).data)
    page = opened(qtbot, studio, file)
    assert page.header.title.text() == word
    assert all(one.textFormat().name == "PlainText" for one in page.findChildren(QLabel) if one.text())


def test_cells_of_letters_without_end_are_cut(qtbot, studio, tmp_path: Path):
    """Three million letters were laid out anew at each change of the window's width: ten seconds each time."""
    rows = tuple(tuple("\u0644\u0627\u064e" * 150 for _ in range(25)) for _ in range(50))
    file = tmp_path / "page.html"
    file.write_text(block(Told("long", ("Finished", "ok"), "A page.", (), (), (Section("Table", rows=rows),))), "utf-8")
    page = opened(qtbot, studio, file)
    assert 50_000 < len(words(page)) < 110_000 and "rows" in words(page)


def test_of_tables_without_end_a_page_shows_so_many_cells_and_how_many_rows_are_left(qtbot, studio, tmp_path: Path):
    """48,000 cells, a label each, kept the window standing for half a minute."""
    rows = tuple(tuple(f"r{row}c{column}" for column in range(40)) for row in range(50))
    sections = tuple(Section(f"Table {number}", rows=rows, head=("column",) * 40) for number in range(20))
    file = tmp_path / "page.html"
    file.write_text(block(Told("wide", ("Finished", "ok"), "A page.", (), (), sections)), "utf-8")
    page = opened(qtbot, studio, file)
    cells = [one.text() for one in page.findChildren(QLabel) if one.text() == "column" or one.text().startswith("r")]
    assert 1_400 <= len(cells) <= 1_500
    assert "and 14 more, which a browser shows" in words(page)
    assert words(page).count("50 rows, which a browser shows") == 19
