"""The background loop: one asyncio loop in a thread of its own, where everything that waits is done. No Qt.

Blocking calls run in its worker threads, so one slow disk holds nobody up. What comes back is handed to ``post``, which
the window makes a queued signal (``gui/bridge.py``) and the tests a list. A blocking call cannot be killed: cancelling
means that its result is forgotten.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
Post = Callable[[Callable[[], None]], None]
_log = logging.getLogger(__name__)


class TaskHandle:
    """One piece of work; `cancel` may be called from any thread, also late, also twice."""

    def __init__(self) -> None:
        self._future: Future[None] | None = None
        self._cancelled = threading.Event()

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled.is_set()

    def cancel(self) -> None:
        self._cancelled.set()
        if self._future is not None:
            self._future.cancel()


class BackgroundLoop:
    """Starts with the first work or `start`; ends with `stop`."""

    def __init__(self, name: str = "background-loop") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._started = threading.Event()
        self._lock = threading.Lock()
        self._stopped = False

    def start(self) -> None:
        with self._lock:
            if not self._thread.is_alive() and not self._started.is_set() and not self._stopped:
                self._thread.start()
                self._started.wait()

    def run(self, coroutine: Coroutine[object, object, T]) -> Future[T]:
        """Run a coroutine on the loop; its future may be waited for from other threads."""
        self.start()
        if self._stopped:
            coroutine.close()
            raise RuntimeError("the background loop has stopped")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def submit(
        self,
        work: Callable[[], T],
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
        post: Post | None = None,
    ) -> TaskHandle:
        """Run blocking *work* in a worker thread, then post exactly one of *done* and *failed*, unless cancelled.

        Args:
            post: Brings a call to the thread that *done* and *failed* belong to; None calls them on the loop.
        """
        handle = TaskHandle()
        deliver = post or (lambda call: call())

        def answer(call: Callable[[], None]) -> None:
            deliver(lambda: None if handle.is_cancelled else call())

        async def turn() -> None:
            try:
                result = await asyncio.to_thread(work)
            except Exception as error:  # noqa: BLE001  the boundary of a task: the error becomes state
                caught = error
                if handle.is_cancelled:
                    return
                if failed is None:
                    _log.error("a task failed and nobody asked to be told", exc_info=caught)
                else:
                    tell_failed = failed
                    answer(lambda: tell_failed(caught))
                return
            if done is not None and not handle.is_cancelled:
                tell_done = done
                answer(lambda: tell_done(result))

        handle._future = self.run(turn())
        return handle

    def stop(self, patience_s: float = 5.0) -> bool:
        """Cancel everything, wait for it, end the thread; True when nothing was left behind within *patience_s*."""
        with self._lock:
            already, self._stopped = self._stopped, True
        if already or not self._started.is_set():
            if not already:
                self._loop.close()
            return True
        clean = True
        ending = asyncio.run_coroutine_threadsafe(self._end(patience_s), self._loop)
        try:
            ending.result(patience_s + 1.0)
        except TimeoutError:
            clean = False
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(patience_s)
        return clean and not self._thread.is_alive()

    async def _end(self, patience_s: float) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        async with asyncio.timeout(patience_s):
            await self._loop.shutdown_default_executor()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.call_soon(self._started.set)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()


class InlineTasks:
    """Does the work at once, on the spot: for the command line and for tests."""

    def submit(
        self,
        work: Callable[[], T],
        *,
        done: Callable[[T], None] | None = None,
        failed: Callable[[Exception], None] | None = None,
    ) -> TaskHandle:
        handle = TaskHandle()
        try:
            result = work()
        except Exception as error:
            if failed is None:
                raise
            failed(error)
            return handle
        if done is not None:
            done(result)
        return handle
