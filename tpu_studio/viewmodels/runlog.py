"""The full log of a run as text: what the trainer printed and every event that is no number, oldest first.

Read when somebody asks for it, from the ends of the events files; nothing is kept.
"""

from __future__ import annotations

from pathlib import Path

from tpu_studio.domain import figures
from tpu_studio.wire.events import Event, decode
from tpu_studio.wire.plainfiles import open_to_read
from tpu_studio.wire.runfolder import events_names

TAIL_BYTES = 2_000_000
LINES_AT_MOST = 5_000
_NUMBERS = ("metric", "speed", "device", "money")


def read_log(run: Path) -> str:
    """At most the last `LINES_AT_MOST` lines. Raises OSError when the folder cannot be read."""
    events: list[Event] = []
    for path in events_names(run):
        with open_to_read(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            lines = file.read().split(b"\n")
        if size > TAIL_BYTES:
            lines = lines[1:]  # the first one is torn
        events += [found for line in lines if (found := decode(line)) is not None and found.kind not in _NUMBERS]
    events.sort(key=lambda found: found.t)
    return "\n".join(_spelled(found) for found in events[-LINES_AT_MOST:])


def _spelled(found: Event) -> str:
    when = figures.clock(found.t, seconds=True)
    if found.kind == "log":
        return f"{when}  {str(found.get('text', '')).rstrip()}"
    facts = "  ".join(f"{name}={value}" for name, value in found.fields.items())
    return f"{when}  [{found.kind}] {facts}"
