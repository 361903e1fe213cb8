"""A watched run's numbers come soon after they were written, whenever the first asking happened to be."""

from __future__ import annotations

import pytest

from tpu_studio.workflow.cloudruns.rhythm import AGAIN_S, RANGE_S, SILENT_PAUSE_S, SILENT_S, Rhythm


@pytest.mark.parametrize("period", [RANGE_S, RANGE_S + 0.05])
@pytest.mark.parametrize("first", [0.01, 0.7, 1.3, 1.99])
def test_ranges_are_taken_soon_after_they_were_written_and_few_askings_are_in_vain(first: float, period: float) -> None:
    rhythm, now, taken = Rhythm(), first, 0
    late, in_vain = [], 0
    for _ in range(200):
        written = int(now / period) + 1
        came = written > taken
        if came:
            late.append(now - (written - 1) * period)
        rhythm.asked(came, now)
        in_vain += not came
        taken = written
        now += rhythm.pause(now)
    assert max(late[8:]) <= AGAIN_S + 0.01
    assert taken == pytest.approx(len(late), abs=1)  # none waited for the one after it
    assert in_vain <= 0.6 * len(late)


def test_a_run_that_falls_silent_is_asked_less_often() -> None:
    rhythm = Rhythm()
    assert rhythm.pause(5.0) == SILENT_PAUSE_S
    rhythm.asked(True, 10.0)
    rhythm.asked(False, 12.0)
    assert rhythm.pause(12.0) == AGAIN_S
    assert rhythm.pause(10.0 + SILENT_S) == SILENT_PAUSE_S
