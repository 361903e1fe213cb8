"""The quota limits of the practice project: one table for the TPU API, Compute Engine, Cloud Quotas and Service Usage.

Ids are Google's own, which no rule can build (reference: google-cloud.md §8.1, §8.2); some are from memory, and
nobody's machine depends on those. Zone and region limits both apply. Defaults are those of a project
that may start; one of a new account has `NEW`, in some areas only, and the faults ``quota-zero`` and
``quota-region-limit`` take it all. v5e's small slices draw limits of their own (``domain.quota``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import SERVING, TRAINING, Slice, region_of
from tpu_studio.practice.cloud import Cloud
from tpu_studio.wire import loans

TPU = "tpu.googleapis.com"
COMPUTE = "compute.googleapis.com"


@dataclass(frozen=True)
class Quota:
    """One limit.

    Attributes:
        unit: What a slice draws: ``chips``, or ``cores`` (v5p-8 draws 8).
        per: The dimension, ``zone`` or ``region``.
        default: In places where the generation is offered.
        family: Value of the dimension ``tpu_family``, on Compute Engine's one limit of that kind.
        use: ``serving``, ``training``: for which slices of v5e; "": for all of the generation.
        from_memory: Its id is, so that Google's list may lack it (the doubt `quota-ids-old`).
    """

    quota_id: str
    service: str
    metric: str
    title: str
    generation: str
    spot: bool
    unit: str
    per: str
    default: int
    family: str = ""
    use: str = ""
    from_memory: bool = False

    @property
    def dimensions(self) -> list[str]:
        return [self.per, "tpu_family"] if self.family else [self.per]


def _tpu(
    stem: str,
    generation: str,
    spot: bool,
    unit: str,
    default: int,
    metric: str,
    *,
    region: bool = True,
    use: str = "",
    title: str = "",
    from_memory: bool = False,
) -> list[Quota]:
    tier = "Preemptible " if spot else ""
    title = title or f"{tier}TPU {generation} {unit}"
    scopes = [("Zone", "zone"), ("Region", "region")] if region else [("Zone", "zone")]
    return [
        Quota(
            f"{stem}PerProjectPer{scope}ForTPUAPI",
            TPU,
            f"{TPU}/{metric}",
            f"{title} per project per {per}",
            generation,
            spot,
            unit,
            per,
            default,
            use=use,
            from_memory=from_memory,
        )
        for scope, per in scopes
    ]


def _compute(
    quota_id: str, metric: str, generation: str, spot: bool, per: str, default: int, family: str = ""
) -> Quota:
    return Quota(
        quota_id,
        COMPUTE,
        f"{COMPUTE}/{metric}",
        f"{'Preemptible ' if spot else ''}TPU {generation} chips",
        generation,
        spot,
        "chips",
        per,
        default,
        family,
    )


_AREAS_OF_THE_NEW = ("us-central1", "us-west4", "us-east5", "europe-west4", "asia-southeast1")
_DESCRIBED: tuple[Quota, ...] = (
    *_tpu("TPUV2sPod", "v2", False, "cores", 16, "tpu_v2_pod", from_memory=True),
    *_tpu("TPUV2sPreemptiblePod", "v2", True, "cores", 48, "tpu_v2_pod_preemptible"),
    *_tpu("TPUV3sPod", "v3", False, "cores", 16, "tpu_v3_pod", from_memory=True),
    *_tpu("TPUV3sPreemptiblePod", "v3", True, "cores", 48, "tpu_v3_pod_preemptible"),
    *_tpu("TPUV4sPod", "v4", False, "cores", 0, "tpu_v4_pod", from_memory=True),
    *_tpu("TPUV4sPreemptiblePod", "v4", True, "cores", 0, "tpu_v4_pod_preemptible"),
    *_tpu("TPUV5sLitepod", "v5e", False, "chips", 64, "tpu-v5s-litepod", use=TRAINING),
    *_tpu("TPUV5sPreemptibleLitepod", "v5e", True, "chips", 64, "tpu-v5s-litepod-preemptible", use=TRAINING),
    *_tpu(
        "TPUV5sLitepodServing",
        "v5e",
        False,
        "chips",
        64,
        "tpu-v5s-litepod-serving",
        use=SERVING,
        title="TPUv5 lite pod cores for serving",
    ),
    *_tpu(
        "TPUV5sPreemptibleLitepodServing",
        "v5e",
        True,
        "chips",
        64,
        "tpu-v5s-litepod-serving-preemptible",
        use=SERVING,
        title="Preemptible TPU v5 lite pod cores for serving",
    ),
    *_tpu("TPUV5P", "v5p", False, "cores", 128, "tpu-v5p"),
    *_tpu("TPUV5PPreemptible", "v5p", True, "cores", 128, "tpu-v5p-preemptible", region=False),
    *_tpu("TPUV6E", "v6e", False, "chips", 64, "tpu-v6e"),
    *_tpu("TPUV6EPreemptible", "v6e", True, "chips", 64, "tpu-v6e-preemptible"),
    _compute("TPU-LITE-PODSLICE-V5-per-project-zone", "tpu_lite_podslice_v5", "v5e", False, "zone", 0),
    _compute(
        "PREEMPTIBLE-TPU-LITE-PODSLICE-V5-per-project-zone", "preemptible_tpu_lite_podslice_v5", "v5e", True, "zone", 0
    ),
    _compute("TPU-V5P-per-project-zone", "tpu_v5p", "v5p", False, "zone", 32),
    _compute("PREEMPTIBLE-TPU-V5P-per-project-zone", "preemptible_tpu_v5p", "v5p", True, "zone", 32),
    _compute("PREEMPTIBLE-TPU-V6E-per-project-zone", "preemptible_tpu_v6e", "v6e", True, "zone", 64),
    _compute("PREEMPTIBLE-TPU-V6E-per-project-region", "preemptible_tpu_v6e", "v6e", True, "region", 64),
    _compute("TPUS-PER-TPU-FAMILY-per-project-region", "tpus_per_tpu_family", "v6e", False, "region", 64, "CT6E"),
    _compute("TPUS-PER-TPU-FAMILY-per-project-region", "tpus_per_tpu_family", "tpu7x", False, "region", 16, "TPU7X"),
)


def _of_the_catalogue() -> Iterator[Quota]:
    """Limits of generations that the table above lacks."""
    for one in catalogue().quotas:
        if all(quota.generation != one.generation for quota in _DESCRIBED):
            stem, spot = one.zone.partition("PerProjectPer")[0], loans.by_id(one.tier).spare
            yield from _tpu(
                stem, one.generation, spot, one.unit, 64, stem.lower(), region=bool(one.region), use=one.use
            )


QUOTAS: tuple[Quota, ...] = (*_DESCRIBED, *_of_the_catalogue())
NEW = {("v5e", SERVING, False): 4, ("v5e", SERVING, True): 4, ("v5e", TRAINING, True): 64, ("v6e", "", True): 64}
"""What a new account has in `_AREAS_OF_THE_NEW`, by generation, use and spot (field reports: serving 4, spot 64)."""


def applying(service: str, generation: str, *, spot: bool) -> list[Quota]:
    """Every limit of a generation and tier (zone first); a slice's draw is counted in `Quota.unit`."""
    return [q for q in QUOTAS if (q.service, q.generation, q.spot) == (service, generation, spot)]


