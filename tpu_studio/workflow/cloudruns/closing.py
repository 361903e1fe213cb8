"""How a machine's bill ends and how a run ends: until when it was charged, last words, end, receipt, phase done.

The money of a run is rate × (node createTime → its end as `lasted` tells it); what nobody saw is told apart.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tpu_studio.wire.errors import CloudRefused, CloudUnclear
from tpu_studio.wire.jsonfile import read_json
from tpu_studio.wire.limits import Limits
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plainfiles import write_inside
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.runfolder import RECEIPT, claim_file, ledger_file
from tpu_studio.wire.stops import LONGEST_GAP_S
from tpu_studio.workflow.cloudruns import asking, believed, bill, compiling
from tpu_studio.workflow.cloudruns.chipuse import chips_used
from tpu_studio.workflow.cloudruns.decide import OWN_REASON
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.lasted import STOPS_TAKE_S, THERE_S, Signs, Until, counted, until
from tpu_studio.workflow.cloudruns.machine import Guard, Machine
from tpu_studio.workflow.cloudruns.mirror import attempts
from tpu_studio.workflow.cloudruns.ports import Deletion
from tpu_studio.workflow.cloudruns.receipt import receipt
from tpu_studio.workflow.cloudruns.recording import SEEN_ENOUGH_S, Records, Watched
from tpu_studio.workflow.cloudruns.rules import Rules
from tpu_studio.workflow.cloudruns.state import with_guard

DELETE_FAILS_BEFORE_NOTICE = 2
TOLD_S = 600.0  # what counts beyond the bill: a deletion that was watched is proved a minute or two after it
_log = logging.getLogger(__name__)


class Closing:
    def __init__(self, records: Records) -> None:
        self._records = records

    def gone(self, run: Watched, machine: Machine, rules: Rules, limits: Limits) -> None:
        failing = machine.delete_failed >= DELETE_FAILS_BEFORE_NOTICE
        if machine.outcome != "refused" or machine.made:
            self.last_words(run, machine.attempt)
            compiling.keep(self._records, run, machine.attempt)
        guard = run.words.guard(machine.attempt)
        created, first = machine.created, None
        if machine.ready is None and guard.first and _claimed_by(run.folder, machine):
            created = _made(run.folder, machine, guard)
            if machine.created is None and created > guard.first - GUESSED_S:  # its own clock: it was made before
                first = max(machine.asked or 0.0, guard.first - rules.boot_s)
        deletion = self._deletion(run, machine)
        known = replace(machine, created=created)
        signs = self._signs(run, known, guard, deletion, rules, limits)
        ended = until(known, guard, signs)
        counted_s = self._tell_unseen(run, known, deletion, rules, limits)
        if machine.waited_to_its_end:
            counted_s = min(counted_s, TOLD_S)
        if created is not None:
            unlooked_s = _unlooked_s(run, machine, signs.deletion, ended.most, rules, limits)
            counted_s, first = _counted_s(run, known, guard, signs, ended, first, unlooked_s)
        others, now = run.state.without(machine), run.side.clock.now()  # what was left, and a second more
        left = [asking.time_left_s(limits, others, now) + 1.0, asking.money_left_s(limits, others, now) + 1.0]
        by_time, by_money = (round(min(counted_s, most), 3) or None for most in left)
        self._records.say(
            run,
            "deleted",
            name=machine.ref.name,
            zone=machine.ref.zone,
            proof="refused" if machine.ref.name in run.unlookable else "404",
            made=machine.made or created is not None,
            created=created,
            billed_until=ended.likely,
            billed_least=ended.least,
            billed_most=ended.most,
            counted_s=by_time,
            counted_money_s=by_money,
            spoke=guard.first or None,
            first=first,
        )
        self._tell_counted(run, machine.ref.name, limits)
        if failing:
            self._records.say(run, "notice", id="delete-proved", level="info", facts={"name": machine.ref.name})
        run.looks.pop(machine.ref.name, None)
        if created is not None and limits.usd_per_hour is not None:
            self.money(run, limits)
        if run.state.end is None and created is None and (machine.refusal or machine.leaving == "hunt"):
            self._records.say_waiting(run)
        self._records.tidy(run)

    def _tell_counted(self, run: Watched, name: str, limits: Limits) -> None:
        """Once it is gone: what counts of it towards the limits beyond the bill, where that is more than moments."""
        machine, now = run.state.of(name), run.side.clock.now()
        if machine is None or machine.created is None:
            return
        more_s, rate = machine.limited_s(now) - machine.billed_s(now), limits.usd_per_hour
        paid_s = machine.limited_money_s(now) - machine.billed_s(now)
        if max(more_s, paid_s) >= TOLD_S:
            cost = {} if rate is None else {"unseen_usd": round(paid_s / 3600.0 * rate, 6)}
            facts = {"name": name, "unseen_s": round(more_s), **cost}
            self._records.say(run, "notice", id="counts-unseen", level="warning", facts=facts)

    def _signs(
        self, run: Watched, machine: Machine, guard: Guard, deletion: Deletion | None, rules: Rules, limits: Limits
    ) -> Signs:
        return Signs(
            run.side.clock.now(),
            deletion,
            run.alive_at.get(machine.ref.name, 0.0),
            _lived_until(run.folder, machine),
            lambda: self._first_stop(run, machine, guard, rules, limits),
            _own_end(run, machine, guard, rules, limits),
            has_stops=not run.state.waived(run.plan.limits),
        )

    def _deletion(self, run: Watched, machine: Machine) -> Deletion | None:
        """What the cloud says of the deletion, where it can be true. No answer keeps no bill open."""
        if machine.outcome == "refused" and not machine.made:
            return None
        try:
            told = run.side.machines[machine.ref.backend].ended(machine.ref)
        except (CloudRefused, CloudUnclear) as error:
            _log.info("when %s ended is not told: %s", machine.ref.name, error)
            return None
        return told if told is not None and told.done >= (machine.created or machine.asked or 0.0) else None

    def _first_stop(self, run: Watched, machine: Machine, guard: Guard, rules: Rules, limits: Limits) -> float:
        """When the first shut-off timer was due for a machine that nobody saw go."""
        asked = machine.asked or run.side.clock.now()
        before = asking.before_times(asked, run.state, rules, limits)
        if (began := machine.created) is None:
            return before[0]
        moved_itself = guard.first and run.plan.job.model.file is None  # by our guardian, where nothing else runs
        if not machine.lease_stops and not moved_itself:  # those of before the launch, of which some may have been
            return next((at for at in before if at > began), before[-1])
        return asking.lease_times(replace(machine, created=began), run.state, limits, began)[0]

    def _tell_unseen(
        self, run: Watched, machine: Machine, deletion: Deletion | None, rules: Rules, limits: Limits
    ) -> float:
        """It was asked for and is gone without a word in its name: between two looks it may have come, hung, and been
        charged for, until its deletion, the end of the shut-off timers, or now. Those seconds: they count towards
        the limits."""
        now = run.side.clock.now()
        unseen = machine.created is None and machine.outcome != "refused"
        if not unseen or machine.asked is None:
            return 0.0
        until = now if deletion is None else min(now, deletion.done)
        seconds = _unlooked_s(run, machine, deletion, until, rules, limits)
        if seconds < SEEN_ENOUGH_S:
            return 0.0
        priced = limits.usd_per_hour is not None
        cost = {"usd_at_most": round(seconds / 3600.0 * (limits.usd_per_hour or 0.0), 6)} if priced else {}
        facts = {"name": machine.ref.name, "seconds_at_most": round(seconds), **cost}
        self._records.say(run, "notice", id="cost-unseen", level="warning", facts=facts)
        return seconds

    def money(self, run: Watched, limits: Limits) -> None:
        """Spent so far: what is reserved, and the time of the machines that there were."""
        now = run.side.clock.now()
        held = limits.reserved_usd if any(one.created is not None for one in run.state.machines) else 0.0
        usd = held + run.state.usd(limits.usd_per_hour, now)
        least, most = (held + one for one in run.state.usd_between(limits.usd_per_hour, now))
        self._say_money(run, limits, (least, usd, most + _unseen_usd(run)))

    def _say_money(
        self, run: Watched, limits: Limits, cost: tuple[float, float, float], *, settled: bool = False
    ) -> None:
        """*settled*: part by part, once nothing is left; what was reserved and not used is no cost any more."""
        least, usd, most = cost
        rate = limits.usd_per_hour if run.state.there else 0.0
        told = {"usd_at_least": round(least, 6), "usd_at_most": round(most, 6)} if most - least > 0.01 * usd else {}
        self._records.say(
            run,
            "money",
            usd=round(usd, 6),
            usd_per_hour=rate,
            proved=not run.state.there,
            operations=run.usage.record(),
            **told,
            **({"settled": True} if settled else {}),
        )

    def last_words(self, run: Watched, attempt: int) -> None:
        """All that *attempt* said, to the last byte."""
        try:
            run.mirror.pull(attempt, asking.workers_of(run.plan), catch_up=True)
            run.mirror.records(attempt)
        except CloudRefused as error:  # the bucket is gone: what has come is all there is
            _log.info("run %s: its last words cannot be read: %s", run.folder.name, error)

    def declare(self, run: Watched, reason: Reason, facts: Mapping[str, object]) -> None:
        if run.state.opened and run.state.machines:
            self.last_words(run, run.state.attempt)
        guard = run.words.guard(run.state.attempt)
        if guard.end is not None:  # it had said its end itself
            return
        if reason is Reason.NO_CAPACITY:
            unseen = _counted_unseen(run)  # in seconds, where there is no price
            facts = {"accelerator": run.plan.accelerator, **unseen, "unseen_usd": _unseen_usd(run), **facts}
        if reason in (Reason.MONEY_LIMIT, Reason.TIME_LIMIT):
            facts = {**_counted_unseen(run), **facts}
        if reason in OWN_REASON.values():
            tier = run.plan.job.where.tier
            hosts = asking.workers_of(run.plan)
            known = {"accelerator": run.plan.accelerator, "tier": tier, "project": run.side.project, "hosts": hosts}
            facts = {**known, **facts}
        self._records.say(
            run,
            "end",
            attempt=run.state.attempt,
            status=reason.status.value,
            reason=reason.value,
            steps=0,
            final={},
            facts={"result": False, **facts},
        )

    def again(self, run: Watched, extensions: Iterable[int]) -> None:
        """As a person's extension of a run that is over, by the controls of these numbers."""
        number = run.state.attempt + 1
        self._records.say(run, "notice", id="extended-at-the-end", level="info", facts={})
        self._records.say(run, "again", attempt=number, extensions=sorted(extensions))
        self._records.say(run, "phase", phase=Phase.QUEUED.value, detail="submitted", attempt=number)
        run.asked_why = ()

    def tell_left_out(self, run: Watched) -> None:
        """Once a run: more lies in the bucket than any run writes."""
        told = (event.get("id") for event in desk_events(run.folder, run.whose) if event.kind == "notice")
        if run.mirror.left_out and "left-in-bucket" not in told:
            facts = {"what": sorted(run.mirror.left_out)[:10]}
            self._records.say(run, "notice", id="left-in-bucket", level="warning", facts=facts)

    def finish(self, run: Watched, limits: Limits) -> None:
        """What was to be discarded gone, the result here, the receipt here and in the bucket, then phase done.

        Repeatable.
        """
        kept: int | None = None
        if run.state.opened:
            try:
                for attempt in attempts(run.state.attempt):
                    run.mirror.pull(attempt, asking.workers_of(run.plan), catch_up=True)
                    run.mirror.records(attempt)
                if _is_discarded(run):
                    run.mirror.discard()
                run.mirror.result()
                self.tell_left_out(run)
                kept = run.mirror.kept_bytes()
            except CloudRefused as error:
                _log.warning("run %s: the bucket is not as it should be left: %s", run.folder.name, error)
        now = run.side.clock.now()
        left = [str(one) for one in _stops_left(run)]
        state, unseen = with_guard(run.state, run.words.guard(run.state.attempt)), _unseen_usd(run)
        parts = bill.parts_of_run(run.folder, run.plan, state, run.usage, kept, now)
        price = run.plan.price.usd_per_hour if run.plan.price else None
        record = receipt(
            run.plan,
            state,
            bucket=run.side.mailbox.bucket,
            usd_per_hour=price,
            left=left,
            now=now,
            unseen_usd=unseen,
            stop_account=_stop_account(run),
            kept_bytes=kept,
            parts=parts,
            chips=chips_used(run.folder),
        )
        data = json.dumps(record, indent=1).encode() + b"\n"
        _put_aside_folder(run.folder / RECEIPT)
        write_inside(run.folder, run.folder / RECEIPT, data)
        if run.state.opened:
            try:
                run.mirror.put(RECEIPT, data)
            except CloudRefused as error:
                _log.warning("run %s: its receipt cannot be written to the bucket: %s", run.folder.name, error)
        if limits.usd_per_hour is not None:
            least, usd, most = bill.total(parts)
            self._say_money(run, limits, (least, usd, most + unseen), settled=True)
        end = state.end
        self._records.tidy(run, everything=True)  # a run that is done gets no more turns
        self._records.say(
            run,
            "phase",
            phase=Phase.DONE.value,
            detail="",
            attempt=run.state.attempt,
            status=end.get("status") if end else None,
        )
        if run.state.opened:
            try:
                run.mirror.push_desk()
            except (CloudRefused, CloudUnclear) as error:
                _log.info("run %s: its last event is on this disk only: %s", run.folder.name, error)


