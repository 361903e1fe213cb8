"""What the Run page says of a rented machine: waiting for it, what it costs, and how its deletion stands. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tpu_studio.domain import figures
from tpu_studio.domain.run import RunView
from tpu_studio.domain.sentences import Sentence, say
from tpu_studio.wire import loans, places
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.records import items, number

WAITING_SHOWN_AFTER_S = 10.0
NOT_CHECKED = "This computer has not checked it."
COPY = Sentence(
    "This is a copy of a run that somebody else rented",
    f"What stands here is what the copy says of itself. {NOT_CHECKED}",
    "You can look at it, try its model and save it.",
)
QUEUED = {
    "submitted": "Asking for a TPU",
    "uploading": "Sending job and data",
    "proving": "Trying whether it can be stopped",
    "waiting-for-capacity": "Waiting for a TPU",
    "waiting-for-a-computer": "Waiting for a TPU",
    "preempted": "Waiting for the next TPU",
}


@dataclass(frozen=True)
class Way:
    """A way out. *changes* to the job make a new plan; empty: keep waiting."""

    title: str
    text: str
    button: str
    changes: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True)
class Waiting:
    title: str
    text: str
    ways: tuple[Way, ...]


@dataclass(frozen=True)
class Removal:
    """How the deletion of what was rented stands. *lines*: a proof each."""

    kind: Literal["neutral", "bad", "ok"]
    title: str
    text: str
    lines: tuple[str, ...] = ()


def lender(place: str) -> str:
    """Who lends the machine, at the start of a sentence."""
    return "The practice cloud" if places.by_id(place).rehearses else "Google"


def is_rented(place: str) -> bool:
    return places.by_id(place).rents


def queued_words(view: RunView) -> str:
    return QUEUED.get(view.detail, "Asking for a TPU")


def upload_words(view: RunView) -> str:
    """`12 of 80 MB`, "" while nothing is sent."""
    done, total = view.uploaded
    if not total or view.detail != "uploading":
        return ""
    return f"{figures.size(done)} of {figures.size(total)}"


def fetch_words(view: RunView) -> str:
    """`1.2 of 3.4 GB`, "" while a machine fetches nothing that is told of."""
    done, total = view.fetched
    return f"{figures.size(done)} of {figures.size(total)}" if total and view.detail == "weights" else ""


def waiting_of(plan: Plan, view: RunView, now: float) -> Waiting | None:
    """Once it has waited for a while: how long, who was asked, what is possible besides waiting."""
    before = ("uploading", "proving", "submitted")
    if view.over or view.phase is not Phase.QUEUED or not view.waiting or view.detail in before:
        return None
    since = number(view.waiting.get("since"), now)
    lasted = max(0.0, now - since)
    if lasted < WAITING_SHOWN_AFTER_S:
        return None
    zones = [str(zone) for zone in items(view.waiting.get("zones"))]
    why = str(view.waiting.get("why") or "no-capacity")
    asked = f"asked {_and(zones)}" if zones else "asked"
    said = "nothing free" if why == "no-capacity" else say(StudioError(why)).title.lower()
    left = max(0.0, plan.limits.wait_hours * 3600.0 - lasted)
    more = f"{figures.duration(left)} more at most"
    supply = "This is about supply, not about your account. " if why == "no-capacity" else ""
    ways = [Way("Keep waiting", "It is asked again by itself. You need not stay.", "")]
    if loans.by_id(plan.job.where.tier).usual:
        ways.append(
            Way(
                "Try spot",
                "Spare capacity: cheaper, and another queue. Google may take the TPU back; the model is saved first if "
                "the notice (about 30 s) leaves time. Your place in this queue is lost once that run starts.",
                "Try spot",
                (("where.tier", loans.spare().word), ("where.zones", None)),
            )
        )
    ways.append(
        Way(
            "Use a free TPU in Colab",
            "You run a notebook of this plan in your browser. Free, as long as Google has one to lend. Your place in "
            "this queue is lost once the notebook is written.",
            "Use Colab",
            (
                ("where.place", places.lending().id),
                ("where.accelerator", None),
                ("where.tier", None),
                ("where.zones", None),
            ),
        )
    )
    ways.append(
        Way(
            "Train on this computer",
            "Free, and it starts at once. Your place in this queue is lost once it does.",
            "Train here",
            (("where.place", None), ("where.accelerator", None), ("where.tier", None), ("where.zones", None)),
        )
    )
    title = f"{figures.duration(lasted)}, {asked}, {said}"
    return Waiting(title, f"{supply}Nothing is charged while it waits, for {more}.", tuple(ways))


def copied(removal: Removal | None) -> Removal | None:
    """*removal* of a run that came here as a copy: what it says of itself, which nobody here has seen."""
    if removal is None:
        return None
    title = removal.title[0].lower() + removal.title[1:] if removal.kind != "bad" else removal.title
    text = f"{NOT_CHECKED} Whoever rented it sees at Google, or on the computer that did, whether anything is left."
    return Removal("neutral", f"It says: {title}", text, removal.lines)


def removal_of(plan: Plan, view: RunView, now: float) -> Removal | None:
    """After the end: going on, failing, or proved. While a run goes on: only a deletion that fails."""
    rate = view.usd_per_hour or (plan.price.usd_per_hour if plan.price else None)
    practice = places.by_id(plan.place).rehearses
    failing = _failing(view)
    if failing and view.unproved:
        hourly = f"{figures.money(float(rate))} an hour" if rate else "at a price that is not known"
        would = "would still be charged" if practice else "may still be charged"
        return Removal(
            "bad",
            f"{_and(view.unproved)} could not be deleted yet",
            f"It {would}: {hourly}. Deleting is tried again until it is verified to be gone, also after the app was "
            "closed.",
        )
    if view.end is None:
        return None
    proofs = _proofs(view, practice)
    if not view.settled or view.unproved:
        return Removal(
            "neutral",
            "The TPU is being given back",
            f"{lender(plan.place)} is asked until it answers that nothing is there; then its answer is shown here.",
            proofs,
        )
    usd = figures.money_between(*(view.usd_between or (view.usd, view.usd)))
    why = ": no record tells it exactly" if "–" in usd else ""
    cost = f"It would have cost {usd}{why}; nothing was charged." if practice else f"It cost {usd}{why}."
    if not proofs:
        return Removal("ok", "Nothing was rented", "No machine was made, and nothing was charged.")
    at = max(item.t for item in view.happened if item.kind == "deleted")
    where = "the practice cloud" if practice else "the cloud"
    title = f"Everything rented in {where} was removed and checked at {figures.clock(at)}"
    stays = f" The results stay in {'the practice' if practice else 'your'} bucket for 30 days."
    return Removal("ok", title, cost + stays, proofs)


def _failing(view: RunView) -> bool:
    last = [item.facts.get("id") for item in view.happened if item.kind == "notice"]
    about = [id for id in last if id in ("delete-failing", "delete-proved")]
    return bool(about) and about[-1] == "delete-failing"


def _proofs(view: RunView, practice: bool) -> tuple[str, ...]:
    told = []
    who = "the practice cloud" if practice else "Google"
    for item in view.happened:
        if item.kind != "deleted":
            continue
        name, zone = item.facts.get("name"), item.facts.get("zone")
        created = item.facts.get("created")
        there = f"there from {_clock(float(created))}, " if isinstance(created, (int, float)) else ""
        told.append(f"{name} in {zone}: {there}gone at {_clock(item.t)} ({who} answers: not found)")
    return tuple(told)


def _clock(t: float) -> str:
    return figures.clock(t, seconds=True)


def _and(names: tuple[str, ...] | list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "It"
