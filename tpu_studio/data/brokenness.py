"""How much broken data a job puts up with."""

from __future__ import annotations

from collections.abc import Sequence

from tpu_studio.data.looked import Broken
from tpu_studio.wire.errors import DataError


def too_broken(count: int, of: int, allowed: float) -> bool:
    """Whether *count* broken items of *of* stop a run: more than the share, but never a single one.

    With a share of 0 the person has asked for none at all.
    """
    if count == 0:
        return False
    return count >= of or count > (max(1.0, allowed * of) if allowed > 0 else 0)


def check_broken(count: int, of: int, allowed: float, first: Sequence[Broken]) -> None:
    """Raise DataError ``data-too-broken`` where `too_broken`."""
    if too_broken(count, of, allowed):
        raise DataError(
            "data-too-broken",
            count=count,
            of=of,
            share=round(count / max(of, 1), 4),
            allowed=allowed,
            first=[[item.item, item.why] for item in first[:5]],
        )
