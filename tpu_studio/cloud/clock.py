"""What time it is at the cloud: the ``Date`` of its replies, carried on by this computer's monotonic clock.

A laptop's own clock may be hours off; leases and prices must not be. In the practice cloud time runs faster, which each
reply tells in ``X-Practice-Speed``. The clock never runs back.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

from tpu_studio.cloud import errors
from tpu_studio.cloud.session import PATIENT, TIMEOUT, Patience
from tpu_studio.wire.errors import StudioError

RETRY_S = 15.0
"""After so long where it did not answer: what a sleeping laptop missed is not known before it does."""
AGAIN_S = 600.0
"""Asked again after so long: two quartzes drift, and a laptop may sleep with its monotonic clock stopped."""


class DateClock:
    """Implements `workflow.cloudruns.ports.ServerClock`.

    Args:
        http: A session without credentials: a refusal has a Date too, and so it is known whatever one may do.
        url: A cheap address of the cloud.
        signed_in: Asked where that reply has no Date (doubt ``date-header``): one that succeeds has.
    """

    def __init__(
        self,
        http: Any,
        url: str,
        signed_in: object = None,
        *,
        patience: Patience = PATIENT,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._sessions, self._signed_in = [http] if signed_in is None else [http, signed_in], signed_in
        self._url, self._patience = url, patience
        self._monotonic, self._wall = monotonic, wall
        self._lock = threading.Lock()
        self._date: float | None = None
        self._at = self._wall_at = self._last = 0.0
        self._failed_at = float("-inf")
        self._speed = 1.0
        self._changed = False
        self._told: tuple[float, float, float] | None = None

    @property
    def speed(self) -> float:
        """How much faster than real time the cloud's clock runs; 1 but in the practice cloud, which may be started anew
        at another. Raises as `now` where it was never reached."""
        if self._date is None:
            self.now()
        return self._speed

    def ask_signed_in_first(self) -> None:
        """A live check has seen that a refusal has no Date here."""
        self._sessions.sort(key=lambda one: one is not self._signed_in)

    def heard(self, reply: Any, *_: object, **__: object) -> None:
        """Of each reply of a session, as its hook: a practice cloud that was started anew at another speed is asked
        for its time at the next `now`."""
        if self._date is not None and reply.headers.get("Date") and _speed_of(reply) not in (None, self._speed):
            self._changed = True

    def now(self) -> float:
        """Seconds since 1970. Raises CloudUnclear, or what signing in does, while the cloud has never been reached."""
        with self._lock:
            if self._date is None:
                self._ask(self._patience)
            elif (self._changed or self._stale()) and self._monotonic() - self._failed_at >= RETRY_S:
                try:
                    self._ask(Patience(tries=1))
                except StudioError:
                    self._failed_at = self._monotonic()  # off line: the monotonic clock carries on
            assert self._date is not None
            at = self._monotonic()
            self._last = max(self._last, self._date + (at - self._at) * self._speed)
            self._told = (self._last, at, self._speed)
            return self._last

    def carried(self) -> float | None:
        """`now` as far as it is known: never asks, never waits; None while the cloud has never been reached."""
        told = self._told
        return None if told is None else told[0] + (self._monotonic() - told[1]) * told[2]

    def _stale(self) -> bool:
        passed = self._monotonic() - self._at
        slept = (self._wall() - self._wall_at) - passed
        return passed > AGAIN_S or slept > 5.0

    def _ask(self, patience: Patience) -> None:
        self._date, self._at, self._speed = patience.call(self._asked)
        self._wall_at, self._changed = self._wall(), False

    def _asked(self) -> tuple[float, float, float]:
        """Date, the moment of this computer's it is of, speed."""
        for http in self._sessions:
            sent = self._monotonic()
            reply = http.request("GET", self._url, timeout=TIMEOUT, allow_redirects=False)
            told = reply.headers.get("Date")
            if told:
                break
        else:
            raise errors.make("unreadable-reply", {"raw": "a reply without a Date"})
        try:
            date = parsedate_to_datetime(told).timestamp()
        except ValueError as error:
            raise errors.make("unreadable-reply", {"raw": f"Date: {told}"}) from error
        return date, (sent + self._monotonic()) / 2, _speed_of(reply) or 1.0


def _speed_of(reply: Any) -> float | None:
    """As it tells; 1 where it does not. None: unreadable."""
    try:
        speed = float(reply.headers.get("X-Practice-Speed") or 1.0)
    except ValueError:
        return None
    return speed if 0.0 < speed < math.inf else None
