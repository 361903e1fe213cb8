"""Fit the step-time model to the calibration rows: writes `resources/catalogue/throughput.json`, always the same.

python tools/fit_throughput.py [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.domain.catalogue import catalogue  # noqa: E402
from tpu_studio.planner.throughput.fit import calibrate, fit, rows_of  # noqa: E402
from tpu_studio.planner.throughput.model import to_json  # noqa: E402

FOLDER = ROOT / "resources" / "catalogue"
TOLERANCE = 1e-4  # relative: other machines' arithmetic may differ in the last digits


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 when the file is not this fit")
    check = parser.parse_args(argv).check
    measured = json.loads((FOLDER / "calibration.json").read_text("utf-8"))
    rows = rows_of(measured, catalogue())
    made = {
        "format": 1,
        "made_by": "tools/fit_throughput.py",
        "fitted_to": {"schema": measured["schema"], "generated": measured["generated"], "rows": len(rows)},
        **to_json(calibrate(rows, fit(rows))),
    }
    path = FOLDER / "throughput.json"
    if check:
        same = path.exists() and alike(json.loads(path.read_text("utf-8")), made)
        print("up to date" if same else f"{path.name} is not this fit: run tools/fit_throughput.py")
        return 0 if same else 1
    path.write_text(json.dumps(made, indent=1) + "\n", "utf-8")
    print(f"{path.name}: {len(rows)} rows, {len(made['terms'])} terms, {len(made['corrections'])} corrections")
    return 0


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(mine, its) for mine, its in zip(one, other, strict=True))
    if isinstance(one, float) or isinstance(other, float):
        return bool(abs(one - other) <= TOLERANCE * max(1e-2, abs(one), abs(other)))
    return bool(one == other)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