GUESSED_S = 5.0  # a machine that may not read its createTime tells the moment of its first word (doubt node-created)


def _own_end(run: Watched, machine: Machine, guard: Guard, rules: Rules, limits: Limits) -> float:
    """See `Signs.own_end`: what was asked for with the machine, from its first word or, unheard, from its creation."""
    if machine.created is None or not (machine.ref.alpha or machine.ref.backend == "compute"):
        return 0.0
    began = max(machine.created, guard.first, machine.ready or 0.0)
    stay_s = asking.stay_s(limits, run.state.without(machine), machine.created)
    return began + stay_s + rules.boot_s + THERE_S


def _counted_s(
    run: Watched, machine: Machine, guard: Guard, signs: Signs, ended: Until, first: float | None, unlooked_s: float
) -> tuple[float, float | None]:
    """Seconds of a *machine* that was made which count towards the limits, and from when it may have been there.

    When it was made it says itself where no look saw it ready: it may have been there for all of *unlooked_s*.
    """
    own = run.plan.job.model.file is not None
    created = machine.created or 0.0
    seconds = counted(machine, guard, signs, ended, runs_own_code=own) - created
    if machine.ready is None and (own or (guard.end is None and not machine.taken_back)):
        seconds, first = max(seconds, unlooked_s), min(first or created, ended.most - unlooked_s)
    return seconds, first


