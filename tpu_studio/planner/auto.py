"""What every "auto" of a job becomes, and one plain sentence why. The figures stand in ``rules``.

`resolve` goes through the keys in the order in which they depend on each other: framework, data, batch, length,
rates, rhythm. A value that the person gave is never touched.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

from tpu_studio.data import texts
from tpu_studio.data.sorting import tokens_each
from tpu_studio.planner import rules
from tpu_studio.planner.facts import DataFacts
from tpu_studio.wire import families, frameworks, kinds, places, starters, tasks
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.families import ModelSpec
from tpu_studio.wire.job import Job, ResolvedJob, resolved_of
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.models import BY_NAME, check_length, image_size, preset, tokenizer
from tpu_studio.wire.presets import Preset
from tpu_studio.wire.pretrained import template

NATIVE = 224  # pixels of a side, which most backbones have learned with, where a folder does not say its own
T = TypeVar("T")


@dataclass
class Resolved:
    """The job's values without "auto", why, and the lengths that follow. *steps_per_epoch* is exact, not rounded.

    *asked*: The job with its "auto". *read_s*: What one core takes to read a picture, where pictures are read while
    training and that was timed. *preset*: Of the folder that it begins from.
    """

    asked: Job
    values: dict[str, object]
    family: str
    options: Mapping[str, Any]
    reasons: dict[str, str] = field(default_factory=dict)
    batch: int = 1
    train: int = 0
    validation: int = 0
    steps_per_epoch: float = 1.0
    steps: int = 1
    read_s: float | None = None
    preset: Preset | None = None

    @cached_property
    def job(self) -> ResolvedJob:
        """The *values* with their types; while `resolve` goes on, what has its turn later may still be "auto"."""
        return resolved_of(self.values)

    def put(self, path: str, value: T, why: str) -> T:
        """Set *path* and its reason if it still is "auto"; the value that it has then."""
        if self.values[path] == AUTO:
            self.set(path, value, why)
        return cast(T, self.values[path])

    def set(self, path: str, value: object, why: str) -> None:
        self.values[path] = value
        self.reasons[path] = why
        self.__dict__.pop("job", None)

    @property
    def tokens(self) -> int:
        """Of one example, once `resolve` came by it: asked of *values*, for a job is made anew after each change."""
        return cast(int, self.values["data.sequence_length"])

    @property
    def rule(self) -> families.Family:
        return families.by_id(self.family)

    @property
    def on_chip(self) -> bool:
        """Planned for a TPU, also where a practice machine stands for it."""
        return not places.by_id(self.asked.where.place).local


def resolve(
    job: Job,
    facts: DataFacts,
    options: Mapping[str, object],
    *,
    params: int,
    devices: int = 1,
    each: int = 0,
    step_time_s: float | None = None,
    begins: Preset | None = None,
) -> Resolved:
    """All values of *job* with "auto" replaced, except limits, which need the estimate (``planner.estimate``).

    Args:
        options: All options of the model, defaults filled in (``wire.models.options``).
        params: Weights of the model, 0 when unknown.
        each: Examples that one chip's memory holds at once, where that was counted; 0: not known yet.
        step_time_s: Measured time of a step, None before it is known.
        begins: Of the folder that the model begins from.
    """
    model = BY_NAME.get(job.model.id)
    resolved = Resolved(
        job, dict(job.values), model.family if model else families.own_family().id, options, preset=begins
    )
    _framework(resolved)
    _preset(resolved, model)
    _lora(resolved)
    _data(resolved, facts, model)
    _examples(resolved, facts)
    _batch(resolved, facts, devices, params, each)
    _length(resolved, facts, params)
    _freeze(resolved, facts)
    _rates(resolved, facts)
    _rhythm(resolved, facts, step_time_s)
    resolved.put("training.rematerialize", False, "There is memory enough to remember every step's values.")
    resolved.put("where.accelerator", "cpu", "This computer trains on its processor.")
    return resolved


def _framework(r: Resolved) -> None:
    if not r.on_chip:
        best = frameworks.for_processors()
        why = f"{best.title} trains fastest on a processor, above all with pictures."
    else:
        best = frameworks.for_chips()
        why = f"{best.title} is documented for every TPU that can be rented."
    r.put("training.framework", best.id, why)
    if not r.on_chip:
        r.put("training.precision", "float32", "bfloat16 pays off on a TPU; this is the usual format on a CPU.")
    else:
        why = "A TPU multiplies bfloat16 natively and remembers half as much; weights, sums and the loss stay float32."
        r.put("training.precision", "bfloat16", why)


def _preset(r: Resolved, model: ModelSpec | None) -> None:
    if model is None or model.starter is None:
        if model is not None and model.from_folder:
            r.put("model.preset", starters.NONE, "No folder is chosen yet.")
        r.put("model.preset", starters.NONE, "It has no starter weights: it begins from nothing.")
    else:
        starter = model.starter
        why = f"It has learned from {starter.learned_from}, and what it saw there helps with {starter.teaches}."
        r.put("model.preset", preset(model.name, AUTO), why)


def _lora(r: Resolved) -> None:
    given = r.asked.model.lora_rank
    if not r.rule.lora_rate:
        if given not in (AUTO, 0):
            raise JobError("job-lora-unfit", key="model.lora_rank", value=given, model=r.asked.model.id)
        r.put("model.lora_rank", 0, "It has no weights beside which small matrices could learn.")
    else:
        why = (
            "Small matrices learn beside its weights, which stay: a tenth of the memory, and it forgets little (LoRA)."
        )
        r.put("model.lora_rank", rules.LORA_RANK, why)


def _freeze(r: Resolved, facts: DataFacts) -> None:
    if not r.rule.features:
        if r.asked.training.freeze not in (AUTO, "none") and (r.rule.lora_rate or r.preset):
            allowed = {"allowed": ["none"], "nearest": "none"}
            raise JobError("job-not-a-choice", key="training.freeze", value=str(r.asked.training.freeze), **allowed)
        why = "What is added beside its weights learns." if r.values["model.lora_rank"] else "All of it learns."
        if not r.rule.lora_rate:
            why = _ALL_LEARNS if r.preset else "It begins from nothing, so everything has to learn."
        r.put("training.freeze", "none", why)
    elif r.values["model.preset"] == starters.NONE:
        r.put("training.freeze", "none", "It begins from nothing, so everything has to learn.")
    elif r.on_chip or r.train <= rules.UNFREEZE_UP_TO:
        why = "Its last layer learns in seconds; then everything learns a little more, at a lower rate."
        r.put("training.freeze", "head-first", why)
    else:
        why = "a processor would need hours for all of it; for its last layer, minutes."
        why = f"With {facts.train:,} {facts.noun} {why}"
        r.put("training.freeze", "backbone", why)
    match r.values["training.freeze"]:
        case "head-first":
            share = r.rule.head_share
            at, why = max(1, round(share * r.steps)), f"{share:.0%} of the steps, which cost next to nothing."
        case "backbone":
            at, why = r.steps, "Never: the last layer alone learns."
        case _:
            at, why = 0, "From the start."
    r.put("training.unfreeze_at", at, why)


_ALL_LEARNS = "What the other run has learned is where it begins, and all of it goes on learning."


def _data(r: Resolved, facts: DataFacts, model: ModelSpec | None) -> None:
    r.put("data.task", facts.task, tasks.by_id(facts.task).why)
    _text(r, facts, model)
    _augment(r, facts, _image_size(r, facts))


def _text(r: Resolved, facts: DataFacts, model: ModelSpec | None) -> None:
    given, begins = r.asked.data.tokenizer, r.job.model.preset
    chats = tasks.by_id(facts.task).has_chats
    base = r.preset.base if r.preset else None
    cut = tokenizer(r.asked.model.id, begins, given, sorts=bool(facts.sizes) and not chats, base=base)
    r.put("data.tokenizer", cut, _OF_BASE if base and base.tokenizer else _CUT[cut])
    length = base.shape[0] if base and base.tokenizer else (model.sequence_length if model else None) or 64
    longest = r.preset.longest if r.preset and (base or (r.preset.reads_text and cut == "preset")) else 0
    if longest:
        length, wanted = min(length, longest), r.asked.data.sequence_length
        if wanted != AUTO and wanted > longest:
            raise JobError("job-out-of-range", key="data.sequence_length", value=wanted, minimum=1, maximum=longest)
    if chats:
        length = min(facts.sizes.get("tokens_each", length), longest or length)
        why = "Nearly all of your chats are no longer; of longer ones the earliest questions and answers are left out."
        r.put("data.sequence_length", length, why)
    elif facts.sizes:
        why = "Nearly all of your texts are no longer; the end of longer ones is left out."
        each = tokens_each(r.job.data.tokenizer, facts.sizes)
        r.put("data.sequence_length", min(each, longest or each), why)
        check_length(r.asked.model.id, begins, r.tokens)
    elif tasks.by_id(facts.task).has_tokens and (fits := texts.longest_window(facts.train)) < length:
        r.put("data.sequence_length", fits, f"Your text has {facts.train:,} tokens to learn from: a few such pieces.")
    elif model and model.sequence_length:
        r.put("data.sequence_length", length, f"{model.title} is made for {length:,} tokens at once.")
    else:
        r.put("data.sequence_length", length, "Long enough for a line or two.")
    _template(r, chats=chats)


def _template(r: Resolved, *, chats: bool) -> None:
    """Raises JobError ``job-template-unknown``, ``job-template-unfit``; ``job-not-a-choice`` of a person's own file."""
    given, begins = r.asked.data.chat_template, r.preset
    if chats and r.rule.own:
        able = [one for one in kinds.first(lambda kind: kind.has_text).tasks if not tasks.by_id(one).has_chats]
        raise JobError("job-not-a-choice", key="data.task", value=str(r.asked.data.task), allowed=able, nearest=None)
    if not chats or begins is None:
        r.put("data.chat_template", template.PLAIN, "Only chats are written down by one.")
    elif given == AUTO and begins.template == template.UNKNOWN:
        facts = {"path": str(begins.folder), "plain": template.PLAIN in begins.templates}
        raise JobError("job-template-unknown", key="data.chat_template", value=given, **facts)
    elif given == AUTO and begins.template:
        r.put("data.chat_template", begins.template, "The pretrained weights have learned to answer in it.")
    elif given == AUTO and template.PLAIN in begins.templates:
        r.put("data.chat_template", template.PLAIN, "The folder brings no template of its own.")
    elif given == AUTO or given not in begins.templates or given not in (begins.template, template.PLAIN):
        able = [one for one in (begins.template, template.PLAIN) if one in begins.templates]
        raise JobError("job-template-unfit", key="data.chat_template", value=given, allowed=able)


