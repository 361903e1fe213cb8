"""Networks people bring along, ours against Keras's `fit` at its best: ResNet-50, ViT-S, BERT small, GPT mini. In JAX.

    python benchmarks/bench_families.py                  all, as benchmarks/run.py does: small, on this processor
    python benchmarks/bench_families.py --chip resnet    as on a chip: bfloat16, 224 pixels, large batches

The two picture networks are models of one's own (`models/` beside this file); the others are in the catalogue. `fit` is
called plainly and with several steps a call, the faster of the two counts in each round. With ``--chip`` JAX takes the
accelerator that it finds, whichever it is; no place of the program trains on a GPU, but the step is the one of a TPU.

Needs the training engine, or another Python that has all of it (TPU_STUDIO_BENCH_PYTHON).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_training import ROOT, Engine

HERE = Path(__file__).resolve().parent
SAMPLES = ROOT / "resources" / "samples"
ROUNDS = 5
GOAL = 0.97
COPIES = 8  # of all data: an epoch of the few that are shipped would be over after some large batches
TITLES = {"resnet": "ResNet-50", "vit": "ViT-S/16", "bert": "BERT small", "gpt": "GPT mini"}
FILES = {"resnet": "resnet50.py", "vit": "vit_small.py"}


def job_of(name: str, folder: Path, *, chip: bool) -> dict[str, Any]:
    """The job of *name*: on a chip as one would train there, else small enough for two cores."""
    pictures = {"kind": "images", "path": str(folder / "pictures"), "augment": False}
    pictures["image_size"] = 224 if chip else 96
    data: dict[str, dict[str, Any]] = {
        "resnet": pictures,
        "vit": pictures,
        "bert": {"kind": "text", "path": str(folder / "speeches.csv"), "sequence_length": 128},
        "gpt": {"kind": "text", "path": str(folder / "shakespeare.txt")},
    }
    models: dict[str, dict[str, Any]] = {
        "resnet": {"file": FILES["resnet"]},
        "vit": {"file": FILES["vit"]},
        "bert": {"name": "text-classifier", "options": {"layers": 4, "width": 512, "heads": 8}},
        "gpt": {"name": "gpt-mini"},
    }
    batch = {"resnet": 256, "vit": 256, "bert": 128, "gpt": 128} if chip else dict.fromkeys(TITLES, 4)
    training = {"framework": "jax", "evaluate_every": 10**9, "global_batch": batch[name]}
    where = {"place": "cloud", "accelerator": "v5litepod-1"} if chip else {"place": "computer"}
    return {"name": name, "model": models[name], "data": data[name], "training": training, "where": where}


def plan_of(name: str, folder: Path, *, chip: bool) -> bytes:
    from tpu_studio.data.look import look
    from tpu_studio.planner.make import make_plan
    from tpu_studio.wire import plan as plans
    from tpu_studio.wire.job import parse

    consent = ""
    _copies(folder)
    if name in FILES:
        text = (HERE / "models" / FILES[name]).read_bytes()
        (folder / FILES[name]).write_bytes(text)
        consent = hashlib.sha256(text).hexdigest()
    job = parse(job_of(name, folder, chip=chip), base=str(folder))
    plan = make_plan(job, look(job), now=time.time())
    return plans.dumps(replace(plan, consent=consent))


def _copies(folder: Path) -> None:
    """All data that is shipped, so many times over."""
    for path in sorted((SAMPLES / "sign-digits").glob("[0-9]/*")):
        (folder / "pictures" / path.parent.name).mkdir(parents=True, exist_ok=True)
        for number in range(COPIES):
            shutil.copy(path, folder / "pictures" / path.parent.name / f"{number}-{path.name}")
    head, *rows = (SAMPLES / "plays" / "speeches.csv").read_text("utf-8").splitlines()
    (folder / "speeches.csv").write_text("\n".join([head, *rows * COPIES]), "utf-8")
    text = (SAMPLES / "shakespeare" / "shakespeare.txt").read_text("utf-8")
    (folder / "shakespeare.txt").write_text(text * COPIES, "utf-8")


def run(names: list[str] | None = None, *, chip: bool = False) -> list[dict[str, Any]]:
    """One row per network: name, ours, peer, unit, ratio, goal, passed."""
    os.environ["TPU_STUDIO_BENCH_BUNDLE"] = "32" if chip else "4"
    rows = []
    for name in names or TITLES:
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.json"
            plan.write_bytes(plan_of(name, Path(folder), chip=chip))
            rows.append(_row(name, plan, seconds=2.0 if chip else 4.0))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def _row(name: str, plan: Path, *, seconds: float) -> dict[str, Any]:
    rates: dict[str, list[float]] = {"ours": [], "fit": [], "fit_best": []}
    with contextlib.ExitStack() as ends:
        ours, fit = Engine(plan, "ours"), Engine(plan, "fit")
        ends.callback(ours.close)
        ends.callback(fit.close)
        for number in range(ROUNDS + 1):
            order = list(rates)[number % 3 :] + list(rates)[: number % 3]
            for contender in order:
                rate = (ours if contender == "ours" else fit).ask(f"{contender} {seconds}")
                if number:  # the first round compiles
                    rates[contender].append(rate)
    best = [max(pair) for pair in zip(rates["fit"], rates["fit_best"], strict=True)]
    ratio = statistics.median(mine / theirs for mine, theirs in zip(rates["ours"], best, strict=True))
    return {
        "name": f"{TITLES[name]}, jax: our loop against fit at its best",
        "ours": round(statistics.median(rates["ours"]), 2),
        "peer": round(statistics.median(best), 2),
        "unit": "steps/s",
        "ratio": round(ratio, 3),
        "goal": GOAL,
        "passed": ratio >= GOAL,
    }


if __name__ == "__main__":
    words = sys.argv[1:]
    run([word for word in words if word in TITLES], chip="--chip" in words)
