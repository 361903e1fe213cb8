"""How well `estimate` predicts published measurements that its fit has not seen.

    python benchmarks/bench_estimate.py [--rows]

Each row of the calibration file is predicted twice: by a fit to all other rows (leave one out), and by a fit to all
other families (leave a family out). Nothing of the row, its range's width included, comes from a fit that has seen it.
Rows of low confidence and mere bounds are not scored; rows without a rate are scored by MFU. The structure of the model
and how firmly its coefficients are held were chosen once, by people who knew the file.

Beside it stands the trivial predictor: the median efficiency of the remaining rows of the same generation and family,
of the same family, of the same generation, of all, whichever exists first.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.planner.throughput.fit import Row, calibrate, fit, rows_of
from tpu_studio.planner.throughput.model import predict
from tpu_studio.wire.resources import resource_path

SMALL = 8  # chips a beginner rents at most


@dataclass(frozen=True)
class Outcome:
    """Errors are log2 of predicted over measured: 1 means twice as fast as it was."""

    row: Row
    error: float
    inside: bool
    width: float
    trivial: float


def outcomes(rows: Sequence[Row], left_out: Callable[[Row, Row], bool]) -> list[Outcome]:
    """*left_out*(scored row, other row): whether the fit for the first must not see the second."""
    folds: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.scored:
            folds.setdefault(tuple(other.id for other in rows if left_out(row, other)), []).append(row)
    told = []
    for hidden, scored in folds.items():
        rest = [row for row in rows if row.id not in hidden]
        fitted = calibrate(rest, fit(rest))
        for row in scored:
            prediction = predict(row.sized, fitted)
            if row.rated:
                found, measured = prediction.units_per_s, row.sized.units_per_s(row.mfu)
            else:
                found, measured = prediction.mfu, row.mfu
            told.append(
                Outcome(
                    row,
                    math.log2(found.expected / measured),
                    found.low <= measured <= found.high,
                    math.log2(found.high / found.low) / 2,
                    math.log2(trivial(row, rest) / row.mfu),
                )
            )
    return sorted(told, key=lambda outcome: outcome.row.id)


def leave_one_out(rows: Sequence[Row]) -> list[Outcome]:
    return outcomes(rows, lambda row, other: row is other)


def leave_family_out(rows: Sequence[Row]) -> list[Outcome]:
    return outcomes(rows, lambda row, other: row.sized.family == other.sized.family)


def trivial(row: Row, rest: Sequence[Row]) -> float:
    mine = row.sized
    for alike in (
        lambda other: (other.generation, other.family) == (mine.generation, mine.family),
        lambda other: other.family == mine.family,
        lambda other: other.generation == mine.generation,
        lambda other: True,
    ):
        found = [other.mfu for other in rest if other.scored and alike(other.sized)]
        if found:
            return statistics.median(found)
    raise AssertionError("no rows at all")


def median(values: Sequence[float]) -> float:
    return float(np.median(np.abs(values)))


def nine_of_ten(values: Sequence[float]) -> float:
    return float(np.quantile(np.abs(values), 0.9))


def run() -> list[dict[str, Any]]:
    rows = measured()
    figures = []
    for name, told in (("leave one out", leave_one_out(rows)), ("leave a family out", leave_family_out(rows))):
        print(f"\n{name}\n{by_family(told)}", file=sys.stderr)
        small = [outcome for outcome in told if outcome.row.sized.chips <= SMALL]
        for part, chosen, goals in (("all", told, (0.17, 0.60)), (f"≤ {SMALL} chips", small, (0.30, 0.80))):
            for word, of, goal in (("median", median, goals[0]), ("90th percentile", nine_of_ten, goals[1])):
                ours, peer = of([one.error for one in chosen]), of([one.trivial for one in chosen])
                figures.append(
                    figure(f"{name}, {part} ({len(chosen)}): {word} error", ours, peer, f"≤ {goal:.2f}", ours <= goal)
                )
        held = statistics.mean(outcome.inside for outcome in told)
        figures.append(
            {
                "name": f"{name}: rows in the stated 80 % range",
                "ours": held,
                "peer": None,
                "unit": "share",
                "ratio": None,
                "goal": "0.75 to 0.90",
                "passed": 0.75 <= held <= 0.90,
            }
        )
    return figures


def figure(name: str, ours: float, peer: float, goal: str, passed: bool) -> dict[str, Any]:
    """``peer`` is the trivial predictor; the ratio says how many times larger its error is."""
    return {
        "name": name,
        "ours": ours,
        "peer": peer,
        "unit": "|log2|",
        "ratio": peer / ours,
        "goal": goal,
        "passed": passed,
    }


def measured() -> list[Row]:
    record = json.loads(resource_path("catalogue", "calibration.json").read_text("utf-8"))
    return rows_of(record, catalogue())


def by_family(told: Sequence[Outcome]) -> str:
    lines = [
        f"{'family':<16}{'rows':>5}{'median':>8}{'largest':>9}{'bias':>7}{'range ±':>9}{'inside':>8}{'trivial':>9}"
    ]
    families = sorted({outcome.row.sized.family for outcome in told})
    for name in (*families, "all"):
        of = [one for one in told if name in ("all", one.row.sized.family)]
        errors = [one.error for one in of]
        lines.append(
            f"{name:<16}{len(of):>5}{median(errors):>8.2f}{max(map(abs, errors)):>9.2f}{statistics.mean(errors):>+7.2f}"
            f"{statistics.median(one.width for one in of):>9.2f}{statistics.mean(one.inside for one in of):>8.0%}"
            f"{median([one.trivial for one in of]):>9.2f}"
        )
    return "\n".join(lines)


def each_row(told: Sequence[Outcome]) -> str:
    return "\n".join(
        f"{one.row.id}  {one.row.sized.generation:<6}{one.row.sized.chips:>6}  {one.row.sized.family:<14}"
        f"{one.row.sized.stack:<13}mfu {one.row.mfu:.3f}  error {one.error:+.2f}  trivial {one.trivial:+.2f}"
        f"{'' if one.inside else '  outside'}"
        for one in told
    )


if __name__ == "__main__":
    if "--rows" in sys.argv:
        print(each_row(leave_one_out(measured())))
    for found in run():
        peer = "" if found["peer"] is None else f"   trivial predictor {found['peer']:.3f}"
        verdict = "yes" if found["passed"] else "NO"
        print(f"{found['name']:<52}{found['ours']:.3f}   goal {found['goal']}   {verdict}{peer}")
