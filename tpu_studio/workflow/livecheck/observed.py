"""What live checks have seen of the doubts: kept for an account, a project and this version of the program, 30 days.

An observation chooses between ways that are both safe (``known``); it never takes a net or a gate away: whoever asks
for one asks all the same. The file is `<home>/live-checks.json`; `to_send` is what may be sent to the project.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tpu_studio.domain.doubts import doubts
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.records import read_many, record_of
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.workflow.livecheck.ports import Seen

NAME = "live-checks.json"
FORMAT = 1
KEPT_S = 30 * 86400.0


@dataclass(frozen=True)
class Observation:
    """*at*: seconds since 1970. *way*: see `ports.Seen`; what was not seen is not kept."""

    account: str
    project: str
    version: str
    at: float
    doubt: str
    way: str
    raw: str


class Observations:
    def __init__(self, home: Path) -> None:
        self._path = home / NAME

    def known(self, account: str, project: str, version: str, now: float) -> Mapping[str, Observation]:
        """By doubt: what holds now for this account, project and version."""
        found = {}
        for one in self._read():
            same = (one.account, one.project, one.version) == (account, project, version)
            if same and one.at <= now < one.at + KEPT_S and one.doubt in doubts():
                found[one.doubt] = one
        return found

    def keep(self, account: str, project: str, version: str, now: float, seen: Iterable[Seen]) -> None:
        """The newest counts; what is older than 30 days goes."""
        new = [
            Observation(account, project, version, now, one.doubt, one.way, one.raw)
            for one in seen
            if one.way is not None
        ]
        replaced = {(one.account, one.project, one.version, one.doubt) for one in new}
        old = [
            one
            for one in self._read()
            if now < one.at + KEPT_S and (one.account, one.project, one.version, one.doubt) not in replaced
        ]
        told = {"format": FORMAT, "observations": [asdict(one) for one in (*old, *new)]}
        write_atomically(self._path, json.dumps(told, indent=1, ensure_ascii=False).encode() + b"\n")

    def _read(self) -> list[Observation]:
        try:
            told = record_of(NAME, read_json(self._path))
            return list(read_many(Observation, told["observations"], NAME)) if told.get("format") == FORMAT else []
        except (FileNotFoundError, ValueError, KeyError):
            return []


def to_send(seen: Iterable[Seen], version: str, day: str, place: str) -> dict[str, object]:
    """One file for the project: nothing in it says whose account it was."""
    told = [{"doubt": one.doubt, "seen": outcome(one), "way": one.way or "", "answer": one.raw} for one in seen]
    return {"format": FORMAT, "program": version, "day": day, "place": place, "doubts": told}


def outcome(one: Seen) -> str:
    """as-assumed, other-way or not-seen."""
    return "not-seen" if one.way is None else "other-way" if one.way else "as-assumed"
