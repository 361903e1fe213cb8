"""What every storage handler needs: the store, who may do what, faults, and the count of billable operations.

A bucket's policy is kept with all others (`principals`, ``buckets/B``). Overwriting an object takes
``storage.objects.delete`` besides ``storage.objects.create``, as in Google Cloud.
"""

from __future__ import annotations

import errno
import sqlite3
import threading
from collections.abc import Iterator
from functools import wraps
from typing import Any

from tpu_studio.domain.generations import region_of
from tpu_studio.practice import besides, consumers, jsonbody
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.conditions import NOTHING, of_object
from tpu_studio.practice.discovery import checked
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.principals import CLOUD_PLATFORM
from tpu_studio.practice.routing import Handler, Reply, Request, Router
from tpu_studio.practice.state import Record
from tpu_studio.practice.storage import conditions, fields, lifecycle
from tpu_studio.practice.storage.resources import Resources
from tpu_studio.practice.storage.store import BLOCK, BucketMissing, Facts, ObjectStore, StoredObject

# USD for one operation on Standard storage in one region (price list, reference: google-cloud.md §10.2). A: insert,
# list, copy, compose, patch; B: get. Deletes are free, and so is what was refused.
USD = {"A": 0.005 / 1000, "B": 0.0004 / 1000}
SKU = {"A": "Regional Standard Class A Operations", "B": "Regional Standard Class B Operations"}

STORAGE_SCOPES = (CLOUD_PLATFORM, "https://www.googleapis.com/auth/devstorage.")
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Service:
    def __init__(self, cloud: Cloud, store: ObjectStore) -> None:
        self.cloud, self.store = cloud, store
        self.resources = Resources(cloud.url, cloud.clock)
        self._writes = 0
        self._written: dict[str, float] = {}  # when, by bucket and name: the doubt object-write-rate
        self._counting = threading.Lock()

    def route(self, router: Router, method: str, pattern: str, handler: Handler, permission: str = "") -> None:
        router.route(method, pattern, permission=permission, service="storage.googleapis.com")(self._guarded(handler))

    def bucket(self, name: str) -> Facts:
        """Raises: GoogleError 403: Cloud Storage is off, or nobody pays, in its project; 404."""
        record = self.store.bucket(name)
        if record is None or self.cloud.faults.take("bucket-gone", bucket=name) is not None:
            raise no_bucket()
        consumers.check_bucket(self.cloud, record["project"])
        return record

    def object(self, bucket: str, name: str, generation: str = "") -> StoredObject:
        """The live object, if it is of that generation. Raises: GoogleError 404."""
        stored = self.store.find(bucket, name)
        if stored is None or (generation and generation != str(stored.generation)):
            told = f"{bucket}/{name}" + (f"#{generation}" if generation else "")
            raise GoogleError(404, message=f"No such object: {told}")
        return stored

    def may(self, request: Request, permission: str, bucket: Facts, name: str = "") -> bool:
        """*name*: the object that it is about; "": the bucket, as of a list."""
        resources = (f"projects/{bucket['project']}", f"buckets/{bucket['name']}")
        about = NOTHING if self.cloud.doubts.way("bucket-condition") else of_object(bucket["name"], name)
        return self.cloud.principals.may(request.principal, permission, *resources, about=about)

    def need(self, request: Request, permission: str, bucket: Facts, name: str = "") -> None:
        """On *bucket* itself: a copy names two. Raises: GoogleError 403."""
        if self.may(request, permission, bucket, name):
            return
        if not any(scope.startswith(STORAGE_SCOPES) for scope in request.principal.scopes):
            message = "Request had insufficient authentication scopes."
            raise GoogleError(403, message=message, reason="insufficientPermissions")
        raise _denied(request, permission, "bucket")

    def admit_write(self, request: Request, bucket: Facts, name: str) -> None:
        """The right to create, and the faults that hit writes, before a byte of the body is kept.

        Raises:
            GoogleError: 403, 503.
        """
        self.need(request, "storage.objects.create", bucket, name)
        with self._counting:
            self._writes += 1
            number = self._writes
        about: dict[str, object] = {"call": request.call, "bucket": bucket["name"], "object": name, "write": number}
        if self.cloud.faults.take("object-write-refused", **about) is not None:
            raise _denied(request, "storage.objects.create", "object")
        if self.cloud.faults.take("storage-full", **about) is not None:
            raise out_of_space()
        if self.cloud.faults.take("storage-write-unavailable", **about) is not None:
            raise GoogleError(503, message="We encountered an internal error. Please try again.")
        if self.cloud.doubts.way("object-write-rate"):
            self._once_a_second(f"{bucket['name']}/{name}")

    def _once_a_second(self, name: str) -> None:
        now = self.cloud.clock.now()
        with self._counting:
            if now < self._written.get(name, 0.0) + 1.0:
                text = f"The object {name} exceeded the rate limit for object mutation operations"
                raise GoogleError(429, message=f"{text} (create, update, and delete).", reason="rateLimitExceeded")
            self._written[name] = now

    def answer(self, request: Request, resource: Facts) -> Facts:
        """*resource*, or the part of it that ``fields`` asks for. Raises: GoogleError 400."""
        wanted = request.one("fields")
        if not wanted:
            return resource
        try:
            return dict(fields.apply(fields.parse(wanted), resource))
        except fields.BadFields:
            raise GoogleError(400, message=f"Invalid field selection {wanted}", reason="invalidParameter") from None

    def count(self, operation_class: str, name: str) -> None:
        """One operation of class A or B that has succeeded, for the bill; *name*: its bucket or project."""
        self.cloud.meter.charge(name, SKU[operation_class], USD[operation_class], self.cloud.clock.now())

    def count_free(self, name: str) -> None:
        """A refused call, or a delete: free, unless the doubt ``storage-prices`` is played the other way."""
        if name and self.cloud.doubts.way("storage-prices") == "refused-too":
            self.count("B", name)

    def count_read(self, request: Request, bucket: Facts, size: int) -> None:
        """Bytes that leave the bucket's region: to a machine elsewhere, or out of Google's network."""
        self._moved(bucket, str(bucket["location"]).lower(), region_of(request.principal.zone), size)

    def count_written(self, request: Request, bucket: Facts, size: int) -> None:
        """Bytes from a machine of another region; what comes from outside is free."""
        if request.principal.zone:
            self._moved(bucket, region_of(request.principal.zone), str(bucket["location"]).lower(), size)

    def _moved(self, bucket: Facts, source: str, target: str, size: int) -> None:
        sku, each = besides.traffic(self.cloud, source, target)
        if size and each:
            self.cloud.meter.charge(bucket["name"], sku, size * each, self.cloud.clock.now())

    def dropped(self, stored: StoredObject, at: float) -> None:
        """It lay there until now, and lies where it cannot be seen for as long as the bucket keeps what was deleted."""
        bucket = self.store.bucket(stored.bucket)
        region = str(bucket["location"]).lower() if bucket else ""
        usd = besides.lying_usd(stored.size, region, max(0.0, at - stored.created) + _kept_s(bucket or {}))
        if usd:
            self.cloud.meter.charge(stored.bucket, besides.STORAGE.format(region), usd, at)

    def lying(self) -> list[Record]:
        """Lines of the bill for what lies in buckets now."""
        lines, now = [], self.cloud.clock.now()
        for bucket in self.store.buckets():
            region, usd, to_come, count = str(bucket["location"]).lower(), 0.0, 0.0, 0
            rules = lifecycle.parse(bucket.get("lifecycle", {}))
            for stored in self.store.scan(bucket["name"]):
                count += 1
                usd += besides.lying_usd(stored.size, region, max(0.0, now - stored.created))
                left_s = lifecycle.left_s(rules, stored, now)
                to_come += besides.lying_usd(stored.size, region, 0.0 if left_s is None else left_s + _kept_s(bucket))
            if count:
                sku = f"{besides.STORAGE.format(region)}: what lies there"
                lines.append({"name": bucket["name"], "sku": sku, "usd": usd, "count": count, "usd_to_come": to_come})
        return lines

    def _guarded(self, handler: Handler) -> Handler:
        @wraps(handler)
        def guarded(request: Request) -> Reply | dict[str, object]:
            try:
                if self.cloud.faults.take("storage-unavailable", call=request.call) is not None:
                    raise GoogleError(503, message="We encountered an internal error. Please try again.")
                return handler(request)
            except conditions.NotModified:
                return Reply(304)
            except BucketMissing:
                raise no_bucket() from None
            except GoogleError:
                for _ in pieces(request):  # a refusal reaches the client only when its body has been taken
                    pass
                self.count_free(request.match.get("bucket", ""))
                raise
            except sqlite3.OperationalError as error:
                if "full" in str(error):
                    raise out_of_space() from error
                raise
            except OSError as error:
                if error.errno in _NO_ROOM:
                    raise out_of_space() from error
                raise  # the client has hung up

        return guarded


