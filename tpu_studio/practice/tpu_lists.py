"""The lists of the Cloud TPU API: places, accelerator types, runtime images, operations."""

from __future__ import annotations

from typing import Any

from tpu_studio.practice import tpu_offer
from tpu_studio.practice.errors import GoogleError, not_found
from tpu_studio.practice.routing import Request
from tpu_studio.practice.state import Record
from tpu_studio.practice.tpu_checks import (
    Place,
)
from tpu_studio.practice.tpu_routes import ALPHA, LOCATION, VERSION, Part, paged


class Lists(Part):
    """Locations, types, images, operations."""

    def install(self) -> None:
        old = r"/v1/projects/(?P<project>[^/]+)/locations"
        for base in (VERSION + r"/projects/(?P<project>[^/]+)/locations", old):
            self.on("GET", base, "locations.list", "ListLocationsResponse", self.locations)
        for base in (LOCATION, old + r"/(?P<zone>[^/:]+)"):
            self.on(
                "GET", base + "/acceleratorTypes", "acceleratortypes.list", "ListAcceleratorTypesResponse", self.types
            )
            self.on(
                "GET", base + "/acceleratorTypes/(?P<id>[^/]+)", "acceleratortypes.get", "AcceleratorType", self.type
            )
        self.on("GET", LOCATION, "locations.get", "Location", self.location)
        self.on(
            "GET", LOCATION + "/runtimeVersions", "runtimeversions.list", "ListRuntimeVersionsResponse", self.images
        )
        self.on("GET", LOCATION + "/runtimeVersions/(?P<id>[^/]+)", "runtimeversions.get", "RuntimeVersion", self.image)
        self.on(
            "POST",
            LOCATION + ":generateServiceIdentity",
            "nodes.update",
            "GenerateServiceIdentityResponse",
            self.identity,
            "GenerateServiceIdentityRequest",
        )
        self.on("GET", ALPHA + "/reservations", "nodes.get", "", lambda request: {})
        one = LOCATION + "/operations/(?P<id>[^/:]+)"
        self.on("GET", LOCATION + "/operations", "operations.list", "ListOperationsResponse", self.operations)
        self.on("GET", one, "operations.get", "Operation", self.one_operation)
        self.on("POST", one + ":cancel", "nodes.update", "Empty", self.cancel)
        self.on("DELETE", one, "nodes.update", "Empty", self.delete)

    def locations(self, request: Request) -> Record:
        zones = tpu_offer.zones()
        if self._cloud.doubts.way("tpu-locations"):
            zones = tuple(zone for n, zone in enumerate(zones) if n % 2 or zone == self._cloud.settings.zone)
        found = [tpu_offer.location(request.match["project"], zone) for zone in zones]
        return paged(request, "locations", found)

    def location(self, request: Request) -> Record:
        place = self.place(request)
        return tpu_offer.location(place.project, place.zone)

    def types(self, request: Request) -> Record:
        project, zone = request.match["project"], request.match["zone"]
        found = []
        for one in tpu_offer.zones() if zone == "-" else [self.place(request).zone]:
            found += [self._type(f"projects/{project}/locations/{one}", part) for part in tpu_offer.slices(one)]
        return paged(request, "acceleratorTypes", found)

    def type(self, request: Request) -> Record:
        place = self.place(request)
        for part in tpu_offer.slices(place.zone):
            if part.accelerator_type == request.match["id"]:
                return self._type(place.parent, part)
        raise not_found(f"{place.parent}/acceleratorTypes/{request.match['id']}")

    def _type(self, parent: str, part: Any) -> Record:
        return {
            "name": f"{parent}/acceleratorTypes/{part.accelerator_type}",
            "type": part.accelerator_type,
            "acceleratorConfigs": [tpu_offer.config(part)],
        }

    def images(self, request: Request) -> Record:
        place = self.place(request)
        absent = self._cloud.doubts.way("runtime-versions")
        offered = ["v2-alpha-tpu-later"] if absent else tpu_offer.images(place.zone)
        found = [self._image(place, image) for image in offered]
        return paged(request, "runtimeVersions", found)

    def image(self, request: Request) -> Record:
        place, image = self.place(request), request.match["id"]
        if not tpu_offer.has_image(place.zone, image):
            raise not_found(f"{place.parent}/runtimeVersions/{image}")
        return self._image(place, image)

    def _image(self, place: Place, image: str) -> Record:
        return {"name": f"{place.parent}/runtimeVersions/{image}", "version": image}

    def identity(self, request: Request) -> Record:
        place = self.place(request)
        number = (self._cloud.db.get("project", place.project) or {})["number"]
        return {"identity": {"email": f"service-{number}@cloud-tpu.iam.gserviceaccount.com"}}

    def operations(self, request: Request) -> Record:
        zone = request.match["zone"]
        prefix = f"projects/{request.match['project']}/locations/" + ("" if zone == "-" else f"{zone}/")
        way = self._cloud.doubts.way("operations-list")
        if way == "refused":
            raise GoogleError(403, "PERMISSION_DENIED", "Permission 'tpu.operations.list' denied.")
        found = [one for one in self._operations.list(prefix) if not (way and one["done"])]
        return paged(request, "operations", found)

    def one_operation(self, request: Request) -> Record:
        return self.operation(self.name(request, "operations"))

    def cancel(self, request: Request) -> Record:
        self._operations.cancel(self.name(request, "operations"))
        return {}

    def delete(self, request: Request) -> Record:
        self._operations.delete(self.name(request, "operations"))
        return {}
