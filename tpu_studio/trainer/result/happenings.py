"""What happened besides the curves, read from a run's events: phases, notices, interruptions, speed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tpu_studio.wire.events import Event, from_record, is_modest, lines_in
from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.runfolder import events_names

_LARGEST = 1e100
_NOTICES, _NOTICE_BYTES = 500, 8 << 10  # that are kept, and of a line of the program's own at most
_PHASES = 50


@dataclass
class Happenings:
    """
    Attributes:
        notices: (time, id, level, facts), oldest first; the latest `_NOTICES`.
        resumes: (time, step) of each time the run went on from a checkpoint; the latest `_NOTICES`.
        training_s, examples, waiting_s: Sums over the speed reports.
        flops_used: Over those that told MFU, the sum of MFU · seconds, and of those seconds.
        shares: Where the time of a step went, of the newest profile (``trainer.profile.shares``); {}: there is none.
        busy: Each duty cycle that this machine's chips told, 0 to 1.
        memory: Used and total bytes of its fullest chip when it was fullest; zeros: not told.
    """

    began: float = 0.0
    last: float = 0.0
    phases: dict[str, float] = field(default_factory=dict)
    notices: deque[tuple[float, str, str, dict[str, object]]] = field(default_factory=lambda: deque(maxlen=_NOTICES))
    resumes: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_NOTICES))
    checkpoints: int = 0
    training_s: float = 0.0
    waiting_s: float = 0.0
    examples: float = 0.0
    flops_used: tuple[float, float] = (0.0, 0.0)
    shares: dict[str, float] = field(default_factory=dict)
    log_lines: int = 0
    busy: list[float] = field(default_factory=list)
    memory: tuple[float, float] = (0.0, 0.0)
    _phase: tuple[str, float] = ("", 0.0)

    @property
    def examples_per_s(self) -> float | None:
        return self.examples / self.training_s if self.training_s > 0 else None

    @property
    def mfu(self) -> float | None:
        """Model FLOP utilisation over the whole training, 0 to 1; None: not told."""
        used, seconds = self.flops_used
        return used / seconds if seconds > 0 else None

    @property
    def waited_share(self) -> float:
        """Share of the training time in which the processor waited for data, 0 to 1."""
        return self.waiting_s / self.training_s if self.training_s > 0 else 0.0

    def see(self, record: dict[str, Any]) -> None:
        event = from_record(record)
        if event is None:
            return
        self.began = self.began or event.t
        self.last = max(self.last, event.t)
        if event.kind == "phase":
            self._enter(str(event.get("phase")), event.t)
        elif event.kind == "notice":
            facts = event.get("facts")
            self.notices.append(
                (event.t, str(event.get("id")), str(event.get("level")), facts if isinstance(facts, dict) else {})
            )
        elif event.kind == "resume" and (step := _number(event.get("step"))) > 0:
            self.resumes.append((event.t, int(step)))
        elif event.kind == "checkpoint":
            self.checkpoints += 1
        elif event.kind == "speed":
            lasted = _number(event.get("seconds"))
            self.training_s += lasted
            self.waiting_s += _number(event.get("waiting_for_data_s"))
            self.examples += _number(event.get("examples"))
            if (mfu := event.get("mfu")) is not None:
                used, seconds = self.flops_used
                self.flops_used = used + _number(mfu) * lasted, seconds + lasted
        elif event.kind == "device":
            self._see_chips(event)
        elif event.kind == "profile" and isinstance(shares := event.get("shares"), dict):
            self.shares = {name: _number(share) for name, share in shares.items()}

    def _see_chips(self, event: Event) -> None:
        if (busy := event.get("duty_cycle")) is not None:
            self.busy.append(_number(busy))
        used, total = _number(event.get("hbm_used_bytes")), _number(event.get("hbm_total_bytes"))
        if total > 0 and used * (self.memory[1] or 1.0) > self.memory[0] * total:
            self.memory = used, total

    def _enter(self, phase: str, t: float) -> None:
        before, since = self._phase
        if before and (before in self.phases or len(self.phases) < _PHASES):
            self.phases[before] = self.phases.get(before, 0.0) + max(0.0, t - since)
        self._phase = (phase, t)


def _number(value: object) -> float:
    """Of a folder of somebody else's, which may say anything: 0 where it is none that can be added up."""
    try:
        number = float(value) if isinstance(value, (int, float)) else 0.0
    except OverflowError:
        return 0.0
    return number if abs(number) < _LARGEST else 0.0


def read(run: Path) -> Happenings:
    found = Happenings()
    for file in events_names(run):
        with open_to_read(file) as opened:
            for line in lines_in(opened):
                if b'"kind":"metric"' in line:
                    continue  # the many; they are in `points`
                if b'"kind":"log"' in line:
                    found.log_lines += 1
                    continue
                if not is_modest(line) or (len(line) > _NOTICE_BYTES and b'"notice"' in line):
                    continue
                try:
                    record = parse_json(line, file.name)
                except ValueError:
                    continue  # torn by whoever died while writing it
                if isinstance(record, dict):
                    found.see(record)
    return found
