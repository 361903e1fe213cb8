"""What a live check has made and not yet taken away: written down before each is made, so that a kill loses none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.runfolder import write_atomically

NAME = "live-check-left.json"


class Left:
    """*kind*: ``task`` or ``bucket`` or ``machine``; *name*: full, as the API takes it; *project*: whose, with its
    place: a project of the practice cloud may be called as one at Google."""

    def __init__(self, home: Path, project: str) -> None:
        self._path, self._project = home / NAME, project

    def all(self) -> list[tuple[str, str]]:
        """Of this project, oldest first."""
        return [(one["kind"], one["name"]) for one in self._read() if one["project"] == self._project]

    def names(self) -> list[str]:
        """Of every project."""
        return [one["name"] for one in self._read()]

    @contextmanager
    def making(self, kind: str, name: str) -> Iterator[None]:
        """Noted from before it is made; whoever took it away calls `gone`."""
        self._write([*self._read(), {"project": self._project, "kind": kind, "name": name}])
        yield

    def gone(self, kind: str, name: str) -> None:
        one = {"project": self._project, "kind": kind, "name": name}
        self._write([other for other in self._read() if other != one])

    def _read(self) -> list[dict[str, str]]:
        try:
            told = read_json(self._path)["left"]
            return [{key: str(one[key]) for key in ("project", "kind", "name")} for one in told]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return []

    def _write(self, left: list[dict[str, str]]) -> None:
        if left:
            write_atomically(self._path, json.dumps({"format": 1, "left": left}, indent=1).encode() + b"\n")
        else:
            self._path.unlink(missing_ok=True)
