"""A peer that sends a byte every twenty seconds is silent for no timeout of a socket: each call ends all the same."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.oauth2.credentials import Credentials

from tests.fakes.dripping import Clock, Dripping
from tpu_studio.cloud import deadline
from tpu_studio.cloud.clock import DateClock
from tpu_studio.cloud.deadline import LEAST_PER_S
from tpu_studio.cloud.mailbox import BucketMailbox
from tpu_studio.cloud.session import Api, Patience, plain_session, session
from tpu_studio.cloud.tpu import TpuMachines
from tpu_studio.wire.errors import CloudUnclear
from tpu_studio.workflow.cloudruns.ports import Ref, Wanted

BODY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"
HEADER = b"HTTP/1.1 200 OK\r\nX-Long: a"
TRIES = Patience(sleep=lambda seconds: None)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(deadline, "monotonic", made)
    return made


def signed_in(**more: Any) -> Any:
    make: Callable[..., Any] = Credentials
    return session(make(**({"token": "planted"} | more)))


def timed_out(work: Callable[[], Any]) -> None:
    with pytest.raises(CloudUnclear) as raised:
        work()
    assert raised.value.id == "timed-out"


@pytest.mark.parametrize("says", [BODY, HEADER])
def test_a_question_whose_answer_drips_is_asked_again_and_given_up(clock: Clock, says: bytes) -> None:
    with Dripping(clock, says) as server:
        timed_out(lambda: Api(server.url, signed_in(), patience=TRIES).get("/v2/x"))
        assert server.asked == ["GET /v2/x HTTP/1.1"] * TRIES.tries


@pytest.mark.parametrize("says", [BODY, HEADER])
def test_what_is_read_from_the_bucket_every_two_seconds_ends_too(clock: Clock, says: bytes) -> None:
    with Dripping(clock, says) as server:
        box = BucketMailbox(signed_in(), server.url, "p", "b", patience=TRIES)
        timed_out(lambda: box.read("runs/a/events"))
        assert len(server.asked) == TRIES.tries
        timed_out(lambda: box.stat("runs/a/events"))  # by Google's own client
        timed_out(lambda: box.write("runs/a/x", b"1"))


def test_what_is_read_from_the_bucket_is_read_where_it_lies(clock: Clock) -> None:
    class Elsewhere(Dripping):
        def drip(self, peer: socket.socket) -> None:
            while b"/there" not in self.hear(peer):
                peer.sendall(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with Elsewhere(clock) as server:
        assert BucketMailbox(signed_in(), server.url, "p", "b", patience=TRIES).read("x") == b"{}"


@pytest.mark.parametrize("says", [BODY, HEADER])
def test_a_create_whose_answer_drips_is_unclear_and_sent_once(clock: Clock, says: bytes) -> None:
    """Who asked looks by name then (`test_driver`)."""
    wanted = Wanted(Ref("ts-a-a1-t1", "z"), "6f3c", "v5litepod-1", "r", "spot", 60.0, 60.0, {}, {}, "a@b")
    with Dripping(clock, says) as server:
        timed_out(lambda: TpuMachines(signed_in(), server.url, "p", patience=TRIES).create(wanted))
        assert len(server.asked) == 1


def test_a_fresh_token_that_drips_is_part_of_the_call(clock: Clock) -> None:
    with Dripping(clock, BODY) as server:
        fresh = {"token": None, "refresh_token": "r", "client_id": "c", "client_secret": "s"}
        http = signed_in(**fresh, token_uri=server.url + "/token")
        timed_out(lambda: Api("http://127.0.0.1:9", http, patience=TRIES).get("/v2/x"))
        timed_out(lambda: BucketMailbox(http, "http://127.0.0.1:9", "p", "b", patience=TRIES).read("x"))
        assert server.asked == ["POST /token HTTP/1.1"] * 2 * TRIES.tries


def test_a_session_without_credentials_keeps_to_it(clock: Clock) -> None:
    with Dripping(clock, HEADER) as server:
        timed_out(DateClock(plain_session(), server.url, patience=TRIES).now)


def test_a_proxy_that_drips_keeps_no_call(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    with Dripping(clock, HEADER) as server:
        monkeypatch.setenv("HTTPS_PROXY", server.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with pytest.raises(CloudUnclear):
            Api("https://tpu.example", signed_in(), patience=TRIES).get("/v2/x")
        assert [line.split()[:2] for line in server.asked] == [["CONNECT", "tpu.example:443"]] * TRIES.tries


def test_silence_near_the_end_of_a_call_is_not_waited_for(clock: Clock) -> None:
    """A twentieth of a second is left when it falls silent: less than the silence that is allowed."""

    class Late(Dripping):
        def drip(self, peer: socket.socket) -> None:
            self.hear(peer)
            clock.now += 59.95
            peer.sendall(BODY)
            self.over.wait(20.0)
            peer.sendall(b"}".rjust(999_999))  # all of it, too late

    with Late(clock) as server:
        timed_out(lambda: Api(server.url, signed_in(), patience=Patience(tries=1)).get("/v2/x"))


def test_a_download_may_take_as_long_as_it_comes(clock: Clock, tmp_path: Path) -> None:
    """Two minutes at 16 KiB a second, and a disk that takes an hour to write a piece of it."""
    pieces, size = 120, 2 * LEAST_PER_S
    total, arrived = pieces * size, [0]

    class Slow(Dripping):
        def drip(self, peer: socket.socket) -> None:
            while True:
                if b"alt=media" in self.hear(peer):
                    break
                about = b'{"name": "x", "bucket": "b", "generation": "1", "size": "%d"}' % total
                head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                peer.sendall(head % len(about) + about)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
            for number in range(pieces):
                peer.sendall(b"x" * size)
                while arrived[0] < (number + 1) * size and not self.over.wait(0.001):
                    pass
                clock.now += 1.0

    def told(done: int, whole: int) -> None:
        if done == 10 * size:
            clock.now += 3600.0
        arrived[0] = done

    with Slow(clock) as server:
        BucketMailbox(signed_in(), server.url, "p", "b", patience=TRIES).download("x", tmp_path / "x", told)
    assert (tmp_path / "x").stat().st_size == total
    assert len(server.asked) == 2
