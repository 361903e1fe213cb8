"""From a job and a look at its data to a plan: `make_plan`, pure and quick enough for every press of a key."""

from __future__ import annotations

import math
import os
import time as clock
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tpu_studio.data.looked import Look
from tpu_studio.domain.catalogue import COMPUTE_FLEX_WAIT_S, catalogue, catalogue_at
from tpu_studio.planner import allowed, areas, checks, colab, rented, rules, work
from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner.auto import Resolved, resolve
from tpu_studio.planner.computer import Computer, this_computer
from tpu_studio.planner.estimate import Estimate, estimate, limit_hours, limit_usd
from tpu_studio.planner.extras import Loan, Moved, extras_of
from tpu_studio.planner.facts import DataFacts, checks_of, facts_of
from tpu_studio.planner.modelwork import work_of
from tpu_studio.planner.outlook import with_outlook
from tpu_studio.planner.own import NOTHING, Mine, OwnRuns
from tpu_studio.planner.own.likeness import key_of
from tpu_studio.planner.own.record import basis_json
from tpu_studio.planner.rented import cents_up
from tpu_studio.planner.timing import Timing
from tpu_studio.wire import families, kinds, places
from tpu_studio.wire.job import Job, set_values
from tpu_studio.wire.models import BY_NAME
from tpu_studio.wire.models import options as model_options
from tpu_studio.wire.plan import Check, Plan
from tpu_studio.wire.schema import AUTO, BY_PATH
from tpu_studio.wire.stops import beyond_s

_MARGIN_S = 1200.0
"""Beyond the limit: the second of the stops from outside has come by then, or a deletion that was late."""
_BOOT_S = 1200.0  # from a machine that is there to its guardian's first word
STATE_TIMES = 3  # a copy holds weights and the optimizer's two moments
RESULT_TIMES, RESULT_BYTES = 4, 4 << 20  # the model in each of its formats; curves, report and example data
_UNSEEN = work.Work(1_000_000, 6e6, 8 << 20)  # the user's own model before anybody has looked into it


def make_plan(
    job: Job,
    look: Look,
    *,
    timing: Timing | None = None,
    model_facts: Mapping[str, Any] | None = None,
    now: float,
    consent: str = "",
    computer: Computer | None = None,
    advise: bool = True,
    here: Timing | None = None,
    bucket_region: str = "",
    kept_days: int = 0,
    picture_s: float | None = None,
    own: OwnRuns | None = None,
) -> Plan:
    """The plan of *job* on the data seen in *look*; the same arguments give the same plan.

    Args:
        timing: From the trainer's `time` mode, for this model, batch and data; without it the estimate is wide.
        model_facts: Of the user's own file: ``sha256``, ``missing``, ``secret_line``, ``params``,
            ``flops_per_example``, ``activation_bytes``, ``problem`` with ``facts``: as far as known.
        now: Seconds since 1970, for the date of a pretended price.
        consent: sha256 of the user's own file that was agreed to, or "".
        advise: Also compare places, judge and advise (some milliseconds); without it, checks of the plan itself only.
        here: Timing of the same job on this computer, to compare a rented place with.
        bucket_region: Where results of rented runs are kept; "" when not known.
        kept_days: So long that bucket keeps what was deleted, at a price.
        picture_s: What one core takes to read a picture of this data (``data.pace``); None: not timed.
        own: This person's runs of before, which correct the estimate (``planner.own``).

    Raises:
        JobError: A model name or an option of it that does not exist.
    """
    facts = dict(model_facts or {})
    where = bucket_region, kept_days
    draft = _Draft(job, look, timing, facts, consent, computer or this_computer(), picture_s, own, *where)
    made = draft.plan(now)

    def at(changes: Mapping[str, Any] | None, timed: bool) -> _Draft:
        changed = set_values(job, {path: _or_default(path, value) for path, value in (changes or {}).items()})
        known = timing if timed else here if places.by_id(changed["where.place"]).local else None
        return _Draft(changed, look, known, draft.model_facts, consent, draft.computer, picture_s, own, *where)

    return with_outlook(made, draft, at, now, bucket_region) if advise else made


def estimate_of(
    job: Job,
    look: Look,
    *,
    timing: Timing | None = None,
    model_facts: Mapping[str, Any] | None = None,
    computer: Computer | None = None,
    picture_s: float | None = None,
    consent: str = "",
    own: OwnRuns | None = None,
) -> Estimate:
    """The parts of the plan's estimate (setting up, training) that the frozen plan does not carry."""
    facts = dict(model_facts or {})
    return _Draft(job, look, timing, facts, consent, computer or this_computer(), picture_s, own).estimate