def _unlooked_s(
    run: Watched, machine: Machine, deletion: Deletion | None, until: float, rules: Rules, limits: Limits
) -> float:
    """Seconds before *until* in which nobody looked and *machine* may have been there.

    Without a record of its deletion the shut-off timers let none stay: one that came before the first of them was
    ended by that, one that came later by the next.
    """
    spans = run.unlooked.get(machine.ref.name, ())
    if deletion is not None or machine.asked is None or run.state.waived(run.plan.limits):
        return _within(spans, until)
    first = asking.before_times(machine.asked, run.state, rules, limits)[0] + STOPS_TAKE_S
    late_s = min(LONGEST_GAP_S + STOPS_TAKE_S, _within(spans, until))
    return max(_within(spans, min(until, first)), late_s)


def _within(spans: Iterable[tuple[float, float]], until: float) -> float:
    """Seconds of *spans* up to *until*."""
    return sum(max(0.0, min(end, until) - begun) for begun, end in spans)


def _is_discarded(run: Watched) -> bool:
    """Also by the word of the machine, which obeys whoever writes to the bucket: not where it was to be kept."""
    end = with_guard(run.state, run.words.guard(run.state.attempt)).end
    asked = believed.stops(run.folder, run.state.attempt)
    kept = bool(asked) and asked[-1].get("keep", True)
    return end is not None and end.get("reason") == Reason.DISCARDED.value and not kept


