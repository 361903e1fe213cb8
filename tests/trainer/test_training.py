"""One attempt as a process: what it tells, what it obeys, what it leaves on the disk, how it ends."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import resource
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.in_engine import ROOT
from tests.trainer.training import DIGITS, Training, curve, planned, put, train
from tpu_studio.wire import frameworks
from tpu_studio.wire import plan as plans

pytestmark = [pytest.mark.engine, pytest.mark.slow]
CHIPS = frameworks.for_chips().chip_environment["JAX_PLATFORMS"]
LONG = {"framework": "jax", "steps": 200_000, "checkpoint_every": 640, "evaluate_every": 640}
CNN = {
    "name": "digits",
    "model": {"name": "small-cnn", "options": {"blocks": 2, "width": 8, "dropout": 0.0}},
    "data": {"kind": "digits"},
}


PLAIN = {**DIGITS, "model": {"name": "mlp", "options": {"width": 32, "layers": 2, "dropout": 0.0}}}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """One run that is over, for all who only look at it or work on a copy (`of`)."""
    plan = planned(framework="jax", steps=88, evaluate_every=44, checkpoint_every=44)
    return train(put(tmp_path_factory.mktemp("finished"), plan))


def of(finished: Training, folder: Path) -> Path:
    """A copy of its run folder."""
    return shutil.copytree(finished.run, folder / "run")


@pytest.fixture(scope="module")
def one_device(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Training]:
    """``one_device(framework)``: a training without chance, on one device, each step in one part."""
    folder = tmp_path_factory.mktemp("one")
    return functools.cache(lambda name: train(put(folder / name, planned(PLAIN, **rhythm(name)))))


def rhythm(framework: str) -> dict[str, Any]:
    return {"framework": framework, "steps": 40, "evaluate_every": 20, "checkpoint_every": 20, "global_batch": 32}


def states(run: Path) -> list[int]:
    return sorted(int(path.parent.name) for path in run.glob("checkpoints/*/COMMITTED"))


@pytest.mark.parametrize("framework", ["tensorflow", "jax"])
def test_a_run_tells_its_phases_every_step_and_its_outcome_and_leaves_a_result(tmp_path: Path, framework: str) -> None:
    plan = planned(framework=framework, steps=500, evaluate_every=100, checkpoint_every=200)
    done = train(put(tmp_path, plan), whole=True)
    assert list(dict.fromkeys(event["phase"] for event in done.kinds("phase"))) == [
        "setting-up",
        "compiling",
        "training",
        "saving",
    ]
    assert sorted(curve(done)) == list(range(1, 501))
    for name in ("accuracy", "grad_norm", "learning_rate"):
        assert sorted(curve(done, name=name)) == list(range(1, 501))
    assert sorted(curve(done, name="val_accuracy")) == [100, 200, 300, 400, 500]
    outcome = done.events[-1]
    assert (outcome["kind"], outcome["status"], outcome["reason"], outcome["steps"]) == (
        "outcome",
        "finished",
        "completed",
        500,
    )
    assert outcome["final"]["val_accuracy"] > 0.9
    assert (
        sum(event["steps"] for event in done.kinds("speed")) + 32 >= 500
    )  # the first call compiles and is not counted
    assert done.process.returncode == 0
    assert states(tmp_path)[-1] == 500
    assert len(states(tmp_path)) == 2
    assert (tmp_path / "result" / "model.keras").exists()
    assert (tmp_path / "result" / "saved_model" / "saved_model.pb").exists()


def test_a_checkpoint_holds_named_arrays_and_the_sums_of_its_files(finished: Training) -> None:
    folder = finished.run / "checkpoints" / "00000088"
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest["step"] == 88
    for name, told in manifest["sha256"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == told
    head = (folder / "state.safetensors").read_bytes()
    names = set(json.loads(head[8 : 8 + int.from_bytes(head[:8], "little")])) - {"__metadata__"}
    assert {"weights/hidden_0/kernel", "optimizer/m/hidden_0/kernel", "optimizer/v/answer/bias"} <= names
    assert any(name.startswith("others/seed_generator") for name in names)


@pytest.mark.parametrize(
    ("one", "other"), [("tensorflow", "jax"), pytest.param("jax", "tensorflow", marks=pytest.mark.thorough)]
)
def test_a_checkpoint_of_one_framework_opens_in_the_other_with_equal_evaluation(
    tmp_path: Path, one: str, other: str
) -> None:
    plan = planned(CNN, framework=one, steps=40, evaluate_every=20, checkpoint_every=20)
    first = train(put(tmp_path, plan))
    put(tmp_path, planned(CNN, framework=other, steps=40, evaluate_every=20, checkpoint_every=20))
    control(tmp_path, 1, epochs=1 / plan.steps_per_epoch)  # one more step, at a rate that changes next to nothing
    second = train(tmp_path, 2)
    assert second.kinds("resume")[0]["step"] == 40
    assert second.events[-1]["reason"] == "completed"
    assert curve(second, name="val_loss")[41] == pytest.approx(curve(first, name="val_loss")[40], rel=0.05)
    assert curve(second)[41] == pytest.approx(curve(first)[40], rel=0.5)


def table(folder: Path) -> dict[str, Any]:
    """A table whose last column is the sum of the others: a far too large rate lets its weights grow without bounds."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [f"{n % 7},{n % 11},{n % 7 + n % 11}" for n in range(2000)]
    (folder / "rows.csv").write_text("a,b,sum\n" + "\n".join(rows))
    return {
        "model": {"name": "mlp", "options": {"width": 16, "layers": 1}},
        "data": {
            "kind": "table",
            "path": str(folder / "rows.csv"),
            "target": "sum",
            "task": "regression",
            "columns": {"a": "number", "b": "number"},
        },
    }


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_a_loss_that_is_no_number_stops_the_run_within_a_report(tmp_path: Path, framework: str) -> None:
    plan = planned(
        table(tmp_path / "data"),
        framework=framework,
        steps=5000,
        optimizer="sgd",
        learning_rate=50.0,
        schedule="constant",
        clip_norm=0.0,
        warmup=0.0,
        evaluate_every=320,
        checkpoint_every=320,
    )
    done = train(put(tmp_path, plan))
    outcome = done.events[-1]
    assert (outcome["status"], outcome["reason"]) == ("failed", "loss-not-finite")
    step = outcome["facts"]["step"]
    assert step < 320
    assert max(curve(done)) == step
    assert "lower-learning-rate" in outcome["facts"]["suggestions"]
    assert done.process.returncode == 3


