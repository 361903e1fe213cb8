"""`tpu-studio check` of every shipped example for six slices: the table in docs/check.md.

    python tools/make_check_table.py [--only TEXT]

Each is the command a person would type, with the settings of the example. Answers are kept as `check` keeps them, so
what was asked before costs nothing; a row that is not asked for stays as it is.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "check.md"
SLICES = ("v5litepod-1", "v5litepod-8", "v6e-1", "v6e-8", "v5p-8", "v4-8")
HEAD = (
    "| example | TPU | framework | batch | fits | bytes of a device | to evaluate | its limit | by | compiled in |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
)
BEGIN, END = "<!-- made by tools/make_check_table.py -->\n", "<!-- end -->\n"
BY = {"tpu-compiler": "TPU compiler", "estimate": "estimate"}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="rows (example and slice) that have this in them")
    asked = parser.parse_args()
    for file in sorted((ROOT / "resources" / "examples").glob("*.tpujob")):
        for accelerator in SLICES:
            if asked.only in f"{file.stem} {accelerator}":
                row = row_of(file, accelerator)
                print(row, end="", flush=True)
                keep(row)
    return 0


def row_of(file: Path, accelerator: str, name: str = "", settings: Mapping[str, object] | None = None) -> str:
    """Of *file* with *settings*, by *name* or the file's own. Raises RuntimeError: `check` gave no answer."""
    name = name or file.stem
    given = {"where.accelerator": accelerator, **(settings or {})}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tpu_studio",
            "check",
            str(file),
            "--json",
            "--trust-code",
            *(part for key, value in given.items() for part in ("--set", f"{key}={value}")),
        ],
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{name}, {accelerator}: {done.returncode} {done.stdout[-500:]} {done.stderr[-500:]}")
    told: dict[str, Any] = json.loads(done.stdout)
    memory, seconds = told["memory"], told["compile_s"]
    cells = (
        name,
        accelerator,
        told["framework"],
        f"{told['batch']:,}",
        "yes" if told["fits"] else "**no**",
        f"{memory['device_bytes']:,}",
        f"{told['programs']['evaluate']['memory_bytes']:,}" if "evaluate" in (told["programs"] or {}) else "–",
        f"{memory['limit_bytes']:,}",
        BY[memory["by"]],
        "–" if seconds is None else f"{seconds:.0f} s",
    )
    return f"| {' | '.join(cells)} |\n"


def keep(row: str, page: Path = PAGE) -> None:
    """Put *row* into the page's table, in the place of the one before, in order."""
    text = page.read_text("utf-8")
    before, inside, after = re.split(f"{re.escape(BEGIN)}|{re.escape(END)}", text)
    rows = {tuple(line.split(" | ")[:3]): line for line in [*inside.splitlines(keepends=True)[2:], row]}
    ordered = sorted(rows, key=lambda name: (name[0], name[2], SLICES.index(name[1])))
    page.write_text(f"{before}{BEGIN}{HEAD}{''.join(rows[name] for name in ordered)}{END}{after}", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
