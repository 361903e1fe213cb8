"""A practice cloud with machines; every machine is ended with its test, whatever became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.fakes.vm_image import make_engine
from tests.fakes.waiting import eventually
from tpu_studio.practice.machines import machine as machines
from tpu_studio.practice.machines import processes
from tpu_studio.practice.machines.fleet import Fleet
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings


def runs(process: psutil.Process) -> bool:
    """A zombie does not: it waits for the system to take note."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class World:
    """The fleet of a practice cloud, and what tests look at from outside."""

    def __init__(self, practice: Practice) -> None:
        self.practice = practice
        self.cloud = practice.cloud
        assert isinstance(practice.cloud.vms, Fleet)
        self.fleet: Fleet = practice.cloud.vms

    def folder(self, name: str) -> Path:
        return self.fleet._folder(name)

    def console(self, name: str, worker: int = 0) -> str:
        return self.fleet.console(name, worker).decode()

    def up(self, name: str, worker: int = 0, text: str = "\nup\n") -> None:
        eventually(lambda: text in self.console(name, worker), f"{text!r} on the console of {name}")

    def members(self, name: str) -> list[psutil.Process]:
        machine = machines.read(self.folder(name))
        state = machines.read_state(self.folder(name))
        assert machine is not None
        return processes.members(machine.tag, state.pid if state else None)

    def home(self, name: str) -> Path:
        return machines.home(self.folder(name), 0)


Begin = Callable[..., World]


@pytest.fixture
def begin(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """``begin(*faults, **settings)``: the practice cloud of this home; a second call is its restart."""
    monkeypatch.setenv("TPU_STUDIO_ENGINE", str(make_engine(tmp_path / "engine")))
    running: list[Practice] = []

    def begin(*faults: str, **settings: Any) -> World:
        while running:
            running.pop().stop()
        running.append(Practice(Settings(folder=home / "practice", **settings), faults).start())
        return World(running[-1])

    yield begin
    world = World(running.pop()) if running else begin()
    known = world.fleet._known()
    for machine in known:
        world.fleet.kill(machine.name)
    world.practice.stop()
    left = processes.tagged({machine.tag for machine in known})
    assert not left, f"processes outlived their machine: {left}"


@pytest.fixture
def world(begin: Begin) -> World:
    return begin()
