"""The sheet about what is known of TPUs: its age and source, a refresh with progress that can be ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from tests.fakes.tasks import LaterTasks
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.offers import Area, Offers, Unread
from tpu_studio.places.pricing import Priced
from tpu_studio.places.renewing import Renewed
from tpu_studio.viewmodels.catalogue import CatalogueViewModel
from tpu_studio.wire.errors import SignedOut

TODAY = date(2026, 12, 24)
OFFERS = Offers(
    "my-project",
    "2026-12-24",
    {"us-east5-a": Area("2026-12-24", {"v9x-1": "1x1"}, None)},
    unread=(Unread("us-east1-d", "timed-out"),),
)


class Lists:
    def __init__(self) -> None:
        self.out, self.cancelled = False, lambda: False

    def kept(self, place: str) -> Renewed:
        return Renewed(place, None, Priced())

    def refresh(self, place: str, told: Callable[[int, int, str], None], cancelled: Callable[[], bool]) -> Renewed:
        if self.out:
            raise SignedOut("signed-out")
        self.cancelled = cancelled
        told(1, 4, "us-east5-a")
        return Renewed(place, OFFERS, Priced(TODAY))


def shown(lists: Lists) -> tuple[CatalogueViewModel, LaterTasks]:
    tasks = LaterTasks()
    model = CatalogueViewModel(tasks, lambda: lists, lambda: TODAY)
    model.show("cloud")
    tasks.finish_all()
    return model, tasks


def test_built_in_figures_say_so_with_their_day() -> None:
    model, _ = shown(Lists())
    day = date.fromisoformat(catalogue().built_in)
    assert model.state.value.age == f"Zones and slices: built in, {day.day} {day:%b %Y}."
    assert "memory" in model.state.value.fixed


def test_a_refresh_tells_what_is_new_what_was_not_read_and_that_plans_change() -> None:
    model, tasks = shown(Lists())
    model.refresh()
    model.refresh()  # pressed twice asks once
    assert model.state.value.busy and len(tasks.waiting) == 1
    tasks.finish_all()
    view = model.state.value
    assert not view.busy and view.age.startswith("Zones and slices: from your project my-project, today; 1 of")
    assert any("v9x-1 is new to TPU Studio" in line for line in view.differs)
    assert view.unread[0].startswith("Not read: us-east1-d.") and view.prices == "Prices: Google's list, 21 Nov 2026."
    assert model.renewed.value == 1


def test_it_can_be_ended_and_shows_how_far_it_is() -> None:
    lists = Lists()
    model, tasks = shown(lists)
    model.refresh()
    model.cancel()
    model.tick()
    assert model.state.value.asking == "Ending the question under way…"
    tasks.finish_all()
    assert lists.cancelled()


def test_signed_out_nothing_changes_and_the_way_is_said() -> None:
    lists = Lists()
    model, tasks = shown(lists)
    before, lists.out = model.state.value.age, True
    model.refresh()
    tasks.finish_all()
    assert model.state.value.problem is not None and model.state.value.age == before and model.renewed.value == 0
