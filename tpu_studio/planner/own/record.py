"""One own run as the estimate learns from it: what was planned, what was measured. Read from plan and events alone.

A plan carries its ``basis`` (`wire.planparts.Basis`): traits of the work, the described workload, and what the bare
model said, without anything learned. `record_of` puts the measured beside it; the record is kept in the index of runs,
which is made from the run folders and goes with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tpu_studio.domain.run import RunView
from tpu_studio.planner.own.likeness import Traits
from tpu_studio.planner.throughput import Workload
from tpu_studio.planner.throughput.workload import KEYS
from tpu_studio.wire import places
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan, Range

QUANTITIES = ("step_s", "setup_s", "compile_s", "result_s")
HIDDEN = 0.3  # a chip that waits for data for more than this share of a step does not show how fast it is


@dataclass(frozen=True)
class OwnRun:
    """Attributes:
    at: When it was measured, seconds since 1970.
    workload: As `tpu-studio estimate` reads it; None for a processor.
    measured: Seconds of a step (of a chip's, without waiting for data), of compiling, of setting up, of writing the
        result; what is known.
    modelled: What the bare model said of each.
    """

    run: str
    at: float
    traits: Traits
    workload: Workload | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    modelled: Mapping[str, Range] = field(default_factory=dict)


def record_of(plan: Plan, view: RunView) -> dict[str, object] | None:
    """The record of a run as plain JSON; None where too few steps were made or the plan is of an older version."""
    pace = view.pace
    if not pace.known or plan.basis is None or not plan.basis.traits:
        return None
    step_s, waiting_s = pace.step_s, pace.step_s * pace.waiting_share
    measured: dict[str, float] = {"step_s": step_s, "waiting_s": waiting_s, "device_s": step_s * pace.device_share}
    attempts = max(1, view.attempt)
    for name, phase in (("setup_s", Phase.SETTING_UP), ("compile_s", Phase.COMPILING), ("result_s", Phase.SAVING)):
        span = view.spans.get(phase)
        if span is not None and span.end is not None:
            measured[name] = span.seconds(span.end) / attempts
    modelled = {name: value.to_json() for name, value in (plan.basis.modelled or {}).items()}
    basis = {"traits": plan.basis.traits, "workload": plan.basis.workload, "modelled": modelled}
    told = {name: float(f"{seconds:.4g}") for name, seconds in measured.items()}
    return {"at": round(view.seen_t), "steps": pace.steps, "measured": told, **basis}


def runs_of(records: Iterable[tuple[str, Mapping[str, object] | None]]) -> tuple[OwnRun, ...]:
    """The runs of (run id, record), newest first; records that make no sense are left out."""
    found = [run for name, record in records if record and (run := _run(name, record))]
    return tuple(sorted(found, key=lambda run: (-run.at, run.run)))


def _run(name: str, record: Mapping[str, Any]) -> OwnRun | None:
    try:
        traits = Traits.from_json(record["traits"])
        told = record.get("workload")
        workload = Workload(**{key: told[key] for key in KEYS}) if told else None
        modelled = {name: _range(record["modelled"][name]) for name in QUANTITIES if name in record["modelled"]}
        measured = {name: float(record["measured"][name]) for name in QUANTITIES if name in record["measured"]}
        if places.by_id(traits.place).has_chips and "step_s" in measured:
            waiting_s = float(record["measured"].get("waiting_s", 0.0))
            if waiting_s > HIDDEN * measured["step_s"]:
                del measured["step_s"]
            else:
                measured["step_s"] -= waiting_s
        measured = {name: seconds for name, seconds in measured.items() if 0 < seconds < 1e7}
        return OwnRun(name, float(record["at"]), traits, workload, measured, modelled)
    except (KeyError, TypeError, ValueError):
        return None


def _range(tree: Mapping[str, Any]) -> Range:
    found = Range(float(tree["low"]), float(tree["expected"]), float(tree["high"]))
    if not 0 < found.low <= found.expected <= found.high or not math.isfinite(found.high):
        raise ValueError(f"no range: {found}")
    return found
