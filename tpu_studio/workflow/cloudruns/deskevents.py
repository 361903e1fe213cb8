"""What desktops say of a run, read from their events files in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from tpu_studio.wire.events import Event, decode
from tpu_studio.wire.plainfiles import open_to_read

DESK_AT_MOST = 64 << 20  # bytes of this desktop's events
_SHORT = 4 << 10  # bytes of a line whose event is kept


def desk_events(folder: Path, install: str = "*", *, but: str = "") -> Iterator[Event]:
    """All desktops' events, or those of *install*, *but* not of that one, in the order of their times; none about
    machines that are not this run's: what is told here is deleted there."""
    found: list[Event] = []
    ours = f"ts-{folder.name}-a"
    for path in sorted((folder / "events").glob(f"desk-{install}.jsonl")):
        if path.name == f"desk-{but}.jsonl":
            continue
        events = (event for line in _lines(path) if (event := _event(line)) is not None)
        found += [event for event in events if event.kind != "intent" or str(event.get("name")).startswith(ours)]
    return iter(sorted(found, key=lambda event: event.t))


def _event(line: bytes) -> Event | None:
    return _short_event(line) if len(line) <= _SHORT else decode(line)


@lru_cache(maxsize=2048)
def _short_event(line: bytes) -> Event | None:
    """At each turn the same lines are read anew, whoever may have written them meanwhile; few of them are new."""
    return decode(line)


def _lines(path: Path) -> Iterator[bytes]:
    """The complete lines of the first DESK_AT_MOST bytes that can be events: one by one, for the rest may be many."""
    left = DESK_AT_MOST
    with open_to_read(path) as file:
        while line := file.readline(left):
            left -= len(line)
            if b'"kind"' in line and line.endswith(b"\n"):
                yield line
