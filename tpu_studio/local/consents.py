"""Which model files of the person's own may run: remembered by what is in them, not by where they lie.

One small file, ``consent.json`` in the home folder: sha256 → where it was, when it was agreed to, and at which kinds of
place it may run (`workflow.consent.place_kind`; this computer alone, where an earlier version wrote it). A file that is
changed by one byte asks again, and so does another kind of place. The trainer compares the plan's sha256 with the file
once more before it runs it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tpu_studio.wire.homes import make_private
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.workflow.consent import place_kind


@dataclass(frozen=True)
class Consent:
    """*agreed* in seconds since 1970."""

    sha256: str
    path: str
    agreed: float


class Consents:
    """The remembered agreements of the home folder. Raises OSError when they cannot be written."""

    def __init__(self, home: Path) -> None:
        self._file = home / "consent.json"

    def agreed(self, sha256: str, place: str = "") -> bool:
        return bool(sha256) and place_kind(place) in _kinds(self._read().get(sha256))

    def agree(self, sha256: str, path: str, place: str = "") -> None:
        """To run at *place* and, since plans are checked and timed there, on this computer."""
        with self._alone():
            known = self._read()
            kinds = sorted(_kinds(known.get(sha256)) | {place_kind(), place_kind(place)})
            self._write({**known, sha256: {"path": path, "agreed": round(time.time(), 3), "places": kinds}})

    def revoke(self, sha256: str) -> None:
        with self._alone():
            self._write({known: record for known, record in self._read().items() if known != sha256})

    def all(self) -> Sequence[Consent]:
        """Latest first."""
        found = [
            Consent(sha256, str(record.get("path", "")), _time(record.get("agreed")))
            for sha256, record in self._read().items()
        ]
        return sorted(found, key=lambda one: one.agreed, reverse=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """App and command line may agree at the same time."""
        make_private(self._file.parent)
        fd = os.open(self._file.with_name(".consent.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _read(self) -> dict[str, dict[str, object]]:
        """A file that is missing or damaged holds no agreement: what is in doubt asks again."""
        try:
            tree = read_json(self._file)
        except (OSError, ValueError):
            return {}
        found = tree.get("files") if isinstance(tree, dict) else None
        return (
            {name: record for name, record in found.items() if isinstance(record, dict)}
            if isinstance(found, dict)
            else {}
        )

    def _write(self, files: dict[str, dict[str, object]]) -> None:
        write_atomically(
            self._file, json.dumps({"format": 1, "files": files}, indent=1, sort_keys=True).encode() + b"\n"
        )


def _kinds(record: Mapping[str, object] | None) -> frozenset[str]:
    if record is None:
        return frozenset()
    places = record.get("places", [place_kind()])
    return frozenset(one for one in places if isinstance(one, str)) if isinstance(places, list) else frozenset()


def _time(value: object) -> float:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e11
    return float(value) if isinstance(value, (int, float)) and good else 0.0
