"""Advice on filling a chip: tiles of 8 × 128, number format, steps handed over at once, tokens that are never used."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner.advice.situation import Advice, Situation
from tpu_studio.planner.auto import power_of_two_below, significant
from tpu_studio.planner.rules import CALLS_AT_LEAST
from tpu_studio.wire.keys import AUTO

ROWS, COLUMNS = 8, 128  # registers are 8 × 128; arrays are padded to that (Cloud TPU performance guide)
WASTE = 1.3  # padded against real elements, from which on it is told
SHORT_STEP_S = 0.03
MOST_PER_CALL = 64


def bfloat16(s: Situation) -> Iterator[Advice]:
    if s.charged and s.value("training.precision") == "float32":
        yield Advice("advice-bfloat16", {"training.precision": "bfloat16"}, measure=True)


def batch(s: Situation) -> Iterator[Advice]:
    """To the next multiple of 8 for each device, with a learning rate that was given going along."""
    if not s.charged or s.job.training.global_batch == AUTO:
        return
    parts = s.plan.devices * int(s.value("training.accumulate"))
    share = s.resolved.batch // parts
    padded = math.ceil(share / ROWS) * ROWS
    target = padded * parts
    if s.resolved.batch % parts or share % ROWS == 0 or target > max(1, s.resolved.train // 4):
        return
    fix: dict[str, object] = {"training.global_batch": target}
    facts: dict[str, object] = {"batch": target, "share": share, "padded": padded}
    if s.job.training.learning_rate != AUTO:
        rate = float(s.value("training.learning_rate")) * _rate_factor(s, target / s.resolved.batch)
        fix["training.learning_rate"], facts["rule"] = significant(rate), rate_rule(s)
    yield Advice("advice-batch", fix, facts, measure=True, promise=padded / share >= WASTE)


def width(s: Situation) -> Iterator[Advice]:
    """Down to whole tiles where little is lost, up where the model gets more for the same time."""
    if not s.charged or "width" not in s.options or not s.resolved.rule.pads_width:
        return
    was, heads = int(s.options["width"]), int(s.options.get("heads", 1))
    padded = math.ceil(was / COLUMNS) * COLUMNS
    if padded / was < WASTE:
        return
    down = was // COLUMNS * COLUMNS
    target = down if down and was / down <= 1 + 1 / 3 else padded
    if target % heads == 0:
        facts = {"width": target, "was": was, "padded": padded}
        yield Advice("advice-pad-width", _option(s, width=target), facts, measure=target < was, promise=target > was)


def vocabulary(s: Situation) -> Iterator[Advice]:
    """Rows of the token table that the data never uses, at every place."""
    if not s.resolved.rule.reads_tokens or s.value("data.tokenizer") != "bytes":
        return
    was, needed = int(s.options["vocabulary"]), math.ceil(max(256, s.facts.answers) / COLUMNS) * COLUMNS
    if was / needed >= WASTE:
        yield Advice(
            "advice-vocabulary", _option(s, vocabulary=needed), {"vocabulary": needed, "was": was}, measure=True
        )


def steps_per_call(s: Situation) -> Iterator[Advice]:
    """Python stays out of short steps (the TF guide "Use TPUs" tells of about half as much again)."""
    if not s.charged or s.step_s > SHORT_STEP_S:
        return
    now = int(s.value("training.steps_per_call"))
    asked = (s.job.training.evaluate_every, s.job.training.checkpoint_every)
    rhythm = [every for every in asked if every != AUTO]
    most = min(MOST_PER_CALL, max(1, s.resolved.steps // CALLS_AT_LEAST))
    if rhythm:
        common = math.gcd(*rhythm)
        target = max(n for n in range(1, most + 1) if common % n == 0)
    else:
        target = power_of_two_below(most)
    if target >= 2 * now:
        calls = s.resolved.steps * (1 / now - 1 / target)
        time = assumed.CALL_S.scaled(calls)
        yield Advice("advice-steps-per-call", {"training.steps_per_call": target}, {"steps": target}, time_s=time)


def rate_rule(s: Situation) -> str:
    """Goyal et al. 2017 for SGD; for Adam Malladi et al. 2022."""
    return "linear rule for SGD" if s.value("training.optimizer") == "sgd" else "square-root rule for AdamW"


def _rate_factor(s: Situation, times: float) -> float:
    return times if s.value("training.optimizer") == "sgd" else math.sqrt(times)


def _option(s: Situation, **changed: object) -> dict[str, object]:
    return {"model.options": {**dict(s.job.model.options), **changed}}


RULES = (bfloat16, batch, width, vocabulary, steps_per_call)
