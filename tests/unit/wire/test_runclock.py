"""The time a run is told in never runs back, whatever happens to the computer's clock."""

from __future__ import annotations

from pathlib import Path

from tpu_studio.wire.runclock import RunClock, latest_event_s
from tpu_studio.wire.runfolder import desk_events_file, events_file


class Hands:
    """A computer's clock, and the time that really passes."""

    def __init__(self) -> None:
        self.wall, self.steady = 1_000_000.0, 50.0

    def passes(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def clock(self, after: float = 0.0) -> RunClock:
        return RunClock(after, wall=lambda: self.wall, steady=lambda: self.steady)


def test_a_clock_set_back_by_an_hour_changes_nothing_and_set_right_again_neither() -> None:
    hands = Hands()
    clock = hands.clock()
    shown = [clock.now()]
    for jump in (0.0, -3600.0, 0.0, +3600.0):
        hands.passes(10)
        hands.wall += jump
        shown.append(clock.now())
    assert shown == [1_000_000, 1_000_010, 1_000_020, 1_000_030, 1_000_040]


def test_a_clock_that_is_well_is_shown_as_it_is_and_one_set_forward_followed() -> None:
    hands = Hands()
    clock = hands.clock()
    hands.passes(1)
    hands.steady += 0.05  # the two clocks were read a moment apart
    assert clock.at(hands.wall - 0.25) == hands.wall - 0.25
    hands.wall += 3600
    assert clock.now() == hands.wall


def test_what_the_trainer_said_before_the_clock_was_set_back_is_not_told_in_the_future() -> None:
    hands = Hands()
    clock = hands.clock()
    clock.now()
    said = hands.wall + 1.0
    hands.passes(2)
    hands.wall -= 3600
    assert clock.at(said) == clock.now() == 1_000_002
    assert clock.at(hands.wall - 0.5) == 1_000_001.5


def test_an_attempt_begins_after_what_the_run_was_told_before(tmp_path: Path) -> None:
    for path, text in (
        (events_file(tmp_path, 1), '{"t":1003600.5,"kind":"end"}\n{"t":1003700,"ki'),
        (desk_events_file(tmp_path, "abc"), '{"t":7,"kind":"target"}\n\0\xff junk\n'),
    ):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    assert latest_event_s(tmp_path) == 1_003_600.5
    assert latest_event_s(tmp_path / "nothing") == 0.0

    hands = Hands()
    clock = hands.clock(after=latest_event_s(tmp_path))
    hands.passes(3)
    assert clock.now() == 1_003_603.5
