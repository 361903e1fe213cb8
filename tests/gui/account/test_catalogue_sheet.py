"""“TPU catalogue” as a person uses it: its age, a refresh that can be ended, what is new, what is missing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from PySide6.QtWidgets import QWidget

from tests.fakes.tasks import LaterTasks
from tpu_studio.domain.offers import Area, Offers, Unread
from tpu_studio.gui.account.catalogue import CataloguePanel, open_catalogue
from tpu_studio.gui.kit.button import Button
from tpu_studio.gui.kit.text import Text
from tpu_studio.gui.shell.sheet import Sheet
from tpu_studio.places.pricing import Priced
from tpu_studio.places.renewing import Renewed
from tpu_studio.viewmodels.catalogue import CatalogueViewModel

TODAY = date(2026, 9, 1)
OFFERS = Offers(
    "my-project",
    TODAY.isoformat(),
    {"us-east5-a": Area(TODAY.isoformat(), {"v9x-16": "2x2x4", "v6e-1": "1x1"}, None)},
    unread=(Unread("us-east1-d", "timed-out"),),
)


class Lists:
    def __init__(self) -> None:
        self.asked_to_end = False

    def kept(self, place: str) -> Renewed:
        return Renewed(place, None, Priced())

    def refresh(self, place: str, told: Callable[[int, int, str], None], cancelled: Callable[[], bool]) -> Renewed:
        told(1, 4, "us-east5-a")
        self.asked_to_end = cancelled()
        return Renewed(place, OFFERS, Priced(TODAY))


def button(sheet: Sheet, words: str) -> Button:
    return next(one for one in sheet.findChildren(Button) if one.text() == words)


def words(widget: QWidget) -> str:
    return "\n".join(one.text() for one in widget.findChildren(Text) if one.isVisibleTo(widget))


def test_a_refresh_shows_its_progress_can_be_ended_and_tells_what_it_found(window: QWidget) -> None:
    lists, tasks = Lists(), LaterTasks()
    model = CatalogueViewModel(tasks, lambda: lists, lambda: TODAY)
    sheet = open_catalogue(window, model, "practice")
    tasks.finish_all()
    panel = sheet.findChildren(CataloguePanel)[0]
    assert "Zones and slices: built in, " in words(panel) and not panel.bar.isVisibleTo(panel)
    assert panel.place.value == "practice"

    refresh, stop = button(sheet, "Refresh from your account"), button(sheet, "Stop asking")
    refresh.click()
    assert not refresh.isEnabled() and panel.bar.isVisibleTo(panel) and stop.isVisibleTo(sheet)
    stop.click()
    tasks.finish_all()

    assert lists.asked_to_end and refresh.isEnabled() and not stop.isVisibleTo(sheet)
    assert "from your project my-project, today" in words(panel)
    assert "v9x-16 is new to TPU Studio" in words(panel)
    assert panel.unread.isVisibleTo(panel) and "us-east1-d" in panel.unread.text.text()
    assert "memory" in panel.fixed.text()
    sheet.close()
