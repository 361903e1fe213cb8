"""What a plan is made of, each value from those before it: facts, settings, slice, work, memory, estimate. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tpu_studio.data.looked import Look
from tpu_studio.domain.catalogue import Catalogue
from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner import checks, rented, rules, unseen, work
from tpu_studio.planner.auto import Resolved, resolve
from tpu_studio.planner.computer import Computer, this_computer
from tpu_studio.planner.estimate import Estimate, estimate
from tpu_studio.planner.facts import DataFacts, facts_of
from tpu_studio.planner.known import Known
from tpu_studio.planner.modelwork import model_key, work_of
from tpu_studio.planner.own import NOTHING, Mine
from tpu_studio.planner.own.likeness import key_of
from tpu_studio.planner.paths import whole_job
from tpu_studio.planner.places import PlacePlanner, planner_of
from tpu_studio.planner.rented import Rented
from tpu_studio.planner.work import Memory, Work
from tpu_studio.wire import frameworks, kinds, places
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.models import options as model_options
from tpu_studio.wire.models import options_from, preset
from tpu_studio.wire.planparts import PlanPrice

STATE_SHARE = 0.25  # of a device's memory; weights and optimizer that take more are shared out over the devices


@dataclass(frozen=True)
class Question:
    """A job as the person wrote it, "auto" and all, the look at its data, and what else is known.

    Attributes:
        options: All options of the model, defaults filled in; empty for a file of the person's own.
    """

    job: Job
    look: Look
    known: Known
    computer: Computer
    facts: DataFacts
    options: dict[str, Any]

    @property
    def place(self) -> places.Place:
        return places.by_id(self.job.where.place)

    @property
    def catalogue(self) -> Catalogue:
        return self.known.catalogues.at(self.place.id)

    @property
    def planner(self) -> PlacePlanner:
        return planner_of(self.place)

    def resolve(self, devices: int, *, job: Job | None = None, each: int = 0, step_s: float | None = None) -> Resolved:
        """For so many devices.

        Args:
            each: Examples that one device's memory holds, where that was counted.
            job: In place of the person's own, where a value is decided already.
            step_s: Of a step, where own runs tell it instead of a timing.
        """
        asked, timing = job or self.job, self.known.timing
        step_time = timing.step_time_s if timing else step_s
        known: dict[str, Any] = {"devices": devices, "step_time_s": step_time, "begins": self.known.preset}
        resolved = resolve(asked, self.facts, self.options, params=0, **known)
        if resolved.rule.reads_tokens and not (counted := self.count_work(resolved)).is_guess:
            # By its size, how long it trains, and how far its batch may grow.
            size: dict[str, Any] = {"params": counted.params, "each": each}
            resolved = resolve(asked, self.facts, self.options, **known, **size)
        if self.known.picture_s and decoded_bytes(self.facts, resolved) > assumed.IN_MEMORY_BYTES:
            resolved.read_s = self.known.picture_s
        if (seed := unseen.seed_of(asked, self.look, self.known.preset)) is not None:
            resolved.set(unseen.SEED, seed, unseen.SEED_OF_BASE)
        return resolved

    def count_work(self, resolved: Resolved) -> Work:
        facts, timing = self.known.model_facts, self.known.timing
        options = self.options or self.job.model.options
        if "key" in facts and facts["key"] != model_key(resolved.values, options, self.look, self.known.own_sha256):
            facts = {}  # of another model than this one, which a person is advised to take perhaps
        return work_of(resolved, self.facts, facts, params=timing.params if timing else 0)

    def count_memory(self, resolved: Resolved, counted: Work, scored_at_once: int) -> Memory:
        training = resolved.job.training
        return work.memory(
            counted,
            batch=resolved.batch,
            accumulate=training.accumulate,
            optimizer=training.optimizer,
            precision=training.precision,
            data_bytes=self._data_bytes(resolved),
            framework=training.framework,
            chip=not self.place.local and frameworks.by_id(training.framework).leads_on_chip,  # whose program is known
            unseen=resolved.validation,
            scored_at_once=scored_at_once,
        )

    def _data_bytes(self, resolved: Resolved) -> int:
        """Of the data that stays in memory while training."""
        facts = self.facts
        examples, kind = facts.train + facts.validation, kinds.by_id(facts.kind)
        if facts.has_pictures:
            size = decoded_bytes(facts, resolved)
            return size if size <= assumed.IN_MEMORY_BYTES else 0  # else they are read while training
        if facts.sizes:
            return examples * resolved.job.data.sequence_length * work.FLOAT  # a token is a whole number of four bytes
        if kind.has_text:
            return examples if resolved.job.data.tokenizer == "bytes" else examples * work.FLOAT
        return examples * max(1, facts.inputs) * work.FLOAT if kind.has_rows else 0


@dataclass(frozen=True)
class Sized:
    """The settings on a slice, and what they take there.

    Attributes:
        rented: None on this computer.
        devices: That share a batch; a processor is one device to both frameworks.
        scored_at_once: Tokens of a device whose scores over the vocabulary are in memory at a time; 0: all.
    """

    resolved: Resolved
    devices: int
    rented: Rented | None
    work: Work
    memory: Memory
    scored_at_once: int = 0

    @property
    def tpu(self) -> Rented:
        """Of a place where it is not this computer."""
        assert self.rented is not None
        return self.rented


@dataclass(frozen=True)
class Parts:
    """All that a plan is made of, but for its limits and checks."""

    question: Question
    sized: Sized
    mine: Mine
    estimate: Estimate

    @property
    def resolved(self) -> Resolved:
        return self.sized.resolved

    @property
    def needed_bytes(self) -> int:
        return _needed_bytes(self.question, self.sized)

    @property
    def limit_bytes(self) -> int:
        return _limit_bytes(self.question, self.sized.rented)

    @property
    def fits(self) -> bool:
        return self.needed_bytes <= self.limit_bytes

    @property
    def price(self) -> PlanPrice | None:
        return self.question.planner.price(self.sized)

    def resolved_for(self, devices: int) -> Resolved:
        """As for a slice of so many devices."""
        return self.question.resolve(devices)

    @cached_property
    def usual_rate(self) -> float:
        """The learning rate that is recommended."""
        job, resolved = self.question.job, self.resolved
        if job.training.learning_rate != AUTO:
            left_open = job.with_values({"training.learning_rate": AUTO})
            resolved = self.question.resolve(self.sized.devices, job=left_open)
        return float(resolved.job.training.learning_rate)


def parts_of(job: Job, look: Look, known: Known) -> Parts:
    """The same arguments give the same parts.

    Raises:
        JobError: A model name, an option of it or a preset that does not exist.
    """
    options = {} if job.model.is_own else _options(job, known)
    if "vocabulary" in options and "vocabulary" not in job.model.options and job.data.tokenizer == "bpe":
        options["vocabulary"] = look.outputs  # as many as are learned from the text
    preset(job.model.id, job.model.preset)
    question = Question(job, look, known, known.computer or this_computer(), facts_of(look, job), options)
    sized = _that_fits(question, _on_slice(question, _sized(question, question.resolve(1), 1, None)))
    mine = _mine(question, sized)
    found = _estimate(question, sized, mine)
    lesson = found.lesson
    if known.timing is None and lesson and lesson.same and sized.rented is None:  # as good as timed: plan with that
        paced = question.resolve(sized.devices, step_s=lesson.seconds.expected)
        path = "training.rematerialize"
        if path in sized.resolved.reasons:
            paced.set(path, sized.resolved.values[path], sized.resolved.reasons[path])
        sized = replace(sized, resolved=paced)
        found = _estimate(question, sized, mine)
    return Parts(question, sized, mine, found)


def _options(job: Job, known: Known) -> dict[str, Any]:
    base = known.preset.base if known.preset else None
    if base is not None and base.model == job.model.id:
        return options_from(base, job.model.options)
    return model_options(job.model.id, job.model.options)


def work_key(question: Question, sized: Sized) -> str:
    """Of this very work on this kind of machine."""
    job = whole_job(question.job, sized.resolved, question.look.rows_file)
    own = question.known.own_sha256
    return key_of(job.values, sized.devices, job.where.accelerator, own, question.look.fingerprint)


def decoded_bytes(facts: DataFacts, resolved: Resolved) -> int:
    """Of all pictures at the model's size; 0 for other data."""
    if not facts.has_pictures:
        return 0
    return (facts.train + facts.validation) * resolved.job.data.image_size**2 * facts.channels


