"""Memory of a chip for models that one chip does not hold, and what parts of a step save, by the TPU compiler.

GPT-2 large and a GPT of 2 billion weights, recomputed, 8 and 4 sequences a chip, state shared out; GPT-2 small in four
parts a step against one. With the compiler's least effort, which plans memory as the full does (docs/check.md).
Needs the TPU compiler's environment (`engine --install --with tpu-compiler --accept-licence`); says so without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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
    """Work and memory of a step in parts against one, by `check`. The goal for the memory is from before scores were
    made a few tokens at a time, which saves a step in one part most of all: it is held against all scores, too."""
    accelerator, batch = "v5litepod-8", 2 * BATCH
    whole, cut = (
        checked(accelerator, {"training.global_batch": batch, "training.accumulate": parts})["programs"]["train"]
        for parts in (1, PARTS)
    )
    plan = replace(gpt(accelerator, {"vocabulary": 50_257}, {"training.global_batch": batch}), scored_at_once=0)
    scored = make_golden.ask_of(plan, (batch,))[0]
    what = f"GPT-2 small, {accelerator}, batch {batch} in {PARTS} parts"
    tera, memory = 1e12, f"{what}: memory of a chip"
    yield _row(f"{what}: FLOPs of a step, against one part", cut["flops"] / tera, whole["flops"] / tera, "TFLOP", 1.03)
    held = (cut["memory_bytes"] / 2**30, whole["memory_bytes"] / 2**30, scored["device_bytes"] / 2**30)
    yield _row(f"{memory}, against one part", held[0], held[1], "GiB", None)
    yield _row(f"{memory}, against one part with all scores in memory", held[0], held[2], "GiB", 0.45)


def _row(name: str, ours: float, peer: float, unit: str, goal: float | None) -> dict[str, Any]:
    ratio = ours / peer
    row = {"name": name, "ours": ours, "peer": peer, "unit": unit, "ratio": ratio, "passed": None}
    return row if goal is None else row | {"goal": f"at most {goal}", "passed": ratio <= goal}
