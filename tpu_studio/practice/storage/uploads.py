"""Uploads: simple (``media``), multipart and resumable, under ``/upload`` and, as gcloud has it, ``/resumable/upload``.

A resumable upload is a session URI: PUT with Content-Range adds to it, ``bytes */…`` asks how far it is (308 with
``Range``), DELETE ends it (499). It survives a restart of the server and ends a week after its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.routing import Reply, Request, Router
from tpu_studio.practice.state import Record
from tpu_studio.practice.storage import conditions
from tpu_studio.practice.storage.multipart import BadMultipart, MultipartBody
from tpu_studio.practice.storage.ranges import CHUNK, BadContentRange, ContentRange, carried
from tpu_studio.practice.storage.resources import OBJECT_WRITABLE, check_facts, check_object_name
from tpu_studio.practice.storage.service import Service, parsed, pieces, whole_number
from tpu_studio.practice.storage.store import Digest, Facts, Growing, StoredObject, UploadEnded

SESSION_S = 7 * 86_400  # practice seconds
CANCELLED = {"state": "cancelled"}


def install(router: Router, service: Service) -> None:
    handlers = Uploads(service)
    path = r"(?:/resumable)?/upload/storage/v1/b/(?P<bucket>[^/]+)/o"
    service.route(router, "POST", path, handlers.post)
    service.route(router, "PUT", path, handlers.put)
    service.route(router, "DELETE", path, handlers.cancel)
    service.cloud.every(3600, lambda: forget_old(service))


def forget_old(service: Service) -> None:
    service.store.drop_uploads_before(service.cloud.clock.now() - SESSION_S)


class Uploads:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._store = service.store

    def post(self, request: Request) -> Reply | Record:
        if request.one("upload_id"):
            return self.put(request)
        kind = request.one("uploadType")
        bucket = self._service.bucket(request.match["bucket"])
        if kind == "media":
            facts = {"contentType": request.headers.get("Content-Type", "")}
            return self._at_once(request, bucket, facts, pieces(request))
        if kind == "multipart":
            try:
                parts = MultipartBody(request.headers.get("Content-Type", ""), pieces(request))
                metadata = parsed(parts.metadata, "storage.v1:Object")
                metadata.setdefault("contentType", parts.media_type)
                return self._at_once(request, bucket, metadata, parts.media())
            except BadMultipart as error:
                raise GoogleError(400, message=f"Malformed multipart body: {error}", reason="badContent") from None
        if kind == "resumable":
            return self._begin(request, bucket)
        raise GoogleError(400, message=f"Invalid value for uploadType: {kind!r}")

    def _at_once(self, request: Request, bucket: Facts, metadata: Facts, chunks: Iterator[bytes]) -> Record:
        name = _name(request, metadata)
        self._service.admit_write(request, bucket, name)
        content, digest = self._store.write(chunks)
        try:
            made = self._finish(request, bucket, name, metadata, dict(request.query), content, digest)
        except BaseException:
            self._store.discard(content)
            raise
        self._service.count("A", bucket["name"])
        self._service.count_written(request, bucket, digest.size)
        return self._service.answer(request, self._service.resources.object(made))

    # ------------------------------------------------------------------------------------------------ resumable

    def _begin(self, request: Request, bucket: Facts) -> Reply:
        metadata = parsed(request.body, "storage.v1:Object")
        name = _name(request, metadata)
        self._service.admit_write(request, bucket, name)
        self._check(request, bucket, name, dict(request.query))
        if not metadata.get("contentType"):
            metadata["contentType"] = request.headers.get("X-Upload-Content-Type", "")
        length = request.headers.get("X-Upload-Content-Length", "")
        record = {
            "bucket": bucket["name"],
            "name": name,
            "metadata": metadata,
            "query": {key: value for key, value in request.query.items() if key.startswith("if") or key == "fields"},
            "total": whole_number(length, "X-Upload-Content-Length") if length else None,
            "state": "open",
        }
        id = self._store.begin_upload(record)
        location = f"{self._service.cloud.url}{request.path}?uploadType=resumable&upload_id={id}"
        return Reply(200, headers={"Location": location, "X-GUploader-UploadID": id})

    def put(self, request: Request) -> Reply | Record:
        id = request.one("upload_id")
        record = self._session(request, id)
        bucket = self._service.bucket(record["bucket"])
        header = request.headers.get("Content-Range", "")
        try:
            span = carried(header) if header else None
        except BadContentRange:
            raise GoogleError(400, message=f"Failed to parse Content-Range header: {header}") from None
        if record["state"] == "open" and (span is None or span.start is not None):
            self._service.admit_write(request, bucket, record["name"])
        try:
            with self._store.growing(id) as growing:
                total = self._receive(request, span, record, growing)
                if total is None or growing.size < total:
                    return _incomplete(growing.size)
                try:
                    with self._store.transaction():
                        name, metadata, query = record["name"], record["metadata"], record["query"]
                        made = self._finish(request, bucket, name, metadata, query, growing.content, growing.digest)
                        shown = self._service.resources.object(made)
                        self._store.finish_upload(id, {**record, "state": "done", "object": shown})
                except GoogleError as error:
                    refused = {"state": "refused", "code": error.code, "message": error.message}
                    self._store.drop_upload(id, {**record, **refused})
                    raise
        except UploadEnded:  # another request of this session has ended it
            record = self._session(request, id)
            if record["state"] != "done":
                raise _gone() from None
            shown = record["object"]
        else:
            self._service.count("A", bucket["name"])
            self._service.count_written(request, bucket, int(shown["size"]))
        return self._service.answer(request, shown)

    def _session(self, request: Request, id: str) -> Facts:
        """Raises: GoogleError 404 unknown, 410 ended without an object, or the refusal that ended it."""
        record = self._store.upload(id)
        if record is None or record["bucket"] != request.match["bucket"]:
            raise GoogleError(404, message="The upload session does not exist, or has expired.")
        if record["state"] == "cancelled":
            if self._service.cloud.doubts.way("upload-statuses"):
                raise GoogleError(404, message="The upload session does not exist, or has expired.")
            raise _gone()
        if record["state"] == "refused":
            raise GoogleError(record["code"], message=record["message"])
        return record

    def _receive(self, request: Request, span: ContentRange | None, record: Facts, growing: Growing) -> int | None:
        """Take the request's bytes; the whole length as far as it is known."""
        total: int | None = record["total"]
        if span is None:  # no Content-Range: all of it, from its first byte
            if growing.size:
                raise GoogleError(400, message="Invalid request. The upload has begun: a Content-Range is needed.")
            growing.append(pieces(request))
            if total not in (None, growing.size):
                raise GoogleError(400, message=f"Invalid request. {growing.size} bytes came of {total}.")
            return growing.size
        if span.total is not None:
            if total not in (None, span.total):
                raise GoogleError(
                    400,
                    message=f"Invalid request. X-Upload-Content-Length was {total}, Content-Range says {span.total}.",
                )
            total = span.total
        if span.start is None:
            return total
        if span.start > growing.size:
            raise GoogleError(
                503, message=f"Invalid request. Byte {growing.size} is expected next, byte {span.start} came."
            )
        if not span.is_last and span.stop - span.start < CHUNK:
            raise GoogleError(
                400,
                message="Invalid request.  The number of bytes uploaded is required to be equal or greater than "
                "262144, except for the final request (it's recommended to be the exact multiple of 262144).  The "
                f"received request contained {span.stop - span.start} bytes, which does not meet this requirement.",
            )
        growing.append(_behind(pieces(request), growing.size - span.start))
        return total

    def cancel(self, request: Request) -> Reply:
        id = request.one("upload_id")
        record = self._session(request, id)
        if record["state"] == "open":
            self._store.drop_upload(id, {**record, **CANCELLED})
        return Reply(499)

    # ---------------------------------------------------------------------------------------------------- both

    def _check(self, request: Request, bucket: Facts, name: str, query: Mapping[str, list[str]]) -> StoredObject | None:
        """Raises: GoogleError 403, 412."""
        current = self._store.find(bucket["name"], name)
        conditions.check(conditions.asked(query), current)
        if current is not None:
            self._service.need(request, "storage.objects.delete", bucket, name)
        return current

    def _finish(
        self,
        request: Request,
        bucket: Facts,
        name: str,
        metadata: Facts,
        query: Mapping[str, list[str]],
        content: str,
        digest: Digest,
    ) -> StoredObject:
        """Raises: GoogleError 400 checksum, 403, 412; BucketMissing."""
        facts = {key: metadata[key] for key in OBJECT_WRITABLE if metadata.get(key) not in (None, "", {})}
        facts.setdefault("storageClass", bucket["storageClass"])
        if encoding := request.one("contentEncoding"):
            facts["contentEncoding"] = encoding
        facts |= {"md5Hash": digest.md5, "crc32c": digest.crc32c}
        _compare(facts, metadata, request.headers.get_all("X-Goog-Hash", []), request.headers.get("Content-MD5", ""))
        with self._store.transaction():
            self._check(request, bucket, name, query)
            return self._store.put(bucket["name"], name, content, digest.size, check_facts(facts))


