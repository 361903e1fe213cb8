"""The request that a person sends to the project's owner: what is needed, why, and the commands that grant it. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from tpu_studio.cloud.doctor import names
from tpu_studio.cloud.doctor.repairs import runner_address, stopper_address
from tpu_studio.cloud.queues import MACHINES, RETRIES
from tpu_studio.domain.grants import OWN_MACHINES, own_words
from tpu_studio.domain.regions import nearest, with_cloud_tasks
from tpu_studio.workflow.account.ports import Choices

_WIDE = (
    "It may delete any TPU of the project, not only mine: TPUs have nothing that a condition could name. Of virtual "
    "machines of Compute Engine it may delete only those whose names begin with ts-."
)
_CONDITIONS = (
    "Some of these grants hold under a condition. Once a project or bucket has one, gcloud asks everybody who grants a "
    "role there (add-iam-policy-binding) which condition is meant, and fails in scripts, unless --condition=None is "
    "given: scripts that do so in this project need it."
)


def request(
    choices: Choices,
    me: str,
    missing: Sequence[str],
    lacking: Sequence[str],
    absent: Sequence[str] = (),
    region: str = "",
) -> str:
    """A letter.

    Args:
        me: The person's address.
        missing: Permissions that the person needs.
        lacking: Of ``runner`` and ``outside-stop``, those whose accounts are not (wholly) set up.
        absent: Of `queues.QUEUES`, those that are not there.
        region: Where they shall stand; "": as near as Cloud Tasks is by the documented list.
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
            "The TPU VMs need a service account, which may delete them when they are done, add shut-off "
            f"timers and write to the bucket. {_WIDE} If I may not make it, please run",
            "\n".join(_runner(choices, person)),
        ]
    if "outside-stop" in lacking:
        parts += [
            "So that no machine keeps running if it hangs while my computer is off, shut-off timers at Google (Cloud "
            "Tasks) delete it at a deadline. That needs a second service account, which may look at machines and "
            f"delete them: if the first one loses its rights, the second still stops the billing. {_WIDE} If I may not "
            "make it, or the queues of these timers, please run",
            "\n".join([*_stopper(choices, person, "runner" not in lacking), *_queues(choices, absent, region)]),
        ]
    if {"runner", "outside-stop"} & set(lacking):
        parts.append(_CONDITIONS)
    return "\n\n".join([*parts, "Thank you."])


def _runner(choices: Choices, person: str) -> list[str]:
    address = runner_address(choices)
    made = _account(choices.project, names.RUNNER, names.RUNNER_ROLE, names.RUNNER_PERMISSIONS)
    made += _machines(choices.project, names.RUNNER)
    made += [_acting(choices.project, address, member) for member in (f"serviceAccount:{address}", person)]
    if choices.bucket:
        project, under = choices.project, own_words(choices.bucket)
        words = ["gcloud", "storage", "buckets", "add-iam-policy-binding", f"gs://{choices.bucket}"]
        words.append(f"--member=serviceAccount:{address}")
        for role, permissions, condition in (
            (names.READER_ROLE, names.READER_PERMISSIONS, "None"),
            (names.WRITER_ROLE, names.WRITER_PERMISSIONS, f"expression={under['expression']},title={under['title']}"),
        ):
            made.append(_role(project, role, permissions))
            made.append(shlex.join([*words, f"--role=projects/{project}/roles/{role}", f"--condition={condition}"]))
    return made


def _stopper(choices: Choices, person: str, with_role: bool) -> list[str]:
    address = stopper_address(choices)
    members = (f"serviceAccount:{runner_address(choices)}", person)
    made = _account(choices.project, names.STOPPER, names.STOPPER_ROLE, names.STOPPER_PERMISSIONS)
    made += [*_machines(choices.project, names.STOPPER)[0 if with_role else 1 :]]
    made += [_acting(choices.project, address, member) for member in members]
    nobody = f"{names.NOBODY}@{choices.project}.iam.gserviceaccount.com"  # has no role: what proofs are held against
    create = ["gcloud", "iam", "service-accounts", "create", names.NOBODY, f"--project={choices.project}"]
    return [*made, shlex.join(create), _acting(choices.project, nobody, person)]


def _account(project: str, id: str, role: str, permissions: Sequence[str]) -> list[str]:
    member = f"serviceAccount:{id}@{project}.iam.gserviceaccount.com"
    return [
        shlex.join(["gcloud", "iam", "service-accounts", "create", id, f"--project={project}"]),
        _role(project, role, permissions),
        _binding(project, member, f"projects/{project}/roles/{role}"),
    ]


def _role(project: str, role: str, permissions: Sequence[str]) -> str:
    held = ",".join(permissions)
    return shlex.join(["gcloud", "iam", "roles", "create", role, f"--project={project}", f"--permissions={held}"])


def _machines(project: str, id: str) -> list[str]:
    """The right to delete our machines of Compute Engine, and no others. Both accounts have it by one role."""
    member, role = f"serviceAccount:{id}@{project}.iam.gserviceaccount.com", names.MACHINES_ROLE
    words = ["gcloud", "projects", "add-iam-policy-binding", project, f"--member={member}"]
    under = f"expression={OWN_MACHINES['expression']},title={OWN_MACHINES['title']}"
    granted = shlex.join([*words, f"--role=projects/{project}/roles/{role}", f"--condition={under}"])
    return [_role(project, role, names.MACHINES_PERMISSIONS), granted]


def _queues(choices: Choices, absent: Sequence[str], region: str) -> list[str]:
    """Those queues that are *absent* (with the retries of `queues.RETRIES`), and the machines' right to add stops in
    theirs."""
    project = choices.project
    at = [f"--project={project}", f"--location={region or nearest(choices.region, with_cloud_tasks())}"]
    queues = ["gcloud", "tasks", "queues"]
    retries = [
        f"--max-attempts={RETRIES['maxAttempts']}",
        f"--min-backoff={RETRIES['minBackoff']}",
        f"--max-backoff={RETRIES['maxBackoff']}",
    ]
    member, role = f"serviceAccount:{runner_address(choices)}", f"projects/{project}/roles/{names.QUEUE_ROLE}"
    granted = [*queues, "add-iam-policy-binding", MACHINES, *at, f"--member={member}", f"--role={role}"]
    create = [shlex.join([*queues, "create", one, *at, *retries]) for one in absent]
    return [*create, _role(project, names.QUEUE_ROLE, names.QUEUE_PERMISSIONS), shlex.join(granted)]


def _binding(project: str, member: str, role: str) -> str:
    words = ["gcloud", "projects", "add-iam-policy-binding", project, f"--member={member}", f"--role={role}"]
    return shlex.join([*words, "--condition=None"])  # or gcloud asks, where the project has grants with conditions


def _acting(project: str, address: str, member: str) -> str:
    words = ["gcloud", "iam", "service-accounts", "add-iam-policy-binding", address, f"--project={project}"]
    return shlex.join([*words, f"--member={member}", f"--role={names.ACT_AS_ROLE}"])
