"""What a machine that costs money adds to a `Keeper`: its lease, its clock, and a bucket that must hear of the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tpu_studio.trainer.guardian.ending import Ending
from tpu_studio.wire.reasons import Reason


class Side(Protocol):
    """Called from the keeper's thread only; none of it may block but `before_end`."""

    @property
    def usd_per_hour(self) -> float | None: ...

    @property
    def idle_minutes(self) -> float:
        """How long the trainer may be silent, by this machine's clock."""
        ...

    def before_trainer(self) -> None:
        """The trainer is about to be started, none is running: clear away what one that was killed left."""
        ...

    def changed(self, control: Mapping[str, object]) -> None:
        """A control file has come that may change the limits."""
        ...

    def money(self) -> dict[str, object]:
        """Fields of a `money` event: usd over all attempts, usd_per_hour, since."""
        ...

    def verdict(self) -> tuple[Reason, dict[str, Any]] | None:
        """Why the attempt must end now, if it must. ``preempted``: leave without an end, the attempt is not over."""
        ...

    def notices(self) -> Sequence[dict[str, object]]:
        """Fields of `notice` events to write, each handed out once."""
        ...

    def before_end(self, end: Ending) -> Ending:
        """All is written but the end: get it safe elsewhere; the end as it is to be told."""
        ...
