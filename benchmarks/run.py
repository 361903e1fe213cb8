"""All benchmarks: each `bench_*.py` beside this file has `run()`, which gives its figures. A table, and out/bench.json.

    python benchmarks/run.py [--only NAME]…

A figure is a dict of name, ours, peer, unit, ratio, goal, passed (None: reported without a goal). Ends with 1 when a
goal was missed or a benchmark could not run.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out" / "bench.json"
LIMIT_S = 900  # of one benchmark; all together take some 20 minutes
COLUMNS = ("name", "ours", "peer", "unit", "ratio", "goal", "passed")


def main(argv: list[str]) -> int:
    known = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", action="append", choices=sorted(known), metavar="NAME", help=f"one of {', '.join(known)}"
    )
    asked = parser.parse_args(argv)
    sys.path.insert(0, str(HERE.parent))
    signal.signal(signal.SIGALRM, _too_long)
    figures: list[dict[str, Any]] = []
    for name in asked.only or known:
        print(f"{name} …", file=sys.stderr, flush=True)
        begun = time.monotonic()
        signal.alarm(LIMIT_S)
        try:
            figures += [{"bench": name, **figure} for figure in load(known[name]).run()]
        except (Exception, SystemExit) as error:  # noqa: BLE001  one that fails must not hide the others' figures
            traceback.print_exc()
            figures.append({"bench": name, "name": f"{name}: {error}", "passed": False})
        signal.alarm(0)
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        write(figures)  # after each: what was measured stays, whatever comes next
    print(table(figures))
    return 0 if all(figure.get("passed") is not False for figure in figures) else 1


def _too_long(*_: object) -> None:
    raise TimeoutError(f"took longer than {LIMIT_S} s")


def write(figures: list[dict[str, Any]]) -> None:
    machine = {
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(
        json.dumps({"at": time.time(), "machine": machine, "figures": figures}, indent=1, default=str) + "\n"
    )


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def table(figures: list[dict[str, Any]]) -> str:
    rows = [COLUMNS, *(tuple(shown(figure.get(column), column) for column in COLUMNS) for figure in figures)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def shown(value: Any, column: str) -> str:
    if column == "passed":
        return {True: "yes", False: "NO"}.get(value, "reported")
    if column == "ratio" and isinstance(value, (int, float)):
        return f"{value:.2f}×"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return "" if value is None else str(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
