"""What the practice zones offer: locations, accelerator types and runtime images, from the app's catalogue."""

from __future__ import annotations

import re
from functools import cache

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import Generation, Slice, region_of

_TF = tuple(f"tpu-vm-tf-{version}{pod}-pjrt" for version in ("2.17.1", "2.18.0") for pod in ("", "-pod"))
_TF_NAME = re.compile(r"tpu-vm-tf-2\.\d+\.\d+(-pod)?(-pjrt|-se)?(-v5p-and-below|-v5e-and-v6)?")
"""As Google's table "TPU software versions" names them, and as users do, with an ending. We start none of them."""


def generations() -> list[Generation]:
    """Those that the Cloud TPU API lends."""
    return [one for one in catalogue().offered() if one.control_plane == "cloud-tpu"]


@cache
def zones() -> tuple[str, ...]:
    return tuple(sorted({zone.zone for one in generations() for zone in one.zones}))


def slices(zone: str) -> list[Slice]:
    found = []
    for one in generations():
        for place in one.zones:
            if place.zone == zone:
                found += [part for part in one.slices if place.lends(part.chips)]
    return found


def by_type(accelerator_type: str) -> Slice | None:
    """Anywhere: whether it is in a zone is another question."""
    for one in generations():
        for part in one.slices:
            if part.accelerator_type == accelerator_type:
                return part
    return None


def by_config(api_type: str, topology: str) -> Slice | None:
    for one in generations():
        for part in one.slices:
            if (one.api_type, part.topology) == (api_type, topology):
                return part
    return None


def config(part: Slice) -> dict[str, str]:
    """AcceleratorConfig"""
    return {"type": catalogue().generation(part.generation).api_type, "topology": part.topology}


def images(zone: str) -> list[str]:
    """Runtime versions, sorted."""
    here = {part.generation for part in slices(zone)}
    found = {catalogue().image(generation, "jax") for generation in here} | {"tpu-ubuntu2204-base", "tpu-vm-base"}
    if any(catalogue().drives(one, "tensorflow") for one in here):
        found |= set(_TF)
    return sorted(found)


def has_image(zone: str, image: str) -> bool:
    return image in images(zone) or bool(_TF_NAME.fullmatch(image))


def location(project: str, zone: str) -> dict[str, object]:
    return {
        "name": f"projects/{project}/locations/{zone}",
        "locationId": zone,
        "labels": {"cloud.googleapis.com/region": region_of(zone)},
    }


def usd_per_hour(part: Slice, zone: str, tier: str) -> float | None:
    """Of the whole slice; None: the price is unknown."""
    price = catalogue().price(part.generation, part.chips, zone, tier)
    return None if price is None else price.usd_per_hour(part.chips)
