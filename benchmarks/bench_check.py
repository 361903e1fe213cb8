"""`check`: a cold verdict on gpt-124m by the real TPU compiler, and five points of the golden file compiled again.

Needs the TPU compiler's environment (`engine --install --with tpu-compiler --accept-licence`); says so without it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.local.engine import compiler, engine_root  # noqa: E402

make_golden: Any = importlib.import_module("tools.make_golden")
AGAIN = (
    "v6e-1, float32, batch 8192",
    "v5litepod-8, float32, batch 65536",
    "v6e-1, bfloat16, batch 8192",
    "gpt-nano on shakespeare, v5litepod-1, float32, batch 256",
    "gpt-mini on shakespeare, v5litepod-1, float32, batch 16",
)
COLD_GOAL_S, KEPT_GOAL_S, WITHIN = 40.0, 1.0, 0.15


def run() -> list[dict[str, Any]]:
    if not compiler(engine_root()).state().is_ready:
        return [{"name": "no TPU compiler on this computer: nothing to measure", "passed": None}]
    return [*_verdicts(), *_again()]


def _verdicts() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as home:
        settings = ["where.accelerator=v6e-1", "training.global_batch=8", "training.rematerialize=false"]
        cold, told = _check(Path(home), settings)
        kept, same = _check(Path(home), settings)
        assert same["memory"] == told["memory"]
        large = ["where.accelerator=v5litepod-1", "training.global_batch=64", "training.rematerialize=false"]
        refused_s, refused = _check(Path(home), large)
    return [
        {"name": "check gpt-124m, batch 8, v6e-1, cold", "ours": cold, "unit": "s", "goal": COLD_GOAL_S,
         "passed": cold <= COLD_GOAL_S and told["fits"] and told["memory"]["by"] == "tpu-compiler"},
        {"name": "the same from the cache", "ours": kept, "unit": "s", "goal": KEPT_GOAL_S,
         "passed": kept <= KEPT_GOAL_S},
        {"name": "check gpt-124m, batch 64, v5e-1: does not fit", "ours": refused_s, "unit": "s",
         "passed": not refused["fits"] and refused["memory"]["by"] == "tpu-compiler"},
    ]  # fmt: skip


def _check(home: Path, settings: list[str]) -> tuple[float, Any]:
    argv = [sys.executable, "-m", "tpu_studio", "check", str(ROOT / "resources/examples/gpt-124m.tpujob"), "--json"]
    environment = {**os.environ, "TPU_STUDIO_HOME": str(home), "TPU_STUDIO_ENGINE": str(engine_root())}
    begun = time.monotonic()
    done = subprocess.run(
        [*argv, *(part for setting in settings for part in ("--set", setting))],
        env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr[-500:])
    return time.monotonic() - begun, json.loads(done.stdout)


def _again() -> list[dict[str, Any]]:
    """Five points, compiled now: the golden file still says what the compiler says, the estimate is near it."""
    known = json.loads(make_golden.GOLDEN.read_text())["points"]
    figures = []
    for part in AGAIN:
        row, batch = next(
            (row, batch) for row in make_golden.GRID for batch in row[-1] if part in make_golden.point_name(row, batch)
        )
        (told,) = make_golden.ask(row, (batch,))
        name = make_golden.point_name(row, batch)
        estimate = make_golden.plan_of(row, batch).memory["device_bytes"]
        same = told["device_bytes"] == known[name]["device_bytes"]
        ratio = estimate / told["device_bytes"]
        figures.append({"name": name, "ours": estimate / 2**20, "peer": told["device_bytes"] / 2**20,
                        "unit": "MiB", "ratio": ratio, "goal": f"±{WITHIN:.0%}",
                        "passed": same and abs(ratio - 1) <= WITHIN})  # fmt: skip
    return figures