def test_rollback_goes_back_to_the_last_good_copy_with_half_the_rate_three_times_at_most(tmp_path: Path) -> None:
    plan = planned(
        table(tmp_path / "data"),
        framework="jax",
        steps=5000,
        optimizer="sgd",
        learning_rate=50.0,
        schedule="constant",
        clip_norm=0.0,
        warmup=0.0,
        evaluate_every=320,
        checkpoint_every=320,
        on_nan="rollback",
    )
    done = train(put(tmp_path, plan))
    told = [event["facts"] for event in done.kinds("notice") if event["id"] == "rolled-back"]
    assert [facts["rollbacks"] for facts in told] == [1, 2, 3]
    assert [facts["learning_rate"] for facts in told] == pytest.approx([25.0, 12.5, 6.25], rel=0.01)
    assert [event["step"] for event in done.kinds("resume")] == [facts["to_step"] for facts in told]
    assert done.events[-1]["reason"] == "loss-not-finite"


def test_early_stopping_ends_when_checks_no_longer_improve_and_keeps_the_best(tmp_path: Path) -> None:
    plan = planned(
        framework="jax",
        steps=20_000,
        learning_rate=0.02,
        schedule="constant",
        early_stopping=3,
        evaluate_every=32,
        checkpoint_every=64,
    )
    done = train(put(tmp_path, plan))
    outcome = done.events[-1]
    assert (outcome["status"], outcome["reason"]) == ("finished", "early-stopped")
    assert outcome["steps"] < 20_000
    best = outcome["facts"]["best_step"]
    assert outcome["steps"] == best + 3 * 32
    assert best in states(tmp_path)
    assert outcome["final"]["val_accuracy"] == pytest.approx(max(curve(done, name="val_accuracy").values()), abs=1e-6)


def control(run: Path, number: int, **fields: Any) -> None:
    (run / "control").mkdir(exist_ok=True)
    (run / "control" / f"{number:06d}.json").write_text(json.dumps({"verb": "extend", **fields}))


def test_extending_a_finished_run_is_a_new_attempt_on_the_same_curve(finished: Training, tmp_path: Path) -> None:
    run = of(finished, tmp_path)
    control(run, 1, epochs=2)
    second = train(run, 2)
    target = 88 + round(2 * plans.loads((run / "plan.json").read_bytes()).steps_per_epoch)
    assert second.kinds("resume") == [{**second.kinds("resume")[0], "step": 88, "attempt": 2}]
    assert second.events[-1]["steps"] == target
    assert sorted(curve(finished, second)) == list(range(1, target + 1))


