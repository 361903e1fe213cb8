"""What buckets and objects look like on the wire, and which names they may have. Pure."""

from __future__ import annotations

import base64
import re
from urllib.parse import quote

from tpu_studio.practice.clock import Clock
from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.state import Record
from tpu_studio.practice.storage.store import StoredObject

BUCKET_WRITABLE = (
    "autoclass",
    "billing",
    "cors",
    "customPlacementConfig",
    "defaultEventBasedHold",
    "encryption",
    "iamConfiguration",
    "labels",
    "lifecycle",
    "location",
    "logging",
    "retentionPolicy",
    "rpo",
    "softDeletePolicy",
    "storageClass",
    "versioning",
    "website",
)
OBJECT_WRITABLE = (
    "cacheControl",
    "contentDisposition",
    "contentEncoding",
    "contentLanguage",
    "contentType",
    "customTime",
    "eventBasedHold",
    "metadata",
    "storageClass",
    "temporaryHold",
)
MULTI_REGIONS = ("US", "EU", "ASIA")
SOFT_DELETE_S = 604_800  # Google's default; the practice cloud keeps nothing that was deleted, and charges it

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


def check_bucket_name(name: str) -> None:
    """Raises: GoogleError 400."""
    parts = name.split(".")
    fits = _BUCKET_NAME.fullmatch(name) and all(0 < len(part) <= 63 for part in parts) and ".." not in name
    if not fits or name.startswith("goog") or "google" in name or re.fullmatch(r"\d+\.\d+\.\d+\.\d+", name):
        raise GoogleError(400, message=f"Invalid bucket name: '{name}'")


def check_object_name(name: str) -> None:
    """Raises: GoogleError 400."""
    if not name:
        raise GoogleError(400, message="Required parameter: name", reason="required")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise GoogleError(400, message="Invalid object name: it is not Unicode") from None
    if size > 1024:
        raise GoogleError(400, message="The specified object name is too long: 1024 bytes of UTF-8 at most")
    if "\r" in name or "\n" in name or name in (".", "..") or name.startswith(".well-known/acme-challenge/"):
        raise GoogleError(400, message=f"Invalid object name: {name!r}")


def check_facts(facts: dict[str, object]) -> dict[str, object]:
    """*facts* of an object, those of them that become headers without control characters. Raises: GoogleError 400."""
    for key in OBJECT_WRITABLE:
        if isinstance(value := facts.get(key), str) and _CONTROL.search(value):
            raise GoogleError(400, message=f"Invalid value for {key}: control characters are not allowed.")
    return facts


def etag(*numbers: int) -> str:
    """As Google's look: a protocol buffer of varints, in base64."""
    message = bytearray()
    for index, number in enumerate(numbers, 1):
        message.append(index << 3)
        while number > 0x7F:
            message.append(number & 0x7F | 0x80)
            number >>= 7
        message.append(number)
    return base64.b64encode(bytes(message)).decode()


class Resources:
    """*url* is where clients reach the practice cloud: it stands in selfLink and mediaLink."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._url, self._clock = url.rstrip("/"), clock

    def object(self, stored: StoredObject) -> Record:
        path = f"/storage/v1/b/{stored.bucket}/o/{quote(stored.name, safe='')}"
        created, updated = self._clock.rfc3339(stored.created), self._clock.rfc3339(stored.updated)
        return {
            "kind": "storage#object",
            "id": f"{stored.bucket}/{stored.name}/{stored.generation}",
            "selfLink": self._url + path,
            "mediaLink": f"{self._url}/download{path}?generation={stored.generation}&alt=media",
            "name": stored.name,
            "bucket": stored.bucket,
            "generation": str(stored.generation),
            "metageneration": str(stored.metageneration),
            "size": str(stored.size),
            "etag": etag(stored.generation, stored.metageneration),
            "timeCreated": created,
            "updated": updated,
            "timeStorageClassUpdated": created,
            "timeFinalized": created,
            **stored.facts,
        }

    def bucket(self, record: Record) -> Record:
        """*record* as :meth:`new_bucket` makes it."""
        shown = {key: value for key, value in record.items() if key not in ("project", "created", "changed")}
        return {
            "kind": "storage#bucket",
            "id": record["name"],
            "selfLink": f"{self._url}/storage/v1/b/{record['name']}",
            **shown,
            "timeCreated": self._clock.rfc3339(record["created"]),
            "updated": self._clock.rfc3339(record["changed"]),
            "etag": etag(int(record["metageneration"])),
        }

    def new_bucket(self, asked: Record, project: str, number: str) -> Record:
        """Google's defaults around what was *asked*. Raises: GoogleError 400."""
        name = str(asked.get("name", ""))
        if not name:
            raise GoogleError(400, message="Required parameter: name", reason="required")
        check_bucket_name(name)
        now = self._clock.now()
        location = str(asked.get("location") or "US").upper()
        record: dict[str, object] = {key: asked[key] for key in BUCKET_WRITABLE if asked.get(key) not in (None, {}, [])}
        record |= {
            "name": name,
            "project": project,
            "projectNumber": number,
            "created": now,
            "changed": now,
            "metageneration": "1",
            "location": location,
            "locationType": "multi-region" if location in MULTI_REGIONS else "region",
            "storageClass": asked.get("storageClass") or "STANDARD",
        }
        self.complete(record)
        return record

    def complete(self, record: Record) -> None:
        """The parts of a bucket that Google always shows, filled up after a create or a patch. Raises: GoogleError."""
        uniform = bool(record.get("iamConfiguration", {}).get("uniformBucketLevelAccess", {}).get("enabled"))
        prevention = record.get("iamConfiguration", {}).get("publicAccessPrevention") or "inherited"
        if prevention not in ("inherited", "enforced", "unspecified"):
            raise GoogleError(400, message=f"Invalid argument: publicAccessPrevention {prevention}")
        access: dict[str, object] = {"enabled": uniform}
        if uniform:
            access["lockedTime"] = self._clock.rfc3339(record["created"] + 90 * 86_400)
        record["iamConfiguration"] = {
            "bucketPolicyOnly": access,
            "uniformBucketLevelAccess": access,
            "publicAccessPrevention": prevention,
        }
        kept = record.get("softDeletePolicy", {}).get("retentionDurationSeconds", SOFT_DELETE_S)
        if not str(kept).isdigit() or not (int(kept) == 0 or 604_800 <= int(kept) <= 7_776_000):
            raise GoogleError(400, message="Soft delete policy retention duration must be 0, or 7 to 90 days.")
        record["softDeletePolicy"] = {"retentionDurationSeconds": str(kept)}
        if int(kept):
            record["softDeletePolicy"]["effectiveTime"] = self._clock.rfc3339(record["created"])


def merged(old: Record, patch: Record) -> Record:
    """JSON merge patch: null removes a key, objects merge, everything else replaces."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict) and isinstance(new.get(key), dict):
            new[key] = merged(new[key], value)
        elif isinstance(value, dict):
            new[key] = merged({}, value)
        else:
            new[key] = value
    return new
