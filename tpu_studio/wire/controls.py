"""What the desktop asks for: ``control/NNNNNN.json``, numbered, each created once and never changed.

    {"verb":"stop","keep":true,"attempt":1}   {"verb":"profile","attempt":1}
    {"verb":"extend","epochs":3}              {"verb":"limits","hours":2.0,"asked":1,"seal":"…"}

A stop or a profile names the attempt it is meant for, so that a later attempt does not obey it again. An extension and
a change of limits hold for the run. The trainer counts the extensions that are there when it starts; those that come
later are forwarded to it with their ``number``, by which it can tell that it has counted one already.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tpu_studio.wire.jsonfile import NotJson, read_json
from tpu_studio.wire.plainfiles import make_folder
from tpu_studio.wire.runfolder import control_file, create_once, is_number
from tpu_studio.wire.stops import MOST_HOURS

Control = dict[str, Any]
AT_MOST = 1_000
"""Numbers of one run's controls that are heard: a person asks for some dozens, whoever can write to a bucket for any
number."""


def send(run: Path, record: Mapping[str, object]) -> int:
    """Write a control file under the next free number; its number. Raises OSError, FileNotFoundError without a run."""
    make_folder(run / "control")
    number = 1 + max(
        (int(path.stem) for path in (run / "control").glob("[0-9]*.json") if is_number(path.stem)), default=0
    )
    data = json.dumps({**record, "t": round(time.time(), 3)}, sort_keys=True).encode() + b"\n"
    while not create_once(control_file(run, number), data):
        number += 1
    return number


class Controls:
    """The numbered control files of a run, read in order, each handed out once."""

    def __init__(self, run: Path, attempt: int = 0) -> None:
        """*attempt* 0 reads what is meant for every attempt."""
        self._run, self._attempt, self._next = run, attempt, 1

    def read(self) -> list[Control]:
        """Controls that have come since the last call, with their ``number``; what other attempts are told left out.

        A file that cannot be read, or is not `obeyable`, is handed out as verb ``unreadable``: said in an event, obeyed
        by nobody.
        """
        found: list[Control] = []
        while True:
            path = control_file(self._run, self._next)
            try:
                record = read_json(path)
            except FileNotFoundError:
                return found
            except NotJson:
                record = None
            except OSError as error:
                found.append({"verb": "unreadable", "number": self._next, "raw": str(error)})
                self._next += 1
                continue
            record = obeyable(record)
            number, self._next = self._next, self._next + 1
            for_one = record.get("verb") in ("stop", "profile")
            if self._attempt and for_one and record.get("attempt", self._attempt) != self._attempt:
                continue
            found.append({**record, "number": number})


def obeyable(tree: Any) -> Control:
    """What is known of *tree*, or verb ``unreadable`` where it is no JSON object, asks for an extension of no length,
    or holds a number that nobody can obey. Whoever can write to a bucket may have written it."""
    if not isinstance(tree, dict) or not _sound(tree) or (tree.get("verb") == "extend" and "epochs" not in tree):
        return {"verb": "unreadable"}
    return {name: tree[name] for name in FIELDS if name in tree}


def extensions(run: Path, tell: Callable[[str], None] = lambda _: None) -> dict[int, float]:
    """Number of a control file → epochs that it adds; *tell* hears of each file that cannot be read, in a sentence."""
    found: dict[int, float] = {}
    for path in sorted((run / "control").glob("*.json")):
        try:
            control = read_json(path)
        except (OSError, ValueError) as error:
            tell(f"control file {path.name} cannot be read: {error}")
            continue
        asks = isinstance(control, dict) and control.get("verb") == "extend" and "epochs" in control
        if asks and _sound(control) and is_number(path.stem):
            found[int(path.stem)] = float(control["epochs"])
    return found


def seal(key: str, run: str, record: Mapping[str, object]) -> str:
    """What only who has the *key* (hex) of *run* can say of a change of its limits; "" without a key. ``asked`` of the
    record counts them, so that none is heard twice."""
    if not key:
        return ""
    told = json.dumps([run, *(record.get(name) for name in ("hours", "money_usd", "asked"))])
    return hmac.new(bytes.fromhex(key), told.encode(), "sha256").hexdigest()


def is_sealed(key: str, run: str, record: Mapping[str, object]) -> bool:
    wanted, told = seal(key, run, record), record.get("seal")
    good = bool(wanted) and isinstance(told, str)
    return good and hmac.compare_digest(wanted.encode(), str(told).encode("utf-8", "replace"))


def _sound(record: Mapping[str, object]) -> bool:
    """Whether the numbers in it can be obeyed: one "inf" would end every attempt of the run."""
    return isinstance(record.get("attempt", 1), int) and all(
        isinstance(value := record[name], (int, float)) and not isinstance(value, bool) and 0 < value <= most
        for name, most in MOST.items()
        if name in record
    )


FIELDS = ("verb", "keep", "attempt", "epochs", "hours", "money_usd", "t", "asked", "seal")
MOST = {"epochs": 1e5, "hours": MOST_HOURS, "money_usd": 1e6}