def test_extending_while_it_runs_moves_the_end_once(tmp_path: Path) -> None:
    plan = planned(framework="jax", steps=20_000, evaluate_every=10_000, checkpoint_every=10_000)
    training = Training(put(tmp_path, plan))
    with training:
        training.until_step(10)
        control(tmp_path, 1, epochs=2)
        training.tell(verb="extend", epochs=2, number=1)
        told = training.until(lambda event: event["kind"] == "target" and event["steps"] > 20_000)
        outcome = training.outcome()
    assert told["steps"] == outcome["steps"] == 20_000 + round(2 * plan.steps_per_epoch)


def test_a_practice_machine_tells_of_its_chips_as_a_tpu_vm_does(tmp_path: Path) -> None:
    """Through libtpu's name, which its image has; JAX finds it there too, and is not led astray."""
    image = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "resources" / "practice")])}
    image |= {"TPU_STUDIO_PRACTICE_CHIPS": "4", "TPU_STUDIO_PRACTICE_HBM_BYTES": str(16 * 2**30)}
    training = Training(put(tmp_path, planned(**{**LONG, "steps": 5_000_000})), environment=image)
    with training:
        told = training.until(lambda event: event["kind"] == "device" and "duty_cycle" in event)
        training.tell(verb="stop", keep=False)
        training.outcome(60)
    assert (told["worker"], told["hbm_total_bytes"]) == (0, 16 * 2**30)
    assert 0 < told["duty_cycle"] <= 1
    assert 0 < told["hbm_used_bytes"] < told["memory_used_bytes"]  # one chip's part of it


@pytest.mark.parametrize(("keep", "reason"), [(True, "stopped-by-user"), (False, "discarded")])
def test_a_stop_is_heard_at_once_and_keeps_or_drops_what_was_trained(tmp_path: Path, keep: bool, reason: str) -> None:
    training = Training(put(tmp_path, planned(**LONG)))
    with training:
        training.until_step(100)
        training.tell(verb="stop", keep=keep)
        outcome = training.outcome(60)
    assert (outcome["status"], outcome["reason"]) == ("stopped", reason)
    assert training.process.returncode == 0
    assert outcome["steps"] in states(tmp_path) or not keep
    assert (tmp_path / "result").exists() is keep


def test_a_stop_before_the_first_step_ends_it_too(tmp_path: Path) -> None:
    training = Training(put(tmp_path, planned(**LONG)), cold=True)
    with training:
        training.until(lambda event: event["kind"] == "phase")
        training.tell(verb="stop", keep=True)
        outcome = training.outcome(60)
    assert (outcome["reason"], outcome["steps"]) == ("stopped-by-user", 0)


def test_when_the_guardian_is_gone_it_saves_and_ends(tmp_path: Path) -> None:
    training = Training(put(tmp_path, planned(**LONG)))
    with training:
        training.until_step(100)
        assert training.process.stdin is not None
        training.process.stdin.close()
        outcome = training.outcome(60)
        training.process.stdin = None
    assert outcome["reason"] == "guardian-gone"
    assert outcome["steps"] in states(tmp_path)


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(finished: Training, tmp_path: Path) -> None:
    run = of(finished, tmp_path)
    *_, before, last = states(run)  # a copy that is due while the one before is being written is left out
    assert last == 88
    state = run / "checkpoints" / "00000088" / "state.safetensors"
    data = bytearray(state.read_bytes())
    data[-1] ^= 1
    state.write_bytes(data)
    again = train(run, 2)
    damaged = [event["facts"] for event in again.kinds("notice") if event["id"] == "checkpoint-damaged"]
    assert damaged == [{"step": 88, "why": "altered"}]
    assert again.kinds("resume")[0]["step"] == before
    assert curve(finished, again) == curve(finished)
    assert again.events[-1]["reason"] == "completed"


def test_where_every_copy_is_damaged_it_ends_by_name_and_the_curve_and_the_model_stay(
    finished: Training, tmp_path: Path
) -> None:
    run = of(finished, tmp_path)
    model = (run / "result" / "model.keras").read_bytes()
    for state in run.glob("checkpoints/*/state.safetensors"):
        os.truncate(state, 100)
    again = train(run, 2)
    assert again.events[-1]["reason"] == "checkpoint-corrupt"
    assert not again.kinds("resume")
    assert (run / "result" / "model.keras").read_bytes() == model


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prlimit is Linux's")
def test_a_full_disk_ends_the_run_by_name_and_the_last_good_copy_stays(tmp_path: Path) -> None:
    training = Training(put(tmp_path, planned(**LONG)), environment={"JAX_ENABLE_COMPILATION_CACHE": "0"})
    with training:
        training.until(lambda event: event["kind"] == "checkpoint")
        resource.prlimit(training.process.pid, resource.RLIMIT_FSIZE, (1000, 1000))
        outcome = training.outcome(60)
    assert (outcome["status"], outcome["reason"]) == ("failed", "disk-full")
    assert states(tmp_path)
    assert not list(tmp_path.glob("checkpoints/.*"))


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    run = put(tmp_path, planned(framework="jax", steps=64, evaluate_every=32, checkpoint_every=32))
    (run / "checkpoints").write_text("a file where the folder should be")
    assert train(run).events[-1]["reason"] == "folder-unwritable"


