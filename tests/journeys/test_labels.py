"""From a folder with a table of labels to answers, by the real command line and the real training engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.labelled import NAMES, mosaics
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.wire.plan import read

ROOT = Path(__file__).resolve().parents[2]
JOB = """format = 1
name = "mosaics"

[model]
name = "small-cnn"
options = {{ blocks = 2, width = 8 }}

[data]
kind = "images"
path = "{path}"

[training]
steps = 200
global_batch = 16
framework = "tensorflow"
"""


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "tpu_studio", *map(str, arguments)]
    around = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(argv, env=around, capture_output=True, text=True, timeout=PATIENCE_S)


def told(*arguments: str | Path, code: int = 0) -> dict[str, Any]:
    done = command(*arguments, "--json")
    assert done.returncode == code, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.engine
@pytest.mark.slow
def test_from_a_folder_with_a_table_of_labels_to_answers(tmp_path: Path, home: Path, engine_python: Path) -> None:
    photos, job = tmp_path / "my photos", tmp_path / "mosaics.tpujob"
    wanted = dict(mosaics(photos, 200))
    job.write_text(JOB.format(path=photos))

    words = command("plan", job, "--no-measure")
    assert words.returncode == 0, words.stderr
    assert "“labels.csv” gives the pictures 4 labels: “zero”, “one”, “two”, “three”" in words.stdout
    assert "labels-read" in {check["id"] for check in told("plan", job, "--no-measure")["checks"]}

    run = told("run", job)["run"]
    seen = told("show", run)
    assert read(home / "runs" / run).task == "multi-label"
    assert seen["final"]["val_macro_f1"] > 0.6
    assert "val_macro_f1" in command("runs").stdout

    answers = told("predict", run, "--samples", "8")["answers"]
    for answer in answers:
        said = {one["name"]: one for one in answer["labels"]}
        assert set(said) == set(NAMES)
        assert all(one["yes"] == (one["probability"] >= 0.5) for one in said.values())
        labels = wanted[Path(answer["item"]).name]
        assert answer["label"] == (", ".join(labels) or "no label")
    assert any(sum(one["yes"] for one in answer["labels"]) > 1 for answer in answers)  # several at once
    asked = photos / next(name for name, labels in wanted.items() if len(labels) > 1)
    assert command("predict", run, asked).stdout.count("%") >= 1

    card = json.loads((home / "runs" / run / "result" / "model.json").read_text())
    assert [one["name"] for one in card["trained"]["labels"]] == list(NAMES)
    assert "Labels on unseen data" in (home / "runs" / run / "result" / "report.html").read_text()

    refused = command("export", run, "--as", "keras-script", "--to", tmp_path / "run.py")
    assert refused.returncode != 0 and "several labels each" in refused.stderr
    assert not (tmp_path / "run.py").exists()
    assert command("export", run, "--as", "safetensors", "--to", tmp_path / "run.safetensors").returncode == 0

    (photos / "labels.csv").write_text("file,beach\n../secret.png,1\n")
    refused = command("plan", job)
    assert refused.returncode == 2 and "names a file that is not in its folder" in refused.stderr
