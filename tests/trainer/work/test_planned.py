"""`plan` and the engine: a model of one's own is planned with what the engine counts in it, once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ENGINE_ROOT
from tests.fakes.waiting import PATIENCE_S

SOURCE = """\
import keras

def build_model(job):
    inputs = keras.Input(job.input_shape)
    return keras.Model(inputs, keras.layers.Dense(job.outputs)(keras.layers.Flatten()(inputs)))
"""
JOB = "[model]\nfile = 'model.py'\n[data]\nkind = 'digits'\n[training]\nepochs = 1\n"


def plan(folder: Path) -> dict[str, Any]:
    around = {**os.environ, "TPU_STUDIO_HOME": str(folder / "home"), "TPU_STUDIO_ENGINE": str(ENGINE_ROOT)}
    argv = [sys.executable, "-m", "tpu_studio", "plan", str(folder / "own.tpujob"), "--trust-code", "--json"]
    more = ["--no-measure", "--set", "where.place=colab"]
    done = subprocess.run([*argv, *more], env=around, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.engine
def test_a_model_of_ones_own_is_planned_with_what_the_engine_counts(engine_python: Path, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(SOURCE)
    (tmp_path / "own.tpujob").write_text(JOB)
    first = plan(tmp_path)
    assert "model-not-counted" not in {check["id"] for check in first["checks"]}
    (kept,) = (tmp_path / "home" / "models").iterdir()
    facts = json.loads(kept.read_bytes())
    assert (facts["params"], facts["flops"]) == (650, 2 * 2 * 640)  # 64 pixels, whose gradient nobody needs
    kept.write_text(json.dumps({**facts, "params": 7_000_000}))  # from here on that is what the engine has counted
    assert plan(tmp_path)["memory"]["device_bytes"] > first["memory"]["device_bytes"] + 60_000_000