def test_a_plan_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{")
    assert train(tmp_path).events[-1]["reason"] == "plan-unreadable"


def test_data_that_has_gone_is_named(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("a,b\n" + "\n".join(f"{n},{n * 2}" for n in range(200)))
    plan = planned(
        {"model": {"name": "mlp"}, "data": {"kind": "table", "path": str(table), "target": "b"}}, framework="jax"
    )
    table.unlink()
    assert train(put(tmp_path / "run", plan)).events[-1]["reason"] == "data-missing"


def test_data_that_is_no_longer_what_was_planned_with_is_named(tmp_path: Path) -> None:
    plan = planned(table(tmp_path / "data"), framework="jax")
    with open(tmp_path / "data" / "rows.csv", "a") as rows:
        rows.write("\n1,2,3")
    assert train(put(tmp_path / "run", plan)).events[-1]["reason"] == "data-changed"


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_parts_of_a_step_add_up_to_the_whole_step(
    one_device: Callable[[str], Training], tmp_path: Path, framework: str
) -> None:
    parts = train(put(tmp_path, planned(PLAIN, **rhythm(framework), accumulate=4)))
    assert list(curve(parts).values()) == pytest.approx(list(curve(one_device(framework)).values()), rel=1e-4)


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_two_devices_learn_as_one_does(one_device: Callable[[str], Training], tmp_path: Path, framework: str) -> None:
    one = one_device(framework)
    two = train(put(tmp_path, planned(PLAIN, **rhythm(framework), devices=2)))
    assert two.events[-1]["reason"] == "completed", two.errors()[-2000:]
    assert list(curve(two).values()) == pytest.approx(list(curve(one).values()), rel=1e-3)
    assert curve(two, name="val_loss")[40] == pytest.approx(curve(one, name="val_loss")[40], rel=1e-3)


def test_a_plan_for_other_devices_than_there_are_is_refused(tmp_path: Path) -> None:
    plan = planned(framework="jax", steps=10, devices=3)
    done = train(put(tmp_path, plan), XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert done.events[-1]["reason"] == "devices-differ"
    assert done.events[-1]["facts"]["found"] == 2


@pytest.mark.parametrize(
    ("framework", "place", "platforms", "said"),
    [
        ("jax", "cloud", frameworks.for_chips().chip_environment["JAX_PLATFORMS"], "initialize backend 'tpu'"),
        ("jax", "cloud", "", "only cpu"),
        ("jax", "colab", "cpu", "only cpu"),
        ("tensorflow", "cloud", "", "libtpu is not installed"),
    ],
)
def test_a_tpu_that_does_not_open_ends_the_run_before_data_is_read(
    tmp_path: Path, framework: str, place: str, platforms: str, said: str
) -> None:
    plan = replace(planned(framework=framework, steps=10), place=place)
    done = train(put(tmp_path, plan), **({"JAX_PLATFORMS": platforms} if platforms else {}))
    assert done.events[-1]["reason"] == "tpu-not-opened", done.errors()[-2000:]
    assert said in done.events[-1]["facts"]["raw"]
    assert [event["detail"] for event in done.kinds("phase")] == ["engine"]


@pytest.mark.parametrize("framework", ["jax", pytest.param("tensorflow", marks=pytest.mark.thorough)])
def test_bfloat16_learns_with_weights_that_stay_float32(tmp_path: Path, framework: str) -> None:
    done = train(
        put(
            tmp_path,
            planned(framework=framework, steps=300, precision="bfloat16", evaluate_every=300, checkpoint_every=300),
        )
    )
    assert done.events[-1]["final"]["val_accuracy"] > 0.8
    head = (tmp_path / "checkpoints" / "00000300" / "state.safetensors").read_bytes()
    index = json.loads(head[8 : 8 + int.from_bytes(head[:8], "little")])
    assert {index[name]["dtype"] for name in index if name.startswith(("weights/", "optimizer/"))} == {"F32"}
