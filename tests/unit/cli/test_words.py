"""What the command line says while it waits: a line when something has changed, and seldom that it still waits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.views import T, view_of
from tpu_studio.cli import output as outputs
from tpu_studio.cli import running
from tpu_studio.cli.output import Output
from tpu_studio.cli.sweeping import hourly
from tpu_studio.cli.words import doing
from tpu_studio.wire.errors import CloudRefused

QUEUED = (0.0, "phase", {"phase": "queued", "detail": "waiting for its turn", "attempt": 1})
SETTING_UP = (700.0, "phase", {"phase": "setting-up", "detail": "engine", "attempt": 1})


def test_a_run_that_waits_for_another_says_so_once_then_how_long_and_then_what_comes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    clock = SimpleNamespace(at=1000.0)
    monkeypatch.setattr(outputs, "time", SimpleNamespace(monotonic=lambda: clock.at))
    output, begun = Output(as_json=False), clock.at
    while (seconds := clock.at - begun) < 720.0:
        view = view_of(QUEUED) if seconds < 700.0 else view_of(QUEUED, SETTING_UP)
        words, same = doing(view, "computer", T + seconds)
        output.progress(None, words, same=same)
        clock.at += 5.0
    assert capsys.readouterr().err.splitlines() == [
        "Waiting for its turn: another run trains on this computer…",
        "Waiting for its turn: another run trains on this computer, 10 min so far…",
        "Setting up: loading the engine … (it has waited 12 min for its turn)",
    ]


def test_a_machine_that_is_asked_for_is_told_in_words_and_not_again_while_only_time_passes():
    asked = (0.0, "phase", {"phase": "queued", "detail": "submitted", "attempt": 1})
    opened = (0.0, "opened", {"bucket": "b", "project": "p"})
    waits = (60.0, "waiting", {"zones": ["us-west4-a"], "since": T, "why": "no-capacity", "tries": 1})
    later = (600.0, "log", {"stream": "stderr", "text": "x"})
    told, same = doing(view_of(opened, asked), "practice", T)
    assert "submitted" not in told and told.startswith(same)
    first, same = doing(view_of(opened, asked, waits), "practice", T)
    second, still = doing(view_of(opened, asked, waits, later), "practice", T)
    assert (first, second) == (f"Waiting 1 min, {same}", f"Waiting 10 min, {still}") and same == still


def test_what_a_bucket_costs_an_hour_is_told_without_powers_of_ten():
    assert [hourly(usd) for usd in (0.0, 1.657e-08, 0.012, 1.2)] == ["0", "0.0000", "0.012", "1.2"]


RENTED = (
    (0.0, "phase", {"phase": "setting-up", "detail": "engine", "attempt": 1}),
    (1.0, "opened", {"bucket": "b", "project": "p"}),
    (2.0, "intent", {"id": "create/ts-x", "action": "create", "name": "ts-x", "zone": "us-west4-a"}),
    (3.0, "cloud", {"name": "ts-x", "zone": "us-west4-a", "state": "ready", "raw": "ACTIVE", "created": T + 3}),
)
TRAINS = (10.0, "metric", {"step": [20], "loss": [0.5]})
COSTS = (20.0, "money", {"usd": 0.10, "usd_per_hour": 3.6})


def test_the_cost_of_a_rented_run_goes_on_between_reports_as_the_window_counts_it():
    view = view_of(*RENTED, TRAINS, COSTS)
    assert doing(view, "cloud", T + 20)[0].endswith("$0.10")
    assert doing(view, "cloud", T + 49)[0].endswith("$0.13")  # 29 s of $3.60 an hour more; no report is due yet
    assert running._line("x", view, T + 49)["cost_usd"] == pytest.approx(0.129) == view.usd_now(T + 49)


def test_a_report_that_is_overdue_is_told_with_its_age_and_the_cost_goes_on():
    view = view_of(*RENTED, TRAINS, COSTS)
    told = doing(view, "practice", T + 200)[0]
    assert told.endswith("practice $0.28 · nothing heard for 3 min: all but the cost is of then")
    line = running._line("x", view, T + 200)
    assert line["silent_s"] == 180 and line["cost_usd"] == pytest.approx(0.28)
    assert running._line("x", view, T + 49)["silent_s"] == 0


def test_while_a_machine_is_set_up_its_cost_goes_on_too_and_is_no_news():
    view = view_of(*RENTED, COSTS)
    first, same = doing(view, "cloud", T + 20)
    later, still = doing(view, "cloud", T + 49)
    assert (first, later) == (f"{same} … · $0.10", f"{same} … · $0.13") and same == still


def test_a_project_that_is_shut_down_while_a_machine_may_be_there_is_told_whole_and_before_that_by_its_title():
    error = CloudRefused("project-deleted", raw="Project 1 has been deleted.")
    services: Any = SimpleNamespace(driver=SimpleNamespace(problems={"x": error}))
    going, begun = view_of(*RENTED, COSTS), view_of(*RENTED[:2])
    told = running._lost(services, "x", going)
    assert "stops its machines and all billing at once" in told and "within 30 days" in told
    assert running._words(services, "x", going, "cloud")[0] == "The project of this run was shut down…"
    assert running._lost(services, "x", begun) == ""
    assert running._words(services, "x", begun, "cloud")[0] == "Your project is marked for deletion…"
    services.driver.problems.clear()
    assert running._lost(services, "x", going) == ""
