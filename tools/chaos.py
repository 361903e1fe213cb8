"""`make chaos`: faults × phases of a run on the practice cloud, the desktop killed, the laptop off, the machine hung.

    python tools/chaos.py [--sample N --seed S] [--only WORDS] [--real | --all] [--jobs 4] [--speed X] [--keep FOLDER]

Each cell is a process of its own with a practice cloud of its own (chaos_cell.py). What fails is played again, alone,
when the others are done: a cell that passes then, and that had stood still the first time (chaos_load.py), failed by
load; nothing lost, doubled or made twice is ever put down to that. Prints a line a cell and a table, writes
out/chaos.json and what the failures left into out/chaos/; exit 1 when anything does not hold.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos_cells import Cell
from chaos_matrix import matrix, real_cells
from chaos_table import Record, failed, table

HERE = Path(__file__).resolve().parent
LIMIT_S = {False: 540.0, True: 1000.0}  # of a cell that counts, of a real one: its own patience ends before
ENDING_S = 30.0  # a cell that is told to end has its machines to take along
AGAIN = 12  # so many failures at most are played again: more are no accident
NEVER_LOAD = ("leaked", "twice", "events", "words")
LONG = ("slow", "preempted", "hung", "without-network", "twenty", "stockout-for-ever", "longer than its time")


class Chaos:
    """Plays cells; *out* gets what the failures left."""

    def __init__(self, scratch: Path, out: Path, speed: float, keep: bool) -> None:
        self.scratch, self.out, self.speed, self.keep = scratch, out, speed, keep
        self.done = self.count = 0
        self.over = threading.Event()
        self._playing: set[subprocess.Popen[str]] = set()

    def play_all(self, cells: list[Cell], jobs: int) -> list[Record]:
        """Longest first, so that none is left to the end; of real training, which wants every core, two at a time."""
        self.count = len(cells)
        numbered = sorted(enumerate(cells), key=lambda one: not any(word in one[1].name for word in LONG))
        light = [one for one in numbered if not one[1].real]
        heavy = [one for one in numbered if one[1].real]
        found: dict[int, Record] = {}
        try:
            for some, width in ((light, jobs), (heavy, min(jobs, 2))):
                with ThreadPoolExecutor(width) as pool:
                    found |= {one[0]: record for one, record in zip(some, pool.map(self._one, some), strict=True)}
            records = [found[number] for number in sorted(found)]
            self._again(cells, records)
        except BaseException:
            self.end()
            raise
        return records

    def _again(self, cells: list[Cell], records: list[Record]) -> None:
        """What failed, alone."""
        by_name = {cell.name: cell for cell in cells}
        again = [record for record in records if not record["passed"]]
        if not again or len(again) > AGAIN:
            return
        print(f"\n{len(again)} again, alone:", flush=True)
        self.done, self.count = 0, len(again)
        for number, record in enumerate(again):
            alone = self._one((len(cells) + number, by_name[record["name"]]))
            never = any(record.get("kinds", {}).get(kind) for kind in NEVER_LOAD)
            busy = record.get("load", {}).get("busy", False)
            record["alone"] = alone
            record["by_load"] = bool(alone["passed"] and busy and not never)
            if alone["passed"]:
                why = "the computer was busy" if record["by_load"] else "yet no load excuses it: a defect that is rare"
                print(f"            passed alone: {why}; {record.get('load')}", flush=True)

    def _one(self, numbered: tuple[int, Cell]) -> Record:
        number, cell = numbered
        folder = self.scratch / f"{number:03d}"
        record = self._play(cell, folder)
        if not record["passed"]:
            record["evidence"] = str(self._put_away(cell, folder, number))
        if not self.keep:
            shutil.rmtree(folder, ignore_errors=True)
        self.done += 1
        said = "ok    " if record["passed"] else "FAILED"
        reason = record.get("reason", "")
        print(f"{self.done:4d}/{self.count} {said} {record['seconds']:6.1f} s  {reason:20s} {cell.name}", flush=True)
        for failure in record["failures"]:
            print(f"            {failure}", flush=True)
        return record

    def _play(self, cell: Cell, folder: Path) -> Record:
        command = [*self.program(cell, folder), "--speed", str(self.speed)]
        began = time.monotonic()
        if self.over.is_set():
            return _unplayed(cell, "it was ended before its turn", began)
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self._playing.add(process)
        try:
            told, errors = process.communicate(timeout=LIMIT_S[cell.real])
        except subprocess.TimeoutExpired:
            _end(process)
            told, errors = process.communicate()
        finally:
            self._playing.discard(process)
        try:
            record: Record = json.loads(told.splitlines()[-1])
        except (IndexError, ValueError):
            return _unplayed(cell, f"the cell itself failed: {errors[-600:]}", began)
        return record

    def program(self, cell: Cell, folder: Path) -> list[str]:
        """What plays *cell*, without its options."""
        return [sys.executable, str(HERE / "chaos_cell.py"), str(folder), cell.name]

    def _put_away(self, cell: Cell, folder: Path, number: int) -> Path:
        """The cell's own evidence, verdict, log and events; machines' disks stay behind."""
        name = re.sub(r"[^a-z0-9]+", "-", cell.name.lower()).strip("-")[:60]
        there = self.out / f"{number:03d}-{name}"
        there.mkdir(parents=True, exist_ok=True)
        for path in (*folder.glob("*.json"), *folder.glob("*.log"), *folder.glob("*.jsonl")):
            shutil.copy(path, there)
        if (folder / "home").is_dir():
            shutil.copytree(folder / "home", there / "home", dirs_exist_ok=True, ignore=_large)
        return there

    def end(self) -> None:
        """Nothing outlives this program."""
        self.over.set()
        for process in list(self._playing):
            _end(process)


def _unplayed(cell: Cell, failure: str, began: float) -> Record:
    seconds = round(time.monotonic() - began, 1)
    return {
        "name": cell.name,
        "passed": False,
        "failures": [failure],
        "kinds": {"played": 1},
        "judged": ["played"],
        "seconds": seconds,
    }


def _end(process: subprocess.Popen[str]) -> None:
    """By a word, which lets it take its machines along; then by force."""
    process.terminate()
    give_up = time.monotonic() + ENDING_S
    while process.poll() is None and time.monotonic() < give_up:
        time.sleep(0.1)
    if process.poll() is None:
        process.kill()


def _large(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (path := Path(folder, name)).is_file() and path.stat().st_size > 1 << 20]


def same_loss(records: list[Record]) -> list[str]:
    """Of real training: preempted five times or never, the last loss is the same, bit for bit."""
    finals = {record["name"]: record.get("final") for record in records}
    one, other = finals.get("real: undisturbed"), finals.get("real: preempted 5 times")
    if one is None or other is None:
        return []
    return [] if one == other else [f"final {other} after five preemptions, {one} without"]


def chosen(arguments: argparse.Namespace) -> list[Cell]:
    cells = [] if arguments.real else matrix()
    if arguments.real or arguments.all:
        cells += real_cells()
    cells = [cell for cell in cells if arguments.only in cell.name]
    if arguments.sample:
        cells = random.Random(arguments.seed).sample(cells, min(arguments.sample, len(cells)))
    return cells


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=0, help="so many cells, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--real", action="store_true", help="twelve cells with the real training engine")
    parser.add_argument("--all", action="store_true", help="the matrix, and the twelve after it")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--speed", type=float, default=1.0, help="the cells' practice clocks, so many times as fast")
    parser.add_argument("--keep", type=Path, help="leave everything that the cells made there")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=Path, default=HERE.parent / "out" / "chaos.json")
    arguments = parser.parse_args()
    cells = chosen(arguments)
    if arguments.list:
        print("\n".join(cell.name for cell in cells))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    evidence = arguments.json.with_suffix("")
    shutil.rmtree(evidence, ignore_errors=True)
    scratch = arguments.keep or Path(tempfile.mkdtemp(prefix="chaos-"))
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        records = Chaos(scratch, evidence, arguments.speed, bool(arguments.keep)).play_all(cells, arguments.jobs)
    finally:
        if arguments.keep is None:
            shutil.rmtree(scratch, ignore_errors=True)
    unequal = same_loss(records)
    wall_s = round(time.monotonic() - began)
    print(f"\n{table(records)}\nminutes {wall_s / 60:.1f}", flush=True)
    for failure in unequal:
        print(f"FAILED {failure}")
    told: dict[str, Any] = {"format": 2, "seconds": wall_s, "cells": records, "unequal": unequal}
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(told, indent=1) + "\n")
    return 1 if unequal or any(map(failed, records)) else 0


if __name__ == "__main__":
    sys.exit(main())
