"""Memory of a chip for models that one chip does not hold, and what parts of a step save, by the TPU compiler.

GPT-2 large and a GPT of 2 billion weights, recomputed, 8 and 4 sequences a chip, state shared out; GPT-2 small in four
parts a step against one. With the compiler's least effort, which plans memory as the full does (docs/check.md).
Needs the TPU compiler's environment (`engine --install --with tpu-compiler --accept-licence`); says so without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench_chip import checked, gpt, make_golden

from tpu_studio.local.engine import compiler, engine_root

LARGE = {"layers": 36, "width": 1280, "heads": 20, "vocabulary": 50_257}
TWO_BILLION = {"layers": 24, "width": 2560, "heads": 20, "vocabulary": 50_257}
# Name, slice, options, GiB of a chip to reach.
MODELS: tuple[tuple[str, str, dict[str, int], float], ...] = (
    ("GPT-2 large, 774 million weights", "v5litepod-8", LARGE, 7.3),
    ("a GPT of 2.0 billion weights", "v5litepod-16", TWO_BILLION, 6.0),
)
BATCH, PARTS = 64, 4


def run() -> list[dict[str, Any]]:
    if not compiler(engine_root()).state().is_ready:
        return [{"name": "no TPU compiler on this computer: nothing to measure", "passed": None}]
    return [*map(large, MODELS), *in_parts()]


def large(model: tuple[str, str, dict[str, int], float]) -> dict[str, Any]:
    name, accelerator, options, goal = model
    plan = gpt(accelerator, options, {"training.global_batch": BATCH, "training.rematerialize": True})
    told = make_golden.ask_of(plan, (BATCH,))[0]
    return {
        "name": f"{name}, {accelerator}, batch {BATCH}: memory of a chip",
        "ours": told["device_bytes"] / 2**30,
        "peer": plan.memory.device_bytes / 2**30,
        "unit": "GiB (peer: the estimate)",
        "goal": f"at most {goal}",
        "passed": bool(told["fits"]) and told["device_bytes"] <= goal * 2**30,
    }


def in_parts() -> Iterator[dict[str, Any]]:
    """Work and memory of a step in parts against one, by `check`."""
    batch = 2 * BATCH
    whole, cut = (
        checked("v5litepod-8", {"training.global_batch": batch, "training.accumulate": parts})["programs"]["train"]
        for parts in (1, PARTS)
    )
    what = f"GPT-2 small, v5litepod-8, batch {batch} in {PARTS} parts"
    for name, field, goal in (("FLOPs of a step", "flops", 1.03), ("memory of a chip", "memory_bytes", 0.45)):
        ratio = cut[field] / whole[field]
        scale, unit = (1e12, "TFLOP") if field == "flops" else (2**30, "GiB")
        yield {
            "name": f"{what}: {name}, against one part",
            "ours": cut[field] / scale,
            "peer": whole[field] / scale,
            "unit": unit,
            "ratio": ratio,
            "goal": f"at most {goal}",
            "passed": ratio <= goal,
        }
