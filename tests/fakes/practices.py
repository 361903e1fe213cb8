"""Practice clouds in a test's own process: started with what the test says, ended with their machines (which outlive
them otherwise)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tpu_studio.practice.machines.fleet import Fleet
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings

Start = Callable[..., Practice]


@contextmanager
def starting(folder: Path) -> Iterator[Start]:
    """``start(*faults, **settings)``: a practice cloud in *folder*, without machines unless the settings say so."""
    running: list[Practice] = []

    def start(*faults: str, **settings: Any) -> Practice:
        made = Practice(Settings(**{"machines": False, "folder": folder, **settings}), faults).start()
        running.append(made)
        return made

    try:
        yield start
    finally:
        for practice in running:
            end(practice)


def end(practice: Practice) -> None:
    """Machines first, then the port; once, again is nothing."""
    fleet = practice.cloud.vms
    if isinstance(fleet, Fleet):
        for name in fleet.names():
            fleet.kill(name)
    practice.stop()
