"""Hold the practice cloud's TPU API and account services to the real `gcloud`: each command's exit code and output.

    python tools/gcloud_check.py

It starts a practice cloud of its own in a temporary folder and gives gcloud a configuration of its own. Exit 0: all is
right. The suite runs a few of these (tests/contract/test_gcloud_tpu.py); storage has tools/gcloud_storage_check.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from gcloud_runner import Gcloud, Part, check

from tpu_studio.practice.main import Practice

ZONE = "--zone=us-west4-a"
VM = ("compute", "tpus", "tpu-vm")
QUEUED = ("compute", "tpus", "queued-resources")
NODE = ("--accelerator-type=v5litepod-4", "--runtime-version=v2-alpha-tpuv5-lite")


def lists(gcloud: Gcloud) -> None:
    assert "us-west4-a" in gcloud("compute", "tpus", "locations", "list", "--format=value(locationId)").split()
    types = gcloud("compute", "tpus", "accelerator-types", "list", ZONE, "--format=value(type)").split()
    assert {"v5litepod-1", "v5litepod-8"} <= set(types), types
    assert "v5litepod-8" in gcloud(*VM, "accelerator-types", "describe", "v5litepod-8", ZONE)
    versions = gcloud(*VM, "versions", "list", ZONE, "--format=value(version)").split()
    assert "v2-alpha-tpuv5-lite" in versions, versions
    assert "Permission denied on 'locations/mars-1a'" in gcloud(*VM, "list", "--zone=mars-1a", fails=True)


def queued_resources(gcloud: Gcloud) -> None:
    create = (
        *QUEUED,
        "create",
        "q1",
        ZONE,
        "--node-id=n1",
        *NODE,
        "--spot",
        "--valid-until-duration=6h",
        "--labels=tpu-studio=run",
        "--metadata=startup-script=true",
    )
    gcloud(*create)
    assert "already exists" in gcloud(*create, fails=True)
    gcloud.until("ACTIVE", *QUEUED, "describe", "q1", ZONE, "--format=value(state.state)")
    shown = gcloud.read(*QUEUED, "describe", "q1", ZONE)
    assert shown["tpu"]["nodeSpec"][0]["node"]["labels"] == {"tpu-studio": "run"} and shown["spot"] == {}
    assert gcloud(*QUEUED, "list", ZONE, "--format=value(name)").split() == ["q1"]
    assert gcloud(*VM, "describe", "n1", ZONE, "--format=value(state)").strip() == "READY"
    assert "not supported when state is ACTIVE" in gcloud(*QUEUED, "delete", "q1", ZONE, "--quiet", fails=True)
    gcloud(*QUEUED, "delete", "q1", ZONE, "--quiet", "--force")
    assert "was not found" in gcloud(*QUEUED, "describe", "q1", ZONE, fails=True)
    gcloud(
        "alpha",
        *QUEUED,
        "create",
        "q2",
        ZONE,
        "--node-id=n2",
        *NODE,
        "--provisioning-model=flex-start",
        "--max-run-duration=2h",
        "--async",
    )
    flex = gcloud.read("alpha", *QUEUED, "describe", "q2", ZONE)
    assert flex["runDuration"] == {"maxRunDuration": "7200s"}, flex
    gcloud(*QUEUED, "delete", "q2", ZONE, "--quiet", "--force", "--async")


def nodes(gcloud: Gcloud) -> None:
    gcloud(*VM, "create", "n3", ZONE, "--accelerator-type=v5litepod-1", "--version=v2-alpha-tpuv5-lite", "--spot")
    assert gcloud(*VM, "list", "--zone=-", "--format=value(state)").split()[-1] == "READY"
    gcloud(*VM, "update", "n3", ZONE, "--description=mine")
    assert gcloud(*VM, "describe", "n3", ZONE, "--format=value(description)").strip() == "mine"
    gcloud(*VM, "stop", "n3", ZONE)
    gcloud(*VM, "start", "n3", ZONE)
    assert gcloud(*VM, "describe", "n3", ZONE, "--format=value(state)").strip() == "READY"
    gcloud(*VM, "delete", "n3", ZONE, "--quiet")
    assert "was not found" in gcloud(*VM, "describe", "n3", ZONE, fails=True)


def refusals(gcloud: Gcloud, practice: Practice) -> None:
    create = (*QUEUED, "create", "q5", ZONE, "--node-id=n5", *NODE)
    practice.cloud.faults.arm("quota-zero")
    assert "Limit: 0 in zone us-west4-a" in gcloud(*create, fails=True)
    practice.cloud.faults.disarm()
    practice.cloud.faults.arm("stockout-in-operation")
    assert '"code": 8' in gcloud(*create, fails=True)
    gcloud(*QUEUED, "delete", "q5", ZONE, "--quiet")
    practice.cloud.faults.arm("service-disabled", service="tpu.googleapis.com")
    assert "has not been used in project" in gcloud(*VM, "list", ZONE, fails=True)
    practice.cloud.faults.disarm()
    practice.cloud.faults.arm("unavailable", times=2)  # gcloud tries again by itself, also what it creates
    gcloud(*VM, "list", ZONE)
    practice.cloud.faults.disarm()


def account(gcloud: Gcloud) -> None:
    enabled = gcloud("services", "list", "--enabled", "--format=value(config.name)").split()
    assert "tpu.googleapis.com" in enabled, enabled
    gcloud("services", "enable", "compute.googleapis.com")
    billing = gcloud.read("billing", "projects", "describe", "practice-project")
    assert billing["billingEnabled"] is True, billing
    projects = gcloud("projects", "list", "--format=value(projectId)").split()
    assert projects == ["practice-project"], projects
    quotas = gcloud.read("beta", "quotas", "info", "list", "--service=tpu.googleapis.com", "--project=practice-project")
    ids = {one["quotaId"] for one in quotas}
    assert "TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI" in ids, ids


def parts(practice: Practice, folder: Path) -> list[Part]:
    gcloud = Gcloud(folder, practice)
    return [
        ("lists", lambda: lists(gcloud)),
        ("queued resources", lambda: queued_resources(gcloud)),
        ("nodes", lambda: nodes(gcloud)),
        ("refusals", lambda: refusals(gcloud, practice)),
        ("services, billing, projects, quota", lambda: account(gcloud)),
    ]


if __name__ == "__main__":
    sys.exit(check(parts, speed=4.0))
