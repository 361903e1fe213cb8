"""What a larger batch costs in quality: a GPT at several batches, the loss on unseen text after equal tokens.

    python benchmarks/equal_tokens.py TEXT MODEL BATCH…      JSON, a line a batch

By hand, not by `make bench`: GPT-2 small wants an accelerator for minutes. All but the batch is `auto` for v5litepod-1,
the rate with it. JAX takes the accelerator that it finds; that it is a TPU is not asked. Prints what was evaluated.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CHECKS = 8  # over the whole run


def plan_of(text: Path, model: str, batch: int) -> bytes:
    from tpu_studio.data.look import look
    from tpu_studio.planner.make import make_plan
    from tpu_studio.wire import plan as plans
    from tpu_studio.wire.job import parse

    training = {"framework": "jax", "epochs": 1, "global_batch": batch, "checkpoint_every": 10**9}
    job = {
        "name": "equal-tokens",
        "model": {"name": model},
        "data": {"kind": "text", "path": str(text)},
        "where": {"place": "cloud", "accelerator": "v5litepod-1"},
    }
    seen = look(parse({**job, "training": training}, base=str(text.parent)))
    plan = make_plan(parse({**job, "training": training}, base=str(text.parent)), seen, now=time.time())
    training["evaluate_every"] = max(1, plan.steps // CHECKS)
    return plans.dumps(make_plan(parse({**job, "training": training}, base=str(text.parent)), seen, now=time.time()))


def train(run: Path) -> None:
    """One attempt, on whatever accelerator there is. Its events go to stdout."""
    from tpu_studio.trainer import backend, program
    from tpu_studio.trainer.words import Events, take_stdout

    backend.needs_a_tpu = lambda plan: False
    backend.check_devices = lambda plan, workers=1: None
    program.Attempt._finish = _outcome  # type: ignore[method-assign, assignment]
    events = Events(take_stdout())
    program.Attempt(run, 1, 0, events).go()
    events.flush()


def _outcome(attempt: Any, plan: Any, parts: Any, loop: Any, reason: Any, facts: Any) -> Any:
    """A result is not written: its formats want more than the framework."""
    from tpu_studio.trainer.outcomes import Outcome

    return Outcome(reason, loop.progress.step, loop.final(), facts)


def _ended(argv: list[str]) -> subprocess.CompletedProcess[str]:
    """*argv* run to its end, with an input that stays open: its end would say that the guardian is gone."""
    env = os.environ | {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert process.stdout is not None
        out = process.stdout.read()
        code = process.wait()
        errors.seek(0)
        return subprocess.CompletedProcess(argv, code, out, errors.read())


def main(argv: list[str]) -> None:
    if argv[0] == "--child":
        train(Path(argv[1]))
        return
    text, model, *batches = argv
    python = os.environ.get("TPU_STUDIO_BENCH_PYTHON") or sys.executable
    for batch in map(int, batches):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "plan.json").write_bytes(plan_of(Path(text).resolve(), model, batch))
            plan = json.loads((Path(folder) / "plan.json").read_bytes())["job"]["training"]
            begun = time.monotonic()
            ended = _ended([python, __file__, "--child", folder])
            events = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
            row = {"batch": batch, "rate": plan["learning_rate"], "seconds": round(time.monotonic() - begun, 1)}
            row["val_loss"] = {
                step: loss
                for event in events
                if event["kind"] == "metric" and "val_loss" in event
                for step, loss in zip(event["step"], event["val_loss"], strict=True)
            }
            if ended.returncode:
                row["error"] = ended.stderr[-2000:]
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main(sys.argv[1:])
