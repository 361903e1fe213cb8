"""`make doubts`: what the program assumes of Google, answered otherwise: each doubt alone, and random pairs of them.

    python tools/doubts.py [--sample N --seed S] [--all] [--pairs N] [--only WORDS] [--jobs N] [--keep FOLDER]

Without options, and with --all, every playable doubt is played each other way, alone, in each place where it is met
(doubts_cells.py), with the laptop on and off, and then --pairs random pairs (200). Each is judged as a cell of
`make chaos` is (chaos_judge.py): by the practice cloud's own bill and operations. The program must end well in every
such world: the launch works; or it is refused before money is spent, with a true sentence and a next action; or, where
only a rented machine can show the truth, it ends within 15 minutes' rent, with its absence proved.

Prints a line a world and a table, writes out/doubts.json, out/doubts.md and what the failures left into out/doubts/;
exit 1 when anything does not hold, or a doubt was met in none of its scenes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from chaos import Chaos
from chaos_cells import Cell
from chaos_table import failed, table
from doubts_cells import RUN, World, alone, pairs, scene
from doubts_table import by_doubt, lines, markdown, never_met, pairs_met, told

HERE = Path(__file__).resolve().parent
PAIRS = 200
JOBS = 2 * (os.cpu_count() or 1)
"""A run takes 4 s of a core in 7 s, the lists 1.6 s; the rest is the cloud's own time, which is waited for."""


class Worlds(Chaos):
    """Plays worlds of doubts; what plays a cell goes by its name."""

    def __init__(self, worlds: list[World], scratch: Path, out: Path, speed: float, keep: bool) -> None:
        super().__init__(scratch, out, speed, keep)
        self._kinds = {cell.name: kind for kind, cell in worlds}

    def program(self, cell: Cell, folder: Path) -> list[str]:
        folder.parent.mkdir(parents=True, exist_ok=True)
        told = folder.with_suffix(".json")
        told.write_text(json.dumps(asdict(cell)))
        kind = self._kinds[cell.name]
        if kind == RUN:
            return [sys.executable, str(HERE / "chaos_cell.py"), str(folder), str(told)]
        return [sys.executable, str(HERE / "doubts_account.py"), kind, str(folder), str(told)]


def chosen(arguments: argparse.Namespace) -> list[World]:
    worlds = alone() + pairs(arguments.pairs, arguments.seed)
    worlds = [one for one in worlds if arguments.only in one[1].name]
    if arguments.sample:
        worlds = random.Random(arguments.seed).sample(worlds, min(arguments.sample, len(worlds)))
    return worlds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=0, help="so many worlds, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="everything: what is played without options, too")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="random pairs, drawn by --seed")
    parser.add_argument("--only", default="", help="worlds whose name contains this")
    parser.add_argument("--jobs", type=int, default=JOBS, help=f"worlds at a time ({JOBS} here)")
    parser.add_argument("--speed", type=float, default=1.0, help="the practice clocks, so many times as fast")
    parser.add_argument("--keep", type=Path, help="leave everything that the worlds made there")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--json", type=Path, default=HERE.parent / "out" / "doubts.json")
    arguments = parser.parse_args()
    worlds = chosen(arguments)
    if arguments.list:
        print("\n".join(f"{kind:8s}{cell.name}" for kind, cell in worlds))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    evidence = arguments.json.with_suffix("")
    shutil.rmtree(evidence, ignore_errors=True)
    scratch = arguments.keep or Path(tempfile.mkdtemp(prefix="doubts-"))
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        player = Worlds(worlds, scratch, evidence, arguments.speed, bool(arguments.keep))
        records = player.play_all([cell for _, cell in worlds], arguments.jobs)
    finally:
        if arguments.keep is None:
            shutil.rmtree(scratch, ignore_errors=True)
    played = [(cell.doubts, record) for (_, cell), record in zip(worlds, records, strict=True)]
    found, seconds = by_doubt(played), time.monotonic() - began
    whole = not (arguments.sample or arguments.only)
    unmet = never_met(found) if whole else []
    print(f"\n{lines(found)}\n\n{table(records)}\n{pairs_met(played)}\nminutes {seconds / 60:.1f}", flush=True)
    if unmet:
        print(f"FAILED never met: {', '.join(unmet)}")
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    record = {"format": 2, "seconds": round(seconds), "doubts": told(found), "never_met": unmet, "worlds": records}
    arguments.json.write_text(json.dumps(record, indent=1) + "\n")
    rows = [(cell.doubts, scene(kind, cell), one) for (kind, cell), one in zip(worlds, records, strict=True)]
    arguments.json.with_suffix(".md").write_text(markdown(rows))
    return 1 if unmet or any(map(failed, records)) else 0


if __name__ == "__main__":
    sys.exit(main())
