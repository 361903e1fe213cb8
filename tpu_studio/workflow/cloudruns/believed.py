"""Which changes of a run's limits this desktop believes: those that were asked for here, and those it took over.

The bucket is written by the machine, too, where a person's code runs: what lies there under ``control/`` may come from
anybody who has the machine's account. Limits decide what is rented next and how long, so what counts are the lines of
``limits-asked.jsonl`` of this disk, in their order, which nobody brings here from the bucket, whatever controls there
are. A change for which no line stands, behind that of the one before, is told as a stranger's; nor is another machine
asked for by a stranger's extension. A stop is obeyed whoever asks; where one was asked for here it alone says whether
the model is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from tpu_studio.wire.controls import Control, Controls, seal, send
from tpu_studio.wire.jsonfile import parse_json
from tpu_studio.wire.limits import Limits, limits_of
from tpu_studio.wire.plainfiles import open_to_append
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import LIMITS_ASKED
from tpu_studio.wire.sizes import RECORD_BYTES, TooLarge, read_at_most
from tpu_studio.workflow.cloudruns.offer import priced

FILE = LIMITS_ASKED
_KEPT = {
    "limits": ("hours", "money_usd"),
    "stop": ("verb", "keep", "attempt"),
    "extend": ("verb", "epochs"),
}
"""What a line tells of a record, by its verb."""
_Record = TypeVar("_Record", bound=Mapping[str, object])


def limits(run: Path, plan: Plan, more: Iterable[Mapping[str, object]] = ()) -> Limits:
    """The plan's limits, as changed by what was asked for here or taken over, and by *more*, which is about to be.
    Where the plan has no price, the list's counts (`offer.priced`)."""
    return priced(plan, limits_of(plan, [*(one for line in _asked(run) if (one := _change(line))), *more]))


def ask(run: Path, record: Mapping[str, object], key: str = "") -> int:
    """`controls.send`, believed here. Before it is sent, so that nothing is asked for and then not believed. *key*:
    `seals.limits_key`, without which a machine lets no limit be raised."""
    _append(run, [record] if record.get("verb") in _KEPT else [])
    if record.get("verb") == "limits":
        record = {**record, "asked": len(_asked(run))}
        record = {**record, "seal": seal(key, run.name, record)}
    return send(run, record)


def stops(run: Path, attempt: int) -> list[Control]:
    """Those of that *attempt* or a later one that count, in their order: what was asked for here, else all of them."""
    asked = [one for one in Controls(run).read() if one.get("verb") == "stop"]
    asked = [one for one in asked if int(one.get("attempt") or attempt) >= attempt]
    strangers = [one["number"] for one in _left(run, asked, "stop")]
    return [one for one in asked if one["number"] not in strangers] or asked


def extensions(run: Path) -> frozenset[int]:
    """Numbers of those that were asked for here: for no other's is a machine asked for."""
    asked = [one for one in Controls(run).read() if one.get("verb") == "extend"]
    strangers = [one["number"] for one in _left(run, asked, "extend")]
    return frozenset(one["number"] for one in asked if one["number"] not in strangers)


def take(run: Path, records: Iterable[Mapping[str, object]]) -> None:
    """Believe these of a run that is taken over, in their order, and nothing else that lies in its folder. Of those
    that stand here, in their order, none is taken twice. Raises OSError."""
    records = [one for one in records if one.get("verb") in _KEPT]
    _append(run, records if _left(run, records) else [])


def are_known(run: Path, records: Iterable[Mapping[str, object]]) -> bool:
    return not _left(run, records)


def begin(run: Path) -> None:
    """Before the first look into the bucket: what an earlier version asked for here is on this disk. On a disk that
    takes nothing, nothing is believed."""
    with contextlib.suppress(OSError):
        if not (run / FILE).exists() and run.is_dir():
            take(run, Controls(run).read())


def strange(run: Path) -> list[Control]:
    """Changes of limits that nobody asked for here."""
    return _left(run, Controls(run).read())


def _append(run: Path, records: Iterable[Mapping[str, object]]) -> None:
    """The file is there afterwards, without a line where there is none: else `begin` would think of an earlier version.
    Raises OSError."""
    with open_to_append(run / FILE) as file:
        file.write("".join(f"{_line(one)}\n" for one in records).encode())
        file.flush()
        os.fsync(file.fileno())


def _left(run: Path, records: Iterable[_Record], verb: str = "limits") -> list[_Record]:
    """The changes of limits among *records*, or those of *verb*, that no line stands for, behind that of the one
    before."""
    asked, at = _asked(run), 0
    left = []
    for one in records:
        if one.get("verb") == verb:
            try:
                at = asked.index(_line(one), at) + 1
            except ValueError:
                left.append(one)
    return left


def _asked(run: Path) -> list[str]:
    try:
        return read_at_most(run / FILE, RECORD_BYTES).decode("utf-8", "replace").splitlines()
    except (OSError, TooLarge):
        return []


def _change(line: str) -> dict[str, object] | None:
    """The change of limits that *line* stands for."""
    try:
        record = parse_json(line.encode(), FILE)
    except ValueError:
        return None
    return {**record, "verb": "limits"} if isinstance(record, dict) and "verb" not in record else None


def _line(record: Mapping[str, object]) -> str:
    return json.dumps({name: record.get(name) for name in _KEPT[str(record["verb"])]}, sort_keys=True)
