"""What an installation tells while it goes on. Packages and bytes are counted, never guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Step = Literal["preparing", "downloading", "installing", "checking", "testing"]

# How much of the bar each step takes, by its time on a line of 50 Mbit/s; the numbers beside the bar are exact.
_BAR: dict[Step, tuple[float, float]] = {
    "preparing": (0.0, 0.05),
    "checking": (0.0, 0.05),
    "downloading": (0.05, 0.65),
    "installing": (0.65, 0.88),
    "testing": (0.88, 1.0),
}


@dataclass(frozen=True)
class Progress:
    """Where an installation stands.

    Attributes:
        packages: Packages through with this step, of *packages_total*.
        bytes: Bytes of wheels through with this step (fetched from the network, a folder or pip's cache; or
            unpacked), of *bytes_total*.
        name: What is being fetched, installed, checked or tested right now.
        retrying: The network does not answer at the moment; pip is trying again.
    """

    step: Step
    packages: int = 0
    packages_total: int = 0
    bytes: int = 0
    bytes_total: int = 0
    name: str = ""
    retrying: bool = False

    @property
    def share(self) -> float:
        """0 to 1, for a progress bar over the whole installation; steps have fixed parts of it."""
        start, end = _BAR[self.step]
        if self.bytes_total:
            done = self.bytes / self.bytes_total
        else:
            done = self.packages / self.packages_total if self.packages_total else 0.0
        return start + (end - start) * min(done, 1.0)


ProgressSink = Callable[[Progress], None]
Cancelled = Callable[[], bool]
