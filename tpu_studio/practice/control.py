"""The practice cloud's own address, `/practice/…`: faults, doubts, bill, events; for its owner (the window) only."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict
from pathlib import Path

from tpu_studio.domain.doubts import doubts
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError, log_failure
from tpu_studio.practice.faults import FAULTS
from tpu_studio.practice.machines import image
from tpu_studio.practice.routing import Request, Router
from tpu_studio.practice.state import Record
from tpu_studio.wire.errors import BadInput


def install(router: Router, cloud: Cloud) -> None:
    def owned(request: Request) -> None:
        if not request.principal.is_owner:
            raise GoogleError(403, "PERMISSION_DENIED", "The practice cloud's own settings are its owner's.")

    def faults() -> Record:
        return {"faults": [asdict(fault) for fault in FAULTS.values()], "armed": cloud.faults.listed()}

    @router.route("GET", "/practice/faults")
    def listed(request: Request) -> dict[str, object]:
        owned(request)
        return faults()

    @router.route("POST", "/practice/faults")
    def arm(request: Request) -> dict[str, object]:
        """Body: ``{"name", "times"?, "after_s"?, and the fault's own keys}``."""
        owned(request)
        body = request.json()
        try:
            cloud.faults.arm(**body)
        except (ValueError, TypeError) as error:
            raise GoogleError(400, "INVALID_ARGUMENT", str(error)) from error
        return faults()

    @router.route("DELETE", "/practice/faults")
    def disarm(request: Request) -> dict[str, object]:
        """Query ``name``: one fault by name or id; without it all."""
        owned(request)
        cloud.faults.disarm(request.one("name"))
        return faults()

    @router.route("GET", "/practice/doubts")
    def doubted(request: Request) -> dict[str, object]:
        owned(request)
        return {"doubts": [one.record() for one in doubts().values()], "armed": cloud.doubts.armed()}

    @router.route("POST", "/practice/doubts")
    def doubt(request: Request) -> dict[str, object]:
        """Body: ``{"doubt": "ID[=other]"}``."""
        owned(request)
        try:
            cloud.doubts.arm(str(request.json().get("doubt", "")))
        except BadInput as error:
            raise GoogleError(400, "INVALID_ARGUMENT", str(error)) from error
        return {"armed": cloud.doubts.armed()}

    @router.route("DELETE", "/practice/doubts")
    def trust(request: Request) -> dict[str, object]:
        """Query ``id``: one doubt; without it all: from now on as assumed."""
        owned(request)
        cloud.doubts.disarm(request.one("id"))
        return {"armed": cloud.doubts.armed()}

    @router.route("GET", "/practice/bill")
    def bill(request: Request) -> Record:
        owned(request)
        lines = cloud.meter.bill()
        return {"now": cloud.clock.now(), "lines": lines, "usd": sum(line["usd"] or 0.0 for line in lines)}

    @router.route("GET", "/practice/ready")
    def ready(request: Request) -> dict[str, object]:
        """What `practice --json` printed."""
        owned(request)
        return {"url": cloud.url, **cloud.settings.places(), "token": cloud.principals.owner_token}

    @router.route("POST", "/practice/engine")
    def engine(request: Request) -> dict[str, object]:
        """Body: ``{"root"}``: where the owner's training engine is; of use to a server that was started without one."""
        owned(request)
        image.take_engine(Path(str(request.json().get("root", ""))))
        return {}

    @router.route("POST", "/practice/stop")
    def stop(request: Request) -> Record:
        """Everything that runs is deleted, then the server ends; files in buckets stay. ``unrecorded``: what could not
        be written down, where the disk takes nothing: the machines are ended all the same."""
        owned(request)
        unrecorded = []
        for end in cloud.ending:
            try:
                end()
            except (OSError, sqlite3.Error) as error:
                log_failure()
                unrecorded.append(str(error))
        cloud.on_stop()
        return {"unrecorded": unrecorded}

    @router.route("GET", "/practice/events")
    def events(request: Request) -> Record:
        """Query ``after``: number of the last event that is known."""
        owned(request)
        happened = cloud.faults.events(request.number("after", 0))
        return {"now": cloud.clock.now(), "speed": cloud.clock.speed, "events": happened}
