"""`check`: a cold verdict on gpt-124m by the real TPU compiler, and five points of the golden file compiled again.

Needs the TPU compiler's environment (`engine --install --with tpu-compiler --accept-licence`); says so without it.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apart

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.local.engine import compiler, engine_root  # noqa: E402

make_golden: Any = importlib.import_module("tools.make_golden")
AGAIN = (
    "mlp layers=3 width=1024 on diamonds, v5litepod-8, float32, batch 65536",
    "mlp layers=4 width=2048 on diamonds, v6e-1, bfloat16, batch 8192",
    "small-cnn on sign-digits, v5litepod-8, float32, batch 512",
    "gpt-nano on shakespeare, v5litepod-1, float32, recomputing, batch 256",
    "gpt-mini on shakespeare, v5litepod-1, float32, batch 16",
)
COLD_GOAL_S, KEPT_GOAL_S, TRACED_GOAL_S, WITHIN = 40.0, 1.0, 10.0, 0.15
BATCH_8 = ("where.accelerator=v6e-1", "training.global_batch=8", "training.rematerialize=false")
BATCH_64 = ("where.accelerator=v5litepod-1", "training.global_batch=64", "training.rematerialize=false")
HERE = ("where.place=computer", "training.global_batch=8")  # no TPU to compile for: shapes and operations only


def run() -> list[dict[str, Any]]:
    if not compiler(engine_root()).state().is_ready:
        return [{"name": "no TPU compiler on this computer: nothing to measure", "passed": None}]
    return [*_verdicts(), *_again()]


def _verdicts() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as home:
        traced_s, traced = _check(Path(home), HERE)
        cold, told = _check(Path(home), BATCH_8)
        kept, same = _check(Path(home), BATCH_8)
        refused_s, refused = _check(Path(home), BATCH_64)
    if same["memory"] != told["memory"]:
        raise RuntimeError(f"the kept answer differs: {same['memory']} {told['memory']}")
    needs, limit = (refused["memory"][name] / 2**30 for name in ("device_bytes", "limit_bytes"))
    return [
        figure("shapes and operations of gpt-124m", traced_s, TRACED_GOAL_S, "shapes-meet" in _ids(traced)),
        figure("check gpt-124m, batch 8, v6e-1, cold", cold, COLD_GOAL_S, told["fits"] and _compiled(told)),
        figure("the same from the cache", kept, KEPT_GOAL_S, True),
        figure(
            f"check gpt-124m, batch 64, v5e-1: does not fit ({needs:.1f} of {limit:.1f} GiB), "
            f"and the largest batch: {refused['largest_batch']}",
            refused_s,
            None,
            not refused["fits"] and _compiled(refused),
        ),
    ]


def figure(name: str, seconds: float, goal: float | None, right: bool) -> dict[str, Any]:
    """*right*: whether the answer is the one that it must be."""
    return {
        "name": name,
        "ours": seconds,
        "unit": "s",
        "goal": "" if goal is None else f"at most {goal:g}",
        "passed": right and (goal is None or seconds <= goal),
    }


def _compiled(told: Any) -> bool:
    return bool(told["memory"]["by"] == "tpu-compiler")


def _ids(told: Any) -> list[str]:
    return [one["id"] for one in told["checks"]]


def _check(home: Path, settings: Sequence[str]) -> tuple[float, Any]:
    argv = [sys.executable, "-m", "tpu_studio", "check", str(ROOT / "resources/examples/gpt-124m.tpujob"), "--json"]
    environment = apart.environment() | {
        "TPU_STUDIO_HOME": str(home),
        "TPU_STUDIO_ENGINE": str(engine_root()),
        "PYTHONPYCACHEPREFIX": str(home / "compiled"),
    }
    begun = time.monotonic()
    done = subprocess.run(
        [*argv, *(part for setting in settings for part in ("--set", setting))],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr[-500:])
    return time.monotonic() - begun, json.loads(done.stdout)


def _again() -> list[dict[str, Any]]:
    """Five points, compiled now: the golden file still says what the compiler says, the estimate is near it."""
    known = json.loads(make_golden.GOLDEN.read_text())["points"]
    points = {make_golden.point_name(row, batch): (row, batch) for row in make_golden.GRID for batch in row[-1]}
    figures = []
    for name in AGAIN:
        row, batch = points[name]
        (told,) = make_golden.ask(row, (batch,))
        estimate = make_golden.plan_of(row, batch).memory.device_bytes
        same = told["device_bytes"] == known[name]["device_bytes"]
        ratio = estimate / told["device_bytes"]
        figures.append(
            {
                "name": name,
                "ours": estimate / 2**20,
                "peer": told["device_bytes"] / 2**20,
                "unit": "MiB",
                "ratio": ratio,
                "goal": f"±{WITHIN:.0%}",
                "passed": same and abs(ratio - 1) <= WITHIN,
            }
        )
    return figures


if __name__ == "__main__":
    for one in run():
        print(one)
