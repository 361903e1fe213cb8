"""What a person calls their runs: names given after the launch, and numbers for names that are taken.

A run's plan is never changed, nor its folder. ``marks.json`` in the home folder tells what a run is shown as on this
computer; without the file each is shown as its job called it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from tpu_studio.wire.brief import cut
from tpu_studio.wire.claims import wait_for_lock
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plainfiles import open_plain
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.runfolder import write_atomically
from tpu_studio.wire.visible import visible
from tpu_studio.workflow.ports import RunSummary

FILE, LOCK = "marks.json", "marks.lock"
NAME_LETTERS = 80
_log = logging.getLogger(__name__)
_NUMBERED = re.compile(r"(.*\S) \(([0-9]{1,6})\)")


def names(home: Path) -> dict[str, str]:
    """The names that were given, by run; none where the file is damaged."""
    try:
        return _read(home)
    except (OSError, ValueError):
        return {}


def _read(home: Path) -> dict[str, str]:
    """An odd entry names nothing. Raises OSError; ValueError: the file is damaged."""
    told = read_json(home / FILE)
    if not isinstance(told, dict) or not isinstance(runs := told.get("runs"), dict):
        raise ValueError(f"{FILE} tells of no runs")
    return {run: name for run, mark in runs.items() if isinstance(mark, dict) and (name := clean(mark.get("name")))}


def _whole(home: Path) -> dict[str, str]:
    """As `_read`; what is damaged is put aside, and it begins empty. Raises OSError: it can't be read now."""
    try:
        return _read(home)
    except FileNotFoundError:
        return {}
    except ValueError:
        aside = home / f"marks.damaged-{time.time_ns()}.json"
        os.replace(home / FILE, aside)
        _log.warning("%s is damaged and was put aside as %s", home / FILE, aside.name)
        return {}


def clean(name: object) -> str:
    """*name* as it can be shown: without what is unseen, in one line, and not too long."""
    return cut(" ".join(visible(name).split()), NAME_LETTERS) if isinstance(name, str) else ""


def rename(home: Path, run: str, name: str) -> str:
    """Show *run* as *name* from now on; "" as its job called it. Returns what it is. Raises OSError."""
    wanted = clean(name)
    fd = open_plain(home / LOCK, os.O_RDWR | os.O_CREAT)
    try:
        wait_for_lock(fd)
        known = _whole(home)
        known.pop(run, None)
        if wanted:
            known[run] = wanted
        told = {"runs": {one: {"name": known[one]} for one in sorted(known)}}
        write_atomically(home / FILE, json.dumps(told, indent=1).encode() + b"\n")
    finally:
        os.close(fd)
    return wanted


def named(row: RunSummary, given: Mapping[str, str]) -> RunSummary:
    return replace(row, name=given[row.run]) if row.run in given else row


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
