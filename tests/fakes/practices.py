"""The end of a practice cloud that a test has started, with its machines (which outlive it otherwise)."""

from __future__ import annotations

from tpu_studio.practice.machines.fleet import Fleet
from tpu_studio.practice.main import Practice


def end(practice: Practice) -> None:
    """Machines first, then the port; once, again is nothing."""
    fleet = practice.cloud.vms
    if isinstance(fleet, Fleet):
        for name in fleet.names():
            fleet.kill(name)
    practice.stop()
