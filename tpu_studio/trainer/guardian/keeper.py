"""One attempt from its claim to its ``end`` event: the guardian's main loop.

Each turn (at least five a second) takes what the trainer has said, obeys control files, checks limits, and writes
money, ledger and heartbeat. One thread does all of it but the reading of pipes (child.py). The caller holds the claim.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tpu_studio.trainer.guardian.appending import EventsFile, is_full
from tpu_studio.trainer.guardian.child import Trainer
from tpu_studio.trainer.guardian.ending import Death, Ending, ending, may_restart
from tpu_studio.trainer.guardian.logs import LogTap, readable
from tpu_studio.trainer.guardian.side import Side
from tpu_studio.wire import metrics
from tpu_studio.wire import plan as plans
from tpu_studio.wire.claims import try_lock, wait_for_lock
from tpu_studio.wire.controls import Controls
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.events import Event, decode, encode
from tpu_studio.wire.homes import make_private
from tpu_studio.wire.limits import Limits, changed, limits_of, used_before
from tpu_studio.wire.phases import Status
from tpu_studio.wire.plainfiles import write_inside
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runclock import RunClock, latest_event_s
from tpu_studio.wire.runfolder import PLAN, claim_file, ledger_file, result_folder
from tpu_studio.wire.secrets import Lines

TURN_S = 0.2
MONEY_EVERY_S = 30.0
LEDGER_EVERY_S = 60.0
_AFTER_OUTCOME_S = 30.0
_TERM_S = 5.0
_DISCARD_GRACE_S = 10.0
_NEWS_S = 10.0  # between the trainer's hearing that the machine goes down and ours
_NOTICE_S = 25.0  # of the 30 s that a machine has before it is taken away


class Keeper:
    """Guards one attempt.

    Args:
        trainer: Command line of the trainer.
        turnstile: Lock file at which to wait for one's turn; None to start at once.
        grace_s: A trainer that was told to stop and then says nothing for so long is killed.
        events: The events file, where its owner has written to it before.
        environment: Of the trainer; None for ours.
        side: What a rented machine adds: it then keeps time, money and ledger.
        alone: No other machine trains this model with it; then a trainer that was killed may be started again.
    """

    def __init__(
        self,
        run: Path,
        attempt: int,
        trainer: Sequence[str],
        *,
        worker: int = 0,
        turnstile: Path | None = None,
        grace_s: float = 180.0,
        events: EventsFile | None = None,
        environment: Mapping[str, str] | None = None,
        side: Side | None = None,
        alone: bool = True,
    ) -> None:
        self._run, self._attempt, self._argv, self._worker = run, attempt, list(trainer), worker
        self._turnstile, self._grace_s = turnstile, grace_s
        if events is None:
            events = EventsFile(run, attempt, worker, at=RunClock(after=latest_event_s(run) + 0.001).at)
        self._events = events
        self._environment, self._side, self._alone = environment, side, alone
        self._controls = Controls(run, attempt)
        self._limits = Limits()
        self._logs, self._words = LogTap(), Lines()
        self._earlier_s = 0.0
        self._started: float | None = None  # monotonic; None while waiting for its turn
        self._money_at = self._ledger_at = 0.0
        self._signalled: str | None = None
        self._signalled_at = 0.0
        self._asked: Reason | None = None
        self._asked_facts: dict[str, object] = {}
        self._deadline: float | None = None  # monotonic time at which a trainer that was told to stop is killed
        self._outcome: Mapping[str, object] | None = None
        self._step = 0
        self._final: dict[str, object] = {}
        self._saved_since_start = False
        self._needs_resume = attempt > 1 or self._events.had_lines
        self._extension_unheard = False  # forwarded, and the trainer has not told a new target yet
        self._spoke_at = time.monotonic()

    @property
    def signalled(self) -> str | None:
        """The signal that told it to stop."""
        return self._signalled

    def run(self) -> bool:
        """Guard the attempt to its end; True when the ``end`` event is on disk. Raises OSError only before the
        start."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            plan = plans.read(self._run)
        except (OSError, StudioError) as error:
            return self._close(_failed(Reason.PLAN_UNREADABLE, raw=str(error)))
        self._limits = limits_of(plan)
        if self._side is not None:  # the lease holds hours and money
            self._limits = Limits(usd_per_hour=self._side.usd_per_hour, idle_minutes=self._side.idle_minutes)
        self._earlier_s = used_before(self._run, self._attempt)
        self._obey(None)
        if not self._take_turn():
            if self._asked is Reason.PREEMPTED:
                return self._leave()
            return self._close(ending(None, Death(None), asked=self._asked, facts=self._asked_facts))
        self._started = time.monotonic()
        self._write_ledger(force=True)
        self._events.say("phase", phase="setting-up", detail="starting the trainer", attempt=self._attempt)
        end = self._guard()
        over = end.status == Status.FINISHED.value  # it was done already
        return self._leave() if self._asked is Reason.PREEMPTED and not over else self._close(end)

    # ------------------------------------------------------------------------------------------ waiting for its turn

    def _take_turn(self) -> bool:
        """Wait at the turnstile, still obeying; False when the run was stopped meanwhile."""
        if self._turnstile is None or self._told_to_stop():
            return not self._told_to_stop()
        make_private(self._turnstile.parent)
        lock = os.open(self._turnstile, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        if try_lock(lock):
            return True  # held, as *lock* stays open, until this process ends
        self._events.say("phase", phase="queued", detail="waiting for its turn", attempt=self._attempt)
        turn = threading.Event()

        def wait() -> None:
            wait_for_lock(lock)
            turn.set()

        threading.Thread(target=wait, daemon=True, name="turnstile").start()
        while not turn.wait(TURN_S):
            self._obey(None)
            if self._folder_is_gone():
                self._stop(None, Reason.FOLDER_UNWRITABLE, raw=f"{self._run} is gone")
            if self._told_to_stop():
                return False
            self._events.beat()
        return True

    def _folder_is_gone(self) -> bool:
        """Whether the run was removed or moved under our hands; a rented machine's folder is its own."""
        try:
            there = (self._run / PLAN).exists() or claim_file(self._run, self._attempt).exists()
        except OSError:  # it cannot be looked into: that is another trouble
            return False
        return self._side is None and not there

    def _told_to_stop(self) -> bool:
        return self._asked is not None

    # --------------------------------------------------------------------------------------------------- the trainer

    def _guard(self) -> Ending:
        restarts = 0
        while True:
            if self._side is not None:
                self._side.before_trainer()
            try:
                trainer = Trainer(self._argv, self._environment)
            except OSError as error:
                return _failed(Reason.START_FAILED, raw=f"{self._argv[0]}: {error}")
            self._saved_since_start, self._spoke_at = False, time.monotonic()
            trainer.tell({"verb": "answers"})
            try:
                self._follow(trainer)
            finally:
                trainer.close()
            code = trainer.code
            death = Death(
                code,
                list(trainer.last_words),
                code == -signal.SIGKILL and not trainer.killed_by_us and trainer.memory.suspected,
                trainer.killed_by_us,
            )
            if (
                self._alone
                and self._outcome is None
                and may_restart(death, asked=self._asked, restarts=restarts, saved_since_start=self._saved_since_start)
            ):
                restarts += 1
                self._needs_resume = True
                self._events.say(
                    "notice",
                    id="trainer-restarted",
                    level="warning",
                    facts={"signal": signal.Signals(-(code or 0)).name, "restarts": restarts},
                )
                self._events.say(
                    "phase", phase="setting-up", detail="starting the trainer again", attempt=self._attempt
                )
                continue
            self._hear_why()
            if self._extended_too_late(trainer):
                self._outcome, self._deadline, self._needs_resume = None, None, True
                self._events.say("phase", phase="setting-up", detail="training further", attempt=self._attempt)
                continue
            facts = dict(self._asked_facts)
            if death.out_of_memory:
                facts["peak_bytes"] = trainer.memory.peak_bytes
            return ending(self._outcome, death, asked=self._asked, steps=self._step, final=self._final, facts=facts)

    def _hear_why(self) -> None:
        """On a rented machine: a trainer told to go, and not by us, heard before us that the machine goes down."""
        if self._side is None or self._outcome is None or self._outcome.get("reason") != Reason.GUARDIAN_GONE.value:
            return
        until = time.monotonic() + _NEWS_S
        while self._asked is None and time.monotonic() < until:
            self._obey(None)
            self._heed(None)
            self._events.beat()
            time.sleep(TURN_S)

    def _extended_too_late(self, trainer: Trainer) -> bool:
        """An extension came when the trainer was done already: started again, it counts it and goes on."""
        if self._outcome is None or self._outcome.get("reason") != Reason.COMPLETED.value:
            return False
        self._obey(trainer)  # what has come in the last instant
        unheard, self._extension_unheard = self._extension_unheard, False
        return unheard and not self._told_to_stop()

    def _follow(self, trainer: Trainer) -> None:
        """Until the trainer is over: what it says goes to the events file, what is asked of it goes to it."""
        turn_at = 0.0
        while not trainer.is_over:
            arrival = trainer.next_arrival(TURN_S)
            if arrival is not None:
                self._take(*arrival, trainer)
            now = time.monotonic()
            if now - turn_at >= TURN_S:
                turn_at = now
                self._turn(trainer, now)

    def _turn(self, trainer: Trainer, now: float) -> None:
        if self._folder_is_gone():  # nothing of it can be kept, and nobody could stop it any more
            self._stop(None, Reason.FOLDER_UNWRITABLE, raw=f"{self._run} is gone")
            trainer.end(signal.SIGKILL)
            return
        self._obey(trainer)
        self._heed(trainer)
        silent_s = now - self._spoke_at  # by this machine's clock: no practice cloud makes a compiler faster
        if self._asked is None and (reached := self._limits.reached(self._elapsed(), silent_s)):
            limit = {
                Reason.TIME_LIMIT: {"hours": self._limits.hours},
                Reason.MONEY_LIMIT: {"money_usd": self._limits.money_usd},
            }
            self._stop(trainer, reached, **limit.get(reached, {"idle_minutes": self._limits.idle_minutes}))
        self._events.retry()
        if self._asked is None and self._events.problem is not None:
            problem = self._events.problem
            self._stop(trainer, Reason.DISK_FULL if is_full(problem) else Reason.FOLDER_UNWRITABLE, raw=str(problem))
        if self._deadline is not None and now > self._deadline and trainer.code is None:
            trainer.end(signal.SIGKILL if trainer.killed_by_us else signal.SIGTERM)
            self._deadline = now + min(_TERM_S, self._grace_s)
        trainer.watch_memory()
        self._write_money()
        self._write_ledger()
        self._events.beat()

    def _take(self, stream: str, line: bytes, trainer: Trainer) -> None:
        now = time.monotonic()
        if stream == "stderr":
            if text := self._words.take(readable(line)):
                trainer.last_words.append(text[:2000])
            for fields in self._logs.take(line, now):
                self._events.say("log", **fields)
            return
        said = decode(line)
        if said is None:
            for fields in self._logs.take(line, now, "stdout"):
                self._events.say("log", **fields)
            return
        self._spoke_at = now
        patient = self._asked not in (None, Reason.DISCARDED, Reason.PREEMPTED)
        if self._deadline is not None and patient and not trainer.killed_by_us:
            self._deadline = max(self._deadline, now + self._grace_s)  # it is busy ending
        if said.kind == "outcome":
            self._outcome = said.fields
            self._deadline = now + _AFTER_OUTCOME_S
            return
        if said.kind == "written":  # a copy of the state is about to count: the curve up to it must be safe
            self._events.sync()
            trainer.tell({"verb": "written", "number": said.get("number")})
            return
        self._note(said)
        self._events.append(self._events.stamped(line) + b"\n")
        if said.kind == "checkpoint":
            self._saved_since_start = True
            self._events.sync()

    def _note(self, said: Event) -> None:
        """Keep what the end needs; a new curve never begins unannounced."""
        if said.kind == "resume":
            self._needs_resume = False
            self._step = int(said.get("step") or 0)
        elif said.kind == "target":
            self._extension_unheard = False
        elif said.kind == "metric":
            steps = said.get("step")
            if not isinstance(steps, list) or not steps:
                return
            if self._needs_resume:  # started over from the beginning: what earlier tries drew is replaced
                self._needs_resume = False
                self._events.say("resume", step=int(steps[0]) - 1, attempt=self._attempt)
            self._final.update(
                {
                    name: values[-1]
                    for name, values in said.fields.items()
                    if name != "step" and isinstance(values, list) and values
                }
            )
            self._step = max(self._step, int(steps[-1])) if metrics.training_loss().id in said.fields else self._step

    # ------------------------------------------------------------------------------------------------------ obeying

    def _obey(self, trainer: Trainer | None) -> None:
        if self._signalled is not None and self._asked is None:
            if self._side is not None:  # the machine goes down: the attempt goes on elsewhere, or after the boot
                heard = self._events.time(self._signalled_at)
                self._stop(trainer, Reason.PREEMPTED, by="signal", signal=self._signalled, heard=heard)
            else:
                self._stop(trainer, Reason.STOPPED_BY_USER, signal=self._signalled)
        for control in self._controls.read():
            verb = str(control.get("verb"))
            if self._side is None:
                self._limits = changed(self._limits, control)
            else:
                self._side.changed(control)
            if verb != "stop" and trainer is None:
                continue  # there before the trainer is: it counts extensions itself
            self._events.say("control", **{name: value for name, value in control.items() if name != "t"})
            if verb == "stop":
                keep = bool(control.get("keep", True))
                if self._asked is None or not keep:
                    self._stop(trainer, Reason.STOPPED_BY_USER if keep else Reason.DISCARDED)
            elif verb == "extend" and trainer is not None:
                self._extension_unheard = True
                trainer.tell({"verb": "extend", "epochs": control.get("epochs"), "number": control["number"]})
            elif verb == "profile" and trainer is not None:
                if self._told_to_stop():
                    self._events.say("profile", state="failed", step=self._step, why="stopping", raw="")
                else:
                    trainer.tell({"verb": "profile", "number": control["number"]})

    def _heed(self, trainer: Trainer | None) -> None:
        """What the machine itself has to say."""
        if self._side is None:
            return
        for fields in self._side.notices():
            self._events.say("notice", **fields)
        if self._asked is not Reason.PREEMPTED and (said := self._side.verdict()) is not None:
            reason, facts = said
            if self._asked is None or reason is Reason.PREEMPTED:
                self._stop(trainer, reason, **facts)

    def _stop(self, trainer: Trainer | None, reason: Reason, **facts: object) -> None:
        """Tell the trainer to stop, once for each reason, and set the time after which it is made to."""
        keep = reason is not Reason.DISCARDED
        self._asked, self._asked_facts = reason, facts
        stuck = reason is Reason.TRAINER_STUCK
        self._deadline = time.monotonic() + (
            self._grace_s if keep and not stuck else min(_DISCARD_GRACE_S, self._grace_s)
        )
        if trainer is not None:
            trainer.tell({"verb": "gone"} if reason is Reason.PREEMPTED else {"verb": "stop", "keep": keep})
        if reason is Reason.PREEMPTED:
            self._deadline = time.monotonic() + _NOTICE_S
            self._events.say("notice", id="preempted", level="warning", facts=facts)

    def _on_signal(self, number: int, frame: object) -> None:
        self._signalled, self._signalled_at = signal.Signals(number).name, time.time()

    # -------------------------------------------------------------------------------------------- money and the end

    def _elapsed(self) -> float:
        """Seconds over all attempts, waiting for a turn left out."""
        return self._earlier_s + (time.monotonic() - self._started if self._started is not None else 0.0)

    def _write_money(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if (
            self._limits.usd_per_hour is None
            or self._started is None
            or (now - self._money_at < MONEY_EVERY_S and not force)
        ):
            return
        self._money_at = now
        if self._side is not None:
            self._events.say("money", **self._side.money())
            return
        self._events.say(
            "money",
            usd=round(self._limits.usd(self._elapsed()), 6),
            usd_per_hour=self._limits.usd_per_hour,
            since=round(time.time() - self._elapsed(), 3),
        )

    def _write_ledger(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if self._side is not None or self._started is None or (now - self._ledger_at < LEDGER_EVERY_S and not force):
            return
        self._ledger_at = now
        record = {
            "attempt": self._attempt,
            "elapsed_s": round(now - self._started, 3),
            "t": round(time.time(), 3),
            "usd": round(self._limits.usd(now - self._started), 6),
            "usd_per_hour": self._limits.usd_per_hour,
        }
        try:
            write_inside(self._run, ledger_file(self._run, self._attempt), encode(record))
        except OSError as error:
            self._events.problem = self._events.problem or error

    def _close(self, end: Ending) -> bool:
        """Money, ledger, then ``end`` as the very last line."""
        if end.status == Status.STOPPED.value and end.reason != Reason.DISCARDED.value and not self._has_result():
            end = replace(end, facts={**end.facts, "result": False})
        for fields in self._logs.rest():
            self._events.say("log", **fields)
        self._write_money(force=True)
        if not self._folder_is_gone():  # else it would be made anew
            self._write_ledger(force=True)
        if self._side is not None:
            end = self._side.before_end(end)
        if self._events.close_with(self._events.line("end", attempt=self._attempt, **end.fields())):
            return True
        print(
            f"guardian: the end could not be written: {end.status}, {end.reason}: {self._events.problem}",
            file=sys.stderr,
        )
        return False

    def _leave(self) -> bool:
        """The machine is taken away: no end, the attempt is not over. Always False."""
        for fields in self._logs.rest():
            self._events.say("log", **fields)
        self._write_money(force=True)
        self._events.retry()
        self._events.sync()
        return False

    def _has_result(self) -> bool:
        result = result_folder(self._run)
        return result.is_dir() and any(result.iterdir())


def _failed(reason: Reason, **facts: object) -> Ending:
    return Ending(reason.status.value, reason.value, facts=facts)
