"""What the command line says while it waits: a line when something has changed, and seldom that it still waits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.fakes.views import T, view_of
from tpu_studio.cli import output as outputs
from tpu_studio.cli.output import Output
from tpu_studio.cli.sweeping import hourly
from tpu_studio.cli.words import doing

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
        "Waiting for its turn: another run trains on this computer …",
        "Waiting for its turn: another run trains on this computer, 10 min so far …",
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
