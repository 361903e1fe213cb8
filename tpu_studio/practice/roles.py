"""Roles and the permissions in them, as far as anything here asks for one; used by IAM and by `principals`.

There is no permission of a queued resource: Google checks ``tpu.nodes.*`` for it (iam-dataset, ``gcp/map.json``).
"""

from __future__ import annotations

from collections.abc import Iterable

_TPU_READ = (
    "tpu.nodes.get", "tpu.nodes.list", "tpu.operations.get",
    "tpu.operations.list", "tpu.locations.get", "tpu.locations.list", "tpu.acceleratortypes.get",
    "tpu.acceleratortypes.list", "tpu.runtimeversions.get", "tpu.runtimeversions.list",
)  # fmt: skip
_TPU_WRITE = (
    "tpu.nodes.create", "tpu.nodes.delete", "tpu.nodes.update", "tpu.nodes.start", "tpu.nodes.stop", "tpu.nodes.reset",
    "tpu.nodes.simulateMaintenanceEvent", "tpu.nodes.performMaintenance",
)  # fmt: skip
_COMPUTE_READ = (
    "compute.instances.get", "compute.instances.list", "compute.instances.getSerialPortOutput",
    "compute.instances.getGuestAttributes", "compute.zones.get", "compute.zones.list", "compute.regions.get",
    "compute.regions.list", "compute.machineTypes.get", "compute.machineTypes.list", "compute.acceleratorTypes.get",
    "compute.acceleratorTypes.list", "compute.images.get", "compute.images.list", "compute.images.getFromFamily",
    "compute.projects.get", "compute.networks.get", "compute.networks.list", "compute.subnetworks.get",
    "compute.subnetworks.list", "compute.firewalls.get", "compute.firewalls.list", "compute.disks.get",
    "compute.disks.list", "compute.addresses.get", "compute.addresses.list", "compute.zoneOperations.get",
    "compute.zoneOperations.list", "compute.globalOperations.get", "compute.globalOperations.list",
    "compute.regionOperations.get",
)  # fmt: skip
_COMPUTE_INSTANCE = (
    "compute.instances.create", "compute.instances.delete", "compute.instances.start", "compute.instances.stop",
    "compute.instances.reset", "compute.instances.setLabels", "compute.instances.setMetadata",
    "compute.instances.setScheduling", "compute.instances.setServiceAccount", "compute.instances.setTags",
    "compute.instances.update", "compute.disks.create", "compute.disks.delete", "compute.disks.use",
    "compute.disks.setLabels", "compute.images.useReadOnly", "compute.subnetworks.use",
    "compute.subnetworks.useExternalIp", "compute.networks.use", "compute.networks.useExternalIp",
)  # fmt: skip
_COMPUTE_NETWORK = (
    "compute.networks.create", "compute.networks.delete", "compute.networks.update", "compute.subnetworks.create",
    "compute.subnetworks.delete", "compute.firewalls.create", "compute.firewalls.delete", "compute.addresses.delete",
    "compute.routers.create",
)  # fmt: skip
_OBJECT_VIEW = ("storage.objects.get", "storage.objects.list")
_OBJECT_USER = (*_OBJECT_VIEW, "storage.objects.create", "storage.objects.delete", "storage.objects.update",
                "storage.multipartUploads.create", "storage.multipartUploads.abort")  # fmt: skip
_STORAGE_ADMIN = (
    *_OBJECT_USER, "storage.objects.getIamPolicy", "storage.objects.setIamPolicy", "storage.buckets.create",
    "storage.buckets.delete", "storage.buckets.get", "storage.buckets.list", "storage.buckets.update",
    "storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy", "storage.managedFolders.get",
    "storage.managedFolders.list",
)  # fmt: skip
_TASKS_VIEW = ("cloudtasks.locations.get", "cloudtasks.locations.list", "cloudtasks.queues.get",
               "cloudtasks.queues.list", "cloudtasks.tasks.get", "cloudtasks.tasks.list")  # fmt: skip
_TASKS_QUEUE = ("cloudtasks.queues.create", "cloudtasks.queues.delete", "cloudtasks.queues.update",
                "cloudtasks.queues.pause", "cloudtasks.queues.resume", "cloudtasks.queues.purge",
                "cloudtasks.queues.getIamPolicy", "cloudtasks.queues.setIamPolicy")  # fmt: skip
_TASKS_TASK = ("cloudtasks.tasks.create", "cloudtasks.tasks.delete", "cloudtasks.tasks.run",
               "cloudtasks.tasks.fullView")  # fmt: skip
_ACCOUNT_READ = ("iam.serviceAccounts.get", "iam.serviceAccounts.list", "iam.serviceAccounts.getIamPolicy")
_ACCOUNT_ADMIN = (*_ACCOUNT_READ, "iam.serviceAccounts.create", "iam.serviceAccounts.delete",
                  "iam.serviceAccounts.update", "iam.serviceAccounts.setIamPolicy", "iam.serviceAccounts.disable",
                  "iam.serviceAccounts.enable")  # fmt: skip
