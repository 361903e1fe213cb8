"""The clock on the wall. Tests have one of their own."""

from __future__ import annotations

import time


class SystemClock:
    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
