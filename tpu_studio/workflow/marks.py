"""What a person notes about their runs (`domain.mark`), kept in the home; and numbers for names that are taken.

A run's plan is never changed, nor its folder: ``marks.json`` in the home tells what a run is shown as on this computer,
its tags, note and star. So none of it is sent, packed or exported with a run; without the file each is as its job
called it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

from tpu_studio.domain.mark import Mark, clean, of_record, to_record
from tpu_studio.wire.claims import try_lock
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import open_plain
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.workflow.ports import RunSummary

FILE, LOCK = "marks.json", "marks.lock"
MOST_BYTES = 16_000_000
BUSY_S, LOOK_AGAIN_S = 10.0, 0.02  # who writes a note needs milliseconds
_log = logging.getLogger(__name__)
_NUMBERED = re.compile(r"(.*\S) \(([0-9]{1,6})\)")


def read(home: Path) -> dict[str, Mark]:
    """What was noted, by run; nothing where the file is damaged."""
    try:
        return _read(home)
    except (OSError, ValueError):
        return {}


def problem(home: Path) -> RunError | None:
    """Why nothing can be read of what was noted: ``marks-damaged`` or ``marks-unreadable``."""
    try:
        _read(home)
    except FileNotFoundError:
        return None
    except OSError as error:
        return RunError("marks-unreadable", folder=str(home), raw=error.strerror or str(error))
    except ValueError:
        return RunError("marks-damaged", folder=str(home), aside=_aside(home).name)
    return None


def names(home: Path) -> dict[str, str]:
    """The names that were given, by run."""
    return {run: mark.name for run, mark in read(home).items() if mark.name}


def _read(home: Path) -> dict[str, Mark]:
    """An odd entry notes nothing. Raises OSError; ValueError: the file is damaged."""
    tree = read_json(home / FILE, MOST_BYTES)
    if not isinstance(tree, dict) or not isinstance(runs := tree.get("runs"), dict):
        raise ValueError(f"{FILE} tells of no runs")
    return {run: mark for run, record in runs.items() if (mark := of_record(record)) != Mark()}


def _whole(home: Path) -> dict[str, Mark]:
    """As `_read`; what is damaged is put aside, and it begins empty. Raises OSError: it can't be read now."""
    try:
        return _read(home)
    except FileNotFoundError:
        return {}
    except ValueError:
        aside = _aside(home)
        os.replace(home / FILE, aside)
        _log.warning("%s is damaged and was put aside as %s", home / FILE, aside.name)
        return {}


def _aside(home: Path) -> Path:
    """Where a damaged file is put: no such file is there yet."""
    return next(path for number in count(1) if not os.path.lexists(path := home / f"marks.damaged-{number}.json"))


def change(home: Path, run: str, how: Callable[[Mark], Mark]) -> tuple[Mark, Mark]:
    """Note of *run* what *how* makes of what was noted. Before and after.

    Raises:
        OSError: It cannot be written.
        BadInput: ``marks-full``, and what *how* refuses; then nothing is changed.
        RunError: ``run-busy``: another holds the file, and for seconds; nothing is changed.
    """
    with _alone(home, run):
        known = _whole(home)
        before = known.pop(run, Mark())
        after = how(before)
        if after != Mark():
            known[run] = after
        if after != before:
            _write(home, known)
    return before, after


def forget(home: Path, runs: Collection[str]) -> None:
    """Nothing is noted of these any more; a damaged file stays as it is. Raises OSError; RunError ``run-busy``."""
    with _alone(home, next(iter(runs), "")):
        try:
            known = _read(home)
        except (FileNotFoundError, ValueError):
            return
        if not known.keys().isdisjoint(runs):
            _write(home, known, gone=frozenset(runs))


@contextmanager
def _alone(home: Path, run: str) -> Iterator[None]:
    """Raises OSError; RunError ``run-busy``, of *run*."""
    fd = open_plain(home / LOCK, os.O_RDWR | os.O_CREAT)
    give_up = time.monotonic() + BUSY_S
    try:
        while not try_lock(fd):
            if time.monotonic() >= give_up:
                raise RunError("run-busy", run=run)
            time.sleep(LOOK_AGAIN_S)
        yield
    finally:
        os.close(fd)


def _write(home: Path, known: Mapping[str, Mark], gone: Collection[str] = ()) -> None:
    """What a newer version has written besides stays as it is."""
    tree = _tree(home)
    before = tree.get("runs")
    records = before if isinstance(before, dict) else {}
    told = {one: _others(records.get(one)) | to_record(known.get(one, Mark())) for one in {*records, *known} - {*gone}}
    tree["runs"] = {one: told[one] for one in sorted(told) if told[one]}
    data = json.dumps(tree, indent=1, ensure_ascii=False).encode() + b"\n"
    if len(data) > MOST_BYTES:
        raise BadInput("marks-full", most=MOST_BYTES // 1_000_000)
    for left in home.glob(f".{FILE}.*.tmp"):  # of a writer that was killed: only one writes at a time (`_alone`)
        left.unlink(missing_ok=True)
    write_atomically(home / FILE, data)


def _tree(home: Path) -> dict[str, object]:
    try:
        tree = read_json(home / FILE, MOST_BYTES)
    except (OSError, ValueError):
        return {}
    return tree if isinstance(tree, dict) else {}


def _others(record: object) -> dict[str, object]:
    ours = to_record(Mark("x", ("x",), "x", True))
    return {name: value for name, value in record.items() if name not in ours} if isinstance(record, dict) else {}


def rename(home: Path, run: str, name: str) -> str:
    """Show *run* as *name* from now on; "" as its job called it. Returns what it is. Raises as `change`."""
    return change(home, run, lambda mark: replace(mark, name=clean(name)))[1].name


def marked(row: RunSummary, noted: Mapping[str, Mark]) -> RunSummary:
    mark = noted.get(row.run)
    return row if mark is None else replace(row, name=mark.name or row.name, mark=mark)


def called(plan: Plan, name: str) -> Plan:
    """*plan* with its job called *name*, to be shown or begun; the frozen one stays as it is."""
    if plan.job.name == name:
        return plan
    return replace(plan, job=plan.job.with_values({"name": name}))


def numbered(name: str, taken: Iterable[str]) -> str:
    """*name*, or with the next number when a run is called so: `digits`, `digits (2)`, `digits (3)`."""
    known = set(taken)
    if name not in known:
        return name
    told = _NUMBERED.fullmatch(name)
    base, number = (told[1], int(told[2])) if told else (name, 1)
    number = max(number, 2)
    while f"{base} ({number})" in known:
        number += 1
    return f"{base} ({number})"
