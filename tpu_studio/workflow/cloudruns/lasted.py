"""Until when a machine was charged for, as far as that can be told: from records, looks and its own words. Pure.

A record of its deletion ends the bill to the second where the machine is known to have been there until then. A machine
that was taken back or vanished leaves no time behind at Google: its end lies between its last sign of life and the
first look that did not find it, and one moment in between is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tpu_studio.workflow.cloudruns.machine import Guard, Machine
from tpu_studio.workflow.cloudruns.ports import Deletion

GONE_AFTER_END_S = 30.0  # what a machine's own deletion usually takes
TAKEN_AFTER_S = 30.0  # Google's notice before it takes a machine back
WORD_EVERY_S = 30.0  # a guardian that nobody watches shows so often that it lives
THERE_S = 120.0  # a sign of life so shortly before a deletion was asked for: the machine was there until then
STOPS_TAKE_S = 120.0  # until the last of the shut-off timers has had its answer
CLOCK_S = 1.0  # what the clocks of machine and desktop may be behind the cloud's: Date has whole seconds


@dataclass(frozen=True)
class Until:
    """Seconds since 1970: charged at least, in all likelihood, and at most until then."""

    least: float
    likely: float
    most: float


@dataclass(frozen=True)
class Signs:
    """What there is to judge by; times in seconds since 1970.

    Attributes:
        now: Everything is gone by now.
        deletion: The cloud's record of it.
        alive: When a look found the machine there last; 0: none did.
        wrote: When it wrote its ledger last, also after its end; 0: never.
        first_stop: When the first shut-off timer was due.
        has_stops: No shut-off timer lets one stay beyond it.
        own_end: By when Google ends it by itself, where it does (flex-start, Compute Engine); 0: it does not.
    """

    now: float
    deletion: Deletion | None
    alive: float
    wrote: float
    first_stop: Callable[[], float]
    own_end: float = 0.0
    has_stops: bool = True


def until(machine: Machine, guard: Guard, signs: Signs) -> Until:
    """A machine whose creation is known to nobody has no bill that this could end.

    Two doubts about billing lie in the range: that it ends with the asking for a deletion already (`billing-ends`), and
    that what was taken back is charged until it is deleted (`off-not-charged`, `suspended-means-gone`).
    """
    deletion, seen_gone = signs.deletion, machine.node_gone
    began = machine.created or machine.asked or 0.0
    absent = (signs.now, deletion.done if deletion is not None else None, seen_gone)
    most = min(one for one in absent if one is not None)
    asked = machine.delete_asked if seen_gone is None else None  # after a look that had found it
    last = max(began, min(most, max(machine.ready or 0.0, signs.alive, guard.spoke, signs.wrote, asked or 0.0)))
    if guard.preempted:  # one that goes on speaking was not taken yet: it may have been started again
        late = guard.spoke > guard.warned + TAKEN_AFTER_S
        taken = min(most, (guard.spoke if late else guard.warned) + TAKEN_AFTER_S)
        likely = max(taken, min(most, signs.alive))  # the machine says when; that it was there later counts more
        there = min(one for one in absent[:2] if one is not None)
        if signs.has_stops and deletion is None:
            there = min(there, max(likely, signs.first_stop() + STOPS_TAKE_S))
        return _between(began, min(last, taken), likely, max(there, likely))
    if deletion is not None and (seen_gone is None or seen_gone > deletion.asked):
        known = last >= deletion.asked - THERE_S
        exact = Until(max(began, min(deletion.asked, deletion.done)), deletion.done, deletion.done)
        return exact if known else _between(began, last, most, most)
    if guard.end is not None:
        likely = min(most, max(guard.end.t, last) + GONE_AFTER_END_S)
        stopped = max(likely, signs.first_stop() + STOPS_TAKE_S) if signs.has_stops else most
        return _between(began, last, likely, min(most, stopped))
    if 0.0 < signs.own_end <= most and last < signs.own_end - THERE_S:  # silent, without a record, and its time is over
        return _between(began, last, signs.own_end, signs.own_end)
    if seen_gone is not None or signs.now - signs.alive < THERE_S:
        return _between(began, last, last + min(most - last, WORD_EVERY_S) / 2.0, most)
    stopped = min(most, signs.first_stop() + GONE_AFTER_END_S)
    return _between(began, last, stopped, max(stopped, min(most, signs.own_end)))


def counted(machine: Machine, guard: Guard, signs: Signs, ended: Until, *, runs_own_code: bool) -> float:
    """Until when its time counts towards the limits, in seconds since 1970: as long as it may have been charged.

    What may be rented after it must not go by the word of a machine that nobody watched: where *runs_own_code* of the
    person's, it may have said its end, or that the cloud takes it back, long before. No shut-off timer lets
    one stay.
    """
    if not runs_own_code and (guard.end is not None or machine.taken_back):
        return ended.likely
    gone = min(ended.most, machine.node_gone or ended.most)
    held = signs.has_stops and signs.deletion is None  # a record of its deletion tells more than what should have been
    return max(ended.likely, min(gone, signs.first_stop() + STOPS_TAKE_S) if held else gone)


def _between(began: float, last: float, likely: float, most: float) -> Until:
    return Until(max(began, min(last, likely) - CLOCK_S), likely, max(likely, most + CLOCK_S))
