"""Waiting for what happens in another thread, process or cloud: as soon as it has, and never for its effect alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 900.0  # never needed; a busy computer takes its time


def eventually(true: Callable[[], Any], what: object = "it") -> Any:
    """What *true* gives as soon as that is true. Raises AssertionError naming *what* did not come."""
    give_up = time.monotonic() + PATIENCE_S
    while not (found := true()):
        assert time.monotonic() < give_up, f"not within {PATIENCE_S:.0f} s: {what() if callable(what) else what}"
        time.sleep(0.01)
    return found
