"""What a run has cost, part by part, once its machines are gone: the same parts that its plan has reserved.

Chips, disks and addresses go by the time of the machines. Operations are those that guardian and desktop have counted;
what is kept, by its size, for the 30 days of the bucket's rule; traffic by what came down. Each part has a range: at
least what is certain, at most what a doubt of the price list (``price-includes-disk``, ``prices-dated``), or of a count
that a crash cut short, may add. A price that nobody published is the dearest known one, in a range from nothing on; a
part that has none at all is in no sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_studio.domain import rates
from tpu_studio.domain.generations import region_of
from tpu_studio.wire.extras import Extras, chips_usd_per_hour_in
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import whole
from tpu_studio.wire.runfolder import ledger_file
from tpu_studio.workflow.cloudruns import brought
from tpu_studio.workflow.cloudruns.state import State
from tpu_studio.workflow.cloudruns.usage import Usage

_MOST_PER_S = {"a": 50, "b": 500, "bytes": 1 << 30}  # a guardian asks a few times a second, and reads data in pieces
_BEFORE_S = 600.0  # of a short bill
REFUSED_TOO = 2.0  # refused calls and deletes, should they be charged like reads (doubt storage-prices)


@dataclass(frozen=True)
class Part:
    """USD; None: the price is unknown. *least* <= *usd* <= *most*."""

    id: str
    least: float | None
    usd: float | None
    most: float | None

    def to_json(self) -> dict[str, Any]:
        def told(value: float | None) -> float | None:
            return None if value is None else round(value, 6)

        return {
            "id": self.id,
            "usd": told(self.usd),
            "usd_at_least": told(self.least),
            "usd_at_most": told(self.most),
        }


@dataclass(frozen=True)
class Used:
    """Attributes:
    least_s, seconds, most_s: Of all machines.
    a, b: Operations that were counted, guardians' and desktop's; a_most, b_most: what there may have been.
    kept_bytes: The run's folder and its data; None: could not be read.
    down_bytes: To this computer.
    across_bytes: Between machines and a bucket of another region; 0 within one.
    whole: No count was cut short by a crash.
    """

    least_s: float
    seconds: float
    most_s: float
    a: int = 0
    b: int = 0
    kept_bytes: int | None = None
    down_bytes: int = 0
    across_bytes: int = 0
    whole: bool = False


def parts_of(
    extras: Extras | None, used: Used, chips: Part, bucket_region: str, regions: tuple[str, ...]
) -> list[Part]:
    """*regions*: of the machines that there were."""
    if extras is None:
        return [chips]
    parts = [chips]
    for id in ("disk", "address"):
        part = extras.part(id)
        if part is None or part.usd is None:
            parts.append(Part(id, None, None, None))
            continue
        rate, expected = part.usd_per_hour, part.usd_per_hour_expected or 0.0
        # A TPU VM's address may be free (doubt tpu-address-charged); nothing is certain of an unpublished price.
        certain = 0.0 if id == "address" or part.guessed else expected
        parts.append(_timed(id, used, certain, expected, rate * rates.DEARER))
    if not used.most_s and not used.a:
        return [part for part in parts if part.usd is not None]
    usd = used.a * rates.operation_usd("a") + used.b * rates.operation_usd("b")
    reserved = 0.0 if used.whole else extras.usd("operations") or 0.0
    parts.append(Part("operations", usd, usd, max(REFUSED_TOO * usd, reserved)))
    parts.append(_storage(extras, used, bucket_region))
    parts.append(_traffic(extras, used, bucket_region, regions))
    parts.append(Part("tasks", 0.0, 0.0, 0.0))
    return parts


def total(parts: Sequence[Part]) -> tuple[float, float, float]:
    """At least, as far as known, at most; parts of unknown price left out."""
    known = [part for part in parts if part.usd is not None]
    least, usd, most = (sum(float(getattr(part, name) or 0.0) for part in known) for name in ("least", "usd", "most"))
    return least, usd, most


def parts_of_run(
    folder: Path, plan: Plan, state: State, usage: Usage, kept_bytes: int | None, now: float
) -> list[Part]:
    """Args:
    usage: What this desktop has counted; the guardians' counts stand in their ledgers.
    kept_bytes: What the run's folder in the bucket holds; what other runs find there, too, is added.
    """
    spans = [one.billed_between_s(now) for one in state.machines]
    extras = plan.extras
    most_s = sum(most for _, most in spans)
    guards = _operations(folder, state.attempt, most_s)
    data = sum(whole(piece["bytes"]) for piece in brought.shared(state.pieces))
    used = Used(
        least_s=sum(least for least, _ in spans),
        seconds=state.used_s(now),
        most_s=most_s,
        a=usage.a + guards["a"],
        b=usage.b + guards["b"],
        kept_bytes=None if kept_bytes is None else kept_bytes + data,
        down_bytes=usage.down,
        across_bytes=guards["bytes"],
        whole=usage.whole and guards["whole"] == state.attempt,
    )
    regions = tuple(dict.fromkeys(region_of(one.ref.zone) for one in state.machines if one.created is not None))
    chips = chips_of(plan, state, now)
    return parts_of(extras, used, chips, extras.bucket_region if extras else "", regions)


def chips_of(plan: Plan, state: State, now: float) -> Part:
    """Each machine's time at the price of where it was."""
    least = usd = most = 0.0
    for one in state.machines:
        rate = chips_usd_per_hour_in(plan.price, plan.extras, region_of(one.ref.zone))
        if rate is None:
            return Part("chips", None, None, None)
        low, high = one.billed_between_s(now)
        least, usd, most = (
            so_far + seconds / 3600.0 * rate
            for so_far, seconds in zip((least, usd, most), (low, one.billed_s(now), high), strict=True)
        )
    return Part("chips", least, usd, most)


