"""Buckets: create, read, list, change, delete, their policy, and what a caller may do with them."""

from __future__ import annotations

import base64
import binascii

from tpu_studio.practice import consumers, iam, orgpolicy, policies
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.routing import Reply, Request, Router
from tpu_studio.practice.server import require
from tpu_studio.practice.state import Record
from tpu_studio.practice.storage import conditions, lifecycle
from tpu_studio.practice.storage.resources import BUCKET_WRITABLE, SOFT_DELETE_S, merged
from tpu_studio.practice.storage.service import Service, body, whole_number, without_nulls

FIXED = ("location",)  # once created
SCHEMA = "storage.v1:Bucket"


def install(router: Router, service: Service) -> None:
    handlers = Buckets(service)
    one = r"/storage/v1/b/(?P<bucket>[^/]+)"
    service.route(router, "POST", r"/storage/v1/b", handlers.insert)
    service.route(router, "GET", r"/storage/v1/b", handlers.list)
    service.route(router, "GET", one, handlers.get)
    service.route(router, "PATCH", one, handlers.patch)
    service.route(router, "PUT", one, handlers.update)
    service.route(router, "DELETE", one, handlers.delete)
    service.route(router, "GET", one + "/iam", handlers.get_policy)
    service.route(router, "PUT", one + "/iam", handlers.set_policy)
    service.route(router, "GET", one + "/iam/testPermissions", handlers.test_permissions)
    service.route(router, "GET", one + "/storageLayout", handlers.layout)
    service.route(router, "GET", one + "/managedFolders", handlers.managed_folders)


