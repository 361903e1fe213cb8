"""What the routes of the Cloud TPU API share: its versions and places, how a record is shown, and pages of a list."""

from __future__ import annotations

from typing import Any

from tpu_studio.practice import tpu_show as show
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.discovery import with_numbers
from tpu_studio.practice.errors import GoogleError, not_found
from tpu_studio.practice.operations import Operations
from tpu_studio.practice.partial import part_of
from tpu_studio.practice.routing import Handler, Reply, Request, Router
from tpu_studio.practice.state import Record
from tpu_studio.practice.tpu_checks import (
    Place,
    bad,
    check_zone,
    exists,
)
from tpu_studio.practice.tpu_life import Life
from tpu_studio.practice.tpu_requests import Requests

SERVICE = "tpu.googleapis.com"
VERSION = r"/(?P<version>v2|v2alpha1)"
LOCATION = VERSION + r"/projects/(?P<project>[^/]+)/locations/(?P<zone>[^/:]+)"
ALPHA = LOCATION.replace("v2|v2alpha1", "v2alpha1")


class Part:
    """Routes with what they share."""

    def __init__(self, router: Router, cloud: Cloud, life: Life, requests: Requests, operations: Operations) -> None:
        self._router, self._cloud, self._life, self._operations = router, cloud, life, operations
        self._requests = requests
        self.install()

    def install(self) -> None:
        raise NotImplementedError

    def on(self, method: str, pattern: str, permission: str, answer: str, handler: Handler, schema: str = "") -> None:
        """*answer*: the reply's schema; fields that this version lacks are left out, enums are numbered if asked."""

        def shaped(request: Request) -> Reply | Record:
            self._life.advance()
            body = handler(request)
            assert isinstance(body, dict)
            version = request.match.get("version", "v2")
            document = f"tpu.{version}"
            body = part_of(self._cloud, request, show.known_only(body, answer, document), answer, document)
            if "enum-encoding=int" in request.one("$alt"):
                body = with_numbers(body, answer, document)
            return body

        if permission:
            permission = f"tpu.{permission}"
        full = f"tpu.{{version}}:{schema}" if schema else ""
        self._router.route(method, pattern, schema=full, permission=permission, service=SERVICE)(shaped)

    def place(self, request: Request) -> Place:
        place = Place(request.match["project"], request.match["zone"])
        check_zone(self._cloud, place)
        return place

    def name(self, request: Request, collection: str) -> str:
        return (
            f"projects/{request.match['project']}/locations/{request.match['zone']}/{collection}/{request.match['id']}"
        )

    def operation(self, name: str) -> Record:
        return self._operations.show(name)

    def got(self, request: Request, kind: str, name: str) -> Record:
        """Raises GoogleError 404."""
        record = self._requests.get(kind, name)
        if not self._shown(request, record):
            raise not_found(name)
        return record

    def _shown(self, request: Request, record: Record) -> bool:
        """Whether this version of the API knows what was asked for through the other one."""
        if record["version"] == "v2" or not self._cloud.doubts.way("flex-list-v2"):
            return True
        return request.match["version"] == "v2alpha1"

    def once(self, request: Request, target: str, act: Any) -> Record:
        """The same request id with the same call is the same operation; with another target it is refused."""
        id = request.one("requestId")
        key = f"{request.match['project']}/{id}"
        with self._cloud.db.transaction():
            known = self._cloud.db.get("tpu-request", key) if id else None
            if known is not None:
                same = known["call"] == f"{request.method} {target}"
                if same and request.method == "POST" and self._cloud.doubts.way("request-id-repeated"):
                    raise exists(target)
                if same:
                    return self.operation(known["operation"])
                raise bad(f"The request id {id} was used for another request.")
            name = act()
            if id:
                self._cloud.db.put("tpu-request", key, {"call": f"{request.method} {target}", "operation": name})
        return self.operation(name)

    def listed(self, request: Request, kind: str, key: str, shape: Any) -> Record:
        """One zone, or all with ``-``."""
        project, zone = request.match["project"], request.match["zone"]
        if zone != "-":
            check_zone(self._cloud, Place(project, zone))
        elif self._cloud.doubts.way("list-all-zones"):
            raise bad("Invalid location: '-'.")
        prefix = f"projects/{project}/locations/" + ("" if zone == "-" else f"{zone}/")
        found = [one for one in self._cloud.db.list(kind, prefix) if self._shown(request, one[1])]
        missing: set[str] = set()
        if zone == "-" and (partial := self._cloud.faults.take("partial-listing", kind=key)) is not None:
            missing = {partial.get("zone") or self._cloud.settings.zone}
        shown = [shape(self._cloud.clock, name, record) for name, record in found if record["zone"] not in missing]
        body = paged(request, key, shown)
        if missing:
            body["unreachable"] = [f"projects/{project}/locations/{one}" for one in sorted(missing)]
        return body


def paged(request: Request, key: str, found: list[Record]) -> Record:
    """A page of *found*; the token is the place in the list."""
    size = request.number("pageSize", 0) or 500
    token = request.one("pageToken")
    if size < 0 or (token and not token.isdigit()):
        raise GoogleError(400, "INVALID_ARGUMENT", "Request contains an invalid argument.")
    start = int(token or 0)
    body: Record = {key: found[start : start + size]} if found[start : start + size] else {}
    if start + size < len(found):
        body["nextPageToken"] = str(start + size)
    return body
