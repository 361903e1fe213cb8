"""The training loop, from the first step to the last: calls of many steps, checks on unseen data, copies, commands.

`program` builds the parts and tells the outcome; here nothing knows how a framework differs. Reads top to bottom:
`Loop.run` makes calls until the target is reached or something ends it; everything that may happen between two calls
has a method.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from tpu_studio.data.opened import Opened
from tpu_studio.trainer import checkpoints
from tpu_studio.trainer.checkpoints import Saver
from tpu_studio.trainer.evaluation import Units, better, evaluate
from tpu_studio.trainer.feed import Feed, Piece
from tpu_studio.trainer.pace import Pace
from tpu_studio.trainer.profile.profiling import Profiling
from tpu_studio.trainer.progress import Progress
from tpu_studio.trainer.reports import Reports
from tpu_studio.trainer.schedule import Schedule
from tpu_studio.trainer.stages import Enter, Stage
from tpu_studio.trainer.state import Arrays
from tpu_studio.trainer.words import Command, Events
from tpu_studio.wire import metrics
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.reasons import Reason

IN_FLIGHT = 2  # calls handed over and not yet fetched: one the device works on, one that waits
ROLLBACKS = 3


@dataclass(frozen=True)
class UnderWay:
    """A call that was handed over and is not fetched yet; times in seconds of the monotonic clock."""

    piece: Piece
    handle: Any
    called: float
    returned: float


@dataclass(frozen=True)
class Finish:
    """Why the loop ended, with the facts of the outcome."""

    reason: Reason
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """The plan's rhythm, in steps. *in_step*: with other workers, so nothing may depend on this machine's clock.

    *check_batches*: Batches of a check at most, for a timing; None: all unseen data.
    """

    task: str
    evaluate_every: int
    checkpoint_every: int
    early_stopping: int
    on_nan: str
    attempt: int
    if_not_finite: tuple[str, ...] = ("lower-learning-rate", "check-data")  # ids of what to try then
    in_step: bool = False
    check_batches: int | None = None


class Loop:
    def __init__(
        self,
        run: Path,
        settings: Settings,
        stage: Stage,
        opened: Opened,
        feed: Callable[[Stage], Feed],
        schedule: Schedule,
        progress: Progress,
        events: Events,
        reports: Reports,
        *,
        in_units: Units,
        enter: Enter,
        command: Callable[[], Command | None],
        extended: Callable[[Command | None], tuple[int, ...]],
    ) -> None:
        """Args:
        feed: The batches of a stage.
        command: The next command, or None.
        extended: Steps of each extension so far; called with the command that told of a new one.
        """
        self.run_folder, self.settings, self.opened = run, settings, opened
        self._enter, self._feed_of, self.stage, self.feed = enter, feed, stage, feed(stage)
        self.schedule, self.progress, self.events, self.reports = schedule, progress, events, reports
        self._in_units, self._command, self._extended = in_units, command, extended
        self.saver = Saver(run, self._saved, before=events.told)
        self.best_arrays: Arrays | None = None
        self.compile_s = 0.0
        self._last_saved = -1
        self._is_first_call = True
        self._in_flight: deque[UnderWay] = deque()
        self._pace = Pace(stage.per_call)
        self._fetched_at = 0.0
        self._call_begun = time.monotonic()
        self._compiles_known = 0
        self._broken_known = opened.broken_count
        self._finish: Finish | None = None
        self.profiling = Profiling(run, events, None)  # who makes profiles puts another in its place

    # ------------------------------------------------------------------------------------------------- the way of steps

    @property
    def steps(self) -> Any:
        """The step functions, with the state that is trained now."""
        return self.stage.steps

    def resume(self, loaded: checkpoints.Loaded) -> None:
        """Go on from a checkpoint.

        Raises:
            RunError: ``base-differs``, where the training had begun from other weights; ``tokenizer-differs``, where
                its tokens were others, for which the learned numbers mean nothing.
        """
        progress = Progress.from_json(loaded.position)
        if progress.base != self.progress.base:
            raise RunError("base-differs", wanted=progress.base, found=self.progress.base)
        if progress.tokenizer not in ("", self.progress.tokenizer):  # copies of older versions do not say
            raise RunError("tokenizer-differs", wanted=progress.tokenizer, found=self.progress.tokenizer)
        self._restore(loaded)
        self.progress = progress
        self._last_saved = progress.step
        self.schedule = replace(self.schedule, factor=progress.factor)

    def _restore(self, loaded: checkpoints.Loaded) -> None:
        if not self.stage.holds(loaded.step):
            self._go_into(max(0, loaded.step - 1), None)
        self.steps.restore(loaded.arrays)

    def _go_into(self, step: int, arrays: Arrays | None) -> None:
        self.feed.close()
        self.stage = self._enter(step, arrays)
        self.feed, self._pace = self._feed_of(self.stage), Pace(self.stage.per_call)
        self._is_first_call, self._fetched_at = True, 0.0

    def _next_stage(self) -> None:
        """The stage ends here: a copy of it is kept, and the next begins with what it has learned."""
        before = self.progress
        self.drain()
        if self._finish is not None or self.progress is not before:
            return
        self._save(must=True)
        self.events.send("phase", phase="compiling", detail="training step, all of the model")
        self._go_into(before.step, self.steps.snapshot())
        self.feed.start(before.step)
        self._call_begun = time.monotonic()

    def run(self, started: Callable[[], None] = lambda: None) -> Finish:
        """Train to the target and save; *started* is called after the first call. Returns why it ended.

        A checkpoint of the last good step is on the disk afterwards, unless the run was discarded.
        """
        if self.settings.on_nan == "rollback" and not checkpoints.steps(self.run_folder):
            self._hand_over()  # something to go back to, should the very first steps go wrong
        self.train(started)
        return self._end()

    def train(self, started: Callable[[], None] = lambda: None) -> None:
        """The loop itself, with nothing before and after it."""
        self.feed.start(self.progress.step)
        self._is_first_call = True
        self._call_begun = time.monotonic()
        while not self._told_to_end():
            if self.progress.step == self.stage.last < self.schedule.steps:
                self._next_stage()
                continue
            if self.profiling.is_due and not self._is_first_call and not self._begin_profile():
                continue
            asked = time.monotonic()
            with self.profiling.waiting():
                piece = self.feed.next()
            waiting = time.monotonic() - asked
            if piece is None:
                if self.progress.step < self.schedule.steps:
                    self.feed.start(self.progress.step)  # extended after the feed had come to the end
                    continue
                break
            before, called = self.progress, time.monotonic()
            self.profiling.calling(piece.count)
            handle = self.steps.train(piece.stack, self._rates(piece), piece.first - self.stage.first, piece.count)
            self._in_flight.append(UnderWay(piece, handle, called, time.monotonic()))
            self.progress.step = piece.first + piece.count
            if self._is_first_call or len(self._in_flight) >= IN_FLIGHT:
                self._fetch()
            device = time.monotonic() - called
            if self._is_first_call:
                self._is_first_call = False
                started()
                self._first_call_done(device)
            else:
                self._account(piece.count, waiting, device)
            if self.progress is before:  # else it went back, and is at a step that was checked and saved already
                self._between_calls()
        if self.profiling.is_active:
            self._end_profile("" if self._finish is None else "stopped")

    def _between_calls(self) -> None:
        before = self.progress
        if self.profiling.is_full:
            self._end_profile()
            if self._finish is not None or self.progress is not before:
                return
        if self._at(self.settings.evaluate_every) or self.progress.step >= self.schedule.steps:
            self._check_on_unseen()
        if self._finish is None and self._at(self.settings.checkpoint_every):
            self._save()
        if self._finish is None and self.reports.due:
            self.report()
            self.saver.check()

    def _begin_profile(self) -> bool:
        """Between two calls, with none under way; False where one of those was the last, or training goes back."""
        before = self.progress
        self.drain()
        if self._finish is not None or self.progress is not before:
            return False
        self.profiling.begin(self.progress.step)
        self._call_begun = time.monotonic()
        return True

    def _end_profile(self, why: str = "") -> None:
        self.drain()
        self.profiling.end(why)
        self._call_begun = time.monotonic()

    def cut(self, step: int) -> int:
        """How many steps the call that begins at *step* makes: up to the next check, copy or end.

        With other workers always as many as fit: their clocks differ, and all must cut alike.
        """
        ends = [self.schedule.steps, *([self.stage.last] if step < self.stage.last else [])]
        ends += [
            (step // every + 1) * every for every in (self.settings.evaluate_every, self.settings.checkpoint_every)
        ]
        at_once = self.feed.per_call if self.settings.in_step else self._pace.at_once
        return max(0, min(at_once, min(ends) - step))

    def _rates(self, piece: Piece) -> Any:
        return self.schedule.rates(piece.first, self.feed.per_call)

    def _at(self, every: int) -> bool:
        return self.progress.step % every == 0

    def _first_call_done(self, seconds: float) -> None:
        self.compile_s += seconds
        self._compiles_known = self.steps.compiles + 1  # the evaluation is compiled later, and that is no surprise
        self._call_begun = time.monotonic()
        self.events.send("phase", phase="training", detail="")

    def _account(self, count: int, waiting: float, device: float) -> None:
        now = time.monotonic()
        seconds, self._call_begun = now - self._call_begun, now
        self.reports.spend(steps=count, seconds=seconds, waiting=waiting, device=device)

    # ------------------------------------------------------------------------------------------------- what steps gave

    def _fetch(self) -> None:
        """Take the values of the oldest call; a value that is no number is found here."""
        call = self._in_flight.popleft()
        piece, values = call.piece, self.steps.fetch(call.handle)
        self._watch_pace(call)
        good = np.logical_and.reduce([np.isfinite(column) for column in values.values()])
        rates = values[metrics.learning_rate().id] = self.schedule.rates(piece.first, piece.count)
        if good.all():
            self.reports.add(piece.first, values)
            return
        bad = int(np.argmin(good))
        self.reports.add(piece.first, {name: column[: bad + 1] for name, column in values.items()})
        self._not_finite(piece.first + bad + 1, float(rates[bad]))

    def _watch_pace(self, call: UnderWay) -> None:
        """How long *call*, just fetched, took: TensorFlow works until it returns, JAX until it can be fetched."""
        before, self._fetched_at = self._fetched_at, time.monotonic()
        if before:  # the very first call compiles
            seconds = max(call.returned - call.called, self._fetched_at - max(call.called, before))
            self._pace.took(call.piece.count, seconds)

    def drain(self) -> None:
        """Take the values of all calls under way, or up to the first that is no number; their time counts as steps'."""
        if self._in_flight:
            begun = time.monotonic()
            while self._in_flight:
                self._fetch()
            self._account(0, 0.0, time.monotonic() - begun)
        self.profiling.drained()

    def report(self) -> None:
        self.reports.send(self.steps.compiles)
        compiles = self.steps.compiles
        if compiles > self._compiles_known:
            self._compiles_known = compiles
            self.events.send("notice", id="recompiling", level="warning", facts={"compiles": compiles})
        if self.opened.broken_count > self._broken_known:
            self._broken_known = self.opened.broken_count
            self.events.send("notice", id="broken-items", level="warning", facts=broken_facts(self.opened))

    def _not_finite(self, step: int, rate: float) -> None:
        """The loss or the gradient of *step* is no number: stop, or go back to the last copy with half the rate."""
        self._in_flight.clear()
        self.report()
        progress = self.progress
        facts = {
            "step": step,
            "learning_rate": rate,
            "rollbacks": progress.rollbacks,
            "suggestions": list(self.settings.if_not_finite),
        }
        if self.settings.on_nan != "rollback" or progress.rollbacks >= ROLLBACKS:
            self._finish = Finish(Reason.LOSS_NOT_FINITE, facts)
            return
        self.saver.wait()
        loaded = checkpoints.newest(self.run_folder, self.tell_damaged)
        if loaded is None:
            self._finish = Finish(Reason.LOSS_NOT_FINITE, facts)
            return
        self._restore(loaded)
        rollbacks, factor = progress.rollbacks + 1, progress.factor / 2
        self.progress = replace(Progress.from_json(loaded.position), rollbacks=rollbacks, factor=factor)
        self.schedule = replace(self.schedule, factor=factor)
        self.events.send("resume", step=loaded.step, attempt=self.settings.attempt)
        self.events.send(
            "notice",
            id="rolled-back",
            level="warning",
            facts={"step": step, "to_step": loaded.step, "learning_rate": rate / 2, "rollbacks": rollbacks},
        )
        self.feed.start(loaded.step)

    # ------------------------------------------------------------------------------------- between two calls

    def _told_to_end(self) -> bool:
        """Obey the commands that have come; whether one of them, or anything before, ends the training."""
        while self._finish is None and (command := self._command()) is not None:
            verb = command.get("verb")
            if verb == "stop":
                self._finish = Finish(Reason.STOPPED_BY_USER if command.get("keep", True) else Reason.DISCARDED)
            elif verb == "gone":
                self._finish = Finish(Reason.GUARDIAN_GONE)
            elif verb == "extend":
                self.extend(command)
            elif verb == "profile":
                self.profiling.ask()
        return self._finish is not None

    def extend(self, command: Command | None) -> None:
        cycles = (*self.schedule.cycles[: self.schedule.planned], *self._extended(command))
        if cycles != self.schedule.cycles:
            self.schedule = replace(self.schedule, cycles=cycles)
            self.events.send("target", steps=self.schedule.steps)  # the fold makes "trains further" of it

    def _check_on_unseen(self) -> None:
        before = self.progress
        self.drain()
        if self._finish is not None or self.progress is not before:
            return
        self.report()
        progress, settings = self.progress, self.settings
        checked = evaluate(
            self.steps,
            self.stage.unseen,
            settings.task,
            self.stage.evaluation_batch,
            self._in_units,
            settings.check_batches,
        )
        values = checked.values
        progress.labels = checked.labels
        self.reports.point(progress.step, values)
        progress.history.append({"step": progress.step, **values})
        if better(settings.task, values, progress.best):
            progress.best, progress.best_step, progress.checks_without_better = values, progress.step, 0
            progress.best_labels = checked.labels
            if settings.early_stopping:
                self._save(must=True)
        else:
            progress.checks_without_better += 1
            if settings.early_stopping and progress.checks_without_better >= settings.early_stopping:
                self._finish = Finish(Reason.EARLY_STOPPED, {"best_step": progress.best_step or progress.step})
        self._call_begun = time.monotonic()

    def _save(self, *, must: bool = False) -> None:
        """Copy the state and begin to write it; skipped while the copy before is being written, unless it *must* be."""
        progress = self.progress
        if (self.saver.busy and not must and not self.settings.in_step) or self._last_saved == progress.step:
            return
        self.drain()
        if self._finish is not None or self.progress is not progress:
            return  # what would be saved is no number
        # The curve up to a copy must be told before the copy counts: who resumes there will not tell it again.
        self.report()
        self._hand_over()
        self._call_begun = time.monotonic()

    def _hand_over(self) -> None:
        self._last_saved = self.progress.step
        self.saver.save(self.progress.step, self.steps.snapshot(), self.progress.to_json(), self._best_on_disk())

    def _best_on_disk(self) -> int | None:
        """The step whose copy must stay: the best one's, if it was saved (with early stopping it always is)."""
        return self.progress.best_step if self.settings.early_stopping else None

    def _saved(self, step: int, seconds: float) -> None:
        self.events.send("checkpoint", step=step, path=f"checkpoints/{step:08d}", seconds=round(seconds, 3))

    def tell_damaged(self, damaged: checkpoints.Damaged) -> None:
        self.events.send(
            "notice", id="checkpoint-damaged", level="warning", facts={"step": damaged.step, "why": damaged.why}
        )

    @property
    def takes_best(self) -> bool:
        """With early stopping the result is the best model on unseen data; otherwise the last one."""
        best = self.progress.best_step
        return bool(self.settings.early_stopping) and best is not None and best != self.progress.step

    def final(self) -> dict[str, float]:
        """The metrics that the result has: of the best check where that is taken, else the last ones."""
        values = {**self.reports.latest, **((self.progress.best or {}) if self.takes_best else {})}
        return {
            name: value for name, value in values.items() if math.isfinite(value) and not metrics.by_id(name).course
        }

    def close(self) -> None:
        """End the feed's thread, and what watches the chips."""
        self.feed.close()
        self.reports.chips.close()

    def _end(self) -> Finish:
        """Save the last step, unless it is no number or nobody wants it."""
        finish = self._finish
        self.close()
        if finish is not None and finish.reason in (Reason.LOSS_NOT_FINITE, Reason.DISCARDED):
            self.saver.wait()
            return finish
        self.drain()
        if self._finish is not finish and self._finish is not None:
            self.saver.wait()
            return self._finish
        self.report()
        self.events.send("phase", phase="saving", detail="checkpoint")
        self.saver.wait()
        if self._last_saved != self.progress.step:
            self._hand_over()
        self.saver.wait()
        return finish or Finish(Reason.COMPLETED)


def broken_facts(opened: Opened) -> dict[str, Any]:
    return {"count": opened.broken_count, "items": [[item.item, item.why] for item in opened.broken[:10]]}
