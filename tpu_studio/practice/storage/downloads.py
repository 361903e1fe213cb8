"""Reading content: whole or by Range, in pieces; unzipped for a client that does not take gzip."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from email.utils import formatdate
from typing import IO

from tpu_studio.practice.errors import GoogleError
from tpu_studio.practice.routing import Reply, Request
from tpu_studio.practice.storage.ranges import Unsatisfiable, wanted
from tpu_studio.practice.storage.resources import etag
from tpu_studio.practice.storage.store import BLOCK, StoredObject

HEADERS = {
    "contentType": "Content-Type",
    "contentEncoding": "Content-Encoding",
    "contentDisposition": "Content-Disposition",
    "contentLanguage": "Content-Language",
    "cacheControl": "Cache-Control",
}


def reply(request: Request, stored: StoredObject, file: IO[bytes]) -> Reply:
    """*file* is closed when the reply has been sent or given up. Raises: GoogleError 416."""
    facts = stored.facts
    headers = {header: str(facts[key]) for key, header in HEADERS.items() if facts.get(key)}
    headers.setdefault("Content-Type", "application/octet-stream")
    sums = [f"crc32c={facts['crc32c']}", *([f"md5={facts['md5Hash']}"] if "md5Hash" in facts else [])]
    headers |= {
        "ETag": etag(stored.generation, stored.metageneration),
        "Last-Modified": formatdate(stored.updated, usegmt=True),
        "X-Goog-Generation": str(stored.generation),
        "X-Goog-Metageneration": str(stored.metageneration),
        "X-Goog-Storage-Class": str(facts.get("storageClass", "STANDARD")),
        "X-Goog-Stored-Content-Encoding": str(facts.get("contentEncoding", "identity")),
        "X-Goog-Stored-Content-Length": str(stored.size),
        "X-Goog-Hash": ",".join(sums),
    }
    if _is_transcoded(request, stored):
        headers.pop("Content-Encoding", None)
        headers["Warning"] = "214 UploadServer gunzipped"
        return Reply(200, _unzipped(file), headers)  # a Range is ignored, as Google does
    try:
        span = wanted(request.headers.get("Range", ""), stored.size)
    except Unsatisfiable:
        file.close()
        raise GoogleError(
            416,
            message="The requested range cannot be satisfied.",
            headers={"Content-Range": f"bytes */{stored.size}"},
        ) from None
    start, stop = span or (0, stored.size)
    headers["Content-Length"] = str(stop - start)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{stored.size}"
    status = 206 if span else 200
    if stop - start <= BLOCK:
        return Reply(status, b"".join(_blocks(file, start, stop)), headers)
    return Reply(status, _blocks(file, start, stop), headers)


def _is_transcoded(request: Request, stored: StoredObject) -> bool:
    return (
        stored.facts.get("contentEncoding") == "gzip"
        and "gzip" not in request.headers.get("Accept-Encoding", "")
        and "no-transform" not in stored.facts.get("cacheControl", "")
    )


def _blocks(file: IO[bytes], start: int, stop: int) -> Iterator[bytes]:
    with file:
        file.seek(start)
        while start < stop and (block := file.read(min(BLOCK, stop - start))):
            start += len(block)
            yield block


def _unzipped(file: IO[bytes]) -> Iterator[bytes]:
    """Raises: ConnectionError for content that is no gzip: the answer breaks off."""
    with file:
        unzip = zlib.decompressobj(31)
        try:
            while block := file.read(BLOCK):
                while block:
                    yield unzip.decompress(block, BLOCK)
                    block = unzip.unconsumed_tail
                    if unzip.eof and unzip.unused_data:  # gzip files may follow one another
                        block, unzip = unzip.unused_data, zlib.decompressobj(31)
            yield unzip.flush()
        except zlib.error as error:
            raise ConnectionError(f"the content is not the gzip that it says it is: {error}") from error
