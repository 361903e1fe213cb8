"""What the TPU compiler says of points of our catalogue: tests/unit/planner/golden_memory.json, by `make golden`.

    python tools/make_golden.py [--only TEXT] [--full] [--errors]

Each row of GRID is one process of the TPU compiler's environment (`engine --install --with tpu-compiler`), as `check`
starts it, and one point a batch. Held to the estimate by tests/unit/planner/test_golden.py; five of them are compiled
again by `benchmarks/bench_check.py`. Points that are there already and not asked for by --only stay as they are.
--errors prints how far the estimate is off: at points that its shares were fitted to, and at those that they were not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tpu_studio.data.look import look  # noqa: E402
from tpu_studio.domain.jobfile import load  # noqa: E402
from tpu_studio.local.preflight import slice_of  # noqa: E402
from tpu_studio.planner.make import make_plan  # noqa: E402
from tpu_studio.wire.job import set_values  # noqa: E402
from tpu_studio.wire.plan import Plan  # noqa: E402

GOLDEN = ROOT / "tests" / "unit" / "planner" / "golden_memory.json"
EXAMPLES = ROOT / "resources" / "examples"
LIMIT_S = 1200
CHECK = ("-m", "tpu_studio.trainer.check")

GPT2 = {"vocabulary": 50_257}  # as published; texts here are bytes, of which there are 256
LARGE = {"layers": 36, "width": 1280, "heads": 20, **GPT2}
BILLIONS = {"layers": 24, "width": 2560, "heads": 20, **GPT2}
WIDE = {"layers": 12, "width": 1920, "heads": 15, **GPT2}
DEEP = {"layers": 48, "width": 1600, "heads": 25, **GPT2}

# example, model's name, its options, slice, precision, recompute, batches
GRID: tuple[tuple[str, str, dict[str, int], str, str, bool, tuple[int, ...]], ...] = (
    ("diamonds", "mlp", {"layers": 4, "width": 2048}, "v6e-1", "float32", False, (1024, 8192, 32768)),
    ("diamonds", "mlp", {"layers": 4, "width": 2048}, "v6e-1", "bfloat16", False, (1024, 8192, 32768)),
    ("diamonds", "mlp", {"layers": 3, "width": 1024}, "v5litepod-8", "float32", False, (8192, 65536)),
    ("diamonds", "mlp", {"layers": 4, "width": 2048}, "v4-8", "float32", False, (8192, 65536)),
    ("diamonds", "mlp", {"layers": 3, "width": 1024}, "v5litepod-1", "float32", False, (1024, 8192, 65536)),
    ("diamonds", "mlp", {"layers": 3, "width": 1024}, "v5litepod-1", "bfloat16", False, (1024, 8192, 65536)),
    ("diamonds", "mlp", {"layers": 2, "width": 4096}, "v5p-8", "bfloat16", False, (8192, 65536)),
    ("sign-digits", "small-cnn", {}, "v6e-1", "float32", False, (64, 256, 1024)),
    ("shakespeare", "gpt-nano", {}, "v5litepod-1", "float32", False, (64, 256, 1024)),
    ("shakespeare", "gpt-nano", {}, "v6e-8", "bfloat16", False, (512, 2048)),
    ("shakespeare", "gpt-mini", {}, "v5litepod-1", "float32", False, (16, 64)),
    ("diamonds", "mlp", {"layers": 20, "width": 8192}, "v5litepod-1", "float32", False, (1024,)),
    ("sign-digits", "small-cnn", {}, "v6e-1", "bfloat16", False, (64, 256, 1024)),
    ("sign-digits", "small-cnn", {}, "v5litepod-8", "float32", False, (512,)),
    ("sign-digits", "small-cnn", {"width": 64}, "v5litepod-1", "bfloat16", False, (512,)),
    ("shakespeare", "gpt-nano", {}, "v5litepod-1", "float32", True, (64, 256)),
    ("shakespeare", "gpt-mini", {}, "v6e-1", "bfloat16", False, (64,)),
    ("shakespeare", "gpt-mini", {}, "v5litepod-1", "float32", False, (512, 1024)),
    ("shakespeare", "gpt-mini", {}, "v6e-1", "float32", True, (64,)),
    ("shakespeare", "gpt-mini", {}, "v5litepod-8", "bfloat16", True, (512,)),
    ("shakespeare", "gpt-mini", {"layers": 4, "width": 512, "heads": 8}, "v5p-8", "bfloat16", False, (64,)),
    ("gpt-124m", "gpt-124m", GPT2, "v6e-1", "bfloat16", False, (8,)),
    ("gpt-124m", "gpt-124m", GPT2, "v5litepod-1", "bfloat16", True, (8, 32)),
    ("gpt-124m", "gpt-124m", GPT2, "v5litepod-1", "bfloat16", False, (4, 16, 32)),
    ("shakespeare", "gpt-mini", {}, "v5litepod-1", "bfloat16", False, (1024,)),
    ("shakespeare", "gpt-nano", {"layers": 12}, "v5litepod-1", "bfloat16", False, (8192,)),
    ("shakespeare", "gpt-nano", {"layers": 6, "width": 256}, "tpu7x-8", "float32", False, (512,)),
    ("shakespeare", "gpt-nano", {"layers": 6, "width": 256}, "v6e-1", "float32", False, (64,)),
    ("shakespeare", "gpt-mini", {}, "v4-8", "float32", True, (128,)),
    ("diamonds", "mlp", {"layers": 16, "width": 8192}, "v5litepod-1", "bfloat16", False, (16384,)),
    ("diamonds", "mlp", {"layers": 3, "width": 1024}, "tpu7x-8", "float32", False, (65536,)),
    ("digits", "small-cnn", {}, "v5litepod-1", "float32", False, (256,)),
    ("gpt-124m", "gpt-124m", {}, "v6e-1", "bfloat16", False, (8,)),
    ("gpt-124m", "gpt-124m", {}, "v5litepod-8", "bfloat16", True, (64, 256)),
    # From here on chips share the state out.
    ("gpt-124m", "gpt-124m", LARGE, "v5litepod-8", "bfloat16", True, (16, 64, 320)),
    ("gpt-124m", "gpt-124m", BILLIONS, "v5litepod-16", "bfloat16", True, (16, 64)),
    ("gpt-124m", "gpt-124m", WIDE, "v5litepod-8", "bfloat16", True, (32,)),
    ("gpt-124m", "gpt-124m", DEEP, "v5litepod-16", "bfloat16", True, (32,)),
    ("gpt-124m", "gpt-124m", LARGE, "v5litepod-8", "bfloat16", False, (64,)),
    ("gpt-124m", "gpt-124m", BILLIONS, "v5litepod-16", "bfloat16", False, (128,)),
    ("gpt-124m", "gpt-124m", WIDE, "v5litepod-8", "bfloat16", False, (64,)),
    ("gpt-124m", "gpt-124m", WIDE, "v5litepod-8", "float32", True, (16,)),
    ("diamonds", "mlp", {"layers": 20, "width": 8192}, "v5litepod-8", "float32", False, (8192,)),
)

# The memory model (planner/work.py) was adjusted with these in sight: the first rows, and the ones named. To no other.
FITTED_ROWS = 11
READ_OFF = (
    "gpt-124m vocabulary=50257 on gpt-124m, v6e-1, bfloat16, batch 8",
    "gpt-mini on shakespeare, v6e-1, bfloat16, batch 64",
    "gpt-nano on shakespeare, v5litepod-1, float32, recomputing, batch 64",  # recomputing: what counts, and which stand
    "gpt-nano on shakespeare, v5litepod-1, float32, recomputing, batch 256",  # beside each other
    "gpt-mini on shakespeare, v6e-1, float32, recomputing, batch 64",
    "gpt-mini on shakespeare, v5litepod-8, bfloat16, recomputing, batch 512",
    "gpt-124m vocabulary=50257 on gpt-124m, v5litepod-1, bfloat16, recomputing, batch 8",
    "gpt-124m vocabulary=50257 on gpt-124m, v5litepod-1, bfloat16, recomputing, batch 32",
    "small-cnn on sign-digits, v5litepod-8, float32, batch 512",  # examples are filled up on each device
    "gpt-mini on shakespeare, v5litepod-1, float32, batch 512",
    "gpt-mini on shakespeare, v5litepod-1, float32, batch 1024",
    "mlp layers=20 width=8192 on diamonds, v5litepod-1, float32, batch 1024",
    "gpt-124m vocabulary=50257 on gpt-124m, v5litepod-1, bfloat16, batch 16",
    "gpt-mini on shakespeare, v5litepod-1, bfloat16, batch 1024",
    "mlp layers=16 width=8192 on diamonds, v5litepod-1, bfloat16, batch 16384",
    # State that is shared out: which buffers the compiler has at once.
    "gpt-124m layers=36 width=1280 heads=20 vocabulary=50257 on gpt-124m, v5litepod-8, bfloat16, recomputing, batch 16",
    "gpt-124m layers=36 width=1280 heads=20 vocabulary=50257 on gpt-124m, v5litepod-8, bfloat16, recomputing, batch 64",
    "gpt-124m layers=36 width=1280 heads=20 vocabulary=50257 on gpt-124m, v5litepod-8, bfloat16, recomputing, "
    "batch 320",
    "gpt-124m layers=24 width=2560 heads=20 vocabulary=50257 on gpt-124m, v5litepod-16, bfloat16, recomputing, "
    "batch 64",
    "gpt-124m layers=12 width=1920 heads=15 vocabulary=50257 on gpt-124m, v5litepod-8, bfloat16, recomputing, batch 32",
    "gpt-124m layers=36 width=1280 heads=20 vocabulary=50257 on gpt-124m, v5litepod-8, bfloat16, batch 64",
    "mlp layers=20 width=8192 on diamonds, v5litepod-8, float32, batch 8192",
)
# More than 15 % off, and left so: what a refusal names is what the compiler had reached when it gave up, half of the
# program or all of it; a GPT whose blocks are wide for its 64 tokens; and dense layers whose state is shared out, of
# which the compiler keeps as many gathered as it likes (11 of 20 here, 20 of 20 on 16 chips), and the estimate counts
# all. The verdict on fitting is right at each.
FAR = (
    "gpt-nano layers=12 on shakespeare, v5litepod-1, bfloat16, batch 8192",
    "gpt-nano layers=6 width=256 on shakespeare, tpu7x-8, float32, batch 512",
    "gpt-nano layers=6 width=256 on shakespeare, v6e-1, float32, batch 64",
    "mlp layers=20 width=8192 on diamonds, v5litepod-8, float32, batch 8192",
)


def point_name(row: tuple[Any, ...], batch: int) -> str:
    example, model, options, accelerator, precision, recompute, _ = row
    more = "".join(f" {name}={value}" for name, value in options.items())
    return f"{model}{more} on {example}, {accelerator}, {precision}{', recomputing' * recompute}, batch {batch}"


def is_fitted(row: tuple[Any, ...], batch: int) -> bool:
    """Whether the memory model was adjusted with this point in sight."""
    return GRID.index(row) < FITTED_ROWS or point_name(row, batch) in READ_OFF


def plan_of(row: tuple[Any, ...], batch: int) -> Plan:
    """The plan of one point, without advice and without a clock."""
    example, model, options, accelerator, precision, recompute, _ = row
    job = load(EXAMPLES / f"{example}.tpujob")
    job = set_values(
        job,
        {
            "model.name": model,
            "model.options": dict(options),
            "where.place": "cloud",
            "training.framework": "jax",
            "where.accelerator": accelerator,
            "training.precision": precision,
            "training.rematerialize": recompute,
            "training.global_batch": batch,
            "training.steps_per_call": 4,
        },
    )
    return make_plan(job, look(job), now=1.0)


def ask(row: tuple[Any, ...], batches: tuple[int, ...], *, full: bool = False) -> list[dict[str, Any]]:
    """What the compiler says of *batches*. Raises RuntimeError: it said nothing of one of them."""
    plans = [plan_of(row, batch) for batch in batches]
    if len({plan.scored_at_once for plan in plans}) > 1:  # another program
        return [ask_of(plan, (batch,), full=full)[0] for plan, batch in zip(plans, batches, strict=True)]
    return ask_of(plans[0], batches, full=full)


def ask_of(
    plan: Plan, batches: tuple[int, ...], *, full: bool = False, program: tuple[str, ...] = CHECK
) -> list[dict[str, Any]]:
    """What the compiler says of the training step of *plan* with each of *batches*, asked by *program*.

    Raises:
        RuntimeError: It said nothing of one of them.
    """
    from tpu_studio.local.computer import trainer_environment
    from tpu_studio.local.engine import compiler, engine_root

    target = slice_of(plan)
    assert target is not None
    asked = {
        "plan": plan.to_json(),
        "target": target.to_json(),
        "matrix_unit": target.matrix_unit,
        "batches": list(batches),
        "full": full,
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "question.json"
        file.write_text(json.dumps(asked))
        done = subprocess.run(
            [str(compiler(engine_root()).python()), *program, "--question", str(file)],
            env=trainer_environment(),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    found = [line for line in told if line.get("answer") == "compiled-also"]
    if len(found) != len(batches):
        raise RuntimeError(f"{plan.job.model.id}, {plan.accelerator}: {told[-1:]} {done.stderr[-800:]}")
    return found


def print_errors() -> None:
    known = json.loads(GOLDEN.read_text())["points"]
    for fitted in (True, False):
        points = {point_name(row, batch): (row, batch) for row in GRID for batch in row[-1]}
        off = {
            name: plan_of(*point).memory.device_bytes / known[name]["device_bytes"] - 1
            for name, point in points.items()
            if is_fitted(*point) == fitted and name in known
        }
        sizes = sorted(map(abs, off.values()))
        print(
            f"{'fitted' if fitted else 'not fitted'}: {len(off)} points, median error {sizes[len(sizes) // 2]:.1%}, "
            f"largest {sizes[-1]:.1%}"
        )
        for name, error in off.items():
            print(f"  {error:+6.1%}  {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose names have this in them")
    parser.add_argument("--full", action="store_true", help="with the effort of training, printed, not kept")
    parser.add_argument("--errors", action="store_true", help="compile nothing; print the estimate's errors")
    asked = parser.parse_args()
    if asked.errors:
        print_errors()
        return 0
    known: dict[str, Any] = json.loads(GOLDEN.read_text())["points"] if GOLDEN.exists() else {}
    for row in GRID:
        batches = tuple(batch for batch in row[-1] if asked.only in point_name(row, batch))
        if not batches or (not asked.only and all(point_name(row, batch) in known for batch in batches)):
            continue
        begun = time.monotonic()
        for batch, told in zip(batches, ask(row, batches, full=asked.full), strict=True):
            kept = {name: told[name] for name in ("fits", "device_bytes", "limit_bytes", "parts", "flops")}
            estimate = plan_of(row, batch).memory.device_bytes
            share = estimate / told["device_bytes"]
            print(
                f"{point_name(row, batch)}: {told['device_bytes']:,} of {told['limit_bytes']:,}, "
                f"estimate {share:.2f}×, {told['seconds']:.0f} s",
                flush=True,
            )
            if not asked.full:
                known[point_name(row, batch)] = kept
        print(f"  {time.monotonic() - begun:.0f} s", flush=True)
        if GOLDEN.exists():  # another one may have added points meanwhile
            known = json.loads(GOLDEN.read_text())["points"] | known
        order = [point_name(row, batch) for row in GRID for batch in row[-1]]
        points = {name: known[name] for name in order if name in known}
        if not asked.full:
            GOLDEN.write_text(json.dumps({"jax": "0.10.2", "libtpu": "0.0.42.1", "points": points}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