_OF_BASE = "The run that it begins from cut its text so, and its weights know no other pieces."
_CUT = {
    "bytes": "Every language and sign works, and nothing has to be learned first.",
    "bpe": "Frequent words and parts of words are learned from your texts, so that each text is a few pieces.",
    "preset": "The pretrained weights know these pieces, and no others.",
}


def _image_size(r: Resolved, facts: DataFacts) -> int:
    if not facts.has_pictures:
        size, why = 32, "Not used: the data has no pictures."
    elif kinds.by_id(facts.kind).is_built_in:
        size, why = max(8, facts.side), f"The pictures are {facts.side} pixels wide."
    elif facts.converted:
        size, why = max(8, facts.side), f"The pictures were converted to {facts.side} pixels."
    elif r.preset and not r.preset.takes(usual := _native(r, facts)):
        size = r.preset.nearest(usual)
        why = f"{r.preset.title} sees pictures of {_sizes(r.preset, size)}, and no others."
    else:
        size = _native(r, facts)
        if r.preset and r.preset.base and r.preset.side:  # which may be less than is usual
            size = min(size, r.preset.side)
        if r.rule.looks_at_pixels:
            why = f"A simple network looks at each pixel by itself; {size} pixels keep it small."
        elif facts.side > size:
            why = f"The pictures are larger ({facts.side} pixels); {size} keep what matters and train much faster."
        else:
            why = f"The pictures are {facts.side} pixels on their shorter side."
    return r.put("data.image_size", size, why)


