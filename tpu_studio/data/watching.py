"""How long work tells where it stands and is told to stop: progress out, cancel in.

Cancelling is not an error in the data, so `Cancelled` stands apart from ``DataError``; whoever asked for it catches it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int], None]


class Cancelled(Exception):
    """The caller asked to stop; nothing half-made is left behind by a look, finished shards by a conversion."""


@dataclass(frozen=True)
class Watch:
    """Both callbacks as one thing to hand down; the default neither tells nor stops."""

    progress: Progress | None = None
    cancelled: Callable[[], bool] | None = None

    def at(self, done: int, total: int) -> None:
        """Tell that *done* of *total* is done; raise `Cancelled` if that was asked for."""
        self.check()
        if self.progress is not None:
            self.progress(done, total)

    def check(self) -> None:
        if self.cancelled is not None and self.cancelled():
            raise Cancelled()
