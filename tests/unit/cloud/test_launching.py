"""The launch of a plan as a script, and a run's address in a bucket."""

from __future__ import annotations

import os
import re
import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from tests.fakes.looks import DIGITS, job
from tests.fakes.making import make_plan
from tests.fakes.skies import Sky
from tpu_studio.places.launching import launch_script, run_script
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import BadInput, RunError
from tpu_studio.wire.events import event, from_record
from tpu_studio.wire.stops import OFFSETS_S
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.state import State, fold
from tpu_studio.workflow.runs import Runs

RUN = "digits-k3f7"


def _ran(text: str, folder: Path) -> list[str]:
    """The words of each gcloud command that the script calls, a line each."""
    gcloud = folder / "gcloud"
    gcloud.write_text('#!/bin/sh\necho "$*"\n')
    gcloud.chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(["sh"], input=text, text=True, check=True, capture_output=True, env={"PATH": path})
    return done.stdout.splitlines()


def test_the_script_is_a_script_and_names_what_the_plan_asks_for(tmp_path: Path) -> None:
    plan = make_plan(job("mlp", "digits", where={"place": "cloud", "accelerator": "v5litepod-1"}), DIGITS, now=0.0)
    sky = Sky()
    text = launch_script(plan, "digits-k3f7", sky.place().connect(plan), "install1")
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    assert "queued-resources create ts-digits-k3f7-a1-t1" in text
    assert "--accelerator-type=v5litepod-1" in text
    assert "run-id=digits-k3f7" in text
    assert "--valid-until-duration=14400s" in text
    assert text.count("gcloud tasks create-http-task ts-digits-k3f7-a1-t1-b-") == 1
    ran = [line.split() for line in _ran(text, tmp_path) if "create-http-task" in line]
    assert len(ran) == len(OFFSETS_S) and ran[0][2].startswith("ts-digits-k3f7-a1-t1-b-1-")
    (last,) = [word for word in ran[-1] if word.startswith("--schedule-time=")]
    at = datetime.fromisoformat(last.partition("=")[2]).timestamp()
    assert ran[-1][2].endswith(f"-27-{round(at)}")
    assert "gs://" in text


def test_the_script_of_a_run_names_the_machine_it_has_and_no_secret() -> None:
    plan = make_plan(job("mlp", "digits", where={"place": "cloud", "accelerator": "v5litepod-1"}), DIGITS, now=0.0)
    side = Sky().place().connect(plan)
    sent = f"runs/{RUN}/job/bundle-0123.tar.gz"
    told = [
        event("prepared", t=1.0, pieces={"bundle": {"object": sent, "sha256": "01", "bytes": 1}, "data": []}),
        event(
            "intent",
            t=2.0,
            id="create/x",
            action="create",
            name="ts-digits-k3f7-a2-t3",
            zone="us-east5-b",
            backend="tpu",
            attempt=2,
            **{"try": 3},
        ),
    ]
    text = run_script(plan, RUN, fold(one for record in told if (one := from_record(record))), side, "install1")
    subprocess.run(["sh", "-n"], input=text, text=True, check=True)
    assert "queued-resources create ts-digits-k3f7-a2-t3" in text and "--zone=us-east5-b" in text
    assert f"gs://{side.mailbox.bucket}/{sent}" in text
    assert not re.search(r"(?i)bearer|secret|password|ya29\.", text)
    before = run_script(plan, RUN, State(), side, "install1")
    assert f"create ts-{RUN}-a1-t1" in before, "nothing was sent yet: as it will be"


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    journal = JournalFile(tmp_path / "journal.db")
    driver = Driver(tmp_path, places={"practice": Sky().place()}, journal=journal)
    return Runs(tmp_path, places={}, journal=journal, index=Index(tmp_path), driver=driver)


@pytest.mark.parametrize("address", ["gs://", "gs://b", "gs://b/runs/", "gs://b/other/digits-k3f7", "gs://b/runs/a/b"])
def test_an_address_that_is_none_is_told(runs: Runs, address: str) -> None:
    with pytest.raises(BadInput) as told:
        runs.take_over_from("practice", address)
    assert told.value.id == "not-a-run-address"


def test_a_run_of_another_bucket_is_not_taken_over(runs: Runs) -> None:
    with pytest.raises(RunError) as told:
        runs.take_over_from("practice", "gs://another-bucket/runs/digits-k3f7")
    assert told.value.id == "bucket-differs"
