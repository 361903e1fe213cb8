"""The background loop: everything that is begun is accounted for, and nothing is left when it ends."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.fakes.waiting import PATIENCE_S
from tpu_studio.workflow.background import BackgroundLoop, InlineTasks

Call = Callable[[], None]


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    made = BackgroundLoop()
    yield made
    assert made.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == "background-loop"]


def test_work_runs_elsewhere_and_its_result_is_posted(loop: BackgroundLoop) -> None:
    posted: queue.Queue[Call] = queue.Queue()
    got: list[tuple[int, str]] = []
    loop.submit(
        lambda: threading.get_ident(),
        done=lambda ident: got.append((ident, threading.current_thread().name)),
        post=posted.put,
    )
    posted.get(timeout=PATIENCE_S)()
    assert got[0][0] != threading.get_ident()
    assert got[0][1] == threading.current_thread().name


def test_an_error_is_posted_as_it_is(loop: BackgroundLoop) -> None:
    posted: queue.Queue[Call] = queue.Queue()
    errors: list[Exception] = []

    def fail() -> None:
        raise ValueError("no such thing")

    loop.submit(fail, failed=errors.append, post=posted.put)
    posted.get(timeout=PATIENCE_S)()
    assert str(errors[0]) == "no such thing"


def test_after_cancel_neither_is_called_even_when_it_was_posted_already(loop: BackgroundLoop) -> None:
    posted: queue.Queue[Call] = queue.Queue()
    got: list[int] = []
    handle = loop.submit(lambda: 1, done=got.append, post=posted.put)
    call = posted.get(timeout=PATIENCE_S)
    handle.cancel()
    call()
    assert got == []


def test_many_cancels_at_any_time_lose_nothing(loop: BackgroundLoop) -> None:
    posted: queue.Queue[Call] = queue.Queue()
    got: list[int] = []
    kept = 0
    for number in range(200):
        handle = loop.submit(lambda number=number: number, done=got.append, post=posted.put)  # type: ignore[misc]
        if number % 3:
            handle.cancel()
        else:
            kept += 1
    while len(got) < kept:
        posted.get(timeout=PATIENCE_S)()
    assert sorted(got) == list(range(0, 200, 3))


def test_stop_waits_for_what_blocks_and_then_leaves_nothing() -> None:
    loop = BackgroundLoop("a-loop-that-ends")
    begun, ended = threading.Event(), threading.Event()
    loop.submit(lambda: (begun.set(), time.sleep(0.2), ended.set()))
    assert begun.wait(60)
    assert loop.stop()
    assert ended.is_set()
    with pytest.raises(RuntimeError):
        loop.submit(lambda: None)


def test_a_loop_that_was_never_used_ends_too() -> None:
    assert BackgroundLoop().stop()


def test_inline_tasks_answer_at_once() -> None:
    got: list[int] = []
    InlineTasks().submit(lambda: 4, done=got.append)
    assert got == [4]
