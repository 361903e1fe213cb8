"""Objects: read, list, change, delete, copy, rewrite, move, compose."""

from __future__ import annotations

from collections.abc import Iterator

from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.routing import Reply, Request, Router
from tpu_studio.practice.state import Record
from tpu_studio.practice.storage import conditions, downloads, listing
from tpu_studio.practice.storage.globs import BadGlob, Glob
from tpu_studio.practice.storage.resources import OBJECT_WRITABLE, check_facts, check_object_name, merged
from tpu_studio.practice.storage.service import Service, body, whole_number
from tpu_studio.practice.storage.store import Facts, ObjectStore, StoredObject

SCHEMA = "storage.v1:Object"
MOST_SOURCES = 32  # of one compose


def install(router: Router, service: Service) -> None:
    handlers = Objects(service)
    every = r"/storage/v1/b/(?P<bucket>[^/]+)/o"
    one = every + r"/(?P<object>[^/]+)"
    target = r"/b/(?P<to_bucket>[^/]+)/o/(?P<to_object>[^/]+)"
    service.route(router, "GET", every, handlers.page)
    service.route(router, "GET", one, handlers.get)
    service.route(router, "GET", "/download" + one, handlers.download)
    service.route(router, "PATCH", one, handlers.patch)
    service.route(router, "PUT", one, handlers.update)
    service.route(router, "DELETE", one, handlers.delete)
    service.route(router, "POST", one + "/compose", handlers.compose)
    service.route(router, "POST", one + "/copyTo" + target, handlers.copy)
    service.route(router, "POST", one + "/rewriteTo" + target, handlers.rewrite)
    service.route(router, "POST", one + r"/moveTo/o/(?P<to_object>[^/]+)", handlers.move)


