"""What may hang for ever where it is charged is given an end."""

from __future__ import annotations

import threading
from typing import Any

from tpu_studio.trainer.guard import within


def test_what_takes_too_long_is_told_while_it_hangs() -> None:
    told: list[dict[str, Any]] = []
    heard = threading.Event()

    def leave(facts: dict[str, Any]) -> None:
        told.append(facts)
        heard.set()

    with within(0.01, leave):
        assert heard.wait(60.0)
    assert told == [{"seconds": 0.01}]


def test_what_ends_in_time_is_left_alone() -> None:
    told: list[dict[str, Any]] = []
    before = threading.active_count()
    with within(3600.0, told.append):
        pass
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join(60.0)
    assert threading.active_count() <= before
    assert not told
