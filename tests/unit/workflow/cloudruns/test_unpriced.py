"""A run whose plan has no price, of an older version or from a bucket, is counted by this computer's list."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.clouddesk import CloudDesk
from tests.fakes.skies import Sky, cloud_plan
from tpu_studio.domain.sentences import say_notice
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns import acts, offer
from tpu_studio.workflow.cloudruns.driver import Driver

NO_PRICE = replace(cloud_plan(place="cloud"), price=None)
NO_PRICE = replace(NO_PRICE, limits=replace(NO_PRICE.limits, money_usd=2.0, hours=8.0))


def driven(home: Path, sky: Sky, plan: Plan) -> tuple[float, list[str]]:
    """Hours until the machine of a run that never ends is gone, and what was said of its price."""
    sky.steps, sky.step_s = 10**6, 30.0
    there = CloudDesk(home, sky, plan, run="digits-k3f9")
    there.driver = Driver(home, places={"cloud": sky.place()}, journal=there.journal)
    while not sky.nodes:
        there.turn()
    began = sky.now
    while sky.nodes and sky.now < began + 12 * 3600.0:
        there.turn()
        sky.pass_time(600.0)
    there.die()
    notices = [one for one in there.said("notice") if str(one.get("id")).startswith("price-")]
    said = [say_notice(str(one.get("id")), dict(one.get("facts") or {})) for one in notices]
    return (sky.now - began) / 3600.0, [f"{one.title}: {one.meaning}" for one in said]


def test_without_a_price_in_its_plan_a_cost_limit_counts_by_the_list_of_this_computer(
    desk: CloudDesk, sky: Sky
) -> None:
    """$2 are 13 minutes of 8 chips at $1.20; the plan's 8 hours would be $77."""
    hours, said = driven(desk.home, sky, NO_PRICE)
    assert hours < 1.0
    (told,) = said
    assert "$9.60 an hour" in told


def test_where_no_list_has_the_price_that_is_said_and_the_time_limit_ends_it(
    desk: CloudDesk, sky: Sky, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offer, "listed", lambda plan: None)
    monkeypatch.setattr(acts, "listed", lambda plan: None)
    hours, said = driven(desk.home, sky, NO_PRICE)
    assert 7.0 < hours < 10.0
    (told,) = said
    assert "cannot count" in told
