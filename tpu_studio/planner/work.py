"""Weights, floating-point work and memory of our own models by formula: figures that are there at once.

The formulas follow the builders in ``trainer.models`` layer by layer; sources stand with each. What the engine counts
in the traced program (``trainer.work``) goes before them, and they are held to it (tests/trainer/work). B examples a
step, T tokens, W width, L layers, V vocabulary, C answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tpu_studio.wire import evaluating, frameworks
from tpu_studio.wire.families import halvings

FLOAT, HALF = 4, 2  # bytes of a float32, of a bfloat16
LANES = 128  # a TPU fills the last side of an array up to this
# How often a tensor of its kind is kept in one block, fitted to the compiler (see `Kept`).
MLP_SHARE, CNN_SHARE = 1.06, 2.4
STREAM_SHARE, HEADS_SHARE, SCORES_SHARE = 4.33, 2.26, 1.22
MIXED_SHARE = 1.0  # what the kernel keeps in place of scores
HALF_SCORES_SHARE = 1.1  # under bfloat16 the softmax stays float32
DROPPED_SHARE, HALF_DROPPED_SHARE = 0.22, 0.62  # more, where some are switched off at random
LOGITS, HALF_LOGITS = 1, 2  # copies of the scores over the vocabulary, float32 under either
NARROW_LOGITS = 1.5  # under bfloat16 where the kernel is: what goes back through them takes half (`models.splash`)
SCORED, HALF_SCORED = 2.0, 1.5  # copies of the scores that are made of a few tokens at a time
SCORES_FROM = 1 / 16  # of a chip's memory: what all its scores would take, from which a few at a time are made
SCORES_MOST = 1 / 8  # of it, for those few: fewer tokens mean more traffic for the table's gradient
SCORED_LEAST = 1024  # tokens at a time
# What the compiler does without, by itself, where a program would not fit: it works out again what is cheap, and puts
# each gradient to use before the next one is there. Read off programs that it refused or made to fit.
SPARED_SHARE, HALF_SPARED_SHARE, GRADIENTS_LEFT = 0.18, 0.26, 0.25
# Of a block's numbers a token, in widths of the model, where chips share the state out (`Memory._shared_out`):
LATE = 4  # of the stream 1, of queries, keys and values 3: what gradients of weights wait for
KEPT_WIDTHS = 16  # stream 2, its normed 2, what is mixed, queries, keys and values, inner layer before and after GELU
INSIDE = 3 * 4  # of the block whose turn it is: what its inner layer gave, and went back, three times
EVALUATED, EVALUATED_LOGITS = 2, 1.1  # copies that evaluation holds at a time of its widest array, of the logits
MADE_TO_FIT = 0.95  # of the limit, about what is then left free


@dataclass(frozen=True)
class Kept:
    """Bytes that XLA keeps of one example for the backward pass on a TPU, by number format.

    One term a tensor that is kept; what the formulas leave out is in the shares before them, fitted to the TPU compiler
    (tests/unit/planner/golden_memory.json, made by tools/make_golden.py).
    """

    float32: float
    bfloat16: float
    spared: tuple[float, float] = (0.0, 0.0)  # the share of either that the compiler does without where it must

    def of(self, precision: str) -> float:
        return self.bfloat16 if precision == "bfloat16" else self.float32


@dataclass(frozen=True)
class Work:
    """What one model costs.

    Attributes:
        params: Trained weights; *frozen*: those that stay as they are, beside which small matrices learn (LoRA).
        wide: Of the frozen, those that are in float32 whatever the others are in.
        flops: Floating-point operations of training on one example (of text: one sequence), forward and backward.
        activation_bytes: Memory of what one example leaves behind for the backward pass.
        convolutions: Whether most of the work is convolution, which XLA does slowly on processors.
        kept: What one example leaves behind on a TPU; None: not known better than *activation_bytes*.
        unscored: The same where a few tokens at a time are scored; None: no such scores.
        again: Of *unscored*, what is worked out again, and is not there beside scores.
        score_bytes: What the scores of one token over the vocabulary take then, and of what goes back through them.
        more: What one example leaves there besides *unscored*, where chips share the state out.
        late: What one example leaves for gradients that are put off, where chips share the state out.
        late_scores: The same of scores over the vocabulary, where they are all there at once.
        table: Of its weights, those that each chip has whole, with their gradient, while it scores a few tokens at a
            time; None: all, for what is gathered for the forward pass is kept for the backward pass.
        widest: Numbers of one example in the widest array that the model makes; None: not known (`wire.evaluating`).
        seen_bytes: What evaluation holds of one example at its fullest.
        recomputed: How many times the model's own operations *flops* are.
        is_guess: Nothing has been counted: there is no formula, and the engine has not looked yet.
    """

    params: int
    flops: float
    activation_bytes: int
    convolutions: bool = False
    kept: Kept | None = None
    unscored: Kept | None = None
    again: Kept = Kept(0.0, 0.0)
    score_bytes: Kept = Kept(0.0, 0.0)
    more: Kept = Kept(0.0, 0.0)
    late: Kept = Kept(0.0, 0.0)
    late_scores: Kept = Kept(0.0, 0.0)
    table: int | None = None
    widest: int | None = None
    seen_bytes: int = 0
    unscored_seen_bytes: int = 0
    recomputed: float = 1.0
    is_guess: bool = False
    frozen: int = 0
    wide: int = 0

    @property
    def model_flops(self) -> float:
        """*flops* without what is worked out again to save memory."""
        return self.flops / self.recomputed


def mlp(options: Mapping[str, Any], *, inputs: int, answers: int) -> Work:
    """Dense layers with biases: in → width → … → answers.

    A multiply-add counts as two operations; the backward pass costs twice the forward pass
    (Kaplan et al. 2020, Scaling Laws, section 2.1), hence 6 for each weight of a matrix and example, and 4 in the first
    layer: nobody needs the gradient of the data.
    """
    layers, width = int(options["layers"]), int(options["width"])
    matrices = inputs * width + (layers - 1) * width * width + width * answers
    biases = layers * width + answers
    remembered = inputs + 2 * layers * width + answers  # before and after each activation function
    share = MLP_SHARE * layers * width  # after each activation function
    kept, widest = Kept(share * FLOAT, share * HALF), max(inputs, width, answers)
    flops = 6.0 * matrices - 2.0 * inputs * width
    work = Work(matrices + biases, flops, FLOAT * 2 * remembered, kept=kept)
    return replace(work, widest=widest, seen_bytes=EVALUATED * FLOAT * widest)


def small_cnn(options: Mapping[str, Any], *, size: int, channels: int, answers: int) -> Work:
    """Blocks of convolution 3 × 3 without bias, normalisation, ReLU, halving; then the mean and one dense layer.

    Operations as of `mlp`: the first convolution needs no gradient of the pictures.
    """
    width, cells, incoming = int(options["width"]), size, channels
    params, multiplies, remembered, convolved = 0, 0.0, size * size * channels, 0
    for block in range(halvings(int(options["blocks"]), size)):
        outgoing = width * 2**block
        params += 9 * incoming * outgoing + 2 * outgoing  # scale and offset of the normalisation
        multiplies += 9.0 * incoming * outgoing * cells * cells
        convolved += cells * cells * outgoing
        remembered += 3 * cells * cells * outgoing  # after the convolution, the normalisation, the ReLU
        incoming, cells = outgoing, max(1, cells // 2)
    params += incoming * answers + answers
    multiplies += incoming * answers
    kept = Kept(CNN_SHARE * FLOAT * convolved, CNN_SHARE * HALF * convolved)
    widest = size * size * max(channels, width)
    flops = 6.0 * multiplies - 2.0 * 9 * channels * width * size * size
    work = Work(params, flops, FLOAT * 2 * remembered, convolutions=True, kept=kept)
    return replace(work, widest=widest, seen_bytes=EVALUATED * FLOAT * widest)


def gpt(options: Mapping[str, Any], *, tokens: int, rematerialize: bool = False) -> Work:
    """The shape of GPT-2: learned positions, pre-norm blocks with biases, output tied to the token table.

    Weights: V·W + T·W + L·(12·W² + 13·W) + 2·W (Radford et al. 2019; 124,439,808 for the smallest). Operations a
    token: 6 a weight that multiplies plus 12·L·W·T for attention (Chowdhery et al. 2022, PaLM, appendix B); tied, the
    token table multiplies once, as the output. Remembered: 34·T·W + 5·heads·T² bytes a block in half precision
    (Korthikanti et al. 2022, section 4.1), doubled for float32, or one T·W a block when recomputed, and the scores
    over the vocabulary, twice. Recomputed are the products of each block but the last, which nothing after it needs.
    """
    layers, width, heads, vocabulary = (int(options[name]) for name in ("layers", "width", "heads", "vocabulary"))
    block = 12 * width * width + 13 * width
    params = vocabulary * width + tokens * width + layers * block + 2 * width
    multiplying = vocabulary * width + layers * 12 * width * width
    flops_per_token = 6.0 * multiplying + 12.0 * layers * width * tokens
    one_block = (34 * tokens * width + 5 * heads * tokens * tokens) * 2
    remembered = layers * tokens * width * FLOAT + one_block if rematerialize else layers * one_block
    again = layers * (16.0 * width * width + 4.0 * width * tokens) if rematerialize else 0.0
    recomputed = 1.0 + again / flops_per_token
    logits = FLOAT * tokens * vocabulary
    remembered += 2 * logits
    dropped = float(options.get("dropout") or 0) > 0
    half_logits = NARROW_LOGITS if _by_kernel(tokens, dropped=dropped) else HALF_LOGITS
    one = _one_block(tokens, width, heads, dropped=dropped)
    spared = (SPARED_SHARE, HALF_SPARED_SHARE)
    blocks = Kept(layers * one.float32, layers * one.bfloat16, spared)
    kept = Kept(blocks.float32 + LOGITS * logits, blocks.bfloat16 + half_logits * logits, spared)
    if rematerialize:  # what comes into the blocks, and one block or the scores over the vocabulary, never both
        stream = layers * tokens * width
        if _by_kernel(tokens, dropped=dropped):  # what it gave is kept, too
            stream += int(layers * MIXED_SHARE * tokens * heads * _filled(width // heads))
        blocks = Kept(FLOAT * stream + one.float32, HALF * stream + one.bfloat16)
        kept = Kept(
            FLOAT * stream + max(one.float32, LOGITS * logits),
            HALF * stream + max(one.bfloat16, half_logits * logits),
        )
    more = (KEPT_WIDTHS - STREAM_SHARE) * width - HEADS_SHARE * heads * _filled(width // heads)
    widest = tokens * max(vocabulary, heads * tokens, 4 * width)
    work = Work(params, flops_per_token * tokens * recomputed, remembered, kept=kept)
    widest_inside = 4 * width * tokens if _by_kernel(tokens, dropped=dropped) else heads * tokens * _filled(tokens)
    attended = EVALUATED * widest_inside
    seen = FLOAT * max(attended, int(EVALUATED_LOGITS * tokens * vocabulary))
    return replace(
        work,
        unscored=blocks,
        again=one if rematerialize else Kept(0.0, 0.0),
        score_bytes=Kept(SCORED * FLOAT * vocabulary, HALF_SCORED * FLOAT * vocabulary),
        more=_of(0 if rematerialize else layers * tokens * max(0, int(more))),
        late=_of(tokens * width * (LATE * layers + INSIDE)),
        late_scores=_of(tokens * vocabulary),
        table=vocabulary * width,
        widest=widest,
        seen_bytes=seen,
        unscored_seen_bytes=FLOAT * attended,
        recomputed=recomputed,
    )


def scored_at_once(work: Work, *, tokens: int, precision: str, limit: int) -> int:
    """Of the *tokens* that a chip has in a step, how many are scored at a time, half at most; 0: all, which take little
    of its memory, *limit* bytes. A power of two."""
    each = work.score_bytes.of(precision)
    if not each or tokens * each <= SCORES_FROM * limit:
        return 0
    most = min(max(SCORED_LEAST, int(SCORES_MOST * limit / each)), tokens // 2)
    return 1 << (most.bit_length() - 1)


def _of(numbers: int) -> Kept:
    return Kept(FLOAT * numbers, HALF * numbers)


def _one_block(tokens: int, width: int, heads: int, *, dropped: bool) -> Kept:
    """What a transformer's block keeps of one example: the stream, the heads' queries, keys and values, the scores.

    The kernel keeps no scores (`trainer.models.splash`): see `_by_kernel`.
    """
    rest = STREAM_SHARE * tokens * width + HEADS_SHARE * tokens * heads * _filled(width // heads)
    if _by_kernel(tokens, dropped=dropped):
        rest += MIXED_SHARE * tokens * heads * _filled(width // heads)
        return Kept(FLOAT * rest, HALF * rest)
    scores = FLOAT * heads * tokens * _filled(tokens)
    return Kept(
        FLOAT * rest + (SCORES_SHARE + DROPPED_SHARE * dropped) * scores,
        HALF * rest + (HALF_SCORES_SHARE + HALF_DROPPED_SHARE * dropped) * scores,
    )


def _by_kernel(tokens: int, *, dropped: bool) -> bool:
    """Whether a TPU attends by the kernel."""
    return not dropped and tokens % LANES == 0


def _filled(size: int) -> int:
    return -(-size // LANES) * LANES


@dataclass(frozen=True)
class Memory:
    """Bytes of a training program, by what they hold."""

    weights: int
    optimizer: int
    activations: int
    data: int
    framework: int
    gradients: int = 0
    examples: int = 1  # whose activations they are
    tile: int = 1  # the examples of one device are filled up to a multiple of this
    spared: float = 0.0  # share of the activations that the compiler does without where it must
    widest: int | None = None
    seen_bytes: int = 0
    unseen: int = 0  # examples that evaluation goes through
    sharded: bool = False  # each device holds its share of weights and optimizer only
    scores: int = 0  # of a few tokens at a time, on each device
    again: float = 0.0  # of the activations of one example, what is not there beside scores
    more: int = 0  # of activations, where the state is shared out
    late: int = 0  # beside gradients, where the state is shared out
    gathered: int = 0  # of weights, and of gradients before they are reduced, whole on each device

    @property
    def state(self) -> int:
        return self.weights + self.optimizer

    def evaluation_on_device(self, devices: int) -> int:
        """Bytes of one device beside weights and optimizer while a check on unseen data is made."""
        if self.widest is None or not self.unseen:
            return 0  # as many examples as in training, and nothing kept for a backward pass: less than training
        batch = evaluating.batch_of(self.examples, self.widest, devices, self.unseen)
        return batch // devices * self.seen_bytes + self.scores

    def parts_on_device(self, devices: int, limit: int | None = None) -> dict[str, int]:
        """Bytes of one device in data-parallel training, by what they hold: everything but the batch is there on each.

        Gradients come as activations go, so the lesser of the two counts half. What is more than *limit* is what is
        left after the compiler has done without all that it can. Where evaluation takes more, that is what counts.
        """
        kept = self._training_on_device(devices, limit)
        evaluated = self.evaluation_on_device(devices)
        if evaluated > kept["gradients"] + kept["activations"]:
            kept |= {"gradients": 0, "activations": evaluated}
        return kept

    def _training_on_device(self, devices: int, limit: int | None) -> dict[str, int]:
        if self.sharded:
            return self._shared_out(devices, limit)
        gradients, activations = self.gradients, self.activations // max(1, devices)
        weights, optimizer = self.weights, self.optimizer
        if self.tile > 1:
            each = -(-self.examples // max(1, devices))
            activations = self.activations * (-(-each // self.tile) * self.tile) // self.examples
        activations += max(0, self.scores - int(self.again * self.examples) // max(1, devices))
        if gradients < activations:
            gradients //= 2
        else:
            activations //= 2
        state = weights + optimizer
        if limit is not None and state + gradients + activations > limit:
            gradients = int(self.gradients * GRADIENTS_LEFT)
            activations = int(activations * (1 - self.spared))
            activations += max(0, int(limit * MADE_TO_FIT) - state - gradients - activations)
        kept = {"weights": weights, "gradients": gradients, "optimizer": optimizer}
        return {**kept, "activations": activations}

    def _shared_out(self, devices: int, limit: int | None) -> dict[str, int]:
        """Where each device holds its share of the state, memory is at its fullest twice; read off the buffers that the
        TPU compiler has at once (tests/unit/planner/golden_memory.json holds it to them).

        When the forward pass has come to the loss: all that is kept for the backward pass (what products take in pieces
        XLA works out and keeps, where on one chip it would be worked out again inside them), the scores, and the table
        that makes them, gathered, with its gradient (of a model without such scores, all weights). When the backward
        pass has come to the first block: XLA hides the exchange of gradients behind work and puts gradients of weights
        off, so what these are made of is still there, for every block, beside the gradients that are reduced; also
        where memory ends, and then it refuses the program.
        """
        state = {"weights": self.weights // devices, "optimizer": self.optimizer // devices}
        kept = (self.activations + self.more - int(self.again * self.examples) * (self.scores > 0)) // devices
        forward = {**state, "gradients": 0, "activations": kept + self.scores + self.gathered}
        late = {**state, "gradients": self.gradients // devices, "activations": self.late // devices + self.gathered}
        if limit is not None:  # it works out again what is cheap, and puts gradients off even so
            more = sum(forward.values()) - int(limit * MADE_TO_FIT)
            forward["activations"] -= min(max(0, more), int(kept * self.spared))
        return max(forward, late, key=lambda parts: sum(parts.values()))

    def on_device(self, devices: int, limit: int | None = None) -> int:
        return sum(self.parts_on_device(devices, limit).values())

    @property
    def total(self) -> int:
        working = max(self.gradients + self.activations, self.evaluation_on_device(1))
        return self.state + working + self.data + self.framework


def memory(
    work: Work,
    *,
    batch: int,
    accumulate: int,
    optimizer: str,
    precision: str,
    data_bytes: int,
    framework: str,
    chip: bool = False,
    unseen: int = 0,
    scored_at_once: int = 0,
) -> Memory:
    """Memory of training: weights and gradients, the optimizer's moments, one part's activations, data, the framework.

    AdamW keeps two moments a weight, SGD with momentum one. bfloat16 halves the activations, and the weights that stay
    as they are (`models.causal`): those that learn, gradients and moments stay float32. On a TPU (*chip*) what XLA
    keeps is known better for our own models. Evaluation goes through *unseen* examples. *scored_at_once*: tokens of a
    chip; 0: all.
    """
    moments = 2 if optimizer == "adamw" else 1
    narrow = 2 if precision == "bfloat16" else 1
    frozen = work.wide * FLOAT + (work.frozen - work.wide) * FLOAT // narrow
    part = max(1, batch // accumulate)
    if chip and work.kept is not None:
        few = scored_at_once > 0 and work.unscored is not None
        kept = work.unscored if few and work.unscored is not None else work.kept
        return Memory(
            weights=work.params * FLOAT + frozen,
            gradients=work.params * FLOAT,
            optimizer=work.params * FLOAT * moments,
            activations=int(kept.of(precision) * part),
            data=data_bytes,
            framework=frameworks.by_id(framework).resident_bytes,
            examples=part,
            tile=LANES if work.convolutions else 1,  # there the examples lie along the last side
            spared=work.kept.spared[narrow - 1],
            widest=work.widest,
            seen_bytes=work.unscored_seen_bytes if few else work.seen_bytes,
            unseen=unseen,
            scores=int(scored_at_once * work.score_bytes.of(precision)) if few else 0,
            again=work.again.of(precision),
            more=int(work.more.of(precision) * part),
            late=int((work.late.of(precision) + (0.0 if few else work.late_scores.of(precision))) * part),
            gathered=_gathered(work, narrow, few=few),
        )
    return Memory(
        weights=work.params * 2 * FLOAT + frozen,
        optimizer=work.params * FLOAT * moments,
        activations=work.activation_bytes * part // narrow,
        data=data_bytes,
        framework=frameworks.by_id(framework).resident_bytes,
        examples=part,
        widest=work.widest,
        seen_bytes=work.seen_bytes,
        unseen=unseen,
        gathered=_gathered(work, narrow, few=False),
    )


def _gathered(work: Work, narrow: int, *, few: bool) -> int:
    if work.table is None:
        return work.params * FLOAT // narrow
    return work.table * (FLOAT + FLOAT // narrow) if few else 0
