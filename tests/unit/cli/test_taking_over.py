"""`watch gs://…`: what stands in a bucket rents nothing and reads nothing here before somebody has said yes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.skies import cloud_plan
from tpu_studio.cli import running
from tpu_studio.cli.output import Output
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.plan import Plan

ADDRESS = "gs://some-bucket/runs/friendly-b2b2"


def strangers(place: str) -> Plan:
    plan = cloud_plan(place=place).launched("friendly-b2b2", 1.0, "1")
    return replace(plan, limits=replace(plan.limits, money_usd=250_000.0, hours=600.0))


class Bucket:
    """Who takes a run over; *known*: it was agreed to here before."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, place: str, known: bool = False) -> None:
        self.taken: list[str] = []
        runs = SimpleNamespace(
            plan_to_take_over=lambda place_, address: (strangers(place), known),
            take_over_from=lambda place_, address: self.taken.append(address) or "friendly-b2b2",
        )

        @contextmanager
        def studio() -> Iterator[Any]:
            yield SimpleNamespace(runs=runs)

        monkeypatch.setattr(running, "studio", studio)
        monkeypatch.setattr(running, "to_the_end", lambda services, name, output, **more: 0)
        self.place = place

    def watch(self, *, yes: bool = False) -> int:
        arguments = SimpleNamespace(run=ADDRESS, on=self.place, yes=yes, stop_on_interrupt=False)
        return running.watch(arguments, Output(as_json=True))  # type: ignore[arg-type]


def test_a_run_in_a_bucket_is_taken_over_only_after_a_yes_to_its_limits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket = Bucket(monkeypatch, "cloud")
    with pytest.raises(BadInput) as refused:
        bucket.watch()
    assert refused.value.id == "needs-yes" and refused.value.exit_code == 2
    assert bucket.taken == []
    assert "$250,000.00 or 600 hours" in capsys.readouterr().err
    assert bucket.watch(yes=True) == 0 and bucket.taken == [ADDRESS]


@pytest.mark.parametrize(("place", "known"), [("practice", False), ("cloud", True)])
def test_what_is_free_or_was_agreed_to_here_is_taken_over_at_once(
    monkeypatch: pytest.MonkeyPatch, place: str, known: bool
) -> None:
    bucket = Bucket(monkeypatch, place, known)
    assert bucket.watch() == 0 and bucket.taken == [ADDRESS]