class _Draft:
    """One plan in the making: facts, then values, then work, then estimate; checks and limits last."""

    def __init__(
        self,
        job: Job,
        look: Look,
        timing: Timing | None,
        model_facts: dict[str, Any],
        consent: str,
        computer: Computer,
        picture_s: float | None = None,
        own: OwnRuns | None = None,
        bucket_region: str = "",
        kept_days: int = 0,
    ) -> None:
        self.bucket_region, self.kept_days = bucket_region, kept_days
        self.job, self.look, self.timing, self.picture_s = job, look, timing, picture_s
        self.model_facts, self.consent, self.computer = model_facts, consent, computer
        self.facts = facts_of(look, job)
        self.options = {} if job.has_own_model else model_options(job.model, job.options)
        self.devices = 1  # a processor is one device to both frameworks
        self.resolved = self._resolve(job)
        self.work = self._work(self.resolved)
        self.memory = self._memory(self.work)
        self.rented = self._rent(job)
        if self._needed_bytes > self._limit_bytes and job.is_auto("training.rematerialize"):
            self._rematerialize()
        file = f"file {consent or self.model_facts.get('sha256')}" if job.has_own_model else ""
        self.mine = Mine(own or NOTHING.runs, "", file)
        if self.mine.runs:
            self.mine = replace(self.mine, key=self._key())
        self.estimate = self._estimate()
        lesson = self.estimate.lesson
        if timing is None and lesson and lesson.same and self.rented is None:  # as good as timed: plan with that
            kept = self.resolved
            self.resolved = self._resolve(job, lesson.seconds.expected)
            for said in ("values", "reasons"):
                getattr(self.resolved, said)["training.rematerialize"] = getattr(kept, said)["training.rematerialize"]
            self.estimate = self._estimate()

    def _estimate(self) -> Estimate:
        on_chip = self.rented is not None and not places.by_id(self.job["where.place"]).rehearses
        traits = None if on_chip else rented.traits_of(self.resolved, self.work, self.devices, None, self.mine)
        here = estimate(self.resolved, self.work, self.computer, self.timing, self.mine.runs, traits)
        if self.rented is None:
            return here
        return (colab.estimate if self.free else rented.estimate)(
            self.resolved, self.work, self.rented, here, self.mine
        )

    def _key(self) -> str:
        """Of this very work on this kind of machine."""
        resolved = self._resolved_job().values
        return key_of(resolved, self.devices, resolved["where.accelerator"], self.consent, self.look.fingerprint)

    def _basis(self) -> dict[str, Any]:
        """What the estimate rests on, for the plan: the run is compared with it."""
        mine = replace(self.mine, key=self.mine.key or self._key())
        workload = None
        if self.rented is not None and not places.by_id(self.job["where.place"]).rehearses:
            workload = rented.workload_of(self.resolved, self.work, self.rented)
        traits = rented.traits_of(self.resolved, self.work, self.devices, workload, mine)
        lesson = self.estimate.lesson
        return basis_json(
            traits,
            workload,
            self.estimate.modelled,
            flops_per_example=self.work.flops,
            bytes=self._needed_bytes,
            timed=self.timing is not None,
            own=lesson.to_json() if lesson else None,
            training_s=self.estimate.training_s.to_json(),
            **self._bounds(),
        )

    def _bounds(self) -> dict[str, Any]:
        found = self.estimate
        return {"floor_s": found.floor_s, "mfu": found.mfu.to_json()} if found.floor_s and found.mfu else {}

    @property
    def fits(self) -> bool:
        return self._needed_bytes <= self._limit_bytes

    def resolved_for(self, devices: int) -> Resolved:
        """As for a slice of so many devices."""
        kept, self.devices = self.devices, devices
        try:
            return self._resolve(self.job)
        finally:
            self.devices = kept

    def usual(self) -> Resolved:
        """With the learning rate that is recommended."""
        return self._resolve(_with_auto_rate(self.job))

    @property
    def free(self) -> bool:
        """A TPU that is lent for nothing, in a notebook."""
        return bool(self.job["where.place"] == colab.PLACE)

    def _rent(self, job: Job) -> rented.Rented | None:
        """Choose the slice, then resolve again for its devices; None on this computer."""
        if not places.by_id(job["where.place"]).rents and not self.free:
            return None
        framework = str(self.resolved.values["training.framework"])
        found = colab.choose(job) if self.free else rented.choose(job, framework, rented.need_bytes(self.memory, 1))
        self.devices = found.devices
        chosen = {"where.accelerator": found.slice.accelerator_type, "where.zones": list(found.zones)}
        self.resolved = self._resolve(Job({**job.values, **chosen}, job.base, job.given))
        self.resolved.reasons.update(found.reasons)
        self.work = self._work(self.resolved)
        self.memory = self._memory(self.work)
        return found

    @property
    def _price(self) -> dict[str, Any] | None:
        given = self.resolved.values["where.usd_per_hour"]
        if self.free:
            return colab.PRICE
        if self.rented is not None:
            return rented.price_json(self.rented, given)
        return {"usd_per_hour": given, "source": "pretended"} if given else None

    @property
    def _limit_bytes(self) -> int:
        if self.rented is None:
            return self.computer.memory_bytes
        return rented.program_bytes(catalogue().generation(self.rented.slice.generation))

    def plan(self, now: float) -> Plan:
        resolved, time_s = self.resolved, self.estimate.time_s
        told = self._price
        price = told["usd_per_hour"] if told else None
        cost = self.estimate.cost_usd(price)
        flex = self.rented is not None and self.rented.tier == "flex-start"
        most = {"most": checks.FLEX_MOST_HOURS} if flex else {}
        hours = limit_hours(time_s, float(resolved.values["limits.wait_hours"]), **most)
        extras: dict[str, Any] = {}
        why = "One and a half times the longest it should take"
        if self.rented is None and not self.free and price is None and hours < rules.COMPUTER_HOURS_LEAST:
            hours, why = rules.COMPUTER_HOURS_LEAST, "Ten minutes at least: to load the engine may take minutes"
        more = (
            max(hours, rented.PRACTICE_HOURS_LEAST) if places.by_id(resolved.values["where.place"]).rehearses else hours
        )
        resolved.put("limits.hours", more, f"{rented.PRACTICE_LIMIT_WHY}." if more > hours else f"{why}.")
        money: float | None = None
        if price:
            usd, why = limit_usd(cost), "One and a half times the most it should cost"
            if more > hours:
                usd, why = max(usd, rented.usd_of(more, price)), f"What {more:g} hours cost, in practice dollars"
            if self.rented is not None and not self.free:
                besides = self._extras(None, price)
                usd = cents_up(usd + besides["reserved_usd"] + besides["machine_usd_per_hour"] * besides["hours"])
                why += ", and what it costs besides the chips"
            resolved.put("limits.money_usd", usd, f"{why}.")
            money = float(resolved.values["limits.money_usd"])
        elif self.rented is None or self.free:
            where = "in a free Colab notebook" if self.free else "on this computer"
            resolved.reasons["limits.money_usd"] = f"Nothing is charged {where}."
        elif not self.job.is_auto("limits.money_usd"):
            money = float(resolved.values["limits.money_usd"])
        hours = float(resolved.values["limits.hours"])
        if self.rented is not None and not self.free:
            extras = self._extras(money, price)
        resolved.reasons["estimate"] = self.estimate.why
        return Plan(
            job=self._resolved_job(),
            task=str(resolved.values["data.task"]),
            framework=str(resolved.values["training.framework"]),
            place=str(resolved.values["where.place"]),
            accelerator=str(resolved.values["where.accelerator"]),
            devices=self.devices,
            steps=resolved.steps,
            steps_per_epoch=resolved.steps_per_epoch,
            reasons=resolved.reasons,
            data=self.look.to_json(),
            examples_per_s=self.estimate.examples_per_s,
            time_s=time_s,
            cost_usd=cost if price or self.rented is None or self.free else None,
            memory=self._memory_json(),
            price={"as_of": _day(now), **told} if told else None,
            limits={"money_usd": money, "hours": hours, **self._more_limits()},
            checks=tuple(self._checks(hours, money, extras)),
            extras=extras,
            basis=self._basis(),
            model_options=dict(self.options or self.job.options),
            consent=self.consent,
            created=now,
        )

    def _extras(self, money: float | None, price: float | None) -> dict[str, Any]:
        """What the machine costs besides its chips, under the limits as they are resolved."""
        found, values = self.rented, self.resolved.values
        assert found is not None
        practice = places.by_id(values["where.place"]).rehearses
        home = areas.practice_home(catalogue_at("practice")) if practice else self.bucket_region
        compute = found.backend == "compute-engine"
        loan = Loan(tuple(found.zones), found.tier, found.slice.vms, compute, home, self.kept_days)
        state = self.work.params * work.FLOAT
        moved = Moved(
            result=RESULT_TIMES * state + RESULT_BYTES,
            state=STATE_TIMES * state,
            data=self.look.bytes_on_disk,
            steps=self.resolved.steps,
            copies=sum(
                math.ceil(self.resolved.steps / int(values[f"training.{often}"]))
                for often in ("checkpoint_every", "evaluate_every")
            ),
        )
        told = extras_of(loan, moved, hours=float(values["limits.hours"]), money_usd=money, usd_per_hour=price)
        return told if values["where.usd_per_hour"] else told | {"chips_usd_per_hour": dict(found.usd_by_region)}

    def _more_limits(self) -> dict[str, Any]:
        """What holds at a rented place besides: waiting, silence, and how the bill is stopped."""
        if self.rented is None or self.free:
            return {}
        values = self.resolved.values
        own = self.rented.tier == "flex-start" or self.rented.backend == "compute-engine"
        return {
            "wait_hours": float(values["limits.wait_hours"]),
            **self._wait_away(float(values["limits.wait_hours"])),
            "idle_minutes": float(values["limits.idle_minutes"]),
            "stops": ["guardian", "outside", *(["platform"] if own else []), "desktop"],
            "margin_s": _MARGIN_S,
            "margin_boot_s": margin_boot_s(float(values["limits.wait_hours"]), platform=own),
        }

    def _wait_away(self, wait_hours: float) -> dict[str, float]:
        """How long the request waits with nobody at a computer, where that is less than it shall wait."""
        most = COMPUTE_FLEX_WAIT_S[1] / 3600.0
        assert self.rented is not None
        ends_early = self.rented.tier == "flex-start" and self.rented.backend == "compute-engine" and wait_hours > most
        return {"wait_hours_away": most} if ends_early else {}

    def _resolve(self, job: Job, step_s: float | None = None) -> Resolved:
        """*step_s*: Of a step, where own runs tell it instead of a timing."""
        params = 0
        if not job.has_own_model:
            family = families.by_id(BY_NAME[job.model].family)
            length = (
                job["data.sequence_length"]
                if not job.is_auto("data.sequence_length")
                else BY_NAME[job.model].sequence_length
            )
            params = work.gpt(self.options, tokens=int(length or 64)).params if family.reads_tokens else 0
        step_time = self.timing.step_time_s if self.timing else step_s
        found = resolve(job, self.facts, self.options, params=params, devices=self.devices, step_time_s=step_time)
        if self.picture_s and decoded_bytes(self.facts, found) > assumed.IN_MEMORY_BYTES:
            found.read_s = self.picture_s
        return found

    def _work(self, resolved: Resolved) -> work.Work:
        return work_of(resolved, self.facts) or self._own_work()

    def _own_work(self) -> work.Work:
        params = int(self.model_facts.get("params") or (self.timing.params if self.timing else 0)) or _UNSEEN.params
        return work.Work(
            params,
            float(self.model_facts.get("flops_per_example") or 6.0 * params),
            int(self.model_facts.get("activation_bytes") or _UNSEEN.activation_bytes),
        )

    def _memory(self, counted: work.Work) -> work.Memory:
        values, facts = self.resolved.values, self.facts
        in_memory = 0
        if facts.has_pictures:
            in_memory = decoded_bytes(facts, self.resolved)
            in_memory = in_memory if in_memory <= assumed.IN_MEMORY_BYTES else 0  # else they are read while training
        elif kinds.by_id(facts.kind).has_text:
            in_memory = facts.train + facts.validation
        elif kinds.by_id(facts.kind).has_rows:
            in_memory = (facts.train + facts.validation) * max(1, facts.inputs) * work.FLOAT
        return work.memory(
            counted,
            batch=self.resolved.batch,
            accumulate=int(values["training.accumulate"]),
            optimizer=str(values["training.optimizer"]),
            precision=str(values["training.precision"]),
            data_bytes=in_memory,
            framework=str(values["training.framework"]),
            chip=not places.by_id(self.job["where.place"]).local,
            unseen=self.resolved.validation,
        )

    def _rematerialize(self) -> None:
        if not self.resolved.rule.reads_tokens:
            return
        self.resolved.values["training.rematerialize"] = True
        self.resolved.reasons["training.rematerialize"] = (
            "Remembering everything would not fit into memory; this costs a third more work."
        )
        self.work = self._work(self.resolved)
        self.memory = self._memory(self.work)

    @property
    def _needed_bytes(self) -> int:
        if self.rented is not None:
            return self.memory.on_device(self.devices, self._limit_bytes)
        measured = self.timing.peak_memory_bytes if self.timing else None
        return max(self.memory.total, measured or 0)

    def _memory_json(self) -> dict[str, Any]:
        limit = self._limit_bytes
        share = self._needed_bytes / limit
        return {
            "device_bytes": self._needed_bytes,
            "limit_bytes": limit,
            "by": "estimate",
            "fits": share <= 1,
            "tight": checks.TIGHT_SHARE < share <= 1,
            "params": self.work.params,
            "parts": self._memory_parts(),
        }

    def _memory_parts(self) -> dict[str, int]:
        """What `_needed_bytes` is the sum of."""
        memory = self.memory
        if self.rented is not None:
            return memory.parts_on_device(self.devices, self._limit_bytes)
        named = ("weights", "gradients", "optimizer", "activations", "data", "framework")
        parts = {name: int(getattr(memory, name)) for name in named}
        parts["activations"] += memory.total - sum(parts.values())  # evaluation's, where they are more
        parts["framework"] += self._needed_bytes - memory.total  # measured: more than was counted
        return parts

    def _checks(self, hours: float, money: float | None, extras: Mapping[str, Any]) -> list[Check]:
        recommended = self._resolve(_with_auto_rate(self.job)).values["training.learning_rate"]
        size = int(self.resolved.values["data.image_size"])
        found, place = list(checks_of(self.look, self.job, size)), str(self.job["where.place"])
        known = {check.id for check in found}
        for group in (
            checks.of_model_and_data(self.job, self.facts),
            checks.of_own_model(self.job, self.model_facts, self.consent),
            checks.of_settings(self.resolved, self.facts, self.devices, float(recommended)),
            checks.of_place(self.resolved, self.rented),
            allowed.checks(self.rented, place) if self.rented is not None and not self.free else (),
            colab.checks(self.estimate) if self.free else (),
            checks.of_memory(self.memory, self._needed_bytes, self._limit_bytes, self.resolved, self.devices),
            checks.of_bucket(self.resolved, extras),
            checks.of_time_and_money(self.resolved, self.estimate, hours, money, self.job.given, self._price, extras),
        ):
            found += [check for check in group if check.id not in known]
        order = {"error": 0, "warning": 1, "info": 2, "ok": 3}
        return sorted(found, key=lambda check: order.get(check.level, 2))

    def _resolved_job(self) -> Job:
        values = dict(self.resolved.values)
        for path in ("data.path", "model.file"):
            if isinstance(values[path], str):
                values[path] = (
                    os.path.normpath(os.path.join(self.job.base or os.sep, values[path]))
                    if not os.path.isabs(values[path])
                    else values[path]
                )
        given = frozenset(path for path, value in values.items() if value is not None and value not in ({}, []))
        return Job(values, self.job.base, given)


def decoded_bytes(facts: DataFacts, resolved: Resolved) -> int:
    """Of all pictures at the model's size; 0 for other data."""
    if not facts.has_pictures:
        return 0
    return (facts.train + facts.validation) * int(resolved.values["data.image_size"]) ** 2 * facts.channels


def margin_boot_s(wait_hours: float, *, platform: bool) -> float:
    """How long beyond its limit a machine may stay that hangs before it has begun, with nobody at a computer: until the
    stops from outside (`wire.stops`); Google's own limit counts from when it is there."""
    return _BOOT_S + _MARGIN_S / 2.0 if platform else beyond_s(wait_hours * 3600.0, _BOOT_S, _MARGIN_S)


def _with_auto_rate(job: Job) -> Job:
    return Job({**job.values, "training.learning_rate": AUTO}, job.base, job.given)


def _or_default(path: str, value: Any) -> Any:
    """ "auto" of a key that has it is its default, as when a person takes it back."""
    return None if value == AUTO and BY_PATH[path].auto else value


def _day(now: float) -> str:
    return clock.strftime("%Y-%m-%d", clock.gmtime(now))
