"""What this desktop asked of the bucket for a run, and moved: counted as Google's price list counts.

Class A: writes and each thousand of a listing. Class B: reads that were answered. Refused calls and deletes are free.
The count goes into the run's ``money`` events, so that a desktop that comes after this one carries it on; what was
asked between the last of them and a crash is lost, and lies within what the plan reserves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tpu_studio.wire.events import Event
from tpu_studio.workflow.cloudruns.ports import LISTED_AT_MOST, Mailbox, Progress, Stored

_PAGE = 1000


class Usage:
    """Operations of class A and B, and bytes that came down.

    Attributes:
        whole: Nothing can be missing: one process has counted from the launch on.
    """

    def __init__(self, a: int = 0, b: int = 0, down: int = 0, *, whole: bool = True) -> None:
        self.a, self.b, self.down, self.whole = a, b, down, whole

    def record(self) -> dict[str, int]:
        return {"a": self.a, "b": self.b, "down": self.down}


def usage_of(events: Iterable[Event]) -> Usage:
    """The highest that desktops have told so far; whole only where none has done anything yet."""
    found = Usage()
    for event in events:
        found.whole = found.whole and event.kind not in ("opened", "upload", "intent", "money")
        told = event.get("operations") if event.kind == "money" else None
        if isinstance(told, dict):
            for name in ("a", "b", "down"):
                value = told.get(name)
                if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 50:
                    setattr(found, name, max(getattr(found, name), value))
    return found


class CountedMailbox:
    """Implements `ports.Mailbox`: the same bucket, with a count of what is asked of it."""

    def __init__(self, box: Mailbox, usage: Usage) -> None:
        self._box, self.usage = box, usage

    @property
    def bucket(self) -> str:
        return self._box.bucket

    def create(self, name: str, data: bytes) -> bool:
        made = self._box.create(name, data)
        self.usage.a += made
        self.usage.b += not made
        return made

    def write(self, name: str, data: bytes, *, generation: int | None = None) -> int | None:
        made = self._box.write(name, data, generation=generation)
        self.usage.a += made is not None
        return made

    def read(self, name: str, *, start: int = 0) -> bytes | None:
        data = self._box.read(name, start=start)
        if data:  # an absent object, or nothing from there on, is a refusal
            self.usage.b += 1
            self.usage.down += len(data)
        return data

    def stat(self, name: str) -> Stored | None:
        found = self._box.stat(name)
        self.usage.b += found is not None
        return found

    def list(self, prefix: str, *, start: str = "", most: int = LISTED_AT_MOST) -> Sequence[Stored]:
        found = self._box.list(prefix, start=start, most=most)
        self.usage.a += 1 + len(found) // _PAGE
        return found

    def upload(self, path: Path, name: str, progress: Progress | None = None) -> None:
        self._box.upload(path, name, progress)
        self.usage.a += 1

    def renew(self, name: str) -> bool:
        found = self._box.renew(name)
        self.usage.a += found  # rewritten; only looked at, where it is young, would be cheaper
        return found

    def download(self, name: str, path: Path, progress: Progress | None = None, *, at_most: int | None = None) -> None:
        self._box.download(name, path, progress, at_most=at_most)
        self.usage.b += 2
        self.usage.down += path.stat().st_size

    def delete(self, names: Sequence[str]) -> None:
        self._box.delete(names)
