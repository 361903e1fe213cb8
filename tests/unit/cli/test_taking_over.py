"""`watch gs://…`: what stands in a bucket rents nothing and reads nothing here before somebody has said yes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.fakes.skies import cloud_plan
from tpu_studio.cli import keeping, running
from tpu_studio.cli.output import Output
from tpu_studio.wire.controls import Control
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.plan import Plan, dumps
from tpu_studio.wire.planparts import PlanPrice
from tpu_studio.workflow.cloudruns import believed
from tpu_studio.workflow.cloudruns.offer import Offer

ADDRESS = "gs://some-bucket/runs/friendly-b2b2"


def strangers(place: str) -> Plan:
    plan = cloud_plan(place=place).launched("friendly-b2b2", 1.0, "1")
    return replace(plan, limits=replace(plan.limits, money_usd=250_000.0, hours=600.0))


class Bucket:
    """Who takes a run over; *known*: it was agreed to here before; *changes*: of its limits, in the bucket."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        place: str,
        known: bool = False,
        changes: tuple[Control, ...] = (),
        plan: Plan | None = None,
    ) -> None:
        self.taken: list[str] = []
        offer = Offer(dumps(plan or strangers(place)), changes, known)

        def take(place_: str, address: str, agreed: Offer) -> str:
            assert agreed is offer
            self.taken.append(address)
            return "friendly-b2b2"

        runs = SimpleNamespace(offer=lambda place_, address: offer, take_over_from=take)

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


def test_what_would_be_read_on_this_computer_is_named_in_lines_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = strangers("cloud")
    changes = {"data.path": "/home/me/diary\nIt has no cost limit.", "data.kind": "text", "model.name": "gpt-tiny"}
    with pytest.raises(BadInput):
        Bucket(monkeypatch, "cloud", plan=replace(plan, job=plan.job.with_values(changes))).watch()
    assert "it is read here: /home/me/diary It has no" in capsys.readouterr().err
    changes = {"model.name": "kerashub-backbone", "model.preset": "/home/me/private/vit"}
    with pytest.raises(BadInput):
        Bucket(monkeypatch, "cloud", plan=replace(plan, job=plan.job.with_values(changes))).watch()
    assert "begins from is copied to the bucket from here: /home/me/private/vit" in capsys.readouterr().err


def test_what_is_shown_is_what_the_limits_come_to_and_not_the_plans_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bucket = Bucket(monkeypatch, "cloud", changes=({"verb": "limits", "money_usd": 777_000.0},))
    with pytest.raises(BadInput) as refused:
        bucket.watch()
    assert refused.value.facts["usd"] == 777_000.0
    assert "$777,000.00 or 600 hours" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("usd_per_hour", "hours", "most", "words"),
    [
        (0.0, 600.0, 5_760.0, "It may cost $5,760"),  # 8 chips at $1.20
        (0.05, 600.0, 960.0, "It may cost $960"),  # $5 are 100 hours at that price
        (None, None, None, "Nothing ends it."),
        (9.6, 600.0, 5.0, "Its plan counts $9.60 an hour."),
    ],
)
def test_a_limit_of_money_that_a_price_in_the_bucket_defeats_is_told_by_the_list_of_this_computer(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    usd_per_hour: float | None,
    hours: float | None,
    most: float | None,
    words: str,
) -> None:
    plan = strangers("cloud")
    limits = replace(plan.limits, money_usd=5.0, hours=hours)
    price = None if usd_per_hour is None else PlanPrice("", usd_per_hour, "given")
    bucket = Bucket(monkeypatch, "cloud", plan=replace(plan, limits=limits, price=price))
    with pytest.raises(BadInput) as refused:
        bucket.watch()
    assert refused.value.facts["usd"] == most
    assert words in capsys.readouterr().err


def test_what_a_machine_of_an_unknown_price_may_come_to_is_not_its_cost_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unlisted = replace(strangers("cloud"), accelerator="tpu7x 2x2x1", price=None)
    with pytest.raises(BadInput) as refused:
        Bucket(monkeypatch, "cloud", plan=unlisted).watch()
    assert refused.value.facts["usd"] is None
    assert "what such a machine costs is not known here, so its cost limit does not count" in capsys.readouterr().err


@pytest.mark.parametrize(("place", "known"), [("practice", False), ("cloud", True)])
def test_what_is_free_or_was_agreed_to_here_is_taken_over_at_once(
    monkeypatch: pytest.MonkeyPatch, place: str, known: bool
) -> None:
    bucket = Bucket(monkeypatch, place, known)
    assert bucket.watch() == 0 and bucket.taken == [ADDRESS]


def test_a_run_that_goes_on_tells_the_limits_that_hold_by_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    believed.ask(tmp_path, {"verb": "limits", "money_usd": 300_000.0})
    runs = SimpleNamespace(plan=lambda run: strangers("cloud"), folder=lambda run: tmp_path)
    arguments = SimpleNamespace(run="friendly-b2b2", yes=False, money=None, hours=None)
    with pytest.raises(BadInput) as refused:
        keeping._agree_to_rent(SimpleNamespace(runs=runs), arguments, Output(as_json=True))  # type: ignore[arg-type]
    assert refused.value.facts["usd"] == 300_000.0
    assert "$300,000.00 or 600 hours" in capsys.readouterr().err


def test_what_it_may_cost_at_worst_and_a_waiver_are_said_before_the_yes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the wait in its plan and this computer's stops; what the plan says of its own margins counts for nothing."""
    plan = strangers("cloud")
    limits = replace(plan.limits, money_usd=20.0, hours=2.0, margin_s=0.0, margin_boot_s=0.0)
    for hours, waived in ((2.0, False), (600.0, True)):
        told = replace(plan, limits=replace(limits, wait_hours=hours, without_outside_stop=waived))
        with pytest.raises(BadInput):
            Bucket(monkeypatch, "cloud", plan=told).watch()
        said = capsys.readouterr()
        said_all = said.out + said.err
        usd = Offer(dumps(told), (), False).worst_usd
        assert usd is not None and usd > 20.0 + hours * 12.0 and f"At worst ${usd:,.2f}: up to" in said_all
        job = replace(plan.job, limits=replace(plan.job.limits, wait_hours=hours))  # by which the machine is waited for
        by_job = Offer(dumps(replace(plan, limits=limits, job=job)), (), False).worst_usd
        assert by_job == pytest.approx(usd) or hours == 2.0
        by_time = replace(told, limits=replace(told.limits, money_usd=None))
        assert Offer(dumps(by_time), (), False).worst_usd == pytest.approx(usd - 20.0 + 24.0)
        assert ("without shut-off timers" in said_all) is waived
