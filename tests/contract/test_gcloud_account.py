"""The real `gcloud` against the practice account services, a few commands; all: tools/gcloud_account_check.py."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract.conftest import Start

TOOL = Path(__file__).resolve().parents[2] / "tools" / "gcloud_account_check.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed"),
]


@pytest.fixture(scope="module")
def tool() -> Any:
    spec = importlib.util.spec_from_file_location("gcloud_account_check", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


def test_gcloud_reads_services_projects_billing_and_quota(tool: Any, start_practice: Start, tmp_path: Path) -> None:
    gcloud = tool.Gcloud(tmp_path, start_practice("quota-zero:generation=v6e,place=us-east5-b"))

    assert tool.TPU in gcloud("services", "list", "--enabled", "--format=value(config.name)").split()
    assert gcloud("projects", "list", "--format=value(projectId)").split() == ["practice-project"]
    assert gcloud.read("billing", "projects", "describe", "practice-project")["billingEnabled"] is True
    of_tpu = (f"--service={tool.TPU}", "--project=practice-project")
    infos = {one["quotaId"]: one for one in gcloud.read("beta", "quotas", "info", "list", *of_tpu)}
    assert infos[tool.V6E]["dimensionsInfos"][0]["dimensions"] == {"zone": "us-east5-b"}
    assert "value" not in infos[tool.V6E]["dimensionsInfos"][0].get("details", {})  # none allowed there


def test_gcloud_sets_lists_and_deletes_an_outside_stop(tool: Any, start_practice: Start, tmp_path: Path) -> None:
    tool.tasks(tool.Gcloud(tmp_path, start_practice()))