def _lived_until(folder: Path, machine: Machine) -> float:
    """When the machine wrote its ledger last: also after its end, while its deletion fails. 0: no word of that."""
    return _in_ledger(folder, machine, "t")


def _made(folder: Path, machine: Machine, guard: Guard) -> float:
    """When the machine was made that nobody saw ready: as its guardian tells it, for an earlier one in its place that
    was looked at is not billed; else as it was looked at, else by its first word."""
    ledger = _in_ledger(folder, machine, "since")
    told = guard.since or (ledger if 0.0 < ledger <= guard.first else 0.0)
    return max(told or machine.created or guard.first, machine.created or machine.asked or 0.0)


def _in_ledger(folder: Path, machine: Machine, key: str) -> float:
    try:
        record = read_json(ledger_file(folder, machine.attempt))
        value = float(record[key]) if record["name"] == machine.ref.name else 0.0
        return value if 0.0 < value < 1e11 else 0.0
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return 0.0


def _counted_unseen(run: Watched) -> dict[str, float]:
    """What counts towards the limits beyond the bill, for it may have been charged while nobody looked: dollars, or
    seconds where no price is known; nothing where it is next to nothing."""
    now, rate = run.side.clock.now(), believed.limits(run.folder, run.plan).usd_per_hour
    if rate is None:
        seconds = run.state.limited_s(now) - run.state.used_s(now)
        return {"unseen_s": round(seconds)} if seconds >= SEEN_ENOUGH_S else {}
    seconds = run.state.limited_money_s(now) - run.state.used_s(now)
    usd = seconds / 3600.0 * rate
    return {"unseen_usd": round(usd, 6)} if seconds >= SEEN_ENOUGH_S and usd >= 0.01 else {}