class Objects:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._store = service.store

    # ------------------------------------------------------------------------------------------------------ reading

    def page(self, request: Request) -> dict[str, object]:
        bucket = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.objects.list", bucket)
        glob = request.one("matchGlob")
        try:
            query = listing.Query(
                prefix=request.one("prefix"),
                delimiter=request.one("delimiter"),
                start_offset=request.one("startOffset"),
                end_offset=request.one("endOffset"),
                most=whole_number(request.one("maxResults") or str(listing.MOST), "maxResults") or listing.MOST,
                token=request.one("pageToken"),
                glob=Glob(glob) if glob else None,
                trailing_delimiter=request.flag("includeTrailingDelimiter"),
            )
            # Nothing that was deleted is kept, so there is nothing to list of it.
            none = request.flag("softDeleted")
            found = listing.Page() if none else listing.page(_scan(self._store, bucket["name"]), query)
        except BadGlob as error:
            raise GoogleError(400, message=f"Invalid matchGlob {glob!r}: {error}") from None
        except listing.BadPageToken:
            raise GoogleError(400, message="Invalid page token.") from None
        answer: dict[str, object] = {"kind": "storage#objects"}
        if found.next_token:
            answer["nextPageToken"] = found.next_token
        if found.prefixes:
            answer["prefixes"] = found.prefixes
        if found.items:
            answer["items"] = [self._service.resources.object(stored) for stored in found.items]
        self._service.count("A", bucket["name"])
        return self._service.answer(request, answer)

    def get(self, request: Request) -> Reply | Record:
        if request.one("alt") == "media":
            return self.download(request)
        bucket, stored = self._read(request)
        self._service.count("B", bucket["name"])
        return self._service.answer(request, self._service.resources.object(stored))

    def download(self, request: Request) -> Reply:
        while True:
            bucket, stored = self._read(request)
            file = self._store.open(stored)
            if file is not None:  # else it was replaced between the two: look again
                break
        reply = downloads.reply(request, stored, file)
        self._service.count("B", bucket["name"])
        self._service.count_read(request, bucket, int(reply.headers.get("Content-Length", stored.size)))
        return reply

    def _read(self, request: Request) -> tuple[Facts, StoredObject]:
        bucket = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.objects.get", bucket, request.match["object"])
        stored = self._live(request, bucket)
        conditions.check(conditions.asked(request.query), stored, reading=True)
        return bucket, stored

    def _live(self, request: Request, bucket: Facts) -> StoredObject:
        """Raises: GoogleError 404, and 412 where that is doubted."""
        name = request.match["object"]
        absent = self._store.find(bucket["name"], name) is None
        if absent and request.one("ifGenerationMatch") and self._service.cloud.doubts.way("missing-with-generation"):
            raise conditions.failed()
        return self._service.object(bucket["name"], name, request.one("generation"))

    # ----------------------------------------------------------------------------------------------------- changing

    def patch(self, request: Request) -> dict[str, object]:
        return self._change(request, replace=False)

    def update(self, request: Request) -> Record:
        return self._change(request, replace=True)

    def _change(self, request: Request, *, replace: bool) -> dict[str, object]:
        asked = _writable(body(request, SCHEMA))
        bucket = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.objects.update", bucket, request.match["object"])
        with self._store.transaction():
            stored = self._service.object(bucket["name"], request.match["object"], request.one("generation"))
            conditions.check(conditions.asked(request.query), stored)
            if asked.get("storageClass", stored.facts["storageClass"]) != stored.facts["storageClass"]:
                raise GoogleError(400, message="The storage class of an existing object cannot be changed; rewrite it.")
            kept = {
                key: value
                for key, value in stored.facts.items()
                if key == "storageClass" or not replace or key not in OBJECT_WRITABLE
            }
            facts = merged(kept, asked)
            if not facts.get("metadata", True):
                del facts["metadata"]
            changed = self._store.change(stored, facts)
        self._service.count("A", bucket["name"])
        return self._service.answer(request, self._service.resources.object(changed))

    def delete(self, request: Request) -> Reply:
        bucket = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.objects.delete", bucket, request.match["object"])
        with self._store.transaction():
            stored = self._live(request, bucket)
            conditions.check(conditions.asked(request.query), stored)
            self._store.delete(stored)
        self._service.count_free(bucket["name"])
        return Reply(204)

    # ------------------------------------------------------------------------------------------------------ copying

    def copy(self, request: Request) -> Record:
        return self._service.answer(request, self._service.resources.object(self._copy(request)))

    def rewrite(self, request: Request) -> dict[str, object]:
        """In one call whatever the size: contents are shared, not copied."""
        made = self._copy(request)
        answer = {
            "kind": "storage#rewriteResponse",
            "totalBytesRewritten": str(made.size),
            "objectSize": str(made.size),
            "done": True,
            "resource": self._service.resources.object(made),
        }
        return self._service.answer(request, answer)

    def move(self, request: Request) -> dict[str, object]:
        request.match["to_bucket"] = request.match["bucket"]
        bucket = self._service.bucket(request.match["bucket"])
        self._service.need(request, "storage.objects.delete", bucket, request.match["object"])
        if request.match["object"] == request.match["to_object"]:
            raise GoogleError(400, message="The source and destination object of a move must differ.")
        with self._store.transaction():
            source = self._source(request)
            made = self._copy(request)
            self._store.delete(source)
        return self._service.answer(request, self._service.resources.object(made))

    def _source(self, request: Request) -> StoredObject:
        generation = request.one("sourceGeneration")
        source = self._service.object(request.match["bucket"], request.match["object"], generation)
        conditions.check(conditions.asked(request.query, "ifSource"), source)
        return source

    def _copy(self, request: Request) -> StoredObject:
        """The body's metadata, when there is any, takes the place of the source's."""
        name = request.match["to_object"]
        check_object_name(name)
        asked = _writable(body(request, SCHEMA))
        source_bucket = self._service.bucket(request.match["bucket"])
        bucket = self._service.bucket(request.match["to_bucket"])
        self._service.need(request, "storage.objects.get", source_bucket, request.match["object"])
        self._service.admit_write(request, bucket, name)
        with self._store.transaction():
            source = self._source(request)
            self._may_replace(request, bucket, name)
            facts = dict(source.facts)
            if asked:
                facts = {key: value for key, value in facts.items() if key not in OBJECT_WRITABLE}
                facts |= {key: value for key, value in asked.items() if value not in (None, "", {})}
                facts.setdefault("storageClass", bucket["storageClass"])
            made = self._store.put(bucket["name"], name, source.content, source.size, facts)
        self._service.count("A", bucket["name"])
        return made

    def compose(self, request: Request) -> dict[str, object]:
        name = request.match["object"]
        check_object_name(name)
        asked = body(request, "storage.v1:ComposeRequest")
        bucket = self._service.bucket(request.match["bucket"])
        sources = asked.get("sourceObjects") or []
        for source in sources:
            self._service.need(request, "storage.objects.get", bucket, str(source.get("name", "")))
        self._service.admit_write(request, bucket, name)
        if not 1 <= len(sources) <= MOST_SOURCES:
            raise GoogleError(400, message=f"The number of source components must be 1 to {MOST_SOURCES}.")
        conditions.check(conditions.asked(request.query), self._store.find(bucket["name"], name))
        parts = [self._part(bucket["name"], source) for source in sources]
        content, digest = self._store.write(self._joined(parts))
        try:
            with self._store.transaction():
                self._may_replace(request, bucket, name)
                for part, source in zip(parts, sources, strict=True):
                    if self._part(bucket["name"], source).generation != part.generation:
                        raise GoogleError(503, message="A source object changed while it was read. Please try again.")
                told = _writable(asked.get("destination") or {})
                facts = {key: value for key, value in told.items() if value not in (None, "", {})}
                facts.setdefault("contentType", parts[0].facts.get("contentType", "application/octet-stream"))
                facts.setdefault("storageClass", bucket["storageClass"])
                facts["crc32c"] = digest.crc32c  # and no MD5, as Google has it
                facts["componentCount"] = sum(int(part.facts.get("componentCount", 1)) for part in parts)
                made = self._store.put(bucket["name"], name, content, digest.size, facts)
                if asked.get("deleteSourceObjects"):
                    for part in parts:
                        if part.name != name:
                            self._service.need(request, "storage.objects.delete", bucket, part.name)
                            self._store.delete(part)
        except BaseException:
            self._store.discard(content)
            raise
        self._service.count("A", bucket["name"])
        return self._service.answer(request, self._service.resources.object(made))

    def _part(self, bucket: str, source: Facts) -> StoredObject:
        """One source of a compose. Raises: GoogleError 404, 412."""
        part = self._service.object(bucket, str(source.get("name", "")), str(source.get("generation") or ""))
        wanted = (source.get("objectPreconditions") or {}).get("ifGenerationMatch")
        if wanted is not None and int(wanted) != part.generation:
            raise conditions.failed()
        return part

    def _joined(self, parts: list[StoredObject]) -> Iterator[bytes]:
        for part in parts:
            try:
                yield from self._store.blocks(part)
            except FileNotFoundError:
                raise GoogleError(503, message="A source object changed while it was read. Please try again.") from None

    def _may_replace(self, request: Request, bucket: Facts, name: str) -> None:
        """Raises: GoogleError 403, 412."""
        current = self._store.find(bucket["name"], name)
        conditions.check(conditions.asked(request.query), current)
        if current is not None:
            self._service.need(request, "storage.objects.delete", bucket, name)


def _writable(resource: Facts) -> Facts:
    return check_facts({key: value for key, value in resource.items() if key in OBJECT_WRITABLE})


def _scan(store: ObjectStore, bucket: str) -> listing.Scan:
    return lambda start, stop, limit: store.scan(bucket, start, stop, limit)
