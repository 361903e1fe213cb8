"""A model that cannot run: what is wrong comes first, and nothing is said of what it would cost or save.

Used where a plan is made and where `check`'s findings are laid over it.
"""

from __future__ import annotations

from dataclasses import replace

from tpu_studio.domain.sentences import advice as words
from tpu_studio.wire.plan import Check, Plan
from tpu_studio.wire.planparts import PlanVerdict

_ABOUT_THE_MODEL = ("model-", "op-")
_ONLY_WAITS = ("model-file-consent", "model-no-consent")  # for a yes: nothing is known to be wrong


def broken(plan: Plan) -> Check | None:
    """What keeps the plan's model from running anywhere; None: nothing that is known."""
    return next(
        (one for one in plan.blocking if one.id.startswith(_ABOUT_THE_MODEL) and one.id not in _ONLY_WAITS), None
    )


def without_money(plan: Plan) -> Plan:
    """*plan* without advice, alternatives and cost where its model is broken; else as it is."""
    wrong = broken(plan)
    if wrong is None:
        return plan
    checks = tuple(one for one in plan.checks if not one.id.startswith("advice-"))
    verdict = PlanVerdict(False, None, words.cannot_start(wrong.title))
    return replace(plan, checks=checks, verdict=verdict, alternatives=(), cost_usd=None)
