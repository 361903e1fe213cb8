"""The real `gcloud` against the practice TPU API, a few commands; all of them: tools/gcloud_check.py."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import Start

TOOL = Path(__file__).resolve().parents[2] / "tools" / "gcloud_check.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed"),
]


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("gcloud_check", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    sys.modules["gcloud_check"] = module
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


def test_gcloud_makes_watches_and_deletes_a_queued_resource(tool: Any, start_practice: Start, tmp_path: Path) -> None:
    gcloud, queued = tool.Gcloud(tmp_path, start_practice(speed=20.0)), tool.QUEUED
    gcloud(*queued, "create", "q1", tool.ZONE, "--node-id=n1", *tool.NODE, "--spot")
    gcloud.until("ACTIVE", *queued, "describe", "q1", tool.ZONE, "--format=value(state.state)")
    assert "set force to true" in gcloud(*queued, "delete", "q1", tool.ZONE, "--quiet", fails=True)
    gcloud(*queued, "delete", "q1", tool.ZONE, "--quiet", "--force")
    assert "was not found" in gcloud(*queued, "describe", "q1", tool.ZONE, fails=True)


def test_gcloud_prints_a_stockout_inside_the_operation(tool: Any, start_practice: Start, tmp_path: Path) -> None:
    gcloud = tool.Gcloud(tmp_path, start_practice("stockout-in-operation", speed=20.0))
    told = gcloud(*tool.QUEUED, "create", "q1", tool.ZONE, "--node-id=n1", *tool.NODE, fails=True)
    assert '"code": 8' in told and "no more capacity in the zone" in told
