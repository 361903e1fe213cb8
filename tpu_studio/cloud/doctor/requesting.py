"""The request that a person sends to the project's owner: what is needed, why, and the commands that grant it. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tpu_studio.cloud.doctor import names
from tpu_studio.cloud.doctor.repairs import runner_address, stopper_address
from tpu_studio.cloud.queues import RETRIES
from tpu_studio.workflow.account.ports import Choices


def request(choices: Choices, me: str, missing: Sequence[str], lacking: Sequence[str], queue: str = "") -> str:
    """A letter.

    Args:
        me: The person's address.
        missing: Permissions that the person needs.
        lacking: Of ``runner`` and ``outside-stop``, those whose accounts are not (wholly) set up.
        queue: Full name of the queue in which the outside stops shall stand; "": it is there, or none can be had.
    """
    roles = names.roles_for(tuple(missing)) or ("roles/tpu.admin",)
    person = f"serviceAccount:{me}" if me.endswith(".gserviceaccount.com") else f"user:{me}"
    commands = [_binding(choices.project, person, role) for role in roles]
    parts = [
        f"Hello,\n\nI would like to train models on Cloud TPUs in the project {choices.project}. For that I ({me}) "
        f"need {'these roles' if len(roles) > 1 else 'this role'}: {', '.join(roles)}.",
        "It can be granted in the console under IAM, or with",
        "\n".join(commands),
        f"What it is needed for: {', '.join(missing) or 'to launch, watch and delete a machine'}.",
    ]
    if "runner" in lacking:
        parts += [
            "The machines need a service account of their own, which may delete them when they are done, move their "
            "own deadlines and write to the bucket, and nothing else. If I may not make it, please run",
            "\n".join(_runner(choices, person)),
        ]
    if "outside-stop" in lacking:
        parts += [
            "So that no machine runs on when it hangs and my computer is off, Google is told beforehand to delete it "
            "at a deadline (Cloud Tasks). That deletion needs a second service account, which may delete machines and "
            "nothing else: if the first one loses its rights, the second still ends the bill. If I may not make it, or "
            "the queue in which these stops stand, please run",
            "\n".join([*_stopper(choices, person), *_queue(queue)]),
        ]
    return "\n\n".join([*parts, "Thank you."])


def _runner(choices: Choices, person: str) -> list[str]:
    address = runner_address(choices)
    made = _account(choices.project, names.RUNNER, names.RUNNER_ROLE, names.RUNNER_PERMISSIONS)
    made += [_acting(choices.project, address, member) for member in (f"serviceAccount:{address}", person)]
    if choices.bucket:
        words = ["gcloud", "storage", "buckets", "add-iam-policy-binding", f"gs://{choices.bucket}"]
        made.append(shlex.join([*words, f"--member=serviceAccount:{address}", f"--role={names.BUCKET_ROLE}"]))
    return made


def _stopper(choices: Choices, person: str) -> list[str]:
    address = stopper_address(choices)
    members = (f"serviceAccount:{runner_address(choices)}", person)
    made = _account(choices.project, names.STOPPER, names.STOPPER_ROLE, names.STOPPER_PERMISSIONS)
    made += [_acting(choices.project, address, member) for member in members]
    nobody = f"{names.NOBODY}@{choices.project}.iam.gserviceaccount.com"  # has no role: what proofs are held against
    create = ["gcloud", "iam", "service-accounts", "create", names.NOBODY, f"--project={choices.project}"]
    return [*made, shlex.join(create), _acting(choices.project, nobody, person)]


def _queue(queue: str) -> list[str]:
    """The command that makes it, with the retries of `queues.RETRIES`."""
    if not queue:
        return []
    _, project, _, region, _, name = queue.split("/")
    retries = [f"--max-attempts={RETRIES['maxAttempts']}", f"--min-backoff={RETRIES['minBackoff']}",
               f"--max-backoff={RETRIES['maxBackoff']}"]  # fmt: skip
    create = ["gcloud", "tasks", "queues", "create", name, f"--project={project}", f"--location={region}"]
    return [shlex.join([*create, *retries])]


def _account(project: str, id: str, role: str, permissions: Sequence[str]) -> list[str]:
    member = f"serviceAccount:{id}@{project}.iam.gserviceaccount.com"
    held = ",".join(permissions)
    return [
        shlex.join(["gcloud", "iam", "service-accounts", "create", id, f"--project={project}"]),
        shlex.join(["gcloud", "iam", "roles", "create", role, f"--project={project}", f"--permissions={held}"]),
        _binding(project, member, f"projects/{project}/roles/{role}"),
    ]


def _binding(project: str, member: str, role: str) -> str:
    words = ["gcloud", "projects", "add-iam-policy-binding", project, f"--member={member}", f"--role={role}"]
    return shlex.join([*words, "--condition=None"])  # or gcloud asks, where the project has grants with conditions


def _acting(project: str, address: str, member: str) -> str:
    words = ["gcloud", "iam", "service-accounts", "add-iam-policy-binding", address, f"--project={project}"]
    return shlex.join([*words, f"--member={member}", f"--role={names.ACT_AS_ROLE}"])
