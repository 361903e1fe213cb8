"""Out of what the rules say: each fix tried out on the plan, what contradicts or promises too much left out, five kept.

A saving that a rule leaves to be measured is the difference between the plan and the plan with the fix, so that the
screen shows after the press what was promised before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tpu_studio.domain.sentences.advice import CHECKS
from tpu_studio.domain.sentences.sentence import tell
from tpu_studio.planner import assumptions as assumed
from tpu_studio.planner.advice import chip, learning, money
from tpu_studio.planner.advice.situation import Advice, Situation
from tpu_studio.wire import places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.plan import Check, Plan, Range
from tpu_studio.wire.schema import BY_PATH

MOST = 5
RULES = (*money.RULES, *learning.RULES, *chip.RULES)
LEAST_S, LEAST_USD, LEAST_SHARE = 30.0, 0.01, 0.02  # a saving below both, or below the share, is not worth a line

Trial = Callable[[Mapping[str, object] | None, bool], Plan]  # fix or none, with what was measured or without → its plan


def advise(s: Situation, trial: Trial) -> list[Check]:
    """Args:
    trial: Makes the plan with a fix applied. Raises StudioError where that is no job.
    """
    found = [advice for rule in RULES for advice in rule(s)]
    measured = [tried for advice in found if (tried := _tried(advice, s, trial))]
    measured.sort(key=_worth, reverse=True)
    kept: list[Advice] = []
    for advice in measured:
        if not any(_contradict(advice, other) for other in kept):
            kept.append(advice)
    return [_check(advice) for advice in kept[:MOST]]


def _tried(advice: Advice, s: Situation, trial: Trial) -> Advice | None:
    """The advice with its saving; None where the fix makes things worse, or too little better."""
    if advice.fix is None:
        return advice
    keeps = s.timing is None or all(BY_PATH[path].affects == "result" for path in advice.fix)  # the step stays as timed
    try:
        base = s.plan if keeps else trial(None, False)
        changed = trial(advice.fix, keeps)
    except StudioError:
        return None
    known = {check.id for check in s.plan.blocking}
    if any(check.id not in known for check in changed.blocking) or (s.plan.fits and not changed.fits):
        return None
    moves = "where.place" in advice.fix
    if advice.measure:
        advice = replace(
            advice,
            time_s=_saved(base.time_s, changed.time_s, s.plan.time_s),
            usd=_saved(base.cost_usd, changed.cost_usd, s.plan.cost_usd),
        )
    elif not moves:
        if advice.time_s and _dearer(base.time_s, changed.time_s):
            advice = replace(advice, time_s=None)
        if advice.time_s and not advice.usd and s.charged and s.plan.price:
            advice = replace(advice, usd=advice.time_s.scaled(s.plan.price.usd_per_hour / 3600))
        if advice.usd and _dearer(base.cost_usd, changed.cost_usd):
            advice = replace(advice, usd=None)
    if places.by_id(s.plan.place).rehearses or not s.plan.price:  # practice dollars are nobody's
        advice = replace(advice, usd=None)
    return advice if advice.promise or _worth_a_line(advice, s) else None


def _saved(now: Range | None, then: Range | None, shown: Range | None) -> Range | None:
    """The share that is saved, of what the plan shows."""
    if now is None or then is None or shown is None or then.expected >= now.expected:
        return None
    return shown.scaled(1 - then.expected / now.expected)


def _dearer(now: Range | None, then: Range | None) -> bool:
    return now is not None and then is not None and then.expected > now.expected


def _worth_a_line(advice: Advice, s: Situation) -> bool:
    for saved, shown, least in ((advice.time_s, s.plan.time_s, LEAST_S), (advice.usd, s.plan.cost_usd, LEAST_USD)):
        if saved and shown and saved.expected >= least and saved.expected >= LEAST_SHARE * shown.expected:
            return True
    return False


def _worth(advice: Advice) -> float:
    """Dollars and waiting in one figure."""
    hours = advice.time_s.expected / 3600 if advice.time_s else 0.0
    return (advice.usd.expected if advice.usd else 0.0) + hours * assumed.WAIT_USD_PER_HOUR


def _contradict(one: Advice, other: Advice) -> bool:
    """Two that set the same, two that change the model, or one that leaves the TPU which another tunes."""
    ids = {one.id, other.id}
    if "advice-train-here" in ids or "advice-rent" in ids:
        return not ids & ELSEWHERE
    return bool(_subjects(one) & _subjects(other))


ELSEWHERE = {
    "advice-epochs",
    "advice-warmup",
    "advice-learning-rate",
    "advice-early-stopping",
    "advice-smaller-model",
    "advice-no-spot",
}
_LENGTH = ("training.epochs", "training.steps", "training.early_stopping")


def _subjects(advice: Advice) -> set[str]:
    return {
        "model" if path.startswith("model.") else "length" if path in _LENGTH else path for path in advice.fix or {}
    }


def _check(advice: Advice) -> Check:
    facts = dict(advice.facts)
    for name, value in (("saves_s", advice.time_s), ("saves_usd", advice.usd)):
        if value:
            facts[name] = value.to_json()
    title = tell(CHECKS[advice.id], facts).title
    return Check(advice.id, advice.level, title, dict(advice.fix) if advice.fix else None, facts)