def _denied(request: Request, permission: str, kind: str) -> GoogleError:
    return GoogleError(
        403,
        message=f"{request.principal.email} does not have {permission} access to the Google Cloud Storage {kind}. "
        f"Permission '{permission}' denied on resource (or it may not exist).",
    )


def pieces(request: Request) -> Iterator[bytes]:
    """The body as it arrives."""
    return iter(lambda: request.stream.read(BLOCK), b"")


def body(request: Request, schema: str) -> Record:
    """The JSON body, held to *schema* (``storage.v1:Bucket``); nulls stay, in a patch they remove.

    Raises:
        GoogleError: 400.
    """
    return parsed(request.body, schema)


def parsed(text: bytes, schema: str) -> dict[str, object]:
    """Raises: GoogleError 400."""
    try:
        value = jsonbody.read(text)
    except ValueError:
        raise GoogleError(400, message="Parse Error", reason="parseError") from None
    checked(schema, without_nulls(value))
    return {key: _whole_lists(item) for key, item in value.items()}


def out_of_space() -> GoogleError:
    """Google's disks are not full for a client to see: it says 503 and means "later"."""
    return GoogleError(503, message="The service is temporarily unavailable: there is no room to store the object.")


def no_bucket() -> GoogleError:
    return GoogleError(404, message="The specified bucket does not exist.")


def whole_number(text: str, name: str) -> int:
    """Raises: GoogleError 400."""
    if not text.isdigit():
        raise GoogleError(400, message=f"Invalid value '{text}' for {name}. Value must be a whole number.")
    return int(text)


def without_nulls(value: object) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return value


def _whole_lists(value: object) -> object:
    """A list takes the place of the old one, so a null within it removes nothing: it is as if it were not there."""
    if isinstance(value, dict):
        return {key: _whole_lists(item) for key, item in value.items()}
    return without_nulls(value)


def _kept_s(bucket: Facts) -> float:
    """Soft delete: https://cloud.google.com/storage/docs/soft-delete, charged as the object was."""
    return float((bucket.get("softDeletePolicy") or {}).get("retentionDurationSeconds") or 0.0)
