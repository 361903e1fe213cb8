"""Two computers act on one run at the same instant: between any two calls of the first, the second takes it over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.clouddesk import RUN, CloudDesk
from tests.fakes.skies import Sky, cloud_plan
from tests.unit.workflow.cloudruns.test_take_over import second, settle
from tpu_studio.wire.errors import RunError

CASES = [*((at, "looks", False) for at in range(1, 62, 4)), *((at, "stops", True) for at in range(1, 62))]


@pytest.mark.parametrize(("at", "then", "hangs"), CASES)
def test_taken_over_between_any_two_calls_there_is_one_machine_at_most_and_none_for_ever(
    tmp_path: Path, sky: Sky, at: int, then: str, hangs: bool
) -> None:
    """*hangs*: only the shut-off timers can end it once both computers are done."""
    desk, left = CloudDesk(tmp_path / "one", sky), [at]
    sky.never_boots = hangs
    verbs, driver, journal = second(tmp_path, sky)

    def between(call: str, done: bool) -> None:
        left[0] -= 1
        if left[0]:
            return
        sky.hook = lambda call, done: None
        try:
            verbs.take_over(cloud_plan(), RUN)
        except RunError as error:
            assert error.id in ("run-unknown", "run-busy")
            return
        if then == "stops":
            verbs.stop(driver.home / "runs" / RUN, True)
        for _ in range(6):
            sky.pass_time(max(5.0, driver.turn(RUN)))

    sky.hook = between
    for _ in range(400):
        if desk.state.settled:
            break
        desk.turn()
        if (driver.home / "runs" / RUN).exists():
            sky.pass_time(driver.turn(RUN))
    if (driver.home / "runs" / RUN).exists():
        settle(driver, sky)
    desk.until()
    sky.pass_time(12 * 3600.0)  # the shut-off timers
    desk.die()
    journal.disconnect()
    assert sky.most_at_once <= 1 and sky.nodes == {}
    assert sky.usd_billed() < 20.0 + 12.0 * (1.0 + 4.0)
