"""`workflow.ports.Tasks` for tests: `InlineTasks` does the work at once, `LaterTasks` when the test says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Handle:
    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class InlineTasks:
    def submit(
        self,
        work: Callable[[], T],
        *,
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> Handle:
        return _run(work, done, failed, Handle())


class LaterTasks:
    """Keeps what was asked for; `finish` does the oldest, `finish_all` everything, also what that leads to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], Any], Any, Any, Handle]] = []

    def submit(
        self,
        work: Callable[[], T],
        *,
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> Handle:
        handle = Handle()
        self.waiting.append((work, done, failed, handle))
        return handle

    def finish(self) -> None:
        _run(*self.waiting.pop(0))

    def finish_all(self) -> None:
        while self.waiting:
            self.finish()


def _run(work: Callable[[], Any], done: Any, failed: Any, handle: Handle) -> Handle:
    try:
        result = work()
    except Exception as error:
        if failed is None:
            raise
        if not handle.cancelled:
            failed(error)
        return handle
    if done is not None and not handle.cancelled:
        done(result)
    return handle
