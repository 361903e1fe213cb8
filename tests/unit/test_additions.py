"""“To add X, touch Y”: a copy of the package with one more of each thing, in as many files as CONTRIBUTING.md says.

The copy is planned with, its form is filled, its Run page's numbers are made, and a run is begun at its place, each in
a process of its own: nothing but the files below differs from what ships.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("added.py")
MOST = {
    "hyperparameter": 2,
    "family": 2,
    "data kind": 3,
    "metric": 2,
    "place": 3,
    "generation": 1,
    "framework": 3,  # besides its packages, in resources/engine/wanted.txt and what is locked from that
}
RESOURCES = "resources/"


@dataclass(frozen=True)
class Put:
    """*text* after the one line that begins with *after*; a file of its own without one. *imports*: a line in place of
    the one that begins alike."""

    text: str
    after: str = ""
    imports: str = ""


ADDITIONS = {
    "hyperparameter": {
        "wire/schema.py": Put(
            '    momentum: float = key(0.9, "Momentum", minimum=0.0, maximum=1.0, group="learning")\n',
            '    """How it learns."""',
        ),
        "trainer/recipe.py": Put(
            "        momentum=job.training.momentum,\n", "        optimizer=job.training.optimizer,"
        ),
    },
    "family": {
        "wire/families.py": Put(
            """    Family(
        "linear", "layers", "mlp", compile_s=2.0, steps_per_epoch=100, batch_least=32, batch_most=512,
        learning_rate=1e-3, warmup=0.1, weight_decay=0.0, epochs=((ALL, 5),), steps_per_call=8, builder="linear",
        models=(
            ModelSpec(
                "one-layer", "One layer", "linear", ("picture", "row"), ("classification", "regression"),
                "The smallest model there is.", (Option("width", 8, 1, 64, "Numbers in between."),),
            ),
        ),
    ),
""",
            "_FAMILIES = (",
        ),
        "trainer/models/linear.py": Put(
            """import keras


def build(shapes, options, seed, plan):
    inputs = keras.Input(shapes.input, dtype=shapes.dtype, name="input")
    x = keras.layers.Flatten()(keras.ops.cast(inputs, "float32"))
    return keras.Model(inputs, keras.layers.Dense(shapes.outputs, dtype="float32")(x))
"""
        ),
    },
    "metric": {
        "wire/metrics.py": Put(
            """    Metric(
        "val_error", "Errors", "errors", "Wrong on unseen", "share", unseen=True, beside=("classification",),
        means="How many of a hundred it gets wrong.",
    ),
""",
            "_METRICS = (",
        ),
        "trainer/evaluation.py": Put(
            '    values["val_error"] = 1.0 - values["val_accuracy"]\n', '    values["val_accuracy"] = '
        ),
    },
    "data kind": {
        "wire/kinds.py": Put(
            """    DataKind(
        "marks", "Marks", "A .marks file", "grid-3x3", "picture", "marks", "marks", "marks", "file",
        tasks=("classification",), endings=(".marks",), model="small-cnn", drop=("Drop marks", "A file.", "Choose…"),
    ),
""",
            "_KINDS = (",
        ),
        "data/marks.py": Put(
            """import numpy as np

from tpu_studio.data.looked import Look
from tpu_studio.data.opened import ArraySource, Opened
from tpu_studio.data.paths import data_path


def _rows(job):
    rows = np.loadtxt(data_path(job), dtype=np.uint8)
    return rows[:, 1:].reshape(-1, 8, 8, 1), rows[:, 0].astype(np.int32)


def look(job, watch):
    images, labels = _rows(job)
    kept = len(images) // 5
    classes = tuple((str(one), int((labels == one).sum())) for one in sorted(set(labels.tolist())))
    return Look(
        "marks", "classification", examples=len(images), train=len(images) - kept, validation=kept, classes=classes,
        input_shape=(8, 8, 1), outputs=len(classes), image_size=8,
    )


def open_marks(job, *_):
    images, labels = _rows(job)
    kept = len(images) // 5
    description = {
        "kind": "marks", "task": "classification", "image_size": 8, "channels": 1, "value_max": 255,
        "classes": [str(one) for one in sorted(set(labels.tolist()))], "input_shape": [8, 8, 1], "outputs": 2,
    }
    sides = [ArraySource({"x": images[one], "y": labels[one]}) for one in (slice(kept, None), slice(kept))]
    return Opened("classification", *sides, description)


def fingerprint(job):
    return str(data_path(job).stat().st_size)
"""
        ),
        "data/readers.py": Put(
            '    "marks": Reader(marks.look, marks.open_marks, marks.fingerprint, _text_files),\n',
            "_READERS = {",
            "from tpu_studio.data import described, digits, images, marks, shards, tables, texts\n",
        ),
    },
    "place": {
        "wire/places.py": Put(
            """    Place(
        "shed", "The shed", "the shed", "laptop", "shed", free=True, tab="Shed", promise=("It stays dry", "Always."),
    ),
