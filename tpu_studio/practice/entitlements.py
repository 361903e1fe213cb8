"""What a project may not ask for, whatever its quota: TPUs and tiers that Google lends in a zone to some projects only.

In the words that field reports have; by which way they come, at once or as the end of the operation, is the doubt
``entitlement-refusal``.
"""

from __future__ import annotations

from tpu_studio.domain.generations import Slice
from tpu_studio.practice import quota_limits
from tpu_studio.practice.cloud import Cloud
from tpu_studio.practice.errors import GoogleError
from tpu_studio.wire import loans

DENIED = 7  # google.rpc.Code of PERMISSION_DENIED


def check(cloud: Cloud, zone: str, part: Slice, tier: str) -> str:
    """Google's words where the refusal comes with the operation; "" where the project is entitled.

    Raises GoogleError 403 where it comes at once.
    """
    about = {"zone": zone, "accelerator": part.accelerator_type, "tier": tier, "generation": part.generation}
    if cloud.faults.take("not-entitled", **about) is None and _is_entitled(cloud, zone, part, tier):
        return ""
    words = (
        f'User does not have permission to submit requests for accelerator type "{part.accelerator_type}" in location '
        f"{zone}"
    )
    if cloud.doubts.way("entitlement-refusal") == "operation":
        return words
    raise GoogleError(403, "PERMISSION_DENIED", words)


def _is_entitled(cloud: Cloud, zone: str, part: Slice, tier: str) -> bool:
    """A new project is, on demand, where it has any quota of what the slice draws; spot is open to all."""
    if not cloud.settings.new or not loans.by_id(tier).usual:
        return True
    drawn = quota_limits.drawn(cloud, part, spot=False)
    return any(quota_limits.limit(cloud, one.quota_id, {"zone": zone}) for one in drawn if one.per == "zone")
