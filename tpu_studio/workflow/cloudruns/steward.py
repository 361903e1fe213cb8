"""Gives every rented run that is not settled its turns, for as long as the app runs: the desktop's net, on the loop.

One asyncio task a run, threads of its own, so that a cloud that does not answer holds up neither the window's reading
nor another run. Killed at any instant, a fresh steward goes on: the driver remembers nothing that it cannot read again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Protocol, TypeVar

from tpu_studio.wire.errors import StudioError

LOOK_EVERY_S = 5.0
AFTER_TROUBLE_S = 10.0
RECOVER_EVERY_S = 600.0  # of real time: stops that could not be removed
FLOOR_S = 1.0  # however often a run is hurried, the cloud is not asked more often than the driver wants
WATCHED_S = 5.0
THREADS = 8
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Turning(Protocol):
    """``driver.Driver``."""

    def turn(self, run: str) -> float: ...
    def watch(self, run: str) -> None: ...
    def recover(self) -> list[str]: ...
    def unsettled(self) -> list[str]: ...


class Steward:
    """`keep` is the coroutine; `watch` and `hurry` may be called from any thread."""

    def __init__(self, driver: Turning) -> None:
        self._driver = driver
        self._loop: asyncio.AbstractEventLoop | None = None
        self._look = asyncio.Event()
        self._hurries: dict[str, asyncio.Event] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._watched: dict[str, float] = {}
        self._calls: set[Future[Any]] = set()

    def rest(self, patience_s: float) -> bool:
        """After `keep` was cancelled: wait for turns that are under way; False when one is left."""
        return not wait(set(self._calls), patience_s).not_done

    def watch(self, run: str) -> None:
        """Somebody looks at this run now: its turns come every second for as long as this is called."""
        self._driver.watch(run)
        now = time.monotonic()
        if now - self._watched.get(run, float("-inf")) > WATCHED_S:
            self.hurry(run)
        self._watched[run] = now

    def hurry(self, run: str = "") -> None:
        """There is something to do for *run* (or a new one to take up): do not wait for the next turn."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._hurry, run)

    def _hurry(self, run: str) -> None:
        if run in self._hurries:
            self._hurries[run].set()
        else:
            self._look.set()

    async def keep(self) -> None:
        """Until it is cancelled. What the journal has open of runs that get no turn any more is settled first, and
        looked at again now and then."""
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="cloud-runs")
        tasks: dict[str, asyncio.Task[None]] = {}
        recovering = asyncio.ensure_future(self._keep_recovering())
        try:
            while True:
                self._look.clear()
                for run in await self._list():
                    if run not in tasks or tasks[run].done():
                        tasks[run] = asyncio.create_task(self._drive(run))
                await _until(self._look, LOOK_EVERY_S)
        finally:
            for task in (recovering, *tasks.values()):
                task.cancel()
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _list(self) -> Sequence[str]:
        try:
            return await self._away(self._driver.unsettled)
        except (OSError, StudioError) as error:
            _log.warning("the rented runs could not be listed: %s", error)
            return []
        except Exception:  # noqa: BLE001  as a turn: else no run would be driven any more
            _log.exception("the rented runs could not be listed")
            return []

    async def _recover(self) -> None:
        try:
            left = await self._away(self._driver.recover)
        except (OSError, StudioError) as error:
            _log.warning("what was begun before could not be settled: %s", error)
        except Exception:  # noqa: BLE001  as a turn
            _log.exception("what was begun before could not be settled")
        else:
            if left:
                _log.warning("not settled yet: %s", ", ".join(left))

    async def _keep_recovering(self) -> None:
        while True:
            await self._recover()
            await asyncio.sleep(RECOVER_EVERY_S)

    async def _drive(self, run: str) -> None:
        wake = self._hurries[run] = asyncio.Event()
        try:
            while True:
                wake.clear()
                try:
                    pause = await self._away(lambda: self._driver.turn(run))
                except StudioError as error:  # the disk, or another computer drives it: said on the run's page
                    _log.warning("run %s: %s", run, error)
                    pause = AFTER_TROUBLE_S
                except Exception:  # noqa: BLE001  a turn is a boundary: one damaged run keeps no other from its end
                    _log.exception("run %s: a turn failed", run)
                    pause = AFTER_TROUBLE_S
                if pause <= 0:
                    return
                await _until(wake, pause)
        finally:
            self._hurries.pop(run, None)

    async def _away(self, work: Callable[[], T]) -> T:
        assert self._threads is not None
        call = self._threads.submit(work)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return await asyncio.wrap_future(call)


async def _until(wake: asyncio.Event, seconds: float) -> None:
    """*seconds*, or less when *wake* is set: but `FLOOR_S` of them at least."""
    await asyncio.sleep(min(FLOOR_S, seconds))
    if seconds > FLOOR_S:
        try:
            async with asyncio.timeout(seconds - FLOOR_S):
                await wake.wait()
        except TimeoutError:
            pass
