"""The order of things on a rented machine, from its boot to its own deletion (docs/cloud.md).

Exit codes, for the startup script, which starts it again unless the machine goes down: 2 the config is not to be
obeyed, 75 the machine goes down. There is no other way out: at the end this program deletes the machine it runs on.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from tpu_studio.trainer.guardian.appending import EventsFile
from tpu_studio.trainer.guardian.ending import Ending
from tpu_studio.trainer.guardian.keeper import Keeper
from tpu_studio.trainer.guardian.vm import environment, serial, stops
from tpu_studio.trainer.guardian.vm.bucket import Bucket, WrongContent
from tpu_studio.trainer.guardian.vm.clock import CloudClock
from tpu_studio.trainer.guardian.vm.compiled import CompiledPrograms
from tpu_studio.trainer.guardian.vm.config import BadConfig, Config, load
from tpu_studio.trainer.guardian.vm.fetching import Fetching
from tpu_studio.trainer.guardian.vm.lease import Lease
from tpu_studio.trainer.guardian.vm.machine import Machine, Proof
from tpu_studio.trainer.guardian.vm.mailbox import Diverged, Mailbox, fetch_history, spent_before
from tpu_studio.trainer.guardian.vm.metadata import Authorized, Metadata
from tpu_studio.trainer.guardian.vm.rented import LEAST_SILENCE_S, Rented
from tpu_studio.trainer.guardian.vm.unpack import BadArchive
from tpu_studio.trainer.guardian.vm.web import Refused, Unreachable, Web, persist
from tpu_studio.wire import ownpython
from tpu_studio.wire.brief import cut
from tpu_studio.wire.claims import try_lock, wait_for_lock
from tpu_studio.wire.controls import Controls
from tpu_studio.wire.events import decode, encode
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import PLAN, events_file, write_atomically

REFUSED, GOING_DOWN = 2, 75
_ROOT = "/var/lib/tpu-studio"
CONTROLS_S = 30.0  # for what was asked for before this machine was there; the rest is heard while it is set up
_SAVE_S = 25.0  # after the trainer has saved
_OUTSIDE_AGAIN_S = 600.0
_UNPROVED_S = 60.0
_GRANT_S = 600.0  # a grant takes minutes to be heard of everywhere; a machine that may not write by then says nothing
_NO = (" 400", " 401", " 403", " 412")  # answers to DELETE that asking again does not change
_TAKEN_S = 300.0  # a machine that was said to be taken away and is still there after so long deletes itself


class Over(Exception):
    """The attempt is over before the trainer was started."""

    def __init__(self, reason: Reason, **facts: object) -> None:
        super().__init__(reason.value)
        self.reason, self.facts = reason, facts


def main() -> int:
    serial.guard()
    root = Path(os.environ.get("TPU_STUDIO_VM_ROOT") or _ROOT)
    web, clock = Web(), CloudClock()
    metadata = Metadata(web, clock)
    text = persist(lambda: metadata.text("instance/attributes/ts-config"), lambda: False, stubborn=True)
    try:
        config = load(text or "")
    except BadConfig as error:
        print(f"guardian: this is not a config to obey: {error}", file=sys.stderr)
        return REFUSED
    worker = persist(metadata.worker, lambda: False, stubborn=True)
    folder = root / config.name
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "guardian.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    if not try_lock(lock):  # one before this one is still ending
        wait_for_lock(lock)
    return OnDuty(config, folder, worker, metadata, clock, web).go()


class OnDuty:
    """One guardian's life on the machine."""

    def __init__(
        self, config: Config, folder: Path, worker: int, metadata: Metadata, clock: CloudClock, web: Web
    ) -> None:
        self._config, self._folder, self._worker, self._metadata, self._clock = config, folder, worker, metadata, clock
        self._run = folder / "run"
        self._api = Authorized(web, metadata)
        self._machine = Machine(self._api, config)
        self._bucket = Bucket(self._api, config.storage, config.bucket)
        self._rented = Rented(config, clock, self._run, worker)
        ledger = self._rented.ledger if worker == 0 else None
        self._box = Mailbox(
            self._bucket, config, self._run, worker, ledger=ledger, speed=lambda: clock.speed, now=clock.now
        )
        self._rented.mailbox, self._rented.bucket = self._box, self._bucket
        self._obeyed = Controls(self._run, config.attempt)
        self._mark = folder / "training-began"
        self._unproved = False
        """Whether this machine's account is not known to have the right to delete it."""
        self._outside_again = 0.0
        """From when on the stop from outside may be asked, once more, to delete this machine."""

    def go(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._rented.on_signal)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self._run.mkdir(parents=True, exist_ok=True)
        self._rented.watch(self._metadata)
        began = time.monotonic()
        try:
            self._claim(began)
            persist(self._box.ranges.catch_up, lambda: self._unheard(began), stubborn=True)
            self._begin_lease(began)
        except (Unreachable, Refused, Diverged) as error:
            if self._rented.taken is not None and self._rented.taken["by"] == "signal":
                return GOING_DOWN
            self._delete(f"the bucket cannot be used: {error}")
        if self._is_over():
            self._finish()
        events = EventsFile(self._run, self._config.attempt, self._worker, at=self._clock.at)
        self._rented.events = events
        try:
            argv, env = self._set_up(events)
        except Over as over:
            return self._over_before_it_began(events, over)
        if self._config.workers > 1:
            self._mark.touch()
        keeper = Keeper(
            self._run,
            self._config.attempt,
            argv,
            worker=self._worker,
            grace_s=max(2.0, min(180.0, 0.5 * self._config.margin_s / self._clock.speed)),
            events=events,
            environment=env,
            side=self._rented,
            alone=self._config.workers == 1,
        )
        ended = keeper.run()
        if keeper.signalled is not None and self._rented.taken is None:
            self._rented.taken = {"by": "signal", "signal": keeper.signalled}
        return self._after(ended)

    # ----------------------------------------------------------------------------------------------- before training

    def _claim(self, began: float) -> None:
        """Worker 0 claims the attempt; the others wait for its claim. Somebody else's: this machine is one too many.

        Raises:
            Unreachable, Refused.
        """
        name = f"{self._config.prefix}claims/a{self._config.attempt:04d}.json"
        record = {
            "attempt": self._config.attempt,
            "name": self._config.name,
            "zone": self._config.zone,
            "install": self._config.install,
            "t": round(self._clock.now(), 3),
        }

        def owner() -> object:
            if self._worker == 0 and self._bucket.create(name, encode(record)):
                return self._config.name
            if (data := self._bucket.read(name)) is None:
                return None
            try:
                claim = json.loads(data)
            except (ValueError, RecursionError):
                claim = {"name": "unreadable"}
            return claim.get("name") if isinstance(claim, dict) else "unreadable"

        granted_s = max(LEAST_SILENCE_S, _GRANT_S / self._clock.speed)
        denied = False

        def asked() -> Any:
            nonlocal denied
            try:
                return owner()
            except Refused as error:
                denied = error.status == 403 and time.monotonic() - began > granted_s
                raise

        found = persist(asked, lambda: denied or self._unheard(began), stubborn=True)
        while found is None:  # another worker's, not made yet
            if self._unheard(began):
                raise Unreachable("worker 0 has not claimed the attempt")
            time.sleep(2.0)
            found = persist(asked, lambda: denied or self._unheard(began), stubborn=True)
        if found != self._config.name:
            self._delete(f"attempt {self._config.attempt} belongs to {found}")

    def _set_up(self, events: EventsFile) -> tuple[list[str], dict[str, str]]:
        """Everything before the trainer; its command line and environment. Raises Over."""
        config, attempt = self._config, self._config.attempt
        events.say("phase", phase="setting-up", detail="claimed", attempt=attempt, machine=config.name)
        self._box.start()
        try:
            self._box.fetch_controls(CONTROLS_S)
        except (Unreachable, Refused, OSError) as error:
            print(f"guardian: controls cannot be read yet: {error}", flush=True)
        self._check()
        self._prove(events)
        self._rented.hold(self._folder / "deadline")
        if self._worker == 0:
            self._add_stops(events)
        if config.workers > 1 and self._mark.exists():  # the others' trainers ended when this machine's did
            raise Over(Reason.WORKER_LOST, raw=f"worker {self._worker} was started again while the slice trained")
        try:
            return self._fetch_all(events)
        except WrongContent as error:
            raise Over(Reason.DATA_CHANGED, raw=str(error)) from error
        except BadArchive as error:
            raise Over(Reason.DATA_BROKEN, raw=str(error)) from error
        except environment.EnvironmentFailed as error:
            raise Over(Reason.ENVIRONMENT_FAILED, raw=str(error)[-4000:]) from error
        except Unreachable as error:
            self._check()
            raise Over(Reason.REPORTING_LOST, raw=str(error)) from error
        except Refused as error:
            raise Over(Reason.DATA_MISSING, raw=str(error)) from error
        except OSError as error:
            full = error.errno == 28
            raise Over(Reason.DISK_FULL if full else Reason.START_FAILED, raw=str(error)) from error

    def _prove(self, events: EventsFile) -> None:
        """This machine may delete itself, or trains nothing. Raises Over."""

        def say(**more: object) -> None:
            events.say("phase", phase="setting-up", detail="proof", attempt=self._config.attempt, **more)

        last = ""

        def pause(proof: Proof, seconds: float) -> None:
            nonlocal last
            self._unproved = True
            if proof.said != last:
                say(doing=f"not proved yet: {proof.said[:200]}; asked again every {seconds:.0f} s")
            last = proof.said
            until = time.monotonic() + seconds / self._clock.speed
            while (left := until - time.monotonic()) > 0:
                try:
                    self._check()
                except Over as over:
                    if over.reason.by_limit:  # all its time went into asking
                        self._not_proved(events, proof)
                    raise
                time.sleep(min(left, 0.5))

        say()
        proof = self._machine.prove(self._clock.now, pause)
        if not proof.holds:
            self._not_proved(events, proof)
        self._unproved = False

    def _not_proved(self, events: EventsFile, proof: Proof) -> NoReturn:
        self._unproved = True
        facts = {"status": proof.status, "raw": proof.said, "asked": proof.asked, "waited_s": proof.waited_s}
        events.say("notice", id="self-deletion-unproved", level="error", facts={**facts, "name": self._config.name})
        raise Over(Reason.CANNOT_DELETE_ITSELF, **facts)

    def _begin_lease(self, began: float) -> None:
        config, kept = self._config, self._folder / "since.json"
        try:
            since = float(json.loads(kept.read_bytes())["since"])
        except (OSError, ValueError, KeyError, TypeError):
            since = self._machine.created() or self._clock.now()
            write_atomically(kept, encode({"since": since}))
        try:
            usd, seconds = persist(lambda: spent_before(self._bucket, config), lambda: self._unheard(began))
        except Refused:
            usd, seconds = 0.0, 0.0  # the figure in the create body rules
        self._rented.begin(
            Lease(
                min(since, self._clock.now()),
                config.lease_s,
                max(seconds, config.earlier_s),
                max(usd, config.spent_usd),
                config.usd_per_hour,
                config.money_usd,
                config.reserve,
                config.unseen_usd,
            )
        )

    def _add_stops(self, events: EventsFile) -> None:
        """Stops from outside at the true end of the lease, once; what fails leaves those of before the launch."""
        mark = self._folder / "stops-moved"
        if self._config.stops is None or mark.exists():
            return
        try:
            names = stops.add(self._api, self._config, self._rented.lease.end)
        except (Unreachable, Refused) as error:
            events.say("notice", id="outside-stops-kept", level="warning", facts={"raw": cut(str(error), 500)})
            return
        write_atomically(mark, "\n".join(names).encode())
        facts = {"names": names, "lease_end": round(self._rented.lease.end)}
        events.say("notice", id="outside-stops-moved", level="info", facts=facts)

    def _fetch_all(self, events: EventsFile) -> tuple[list[str], dict[str, str]]:
        config, attempt = self._config, self._config.attempt
        events.say("phase", phase="setting-up", detail="bundle", attempt=attempt)
        code, fetching = self._folder / "code", self._fetching(events)
        fetching.unpacked(config.bundle, code, "bundle")
        plan = code / PLAN
        if plan.is_file():
            write_atomically(self._run / PLAN, plan.read_bytes())
        if config.data:
            events.say("phase", phase="setting-up", detail="data", attempt=attempt)
        paths = [fetching.data(piece) for piece in config.data]
        if config.preset:
            events.say("phase", phase="setting-up", detail="weights", attempt=attempt)
        preset = fetching.preset(config.preset) if config.preset else None
        self._check()
        if attempt > 1:
            persist(lambda: fetch_history(self._bucket, config, self._run), self._must_end)
        persist(self._box.copies.fetch, self._must_end)
        events.say("phase", phase="setting-up", detail="environment", attempt=attempt)

        def told(doing: str) -> None:
            events.say("phase", phase="setting-up", detail="environment", doing=doing, attempt=attempt)

        piece = config.installer  # it was brought for this machine; None: its image has one
        installer = None if piece is None else lambda: fetching.installer(piece)
        ready = environment.prepare(self._folder.parent, config.environment, code, told, self._check, installer)
        argv = ownpython.module(ready.python, "tpu_studio.trainer", "train", "--run", self._run)
        argv += ["--attempt", str(attempt), "--worker", str(self._worker)]
        if config.workers > 1:
            coordinator = persist(self._metadata.coordinator, self._must_end)
            argv += ["--workers", str(config.workers), "--coordinator", coordinator]
        argv += ["--data", str(paths[0])] if paths else []
        argv += ["--preset", str(preset)] if preset is not None else []
        own = code / "model" / "model.py"
        argv += ["--model-file", str(own)] if config.own_code and own.is_file() else []
        folder = self._folder / "compiled"
        programs = CompiledPrograms(self._bucket, config.prefix, folder, self._rented.notice, key=config.compiled_key)
        kept = programs.prepare(config.compiled, config.environment.framework, self._check)
        self._box.compiled = programs
        return argv, {**environment.trainer_environment(ready, code), **kept}

    def _fetching(self, events: EventsFile) -> Fetching:
        def say(what: str, done: int, total: int) -> None:
            self._check()
            facts = {"done_bytes": done, "total_bytes": total, "attempt": self._config.attempt}
            events.say("phase", phase="setting-up", detail=what, **facts)

        return Fetching(self._bucket, self._folder, say, self._must_end)

    def _check(self) -> None:
        """Raises Over when the attempt must end now."""
        for control in self._obeyed.read():
            self._rented.changed(control)
            if control.get("verb") == "stop":
                raise Over(Reason.STOPPED_BY_USER if control.get("keep", True) else Reason.DISCARDED)
        if (said := self._rented.verdict()) is not None:
            raise Over(said[0], **said[1])

    def _must_end(self) -> bool:
        return self._rented.verdict() is not None

    def _unheard(self, began: float) -> bool:
        """Whether nothing got through for too long, before the mailbox is at work."""
        if self._rented.taken is not None:
            return True
        return time.monotonic() - began > max(LEAST_SILENCE_S, self._config.silence_s / self._clock.speed)

    # --------------------------------------------------------------------------------------------------------- the end

    def _over_before_it_began(self, events: EventsFile, over: Over) -> int:
        if over.reason is Reason.PREEMPTED:
            events.say("notice", id="preempted", level="warning", facts=over.facts)
            return self._after(False)
        for fields in self._rented.notices():
            events.say("notice", **fields)
        if self._config.usd_per_hour is not None:
            events.say("money", **self._rented.money())
        end = Ending(over.reason.status.value, over.reason.value, facts={**over.facts, "result": False})
        if over.reason is not Reason.CANNOT_DELETE_ITSELF:
            end = self._rented.before_end(end)
        events.close_with(events.line("end", attempt=self._config.attempt, **end.fields()))
        return self._after(True)

    def _after(self, ended: bool) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):  # not before all is carried up
            signal.signal(number, self._rented.on_signal)
        if ended:
            self._finish()
        taken = self._rented.taken
        if taken is None:
            self._delete("the end could not be written")
        self._box.hurry()
        self._rented.save_and_leave(_SAVE_S)
        _go_down_at_once()
        if taken["by"] == "signal" or self._rented.taken != taken:  # the signal may have come since the warning
            return GOING_DOWN
        time.sleep(_TAKEN_S / self._clock.speed)
        self._delete("still here long after it was said to be taken away")

    def _is_over(self) -> bool:
        """Whether an earlier guardian of this machine has written the end already."""
        path = events_file(self._run, self._config.attempt, self._worker)
        try:
            with open(path, "rb") as file:
                file.seek(max(0, path.stat().st_size - (1 << 20)))
                lines = file.read().splitlines()
        except FileNotFoundError:
            return False
        last = decode(lines[-1]) if lines else None
        if last is None or last.kind != "end":
            return False
        self._unproved = last.get("reason") == Reason.CANNOT_DELETE_ITSELF.value
        return True

    def _finish(self) -> NoReturn:
        """The end is written: carry it up, then delete this machine as the very last act. One that may not delete
        itself is charged for every minute that the bucket is waited for: it waits for one only."""
        began = time.monotonic()
        patience_s = max(LEAST_SILENCE_S, _UNPROVED_S / self._clock.speed)

        def in_vain() -> bool:
            return self._unheard(began) or (self._unproved and time.monotonic() - began > patience_s)

        try:
            persist(self._box.ranges.send_all, in_vain, stubborn=True)
            if self._worker == 0:
                persist(lambda: self._box.write_ledger(force=True), in_vain, stubborn=True)
        except (Unreachable, Refused, Diverged) as error:
            print(f"guardian: the end could not be carried up: {error}", flush=True)
        if self._worker:
            self._leave_it_to_worker_0()
        self._delete("over")

    def _leave_it_to_worker_0(self) -> None:
        """It deletes the slice when its result is safe; if it does not, this worker does at the lease's last moment."""
        _go_down_at_once()
        while self._clock.now() < self._rented.lease.end + self._config.margin_s:
            time.sleep(max(1.0, 10.0 / self._clock.speed))

    def _delete(self, why: str) -> NoReturn:
        """Does not return."""
        _go_down_at_once()
        self._box.stop()
        print(f"guardian: deleting this machine: {why}", flush=True)
        if self._unproved:
            self._ask_outside()
        pause_s = max(1.0, 60.0 / self._clock.speed)
        self._machine.delete_for_ever(self._deleting, pause_s)
        raise AssertionError("not reached")

    def _deleting(self, answer: str) -> None:
        """What was answered. Where that is no yes, the ledger tells how long this machine lives on; where it is a no,
        the stop from outside, which has an account of its own, is asked to do it now."""
        print(f"guardian: {answer}", flush=True)
        if answer.endswith(" 200"):
            return
        with contextlib.suppress(Unreachable, Refused):
            self._box.write_ledger(force=True)
        if self._unproved or answer.endswith(_NO):
            self._ask_outside()

    def _ask_outside(self) -> None:
        """A stop from outside that is due now, each ten minutes."""
        now = self._clock.now()
        if self._config.stops is None or now < self._outside_again:
            return
        try:
            name = stops.at_once(self._api, self._config, now)
            self._outside_again = now + _OUTSIDE_AGAIN_S
            print(f"guardian: asked for the deletion from outside: {name}", flush=True)
        except (Unreachable, Refused) as error:
            print(f"guardian: the deletion from outside could not be asked for: {error}", flush=True)


def _go_down_at_once() -> None:
    """Everything that can be saved is saved."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _go_down)


def _go_down(number: int, frame: object) -> None:
    os._exit(GOING_DOWN)
