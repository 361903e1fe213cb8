"""How a run will go on, from the steps it has really made: time left, money at the end, epochs that its cap allows.

Pure. There is none before `pace.ENOUGH_STEPS` steps were measured: until then the plan's estimate stands. Beside it
stands how the measured step compares with what the plan said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tpu_studio.domain.pace import Pace
from tpu_studio.domain.run import RunView
from tpu_studio.wire import places
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan, Range

Compared = Literal["slower", "as-planned", "faster"]
TO_EACH_SIDE = 1.2815515655446004  # standard deviations of a normal to each side that hold 80 %
_BELONG_TOGETHER = 4  # neighbouring reports that are slow together, so many count as one


@dataclass(frozen=True)
class Forecast:
    """Attributes:
    step_s: A measured step, and how far the steps to come may be from it.
    planned_step_s: What the plan said; None where it said nothing.
    left_s: Time that the remaining steps take, their checks and copies included; None when over or not known.
    usd: What the run will have cost; None where nothing is charged or not known.
    epochs: Times through the data, in all, that fit into the limits; None where there are no limits.
    cap: The limit that would end it first: money, hours, or "".
    capped: That limit is expected to come before the planned end.
    """

    steps: int
    step_s: Range
    planned_step_s: Range | None
    compared: Compared
    waiting_share: float
    device_share: float
    left_s: Range | None = None
    usd: Range | None = None
    epochs: Range | None = None
    cap: str = ""
    capped: bool = False

    @property
    def ratio(self) -> float:
        """How many times as long as expected a step takes; 1 without a plan's word."""
        planned = self.planned_step_s
        return self.step_s.expected / planned.expected if planned and planned.expected > 0 else 1.0


def forecast(plan: Plan, view: RunView) -> Forecast | None:
    """None while too few steps were measured."""
    pace = view.pace
    if not pace.known:
        return None
    step_s, planned = measured(pace, plan.place), planned_step_s(plan)
    left = cap = usd = epochs = None
    if not view.trained and view.steps_planned:
        steps, now = max(0, view.steps_planned - view.step), pace.recent
        left = measured(now, plan.place).scaled(steps * view.wall_per_step_time() * now.lasting_s / now.step_s)
        rate = view.usd_per_hour
        usd = Range(*(view.usd + one * rate / 3600 for one in (left.low, left.expected, left.high))) if rate else None
        cap = _cap(plan, view)
        if cap is not None and plan.steps_per_epoch > 0:
            one = left.scaled(plan.steps_per_epoch / steps) if steps else step_s.scaled(plan.steps_per_epoch)
            done = view.step / plan.steps_per_epoch
            epochs = Range(*(done + cap[1] / seconds for seconds in (one.high, one.expected, one.low)))
    return Forecast(
        pace.steps,
        step_s,
        planned,
        _compared(pace.step_s, planned),
        pace.waiting_share,
        pace.device_share,
        left,
        usd,
        epochs,
        cap[0] if cap else "",
        bool(cap and left and left.expected > cap[1]),
    )


def measured(pace: Pace, place: str) -> Range:
    """Seconds of a step: the median, and where eight of ten averages of the steps to come are expected."""
    alone = pace.spread / math.sqrt(max(1.0, len(pace.measured) / _BELONG_TOGETHER))
    half = TO_EACH_SIDE * math.hypot(places.by_id(place).drift, alone)
    return Range(math.exp(-half), 1.0, math.exp(half)).scaled(pace.step_s)


def planned_step_s(plan: Plan) -> Range | None:
    """Seconds of a step as the plan said, from its rate and its batch."""
    rate, batch = plan.examples_per_s, plan.job.training.global_batch
    if rate is None or not rate.low > 0:
        return None
    return Range(batch / rate.high, batch / rate.expected, batch / rate.low)


def _compared(step_s: float, planned: Range | None) -> Compared:
    if planned is None or planned.low <= step_s <= planned.high:
        return "as-planned"
    return "slower" if step_s > planned.high else "faster"


def _cap(plan: Plan, view: RunView) -> tuple[str, float] | None:
    """The limit that comes first, and the seconds of training that it leaves; None without limits."""
    left = []
    money, hours = plan.limits.money_usd, plan.limits.hours
    if money and view.usd_per_hour:
        left.append(("money", max(0.0, float(money) - view.usd_now(view.seen_t)) / view.usd_per_hour * 3600))
    if hours:
        left.append(("hours", max(0.0, float(hours) * 3600 - _charged_s(plan, view))))
    return min(left, key=lambda one: one[1]) if left else None


def _charged_s(plan: Plan, view: RunView) -> float:
    """Seconds that the time limit has counted: waiting for a machine or for one's turn is free."""
    free = (
        (Phase.PLANNED, Phase.QUEUED, Phase.PROVISIONING)
        if places.by_id(plan.place).rents
        else (
            Phase.PLANNED,
            Phase.QUEUED,
        )
    )
    return sum(span.seconds(view.seen_t) for phase, span in view.spans.items() if phase not in free)
