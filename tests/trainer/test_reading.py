"""Pictures that do not lie in memory: other processes decode them, and it shows nowhere but in the time it takes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from PIL import Image

from tests.fakes.waiting import eventually
from tests.trainer.in_engine import engine_python, environment, run_in_engine
from tests.trainer.training import Training, curve, planned, put, train

pytestmark = [pytest.mark.engine]
PROGRAM = Path(__file__).with_name("program_reading.py")


def test_processes_that_decode_give_the_batches_that_the_trainer_would_decode_itself() -> None:
    told = run_in_engine(PROGRAM)
    assert told["found"] == dict.fromkeys(told["found"], True)
    assert len(told["found"]) == 5
    assert told["broken"] == told["here"]
    assert told["count"] == len(told["broken"]) >= 3  # those of the training side that were met
    assert told["many"] == "data-too-broken"
    assert told["left"] == 0


def test_a_killed_trainer_leaves_no_process_that_decodes() -> None:
    with subprocess.Popen(
        [str(engine_python()), str(PROGRAM), "--hold"], env=environment("jax"), stdout=subprocess.PIPE
    ) as trainer:
        assert trainer.stdout is not None
        assert trainer.stdout.readline() == b"reading\n"
        others = psutil.Process(trainer.pid).children(recursive=True)
        assert len(others) >= 2
        trainer.kill()
    eventually(lambda: not any(map(psutil.Process.is_running, others)), others)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for number in range(80):
        path = tmp_path / "photos" / ("dark" if number % 2 else "light") / f"{number:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 128 if number % 2 else 255, (30, 40, 3), dtype=np.uint8)).save(path)
    return tmp_path / "photos"


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_killed_while_it_reads_and_resumed_gives_the_same_losses_bit_for_bit(
    tmp_path: Path, framework: str, photos: Path
) -> None:
    tree: dict[str, Any] = {
        "name": "photos",
        "model": {"name": "small-cnn", "options": {"blocks": 1, "width": 4}},
        "data": {"kind": "images", "path": str(photos), "image_size": 24, "augment": True},
    }
    plan = planned(tree, framework=framework, global_batch=8, steps=60, checkpoint_every=10, evaluate_every=20)
    reads = {"LIGHT_ENGINE_READS": "1"}
    whole = train(put(tmp_path / "whole", plan), **reads)

    killed = Training(put(tmp_path / "killed", plan), environment=reads)
    with killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 20)
        others = psutil.Process(killed.process.pid).children(recursive=True)
        killed.kill()
    assert len(others) >= 2
    eventually(lambda: not any(map(psutil.Process.is_running, others)), others)
    resumed = train(tmp_path / "killed", 2, **reads)

    assert 20 <= resumed.kinds("resume")[0]["step"] < 60
    for name in ("loss", "grad_norm", "accuracy", "val_loss", "val_accuracy"):
        assert curve(killed, resumed, name=name) == curve(whole, name=name)
    assert sorted(curve(whole)) == list(range(1, 61))
