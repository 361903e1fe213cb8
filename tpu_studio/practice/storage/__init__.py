"""Cloud Storage's JSON API: buckets and objects, as google-cloud-storage, gcloud and our own guardian speak to it.

    /storage/v1/b…                       buckets.py      (policy, permissions, lifecycle.py in practice time)
    /storage/v1/b/B/o…  /download/…      objects.py, downloads.py, listing.py
    /upload/…  /resumable/upload/…       uploads.py, multipart.py
                                         service.py      permissions, faults, billable operations
                                         store.py        SQLite and files under <home>/practice/objects

Left out: versions of an object and soft delete (one live version, a delete is final), the XML API, ACLs (buckets with
uniform access have none), customer-supplied keys. Operations, what lies there, and what leaves the region are billed by
the dated rates.
"""

from __future__ import annotations

from tpu_studio.domain.grants import own_words
from tpu_studio.practice import orgpolicy
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.routing import Router
from tpu_studio.practice.storage import buckets, lifecycle, objects, uploads
from tpu_studio.practice.storage.service import Service
from tpu_studio.practice.storage.store import ObjectStore

LIFECYCLE_S = 3600.0  # practice seconds between two looks; Google promises "within a day"


def install(router: Router, cloud: Cloud) -> None:
    store = ObjectStore(cloud.settings.objects, cloud.clock.now)
    cloud.closing.append(store.close)
    service = Service(cloud, store)
    store.on_drop = service.dropped
    cloud.meter.more.append(service.lying)
    buckets.install(router, service)
    objects.install(router, service)
    uploads.install(router, service)

    def look_after_objects() -> None:
        apply_lifecycle(store, cloud.clock.now())

    cloud.every(LIFECYCLE_S, look_after_objects)
    if cloud.settings.ready and cloud.db.get("practice", "prepared") is None:
        _first_bucket(cloud, service)


def apply_lifecycle(store: ObjectStore, now: float) -> int:
    """Delete what the buckets' rules say; how many objects that were. *now* in practice seconds since 1970."""
    gone = 0
    for bucket in store.buckets():
        rules = lifecycle.parse(bucket.get("lifecycle", {}))
        for stored in lifecycle.due(rules, store.scan(bucket["name"]), now) if rules else ():
            store.delete(stored)
            gone += 1
    return gone


def _first_bucket(cloud: Cloud, service: Service) -> None:
    """The place for results that a finished set-up has: as `cloud` makes it, writable by the runner."""
    settings = cloud.settings
    if service.store.bucket(settings.bucket) is not None:
        return
    forced = orgpolicy.LISTS[orgpolicy.SOFT_DELETE]["allowedValues"]
    kept = forced[0] if orgpolicy.enforced(cloud, orgpolicy.SOFT_DELETE) else "0"
    asked = {
        "name": settings.bucket,
        "location": settings.region,
        "storageClass": "STANDARD",
        "iamConfiguration": {"uniformBucketLevelAccess": {"enabled": True}, "publicAccessPrevention": "enforced"},
        "softDeletePolicy": {"retentionDurationSeconds": kept},
        "lifecycle": {
            "rule": [
                {"action": {"type": "Delete"}, "condition": {"age": 30, "matchesPrefix": ["runs/", "data/"]}},
                {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}},
            ]
        },
        "labels": {"tpu-studio": "1"},
    }
    buckets.Buckets(service).new(asked, settings.project, settings.number)
    on, runner = f"buckets/{settings.bucket}", f"serviceAccount:{settings.runner}"
    roles = f"projects/{settings.project}/roles"
    cloud.principals.grant(on, f"{roles}/tpuStudioReader", runner)
    cloud.principals.grant(on, f"{roles}/tpuStudioWriter", runner, own_words(settings.bucket))