class Buckets:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._store = service.store

    def insert(self, request: Request) -> dict[str, object]:
        project = self._project(request, "storage.buckets.create")
        asked = body(request, SCHEMA)
        self._check_soft_delete(asked)
        record = self.new(asked, project["projectId"], project["projectNumber"])
        self._service.count("A", record["name"])
        return self._service.answer(request, self._service.resources.bucket(record))

    def _check_soft_delete(self, asked: Record) -> None:
        """Raises GoogleError 412: the organisation allows other durations only; Google's usual one counts, too."""
        cloud = self._service.cloud
        kept = str((asked.get("softDeletePolicy") or {}).get("retentionDurationSeconds", SOFT_DELETE_S))
        allowed = orgpolicy.LISTS[orgpolicy.SOFT_DELETE]["allowedValues"]
        if orgpolicy.enforced(cloud, orgpolicy.SOFT_DELETE) and kept not in allowed:
            words = f"'{kept}' violates constraint 'constraints/{orgpolicy.SOFT_DELETE}'"
            raise GoogleError(412, message=words, reason="conditionNotMet")

    def new(self, asked: Record, project: str, number: str) -> Record:
        """Raises: GoogleError 400, 409."""
        record = self._service.resources.new_bucket(asked, project, number)
        _check(record)
        with self._store.transaction():
            there = self._store.bucket(record["name"])
            if there is not None:
                raise GoogleError(409, message=_TAKEN_BY_YOU if there["project"] == project else _TAKEN)
            self._store.put_bucket(record["name"], record)
        uniform = record["iamConfiguration"]["uniformBucketLevelAccess"]["enabled"]
        self._service.cloud.principals.set_policy(f"buckets/{record['name']}", first_policy(project, uniform))
        return record

    def _project(self, request: Request, permission: str) -> Record:
        """Raises: GoogleError 400, 403."""
        asked = request.one("project")
        if not asked:
            raise GoogleError(400, message="Required parameter: project", reason="required")
        for id, record in self._service.cloud.db.list("project"):
            if asked in (id, record.get("number")):
                request.match["project"] = id
                consumers.check_bucket(self._service.cloud, id)
                require(self._service.cloud, request, permission)
                return {"projectId": id, "projectNumber": str(record.get("number", ""))}
        raise GoogleError(400, message=f"Unknown project id: {asked}")

    def list(self, request: Request) -> Record:
        project = self._project(request, "storage.buckets.list")["projectId"]
        most = min(whole_number(request.one("maxResults") or "1000", "maxResults") or 1000, 1000)
        try:
            after = base64.urlsafe_b64decode(request.one("pageToken")).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise GoogleError(400, message="Invalid page token.") from None
        records = [
            record
            for record in self._store.buckets()
            if record["project"] == project
            and record["name"] > after
            and record["name"].startswith(request.one("prefix"))
        ]
        answer: dict[str, object] = {"kind": "storage#buckets"}
        if records:
            answer["items"] = [self._service.resources.bucket(record) for record in records[:most]]
        if len(records) > most:
            answer["nextPageToken"] = base64.urlsafe_b64encode(records[most - 1]["name"].encode()).decode()
        self._service.count("A", project)
        return self._service.answer(request, answer)

    def get(self, request: Request) -> Record:
        record = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.buckets.get", record)
        _check_metageneration(request, record, reading=True)
        self._service.count("B", record["name"])
        return self._service.answer(request, self._service.resources.bucket(record))

    def patch(self, request: Request) -> dict[str, object]:
        return self._change(request, replace=False)

    def update(self, request: Request) -> Record:
        return self._change(request, replace=True)

    def _change(self, request: Request, *, replace: bool) -> dict[str, object]:
        asked = {key: value for key, value in body(request, SCHEMA).items() if key in BUCKET_WRITABLE}
        with self._store.transaction():
            record = self._service.bucket(request.match["bucket"])
            self._service.need(request, "storage.buckets.update", record)
            _check_metageneration(request, record)
            for key in FIXED:
                if key in asked and str(asked[key]).upper() != str(record.get(key)).upper():
                    raise GoogleError(400, message=f"The bucket's {key} cannot be changed.")
            asked = {key: value for key, value in asked.items() if key not in FIXED}
            if "softDeletePolicy" in asked:
                self._check_soft_delete(asked)
            base = {k: v for k, v in record.items() if not (replace and k in BUCKET_WRITABLE and k not in FIXED)}
            record = merged(base, asked)
            record.setdefault("storageClass", "STANDARD")
            for key in ("labels", "lifecycle", "cors"):
                if not record.get(key, True):
                    del record[key]
            self._service.resources.complete(record)
            _check(record)
            record["metageneration"] = str(int(record["metageneration"]) + 1)
            record["changed"] = self._service.cloud.clock.now()
            self._store.put_bucket(record["name"], record)
        self._service.count("A", record["name"])
        return self._service.answer(request, self._service.resources.bucket(record))

    def delete(self, request: Request) -> Reply:
        with self._store.transaction():
            record = self._service.bucket(request.match["bucket"])
            self._service.need(request, "storage.buckets.delete", record)
            _check_metageneration(request, record)
            if not self._store.is_empty(record["name"]):
                raise GoogleError(409, message="The bucket you tried to delete is not empty.")
            self._store.delete_bucket(record["name"])
        self._service.cloud.db.delete("policy", f"buckets/{record['name']}")
        return Reply(204)

    def get_policy(self, request: Request) -> dict[str, object]:
        record = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.buckets.getIamPolicy", record)
        self._service.count("B", record["name"])
        return self._service.answer(request, self._policy(record["name"], request.one("optionsRequestedPolicyVersion")))

    def set_policy(self, request: Request) -> dict[str, object]:
        asked = without_nulls(body(request, "storage.v1:Policy"))
        bindings = asked.get("bindings", [])
        for binding in bindings:
            if not str(binding.get("role", "")).startswith(("roles/", "projects/", "organizations/")):
                raise GoogleError(400, message=f"Role {binding.get('role')} is not supported for this resource.")
        record = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.buckets.setIamPolicy", record)
        cloud, resource = self._service.cloud, f"buckets/{record['name']}"
        for member in (one for binding in bindings for one in binding.get("members", [])):
            kind, _, email = member.partition(":")
            if kind == "serviceAccount" and not iam.is_known(cloud, email):
                raise GoogleError(400, message=f"Service account {email} does not exist.", reason="invalid")
        with cloud.db.transaction():
            if asked.get("etag") and asked["etag"] != cloud.principals.policy(resource)["etag"]:
                raise conditions.failed()
            policies.check_written(cloud.principals.policy(resource), asked)
            kept = [binding for binding in bindings if binding.get("members")]
            written = {"bindings": kept, "version": asked.get("version") or 1}
            cloud.principals.set_policy(resource, written, lambda grant: policies.known_at(cloud, grant))
        self._service.count("A", record["name"])
        return self._service.answer(request, self._policy(record["name"], asked.get("version")))

    def _policy(self, bucket: str, version: object) -> dict[str, object]:
        cloud = self._service.cloud
        policy = policies.shown(cloud, cloud.principals.policy(f"buckets/{bucket}"), version)
        return {"kind": "storage#policy", "resourceId": f"projects/_/buckets/{bucket}", **policy}

    def test_permissions(self, request: Request) -> dict[str, object]:
        record = self._service.bucket(request.match["bucket"])
        asked = request.query.get("permissions", [])
        held = [permission for permission in asked if self._service.may(request, permission, record)]
        self._service.count("B", record["name"])
        answer: dict[str, object] = {"kind": "storage#testIamPermissionsResponse"}
        return answer | ({"permissions": held} if held else {})

    def layout(self, request: Request) -> Record:
        record = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.objects.list", record)
        return {
            "kind": "storage#storageLayout",
            "bucket": record["name"],
            "location": record["location"],
            "locationType": record["locationType"],
            "hierarchicalNamespace": {"enabled": False},
        }

    def managed_folders(self, request: Request) -> dict[str, object]:
        """None: nobody makes any here. `gcloud storage rm --recursive` asks."""
        record = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.managedFolders.list", record)
        return {"kind": "storage#managedFolders"}


_TAKEN_BY_YOU = "Your previous request to create the named bucket succeeded and you already own it."
_TAKEN = (
    "The requested bucket name is not available. The bucket namespace is shared by all users of the system. "
    "Please select a different name and try again."
)


def first_policy(project: str, uniform: bool) -> dict[str, object]:
    """What Google gives a new bucket."""
    owners = [f"projectEditor:{project}", f"projectOwner:{project}"]
    viewers = [f"projectViewer:{project}"]
    bindings = [
        {"role": "roles/storage.legacyBucketOwner", "members": owners},
        {"role": "roles/storage.legacyBucketReader", "members": viewers},
    ]
    if uniform:
        bindings += [
            {"role": "roles/storage.legacyObjectOwner", "members": owners},
            {"role": "roles/storage.legacyObjectReader", "members": viewers},
        ]
    return {"bindings": bindings, "version": 1}


def _check(record: Record) -> None:
    """Raises: GoogleError 400."""
    try:
        lifecycle.parse(record.get("lifecycle", {}))
    except lifecycle.BadRule as error:
        raise GoogleError(400, message=f"Invalid lifecycle: {error}") from None


def _check_metageneration(request: Request, record: Record, *, reading: bool = False) -> None:
    asked = conditions.asked(request.query)
    metageneration = int(record["metageneration"])
    if asked.get("MetagenerationMatch", metageneration) != metageneration:
        raise conditions.failed()
    if asked.get("MetagenerationNotMatch") == metageneration:
        if reading:
            raise conditions.NotModified
        raise conditions.failed()
