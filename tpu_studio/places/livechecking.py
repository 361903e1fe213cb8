"""The live check of a place, for the verb and for the window."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import tpu_studio
from tpu_studio.wire import places
from tpu_studio.wire.errors import NotReady, StudioError
from tpu_studio.wire.plainfiles import write_named

if TYPE_CHECKING:
    from tpu_studio.cloud.livecheck.prober import GoogleProber
    from tpu_studio.workflow.livecheck.checking import Outcome
    from tpu_studio.workflow.livecheck.ports import Seen, Step
    from tpu_studio.workflow.livecheck.ways import Use

DEFAULT_USD = 1.0
VERSION = tpu_studio.__version__


@contextmanager
def prober_of(place: str, home: Path) -> Iterator[tuple[GoogleProber, Callable[[], float]]]:
    """Who asks, and the cloud's time. Raises as `reach`; NotReady ``cloud-not-ready`` without a place for results."""
    from tpu_studio.cloud.clock import DateClock
    from tpu_studio.cloud.livecheck import renting
    from tpu_studio.cloud.livecheck.asking import Side
    from tpu_studio.cloud.livecheck.prober import GoogleProber
    from tpu_studio.cloud.observing import account_of
    from tpu_studio.cloud.session import plain_session, session
    from tpu_studio.cloud.stops import TaskStops
    from tpu_studio.domain.catalogue import catalogue
    from tpu_studio.places.reaching import reach
    from tpu_studio.workflow.livecheck.left import Left

    who = reach(place, home)
    if not (who.project and who.bucket and who.region):
        raise NotReady("cloud-not-ready", raw="The account is not set up")
    ends = who.endpoints
    lent = catalogue().generation(renting.GENERATION)
    zones = [one.zone for one in lent.zones if one.zone.startswith(f"{who.region}-")]
    zone = next(iter(sorted(zones)), "us-west4-a")
    with session(who.credentials, who.project if places.by_id(place).charges else "") as http, plain_session() as plain:
        clock = DateClock(plain_session(), f"{ends.tpu}/v2/projects/{who.project}/locations", http)
        stops = TaskStops(
            http,
            ends.tasks,
            ends.orgpolicy,
            who.project,
            who.stopper or who.runner,
            {"tpu": ends.tpu, "compute": ends.compute},
        )
        side = Side(
            http,
            plain,
            ends,
            who.project,
            zone,
            who.region,
            who.bucket,
            who.runner,
            who.stopper,
            account=account_of(who.credentials, place),
            left=Left(home, f"{place}|{who.project}"),
            now=clock.now,
            speed=clock.speed,
            secret=(who.runner, who.stopper),
        )
        yield GoogleProber(side, stops), clock.now


def live_check(
    place: str,
    home: Path,
    agreed: bool,
    max_usd: float,
    *,
    told: Callable[[Step], None] = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Ask, and keep what was seen. Raises as `prober_of`, SignedOut."""
    from tpu_studio.workflow.livecheck.checking import check
    from tpu_studio.workflow.livecheck.observed import Observations

    with prober_of(place, home) as (prober, now):
        outcome = check(prober, agreed, max_usd, told=told, cancelled=cancelled)
        Observations(home).keep(prober.account, prober.project, VERSION, now(), outcome.seen)
    return outcome


def in_use(place: str, home: Path) -> list[Use]:
    """What of earlier observations chooses a way now; none where the place cannot be reached."""
    from tpu_studio.cloud.clock import DateClock
    from tpu_studio.cloud.observing import known, stamp
    from tpu_studio.cloud.session import plain_session
    from tpu_studio.places.reaching import reach
    from tpu_studio.workflow.livecheck.ways import uses

    if not stamp(home):
        return []
    try:
        who = reach(place, home)
        with plain_session() as plain:
            now = DateClock(plain, f"{who.endpoints.tpu}/v2/projects/{who.project}/locations").now()
        return uses(known(home, who.credentials, place, who.project, now))
    except StudioError:
        return []


def not_taken_away(home: Path) -> list[str]:
    """Names of what live checks of this home have made, and nobody has taken away yet."""
    from tpu_studio.workflow.livecheck.left import Left

    return Left(home, "").names()


class LiveChecking:
    """Implements ``viewmodels.livecheck.LiveCheckPort``: connects anew for each call."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def steps(self, place: str) -> Sequence[Step]:
        with prober_of(place, self._home) as (prober, _):
            return prober.steps()

    def check(
        self, place: str, agreed: bool, max_usd: float, told: Callable[[Step], None], cancelled: Callable[[], bool]
    ) -> Outcome:
        return live_check(place, self._home, agreed, max_usd, told=told, cancelled=cancelled)

    def in_use(self, place: str) -> Sequence[Use]:
        return in_use(place, self._home)

    def save(self, place: str, seen: Sequence[Seen], path: str) -> None:
        """Raises OSError; BadInput as `write_named`."""
        save(place, seen, Path(path))


def save(place: str, seen: Sequence[Seen], path: Path) -> None:
    """One file to send to the project. Raises as `write_named`."""
    from tpu_studio.workflow.livecheck.observed import to_send

    record = to_send(seen, VERSION, date.today().isoformat(), place)
    write_named(path, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
