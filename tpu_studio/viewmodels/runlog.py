"""The full log of a run as text: what the trainer printed and every event that is no number, oldest first.

Read when somebody asks for it, from the ends of the events files; nothing is kept.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from tpu_studio.domain import figures
from tpu_studio.wire.events import Event, decode
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.runfolder import events_names

TAIL_BYTES, BYTES_AT_MOST = 2_000_000, 20_000_000  # of one file, of all
LINES_AT_MOST = 5_000
_NUMBERS = ("metric", "speed", "device", "money")


def read_log(run: Path) -> str:
    """At most the last `LINES_AT_MOST` lines of the newest files. Raises OSError when the folder cannot be read."""
    events: list[Event] = []
    left = BYTES_AT_MOST
    for path in reversed(events_names(run)):
        found, read = _of_end(path)
        events = sorted([*found, *events], key=lambda event: event.t)[-LINES_AT_MOST:]
        left -= read
        if left <= 0:
            break
    return "\n".join(map(_spelled, events))


def _of_end(path: Path) -> tuple[list[Event], int]:
    """The last events of a file that are no numbers, and the bytes that were read of it."""
    with open_to_read(path) as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL_BYTES))
        data = file.read()
    lines = data.split(b"\n")[1 if size > TAIL_BYTES else 0 :]  # the first one is torn
    found = (event for line in reversed(lines) if (event := decode(line)) is not None and event.kind not in _NUMBERS)
    return list(islice(found, LINES_AT_MOST))[::-1], len(data)


def _spelled(found: Event) -> str:
    when = figures.clock(found.t, seconds=True)
    if found.kind == "log":
        return f"{when}  {str(found.get('text', '')).rstrip()}"
    facts = "  ".join(f"{name}={value}" for name, value in found.fields.items())
    return f"{when}  [{found.kind}] {facts}"
