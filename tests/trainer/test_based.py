"""Transfer learning: a training that begins from the result of another run of ours, on other data.

The home of all is the test's folder; the base is trained once. What a kill leaves, what a copy holds, what is taken
over and what is drawn anew, and what becomes of a base that changes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.trainer.in_engine import ROOT
from tests.trainer.test_starting import newest
from tests.trainer.training import Training, curve, put
from tpu_studio.data.look import look
from tpu_studio.domain.catalogue import SHIPPED
from tpu_studio.wire import plan as plans
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.planning import Draft, Sources, plan_job

pytestmark = [pytest.mark.engine, pytest.mark.slow]
BASE = "hands-ab12"
SMALL = {"width": 4, "blocks": 2}


def hands(folder: Path, *kinds: str, each: int = 24) -> Path:
    for kind in kinds:
        (folder / kind).mkdir(parents=True)
        for picture in sorted((ROOT / "resources" / "samples" / "sign-digits" / kind).iterdir())[:each]:
            shutil.copy(picture, folder / kind)
    return folder


def planned(data: Path, preset: str = "none", run: str = "test-0000", **tables: Any) -> Plan:
    training = {"steps": 12, "checkpoint_every": 3, "evaluate_every": 3, "framework": "tensorflow"}
    model = {"name": "small-cnn", "preset": preset} | tables.pop("model", {})
    tree = {
        "name": "hands",
        "model": model if preset != "none" else {"options": SMALL} | model,
        "data": {"kind": "images", "path": str(data), "image_size": 16},
        "training": training | tables.pop("training", {}),
    }
    job = parse(tree)
    plan = plan_job(Draft(job, look(job)), Sources(SHIPPED), 0.0).plan
    assert not plan.blocking, plan.blocking
    return plans.from_json({**plan.to_json(), "run": run})


def train(run: Path, attempt: int = 1, **environment: str) -> Training:
    with Training(run, attempt, {"TPU_STUDIO_HOME": str(run.parent.parent)} | environment) as training:
        outcome = training.outcome()
    assert outcome["status"] == "finished", (outcome, training.errors()[-2000:])
    events = run / "events"
    events.mkdir(exist_ok=True)
    (events / "a0001-w000.jsonl").write_text('{"t":1.0,"kind":"end","status":"finished","reason":"completed"}\n')
    return training


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a run that tells 2 from 7."""
    home = tmp_path_factory.mktemp("home")
    data = hands(home / "first", "2", "7")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TPU_STUDIO_HOME", str(home))
        train(put(home / "runs" / BASE, planned(data, run=BASE)))
    return home


@pytest.fixture
def home(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    shutil.copytree(trained / "runs" / BASE, tmp_path / "runs" / BASE)
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path))
    yield tmp_path


STILL = {"steps": 1, "learning_rate": 1e-9, "weight_decay": 0.0}


def test_other_classes_get_a_new_answer_behind_the_same_network(home: Path) -> None:
    plan = planned(hands(home / "second", "0", "5"), f"run:{BASE}", training=STILL)
    assert plan.options["width"] == SMALL["width"] and plan.preset_sha256
    run = train(put(home / "runs" / "new-0000", plan)).run
    _, before, _ = newest(home / "runs" / BASE)
    arrays, position, _ = newest(run)
    first, _, _ = newest(home / "runs" / BASE)
    for name, values in arrays.items():
        if name.startswith("weights/"):
            same = np.allclose(values, first[name], atol=1e-6)
            assert same != name.startswith("weights/answer/") or name.endswith("bias"), name
    assert position["base"] == plan.preset_sha256 and before["base"] == ""
    card = json.loads((run / "result" / "model.json").read_text())
    assert card["began_from"] == {"run": BASE, "name": "hands", "model": "small-cnn", "sha256": plan.preset_sha256}


def test_the_same_classes_keep_their_answer(home: Path) -> None:
    data = hands(home / "second", "2", "7")
    run = train(put(home / "runs" / "new-0000", planned(data, f"run:{BASE}", training=STILL))).run
    arrays, first = newest(run)[0], newest(home / "runs" / BASE)[0]
    assert all(np.allclose(arrays[name], first[name], atol=1e-6) for name in arrays if name.startswith("weights/"))


