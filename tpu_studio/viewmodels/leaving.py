"""Leaving a queue for another place: the run that waits keeps its place in it until the other one starts.

The Run page offers other places while a TPU is waited for; the plan of one is made first, and only then is the place
in the queue given up, by name and with a word before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tpu_studio.wire.phases import Phase
from tpu_studio.workflow.ports import RunSummary


class Queue(Protocol):
    """`workflow.runs.Runs`."""

    def summary(self, run: str) -> RunSummary: ...
    def stop(self, run: str, keep: bool = True) -> None: ...


@dataclass(frozen=True)
class Leaving:
    """The run that waits for a machine while another place is planned for the same job."""

    run: str
    name: str

    @property
    def title(self) -> str:
        return f"“{self.name}” goes on waiting for its TPU meanwhile"

    def words(self, place: str) -> str:
        """When the place in the queue is lost; *place*: where the new plan runs."""
        when = "the notebook for Colab is written" if place == "colab" else "this one starts"
        return f"Its place in the queue is kept until {when}; then it is lost. Until then nothing has changed."


def leave(queue: Queue, one: Leaving) -> bool:
    """Give the place in the queue up. False: the run waits no more (it has its machine, or is over), and is left alone.

    Raises StudioError: it could not be stopped.
    """
    if queue.summary(one.run).status != Phase.QUEUED:
        return False
    queue.stop(one.run, False)
    return True
