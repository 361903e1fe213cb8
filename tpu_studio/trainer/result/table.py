"""`metrics.csv`: one row a step, one column a metric, empty where there is no value. Opens in any spreadsheet."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tpu_studio.trainer.result.points import Points
from tpu_studio.wire.spreadsheets import cell

CELLS_AT_ONCE = 500_000


def write_csv(path: Path, points: Points) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(",".join(["step", *map(_quoted, points.columns)]) + "\n")
        at_once = max(1, CELLS_AT_ONCE // (1 + len(points.columns)))
        for start in range(0, len(points.steps), at_once):
            part = slice(start, start + at_once)
            cells = [list(map(str, points.steps[part].tolist()))]
            for name, values in points.columns.items():
                texts = list(map(repr, values[part].tolist()))
                for empty in np.flatnonzero(~points.present[name][part]).tolist():
                    texts[empty] = ""
                cells.append(texts)
            file.write("\n".join(map(",".join, zip(*cells, strict=True))) + "\n")


def _quoted(name: str) -> str:
    name = cell(name)
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',"\n\r') else name