@pytest.mark.parametrize("framework", ["tensorflow", pytest.param("jax", marks=pytest.mark.thorough)])
def test_killed_it_goes_on_bit_for_bit(home: Path, framework: str) -> None:
    plan = planned(hands(home / "second", "0", "5"), f"run:{BASE}", training={"framework": framework})
    whole = train(put(home / "runs" / "whole", plan))
    run = put(home / "runs" / "killed", plan)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}) as killed:
        killed.until(lambda event: event["kind"] == "checkpoint" and event["step"] >= 6)
        killed.kill()
    resumed = train(run, 2)
    for metric in ("loss", "val_loss", "learning_rate"):
        assert curve(killed, resumed, name=metric) == curve(whole, name=metric), metric


def test_a_result_that_changed_since_the_plan_trains_nothing(home: Path) -> None:
    run = put(home / "runs" / "new-0000", planned(hands(home / "second", "0", "5"), f"run:{BASE}"))
    card = home / "runs" / BASE / "result" / "model.json"
    card.write_text(card.read_text() + " ")
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}) as training:
        outcome = training.outcome()
    assert (outcome["reason"], outcome["facts"]["error"]) == ("model-refused", "base-changed")


def test_a_network_with_features_stays_as_it_is_at_first(home: Path) -> None:
    """Of narrow blocks (`light_engine`), that begin from nothing: their result needs no starter weights either."""
    short = {"LIGHT_ENGINE_STARTER": "short", "TPU_STUDIO_ENGINE": str(home / "no engine")}
    model, data = {"name": "efficientnet-lite0"}, hands(home / "second", "0", "5")
    steps = {"steps": 8, "checkpoint_every": 2}
    first = planned(
        hands(home / "first", "2", "7"), "none", "first-cd34", model=model | {"options": {}}, training=steps
    )
    train(put(home / "runs" / "first-cd34", first), **short)
    plan = planned(data, "run:first-cd34", model=model, training=steps | {"unfreeze_at": 4})
    assert plan.job.training.freeze == "head-first"
    run = train(put(home / "runs" / "new-0000", plan), **short).run
    assert newest(run)[1]["base"] == plan.preset_sha256


def test_a_base_that_is_deleted_meanwhile_keeps_no_run_from_its_end(home: Path) -> None:
    plan = planned(hands(home / "second", "0", "5"), f"run:{BASE}", training={"steps": 60})
    run = put(home / "runs" / "new-0000", plan)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}) as training:
        training.until(lambda event: event["kind"] == "metric")
        shutil.rmtree(home / "runs" / BASE)
        assert training.outcome()["status"] == "finished", training.errors()[-2000:]
    assert json.loads((run / "result" / "model.json").read_text())["began_from"]["run"] == BASE


def test_a_base_that_was_deleted_is_said_by_its_name(home: Path) -> None:
    run = put(home / "runs" / "new-0000", planned(hands(home / "second", "0", "5"), f"run:{BASE}"))
    shutil.rmtree(home / "runs" / BASE)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}) as training:
        outcome = training.outcome()
    assert (outcome["reason"], outcome["facts"]["error"]) == ("model-refused", "base-missing")
    assert outcome["facts"]["base"] == BASE


def test_a_machine_that_was_brought_the_result_begins_from_it_there(home: Path) -> None:
    run = put(home / "runs" / "new-0000", planned(hands(home / "second", "0", "5"), f"run:{BASE}"))
    brought = home / "brought"
    brought.mkdir()
    for name in ("model.json", "model.keras"):
        shutil.copy(home / "runs" / BASE / "result" / name, brought)
    shutil.rmtree(home / "runs" / BASE)
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}, options=("--preset", str(brought))) as training:
        assert training.outcome()["status"] == "finished", training.errors()[-2000:]


def test_a_model_file_that_hides_code_is_not_run(home: Path) -> None:
    """As an imported run of a stranger may have it: the closed reader takes layers that are known, and no others."""
    result = home / "runs" / BASE / "result"
    with zipfile.ZipFile(result / "model.keras") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["config.json"] = parts["config.json"].replace(b'"GlobalAveragePooling2D"', b'"Lambda"')
    with zipfile.ZipFile(result / "model.keras", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    card = json.loads((result / "model.json").read_text())
    card["sha256"]["model.keras"] = hashlib.sha256((result / "model.keras").read_bytes()).hexdigest()
    (result / "model.json").write_text(json.dumps(card))
    run = put(home / "runs" / "new-0000", planned(hands(home / "second", "0", "5"), f"run:{BASE}"))
    with Training(run, 1, {"TPU_STUDIO_HOME": str(home)}) as training:
        outcome = training.outcome()
    assert (outcome["reason"], outcome["facts"]["error"]) == ("model-refused", "base-damaged")
