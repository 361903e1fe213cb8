"""Hold the practice cloud's account services and Cloud Tasks to the real `gcloud`: exit codes and output.

    python tools/gcloud_account_check.py

It starts a practice cloud of its own in a temporary folder and gives gcloud a configuration of its own. Exit 0: all is
right. The suite runs a few of these (tests/contract/test_gcloud_account.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from gcloud_runner import COMMAND_S, Gcloud, Part, check, environment

from tpu_studio.practice.main import Practice

BILLING = "0A1B2C-3D4E5F-678901"
RUNNER = "tpu-studio-runner@practice-project.iam.gserviceaccount.com"
TPU = "tpu.googleapis.com"
HERE = "--location=us-west4"
V6E = "TPUV6EPerProjectPerZoneForTPUAPI"


def services(gcloud: Gcloud) -> None:
    listed = ("services", "list", "--enabled", "--format=value(config.name)")
    assert {TPU, "cloudtasks.googleapis.com"} <= set(gcloud(*listed).split())
    gcloud("services", "disable", TPU)
    assert TPU not in gcloud(*listed).split()
    assert "SERVICE_DISABLED" in gcloud("compute", "tpus", "tpu-vm", "list", "--zone=us-west4-a", fails=True)
    gcloud("services", "enable", TPU, "compute.googleapis.com")
    assert TPU in gcloud(*listed).split()
    assert "Not found or permission denied" in gcloud("services", "enable", "no.googleapis.com", fails=True)


def projects(gcloud: Gcloud) -> None:
    listed = ("projects", "list", "--format=value(projectId)")
    assert gcloud(*listed).split() == ["practice-project"]
    assert gcloud.read("projects", "describe", "practice-project")["projectNumber"] == "481516234200"
    gcloud("projects", "create", "my-own-project", "--name=Mine")
    assert sorted(gcloud(*listed).split()) == ["my-own-project", "practice-project"]
    policy = ("practice-project", "--member=user:friend@practice.example", "--role=roles/viewer", "--condition=None")
    assert "friend@practice.example" in gcloud("projects", "add-iam-policy-binding", *policy)
    assert "friend@practice.example" not in gcloud("projects", "remove-iam-policy-binding", *policy)


def billing(gcloud: Gcloud) -> None:
    """After `projects`: its project has no account yet."""
    assert BILLING in gcloud("billing", "accounts", "list", "--format=value(name)")
    assert gcloud.read("billing", "projects", "describe", "practice-project")["billingEnabled"] is True
    assert "billingEnabled" not in gcloud.read("billing", "projects", "describe", "my-own-project")
    gcloud("billing", "projects", "link", "my-own-project", f"--billing-account={BILLING}")
    assert gcloud.read("billing", "projects", "describe", "my-own-project")["billingEnabled"] is True
    gcloud("billing", "projects", "unlink", "my-own-project")


def quotas(gcloud: Gcloud) -> None:
    of_tpu = (f"--service={TPU}", "--project=practice-project")
    infos = gcloud.read("beta", "quotas", "info", "list", *of_tpu)
    assert {V6E, "TPUV5PPreemptiblePerProjectPerZoneForTPUAPI"} <= {info["quotaId"] for info in infos}
    one = gcloud.read("beta", "quotas", "info", "describe", V6E, *of_tpu)
    assert one["dimensionsInfos"][-1]["details"] == {"value": "64"}, one
    gcloud(
        "beta",
        "quotas",
        "preferences",
        "create",
        *of_tpu,
        f"--quota-id={V6E}",
        "--preferred-value=80",
        "--dimensions=zone=us-east5-b",
        "--email=you@practice.example",
        "--preference-id=mine",
    )
    asked = ("beta", "quotas", "preferences", "describe", "mine", "--project=practice-project")
    gcloud.until("80", *asked, "--format=value(quotaConfig.grantedValue)")
    one = gcloud.read("beta", "quotas", "info", "describe", V6E, *of_tpu)
    assert one["dimensionsInfos"][0] == {
        "applicableLocations": ["us-east5-b"],
        "details": {"value": "80"},
        "dimensions": {"zone": "us-east5-b"},
    }, one
    old = gcloud("alpha", "services", "quota", "list", f"--service={TPU}", "--consumer=projects/practice-project")
    assert "tpu-v6e" in old


def accounts(gcloud: Gcloud, folder: Path, practice: Practice) -> None:
    """With a key file gcloud signs in by itself, and may what that account may."""
    assert RUNNER in gcloud("iam", "service-accounts", "list", "--format=value(email)").split()
    gcloud("iam", "service-accounts", "create", "helper-two")
    gcloud(
        "iam",
        "service-accounts",
        "add-iam-policy-binding",
        RUNNER,
        "--member=user:friend@practice.example",
        "--role=roles/iam.serviceAccountUser",
    )
    key = folder / "key.json"
    gcloud("iam", "service-accounts", "keys", "create", str(key), f"--iam-account={RUNNER}")
    signed_in = environment(folder / "signed-in", practice.url, "", practice.cloud.settings.project)
    del signed_in["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["gcloud", *arguments], env=signed_in, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )

    done = run("auth", "activate-service-account", f"--key-file={key}")
    assert done.returncode == 0, done.stderr
    done = run("compute", "tpus", "queued-resources", "describe", "none", "--zone=us-west4-a")
    assert done.returncode != 0 and "NOT_FOUND" in done.stderr, done.stderr  # it may look, and there is nothing
    done = run("services", "disable", TPU)
    assert done.returncode != 0 and "PERMISSION_DENIED" in done.stderr, done.stderr


def roles(gcloud: Gcloud) -> None:
    """As the letter to a project's owner says it; a permission that Google does not have is refused."""
    mine = ("tpuStudioOther", "--project=practice-project")
    held = gcloud.read("iam", "roles", "create", *mine, "--permissions=tpu.nodes.delete,tpu.nodes.get")
    assert held["includedPermissions"] == ["tpu.nodes.delete", "tpu.nodes.get"], held
    for unknown in ("tpu.queuedResources.delete", "resourcemanager.projects.list"):
        wrong = ("iam", "roles", "create", "wrongOne", "--project=practice-project", f"--permissions={unknown}")
        assert f"Permission {unknown} is not valid" in gcloud(*wrong, fails=True)
    gcloud("iam", "roles", "update", *mine, "--add-permissions=compute.instances.delete", "--quiet")
    held = gcloud.read("iam", "roles", "describe", *mine)
    assert "compute.instances.delete" in held["includedPermissions"], held
    admin = gcloud.read("iam", "roles", "describe", "roles/tpu.admin")
    assert "tpu.nodes.delete" in admin["includedPermissions"] and "tpu.queuedResources.get" not in str(admin)
    gcloud("iam", "roles", "delete", *mine)