def _sized(question: Question, resolved: Resolved, devices: int, found: Rented | None) -> Sized:
    counted = question.count_work(resolved)
    leads = frameworks.by_id(resolved.job.training.framework).leads_on_chip
    once = 0
    if found is not None and leads:
        training = resolved.job.training
        tokens = resolved.batch // training.accumulate * resolved.job.data.sequence_length // devices
        limit = _limit_bytes(question, found)
        once = work.scored_at_once(counted, tokens=tokens, precision=str(training.precision), limit=limit)
    memory = question.count_memory(resolved, counted, once)
    wastes = memory.state > STATE_SHARE * _limit_bytes(question, found)
    return Sized(
        resolved,
        devices,
        found,
        counted,
        replace(memory, sharded=found is not None and devices > 1 and leads and wastes),
        once,
    )


def _on_slice(question: Question, sized: Sized) -> Sized:
    """On the slice that holds it, its settings resolved anew for that; unchanged on this computer."""
    job = question.job
    found = question.planner.choose(question, sized)
    if found is None:
        return sized
    chosen = {"where.accelerator": found.slice.accelerator_type, "where.zones": list(found.zones)}
    chosen_job = job.with_values(chosen)
    on_it = _sized(question, question.resolve(found.devices, job=chosen_job), found.devices, found)
    while fuller := _fuller(question, on_it, chosen_job):
        on_it = fuller
    on_it.resolved.reasons.update(found.reasons)
    return on_it


