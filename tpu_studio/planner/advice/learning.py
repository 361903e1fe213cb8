"""Advice on learning itself: rate, gentle start, how long, how large, and data that comes too slowly."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner import rules
from tpu_studio.planner.advice.chip import rate_rule
from tpu_studio.planner.advice.situation import Advice, Situation
from tpu_studio.planner.auto import significant, two_figures
from tpu_studio.planner.checks import UNUSUAL_RATE
from tpu_studio.planner.modelwork import usual_params
from tpu_studio.wire import kinds
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.models import MODELS

RATE_OFF = 4.0  # times off the recommended rate, from which on it is told
CHECKS_WITHOUT_PROGRESS = 5
LONG_S = 1800.0  # shorter runs are over before stopping early pays
WAITING = 0.3  # share of the time that a step waits for data
LEAST_SIDE = 32  # pixels; pictures are not advised to be smaller than that


def learning_rate(s: Situation) -> Iterator[Advice]:
    """A rate that fits another batch. Far too high is a check of its own (learning-rate-high)."""
    if s.job.training.learning_rate == AUTO:
        return
    rate, recommended = float(s.value("training.learning_rate")), s.usual_rate
    if (
        s.resolved.rule.reads_tokens
        or not recommended > 0
        or 1 / RATE_OFF < rate / recommended < RATE_OFF
        or rate > UNUSUAL_RATE * recommended
    ):
        return
    power = 1.0 if s.value("training.optimizer") == "sgd" else 2.0
    fits = max(1, two_figures(s.resolved.batch * (rate / recommended) ** power))
    facts = {"recommended": recommended, "rate": rate, "batch": s.resolved.batch, "rule": rate_rule(s), "fits": fits}
    yield Advice("advice-learning-rate", {"training.learning_rate": recommended}, facts, promise=True)


def warm_up(s: Situation) -> Iterator[Advice]:
    if s.job.training.warmup == AUTO or float(s.value("training.warmup")) >= 0.01:
        return
    high = float(s.value("training.learning_rate")) > 2 * s.usual_rate
    if s.resolved.rule.reads_tokens or high or s.resolved.batch >= 1024:
        yield Advice("advice-warmup", {"training.warmup": "auto"}, promise=True)


def early_stopping(s: Situation) -> Iterator[Advice]:
    checks = s.resolved.steps // max(1, int(s.value("training.evaluate_every")))
    time = s.estimate.training_s
    if int(s.value("training.early_stopping")) or checks < 2 * CHECKS_WITHOUT_PROGRESS or time.expected < LONG_S:
        return
    if s.resolved.validation < 1 or _times(s) <= 1:  # nothing is seen twice: it cannot learn it by heart
        return
    share = assumed.EARLY_STOPPING_SAVES
    saved = [time.expected * getattr(share, name) for name in ("low", "expected", "high")]
    yield Advice(
        "advice-early-stopping",
        {"training.early_stopping": CHECKS_WITHOUT_PROGRESS},
        {"checks": CHECKS_WITHOUT_PROGRESS},
        time_s=type(time)(*saved),
    )


def times_through(s: Situation) -> Iterator[Advice]:
    """More often through the data than is usual for so much of it."""
    times, usual = _times(s), _usual_times(s)
    if times <= assumed.USUAL_TIMES_TOO_MANY * usual:
        return
    facts = {"times": significant(times), "usual": usual}
    if s.value("training.epochs") is not None:
        yield Advice("advice-epochs", {"training.epochs": usual}, facts, measure=True)
    else:
        steps = max(1, two_figures(usual * s.resolved.steps_per_epoch))
        yield Advice("advice-epochs", {"training.steps": steps}, facts, measure=True)


def smaller_model(s: Situation) -> Iterator[Advice]:
    """Fewer tokens than weights, even as often through the text as is useful."""
    if not s.resolved.rule.reads_tokens or s.resolved.rule.own:
        return
    tokens, most = s.facts.train, rules.GPT_TIMES_THROUGH
    if s.work.params <= tokens * most:
        return
    fitting = [(usual_params(model.name) or 0, model) for model in MODELS if model.family == s.resolved.family]
    smaller = [(params, model) for params, model in fitting if params < s.work.params / 2]
    good = [one for one in smaller if one[0] <= tokens * most] or smaller[:1]
    if good:
        best = max(good, key=lambda one: one[0])[1]
        fix = {"model.name": best.name, **s.taken_back("model.options", "data.sequence_length")}
        facts = {"title": best.title, "params": s.work.params, "tokens": tokens, "times": most}
        yield Advice("advice-smaller-model", fix, facts, measure=True)


def waiting_for_data(s: Situation) -> Iterator[Advice]:
    """Measured: the steps wait. Converting cannot be done by one press."""
    timing = s.timing
    if (
        timing is None
        or timing.waiting_share < WAITING
        or not kinds.by_id(s.facts.kind).has_picture_files
        or s.facts.converted
    ):
        return
    share = timing.waiting_share
    yield Advice(
        "advice-input", None, {"share": share}, time_s=s.estimate.training_s.scaled(share * 0.8), level="warning"
    )


def chip_waits(s: Situation) -> Iterator[Advice]:
    """Pictures read while training come more slowly than the chip works through them. Smaller, all lie in memory."""
    share = s.estimate.waiting
    if share < WAITING:
        return
    count, size = s.facts.train + s.facts.validation, int(s.value("data.image_size"))
    fitting = int(math.sqrt(assumed.IN_MEMORY_BYTES / (count * s.facts.channels))) // 16 * 16
    files = kinds.by_id(s.facts.kind).has_picture_files and not s.facts.converted
    facts = {"share": share, "size": size, "per_s": s.estimate.examples_per_s.expected, "files": files}
    if fitting < LEAST_SIDE or fitting >= size:
        yield Advice("advice-tpu-waits", None, facts, level="warning")
    else:
        fix, facts = {"data.image_size": fitting}, {**facts, "fitting": fitting}
        yield Advice("advice-tpu-waits", fix, facts, measure=True, promise=True, level="warning")


def _times(s: Situation) -> float:
    return s.resolved.steps / max(1.0, s.resolved.steps_per_epoch)


def _usual_times(s: Situation) -> int:
    if s.resolved.rule.reads_tokens:
        return rules.GPT_TIMES_THROUGH
    return next(times for up_to, times in s.resolved.rule.epochs if s.resolved.train <= up_to)


RULES = (learning_rate, warm_up, early_stopping, times_through, smaller_model, waiting_for_data, chip_waits)
