"""`make chaos`: faults × phases of a run on the practice cloud, the desktop killed, the laptop off, the machine hung.

    python tools/chaos.py [--sample N --seed S] [--only WORDS] [--real] [--jobs 2] [--speed X] [--keep FOLDER]

Each cell is a process of its own with a practice cloud of its own (chaos_cell.py). Prints a line a cell and a table,
writes out/chaos.json; exit 1 when anything does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from chaos_cells import Cell, matrix, real_cells

HERE = Path(__file__).resolve().parent
LIMIT_S = 600.0


def play(cell: Cell, folder: Path, speed: float) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "chaos_cell.py"), str(folder), cell.name, "--speed", str(speed)]
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        told, errors = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        told, errors = process.communicate()
    try:
        record: dict[str, Any] = json.loads(told.splitlines()[-1])
    except (IndexError, ValueError):
        failure = f"the cell itself failed: {errors[-600:]}"
        record = {"name": cell.name, "passed": False, "failures": [failure]}
        record["seconds"] = round(time.monotonic() - began, 1)
    return record


def play_all(cells: list[Cell], jobs: int, keep: Path | None, speed: float = 1.0) -> list[dict[str, Any]]:
    scratch = keep or Path(tempfile.mkdtemp(prefix="chaos-"))
    scratch.mkdir(parents=True, exist_ok=True)
    done = 0

    def one(numbered: tuple[int, Cell]) -> dict[str, Any]:
        nonlocal done
        number, cell = numbered
        folder = scratch / f"{number:03d}"
        record = play(cell, folder, speed)
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
        done += 1
        said = "ok    " if record["passed"] else "FAILED"
        print(
            f"{done:4d}/{len(cells)} {said} {record['seconds']:6.1f} s  {record.get('reason', ''):20s} {cell.name}",
            flush=True,
        )
        for failure in record["failures"]:
            print(f"            {failure}", flush=True)
        return record

    try:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, enumerate(cells)))
    finally:
        if keep is None:
            shutil.rmtree(scratch, ignore_errors=True)


def table(records: list[dict[str, Any]]) -> str:
    """The figures that the promises are about."""
    failed = [failure for record in records for failure in record["failures"]]

    def counted(*words: str) -> int:
        return sum(any(word in failure for word in words) for failure in failed)

    errors = sorted(abs(record["error_s"]) for record in records if "error_s" in record)
    strict = [record for record in records if record.get("billed")]

    def fair(one: dict[str, Any]) -> bool:
        """What is seen half a real second late is many seconds of an accelerated clock."""
        return one in within or abs(one["error_s"]) <= 0.5 * one.get("speed", 1.0)

    told = [record for record in strict if not record.get("guessed")]
    within = [one for one in strict if abs(one["usd"] - one["billed"]) <= 0.01 * one["billed"]]
    rows = [
        ("cells", len(records)),
        ("failed", sum(not record["passed"] for record in records)),
        ("nodes, requests, machines or stops leaked", counted("left over", "outside stops of", "still being billed")),
        ("created twice, or two at a time", counted("created twice", "at the same time")),
        ("events lost or doubled", counted("is not what", "steps", "never came down")),
        ("over the cap and the stated margin", counted("cap and margin")),
        ("deleted too late with the laptop off", counted("after the last outside stop")),
        ("ended otherwise than may be", counted("ended as", "no end was", "not settled")),
        ("no reason or next action", counted("no words", "no next action")),
        ("cost shown off the bill", counted("shown $")),
        ("cost shown within 1 % of the bill", f"{len(within)} of {len(strict)}"),
        ("… where a deletion ended it", f"{sum(one in within for one in told)} of {len(told)}"),
        ("within 1 %, or half a second of real time", f"{sum(map(fair, strict))} of {len(strict)}"),
        ("cost error in the cloud's seconds, median", errors[len(errors) // 2] if errors else "-"),
        ("… and the largest", errors[-1] if errors else "-"),
        ("fault met", f"{sum(bool(record.get('met')) for record in records)} of {len(records)}"),
        (
            "most steps made again after a preemption",
            max((max(one.get("replays") or [0]) for one in records), default=0),
        ),
        ("cell seconds", round(sum(record["seconds"] for record in records))),
    ]
    lines = [f"{name:45s} {value}" for name, value in rows]
    ends = Counter(str(record.get("reason", "-")) for record in records)
    lines.append("ended as: " + ", ".join(f"{name} {count}" for name, count in ends.most_common()))
    return "\n".join(lines)


def same_loss(records: list[dict[str, Any]]) -> list[str]:
    """Of real training: preempted five times or never, the last loss is the same, bit for bit."""
    finals = {record["name"]: record.get("final") for record in records}
    one, other = finals.get("real: undisturbed"), finals.get("real: preempted 5 times")
    if one is None or other is None:
        return []
    return [] if one == other else [f"final {other} after five preemptions, {one} without"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=0, help="so many cells, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--real", action="store_true", help="twelve cells with the real training engine")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--speed", type=float, default=1.0, help="the cells' practice clocks, so many times as fast")
    parser.add_argument("--keep", type=Path, help="leave everything that the cells made there")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=Path, default=HERE.parent / "out" / "chaos.json")
    arguments = parser.parse_args()
    cells = [cell for cell in (real_cells() if arguments.real else matrix()) if arguments.only in cell.name]
    if arguments.sample:
        cells = random.Random(arguments.seed).sample(cells, min(arguments.sample, len(cells)))
    if arguments.list:
        print("\n".join(cell.name for cell in cells))
        return 0
    began = time.monotonic()
    records = play_all(cells, arguments.jobs, arguments.keep, arguments.speed)
    unequal = same_loss(records)
    wall_s = round(time.monotonic() - began)
    print(f"\n{table(records)}\nminutes {wall_s / 60:.1f}", flush=True)
    for failure in unequal:
        print(f"FAILED {failure}")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    found = {"format": 1, "seconds": wall_s, "cells": records, "unequal": unequal}
    arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(record["passed"] for record in records) and not unequal else 1


if __name__ == "__main__":
    sys.exit(main())
