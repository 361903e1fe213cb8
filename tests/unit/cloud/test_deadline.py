"""How long a call may take as a whole: what counts, and what a long body is given."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from tests.fakes.dripping import Clock
from tpu_studio.cloud import deadline
from tpu_studio.cloud.deadline import LEAST_PER_S, Call, during


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(deadline, "monotonic", made)
    return made


def test_a_call_may_take_its_silence_and_half_a_minute(clock: Clock) -> None:
    ordinary, create = Call(30.0, False), Call(60.0, False)
    clock.now += 59.0
    assert (ordinary.left(), create.left()) == (1.0, 31.0)
    clock.now += 1.0
    with pytest.raises(TimeoutError):
        ordinary.left()


def test_a_body_goes_on_while_it_comes_and_no_longer(clock: Clock) -> None:
    """However much has come before: what is stored up is never more than a call's time."""
    call = Call(30.0, True)
    for _ in range(1000):
        clock.now += 1.0
        call.moved(LEAST_PER_S)
        assert call.left() >= 59.0
    call.moved(10**9)
    clock.now += 59.0
    call.moved(1)
    assert 0.0 < call.left() < 1.1
    clock.now += 2.0
    with pytest.raises(TimeoutError):
        call.left()


def test_what_is_asked_in_the_course_of_a_call_is_part_of_it(clock: Clock) -> None:
    def ends() -> float:
        return float(deadline._here.call.left())

    with during((10.0, 30.0), False):
        clock.now += 20.0
        with during(120, False):
            assert ends() == 40.0
        assert ends() == 40.0
    with during(60.0, False):
        assert ends() == 90.0


class Taking:
    """A peer that takes what it is sent, *piece_s* seconds for each piece."""

    def __init__(self, clock: Clock, piece_s: float) -> None:
        self._clock, self._piece_s, self.took = clock, piece_s, 0

    def sendall(self, data: Any) -> None:
        self._clock.now += self._piece_s
        self.took += len(data)

    def settimeout(self, seconds: float) -> None: ...

    def close(self) -> None: ...


def test_a_body_is_sent_for_as_long_as_the_peer_takes_it(clock: Clock) -> None:
    body = b"x" * (200 * 2 * LEAST_PER_S)

    def sent(piece_s: float) -> int:
        connection: Any = deadline.HTTPConnection("peer", timeout=10.0)
        connection.sock = peer = Taking(clock, piece_s)
        with during((10.0, 30.0), False):
            connection.send(body)
        return peer.took

    assert sent(1.9) == len(body)  # six minutes and more
    with pytest.raises(TimeoutError):
        sent(3.0)


def test_a_connection_that_comes_too_late_is_closed(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(deadline.connection.HTTPConnection, "_new_conn", lambda self: ours)
    connection: Any = deadline.HTTPConnection("peer", timeout=10.0)
    with theirs, during((10.0, 30.0), False):
        clock.now += 60.0
        with pytest.raises(TimeoutError):
            connection._new_conn()
    assert ours.fileno() == -1
