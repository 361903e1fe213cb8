"""A machine that may not delete itself, or cannot learn whether it may, trains nothing and is deleted from outside.

On the practice cloud, with real machines and the real guardian, in worlds that answer the question differently.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import pytest

from tests.fakes.waiting import PATIENCE_S
from tests.journeys.test_cloud_run import Desk, desk, practice
from tests.journeys.test_rented_runs import plan_of
from tpu_studio.practice.main import Practice

__all__ = ["desk", "practice"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux")
Start = Callable[..., Practice]
Sit = Callable[[Practice], Desk]
SPEED = 120.0  # the ten minutes for which it asks take five seconds


def is_over_untrained(here: Desk, run: str) -> None:
    row = here.until(run)
    assert row.reason == "cannot-delete-itself", here.tell(run)
    assert not here.steps(run, 1)
    (told,) = [one for one in here.said(run, 1) if one.get("id") == "self-deletion-unproved"]
    assert told.get("facts")["waited_s"] > 300
    doing = [one.get("detail") for one in here.said(run, 1) if one.kind == "phase"]
    assert "proof" in doing
    assert "bundle" not in doing
    assert here.journal.open_intents() == []
    assert here.receipt(run)["made"][0]["proof"] == "GET by name answered 404"


def test_one_whose_account_may_not_delete_it_is_deleted_by_others(practice: Start, desk: Sit) -> None:
    here = desk(practice("runner-may-not-delete", speed=SPEED))
    run = here.launch()
    is_over_untrained(here, run)
    here.nothing_is_left(run)


def test_where_google_refuses_the_question_it_is_the_same(practice: Start, desk: Sit) -> None:
    cloud = practice(speed=SPEED)
    cloud.cloud.doubts.arm("project-proof")
    here = desk(cloud)
    run = here.launch()
    is_over_untrained(here, run)
    here.nothing_is_left(run)


def test_where_compute_engine_refuses_the_question_it_is_the_same(practice: Start, desk: Sit) -> None:
    cloud = practice(speed=SPEED)
    cloud.cloud.doubts.arm("compute-proof")
    here = desk(cloud)
    run = here.runs.launch(plan_of(accelerator="v6e-1", backend="compute-engine"))
    is_over_untrained(here, run)
    assert here.practice.cloud.db.list("compute-instance") == []


def test_with_the_laptop_off_the_stop_at_google_that_it_asks_for_deletes_it(practice: Start, desk: Sit) -> None:
    here = desk(practice("runner-may-not-delete", speed=SPEED))
    run = here.launch()
    cloud = here.practice.cloud
    here.until(run, lambda row: bool(cloud.db.list("tpu-node")))
    here.die()
    give_up = time.monotonic() + PATIENCE_S
    while cloud.db.list("tpu-node") and time.monotonic() < give_up:
        time.sleep(0.1)
    assert cloud.db.list("tpu-node") == []
    [line] = [line for line in cloud.meter.bill() if f"ts-{run}" in str(line["name"])]
    assert line["seconds"] < 600 + 300 + 5 * SPEED  # ten minutes of asking, the start, and a busy computer's seconds
    here.start()
    is_over_untrained(here, run)
