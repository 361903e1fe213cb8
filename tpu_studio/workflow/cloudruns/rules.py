"""How long things may take for a run in the cloud, and where it is asked for: what ``decide`` goes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """How long things may take, in seconds by the cloud's clock.

    Attributes:
        zones: In the order in which they are asked.
        alpha: The TPU API is asked through v2alpha1, which alone has flex-start.
        wait_s: For a machine, from the first time that it was asked for.
        hunt_s: In one zone, when there are several.
        round_s: Pause after all zones were asked in vain; up to five times that after more rounds.
        silence_s: Of a guardian that has spoken.
        boot_s: From a node that is ready to the guardian's first word.
        self_delete_s: After its end, for the machine to delete itself.
    """

    zones: Sequence[str]
    backend: str = "tpu"
    alpha: bool = False
    wait_s: float = 14_400.0
    hunt_s: float = 600.0
    round_s: float = 120.0
    rate_s: float = 60.0
    silence_s: float = 1020.0
    boot_s: float = 1200.0
    stop_s: float = 600.0
    self_delete_s: float = 90.0
    delete_again_s: float = 30.0
    usd_per_hour: float | None = None
    money_usd: float | None = None
    reserved_usd: float = 0.0
    hours: float | None = None
