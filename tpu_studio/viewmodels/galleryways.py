"""What a card of the gallery comes to on the data at hand: its size, and time and price here, in Colab and on a TPU.

Planned as the Plan page would plan it, by `workflow.planning`, a plan for each place. Blocks: for `Tasks`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpu_studio.domain.catalogue import title_of
from tpu_studio.viewmodels import draft, planwords
from tpu_studio.viewmodels.planverdict import place_changes
from tpu_studio.viewmodels.problem import problem_of
from tpu_studio.wire import places, starters
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.places import Place

if TYPE_CHECKING:
    from tpu_studio.data.looked import Look
    from tpu_studio.viewmodels.gallerycards import Card
    from tpu_studio.wire.job import Job
    from tpu_studio.wire.plan import Plan
    from tpu_studio.workflow.planning import Planning, Sources

MEASURED = "From steps measured on this computer"
ESTIMATED = "Estimated, not timed yet"
GUESSED = "A rough guess: its work is not counted yet"
Planner = Callable[["Card", "Job", "Look"], "Outlook"]


@dataclass(frozen=True)
class Way:
    """One place: *time* and *cost* in words, or *why* it cannot be trained there."""

    place: str
    title: str
    time: str = ""
    cost: str = ""
    why: str = ""

    @property
    def words(self) -> str:
        return self.why or " · ".join(part for part in (self.time, self.cost) if part)


@dataclass(frozen=True)
class Outlook:
    """*size*: its weights on this data; "" where nobody has counted them. *basis*: what the times rest on, *told* in a
    sentence. *why*: there are no ways, because something must be chosen first."""

    ways: tuple[Way, ...] = ()
    size: str = ""
    basis: str = ""
    told: str = ""
    why: str = ""


def outlook_of(card: Card, job: Job, look: Look, sources: Sources, now: float) -> Outlook:
    """*card* planned for the data of *job* at each place that there is to choose between.

    Args:
        now: Seconds since 1970.
    """
    if card.picks and not (is_chosen(card, job) and job.model.folder):
        picked = "your file is chosen" if card.picks == "file" else "its folder is chosen"
        return Outlook(why=f"Time and price are told once {picked}.")
    size = basis = told = ""
    ways = []
    for place in (places.default(), places.lending(), places.charging()):
        try:
            planning = _planned(card, job, look, place, sources, now)
        except StudioError as error:
            ways.append(Way(place.id, place.tab, why=problem_of(error).title))
            continue
        if place.local:
            size, basis, told = _size(planning), _basis(planning), planning.parts.estimate.why
        ways.append(_way(planning.plan, place))
    return Outlook(tuple(ways), size, basis, told)


def is_chosen(card: Card, job: Job) -> bool:
    """Whether *job* has this model."""
    return bool(card.model) and job.model.name == card.model


def _planned(card: Card, job: Job, look: Look, place: Place, sources: Sources, now: float) -> Planning:
    from tpu_studio.workflow.planning import Draft, plan_job

    changes = {} if is_chosen(card, job) else card.changes
    moved = draft.edited(job, {**changes, **place_changes(job, place.id)})
    return plan_job(Draft(moved, look), sources, now, advise=False)


def _size(planning: Planning) -> str:
    work = planning.parts.sized.work
    return "" if work.is_guess else f"{planwords.weights(work.params + work.frozen)} weights"


def _basis(planning: Planning) -> str:
    if planning.parts.estimate.measured:
        return MEASURED
    return GUESSED if planning.parts.sized.work.is_guess else ESTIMATED


def _way(plan: Plan, place: Place) -> Way:
    title = f"TPU {title_of(plan.accelerator)}" if place.rents and plan.accelerator else place.tab
    wrong = next((check for check in plan.blocking if check.id not in starters.PROBLEMS), None)
    if wrong is not None:
        return Way(place.id, title, why=wrong.title)
    if not plan.fits:
        return Way(place.id, title, why="Does not fit into its memory")
    if not plan.time_s:
        return Way(place.id, title, why="Not known")
    cost = "free" if place.free else planwords.money_range(plan.cost_usd) if plan.cost_usd else "price not known"
    return Way(place.id, title, planwords.time_range(plan.time_s), cost)
