"""A live check from its sheet to its outcome: free reads first, then, only if agreed, what writes or rents.

Every automatic doubt gets an outcome: as assumed, the other way, or not seen. What was made is taken away whatever
happens, also by the next check where this one was killed (`left`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tpu_studio.domain.doubts import doubts
from tpu_studio.wire.errors import StudioError
from tpu_studio.workflow.livecheck.ports import READ, Prober, Seen, Step

Told = Callable[[Step], None]


@dataclass(frozen=True)
class Outcome:
    """Attributes:
    seen: One for each automatic doubt, in the table's order.
    usd: What the steps that were asked cost at most.
    left: Names of what could not be taken away.
    """

    seen: Sequence[Seen]
    usd: float
    left: Sequence[str]


def chosen(steps: Sequence[Step], agreed: bool, max_usd: float) -> list[Step]:
    """What is asked: reads always; the rest only if agreed, and as far as the cap goes."""
    found: list[Step] = []
    usd = 0.0
    for step in steps:
        if step.stage != READ and not (agreed and usd + step.usd <= max_usd):
            continue
        usd += step.usd
        found.append(step)
    return found


def check(
    prober: Prober,
    agreed: bool,
    max_usd: float,
    *,
    told: Told = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Raises SignedOut and what `Prober.clean` raises at the start; a step that cannot be asked settles nothing."""
    prober.clean()
    found: dict[str, Seen] = {}
    usd = 0.0
    left: Sequence[str] = ()
    try:
        for step in chosen(prober.steps(), agreed, max_usd):
            if cancelled():
                break
            told(step)
            usd += step.usd
            for one in _asked(prober, step):
                if one.way is not None or one.doubt not in found:
                    found[one.doubt] = one
    finally:
        left = prober.clean()
    every = [one.id for one in doubts().values() if one.automatic]
    return Outcome([found.get(id) or Seen(id, None) for id in every], usd, left)


def _asked(prober: Prober, step: Step) -> Sequence[Seen]:
    try:
        return prober.ask(step)
    except StudioError as error:
        if error.exit_code == 4:  # signed out: nothing more can be asked
            raise
        return [Seen(id, None, error.id) for id in step.doubts]
