"""A run over the night in which the clocks change: what lasts is counted in seconds, what is shown is local time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.fakes.looks import DIGITS, LAPTOP
from tests.fakes.making import make_plan
from tests.fakes.views import T, view_of
from tpu_studio.domain import figures
from tpu_studio.viewmodels import draft, runrented
from tpu_studio.viewmodels.money import month_of
from tpu_studio.viewmodels.receipt import receipt_of
from tpu_studio.viewmodels.runrows import row_of
from tpu_studio.workflow.ports import RunSummary

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def at(utc: str) -> float:
    return datetime.fromisoformat(utc).replace(tzinfo=UTC).timestamp()


# Place, the moment of the change, the last local time before it and the first from it on.
SWITCHES = [
    (BERLIN, at("2026-03-29 01:00"), "01:59:59", "03:00:00"),
    (BERLIN, at("2026-10-25 01:00"), "02:59:59 CEST", "02:00:00 CET"),
    (NEW_YORK, at("2026-03-08 07:00"), "01:59:59", "03:00:00"),
    (NEW_YORK, at("2026-11-01 06:00"), "01:59:59 EDT", "01:00:00 EST"),
]


@pytest.fixture
def live_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    def move(place: str) -> None:
        monkeypatch.setenv("TZ", place)
        time.tzset()
        if time.tzname[0] == place:
            pytest.skip("this computer has no table of time zones")

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("place", "change", "before", "then"), SWITCHES)
def test_a_run_over_the_change_lasts_and_costs_what_passed_and_tells_which_of_two_hours_it_was(
    place: str, change: float, before: str, then: str, live_in
) -> None:
    live_in(place)
    begun, gone = change - 1800, change + 1800
    view = view_of((begun - T, "phase", {"phase": "training", "detail": "", "attempt": 1}))
    assert view.working_s(gone) == 3600.0
    assert figures.clock(change - 1, seconds=True) == before and figures.clock(change, seconds=True) == then
    assert figures.clock(change + 86_400) == time.strftime("%H:%M", time.localtime(change + 86_400))

    machine = {"name": "ts-a", "zone": "z", "created": begun, "deleted": gone, "usd": 1.2, "billed_s": 3600.0}
    told = receipt_of({"place": "cloud", "usd": 1.2, "usd_per_hour": 1.2, "made": [machine]})
    assert told[0].value == "$1.20" and told[1].value.startswith("1 h")
    assert f"from {figures.clock(begun, seconds=True)} on" in told[1].more

    plan = make_plan(
        draft.edited(draft.empty(), {"data.kind": "digits", "model.name": "mlp", "where.place": "cloud"}),
        DIGITS,
        now=begun,
        computer=LAPTOP,
    )
    asked = view_of(
        (begun - T, "phase", {"phase": "queued", "detail": "asked", "attempt": 1}),
        (begun - T, "waiting", {"zones": ["z"], "since": begun, "why": "no-capacity", "tries": 1}),
    )
    waiting = runrented.waiting_of(plan, asked, gone)
    assert waiting is not None and waiting.title.startswith("1 h,") and "3 h more at most" in waiting.text


def test_the_month_begins_and_ends_where_one_lives_also_when_the_clocks_change_in_it(live_in) -> None:
    live_in(NEW_YORK)

    def run(utc: str, usd: float) -> object:
        return row_of(RunSummary("r", "r", Path("/r"), at(utc), place="cloud", usd=usd, over=True, status="finished"))

    rows = [run("2026-11-01 03:59", 8.0), run("2026-11-01 04:00", 1.0), run("2026-12-01 04:59", 2.0)]
    assert month_of(rows, None, at("2026-12-01 04:59:59")).spent == "$3.00"  # 31 Oct 23:59 there is no November
    assert month_of(rows, None, at("2026-12-01 05:00")).spent == "$0.00"
