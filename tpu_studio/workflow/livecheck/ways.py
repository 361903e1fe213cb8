"""Which of two safe ways is tried first, where a live check has seen how Google answers.

The other way stays behind it: an observation spares a call that is refused, and takes no net and no gate away. Of the
other automatic doubts none has two ways: there the program asks Google each time, or goes by the safe side always.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Ways:
    """Attributes:
    whole: A machine is read whole at once; else a part of it is asked for, and all where that is refused.
    by_zone: Lists are asked zone by zone at once; else over all zones, and zone by zone where that is refused.
    signed_in: The time is asked for with the sign-in at once; else without, and with it where no date comes.
    """

    whole: bool = False
    by_zone: bool = False
    signed_in: bool = False


USUAL = Ways()
_CHOSEN = {
    ("partial-answers", "refused"): ("whole", "Machines are read whole at once: Google gives your account no part."),
    ("list-all-zones", "refused"): ("by_zone", "Lists are asked zone by zone at once: Google gives none of all zones."),
    ("date-header", "not-on-errors"): ("signed_in", "The time is asked for signed in at once: refusals have no date."),
}


class Observed(Protocol):
    """``observed.Observation``."""

    @property
    def doubt(self) -> str: ...
    @property
    def way(self) -> str: ...
    @property
    def at(self) -> float: ...


@dataclass(frozen=True)
class Use:
    """*at*: when it was seen, in seconds since 1970. *words*: what is done because of it."""

    doubt: str
    way: str
    at: float
    words: str


def ways_of(known: Mapping[str, Observed]) -> Ways:
    """*known*: by doubt, what holds now."""
    chosen = (_CHOSEN.get((one.doubt, one.way)) for one in known.values())
    return Ways(**{one[0]: True for one in chosen if one is not None})


def uses(known: Mapping[str, Observed]) -> list[Use]:
    """What of *known* chooses a way now."""
    found = []
    for one in known.values():
        if (chosen := _CHOSEN.get((one.doubt, one.way))) is not None:
            found.append(Use(one.doubt, one.way, one.at, chosen[1]))
    return sorted(found, key=lambda use: use.doubt)