def _operations(folder: Path, attempts: int, seconds: float) -> dict[str, int]:
    """What the guardians' ledgers have counted, and how many have; of workers beside the first nobody does.

    What trains beside a guardian may write its ledger, too: no more counts than a guardian does in *seconds*.
    """
    found = {"a": 0, "b": 0, "bytes": 0, "whole": 0}
    for attempt in range(1, attempts + 1):
        try:
            told = read_json(ledger_file(folder, attempt))["operations"]
            for name in ("a", "b", "bytes"):
                value = told[name]
                most = int((seconds + _BEFORE_S) * _MOST_PER_S[name])
                found[name] += min(value, most) if isinstance(value, int) and value >= 0 else 0
            found["whole"] += 1
        except (OSError, ValueError, KeyError, TypeError):
            continue  # it wrote none: what the plan reserves holds it
    return found


def _timed(id: str, used: Used, least: float | None, usd: float | None, most: float | None) -> Part:
    if usd is None or least is None or most is None:
        return Part(id, None, None, None)
    return Part(id, used.least_s / 3600.0 * least, used.seconds / 3600.0 * usd, used.most_s / 3600.0 * most)


def _storage(extras: Extras, used: Used, region: str) -> Part:
    part = extras.part("storage")
    reserved = extras.usd("storage")
    if used.kept_bytes is None:
        return Part("storage", None if reserved is None else 0.0, reserved, reserved)
    days = extras.kept_days  # what was deleted meanwhile nobody has counted: it was reserved
    usd = rates.kept_usd(used.kept_bytes, region, rates.KEPT_H + 24.0 * days)
    most = max(usd, reserved or 0.0) if days else usd
    if part and part.guessed:
        return Part("storage", 0.0, usd, max(most, usd * rates.DEARER))
    return Part("storage", usd, usd, most)


def _traffic(extras: Extras, used: Used, bucket: str, regions: tuple[str, ...]) -> Part:
    usd, most = (used.down_bytes / rates.GB * rates.internet_usd_per_gb(dearest=dearest) for dearest in (False, True))
    apart = [rates.between_usd_per_gb(bucket, region) for region in regions if region != bucket]
    if None in apart:
        return Part("traffic", None, None, None)
    across = used.across_bytes / rates.GB * max((each for each in apart if each is not None), default=0.0)
    reserved = 0.0 if used.whole else extras.usd("traffic") or 0.0
    return Part("traffic", usd + across, usd + across, max(most + across, reserved))