def _name(request: Request, metadata: Facts) -> str:
    """Raises: GoogleError 400."""
    name = request.one("name") or str(metadata.get("name") or "")
    check_object_name(name)
    return name


def _compare(facts: Facts, metadata: Facts, hashes: list[str], content_md5: str) -> None:
    """What the client says its content sums up to: in the metadata, ``X-Goog-Hash`` or Content-MD5.

    Raises:
        GoogleError: 400.
    """
    told = {"md5": [metadata.get("md5Hash"), content_md5], "crc32c": [metadata.get("crc32c")]}
    for header in hashes:
        for one in header.split(","):
            kind, _, value = one.strip().partition("=")
            told.setdefault(kind, []).append(value)
    for kind, calculated in (("MD5 hash", facts["md5Hash"]), ("CRC32C", facts["crc32c"])):
        for provided in told[kind.split()[0].lower()]:
            if provided and provided != calculated:
                raise GoogleError(
                    400, message=f'Provided {kind} "{provided}" doesn\'t match calculated {kind} "{calculated}".'
                )


def _incomplete(size: int) -> Reply:
    return Reply(308, headers={"Range": f"bytes=0-{size - 1}"} if size else {})


def _gone() -> GoogleError:
    return GoogleError(410, message="The upload session has been ended.")


def _behind(chunks: Iterator[bytes], skip: int) -> Iterator[bytes]:
    """*chunks* without their first *skip* bytes: those that were kept the last time."""
    for chunk in chunks:
        if skip < len(chunk):
            yield chunk[skip:]
        skip = max(0, skip - len(chunk))
