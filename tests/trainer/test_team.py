"""Two machines that train one model: the same as one machine, and an end when one of them drops out."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.waiting import PATIENCE_S
from tests.trainer.training import DIGITS, Training, curve, planned, put, train

pytestmark = [pytest.mark.engine, pytest.mark.slow]
WORKERS = 2
DEVICES = 4  # two of each worker
TOLERANCE = 1e-4  # of the loss: sums over devices are made in another order


@contextlib.contextmanager
def team(
    folder: Path,
    tree: Mapping[str, Any] = DIGITS,
    *,
    devices: int = WORKERS,
    check: str = "",
    cold: bool = False,
    **training: Any,
) -> Iterator[list[Training]]:
    """A trainer for each worker, each with a run folder of its own, as on machines of their own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{free.getsockname()[1]}"
    plan = planned(tree, devices=devices, framework="jax", **training)
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                Training(
                    put(folder / f"w{worker}", plan),
                    environment=reading(folder / f"w{worker}", check if worker else ""),
                    options=("--worker", str(worker), "--workers", str(WORKERS), "--coordinator", coordinator),
                    cold=cold,
                )
            )
            for worker in range(WORKERS)
        ]


def test_two_workers_train_what_one_trains_with_the_same_global_batch(tmp_path: Path) -> None:
    rhythm = {"steps": 64, "evaluate_every": 32, "checkpoint_every": 32}
    alone = train(put(tmp_path / "alone", planned(devices=WORKERS, framework="jax", **rhythm)))
    with team(tmp_path, cold=True, **rhythm) as workers:
        outcomes = [worker.outcome() for worker in workers]
    assert [outcome["reason"] for outcome in outcomes] == ["completed"] * WORKERS
    one, both = curve(alone), curve(workers[0])
    assert sorted(both) == list(range(1, 65))
    assert both == pytest.approx(one, rel=TOLERANCE)
    assert curve(workers[0], name="val_loss") == pytest.approx(curve(alone, name="val_loss"), rel=TOLERANCE)
    assert outcomes[0]["final"]["val_accuracy"] == outcomes[1]["final"]["val_accuracy"]
    assert not workers[1].kinds("metric") and not workers[1].kinds("phase")
    assert (tmp_path / "w0" / "result" / "model.keras").exists()
    assert not (tmp_path / "w1" / "result").exists()


SAYING = "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer.\n"
GPT = {"name": "gpt-nano", "options": {"layers": 1, "width": 32, "heads": 2, "dropout": 0.1}}
ROWS = [f"{index % 7},{index % 11},{(index % 7) * 2 + index % 11}" for index in range(400)]


def reading(run: Path, check: str = "") -> dict[str, str]:
    return {"LIGHT_ENGINE_READ": str(run / "read.json"), "LIGHT_ENGINE_CHECK": check}


