"""How much a person's own runs improve the next estimate: simulated on published measurements, and on repeated work.

    python benchmarks/bench_own_runs.py

Each row of the calibration file is a training that is asked for, predicted by a fit that has not seen it. A simulated
person's machine takes 0.7 to 1.5 times as long as everybody's. Before the estimate they have run nothing, or the one or
three other rows that have most in common with it (each off by its own error, which no fit has seen either, and by
theirs), or this very work, with 3 % from run to run. Rows without anything in common enough are left out. Told are the
median error of the next estimate and how often its range of 80 % holds.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.planner.own import OwnRun, OwnRuns
from tpu_studio.planner.own.likeness import Traits, enough, likeness
from tpu_studio.planner.throughput.fit import Row, calibrate, fit, rows_of
from tpu_studio.planner.throughput.model import predict
from tpu_studio.planner.throughput.workload import Workload, parse
from tpu_studio.wire.plan import Range
from tpu_studio.wire.resources import resource_path

MACHINES = (0.7, 0.85, 1.0, 1.2, 1.5)  # times as long as everybody's
RUN_TO_RUN = 0.03
BEFORE = ("no run", "1 run like it", "3 runs like it", "1 run of it", "3 runs of it")


@dataclass(frozen=True)
class Asked:
    """A row as it is asked for.

    Attributes:
        off: log(measured / predicted) of a step, by a fit that has not seen the row.
        step: The predicted step as a share of the expected one.
    """

    id: str
    traits: Traits
    off: float
    step: Range


@dataclass(frozen=True)
class Outcome:
    error: float  # log2 of estimated over true
    inside: bool
    width: float  # high over low


def asked() -> list[Asked]:
    record = json.loads(resource_path("catalogue", "calibration.json").read_text("utf-8"))
    rows, raw = rows_of(record, catalogue()), {one["id"]: one for one in record["rows"]}
    told = []
    for row in rows:
        if not row.scored or not row.rated:
            continue
        rest = [other for other in rows if other is not row]
        rate = predict(row.sized, calibrate(rest, fit(rest))).units_per_s
        off = math.log(rate.expected / row.sized.units_per_s(row.mfu))
        step = Range(rate.expected / rate.high, 1.0, rate.expected / rate.low)
        workload, _ = parse(raw[row.id], catalogue())
        told.append(Asked(row.id, _traits(row, workload), off, step))
    return told


def _traits(row: Row, workload: Workload) -> Traits:
    return Traits(
        "cloud",
        row.sized.generation,
        row.sized.stack,
        str(workload.precision),
        row.sized.family,
        row.id,
        (workload.global_batch or row.sized.chips) / row.sized.chips,
        row.sized.chips,
        workload.params or 1e9,
        float(workload.sequence_length or workload.image_size or 1),
        1,
        row.id,
    )


def outcomes(some: Sequence[Asked], before: str, machine: float) -> list[Outcome]:
    random = np.random.default_rng(1)
    told = []
    for one in some:
        others = sorted((other for other in some if other is not one), key=lambda other: -_common(one, other))
        like = [other for other in others if enough(one.traits, _common(one, other))]
        if not like:
            continue
        count = int(before[0]) if before[0].isdigit() else 0
        chosen = [one] * count if before.endswith("of it") else like[:count]
        runs = []
        for number, other in enumerate(chosen):
            step_s = math.exp(other.off + math.log(machine) + RUN_TO_RUN * random.standard_normal())
            known = {"step_s": step_s}, {"step_s": other.step}
            runs.append(OwnRun(str(number), float(number), other.traits, None, *known))
        lesson = OwnRuns(runs).correct("step_s", one.traits, one.step)
        found, truth = (lesson.seconds if lesson else one.step), math.exp(one.off) * machine
        error, inside = math.log2(found.expected / truth), found.low <= truth <= found.high
        told.append(Outcome(error, inside, found.high / found.low))
    return told


def _common(one: Asked, other: Asked) -> float:
    return likeness(one.traits, other.traits)


def median(told: Sequence[Outcome]) -> float:
    return statistics.median(abs(one.error) for one in told)


def run() -> list[dict[str, Any]]:
    some = asked()
    found = {(before, machine): outcomes(some, before, machine) for before in BEFORE for machine in MACHINES}
    count = len(found[BEFORE[0], 1.0])
    print(f"{count} rows; median |log2 error|, share inside the range, high over low", file=sys.stderr)
    print(f"{'machine':<10}" + "".join(f"{before:>24}" for before in BEFORE), file=sys.stderr)
    for machine in (*MACHINES, "all"):
        cells = []
        for before in BEFORE:
            told = [one for m in MACHINES if machine in (m, "all") for one in found[before, m]]
            wide = statistics.median(one.width for one in told)
            cells.append(f"{median(told):>10.3f} {statistics.mean(one.inside for one in told):>6.0%} {wide:>6.2f}")
        print(f"{machine!s:<10}" + "".join(cells), file=sys.stderr)
    every = {before: [one for machine in MACHINES for one in found[before, machine]] for before in BEFORE}
    nothing = median(every["no run"])
    figures = []
    for before in BEFORE[1:]:
        ours, held = median(every[before]), statistics.mean(one.inside for one in every[before])
        goal = 0.1 if before.endswith("of it") else 0.7 * nothing
        figures.append(
            {
                "name": f"next estimate after {before}: median error",
                "ours": ours,
                "peer": nothing,
                "unit": "|log2|",
                "ratio": nothing / ours,
                "goal": f"< {goal:.2f}",
                "passed": ours < goal,
            }
        )
        figures.append(
            {
                "name": f"next estimate after {before}: in the stated 80 % range",
                "ours": held,
                "peer": None,
                "unit": "share",
                "ratio": None,
                "goal": "≥ 0.70",
                "passed": held >= 0.70,
            }
        )
    return figures


if __name__ == "__main__":
    print(json.dumps(run(), indent=1, ensure_ascii=False))
