"""Runs whose trainer a guardian on this computer starts and watches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from tpu_studio.wire import controls
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import NotReady, RunError
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import latest_attempt, newest_copy
from tpu_studio.workflow import decide, desk
from tpu_studio.workflow.cloudruns.mirror import Words
from tpu_studio.workflow.decide import NewAttempt, Seen, SendControl
from tpu_studio.workflow.deleting import BUSY_S
from tpu_studio.workflow.places import Desktop
from tpu_studio.workflow.ports import Place

ANSWERS_WITHIN_S = 10.0
BEFORE_TRAINING = tuple(one.value for one in (Phase.PLANNED, Phase.QUEUED, Phase.SETTING_UP, Phase.COMPILING))
"""In these a guardian need not say that it heard of an extension: the training program counts it as it begins."""


class LocalRuns:
    """A guardian that cannot be started is told in the run itself: it ends at once as ``start-failed``."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop, self._index, self._clock = desktop, desktop.index, desktop.clock

    def ready(self, plan: Plan, *, notebook: bool) -> float:
        now = self._clock.now()
        self._place(plan.place).check_ready()
        desk.check_room(self._desktop.home, plan)
        return now

    def begin(self, folder: Path, plan: Plan, *, beside: bool, now: float) -> str:
        with desk.driving(folder):
            return self._start(folder, plan, 1, beside, steps=plan.steps)

    def check_steerable(self, folder: Path) -> None:
        """Each can be."""

    def seen(self, folder: Path) -> Seen:
        attempt = latest_attempt(folder)
        alive = bool(attempt) and self._place(plans.read(folder).place).is_alive(folder, attempt)
        return self._desktop.seen(folder, alive=alive)

    def stop(self, folder: Path, keep: bool) -> None:
        action = decide.stop(self.seen(folder), keep)
        if isinstance(action, SendControl):
            self._desktop.send(folder, "stop", [action.record])
        else:
            self.settle(folder)

    def extend(self, folder: Path, epochs: float | None, action: Sequence[SendControl]) -> NewAttempt | None:
        row = self._index.summary(folder)
        numbers = self._desktop.send(folder, "extend", [one.record for one in action])
        if row.status in BEFORE_TRAINING or self._is_heard(folder, row.attempt, numbers[-1]):
            return None
        if epochs is None:
            raise RunError("limits-of-an-ended-run", run=folder.name)
        return NewAttempt(row.attempt + 1)

    def tell(self, folder: Path, action: SendControl) -> None:
        self._desktop.send(folder, str(action.record["verb"]), [action.record])

    def again(self, folder: Path, action: NewAttempt, verb: str) -> None:
        plan, journal = plans.read(folder), self._desktop.journal
        self._place(plan.place).check_ready()
        intent = journal.open(verb, folder.name, {"attempt": action.attempt}, self._clock.now())
        try:
            with desk.driving(folder, BUSY_S) as alone:
                if not alone or self.seen(folder).attempt >= action.attempt:  # another was quicker to go on with it
                    journal.close(intent, "busy", self._clock.now())
                    raise RunError("run-busy", run=folder.name)
                for record in action.controls:
                    controls.send(folder, record)
                added = sum(float(record.get("epochs", 0.0)) for record in action.controls)
                planned = self._index.summary(folder).steps_planned
                steps = planned + max(1, round(added * plan.steps_per_epoch)) if added else None
                outcome = self._start(folder, plan, action.attempt, beside=False, steps=steps)
        except FileNotFoundError as error:
            raise RunError("run-unknown", run=folder.name) from error  # another has just deleted it
        except OSError as error:
            raise desk.disk_error(error, folder) from error
        journal.close(intent, outcome, self._clock.now())

    def settle(self, folder: Path) -> bool:
        if self._index.glance(folder).unread:
            return False  # it is read on with each list, and no other run waits for its end
        with desk.driving(folder) as alone:
            action = decide.lost(self.seen(folder)) if alone else None
            if action is None:
                return False
            copy = newest_copy(folder)  # its events may have been cut short
            facts = {} if copy is None else {"saved_step": copy}
            self._end(folder, action.attempt, action.reason, self._index.summary(folder).step, facts)
            return True

    def _place(self, name: str) -> Place:
        if name not in self._desktop.guards:
            raise NotReady("place-not-available", place=name)
        return self._desktop.guards[name]

    def _start(self, folder: Path, plan: Plan, attempt: int, beside: bool, *, steps: int | None) -> str:
        """Say that the run waits, start its guardian; "started" or, told in the run, "start-failed"."""
        self._desktop.say(folder, "phase", phase=Phase.QUEUED.value, detail="starting", attempt=attempt)
        if steps is not None:
            self._desktop.say(folder, "target", steps=steps)
        try:
            self._place(plan.place).start(folder, attempt, beside=beside)
        except RunError as error:
            self._end(folder, attempt, Reason.START_FAILED, 0, error.facts)
            return "start-failed"
        return "started"

    def _end(self, folder: Path, attempt: int, reason: Reason, steps: int, facts: object) -> None:
        self._desktop.say(
            folder,
            "end",
            attempt=attempt,
            status=reason.status.value,
            reason=reason.value,
            steps=steps,
            final={},
            facts=facts,
        )

    def _is_heard(self, folder: Path, attempt: int, number: int) -> bool:
        """False when the attempt has ended without a word of this control file; its guardian answers at once."""
        place, words = self._place(plans.read(folder).place), Words(folder)
        give_up = time.monotonic() + ANSWERS_WITHIN_S
        while time.monotonic() < give_up:
            alive = place.is_alive(folder, attempt)  # before its words are read: who is dead writes no more
            if number in words.guard(attempt).heard:
                return True
            if not alive:
                return False
            time.sleep(0.05)
        return True  # it lives and is busy: it reads them all before it ends


RUNS = LocalRuns