def _native(r: Resolved, facts: DataFacts) -> int:
    """As for any picture, but no larger than it learned with."""
    return image_size(r.family, min(facts.side, r.preset.side or NATIVE) if r.preset else facts.side)


def _sizes(preset: Preset, size: int) -> str:
    if preset.base:
        return "this size" if preset.base.only else f"{size} pixels and more"
    return "this size" if preset.network.sizes == "one" else f"multiples of {preset.patch} pixels"


def _augment(r: Resolved, facts: DataFacts, size: int) -> None:
    if not facts.has_pictures:
        r.put("data.augment", False, "Only pictures can be varied.")
    elif facts.train > rules.AUGMENT_UP_TO:
        r.put("data.augment", False, f"{facts.train:,} pictures are varied enough by themselves.")
    elif size < rules.AUGMENT_FROM_SIDE:
        r.put("data.augment", False, f"In a picture of {size} pixels, shifting by one already changes too much.")
    else:
        r.put(
            "data.augment",
            True,
            f"{facts.train:,} pictures are not many; small changes to each keep it from memorising them (overfitting).",
        )


def _examples(r: Resolved, facts: DataFacts) -> None:
    """Examples as the trainer counts them: of text, sequences that do not overlap."""
    per_example = r.tokens if tasks.by_id(facts.task).continues else 1
    r.train, r.validation = facts.train // per_example, facts.validation // per_example


