"""A rented machine as a `Keeper` sees it: its lease, its bucket, the warning that it is taken away."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tpu_studio.trainer.guardian.appending import EventsFile
from tpu_studio.trainer.guardian.ending import Ending
from tpu_studio.trainer.guardian.vm.bucket import Bucket, is_bucket_gone
from tpu_studio.trainer.guardian.vm.clock import CloudClock
from tpu_studio.trainer.guardian.vm.config import Config
from tpu_studio.trainer.guardian.vm.lease import Lease, write_deadline
from tpu_studio.trainer.guardian.vm.mailbox import Diverged, Mailbox, upload_result
from tpu_studio.trainer.guardian.vm.metadata import Metadata
from tpu_studio.trainer.guardian.vm.web import Backoff, Refused, Unreachable, persist
from tpu_studio.wire import controls
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.secrets import short

LEAST_SILENCE_S = 5.0  # of our own clock, however fast a practice cloud's may run
_TPU_LOCK = "libtpu_lockfile"
_LAST_SHARE = 0.7  # of the margin: after the lease's end, how long a result may take to get to the bucket


class Rented:
    """Implements `Side`."""

    def __init__(self, config: Config, clock: CloudClock, run: Path, worker: int) -> None:
        self._config, self._clock, self._run, self._worker = config, clock, run, worker
        self._lock = threading.Lock()
        self._notices: list[dict[str, object]] = []
        self._lease = Lease(clock.now(), config.lease_s)
        self._asked = 0  # the latest change of limits that was heard
        self._is_told = False  # that somebody else asked for more
        self._deadline_file: Path | None = None
        self.mailbox: Mailbox | None = None
        self.bucket: Bucket | None = None
        self.events: EventsFile | None = None
        self.taken: dict[str, Any] | None = None
        """Why the machine is about to be taken away; None while it is not."""

    # --------------------------------------------------------------------------------------------------- the lease

    @property
    def lease(self) -> Lease:
        with self._lock:
            return self._lease

    def begin(self, lease: Lease) -> None:
        with self._lock:
            self._lease = lease

    def hold(self, deadline: Path) -> None:
        """From now on the bare-shell timer's deadline follows the lease; before, that of the launch rules."""
        with self._lock:
            self._deadline_file = deadline
            write_deadline(deadline, self._lease, self._config.margin_s)

    def changed(self, control: Mapping[str, object]) -> None:
        """What is asked for, where the computer that rented this machine asks; of anybody else, who may have written it
        into the bucket, what ends it sooner. Raises OSError."""
        with self._lock:
            lease, asked = self._lease.changed(control), control.get("asked")
            if controls.is_sealed(self._config.limits_key, self._config.run, control):
                if not isinstance(asked, int) or asked <= self._asked:
                    return  # heard before
                self._asked = asked
            else:
                lower = lease.no_longer(self._lease)
                if lower != lease and not self._is_told:
                    self._notices.append({"id": "limits-not-raised", "level": "warning"})
                    self._is_told = True
                lease = lower
            if self._deadline_file is not None and lease != self._lease:
                write_deadline(self._deadline_file, lease, self._config.margin_s)
            self._lease = lease  # last: a deadline that cannot be written leaves the lease as it was

    def ledger(self) -> dict[str, object]:
        lease, now = self.lease, self._clock.now()
        return {
            "attempt": self._config.attempt,
            "name": self._config.name,
            "t": round(now, 3),
            "since": round(lease.since, 3),
            "elapsed_s": round(lease.own_s(now), 3),
            "usd": round(lease.own_usd(now), 6),
            "usd_per_hour": lease.usd_per_hour,
            "operations": dict(self.bucket.operations) if self.bucket is not None else {},
        }

    # ------------------------------------------------------------------------------------------------------- Side

    @property
    def usd_per_hour(self) -> float | None:
        return self._config.usd_per_hour

    @property
    def idle_minutes(self) -> float:
        return self._config.idle_minutes

    @property
    def speed(self) -> float:
        return self._clock.speed

    def usd(self) -> float:
        return self.lease.usd(self._clock.now())

    def since(self) -> float:
        return self.lease.since

    def money(self) -> dict[str, object]:
        """Fields of a `money` event."""
        return {"usd": round(self.usd(), 6), "usd_per_hour": self.usd_per_hour, "since": round(self.since(), 3)}

    def verdict(self) -> tuple[Reason, dict[str, Any]] | None:
        if self.taken is not None:
            return Reason.PREEMPTED, self.taken
        if (over := self.lease.over(self._clock.now())) is not None:
            return over
        return self.unheard()

    def unheard(self) -> tuple[Reason, dict[str, object]] | None:
        """Whether nobody could be told anything for too long."""
        box = self.mailbox
        if box is None:
            return None
        if box.lost is not None:
            return Reason.REPORTING_LOST, {"raw": f"the bucket holds other events than this machine: {box.lost}"}
        silent_s = box.silent_s * self.speed
        if silent_s < self._config.silence_s or box.silent_s < LEAST_SILENCE_S:
            return None
        reason = Reason.BUCKET_GONE if box.problem and is_bucket_gone(box.problem) else Reason.REPORTING_LOST
        return reason, {"raw": str(box.problem or ""), "silent_s": round(silent_s)}

    def notice(self, id: str, level: str = "warning", **facts: object) -> None:
        with self._lock:
            self._notices.append({"id": id, "level": level, "facts": facts})

    def before_trainer(self) -> None:
        """A lock of libtpu that outlived its owner would keep the next trainer from the chip."""
        with contextlib.suppress(OSError):
            os.remove(Path(os.environ.get("TMPDIR") or "/tmp") / _TPU_LOCK)

    def notices(self) -> Sequence[dict[str, object]]:
        with self._lock:
            found, self._notices = self._notices, []
        return found

    def before_end(self, end: Ending) -> Ending:
        """Last copy and result into the bucket, then all events in one object; given up at the lease's last moment."""
        box, bucket, events = self.mailbox, self.bucket, self.events
        assert box is not None and bucket is not None and events is not None
        if self._worker:
            return end
        for fields in self.notices():
            events.say("notice", **fields)
        events.say("phase", phase="saving", detail="upload")
        box.hurry()
        try:
            if end.reason != Reason.DISCARDED.value:
                persist(box.copies.carry_newest, self._out_of_time, stubborn=True)
                persist(lambda: upload_result(bucket, self._config, self._run), self._out_of_time, stubborn=True)
            box.write_ledger(force=True)
            persist(box.ranges.send_all, self._out_of_time, stubborn=True)
            persist(box.ranges.compact, self._out_of_time, stubborn=True)
        except (Unreachable, Refused, Diverged, OSError) as error:
            facts = {**end.facts, "uploaded": False, "upload_error": short(str(error), 500)}
            if end.status == "finished":
                return replace(end, status="failed", reason=Reason.UPLOAD_FAILED.value, facts=facts)
            return replace(end, facts=facts)
        return end

    def _out_of_time(self) -> bool:
        late = self._clock.now() > self.lease.end + _LAST_SHARE * self._config.margin_s
        return late or self.unheard() is not None

    # ------------------------------------------------------------------------------------------- being taken away

    def on_signal(self, number: int, frame: object) -> None:
        self.taken = {"by": "signal", "signal": signal.Signals(number).name}

    def watch(self, metadata: Metadata) -> None:
        """Wait in a thread for the warning that the machine is taken away; hears the time along the way."""

        def loop() -> None:
            etag, backoff = "", Backoff(most_s=10.0)
            while self.taken is None:
                try:
                    going, etag = metadata.preempted(etag)
                    backoff.reset()
                except (Unreachable, Refused):
                    etag = ""
                    time.sleep(backoff.pause())
                    continue
                if going:
                    self.taken = {"by": "metadata", "heard": round(self._clock.now(), 3)}
                if not etag:
                    time.sleep(5.0)  # no waiting offered here

        threading.Thread(target=loop, daemon=True, name="preempted").start()

    def save_and_leave(self, patience_s: float) -> None:
        """What the next attempt needs, into the bucket, as long as the machine lasts."""
        box = self.mailbox
        assert box is not None
        until = time.monotonic() + patience_s
        try:
            if self._worker == 0:
                persist(box.copies.carry_newest, lambda: time.monotonic() > until, most_s=2.0)
                persist(lambda: box.write_ledger(force=True), lambda: time.monotonic() > until, most_s=2.0)
            persist(box.ranges.send_all, lambda: time.monotonic() > until, most_s=2.0)
        except (Unreachable, Refused, Diverged, OSError) as error:
            print(f"guardian: not all could be saved in time: {error}", flush=True)