def conditions(gcloud: Gcloud) -> None:
    """gcloud reads and writes policies at version 3: a condition stays, also when others are added."""
    until = 'expression=request.time < timestamp("2999-01-01T00:00:00Z"),title=until-then'
    grant = ("projects", "add-iam-policy-binding", "practice-project", "--member=user:friend@practice.example")
    gcloud(*grant, "--role=roles/tpu.viewer", f"--condition={until}")
    gcloud(*grant, "--role=roles/compute.viewer", "--condition=None")
    policy = gcloud.read("projects", "get-iam-policy", "practice-project")
    assert policy["version"] == 3, policy
    [kept] = [one for one in policy["bindings"] if one["role"] == "roles/tpu.viewer"]
    assert kept["condition"]["title"] == "until-then", kept
    role = gcloud(
        "projects",
        "get-iam-policy",
        "practice-project",
        "--flatten=bindings[].members",
        "--filter=bindings.members:tpu-studio-stopper",
        "--format=value(bindings.role)",
    )
    assert role.split() == ["projects/practice-project/roles/tpuStudioStopper"], role


def unpaid(gcloud: Gcloud) -> None:
    """After `billing`: a project without an account has Google's default services and cannot have what costs."""
    mine = "--project=my-own-project"
    on = gcloud("services", "list", "--enabled", mine, "--format=value(config.name)").split()
    assert "storage.googleapis.com" in on and "cloudresourcemanager.googleapis.com" not in on
    gcloud("services", "enable", "cloudresourcemanager.googleapis.com", mine)
    refused = gcloud("services", "enable", TPU, mine, fails=True)
    assert "Billing must be enabled for activation of service(s)" in refused, refused


def tasks(gcloud: Gcloud) -> None:
    queues = ("tasks", "queues")
    assert gcloud(*queues, "list", HERE, "--format=value(state)").split() == ["RUNNING", "RUNNING"]
    gcloud(*queues, "create", "other", HERE, "--max-attempts=3")
    elsewhere = gcloud(*queues, "create", "other", "--location=europe-west4", fails=True)
    assert "not a valid location for Cloud Tasks" in elsewhere, elsewhere
    regions = gcloud("tasks", "locations", "list", "--format=value(locationId)").split()
    assert "us-west4" in regions and "europe-west4" not in regions
    assert gcloud.read(*queues, "describe", "other", HERE)["retryConfig"]["maxAttempts"] == 3
    url = "https://tpu.googleapis.com/v2/projects/practice-project/locations/us-west4-a/queuedResources/q?force=true"
    create = (
        "tasks",
        "create-http-task",
        "stop-1",
        "--queue=other",
        HERE,
        f"--url={url}",
        "--method=DELETE",
        f"--oauth-service-account-email={RUNNER}",
    )
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 20 * 86400))
    gcloud(*create, f"--schedule-time={when}")
    assert "already exists" in gcloud(*create, f"--schedule-time={when}", fails=True)
    seen = json.loads(gcloud("tasks", "describe", "stop-1", "--queue=other", HERE, "--format=json"))
    assert seen["httpRequest"]["oauthToken"]["serviceAccountEmail"] == RUNNER, seen
    assert len(gcloud("tasks", "list", "--queue=other", HERE, "--format=value(name)").split()) == 1
    gcloud("tasks", "delete", "stop-1", "--queue=other", HERE, "--quiet")
    gcloud(*queues, "delete", "other", HERE, "--quiet")


def policies_and_networks(gcloud: Gcloud) -> None:
    effective = ("org-policies", "describe", "gcp.resourceLocations", "--effective", "--project=practice-project")
    assert gcloud.read(*effective)["spec"]["rules"] == [{"allowAll": True}]
    assert gcloud("compute", "networks", "list", "--format=value(name)").split() == ["default"]


def parts(practice: Practice, folder: Path) -> list[Part]:
    gcloud = Gcloud(folder, practice)
    return [
        ("services", lambda: services(gcloud)),
        ("projects", lambda: projects(gcloud)),
        ("billing", lambda: billing(gcloud)),
        ("a project that nobody pays for", lambda: unpaid(gcloud)),
        ("quota", lambda: quotas(gcloud)),
        ("service accounts and key files", lambda: accounts(gcloud, folder, practice)),
        ("roles of one's own", lambda: roles(gcloud)),
        ("conditions", lambda: conditions(gcloud)),
        ("Cloud Tasks", lambda: tasks(gcloud)),
        ("policies, networks", lambda: policies_and_networks(gcloud)),
    ]


if __name__ == "__main__":
    sys.exit(check(parts, speed=20.0))