""",
            "_PLACES = (",
        ),
        "planner/places/shed.py": Put(
            """from tpu_studio.planner.places import computer
from tpu_studio.wire.planparts import PlanPrice


class ShedPlanner(computer.ComputerPlanner):
    def price(self, sized):
        return PlanPrice(None, 0.25, "the farmer")


PLANNER = ShedPlanner()
"""
        ),
        "workflow/places/shed.py": Put(
            """from tpu_studio.workflow.places import notebook


class ShedRuns(notebook.NotebookRuns):
    def ready(self, plan, *, notebook):
        return self._desktop.clock.now()

    def begin(self, folder, plan, *, beside, now):
        return self._desktop.queue(folder, plan, now, "the-farmer-is-asked")


RUNS = ShedRuns
"""
        ),
    },
    "generation": {
        "resources/catalogue/generations.json": Put(
            """  {
   "id": "v9z", "aliases": ["Zedoary"], "offered": true, "status": "of a test", "in_short": "for a test", "rank": 9,
   "interconnect": "2D torus", "control_plane": "cloud-tpu", "api_type": "V9Z", "name_counts": "chips",
   "max_chips": 4, "compute_image": "", "compiles": true, "serving_chips": [],
   "figures": {
    "peak_bf16": {"value": 400, "unit": "TFLOP/s per chip", "source": "v6e_doc", "date": "2026", "confidence": "low"},
    "hbm": {"value": 24, "unit": "GiB per chip", "source": "v6e_doc", "date": "2026", "confidence": "low"},
    "hbm_per_device": {"value": 24, "unit": "GiB", "source": "v6e_doc", "date": "2026", "confidence": "low"},
    "hbm_rate": {"value": 900, "unit": "GB/s per chip", "source": "v6e_doc", "date": "2026", "confidence": "low"},
    "devices_per_chip": {"value": 1, "unit": "devices", "source": "v6e_doc", "date": "2026", "confidence": "low"},
    "matrix_unit": {"value": 128, "unit": "rows", "source": "v6e_doc", "date": "2026", "confidence": "low"},
    "program": {"value": 23.5, "unit": "GiB", "source": "v6e_doc", "date": "2026", "confidence": "low"}
   },
   "machine_types": [
    {"machine_type": "ct9z-standard-4t", "chips": 4, "vcpu": 96, "ram_gb": 200, "confidence": "low"}
   ],
   "slices": [
    {"accelerator_type": "v9z-4", "chips": 4, "topology": "2x2", "vms": 1, "devices": 4, "confidence": "low",
     "note": ""}
   ],
   "zones": [
    {"zone": "us-west4-a", "min_chips": 4, "max_chips": 4, "listed": true, "tiers": ["on-demand", "spot"]}
   ],
   "software": {"jax": {"state": "documented", "why": "", "image": "v2-alpha-tpuv9z", "runtime": "v2-alpha-tpuv9z"}},
   "quotas": [
    {"tier": "on-demand", "zone": "TPUV9ZPerProjectPerZoneForTPUAPI", "region": "TPUV9ZPerProjectPerRegionForTPUAPI"}
   ],
   "prices": [
    {"region": "us-west4", "tier": "on-demand", "min_chips": 4, "max_chips": 4, "usd_per_chip_hour": 1.5,
     "as_of": "2026-11-21", "source": "skypilot_v9", "confidence": "low", "note": ""}
   ]
  },
