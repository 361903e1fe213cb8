"""Runs on rented machines: a verb writes what is wanted, and the driver sees to it (`workflow.cloudruns`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import NotReady
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow import consent
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs
from tpu_studio.workflow.decide import NewAttempt, Seen, SendControl
from tpu_studio.workflow.places import Desktop


class RentedRuns:
    """A run of somebody else's is only looked at, unless it was taken over."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop, driver = desktop, desktop.driver
        self._verbs = CloudVerbs(desktop.home, driver, desktop.journal) if driver is not None else None

    def ready(self, plan: Plan, *, notebook: bool) -> float:
        return self._cloud(plan).check_ready(plan)  # events carry the cloud's time

    def begin(self, folder: Path, plan: Plan, *, beside: bool, now: float) -> str:
        return self._desktop.queue(folder, plan, now, "submitted")

    def check_steerable(self, folder: Path) -> None:
        driver, journal = self._desktop.driver, self._desktop.journal
        known = driver.launched_here(folder) if driver else journal.plan_of(folder.name) is not None
        consent.check_rented_here(folder, self._desktop.runs_folder, launched_here=known)

    def seen(self, folder: Path) -> Seen:
        driver = self._desktop.driver
        if driver is not None and consent.is_foreign(folder, launched_here=driver.launched_here(folder)):
            return Seen(folder.name, attempt=1, over=True, rented=True)  # however much is in it: nothing of it is read
        row = self._desktop.index.summary(folder)
        return self._cloud(plans.read(folder)).seen(folder, not row.problem and self._is_copied(folder), row.usd)

    def stop(self, folder: Path, keep: bool) -> None:
        self.check_steerable(folder)
        self._cloud(plans.read(folder)).stop(folder, keep)

    def extend(self, folder: Path, epochs: float | None, action: Sequence[SendControl]) -> NewAttempt | None:
        self._cloud(plans.read(folder)).extend(folder, tuple(action))
        return None

    def tell(self, folder: Path, action: SendControl) -> None:
        self._cloud(plans.read(folder)).send(folder, action.record)

    def again(self, folder: Path, action: NewAttempt, verb: str) -> None:
        self._cloud(plans.read(folder)).again(folder, action)

    def settle(self, folder: Path) -> bool:
        return False  # its driver looks at the cloud first

    def _cloud(self, plan: Plan) -> CloudVerbs:
        if self._verbs is None:
            raise NotReady("place-not-available", place=plan.place)
        return self._verbs

    def _is_copied(self, folder: Path) -> bool:
        following = self._desktop.index.follow(folder)
        try:
            following.poll()
            return following.view.checkpoint_step is not None
        finally:
            following.close()


RUNS = RentedRuns
