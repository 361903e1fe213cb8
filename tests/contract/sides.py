"""A desktop's clients of the practice cloud, for the tests that hold them to it."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud.connection import practice_side
from tpu_studio.cloud.session import Patience
from tpu_studio.practice.main import Practice
from tpu_studio.workflow.cloudruns.ports import CloudSide, MachineSeen, Ref, Wanted

QUICK = Patience(sleep=lambda seconds: None)
REF = Ref("ts-digits-k3f7-a1-t1", "us-west4-a")
LABELS = {"tpu-studio": "run", "run-id": "digits-k3f7", "install": "i1"}
WANTED = Wanted(
    ref=REF,
    request_id="5f2c7c0e-9a53-4f53-8f0b-0e6f2b1f8b11",
    accelerator="v5litepod-1",
    runtime="v2-alpha-tpuv5-lite",
    tier="on-demand",
    valid_for_s=7200.0,
    run_s=None,
    metadata={"startup-script": "#!/bin/sh\n", "ts-deadline": "1"},
    labels=LABELS,
    service_account="tpu-studio-runner@practice-project.iam.gserviceaccount.com",
)


def side_of(practice: Practice, token: str = "") -> CloudSide:
    settings = practice.cloud.settings
    return practice_side(practice.url, token or practice.token, settings.project, settings.bucket, patience=QUICK)


def until_empty(practice: Practice) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while practice.cloud.db.list("tpu-queued-resource"):
        assert time.monotonic() < give_up
        time.sleep(0.02)


def until(seen: Callable[[], MachineSeen | None], *states: str) -> MachineSeen | None:
    """The machine once it is in one of *states* ("" for absent), or a failure after a generous while."""
    give_up = time.monotonic() + PATIENCE_S
    while True:
        machine = seen()
        if (machine.state if machine else "") in states:
            return machine
        assert time.monotonic() < give_up, machine
        time.sleep(0.02)
