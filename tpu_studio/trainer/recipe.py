"""What a training step does, drawn out of a plan once: loss, optimizer, and the numbers that go with them.

Used by `maths`, which turns it into formulas, and by `program`, which makes it. No framework here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_studio.data.looked import look_of_plan
from tpu_studio.wire import models, tasks
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import whole

GPT2_WIDTH = 768  # of the smallest GPT-2


@dataclass(frozen=True)
class Recipe:
    """The constants of a step; a change of one of them means compiling anew.

    Attributes:
        task: classification (logits, whole labels), multi-label (logits, 1 or 0 for each label), regression (one
            standardised number), language-model or instruction (logits of each next token; these weighed).
        weight_decay: Decoupled (Loshchilov and Hutter 2019): multiplied by the learning rate of the step.
        clip_norm: Largest global norm of the gradient; 0 leaves it alone.
        accumulate: Parts into which a step's examples are cut; their gradients are summed before the update.
        beta2: 0.99 for small language models, whose gradients change faster than 0.999 remembers (nanoGPT's for
            characters); 0.95 from GPT-2's width on (Brown et al. 2020, appendix B; nanoGPT's GPT-2); else 0.999.
        class_weights: What an example of each class counts while it is learned from, 1 in the mean of all; (): each 1.
            Of labels: what an example counts that has each, and *absent_weights* one that has it not.
        scored_at_once: Tokens of one chip whose scores over the vocabulary are in memory at a time; 0: all of them.
    """

    task: str
    optimizer: str = "adamw"
    weight_decay: float = 0.0
    clip_norm: float = 0.0
    label_smoothing: float = 0.0
    accumulate: int = 1
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    momentum: float = 0.9
    scored_at_once: int = 0
    class_weights: tuple[float, ...] = ()
    absent_weights: tuple[float, ...] = ()

    @property
    def learns(self) -> tasks.Task:
        return tasks.by_id(self.task)

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the numbers that the optimizer keeps for each weight."""
        return ("m", "v") if self.optimizer == "adamw" else ("momentum",)


def from_plan(plan: Plan) -> Recipe:
    job = plan.job
    present, absent = _class_weights(plan)
    return Recipe(
        task=plan.task,
        optimizer=job.training.optimizer,
        weight_decay=_number(job.training.weight_decay),
        clip_norm=_number(job.training.clip_norm),
        label_smoothing=_number(job.training.label_smoothing) if not tasks.by_id(plan.task).has_number else 0.0,
        accumulate=job.training.accumulate,
        beta2=_beta2(plan),
        scored_at_once=plan.scored_at_once,
        class_weights=present,
        absent_weights=absent,
    )


def is_mixed(plan: Plan) -> bool:
    """Whether pictures, where it learns of such, are mixed with one another (`data.augment.mixes`)."""
    return plan.job.training.mix != "none" and tasks.by_id(plan.task).has_names


def _class_weights(plan: Plan) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """In proportion to how rare each class is (King and Zeng 2001; scikit-learn's "balanced"); of a label, which each
    example has or has not, as of two classes: those that have it, and the others."""
    learns = tasks.by_id(plan.task)
    if plan.job.training.class_weights != "balanced" or not learns.has_names:
        return (), ()
    look = look_of_plan(plan)
    counts = [max(1, count) for _, count in look.classes]
    if learns.has_labels:
        examples = [max(look.examples, count + 1) for count in counts]
        pairs = list(zip(examples, counts, strict=True))
        return tuple(n / (2 * has) for n, has in pairs), tuple(n / (2 * (n - has)) for n, has in pairs)
    return tuple(sum(counts) / (len(counts) * count) for count in counts), ()


def _beta2(plan: Plan) -> float:
    if not tasks.by_id(plan.task).has_tokens:
        return 0.999
    if plan.job.model.id not in models.BY_NAME:
        return 0.99
    return 0.95 if whole(plan.options.get("width")) >= GPT2_WIDTH else 0.99


def falls_under_decay(path: str, shape: Sequence[int]) -> bool:
    """Whether weight decay falls on the weight of that path and shape: kernels only.

    Matrices and convolution kernels, never biases, scales of normalisation or embedding tables (the rule of minGPT;
    He et al. 2019, "Bag of Tricks", section 3.1).
    """
    name = path.rsplit("/", 1)[-1].lower()
    spared = ("bias", "gamma", "beta", "scale", "embedding", "position")
    return len(shape) >= 2 and not any(word in name for word in spared)


def _number(value: object) -> float:
    """A resolved number of the plan; "auto" never stands in a plan that is launched."""
    if isinstance(value, (int, float)):
        return float(value)
    raise ValueError(f"not resolved in the plan: {value!r}")
