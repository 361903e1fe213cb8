"""How far a timing of real steps is told, and that who gives one up is not asked for another."""

from __future__ import annotations

from tests.fakes.planning import World
from tests.fakes.tasks import LaterTasks
from tpu_studio.wire.errors import RunError


def test_a_timing_says_how_long_it_has_measured_and_one_that_was_given_up_comes_back_only_when_asked_for():
    one = World(LaterTasks())
    one.model.choose_data("digits", None)
    one.tasks.finish_all()
    one.pause()
    one.tasks.finish_all()  # its model is counted first
    one.pause()
    assert one.view.timing == "measuring" and one.view.timing_words == "Timing real steps, 0 s so far"
    one.time += 3
    one.model.tick()
    assert one.view.timing_words == "Timing real steps, 3 s so far"
    one.stopwatch.trouble = RunError("start-failed", raw="it was cancelled")
    one.model.give_up_timing()
    assert (one.view.timing, one.view.timing_words) == ("none", "")
    one.tasks.finish_all()
    assert one.view.timing == "none" and not one.view.timing_failed  # nothing failed: it was not wanted
    one.pause()
    one.tasks.finish_all()
    assert len(one.timed) == 1 and one.view.may_time
    one.stopwatch.trouble = None
    one.model.measure()
    one.tasks.finish_all()
    assert len(one.timed) == 2 and one.view.timing_words == "From steps measured on this computer"
