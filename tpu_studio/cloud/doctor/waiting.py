"""How a repair waits for Google: what was made or granted a moment ago is not known everywhere at once.

IAM is eventually consistent: an account made just now is refused as "does not exist" (400), 404 or 403 for seconds to
minutes (hashicorp/terraform-provider-google#15042, GoogleCloudPlatform/magic-modules#10813); a service that was
switched on refuses for a while. Each wait has an end, says what it waits for, and can be cancelled.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tpu_studio.wire.errors import CloudRefused, CloudUnclear, StudioError

T = TypeVar("T")

ACCOUNT_S = 600.0
"""For an account or a role that was made just now."""
SERVICE_S = 600.0
"""For a service that was switched on just now."""


@dataclass(frozen=True)
class Waiting:
    """*say*: hears, for people, what is waited for; *cancelled*: asked between two tries."""

    say: Callable[[str], None] = lambda text: None
    cancelled: Callable[[], bool] = lambda: False
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    first_s: float = 0.2
    most_s: float = 5.0

    def until(
        self, work: Callable[[], T], again: Callable[[StudioError], bool], what: str, patience_s: float = ACCOUNT_S
    ) -> T:
        """*work*, again while *again* says so of what it raises.

        Raises:
            CloudRefused, CloudUnclear: What *work* raised last; CloudUnclear ``stopped-waiting`` when cancelled.
        """
        begun, wait = self.now(), self.first_s
        while True:
            try:
                return work()
            except (CloudRefused, CloudUnclear) as error:
                if not again(error) or self.now() - begun > patience_s:
                    raise
            self.pause(wait, f"Waiting for Google: {what} ({self.now() - begun:.0f} s)")
            wait = min(self.most_s, wait * 1.5)

    def till(self, holds: Callable[[], bool], what: str, patience_s: float = ACCOUNT_S) -> bool:
        """Whether *holds* came true in time."""
        begun, wait = self.now(), self.first_s
        while not holds():
            if self.now() - begun > patience_s:
                return False
            self.pause(wait, f"Waiting for Google: {what} ({self.now() - begun:.0f} s)")
            wait = min(self.most_s, wait * 1.5)
        return True

    def pause(self, seconds: float, what: str) -> None:
        if self.cancelled():
            raise CloudUnclear("stopped-waiting", what=what)
        self.say(what)
        self.sleep(seconds)


def not_known_yet(error: StudioError) -> bool:
    """Whether a grant was refused because the account or role in it is not known everywhere yet."""
    raw = str(error.facts.get("raw", ""))
    return error.id == "bad-request" and ("does not exist" in raw or "is not supported for this resource" in raw)


def not_on_yet(error: StudioError) -> bool:
    return error.id == "service-disabled"