def _batch(r: Resolved, facts: DataFacts, devices: int, params: int, each: int) -> None:
    rule = r.rule
    if r.rule.reads_tokens:
        wanted = rule.batch_most if r.tokens <= rules.GPT_LONG_CONTEXT else rule.batch_least
        busy = "chip" if r.on_chip else "processor"
        why = f"{wanted} sequences at once keep the {busy} busy without using much memory."
    else:
        wanted = min(rule.batch_most, max(rule.batch_least, nearest_power_of_two(r.train / rule.steps_per_epoch)))
        why = f"A usual size for {r.train:,} {facts.noun}: enough for a steady correction, few enough for many of them."
    largest = power_of_two_below(max(1, r.train // 4))
    if wanted > largest:
        wanted, why = largest, f"Only {r.train:,} {facts.noun} to learn from, so a step takes few of them."
    if r.on_chip:
        wanted, why = _for_chips(r, wanted, why, devices, max(wanted, each), min(largest, _reach(r, params)))
    unit = devices * r.asked.training.accumulate
    r.batch = r.put("training.global_batch", max(unit, wanted // unit * unit), why)
    r.steps_per_epoch = max(1.0, r.train // r.batch)


def _for_chips(r: Resolved, usual: int, why: str, devices: int, each: int, reach: int) -> tuple[int, str]:
    """So many for *each* chip, as far as learning rate, length and data *reach*; the *usual* batch at least."""
    wanted = power_of_two_below(each * devices)
    grown = min(wanted, power_of_two_below(reach))
    if grown <= usual:
        return usual, why
    share, chips = f"{significant(grown / devices):g}", f"each of the {devices} chips" if devices > 1 else "the chip"
    if grown < wanted:
        return grown, f"{share} for {chips}; more would leave too few steps, or no rate that suits."
    room = "as many as its memory holds and keep it busy" if each > usual else "as one alone would take"
    return grown, f"{share} for {chips}, {room}."


def _reach(r: Resolved, params: int) -> int:
    """The most examples in a step that the learning rate still suits, and that leave steps enough in the run."""
    rule, reach = r.rule, 2.0**40
    if r.rule.reads_tokens:
        reach = rules.GPT_TOKENS_A_STEP / r.tokens
    elif r.asked.training.optimizer == "adamw":
        reach = 32 * (rules.RATE_MOST / rule.learning_rate) ** 2
    epochs = r.asked.training.epochs
    if r.asked.training.steps is None:  # else the steps are there, whatever is in them
        examples = _gpt_examples(r, params) if r.rule.reads_tokens and epochs is None else r.train * _epochs(r)
        reach = min(reach, examples / rules.STEPS_LEFT)
    return max(1, int(reach))


def _epochs(r: Resolved) -> float:
    given, rule = r.asked.training.epochs, r.rule
    return float(given) if given else next(times for up_to, times in rule.epochs if r.train <= up_to)


def _gpt_examples(r: Resolved, params: int) -> float:
    by_text = rules.GPT_TIMES_THROUGH * r.train
    by_weights = rules.GPT_TOKENS_PER_WEIGHT * params / r.tokens
    return float(min(by_weights or by_text, by_text))


def _length(r: Resolved, facts: DataFacts, params: int) -> None:
    """Steps in all, from epochs or steps as given, else by rule. An epoch's last, partly filled batch is not used."""
    steps: float | None = r.asked.training.steps
    if r.asked.training.epochs is None and steps is None:
        if r.rule.reads_tokens:
            tokens_a_step = r.batch * r.tokens
            by_weights = rules.GPT_TOKENS_PER_WEIGHT * params / tokens_a_step
            by_text = rules.GPT_TIMES_THROUGH * r.steps_per_epoch
            by_weights = by_weights or by_text  # of a size that nobody knows yet
            steps = two_figures(max(rules.GPT_LEAST_STEPS, min(by_weights, by_text)))
            why = f"About {rules.GPT_TIMES_THROUGH} epochs of the text; beyond that it would memorise it (overfit)."
            if params and by_weights <= by_text:
                why = f"About {rules.GPT_TOKENS_PER_WEIGHT} tokens for each weight of the model."
            r.set("training.steps", steps, why)
        else:
            r.set(
                "training.epochs", int(_epochs(r)), f"A usual number for {r.train:,} {facts.noun}; more rarely helps."
            )
    r.steps = int(steps) if steps is not None else max(1, round(_epochs(r) * r.steps_per_epoch))


def _rates(r: Resolved, facts: DataFacts) -> None:
    rule, batch = r.rule, r.batch
    if r.asked.training.optimizer == "sgd":
        rate, why = (
            rule.sgd_rate * batch / 256,
            f"For SGD: {rule.sgd_rate:g} at 256 a step, in proportion to your {batch:,}.",
        )
    elif r.rule.reads_tokens:
        width = int(r.options["width"])
        rate = rules.GPT_RATE * math.sqrt(rules.GPT_RATE_WIDTH / width)
        why = f"{rules.GPT_RATE:g} at a width of {rules.GPT_RATE_WIDTH}, larger for narrower ones; yours has {width:,}."
    elif r.values["model.lora_rank"]:
        rate = rule.lora_rate
        why = f"{rate:g}, as is usual for LoRA with AdamW (Dettmers et al. 2023)."
    else:
        peak = rule.head_rate if r.values["training.unfreeze_at"] else rule.learning_rate
        rate = peak * math.sqrt(batch / 32)
        why = f"{peak:g} at 32 a step, growing with the square root of the batch."
    r.put("training.learning_rate", significant(rate), why)
    r.put(
        "training.warmup",
        rule.warmup,
        f"The first {rule.warmup:.0%} of the steps start gently, which keeps early corrections from going wild.",
    )
    r.put(
        "training.weight_decay",
        rule.weight_decay,
        "A usual pull for this kind of model; it keeps it from leaning on single values.",
    )
    r.put("training.clip_norm", rule.clip_norm, "One bad step cannot undo the good ones.")
    if tasks.by_id(facts.task).has_classes and facts.answers >= 3 and rule.label_smoothing:
        r.put(
            "training.label_smoothing",
            rule.label_smoothing,
            f"With {facts.answers} classes, a little doubt makes the model more careful.",
        )
    elif tasks.by_id(facts.task).has_labels:
        r.put("training.label_smoothing", 0.0, "Probabilities of labels are to be taken as they are.")
    else:
        r.put("training.label_smoothing", 0.0, "Not useful for this kind of answer.")
    r.put("training.class_weights", *_class_weights(facts))


def _class_weights(facts: DataFacts) -> tuple[str, str]:
    """And why."""
    if tasks.by_id(facts.task).has_labels:
        return (
            "none",
            "A label is a yes or no by itself; with weights the probabilities of rare ones would be too high.",
        )
    if not tasks.by_id(facts.task).has_classes or not facts.class_most:
        return "none", "It tells no classes apart."
    times = facts.class_most / max(1, facts.class_least)
    if times <= rules.UNEVEN_CLASSES:
        return "none", "The classes are about as frequent as each other."
    return "balanced", f"The most frequent class has {significant(times):g} times as many {facts.noun} as the rarest."


def _rhythm(r: Resolved, facts: DataFacts, step_time_s: float | None) -> None:
    """How many steps a call of the device, and when to evaluate and save: multiples of each other where we choose."""
    steps, asked = r.steps, (r.asked.training.evaluate_every, r.asked.training.checkpoint_every)
    fixed = [every for every in asked if every != AUTO]
    most = _steps_per_call(r, facts)
    most = max(1, min(most, steps // rules.CALLS_AT_LEAST))
    common = math.gcd(*fixed) if fixed else 0
    if common:
        per_call = max(n for n in range(1, most + 1) if common % n == 0)
    else:
        per_call = power_of_two_below(most)
    if per_call == 1:
        why = "Each step is long enough to be called by itself."
        if r.rule.convolves and places.by_id(r.asked.where.place).on_this_computer:
            why = "Convolutions on a processor run fastest one step at a time."
        elif most < 2 <= (r.rule.chip_steps or 1):
            why = "One step at a time: the run is short, or its pictures fill the room for those that wait."
    else:
        why = "Short steps are handed over in bundles, which saves the time between them."
    per_call = r.put("training.steps_per_call", per_call, why)

    batches = math.ceil(r.validation / r.batch)
    by_cost = math.ceil(batches / 3 / rules.EVALUATION_SHARE)  # a check has a third of a step's work (forward only)
    every = max(r.steps_per_epoch, by_cost)
    if every * rules.EVALUATIONS_AT_LEAST > steps:
        every, why = max(1.0, steps / rules.EVALUATIONS_AT_LEAST), f"{rules.EVALUATIONS_AT_LEAST} times in the run."
    elif by_cost > r.steps_per_epoch:
        why = f"Checking takes at most {rules.EVALUATION_SHARE:.0%} of the time."
    else:
        why = "Once per epoch."
    evaluate_every = r.put("training.evaluate_every", _multiple(every, per_call), why)
    if step_time_s:
        every, why = (
            rules.CHECKPOINT_SECONDS / step_time_s,
            f"About every {rules.CHECKPOINT_SECONDS:.0f} seconds, so little is lost if the power goes.",
        )
    else:
        every, why = evaluate_every, "Together with the check on unseen data."
    r.put("training.checkpoint_every", _multiple(min(every, steps), per_call), why)


def _steps_per_call(r: Resolved, facts: DataFacts) -> int:
    """At most; on a chip as many as are worth it, while the examples of one call stay small beside its memory."""
    if places.by_id(r.asked.where.place).on_this_computer or not r.rule.chip_steps:
        return r.rule.steps_per_call
    most = r.rule.chip_steps
    if facts.has_pictures:
        step_bytes = r.batch * cast(int, r.values["data.image_size"]) ** 2 * facts.channels
        most = min(most, max(1, rules.CALL_BYTES // step_bytes))
    return most


def _multiple(wanted: float, unit: int) -> int:
    return max(unit, round(wanted / unit) * unit)


def nearest_power_of_two(value: float) -> int:
    return 1 if value < 1 else int(2 ** round(math.log2(value)))


def power_of_two_below(value: int) -> int:
    """The largest power of two that is not above *value* (at least 1)."""
    return 1 << (max(1, value).bit_length() - 1)


def two_figures(value: float) -> int:
    return int(significant(value))


def significant(value: float) -> float:
    """*value* rounded to two significant figures, as a person would write it."""
    return float(f"{value:.2g}")
