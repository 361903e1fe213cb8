"""Leaving a queue for another place: the run that waits keeps its place in it until the other one starts.

The Run page offers other places while a TPU is waited for; the plan of one is made first, and only then is the place
in the queue given up, by name and with a word before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from tpu_studio.wire import places
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
        when = "the notebook for Colab is written" if places.by_id(place).notebook else "this one starts"
        return f"Its place in the queue is kept until {when}; then it is lost. Until then nothing has changed."


Left = Literal["left", "waits-no-more", "not-started"]


def leave(queue: Queue, one: Leaving, started: str = "") -> Left:
    """Give the place in the queue up, for the run *started* ("": because the person says so).

    ``waits-no-more``: it has its machine, or is over, and is left alone. ``not-started``: the other run ended as it
    began, so this one waits on.

    Raises StudioError: it could not be stopped.
    """
    if started and queue.summary(started).over:
        return "not-started"
    if queue.summary(one.run).status != Phase.QUEUED:
        return "waits-no-more"
    queue.stop(one.run, False)
    return "left"
