"""What every service of the practice cloud is given: state, time, faults, money, people, machines, and a ticker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from tpu_studio.practice.clock import Clock
from tpu_studio.practice.doubts import Doubts
from tpu_studio.practice.errors import log_failure
from tpu_studio.practice.faults import Faults
from tpu_studio.practice.meter import Meter
from tpu_studio.practice.principals import Principals
from tpu_studio.practice.settings import Settings
from tpu_studio.practice.state import Database
from tpu_studio.practice.vms import Vms
from tpu_studio.wire.homes import make_private

TICK_S = 0.02  # real seconds


class Cloud:
    """Attributes:
    url: Where the server listens, no slash at the end; set when it does.
    vms: The machines; None in tests of the API alone.
    on_stop: Called when the owner ends the practice cloud (`/practice/stop`).
    ending: Called before that: whatever runs is deleted, its machines ended.
    closing: Called when the server stops, in reverse order; a service that holds files, threads or ports adds to it.
    hangs_up: Each is asked about a token; True: whoever holds it has no network, and gets no answer.
    busy: Each tells whether something still has to happen (a VM, a request, a task that waits): the detached server
        stays for it.
    """

    def __init__(self, settings: Settings) -> None:
        make_private(settings.folder)
        self.db = Database(settings.database)
        self.settings = settings = _as_it_began(self.db, settings)
        self.clock = Clock(self.db, settings.speed)
        self.faults = Faults(self.db, self.clock)
        self.doubts = Doubts(self.db)
        self.meter = Meter(self.db, self.clock)
        self.principals = Principals(self.db, self.clock, self.faults, settings.owner)
        self.url = ""
        self.vms: Vms | None = None
        self.on_stop: Callable[[], None] = lambda: None
        self.closing: list[Callable[[], None]] = []
        self.ending: list[Callable[[], None]] = []
        self.hangs_up: list[Callable[[str], bool]] = []
        self.busy: list[Callable[[], bool]] = []
        self._timers: list[_Timer] = []
        self._ended = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="practice-ticker", daemon=True)

    def every(self, seconds: float, function: Callable[[], None]) -> None:
        """Call *function* about every *seconds* of practice time, in the ticker thread; it must be short."""
        self._timers.append(_Timer(seconds, function))

    def start(self) -> None:
        self._ticker.start()

    def stop(self) -> None:
        self._ended.set()
        if self._ticker.is_alive():
            self._ticker.join()
        for close in reversed(self.closing):
            close()
        self.db.close()

    def _tick(self) -> None:
        while not self._ended.wait(TICK_S):
            for timer in self._timers:
                if self.clock.now() >= timer.due:
                    timer.due = self.clock.now() + timer.seconds
                    try:
                        timer.function()
                    except Exception:  # noqa: BLE001  the ticker's boundary: one service's trouble is not the others'
                        log_failure()


def account_of(settings: Settings) -> str:
    """``new`` or ``ready``: what the practice cloud of this folder began as; "" where there is none yet."""
    if not settings.database.exists():
        return ""
    db = Database(settings.database)
    try:
        if db.get("practice", "prepared") is None:
            return ""
        return "new" if (db.get("practice", "account") or {}).get("new") else "ready"
    finally:
        db.close()


def _as_it_began(db: Database, settings: Settings) -> Settings:
    with db.transaction():
        if db.get("practice", "prepared") is None:
            db.put("practice", "account", {"new": settings.new})
        kept = db.get("practice", "account") or {"new": False}  # a home of a version before new accounts
    return settings if kept["new"] == settings.new else replace(settings, new=kept["new"], ready=not kept["new"])


class _Timer:
    def __init__(self, seconds: float, function: Callable[[], None]) -> None:
        self.seconds, self.function, self.due = seconds, function, 0.0
