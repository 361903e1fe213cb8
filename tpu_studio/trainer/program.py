"""`train`: one attempt of a run, from plan.json to the outcome. Builds the parts, runs `loop`, tells how it ended.

Order matters: the pipes first, then the framework's environment, then everything that imports Keras. What can go
wrong on the way becomes an outcome with a reason (`outcomes`); only a crash of the interpreter ends without one.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.trainer import backend
from tpu_studio.trainer.frameworks import module_of
from tpu_studio.trainer.guard import BuildWatch, within
from tpu_studio.trainer.outcomes import Outcome, outcome_of
from tpu_studio.trainer.schedule import extension_steps, of_plan
from tpu_studio.trainer.words import GONE, Command, Commands, Events, take_stdout
from tpu_studio.wire import bases, controls, places
from tpu_studio.wire import plan as plans
from tpu_studio.wire.errors import ModelError, RunError
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.reasons import Reason

if TYPE_CHECKING:
    from tpu_studio.trainer.checkpoints import Loaded
    from tpu_studio.trainer.loop import Loop
    from tpu_studio.trainer.parts import Parts
    from tpu_studio.trainer.team import Team

DONE, REFUSED = 0, 3


def train(
    run: Path,
    attempt: int,
    worker: int,
    *,
    moved: Mapping[str, Path | None] | None = None,
    workers: int = 1,
    coordinator: str = "",
) -> int:
    """Exit code: 0 finished or stopped as asked, 3 ended for another reason that the outcome names.

    *moved*: where data, model file and folder stand on this machine, when that is not where the plan was made; as of
    `moved_plan`.
    *workers*, *coordinator*: how many machines train this model together, and where worker 0 gathers them.
    """
    if workers > 1:
        return _train_together(run, attempt, worker, workers, coordinator, moved)
    events = Events(take_stdout())
    attempting = Attempt(run.resolve(), attempt, worker, events, moved)
    try:
        outcome = attempting.go()
    except Exception as error:  # noqa: BLE001  the boundary: whatever it was becomes an outcome
        outcome = outcome_of(error, attempting.steps_done, attempting.final())
    return tell(events, outcome)


def _train_together(
    run: Path, attempt: int, worker: int, workers: int, coordinator: str, moved: Mapping[str, Path | None] | None
) -> int:
    from tpu_studio.trainer import team

    fd = take_stdout()
    events = team.Aside(fd, worker) if worker else Events(fd)
    together = team.Team(workers, worker, coordinator)
    attempting = Attempt(run.resolve(), attempt, worker, events, moved, together)
    try:
        outcome = attempting.go()
    except Exception as error:  # noqa: BLE001  the boundary: whatever it was becomes an outcome
        outcome = outcome_of(error, attempting.steps_done, attempting.final())
        if team.is_lost(error):
            facts = {**outcome.facts, "workers": workers}
            outcome = Outcome(Reason.WORKER_LOST, outcome.steps, outcome.final, facts)
            if told := together.why():
                outcome = attempting.as_told(told)
        code = tell(events, outcome)
        if worker and outcome.reason is not Reason.WORKER_LOST:
            together.tell_why({"reason": outcome.reason.value, "facts": {**outcome.facts, "worker": worker}})
        os._exit(code)  # parting would wait for those that are gone
    return tell(events, outcome)


def tell(events: Events, outcome: Outcome) -> int:
    reason = outcome.reason
    events.send(
        "outcome",
        status=reason.status.value,
        reason=reason.value,
        steps=outcome.steps,
        final=dict(outcome.final),
        facts=dict(outcome.facts),
    )
    events.flush()
    return REFUSED if reason.status.value == "failed" else DONE


class Attempt:
    """One attempt in the making."""

    def __init__(
        self,
        run: Path,
        attempt: int,
        worker: int,
        events: Events,
        moved: Mapping[str, Path | None] | None = None,
        team: Team | None = None,
    ) -> None:
        """*team*: the workers that train together (`team.Team`), None when this is the only one."""
        self._moved, self._team = moved or {}, team
        self.run, self.attempt, self.worker, self.events = run, attempt, worker, events
        self._loop: Loop | None = None
        self._may_leave_at_once = True  # until the first step is made there is nothing to save
        self._commands = Commands(0, self._command_arrived)
        self._extended_by_pipe: list[float] = []
        signal.signal(signal.SIGTERM, lambda *_: self._terminated.set())
        self._terminated = threading.Event()
        self._compiled_before: Callable[[], dict[str, Any]] = dict

    @property
    def steps_done(self) -> int:
        return int(self._loop.progress.step) if self._loop is not None else 0

    def final(self) -> dict[str, float]:
        """Last value of each metric, as far as training came."""
        return self._loop.final() if self._loop is not None else {}

    def go(self) -> Outcome:
        self.events.send("phase", phase="setting-up", detail="engine")
        plan = moved_plan(read_plan(self.run), self._moved)
        backend.begin(plan, self._workers)
        if self._team is not None:
            self._team.join(on_processors=places.by_id(plan.place).on_this_computer)
            if self._team.leads:
                self._team.hear(self._another_ends)
        with within(backend.OPENING_S, self._not_opened) if backend.needs_a_tpu(plan) else nullcontext():
            backend.check_devices(plan, self._workers)  # with the framework's import: TensorFlow's loads libtpu
        from tpu_studio.trainer import checkpoints  # imports of frameworks stand below `begin`
        from tpu_studio.trainer.parts import Parts
        from tpu_studio.trainer.profile.profiling import Profiling

        if not places.by_id(plan.place).local:
            self._compiled_before = module_of(plan.framework).watch_compiling()
        self.events.send("phase", phase="setting-up", detail="data")
        with BuildWatch(self._stuck) as watch:
            parts = Parts.make(plan, self.events, watch, self._workers)
        if parts.opened.broken_count:
            from tpu_studio.trainer.loop import broken_facts

            self.events.send("notice", id="broken-items", level="warning", facts=broken_facts(parts.opened))
        loop = parts.loop(
            self.run,
            of_plan(plan),
            self.events,
            self.attempt,
            self._next_command,
            lambda command: self._extensions(plan, command),
        )
        loaded = checkpoints.newest(self.run, loop.tell_damaged)
        if self._team is not None:
            self._same_copy(self._team, loaded)
        if loaded is None and checkpoints.were_whole(self.run):  # to begin anew would throw away what was trained
            raise RunError("checkpoints-damaged", path=str(self.run / "checkpoints"))
        if loaded is not None:
            self._resume(loop, loaded)
        elif self.attempt > 1 or checkpoints.steps(self.run):
            self.events.send("resume", step=0, attempt=self.attempt)  # nothing to go on from: the curve begins anew
        if loaded is None and self._team is not None and plan.job.model.is_own:
            self._same_model(self._team, plan, loop.steps.snapshot())
        loop.extend(None)
        tracer = module_of(plan.framework) if self.worker == 0 else None  # the chips of the others do the same
        loop.profiling = Profiling(self.run, self.events, tracer)
        self._loop = loop
        self._may_leave_at_once = loaded is None
        self.events.send("phase", phase="compiling", detail="training step")
        finish = loop.run(started=self._started)
        return self._finish(plan, parts, loop, finish.reason, finish.facts)

    @property
    def _workers(self) -> int:
        return self._team.workers if self._team is not None else 1

    def as_told(self, told: Mapping[str, Any]) -> Outcome:
        """The outcome for what another worker told of its own."""
        return Outcome(Reason(told["reason"]), self.steps_done, self.final(), told["facts"])

    def _another_ends(self, told: dict[str, Any]) -> None:
        """In the listening thread: a call of this worker's may wait for the one that ends, for good."""
        tell(self.events, self.as_told(told))
        os._exit(REFUSED)

    def _same_copy(self, team: Team, loaded: Loaded | None) -> None:
        """Raises RuntimeError: this worker would go on from another step than worker 0."""
        mine = loaded.step if loaded is not None else None
        step = team.agree(mine)
        if step != mine:
            said = f"worker 0 goes on from step {step}, worker {self.worker} has {mine}"
            raise RuntimeError(said)

    def _same_model(self, team: Team, plan: Plan, arrays: Mapping[str, object]) -> None:
        """Raises ModelError ``model-differs`` on every worker: a person's file draws numbers that nothing seeds."""
        if not team.have_same(arrays):
            raise ModelError("model-differs", file=str(plan.job.model.file))

    def _not_opened(self, facts: dict[str, Any]) -> None:
        """A call of libtpu that does not return; its thread cannot be stopped, so the process is."""
        raw = f"it was waited for {facts['seconds']:.0f} s"
        tell(self.events, Outcome(Reason.TPU_NOT_OPENED, 0, facts={**facts, "error": "tpu-not-opened", "raw": raw}))
        os._exit(REFUSED)

    def _stuck(self, facts: dict[str, Any]) -> None:
        """A person's own model does not come to an end; its thread cannot be stopped, so the process is."""
        tell(self.events, Outcome(Reason.MODEL_STUCK, 0, facts=facts))
        os._exit(REFUSED)

    def _started(self) -> None:
        self._may_leave_at_once = False
        if facts := self._compiled_before():
            self.events.send("notice", id="compiled-before", level="info", facts=facts)

    def _resume(self, loop: Loop, loaded: Loaded) -> None:
        from tpu_studio.trainer import checkpoints

        loop.resume(loaded)
        checkpoints.drop_after(self.run, loaded.step)
        self.events.send("resume", step=loaded.step, attempt=self.attempt)

    def _finish(self, plan: Plan, parts: Parts, loop: Loop, reason: Reason, facts: Mapping[str, object]) -> Outcome:
        keeps = reason in (Reason.COMPLETED, Reason.EARLY_STOPPED, Reason.STOPPED_BY_USER)
        keeps = keeps and loop.progress.step > 0
        arrays = loop.steps.snapshot() if keeps else {}  # of which each worker may have a share
        if self._team is not None:
            self._team.part()  # what worker 0 does from here on, no other can spoil
        if keeps and self.worker == 0:
            self.events.send("phase", phase="saving", detail="result")
            parts.write_result(self.run, loop, arrays, reason, self._warn)
        loop.profiling.finish()
        return Outcome(reason, loop.progress.step, loop.final(), facts)

    def _warn(self, notice: str, facts: Mapping[str, Any]) -> None:
        self.events.send("notice", id=notice, level="warning", facts=dict(facts))

    # ------------------------------------------------------------------------------------------------- commands

    def _next_command(self) -> Command | None:
        """The next one; with other workers, worker 0's."""
        return self._own_command() if self._team is None else self._team.agree(self._own_command())

    def _own_command(self) -> Command | None:
        if self._terminated.is_set():
            return GONE
        return self._commands.take()

    def _command_arrived(self, command: Command) -> bool:
        """In the reading thread: an answer to the events is theirs; the rest may end us at once."""
        if self.events.heard(command):
            return True
        self._end_at_once(command)
        return False

    def _end_at_once(self, command: Command) -> None:
        """Nothing trained yet and told to end: end now, also from within a compiler."""
        if self.worker:  # worker 0 says when to end; but whose guardian is gone, or whose machine goes down, goes too
            if command["verb"] == "gone":
                from tpu_studio.trainer.team import leave_after

                leave_after(25.0)
            return
        if command["verb"] not in ("stop", "gone") or not self._may_leave_at_once:
            return
        reason = (
            Reason.GUARDIAN_GONE
            if command["verb"] == "gone"
            else (Reason.STOPPED_BY_USER if command.get("keep", True) else Reason.DISCARDED)
        )
        tell(self.events, Outcome(reason, 0))
        os._exit(DONE if reason is not Reason.GUARDIAN_GONE else REFUSED)

    def _extensions(self, plan: Plan, command: Command | None) -> tuple[int, ...]:
        """Steps of each extension: what the control folder says, and what came by the pipe for want of a file there."""
        found = controls.extensions(self.run, lambda words: print(f"trainer: {words}", file=sys.stderr))
        if command is not None and command.get("number") not in found and "epochs" in command:
            self._extended_by_pipe.append(float(command["epochs"]))
        epochs = [*(found[number] for number in sorted(found)), *self._extended_by_pipe]
        return tuple(extension_steps(each, plan.steps_per_epoch) for each in epochs)


def read_plan(run: Path) -> Plan:
    """The frozen plan.

    Raises:
        RunError: ``plan-newer``, ``plan-unreadable``.
    """
    try:
        return plans.read(run)
    except OSError as error:
        raise RunError("plan-unreadable", raw=str(error)) from error


def moved_plan(plan: Plan, moved: Mapping[str, Path | None]) -> Plan:
    """*plan* with the paths of this machine: `table.key` → path, None where it stays."""
    changes = {key: str(path) for key, path in moved.items() if path is not None}
    if "model.preset" in changes and bases.is_one(plan.job.model.folder):
        changes["model.preset"] = os.path.join(changes["model.preset"], bases.MODEL)
    return replace(plan, job=plan.job.with_values(changes)) if changes else plan
