"""The real `gcloud` against the practice account services, a few commands; all: tools/gcloud_account_check.py."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.contract.conftest import Start
from tools import gcloud_account_check as tool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed"),
]


def test_gcloud_reads_services_projects_billing_and_quota(start_practice: Start, tmp_path: Path) -> None:
    gcloud = tool.Gcloud(tmp_path, start_practice("quota-zero:generation=v6e,place=us-east5-b"))

    assert tool.TPU in gcloud("services", "list", "--enabled", "--format=value(config.name)").split()
    assert gcloud("projects", "list", "--format=value(projectId)").split() == ["practice-project"]
    assert gcloud.read("billing", "projects", "describe", "practice-project")["billingEnabled"] is True
    of_tpu = (f"--service={tool.TPU}", "--project=practice-project")
    infos = {one["quotaId"]: one for one in gcloud.read("beta", "quotas", "info", "list", *of_tpu)}
    assert infos[tool.V6E]["dimensionsInfos"][0]["dimensions"] == {"zone": "us-east5-b"}
    assert "value" not in infos[tool.V6E]["dimensionsInfos"][0].get("details", {})  # none allowed there


def test_gcloud_makes_a_role_of_what_google_has_and_of_nothing_else(start_practice: Start, tmp_path: Path) -> None:
    gcloud = tool.Gcloud(tmp_path, start_practice())
    make = ("iam", "roles", "create", "mine", "--project=practice-project")
    refused = gcloud(*make, "--permissions=tpu.queuedResources.delete", fails=True)
    assert "Permission tpu.queuedResources.delete is not valid" in refused
    assert gcloud.read(*make, "--permissions=tpu.nodes.delete")["includedPermissions"] == ["tpu.nodes.delete"]


def test_gcloud_sets_lists_and_deletes_an_outside_stop(start_practice: Start, tmp_path: Path) -> None:
    tool.tasks(tool.Gcloud(tmp_path, start_practice()))
