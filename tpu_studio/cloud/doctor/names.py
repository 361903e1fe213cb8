"""Tables of Google's names that the checklist needs. Every permission here is one that Google's roles hold
(resources/google/iam-roles.json); any other would be refused wherever it is asked for or granted."""

from __future__ import annotations

SERVICES = (
    "tpu.googleapis.com",
    "compute.googleapis.com",
    "storage.googleapis.com",
    "cloudtasks.googleapis.com",
    "iam.googleapis.com",
    "cloudquotas.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "cloudbilling.googleapis.com",
    "serviceusage.googleapis.com",
    "orgpolicy.googleapis.com",
)
OPTIONAL_SERVICES = ("billingbudgets.googleapis.com",)

FIRST_SERVICES = (
    "serviceusage.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "cloudbilling.googleapis.com",
)
"""Of `SERVICES`, what must be on before billing can be looked at: they cost nothing and need no billing."""

LAUNCH = (
    "tpu.nodes.create",
    "tpu.nodes.get",
    "tpu.nodes.list",
    "tpu.nodes.delete",
    "tpu.operations.get",
    "tpu.operations.list",
    "cloudtasks.queues.get",
    "cloudtasks.tasks.create",
    "cloudtasks.tasks.get",
    "cloudtasks.tasks.list",
    "cloudtasks.tasks.delete",
)
"""Needed on the project to launch, watch and delete. A queued resource has no permissions of its own: Google checks
``tpu.nodes.*`` for it (iam-methods.json)."""

MAKE_QUEUE = "cloudtasks.queues.create"
ACT_AS = "iam.serviceAccounts.actAs"
"""Needed on the project, or on each account."""

ON_BUCKET = ("storage.objects.create", "storage.objects.get", "storage.objects.list", "storage.objects.delete")
"""Needed on our bucket, once it is there: an owner of the project has them there only (legacyObjectOwner)."""

_ACCOUNT = (
    "iam.serviceAccounts.create",
    "iam.serviceAccounts.get",
    "iam.serviceAccounts.getIamPolicy",
    "iam.serviceAccounts.setIamPolicy",
    "iam.roles.create",
    "iam.roles.get",
    "iam.roles.update",
    "resourcemanager.projects.getIamPolicy",
    "resourcemanager.projects.setIamPolicy",
)
SET_UP = {
    "enable-services": ("serviceusage.services.get", "serviceusage.services.enable"),
    "link-billing": ("resourcemanager.projects.createBillingAssignment",),
    "make-network": (
        "compute.networks.create",
        "compute.networks.get",
        "compute.networks.updatePolicy",
        "compute.firewalls.create",
        "compute.firewalls.list",
    ),
    "make-bucket": ("storage.buckets.create", "storage.buckets.list"),
    "make-runner": _ACCOUNT,
    "make-queue": (
        "cloudtasks.queues.create",
        "cloudtasks.queues.get",
        "cloudtasks.queues.update",
        "cloudtasks.queues.getIamPolicy",
        "cloudtasks.queues.setIamPolicy",
        *_ACCOUNT,
    ),
}
"""Needed on the project by each repair, and only while it has something to do."""

ROLE_FOR = {
    "tpu.": "roles/tpu.admin",
    "storage.": "roles/storage.admin",
    "cloudtasks.": "roles/cloudtasks.admin",
    "iam.serviceAccounts.actAs": "roles/iam.serviceAccountUser",
    "iam.serviceAccounts.": "roles/iam.serviceAccountAdmin",
    "iam.roles.": "roles/iam.roleAdmin",
    "resourcemanager.projects.createBilling": "roles/billing.projectManager",
    "resourcemanager.projects.": "roles/resourcemanager.projectIamAdmin",
    "serviceusage.": "roles/serviceusage.serviceUsageAdmin",
    "compute.networks.": "roles/compute.networkAdmin",
    "compute.firewalls.": "roles/compute.securityAdmin",
}
"""The role that a missing permission is asked for with, by its beginning; the first that fits counts."""

RUNNER_ROLE = "tpuStudioRunner"
RUNNER_PERMISSIONS = ("tpu.nodes.get", "tpu.nodes.delete", "tpu.operations.get", "compute.instances.list")
"""What the machine may do in the whole project, for TPUs give conditions nothing to go by: look at TPUs and delete
them. To ask what it may do to its own instance takes ``compute.instances.list`` (iam-methods.json), which also
answers whole instances, metadata and all."""

MACHINES_ROLE = "tpuStudioMachines"
MACHINES_PERMISSIONS = ("compute.instances.get", "compute.instances.delete")
"""What the machine and the stops may do to machines of Compute Engine, under `grants.OWN_MACHINES`: to ours only."""

QUEUE_ROLE = "tpuStudioQueue"
QUEUE_PERMISSIONS = ("cloudtasks.tasks.create", "cloudtasks.tasks.list")
"""What adding shut-off timers of its own takes: granted on the machines' queue, by its own policy, and nowhere else. It
removes none, and has no right in the queue in which the stops of before its creation stand: code on it could remove
them, set others in their names, or keep the queue busy."""

STOPPER_ROLE = "tpuStudioStopper"
STOPPER_PERMISSIONS = ("tpu.nodes.delete", "tpu.nodes.get")
"""What a shut-off timer may do in the whole project. Its account is not the machines', so that a grant that one of
them loses, or never had, leaves the other net whole."""
QUEUE_ROLES_TOO = ("roles/cloudtasks.admin", "roles/cloudtasks.editor")
STOPPER_ROLES_TOO = ("roles/tpu.admin", "roles/compute.instanceAdmin.v1")
RUNNER_ROLES_TOO = ("roles/tpu.admin", "roles/cloudtasks.admin", "roles/compute.instanceAdmin.v1")
"""Together they hold all of that and more: good as well, where somebody else granted them."""

FIREWALL = "allow-internal"
"""After the network's name and a hyphen: as Google calls the rule of its own default network."""
INTERNAL = "10.128.0.0/9"
"""What an auto-mode network's subnets lie in (https://cloud.google.com/vpc/docs/subnets)."""

READER_ROLE = "tpuStudioReader"
READER_PERMISSIONS = ("storage.objects.get", "storage.objects.list")
WRITER_ROLE = "tpuStudioWriter"
WRITER_PERMISSIONS = ("storage.objects.create", "storage.objects.delete")
"""On our bucket: machines read it, and write under `grants.own_words`."""
BUCKET_ROLE = "roles/storage.objectUser"
"""As earlier versions granted it: any object."""
BUCKET_ROLES_TOO = ("roles/storage.objectAdmin", "roles/storage.admin")
ACT_AS_ROLE = "roles/iam.serviceAccountUser"
QUEUE = "tpu-studio"
RUNNER = "tpu-studio-runner"
STOPPER = "tpu-studio-stopper"
NOBODY = "tpu-studio-nobody"
"""An account without any right: what a proof of the others is held against (`cloud/evidence.py`)."""
ALERT = "TPU Studio"


def roles_for(missing: tuple[str, ...]) -> tuple[str, ...]:
    """The roles that hold the missing permissions, in the table's order."""
    wanted = {next((role for start, role in ROLE_FOR.items() if one.startswith(start)), "") for one in missing}
    return tuple(role for role in ROLE_FOR.values() if role in wanted)
