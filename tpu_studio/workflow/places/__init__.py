"""What differs in a run's life from place to place: how it is begun, stopped, gone on with and settled.

One module for each way, which a place's record names (`wire.places.Place.way`) and whose `RUNS` is the class.
`workflow.runs` looks it up and does what is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from tpu_studio.wire import controls, places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.limits import limits_of, used_before
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runclock import latest_event_s
from tpu_studio.wire.runfolder import COMMITTED, latest_attempt
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.decide import NewAttempt, Seen, SendControl
from tpu_studio.workflow.ports import Clock, Journal, Place, RunIndex


class PlaceRuns(Protocol):
    """Runs at a place. *folder*: of a run of ours. Errors are StudioError."""

    def ready(self, plan: Plan, *, notebook: bool) -> float:
        """The time that the events of a run of *plan* begin with. Raises what keeps it from being launched now."""
        ...

    def begin(self, folder: Path, plan: Plan, *, beside: bool, now: float) -> str:
        """Begin a frozen run; what came of it, for the journal."""
        ...

    def check_steerable(self, folder: Path) -> None:
        """Raises RunError where a run can only be looked at here."""
        ...

    def seen(self, folder: Path) -> Seen:
        """What is true of a run now."""
        ...

    def stop(self, folder: Path, keep: bool) -> None: ...

    def extend(self, folder: Path, epochs: float | None, action: Sequence[SendControl]) -> NewAttempt | None:
        """Of a run that goes on; the attempt that it takes instead where it was ending at that very moment."""
        ...

    def tell(self, folder: Path, action: SendControl) -> None:
        """A word to the guardian of a run that goes on, which changes neither its limits nor its end."""
        ...

    def again(self, folder: Path, action: NewAttempt, verb: str) -> None:
        """A new attempt of a run that is over."""
        ...

    def settle(self, folder: Path) -> bool:
        """Write the end that a lost run never wrote; True when this call wrote it."""
        ...


@dataclass(frozen=True)
class Desktop:
    """What runs are kept with here.

    Attributes:
        guards: Start and see guardians, by a plan's place, where that is this computer.
        driver: Drives runs at the rented places; None: there are none.
    """

    home: Path
    guards: Mapping[str, Place]
    driver: Driver | None
    journal: Journal
    index: RunIndex
    clock: Clock

    def runs_at(self, place: places.Place) -> PlaceRuns:
        made: PlaceRuns = import_module(f"{__name__}.{place.way}").RUNS(self)
        return made

    @property
    def runs_folder(self) -> Path:
        return self.home / "runs"

    @property
    def trash(self) -> Path:
        return self.home / "trash"

    @property
    def install(self) -> str:
        return desk.install_id(self.home)

    def say(self, folder: Path, kind: str, **fields: object) -> None:
        t = max(self.clock.now(), latest_event_s(folder))  # the clock may have been set back meanwhile
        self._write(folder, kind, t, **fields)

    def _write(self, folder: Path, kind: str, t: float, **fields: object) -> None:
        desk.write_event(folder, self.install, kind, t=t, key=desk.seal_key(self.home), **fields)

    def queue(self, folder: Path, plan: Plan, now: float, detail: str) -> str:
        """A run that waits for somebody else to begin it."""
        self._write(folder, "target", now, steps=plan.steps)
        self._write(folder, "phase", now, phase=Phase.QUEUED.value, detail=detail, attempt=1)
        return "frozen"

    def seen(self, folder: Path, *, alive: bool) -> Seen:
        """Of a run whose events tell all. *alive* is looked at before the events: who is dead writes no more."""
        attempt, owner, plan = latest_attempt(folder), desk.read_owner(folder), plans.read(folder)
        row = self.index.summary(folder)
        limits = limits_of(plan, controls.Controls(folder).read())
        plain = limits_of(plan)
        return Seen(
            run=folder.name,
            attempt=attempt,
            alive=alive,
            over=row.over,
            reason=row.reason,
            usd=row.usd,
            elsewhere=owner.get("install") not in (None, self.install) and not owner.get("imported"),
            has_checkpoint=any((folder / "checkpoints").glob(f"*/{COMMITTED}")),
            used_s=used_before(folder, attempt + 1),
            limit_hours=limits.hours,
            limit_usd=limits.money_usd,
            plan_hours=plain.hours,
            plan_steps=plan.steps,
            steps_per_epoch=plan.steps_per_epoch,
        )

    def send(self, folder: Path, verb: str, records: Sequence[dict[str, object]]) -> Sequence[int]:
        """Numbers of the control files."""
        intent = self.journal.open(verb, folder.name, {"controls": [*records]}, self.clock.now())
        try:
            numbers = [controls.send(folder, record) for record in records]
        except FileNotFoundError as error:
            raise RunError("run-unknown", run=folder.name) from error  # it ended, and another has deleted it
        except OSError as error:
            raise desk.disk_error(error, folder) from error
        self.journal.close(intent, "sent", self.clock.now())
        return numbers