def drawn(cloud: Cloud, part: Slice, *, spot: bool) -> list[Quota]:
    """The limits of the TPU API that a slice must pass."""
    use = part.use
    if use and cloud.doubts.way("serving-draws") == "training":
        use = TRAINING
    return [q for q in applying(TPU, part.generation, spot=spot) if q.use == use and q in known(cloud, TPU)]


def known(cloud: Cloud, service: str) -> list[Quota]:
    """Every limit that Google lists for a service."""
    zone_only = cloud.doubts.way("serving-region-quota") == "zone-only"
    return [q for q in QUOTAS if q.service == service and not (zone_only and (q.use, q.per) == (SERVING, "region"))]


def find(quota_id: str, dimensions: Mapping[str, str]) -> Quota | None:
    """The row of an id; of the one per family, the row that the dimension ``tpu_family`` names."""
    rows = [q for q in QUOTAS if q.quota_id == quota_id]
    family = dimensions.get("tpu_family", "")
    return next((q for q in rows if q.family == family), rows[0] if rows and not rows[0].family else None)


def limit(cloud: Cloud, quota_id: str, dimensions: Mapping[str, str]) -> int:
    """What the project may hold at once, in the quota's own unit; 0 for an id or a place without one.

    Args:
        dimensions: ``{"zone": "us-west4-a"}`` or ``{"region": "us-west4"}``, with ``tpu_family`` where the id has it.
    """
    quota = find(quota_id, dimensions)
    place = dimensions.get(quota.per, "") if quota else ""
    if quota is None or not place:
        return 0
    about = {"quota_id": quota.quota_id, "generation": quota.generation, "place": place}
    if cloud.faults.armed("quota-zero", **about) is not None or cloud.faults.armed("free-trial") is not None:
        return 0
    if quota.per == "region" and cloud.faults.armed("quota-region-limit", **about) is not None:
        return 0
    granted = cloud.db.get("quota-grant", grant_key(quota, place))
    if granted is not None:
        return int(granted["value"])
    if cloud.faults.armed("quota-raised-after-request", **about) is not None:
        return 0
    return _of_the_new(quota, place) if cloud.settings.new else default(quota, place)


def _of_the_new(quota: Quota, place: str) -> int:
    """What a person who has just signed up is granted: nothing to train on demand, some to serve and some spot, and
    that in some areas only."""
    if default(quota, place) == 0 or quota.service != TPU or not place.startswith(_AREAS_OF_THE_NEW):
        return 0
    return NEW.get((quota.generation, quota.use, quota.spot), 0)


def usual(cloud: Cloud, quota: Quota) -> int:
    """In most places."""
    return 0 if cloud.settings.new else quota.default


def default(quota: Quota, place: str) -> int:
    """Without a grant of its own: 0 where the generation isn't offered."""
    return quota.default if place in places(quota.generation, quota.per) else 0


def grant_key(quota: Quota, place: str) -> str:
    return f"{quota.quota_id}/{quota.family or '-'}/{place}"


@cache
def places(generation: str, per: str) -> tuple[str, ...]:
    """Zones (or regions) where the catalogue lists a generation, sorted."""
    zones = [zone.zone for zone in catalogue().generation(generation).zones]
    return tuple(sorted(set(zones if per == "zone" else (region_of(zone) for zone in zones))))
