"""Rented runs with the real trainer, from plan to receipt on the practice cloud: pictures, and two machines together.

The practice clock runs at its real speed: training takes what it takes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.journeys import test_cloud_run
from tests.journeys.test_cloud_run import Desk
from tests.trainer.in_engine import engine_python
from tpu_studio.data.look import look
from tpu_studio.planner.make import make_plan
from tpu_studio.practice import quota_limits
from tpu_studio.practice.machines.fleet import Fleet
from tpu_studio.practice.main import Practice
from tpu_studio.practice.settings import Settings
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux"),
]
PATIENCE_S = 900.0  # a loaded computer takes minutes to import a framework
MLP = {"name": "mlp", "options": {"width": 16, "layers": 1}}
FEW = {"steps": 8, "evaluate_every": 4, "checkpoint_every": 4, "framework": "jax"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """This computer before a practice cloud whose machines train with the real engine."""
    monkeypatch.setenv("TPU_STUDIO_ENGINE", os.fspath(engine_python().parents[2]))
    practice = Practice(Settings(folder=tmp_path / "practice"), ()).start()
    monkeypatch.setattr(test_cloud_run, "DEADLINE_S", PATIENCE_S)
    desk = Desk(tmp_path / "home", practice)
    yield desk
    desk.die()
    fleet = practice.cloud.vms
    for name in fleet.names() if isinstance(fleet, Fleet) else ():
        fleet.kill(name)
    practice.stop()


def planned(data: dict[str, object], **where: object) -> Plan:
    job = parse({"name": "a run", "model": MLP, "data": data, "training": FEW, "where": {"place": "practice", **where}})
    return make_plan(job, look(job), now=time.time())


def pictures(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("Äpfel", "Zoës Birnen"):
        (folder / name).mkdir(parents=True)
        for number in range(24):
            pixels = rng.integers(0, 255, (12, 12, 3), np.uint8)
            Image.fromarray(pixels).save(folder / name / f"Bild {number} ü.png")
    return folder


def test_pictures_from_a_folder_with_umlauts_and_spaces_are_brought_once(here: Desk, tmp_path: Path) -> None:
    plan = planned({"kind": "images", "path": os.fspath(pictures(tmp_path / "Bilder für Zoë")), "image_size": 12})
    for _ in range(2):
        run = here.runs.launch(plan)
        row = here.until(run)
        assert (row.status, row.reason) == ("finished", "completed"), here.tell(run)
        assert here.steps(run, 1) == list(range(1, 9))
        here.nothing_is_left(run)
    side = here.driver.side(plan)
    stored = side.mailbox.list("data/")
    assert [one.name.rpartition(".")[2] for one in stored] == ["tar"]
    assert stored[0].generation == side.mailbox.list("data/")[0].generation
    assert (here.runs.folder(run) / "result" / "model.keras").exists()


def test_two_machines_train_what_one_trains(here: Desk) -> None:
    granted = {"value": 64}
    for quota in quota_limits.QUOTAS:
        if quota.generation == "v4":
            for place in ("us-central2-b", "us-central2"):
                here.practice.cloud.db.put("quota-grant", quota_limits.grant_key(quota, place), granted)
    ends = []
    for accelerator in ("v4-8", "v4-16"):
        plan = planned({"kind": "digits"}, accelerator=accelerator)
        run = here.runs.launch(plan)
        row = here.until(run)
        assert (row.status, row.reason) == ("finished", "completed"), here.tell(run)
        assert here.steps(run, 1) == list(range(1, 9))
        here.nothing_is_left(run)
        end = next(event for event in here.said(run, 1) if event.kind == "end")
        ends.append(end.get("final"))
        receipt = json.loads((here.runs.folder(run) / "result" / "receipt.json").read_bytes())
        assert [one["proof"] for one in receipt["made"]] == ["GET by name answered 404"]
    assert (here.runs.folder(run) / "events" / "a0001-w001.jsonl").exists()
    assert ends[1]["loss"] == pytest.approx(ends[0]["loss"], rel=1e-4)
    assert ends[1]["val_accuracy"] == pytest.approx(ends[0]["val_accuracy"], abs=0.01)
