"""A Run page without anything to draw: it failed early, or trains in Colab; and the report of one that is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QScrollArea

from tests.fakes.tasks import InlineTasks
from tests.fakes.views import T
from tests.unit.viewmodels.test_run import Oracle, Verbs, Watched, training
from tpu_studio.gui.kit import theme
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.run.events import EventCard
from tpu_studio.gui.run.page import RunPage
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runhappened import Line
from tpu_studio.wire import places
from tpu_studio.wire.events import event


@pytest.fixture
def shown(qapp: Any, qtbot: Any, tmp_path: Path) -> Iterator[Callable[..., RunPage]]:
    theme.install(qapp)
    pages: list[RunPage] = []

    def show(*told: dict[str, Any], place: str = "computer") -> RunPage:
        watched = Watched()
        watched.plan = replace(watched.plan, place=place)
        watched.tell(*told)
        made: Any = (lambda: watched, Verbs(), InlineTasks(), Oracle)
        model = RunViewModel("hands-ab12", tmp_path, watched.plan, *made, clock=lambda: 200.0)
        pages.append(RunPage(model))
        qtbot.addWidget(pages[-1])
        pages[-1].resize(1200, 900)
        pages[-1].show()
        QApplication.processEvents()
        return pages[-1]

    yield show
    for page in pages:
        page.close_run()


FAILED = event("end", t=20, status="failed", reason="trainer-failed", steps=0, facts={"raw": "boom"})


def test_a_run_that_failed_before_its_first_step_shows_no_empty_plots(shown: Callable[..., RunPage]) -> None:
    page = shown(event("phase", t=10, phase="setting-up", attempt=1), FAILED)
    assert not any(card.isVisible() for card in page.charts.cards)
    assert page.happened.isVisible() and page.happened.width() > 1000  # over the whole width
    assert page.ending.isVisible()


def test_a_run_that_trains_shows_them_also_when_it_ends_badly(shown: Callable[..., RunPage]) -> None:
    page = shown(*training())
    assert all(card.isVisible() for card in page.charts.cards) and not page.colab.isVisible()
    page.model._follower.tell(event("end", t=300, status="failed", reason="trainer-failed", steps=40))  # type: ignore[union-attr]
    page.model.refresh()
    assert all(card.isVisible() for card in page.charts.cards)


def test_a_run_in_colab_says_what_to_do_and_takes_its_zip(qtbot: Any, shown: Callable[..., RunPage]) -> None:
    colab = next(one.id for one in map(places.by_id, places.IDS) if one.notebook)
    page = shown(event("phase", t=10, phase="queued", detail="waiting-for-colab", attempt=1), place=colab)
    assert page.colab.isVisible() and not page.numbers.isVisible()
    assert not any(card.isVisible() for card in page.charts.cards)
    told = " ".join(one.text() for one in page.colab.findChildren(Text))
    assert "hands-ab12.ipynb" in told and "Run all" in told and page.colab.open.isVisible()
    brought: list[Path] = []
    page.model.bring = brought.append
    page.colab.brought.emit(Path("/x.zip"))
    assert brought == [Path("/x.zip")]
    page.model._follower.tell(*training(), event("end", t=300, status="finished", reason="completed", steps=100))  # type: ignore[union-attr]
    page.model.refresh()
    assert not page.colab.isVisible() and page.numbers.isVisible()
    assert all(card.isVisible() for card in page.charts.cards)


def test_the_report_of_a_run_that_is_over_is_one_press_away(
    qtbot: Any, shown: Callable[..., RunPage], tmp_path: Path
) -> None:
    end = event("end", t=300, status="finished", reason="completed", steps=100)
    without = shown(*training(), end)
    assert without.ending.button is not None and not without.ending.button.isVisible()
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "report.html").write_text("<p>")
    page = shown(*training(), end)
    opened: list[Path] = []
    page.model.open_path = opened.append
    qtbot.mouseClick(page.ending.button, Qt.MouseButton.LeftButton)
    assert opened == [tmp_path / "result" / "report.html"]


def test_lines_of_one_minute_are_told_apart_by_their_seconds(qapp: Any, qtbot: Any) -> None:
    card = EventCard()
    qtbot.addWidget(card)
    card.show_lines([Line(T + 120, "play", "Training"), Line(T, "clock", "Started")])
    assert [row[0].text().count(":") for row in card.list._rows] == [1, 1]
    card.show_lines([Line(T + 30, "play", "Training"), Line(T + 29, "play", "First"), Line(T, "clock", "Started")])
    assert [row[0].text().count(":") for row in card.list._rows] == [2, 2, 2]


@pytest.mark.parametrize("place", ["computer", "colab", "cloud"])
def test_a_page_that_somebody_else_wrote_is_not_opened(
    shown: Callable[..., RunPage], tmp_path: Path, place: str
) -> None:
    """A copy's report is a web page, of which nobody has seen what it does."""
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "report.html").write_text("<script>alert(1)</script>")
    (tmp_path / "owner.json").write_text('{"install": "else", "imported": true}')
    page = shown(*training(), event("end", t=300, status="finished", reason="completed", steps=100), place=place)
    assert page.ending.isVisible() and not page.ending.button.isVisible()


@pytest.mark.parametrize(
    ("place", "offered"), [("computer", True), ("practice", True), ("colab", False), ("cloud", False)]
)
def test_a_page_that_was_written_elsewhere_is_not_opened(
    shown: Callable[..., RunPage], tmp_path: Path, place: str, offered: bool
) -> None:
    """The zip of a notebook, or a bucket, may have been changed by others: a browser would run what they wrote."""
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "report.html").write_text("<script>alert(1)</script>")
    page = shown(*training(), event("end", t=300, status="finished", reason="completed", steps=100), place=place)
    assert page.ending.isVisible() and page.ending.button.isVisible() is offered
    assert page.page_button.isVisible()  # what the program itself makes of the run


def test_of_many_lines_the_newest_are_shown_and_a_press_shows_the_rest(qapp: Any, qtbot: Any) -> None:
    card = EventCard()
    qtbot.addWidget(card)
    card.show_lines([Line(T, "play", str(n)) for n in range(8)])
    assert len(card.list._rows) == 8 and card.more.isHidden()
    card.show_lines([Line(T, "play", str(n)) for n in range(100)])
    assert (len(card.list._rows), card.more.text()) == (8, "Show 32 earlier lines")
    assert card.findChildren(QScrollArea) == []  # a list that scrolls within a page that scrolls takes its wheel
    card.more.click()
    assert (len(card.list._rows), card.more.text()) == (40, "Show fewer")
    card.more.click()
    assert len(card.list._rows) == 8
