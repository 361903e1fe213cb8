"""The steward gives each rented run its turns, on the background loop, without the window."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.fakes.waiting import eventually
from tpu_studio.wire.errors import RunError
from tpu_studio.workflow.background import BackgroundLoop
from tpu_studio.workflow.cloudruns import steward
from tpu_studio.workflow.cloudruns.steward import Steward


class Cloud:
    """Runs that need so many turns each; a turn of a run in *stuck* blocks until it is released."""

    def __init__(self, **needed: int) -> None:
        self.left = dict(needed)
        self.turns: list[str] = []
        self.stuck: set[str] = set()
        self.release = threading.Event()
        self.pause = 0.01
        self.recovered = 0
        self.trouble: Exception | None = None

    def unsettled(self) -> list[str]:
        return [run for run, left in self.left.items() if left > 0]

    def turn(self, run: str) -> float:
        self.turns.append(run)
        if run in self.stuck:
            assert self.release.wait(20)
        if self.trouble is not None:
            raise self.trouble
        self.left[run] -= 1
        return self.pause if self.left[run] > 0 else 0.0

    def watch(self, run: str) -> None: ...

    def recover(self) -> list[str]:
        self.recovered += 1
        return []


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    loop = BackgroundLoop()
    yield loop
    assert loop.stop()


def test_every_run_is_driven_until_it_is_settled_and_one_that_hangs_holds_up_no_other(loop: BackgroundLoop):
    cloud = Cloud(one=3, hung=1, two=2)
    cloud.stuck.add("hung")
    keeper = Steward(cloud)
    loop.run(keeper.keep())
    eventually(lambda: cloud.left["one"] == cloud.left["two"] == 0)
    assert cloud.left["hung"] == 1 and cloud.recovered == 1
    cloud.release.set()
    eventually(lambda: cloud.left["hung"] == 0)
    assert cloud.turns.count("one") == 3


def test_what_could_not_be_settled_is_tried_again_now_and_then(loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(steward, "RECOVER_EVERY_S", 0.01)
    cloud = Cloud()
    loop.run(Steward(cloud).keep())
    eventually(lambda: cloud.recovered >= 3)


def test_a_new_run_is_taken_up_when_it_is_told_and_a_command_does_not_wait_for_the_next_turn(
    loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(steward, "LOOK_EVERY_S", 3600.0)
    monkeypatch.setattr(steward, "FLOOR_S", 0.0)
    cloud = Cloud()
    cloud.pause = 3600.0
    keeper = Steward(cloud)
    loop.run(keeper.keep())
    eventually(lambda: cloud.recovered == 1)
    cloud.left["new"] = 2

    def told(count: int) -> bool:
        keeper.hurry("new")
        return cloud.turns.count("new") >= count

    eventually(lambda: told(1))
    eventually(lambda: told(2))


@pytest.mark.parametrize("trouble", [RunError("folder-unwritable", folder="x"), ValueError("what no one thought of")])
def test_trouble_in_a_turn_ends_no_driving(loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch, trouble: Exception):
    monkeypatch.setattr(steward, "AFTER_TROUBLE_S", 0.01)
    cloud = Cloud(one=1)
    cloud.trouble = trouble
    loop.run(Steward(cloud).keep())
    eventually(lambda: len(cloud.turns) >= 3)
    cloud.trouble = None
    eventually(lambda: cloud.left["one"] == 0)


def test_at_the_end_of_the_app_a_turn_under_way_is_waited_for(loop: BackgroundLoop):
    cloud = Cloud(hung=1)
    cloud.stuck.add("hung")
    keeper = Steward(cloud)
    future = loop.run(keeper.keep())
    eventually(lambda: cloud.turns == ["hung"] and bool(keeper._calls))  # begun, and known to have begun
    future.cancel()
    assert not keeper.rest(0.01)
    cloud.release.set()
    assert keeper.rest(20)
