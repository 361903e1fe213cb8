"""What a rented machine costs besides its chips, at most, worked out part by part. Pure.

The parts and their shape stand in ``wire.extras``, the rates in ``domain.rates``. Amounts are what the program's own
parts do at their most: a desktop that looks on all the time, each copy of the model uploaded, everything kept for the
30 days of the bucket's rule. What a person's own code moves is no part of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tpu_studio.domain import rates
from tpu_studio.domain.generations import region_of
from tpu_studio.planner.assumptions import SPOT_LASTS_H
from tpu_studio.wire import loans
from tpu_studio.wire.extras import ExtraPart, Extras, How, Reserve

# Requests an hour while somebody looks on, and not. Guardian (`trainer.guardian.vm.mailbox`): a range each 2 or 20 s
# and worker, ledger and heartbeat each minute; control and `watching.json` read each 2.5 s. Desktop (`rhythm`,
# `driver`): a range asked for each 2 s, at times again after 0.4 s; else a listing each 15 s; owner read each 5 s.
WATCHED_A, WATCHED_B = 1800 + 60 + 120 + 120, 2 * 1440 + 4500 + 720
OTHERS_A, OTHERS_B = 1800, 2 * 1440 + 4500  # for each worker besides the first
PER_COPY_A, PER_COPY_B = 6, 6  # state, positions, manifest, COMMITTED; fetched once by the next attempt
PER_ATTEMPT_A, PER_ATTEMPT_B = 150, 300  # claim, bundle, data, environment, result, compacting, catching up
TASKS_PER_ATTEMPT = 200  # set, read back, moved, removed: those of the first and of the true end
BUNDLE_BYTES = 4 << 20
EVENTS_BYTES_PER_STEP, EVENTS_BYTES_PER_HOUR = 400, 2 << 20
COPIES_KEPT = 3  # the last two and the best


@dataclass(frozen=True)
class Moved:
    """What is moved and kept, in bytes, and how often.

    Attributes:
        result: The model in each of its file formats, curves, report.
        state: One copy of the model: weights, optimizer, random state.
        data: As uploaded.
    """

    result: int
    state: int
    data: int
    steps: int
    copies: int


@dataclass(frozen=True)
class Loan:
    """Attributes:
    zones: All that may be asked, in any order.
    bucket_region: "": that of the first zone.
    kept_days: So long the bucket keeps what was deleted or overwritten, and Google charges it.
    compute: Compute Engine lends it, with a disk of its own price.
    """

    zones: Sequence[str]
    tier: str
    workers: int
    compute: bool
    bucket_region: str = ""
    kept_days: int = 0

    @property
    def regions(self) -> list[str]:
        return list(dict.fromkeys(region_of(zone) for zone in self.zones))

    @property
    def bucket(self) -> str:
        return self.bucket_region or (self.regions[0] if self.regions else "")


def machine_usd_per_hour(loan: Loan) -> float:
    """Disks and addresses at most, all workers."""
    return _disk(loan, 0.0).usd_per_hour + _address(loan, 0.0).usd_per_hour


def extras_of(loan: Loan, moved: Moved, *, hours: float, money_usd: float | None, usd_per_hour: float | None) -> Extras:
    """Args:
    hours, money_usd: Limits of the run.
    usd_per_hour: Of the chips; None: unknown.
    """
    machine = machine_usd_per_hour(loan)
    rate = None if usd_per_hour is None else usd_per_hour + machine
    storage, traffic = _storage(loan, moved, hours), _traffic(loan, moved, hours)
    begun = _operations_usd(loan, 0.0, moved.copies, attempts(loan, hours))[0]
    fixed = begun + (storage.usd or 0.0) + (traffic.usd or 0.0)
    held = Reserve(fixed, _operations_usd(loan, 1.0, 0, 0)[0])
    longest = held.longest_h(hours, money_usd, rate)
    operations = _operations(loan, moved, longest, attempts(loan, hours))
    return Extras(
        fixed_usd=_usd(held.fixed_usd),
        operations_usd_per_hour=_usd(held.usd_per_hour),
        machine_usd_per_hour=_usd(machine),
        hours=round(longest, 4),
        reserved_usd=_usd(held.usd(hours, money_usd, rate)),
        bucket_region=loan.bucket,
        kept_days=loan.kept_days,
        parts=(_disk(loan, longest), _address(loan, longest), operations, storage, traffic, _tasks(loan)),
    )


def attempts(loan: Loan, hours: float) -> int:
    """Machines that a run may have: on spot it is taken back now and then."""
    return 1 + (math.ceil(hours / SPOT_LASTS_H.high) if loans.by_id(loan.tier).spare else 0)


# ---------------------------------------------------------------------------------------------------------------- parts


def _disk(loan: Loan, hours: float) -> ExtraPart:
    gb = rates.COMPUTE_BOOT_DISK_GB if loan.compute else rates.TPU_BOOT_DISK_GB
    each = max(rates.disk_usd_per_hour(gb, region) for region in loan.regions or [""])
    note = "" if loan.compute else "Google says that a TPU VM includes its boot disk: then it costs nothing more."
    told = _hourly("disk", f"disk of {gb} GB", loan.workers, each, hours, loan.compute, rates.DISK, note)
    return _as_published(told, rates.DISK, loan.regions)


def _as_published(part: ExtraPart, rate: str, regions: Sequence[str]) -> ExtraPart:
    """*part* with a word of the regions whose *rate* is not in our table."""
    guessed = [region for region in regions if not rates.published(rate, region)]
    if not guessed:
        return part
    words = f"We have no price for {', '.join(guessed)}: more than the dearest that we have is counted."
    return replace(part, note=f"{words} {part.note}".strip(), guessed=True)


def _address(loan: Loan, hours: float) -> ExtraPart:
    each = rates.address_usd_per_hour(loan.tier)
    return _hourly("address", "external address", loan.workers, each, hours, True, "address_usd_per_hour", "")


def _hourly(
    id: str, what: str, count: int, each: float, hours: float, expected: bool, rate: str, note: str
) -> ExtraPart:
    per_hour = count * each
    how = [_how(count, "", what if count == 1 else what.replace(" ", "s ", 1), each, "an hour"), _time(hours)]
    usd = per_hour * hours
    told = _part(id, usd, usd if expected else 0.0, how, rate, note)
    likely = _usd(per_hour if expected else 0.0)
    return replace(told, usd_per_hour=_usd(per_hour), usd_per_hour_expected=likely)


def _operations_usd(loan: Loan, hours: float, copies: int, machines: int) -> tuple[float, int, int]:
    """At most; with how many of class A and B."""
    others = loan.workers - 1
    a = (WATCHED_A + others * OTHERS_A) * hours + PER_COPY_A * copies + PER_ATTEMPT_A * machines
    b = (WATCHED_B + others * OTHERS_B) * hours + PER_COPY_B * copies + PER_ATTEMPT_B * machines
    return a * rates.operation_usd("a") + b * rates.operation_usd("b"), round(a), round(b)


def _operations(loan: Loan, moved: Moved, hours: float, machines: int) -> ExtraPart:
    usd, a, b = _operations_usd(loan, hours, moved.copies, machines)
    how = [
        _how(a, "", "writes and listings (class A)", 1000.0 * rates.operation_usd("a"), "a thousand"),
        _how(b, "", "reads (class B)", 1000.0 * rates.operation_usd("b"), "a thousand"),
    ]
    each = _operations_usd(loan, 1.0, 0, 0)[0]
    return replace(_part("operations", usd, usd / 2.0, how, "operations_usd_per_1000", ""), usd_per_hour=_usd(each))


def _kept_bytes(moved: Moved, hours: float) -> int:
    """Copies that are pruned go; data, result, events and bundle stay. Nothing that lies shorter counts less."""
    events = EVENTS_BYTES_PER_STEP * moved.steps + EVENTS_BYTES_PER_HOUR * hours
    return round(moved.data + COPIES_KEPT * moved.state + moved.result + 2 * events + BUNDLE_BYTES)


def _storage(loan: Loan, moved: Moved, hours: float) -> ExtraPart:
    size = _kept_bytes(moved, hours)
    rate = rates.storage_usd_per_gb_month(loan.bucket)
    how = [
        _how(round(size / rates.GB, 4), "GB", "of data, copies, result and events", rate, "a GB a month"),
        _how(30, "days", "kept"),
    ]
    note, usd = "Then the bucket's own rule deletes it.", rates.kept_usd(size, loan.bucket)
    if loan.kept_days:
        dropped = moved.copies * moved.state + 2 * EVENTS_BYTES_PER_STEP * moved.steps + EVENTS_BYTES_PER_HOUR * hours
        usd += rates.kept_usd(size + dropped, loan.bucket, 24.0 * loan.kept_days)
        what = f"deleted or overwritten by then, kept {loan.kept_days} days more,"
        how.append(_how(round((size + dropped) / rates.GB, 4), "GB", what, rate, "a GB a month"))
        note += f" Your organisation's rule has Google keep what is deleted {loan.kept_days} days more."
    part = _part("storage", usd, None, how, rates.STORAGE, note)
    return _as_published(part, rates.STORAGE, [loan.bucket])


def _traffic(loan: Loan, moved: Moved, hours: float) -> ExtraPart:
    """Result and events to the person's computer; where machine and bucket are apart, all between them."""
    events = EVENTS_BYTES_PER_STEP * moved.steps + EVENTS_BYTES_PER_HOUR * hours
    down = (moved.result + 2 * events) / rates.GB
    dearest, usual = rates.internet_usd_per_gb(dearest=True), rates.internet_usd_per_gb()
    usd, expected = down * dearest, down * usual
    how = [_how(round(down, 4), "GB", "to this computer, wherever it stands", dearest, "a GB")]
    note = f"To most of the world it is ${usual:.2f} a GB; to Australia and China more."
    apart = [region for region in loan.regions if region != loan.bucket]
    if not apart:
        return _part("traffic", usd, expected, how, "internet_usd_per_gb", note)
    known = [rates.between_usd_per_gb(loan.bucket, region) for region in apart]
    each = None if None in known else max(rate for rate in known if rate is not None)
    machines = attempts(loan, hours)
    read = machines * loan.workers * (moved.data + BUNDLE_BYTES) + (machines - 1) * loan.workers * moved.state
    written = moved.copies * moved.state + moved.result + 2 * events
    across = (read + written) / rates.GB
    how.append(_how(round(across, 4), "GB", f"between {loan.bucket} and {', '.join(apart)}", each, "a GB"))
    if each is None:
        return _part("traffic", None, None, how, "between_regions_usd_per_gb", "")
    usd, expected = usd + across * each, expected + across * each
    return _part("traffic", usd, expected, how, "between_regions_usd_per_gb", note)


def _tasks(loan: Loan) -> ExtraPart:
    how = [_how(TASKS_PER_ATTEMPT, "", "calls for the shut-off timers", 0.0, "of a million a month")]
    return _part("tasks", 0.0, 0.0, how, "tasks", "")


def _how(amount: float, unit: str, what: str, usd: float | None = None, per: str = "") -> How:
    """*usd* for each *per*; without a *per* it is an amount alone."""
    return How(amount, unit, what, usd, per)


def _time(hours: float) -> How:
    return _how(round(hours, 2), "hours", "at most")


def _part(id: str, usd: float | None, expected: float | None, how: list[How], rate: str, note: str) -> ExtraPart:
    title, day = rates.source(rate)
    expected = usd if expected is None else expected
    return ExtraPart(
        id=id,
        usd=None if usd is None else _usd(usd),
        usd_expected=None if expected is None else _usd(expected),
        usd_per_hour=0.0,
        how=tuple(how),
        source=title,
        as_of=day,
        note=note if usd is not None else "The price is unknown: it is in no sum and not in the cap.",
    )


def _usd(value: float) -> float:
    return round(value, 9)