""",
            ' "generations": [',
        ),
    },
    "framework": {
        "wire/frameworks.py": Put(
            """    ),
    Framework(
        "plain", "Plain", ("numpy",), compiler="", on_tpu="numpy", leads_on_chip=False, is_traced=False,
        writes_saved_model=False, chip_environment={}, cache_environment={}, step_overhead_s=0.001, start_s=1.0,
        result_s=1.0, slower_convolution=9.0, resident_bytes=100 << 20,
""",
            "        resident_bytes=500 << 20,",
        ),
        "trainer/frameworks/on_plain.py": Put(
            """from tpu_studio.trainer.frameworks import Devices, Way


def devices(plan):
    return Devices(1, 1, "cpu")


def way(plan, *, slow_convolutions):
    return Way(False, 4)


def make_steps(plan, model, recipe, shape, chosen):
    from tpu_studio.trainer.step_plain import PlainSteps

    return PlainSteps()
"""
        ),
        "trainer/step_plain.py": Put(
            """import numpy as np


class PlainSteps:
    compiles = 0

    def __init__(self):
        self.weights = np.zeros((64, 10))

    def _looked(self, batch):
        x = batch["x"].reshape(len(batch["x"]), -1) / 16.0
        scores = np.exp(x @ self.weights)
        chances = scores / scores.sum(1, keepdims=True)
        return x, chances, -np.log(chances[np.arange(len(x)), batch["y"]]), chances.argmax(1) == batch["y"]

    def train(self, stack, rates, first, count):
        told = {"loss": [], "grad_norm": [], "accuracy": []}
        for step in range(count):
            batch = {name: values[step] for name, values in stack.items()}
            x, chances, loss, right = self._looked(batch)
            gradient = x.T @ (chances - np.eye(10)[batch["y"]]) / len(x)
            self.weights -= rates[step] * gradient
            for name, value in zip(told, (loss.mean(), np.linalg.norm(gradient), right.mean())):
                told[name].append(value)
        return told

    def fetch(self, handle):
        return {name: np.asarray(values) for name, values in handle.items()}

    def evaluate(self, batch):
        _, _, loss, right = self._looked(batch)
        weight = batch["weight"]
        return {"loss": (loss * weight).sum(), "total": weight.sum(), "right": (right * weight).sum()}

    def fetch_evaluation(self, handle):
        return handle

    def share(self, batch):
        return None

    def snapshot(self):
        return {"weights": self.weights.copy()}

    def restore(self, arrays):
        self.weights = arrays["weights"].copy()
"""
        ),
    },
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as it ships, without what Python keeps of it."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(ROOT / "tpu_studio", folder / "tpu_studio", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "resources").mkdir()
    for part in (ROOT / "resources").iterdir():
        if part.name != "catalogue":
            (folder / "resources" / part.name).symlink_to(part)
    shutil.copytree(ROOT / "resources" / "catalogue", folder / "resources" / "catalogue")
    return folder


def _at(folder: Path, file: str) -> Path:
    return folder / file if file.startswith(RESOURCES) else folder / "tpu_studio" / file


def _add(folder: Path, name: str) -> Path:
    """*folder* with the files of an addition changed."""
    for file, put in ADDITIONS[name].items():
        path = _at(folder, file)
        assert path.exists() == bool(put.after)
        if not put.after:
            path.write_text(put.text)
            continue
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        begun = put.imports.partition(" import ")[0] + " import "
        lines = [put.imports if put.imports and line.startswith(begun) else line for line in lines]
        (at,) = (number for number, line in enumerate(lines) if line.startswith(put.after))
        path.write_text("".join([*lines[: at + 1], put.text, *lines[at + 1 :]]), encoding="utf-8")
    return folder


def _told(folder: Path, name: str, home: Path) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "TPU_STUDIO_HOME": str(home)}
    argv = [sys.executable, str(PROGRAM), name.replace(" ", "_"), str(home)]
    done = subprocess.run(argv, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert told.pop("package") == str(folder / "tpu_studio")
    return told


WORKS: dict[str, dict[str, Any]] = {
    "hyperparameter": {"planned": 0.5, "field": "Momentum", "group": "Learning", "recipe": 0.5, "step": True},
    "family": {"offered": True, "fits": True, "batch": True, "options": {"width": 8}},
    "metric": {"more": "errors 12%", "hover": "How many of a hundred it gets wrong.", "measured": 0.5},
    "data kind": {"guessed": "marks", "planned": "marks", "model": "small-cnn", "card": "Marks", "trained": [8, 2]},
    "place": {"tab": True, "usd_per_hour": 0.25, "charged": True, "status": "queued", "detail": "the-farmer-is-asked"},
    "generation": {
        "choice": "v9z",
        "size": "v9z-4",
        "title": "v9z · 4 chips",
        "limit_gib": 23.5,
        "usd_per_hour": 6.0,
        "zones": ["us-west4-a"],
        "timed": True,
        "blocking": False,
        "runtime": "v2-alpha-tpuv9z",
        "environment": "jax",
        "account": ["v9z", "for a test"],
        "drawn": ["v9z", 4],
        "lent": True,
        "limit": True,
        "priced": 1.5,
    },
    "framework": {
        "planned": "plain",
        "choice": "Plain",
        "card": True,
        "fits": True,
        "timed": True,
        "refused": True,
        "learns": True,
        "right": True,
        "per_call": 4,
    },
}


@pytest.mark.parametrize("name", ADDITIONS)
def test_one_more_works_in_the_files_that_the_map_names(name: str, copied: Path, tmp_path: Path) -> None:
    files = {file: _at(copied, file).read_text() for file, put in ADDITIONS[name].items() if put.after}
    try:
        assert _told(_add(copied, name), name, tmp_path / "home") == WORKS[name]
    finally:
        for file in ADDITIONS[name]:
            _at(copied, file).unlink()
        for file, text in files.items():
            _at(copied, file).write_text(text)


@pytest.mark.parametrize("name", ADDITIONS)
def test_the_map_of_contributing_names_these_files(name: str) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {name} \| (.*) \|$", text, re.MULTILINE)
    named = [
        re.compile(re.sub(r"<[a-z]+>", "[a-z]+", re.escape(file).replace(r"\<", "<").replace(r"\>", ">")))
        for file in re.findall(r"`([a-z_/<>]+\.(?:py|json))`", row)
    ]
    assert len(ADDITIONS[name]) == len(named) <= MOST[name]
    assert all(any(pattern.fullmatch(file) for pattern in named) for file in ADDITIONS[name])