def _fuller(question: Question, sized: Sized, job: Job) -> Sized | None:
    """With twice as many long sequences for each chip, where they keep it busier and its memory has room for them."""
    length, each = sized.resolved.job.data.sequence_length, 2 * sized.resolved.batch // sized.devices
    if not sized.resolved.rule.reads_tokens or length <= rules.GPT_LONG_CONTEXT or each * length > rules.TOKENS_A_CHIP:
        return None
    resolved = question.resolve(sized.devices, job=job, each=each)
    more = _sized(question, resolved, sized.devices, sized.rented)
    grows = resolved.batch > sized.resolved.batch
    roomy = _needed_bytes(question, more) <= checks.TIGHT_SHARE * _limit_bytes(question, sized.rented)
    return more if grows and roomy else None


def _that_fits(question: Question, sized: Sized) -> Sized:
    """With values computed again instead of remembered, where they would not fit and the person left it open."""
    fits = _needed_bytes(question, sized) <= _limit_bytes(question, sized.rented)
    if fits or question.job.training.rematerialize != AUTO or not sized.resolved.rule.reads_tokens:
        return sized
    resolved = replace(
        sized.resolved,
        values={**sized.resolved.values, "training.rematerialize": True},
        reasons={
            **sized.resolved.reasons,
            "training.rematerialize": "Remembering everything would not fit into memory; this costs a third more work.",
        },
    )
    return _sized(question, resolved, sized.devices, sized.rented)


def _mine(question: Question, sized: Sized) -> Mine:
    known = question.known
    file = f"file {known.consent or known.model_facts.get('sha256')}" if question.job.model.is_own else ""
    mine = Mine(known.own or NOTHING.runs, "", file)
    return replace(mine, key=work_key(question, sized)) if mine.runs else mine


def _estimate(question: Question, sized: Sized, mine: Mine) -> Estimate:
    resolved, counted, found = sized.resolved, sized.work, sized.rented
    on_chip = found is not None and not question.place.rehearses
    traits = None if on_chip else rented.traits_of(resolved, counted, sized.devices, None, mine)
    here = estimate(resolved, counted, question.computer, question.known.timing, mine.runs, traits)
    return question.planner.estimate(sized, here, mine)


def _limit_bytes(question: Question, found: Rented | None) -> int:
    if found is None:
        return question.computer.memory_bytes
    return found.generation.program_bytes


def _needed_bytes(question: Question, sized: Sized) -> int:
    """Of the fullest device."""
    if sized.rented is not None:
        return sized.memory.on_device(sized.devices, _limit_bytes(question, sized.rented))
    timing = question.known.timing
    return max(sized.memory.total, (timing.peak_memory_bytes if timing else None) or 0)
