"""What supervisors know of the server (`server.json`): its address, and practice time as a line through one point."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tpu_studio.wire.runfolder import write_atomically

NAME = "server.json"


@dataclass(frozen=True)
class ClockLine:
    """*practice* seconds since 1970 it was at the real time *real*; from there on *speed* times as fast.

    Attributes:
        url: Where the server listens; it may move when it is started again.
    """

    practice: float
    real: float
    speed: float
    url: str = ""

    def now(self) -> float:
        return self.practice + (time.time() - self.real) * self.speed

    def save(self, root: Path) -> None:
        write_atomically(root / NAME, json.dumps(asdict(self)).encode())


def read(root: Path) -> ClockLine:
    return ClockLine(**json.loads((root / NAME).read_bytes()))