@pytest.mark.parametrize(
    "kind",
    [
        "varied pictures",
        pytest.param("text", marks=pytest.mark.thorough),
        pytest.param("rows", marks=pytest.mark.thorough),
    ],
)
def test_each_worker_reads_its_share_of_every_batch_and_all_learn_what_one_learns(kind: str, tmp_path: Path) -> None:
    (tmp_path / "saying.txt").write_text(SAYING * 200)  # windows start at drawn places
    (tmp_path / "rows.csv").write_text("\n".join(["one,two,sum", *ROWS]))
    tree: dict[str, Any] = {
        "text": {"model": GPT, "data": {"kind": "text", "path": str(tmp_path / "saying.txt")}},
        "varied pictures": {**DIGITS, "data": {"kind": "digits", "augment": True}, "training": {"mix": "cutmix"}},
        "rows": {
            "model": DIGITS["model"],
            "data": {"kind": "table", "path": str(tmp_path / "rows.csv"), "target": "sum"},
        },
    }[kind]
    rhythm = {"steps": 12, "evaluate_every": 6, "checkpoint_every": 12, "global_batch": 16, "accumulate": 2}
    with Training(
        put(tmp_path / "alone", planned(tree, devices=DEVICES, framework="jax", **rhythm)),
        environment=reading(tmp_path / "alone"),
    ) as alone:
        assert alone.outcome()["reason"] == "completed"
    with team(tmp_path, tree, devices=DEVICES, **rhythm) as workers:
        assert [worker.outcome()["reason"] for worker in workers] == ["completed"] * WORKERS
    for name in ("loss", "val_loss", *(("val_r2", "val_mae") if kind == "rows" else ())):
        assert len(curve(alone, name=name)) >= 2
        assert curve(workers[0], name=name) == pytest.approx(curve(alone, name=name), rel=TOLERANCE)
    whole, *shares = (json.loads((tmp_path / run / "read.json").read_text()) for run in ("alone", "w0", "w1"))
    assert whole["train"] == 16
    assert shares == [{name: examples // WORKERS for name, examples in whole.items()}] * WORKERS


def test_a_stop_of_worker_0_ends_all_at_one_step(tmp_path: Path) -> None:
    with team(tmp_path, steps=200_000, evaluate_every=640, checkpoint_every=640) as workers:
        workers[0].until_step(50)
        for worker in reversed(workers):
            worker.tell(verb="stop", keep=True)
        outcomes = [worker.outcome() for worker in workers]
    assert [outcome["reason"] for outcome in outcomes] == ["stopped-by-user"] * WORKERS
    assert outcomes[0]["steps"] == outcomes[1]["steps"] >= 50


def test_a_worker_that_is_killed_ends_the_training_with_its_reason(tmp_path: Path) -> None:
    with team(tmp_path, steps=200_000, evaluate_every=640, checkpoint_every=640) as workers:
        workers[0].until_step(50)
        workers[1].kill()
        outcome = workers[0].outcome()
    assert (outcome["status"], outcome["reason"]) == ("failed", "worker-lost")


def test_a_worker_that_dies_in_the_first_check_ends_the_training_with_its_reason(tmp_path: Path) -> None:
    with team(tmp_path, steps=200_000, evaluate_every=64, checkpoint_every=64, check="dies") as workers:
        outcome = workers[0].outcome()
    assert (outcome["status"], outcome["reason"]) == ("failed", "worker-lost")
    assert not curve(workers[0], name="val_loss")


def test_what_goes_wrong_on_one_worker_alone_is_the_reason_that_worker_0_tells(tmp_path: Path) -> None:
    with team(tmp_path, steps=200_000, evaluate_every=64, checkpoint_every=64, check="broken") as workers:
        outcomes = [worker.outcome() for worker in workers]
    assert [outcome["reason"] for outcome in outcomes] == ["data-broken"] * WORKERS
    assert (outcomes[0]["facts"]["worker"], outcomes[0]["facts"]["count"]) == (1, 9)


UNSEEDED = """\
import keras
import numpy as np


def build_model(job):
    start = np.random.default_rng().normal(size=(64, 10)).astype("float32")
    return keras.Sequential([
        keras.layers.Input(job.input_shape), keras.layers.Flatten(),
        keras.layers.Dense(10, kernel_initializer=lambda shape, dtype=None: keras.ops.convert_to_tensor(start, dtype)),
    ])
"""


def test_a_model_that_begins_differently_on_each_machine_is_refused_by_all(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text(UNSEEDED)
    own = {**DIGITS, "model": {"file": str(file)}}
    consent = hashlib.sha256(UNSEEDED.encode()).hexdigest()
    with team(tmp_path, own, consent=consent, steps=64, evaluate_every=32, checkpoint_every=32) as workers:
        outcomes = [worker.outcome() for worker in workers]
    assert [outcome["facts"]["error"] for outcome in outcomes] == ["model-differs"] * WORKERS
    assert [outcome["steps"] for outcome in outcomes] == [0] * WORKERS


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/net")
def test_workers_of_one_computer_are_heard_on_loopback_only(engine_python: Path) -> None:
    script = (
        "import socket\n"
        "from pathlib import Path\n"
        "from tpu_studio.trainer.team import Team\n"
        "with socket.socket() as free:\n"
        "    free.bind(('127.0.0.1', 0))\n"
        "    port = free.getsockname()[1]\n"
        "team = Team(1, 0, f'127.0.0.1:{port}')\n"
        "team.join(on_processors=True)\n"
        "lines = [line.split() for name in ('tcp', 'tcp6') for line in Path('/proc/net', name).open()]\n"
        "print([line[1] for line in lines if line[1].endswith(f':{port:04X}') and line[3] == '0A'])\n"
        "team.part()\n"
    )
    root = Path(__file__).resolve().parents[2]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(root), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [engine_python, "-c", script], capture_output=True, env=environment, timeout=PATIENCE_S, check=True
    )
    addresses = ast.literal_eval(done.stdout.decode().splitlines()[0])
    assert addresses
    assert all("0100007F:" in address for address in addresses), addresses
