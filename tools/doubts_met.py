"""Whether a world of `make doubts` came to where its doubts matter: there the practice cloud asks for them."""

from __future__ import annotations

from collections.abc import Callable

from tpu_studio.practice.doubts import Doubts

ASKED_BY_MACHINES = frozenset({"compute-attributes", "preempted-metadata", "shutdown-script"})
"""Asked for by a practice machine, which is a process of its own: met where one was there."""


def watch_doubts() -> set[str]:
    """Ids of those that are armed and were asked for, from now on, in this process."""
    found: set[str] = set()
    ask: Callable[[Doubts, str], str] = Doubts.way

    def asking(doubts: Doubts, name: str) -> str:
        way = ask(doubts, name)
        if way:
            found.add(name)
        return way

    setattr(Doubts, "way", asking)  # noqa: B010  a method, and mypy minds the other way
    return found