def _unseen_usd(run: Watched) -> float:
    """What machines may have cost that nobody saw, without those that came to light after all."""
    notices = [
        told for told in desk_events(run.folder, run.whose) if told.kind == "notice" and told.get("id") == "cost-unseen"
    ]
    found = [told.get("facts") for told in notices]
    seen = {one.ref.name for one in run.state.machines if one.created is not None}
    return sum(
        float(facts.get("usd_at_most") or 0.0)
        for facts in found
        if isinstance(facts, dict) and facts.get("name") not in seen
    )


def _put_aside_folder(path: Path) -> None:
    """Where our own file is to lie: of a bucket to which others write, one may have come."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"{path.name}.folder-{time.time_ns()}"))


def _stop_account(run: Watched) -> str:
    """Of the stops that were set last."""
    closed = (told for told in desk_events(run.folder, run.whose) if told.kind == "intent-closed")
    facts = [told.get("facts") for told in closed if str(told.get("id")).startswith("stops/")]
    names = [str(one.get("account") or "") for one in facts if isinstance(one, dict)]
    return next((name for name in reversed(names) if name), "")


def _claimed_by(folder: Path, machine: Machine) -> bool:
    """Whether it is this machine that runs, or ran, the attempt; a desktop may have died before it knew of it."""
    try:
        claim = read_json(claim_file(folder, machine.attempt))
    except (OSError, ValueError):
        return machine.outcome == "accepted"
    return isinstance(claim, dict) and claim.get("name") == machine.ref.name


def _stops_left(run: Watched) -> list[object]:
    left: list[Any] = []
    for told in desk_events(run.folder, run.whose):
        if told.kind == "stops-removed":
            left += told.get("left") or []
    return left
