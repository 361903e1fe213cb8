"""A profile of some steps, as a run's events tell it: where their time went. Pure.

What the shares mean: ``trainer.profile.shares``. The words: ``domain.sentences.profile``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

KINDS = ("matrix", "memory", "collectives", "data", "host", "compile")
IDLE = ("data", "host", "compile")
_PATH = re.compile(r"profile/[0-9]{1,15}")
_ROUNDING = 0.02  # that the shares together may be off


@dataclass(frozen=True)
class Profile:
    """Attributes:
    step, steps: Where it begun, and how many it is of.
    seconds: That those took.
    on_tpu: Of a TPU; else of the processor.
    shares: Of each of `KINDS`, 0 to 1, together 1.
    top: The operations that took most: name, kind, share.
    path: Of the raw trace, in the run's folder; "" where it is not kept.
    """

    step: int
    steps: int
    seconds: float
    on_tpu: bool
    shares: Mapping[str, float]
    top: tuple[tuple[str, str, float], ...] = ()
    path: str = ""

    @property
    def idle(self) -> float:
        """Share of the time in which the device had nothing to do."""
        return sum(self.shares[kind] for kind in IDLE)

    def to_json(self) -> dict[str, object]:
        """As the command line answers it."""
        return {
            "step": self.step,
            "steps": self.steps,
            "seconds": self.seconds,
            "on": "tpu" if self.on_tpu else "cpu",
            "shares": dict(self.shares),
            "top": [list(one) for one in self.top],
            "path": self.path,
        }


def profile_of(fields: Mapping[str, Any]) -> Profile | None:
    """The profile in an event; None where it tells none, or one that cannot be."""
    try:
        shares = {kind: float(fields["shares"][kind]) for kind in KINDS}
        top = tuple((str(name), str(kind), float(share)) for name, kind, share in fields.get("top") or ())
        found = Profile(
            int(fields["step"]),
            int(fields["steps"]),
            float(fields["seconds"]),
            fields["on"] == "tpu",
            shares,
            top,
            told if _PATH.fullmatch(told := str(fields.get("path") or "")) else "",
        )
    except (TypeError, ValueError, LookupError, OverflowError):
        return None
    can_be = all(0.0 <= share <= 1.0 for share in shares.values()) and abs(sum(shares.values()) - 1.0) < _ROUNDING
    return found if can_be and found.steps > 0 and math.isfinite(found.seconds) else None
