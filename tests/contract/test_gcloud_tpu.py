"""The real `gcloud` against the practice TPU API, a few commands; all of them: tools/gcloud_check.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.contract.conftest import Start
from tools import gcloud_check as tool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed"),
]


def test_gcloud_makes_watches_and_deletes_a_queued_resource(start_practice: Start, tmp_path: Path) -> None:
    gcloud, queued = tool.Gcloud(tmp_path, start_practice(speed=20.0)), tool.QUEUED
    gcloud(*queued, "create", "q1", tool.ZONE, "--node-id=n1", *tool.NODE, "--spot")
    gcloud.until("ACTIVE", *queued, "describe", "q1", tool.ZONE, "--format=value(state.state)")
    assert "not supported when state is ACTIVE" in gcloud(*queued, "delete", "q1", tool.ZONE, "--quiet", fails=True)
    gcloud(*queued, "delete", "q1", tool.ZONE, "--quiet", "--force")
    assert "was not found" in gcloud(*queued, "describe", "q1", tool.ZONE, fails=True)


def test_gcloud_prints_a_stockout_inside_the_operation(start_practice: Start, tmp_path: Path) -> None:
    gcloud = tool.Gcloud(tmp_path, start_practice("stockout-in-operation", speed=20.0))
    told = gcloud(*tool.QUEUED, "create", "q1", tool.ZONE, "--node-id=n1", *tool.NODE, fails=True)
    assert '"code": 8' in told and "no more capacity in the zone" in told
