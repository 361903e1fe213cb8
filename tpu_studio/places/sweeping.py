"""The sweep of a place, for the verb and for the window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.wire.errors import CloudUnclear, StudioError

if TYPE_CHECKING:
    from tpu_studio.cloud.endpoints import Endpoints
    from tpu_studio.cloud.sweep import Item, Sweep, Swept
    from tpu_studio.domain.catalogue import Catalogue
    from tpu_studio.workflow.cloudruns.ports import Machines


@contextmanager
def sweep_of(place: str, home: Path) -> Iterator[Sweep]:
    """The sweep of *place*, with Google's prices of now where they can be had. Raises as `reach`."""
    from tpu_studio.cloud.clock import DateClock
    from tpu_studio.cloud.compute import ComputeMachines
    from tpu_studio.cloud.observing import ways_at
    from tpu_studio.cloud.session import plain_session, session
    from tpu_studio.cloud.stops import TaskStops
    from tpu_studio.cloud.sweep import Sweep
    from tpu_studio.cloud.tpu import TpuMachines
    from tpu_studio.places.reaching import reach
    from tpu_studio.workflow.livecheck.ways import USUAL

    who = reach(place, home)
    ends = who.endpoints
    with session(who.credentials, who.project) as http:
        targets = {"tpu": ends.tpu, "compute": ends.compute}
        clock = DateClock(plain_session(), f"{ends.tpu}/v2/projects/{who.project}/locations", http)
        try:
            ways = ways_at(home, who.credentials, place, who.project)(clock.now())
        except CloudUnclear:  # each part of the sweep says so
            ways = USUAL
        machines: dict[str, Machines] = {
            "tpu": TpuMachines(http, ends.tpu, who.project, ways=ways),
            "compute": ComputeMachines(http, ends.compute, who.project, ways=ways),
        }
        stops = TaskStops(http, ends.tasks, ends.orgpolicy, who.project, who.stopper or who.runner, targets)
        yield Sweep(http, ends, who.project, machines, stops, clock.now, known=_priced(http, ends), ways=ways)


def _priced(http: object, ends: Endpoints) -> Catalogue:
    from tpu_studio.cloud.prices import live_catalogue
    from tpu_studio.cloud.session import Api, Patience
    from tpu_studio.domain.catalogue import catalogue

    try:
        return live_catalogue(Api(ends.billing, http, patience=Patience(tries=2)), date.today())
    except StudioError:
        return catalogue()  # dated prices do: what is there matters more


class Sweeping:
    """Implements ``viewmodels.sweep.SweepPort``: connects anew for each call."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def look(self, place: str) -> Swept:
        with sweep_of(place, self._home) as sweep:
            return sweep.look()

    def delete(self, place: str, items: Sequence[Item]) -> list[tuple[Item, StudioError | None]]:
        with sweep_of(place, self._home) as sweep:
            return sweep.delete(items)