_KEYS = ("iam.serviceAccountKeys.create", "iam.serviceAccountKeys.delete", "iam.serviceAccountKeys.get",
         "iam.serviceAccountKeys.list")  # fmt: skip
_PROJECT_READ = ("resourcemanager.projects.get", "resourcemanager.projects.getIamPolicy")
_SERVICES_READ = ("serviceusage.services.get", "serviceusage.services.list", "serviceusage.quotas.get",
                  "serviceusage.operations.get")  # fmt: skip
_QUOTA_READ = ("cloudquotas.quotas.get",)
_ROLE_READ = ("iam.roles.get", "iam.roles.list", "orgpolicy.policy.get", "orgpolicy.policies.list",
              "orgpolicy.constraints.list")  # fmt: skip
_LOOK = ("monitoring.timeSeries.list", "monitoring.metricDescriptors.list", "logging.logEntries.list")

_READ = (*_TPU_READ, *_COMPUTE_READ, "storage.buckets.get", "storage.buckets.list", *_OBJECT_VIEW, *_TASKS_VIEW,
         *_ACCOUNT_READ, *_PROJECT_READ, *_SERVICES_READ, *_QUOTA_READ, *_ROLE_READ, *_LOOK)  # fmt: skip
_EDIT = (*_READ, *_TPU_WRITE, *_COMPUTE_INSTANCE, *_COMPUTE_NETWORK, "storage.buckets.create", "storage.buckets.delete",
         "storage.buckets.update", *_OBJECT_USER, *_TASKS_QUEUE[:6], *_TASKS_TASK, *_ACCOUNT_ADMIN[:5], *_KEYS,
         "iam.serviceAccounts.actAs", "serviceusage.services.enable", "serviceusage.services.disable",
         "serviceusage.services.use", "serviceusage.quotas.update", "cloudquotas.quotas.update",
         "resourcemanager.projects.update")  # fmt: skip
_OWN = (*_EDIT, *_STORAGE_ADMIN, *_TASKS_QUEUE, *_ACCOUNT_ADMIN, "resourcemanager.projects.setIamPolicy",
        "resourcemanager.projects.delete", "resourcemanager.projects.createBillingAssignment",
        "resourcemanager.projects.deleteBillingAssignment", "resourcemanager.projects.create",
        "iam.serviceAccounts.getAccessToken", "iam.serviceAccounts.signBlob", "iam.serviceAccounts.signJwt",
        "iam.roles.create", "iam.roles.delete", "iam.roles.update")  # fmt: skip

ON_BILLING_ACCOUNT = (
    "billing.accounts.get", "billing.accounts.list", "billing.budgets.create", "billing.budgets.delete",
    "billing.budgets.get", "billing.budgets.list", "billing.budgets.update", "billing.resourceAssociations.create",
    "billing.resourceAssociations.delete", "billing.resourceAssociations.list",
)  # fmt: skip
"""Asked of the billing account, never of the project."""

ROLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "roles/owner": ("Owner", _OWN),
    "roles/editor": ("Editor", _EDIT),
    "roles/viewer": ("Viewer", _READ),
    "roles/tpu.admin": ("TPU Admin", (*_TPU_READ, *_TPU_WRITE, *_PROJECT_READ[:1])),
    "roles/tpu.viewer": ("TPU Viewer", (*_TPU_READ, *_PROJECT_READ[:1])),
    "roles/compute.viewer": ("Compute Viewer", (*_COMPUTE_READ, *_PROJECT_READ[:1])),
    "roles/compute.instanceAdmin.v1": ("Compute Instance Admin (v1)",
                                       (*_COMPUTE_READ, *_COMPUTE_INSTANCE, *_PROJECT_READ[:1])),
    "roles/compute.networkAdmin": ("Compute Network Admin", (*_COMPUTE_READ, *_COMPUTE_NETWORK, *_PROJECT_READ[:1])),
    "roles/storage.admin": ("Storage Admin", (*_STORAGE_ADMIN, *_PROJECT_READ[:1])),
    "roles/storage.objectAdmin": ("Storage Object Admin",
                                  (*_OBJECT_USER, "storage.objects.getIamPolicy", "storage.objects.setIamPolicy")),
    "roles/storage.objectUser": ("Storage Object User", _OBJECT_USER),
    "roles/storage.objectViewer": ("Storage Object Viewer", _OBJECT_VIEW),
    "roles/storage.objectCreator": ("Storage Object Creator", ("storage.objects.create",)),
    "roles/storage.legacyBucketReader": ("Storage Legacy Bucket Reader",
                                         ("storage.buckets.get", "storage.objects.list")),
    "roles/storage.legacyBucketOwner": ("Storage Legacy Bucket Owner", _STORAGE_ADMIN[:9]),
    "roles/storage.legacyObjectReader": ("Storage Legacy Object Reader", ("storage.objects.get",)),
    "roles/cloudtasks.admin": ("Cloud Tasks Admin", (*_TASKS_VIEW, *_TASKS_QUEUE, *_TASKS_TASK)),
    "roles/cloudtasks.enqueuer": ("Cloud Tasks Enqueuer", ("cloudtasks.tasks.create", "cloudtasks.tasks.fullView")),
    "roles/cloudtasks.taskDeleter": ("Cloud Tasks Task Deleter", ("cloudtasks.tasks.delete",)),
    "roles/cloudtasks.taskRunner": ("Cloud Tasks Task Runner", ("cloudtasks.tasks.run", "cloudtasks.tasks.fullView")),
    "roles/cloudtasks.viewer": ("Cloud Tasks Viewer", _TASKS_VIEW),
    "roles/cloudtasks.queueAdmin": ("Cloud Tasks Queue Admin", (*_TASKS_VIEW[:4], *_TASKS_QUEUE)),
    "roles/iam.serviceAccountUser": ("Service Account User", (*_ACCOUNT_READ[:2], "iam.serviceAccounts.actAs")),
    "roles/iam.serviceAccountAdmin": ("Service Account Admin", _ACCOUNT_ADMIN),
    "roles/iam.serviceAccountCreator": ("Create Service Accounts", (*_ACCOUNT_READ[:2], "iam.serviceAccounts.create")),
    "roles/iam.serviceAccountKeyAdmin": ("Service Account Key Admin", (*_ACCOUNT_READ[:2], *_KEYS)),
    "roles/iam.serviceAccountTokenCreator": ("Service Account Token Creator",
                                             ("iam.serviceAccounts.getAccessToken", "iam.serviceAccounts.signBlob",
                                              "iam.serviceAccounts.signJwt")),
    "roles/resourcemanager.projectIamAdmin": ("Project IAM Admin",
                                              (*_PROJECT_READ, "resourcemanager.projects.setIamPolicy")),
    "roles/resourcemanager.projectCreator": ("Project Creator", ("resourcemanager.projects.create",)),
    "roles/browser": ("Browser", _PROJECT_READ),
    "roles/serviceusage.serviceUsageAdmin": ("Service Usage Admin",
                                             (*_SERVICES_READ, "serviceusage.services.enable",
                                              "serviceusage.services.disable", "serviceusage.services.use",
                                              "serviceusage.quotas.update")),
    "roles/serviceusage.serviceUsageConsumer": ("Service Usage Consumer",
                                                (*_SERVICES_READ, "serviceusage.services.use")),
    "roles/serviceusage.serviceUsageViewer": ("Service Usage Viewer", _SERVICES_READ),
    "roles/cloudquotas.admin": ("Cloud Quotas Admin", (*_QUOTA_READ, "cloudquotas.quotas.update")),
    "roles/cloudquotas.viewer": ("Cloud Quotas Viewer", _QUOTA_READ),
    "roles/billing.projectManager": ("Project Billing Manager",
                                     ("resourcemanager.projects.createBillingAssignment",
                                      "resourcemanager.projects.deleteBillingAssignment")),
    "roles/billing.admin": ("Billing Account Administrator", ON_BILLING_ACCOUNT),
    "roles/billing.user": ("Billing Account User", (*ON_BILLING_ACCOUNT[:2], "billing.resourceAssociations.create")),
    "roles/billing.viewer": ("Billing Account Viewer", ("billing.accounts.get", "billing.accounts.list",
                                                        "billing.budgets.get", "billing.budgets.list")),
    "roles/logging.logWriter": ("Logs Writer", ("logging.logEntries.create",)),
    "roles/logging.viewer": ("Logs Viewer", ("logging.logEntries.list",)),
    "roles/monitoring.metricWriter": ("Monitoring Metric Writer", ("monitoring.timeSeries.create",)),
    "roles/monitoring.viewer": ("Monitoring Viewer", _LOOK[:2]),
    "roles/orgpolicy.policyViewer": ("Organization Policy Viewer", _ROLE_READ[2:]),
}  # fmt: skip
"""Role → title, permissions."""

KNOWN: frozenset[str] = frozenset(p for _, permissions in ROLES.values() for p in permissions) - {*ON_BILLING_ACCOUNT}
"""What ``projects:testIamPermissions`` answers for; any other name is 400."""


def permissions_of(roles: Iterable[str]) -> frozenset[str]:
    """Union over *roles*; a role that isn't in the table (a custom one) gives nothing."""
    return frozenset(p for role in roles if role in ROLES for p in ROLES[role][1])
