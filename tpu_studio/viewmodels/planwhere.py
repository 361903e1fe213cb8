"""Where a plan runs, as the Plan page offers it: places, TPU generations and sizes, kinds of loan, areas. Pure.

What cannot work stays in its list, disabled, with the reason (`domain.catalogue.possible`). Nothing here is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import Catalogue, catalogue
from tpu_studio.domain.catalogue import chips as chips
from tpu_studio.domain.catalogue import title_of as title_of
from tpu_studio.domain.generations import Generation, Slice, region_of
from tpu_studio.domain.offers import day_words
from tpu_studio.domain.renewed import catalogue_at
from tpu_studio.viewmodels import draft, planwords
from tpu_studio.wire import loans, places
from tpu_studio.wire.errors import BadInput, StudioError
from tpu_studio.wire.job import Job
from tpu_studio.wire.keys import AUTO
from tpu_studio.wire.plan import Plan

if TYPE_CHECKING:
    from tpu_studio.data.looked import Look
    from tpu_studio.planner.known import Known
    from tpu_studio.workflow.planning import Planning

PLACES = tuple((place.id, place.tab) for place in places.all_places() if not place.notebook)
PLACE_WORDS = dict(PLACES)
TIERS = tuple((loan.word, loan.title) for loan in loans.LOANS)
LENDERS = (("tpu-api", "Cloud TPU"), ("compute-engine", "Compute Engine"))
LENDER_WORDS = {
    "tpu-api": "Asked for through Google's Cloud TPU service: the usual way.",
    "compute-engine": "As a machine of Compute Engine. Google itself deletes it at the time limit: one shut-off more. "
    "Google recommends it; the Cloud TPU service gets bug and security fixes only.",
}
CHOICES = 3


@dataclass(frozen=True)
class Option:
    """One of a few things to pick. *why*: the reason when it cannot be picked, else a word more."""

    key: str
    words: str
    enabled: bool = True
    why: str = ""


@dataclass(frozen=True)
class SliceChoice:
    """A card: a TPU with what the run would take on it."""

    accelerator: str
    title: str
    text: str
    detail: str


@dataclass(frozen=True)
class WhereView:
    """What the Where section shows of a rented place; each list with the key that is chosen."""

    place: str
    generations: tuple[Option, ...] = ()
    generation: str = ""
    sizes: tuple[Option, ...] = ()
    size: str = ""
    tiers: tuple[Option, ...] = ()
    tier: str = field(default_factory=lambda: loans.usual().word)
    regions: tuple[Option, ...] = ()
    region: str = ""
    zones: tuple[Option, ...] = ()
    chosen_zones: tuple[str, ...] = ()
    lenders: tuple[Option, ...] = ()
    lender: str = ""
    price: str = ""
    price_why: str = ""
    offers_age: str = ""


def where_of(job: Job, plan: Plan | None, today: date, price_trouble: str = "") -> WhereView:
    """Of *job* and, once there is one, of its plan: "auto" shows as what it has become."""
    place = job.where.place
    if places.by_id(place).local:
        return WhereView(place)
    known, part = catalogue_at(place), _slice(job, plan)
    tier = job.where.tier
    framework = plan.framework if plan else job.training.framework
    framework = "" if framework == "auto" else framework
    zones = tuple(plan.job.where.zones if plan else job.where.zones)
    if part is None:
        return WhereView(place, _generations(known, framework, tier), tiers=_tiers(known, "", None), tier=tier)
    generation = known.generation(part.generation)
    region = region_of(zones[0]) if zones else ""
    return WhereView(
        place=place,
        generations=_generations(known, framework, tier),
        generation="" if job.where.accelerator == AUTO else generation.id,
        sizes=tuple(_size(known, one, framework, tier) for one in generation.slices),
        size=part.accelerator_type,
        tiers=_tiers(known, generation.id, part.chips),
        tier=tier,
        regions=_regions(known, generation, part, tier),
        region=region,
        zones=tuple(
            _zone(known, part, framework, tier, zone.zone) for zone in generation.zones if zone.region == region
        ),
        chosen_zones=zones,
        lenders=_lenders(known, part),
        lender=job.where.backend or "".join(known.lenders(part)[:1]),
        price=price_words(plan, part) if plan else "",
        price_why=price_age(plan, today, price_trouble) if plan else "",
        offers_age=offers_age(known, today),
    )


def _slice(job: Job, plan: Plan | None) -> Slice | None:
    name = plan.accelerator if plan and not places.by_id(plan.place).local else job.where.accelerator
    try:
        return catalogue().slice(name)
    except BadInput:
        return None


def _generations(known: Catalogue, framework: str, tier: str) -> tuple[Option, ...]:
    told = [Option("", "Recommended")]
    for one in known.offered():
        verdict = known.possible(one.id, framework, tier)
        told.append(Option(one.id, one.id, verdict.possible, verdict.why))
    why = "New to TPU Studio: its memory and speed are not known here, so it cannot be planned for."
    return (*told, *(Option(f"new:{name}", name, False, why) for name in known.strange))


def _size(known: Catalogue, part: Slice, framework: str, tier: str) -> Option:
    words = chips(part.chips) + (f", {part.vms} machines" if part.vms > 1 else "")
    zones = [zone for zone in known.generation(part.generation).zones if zone.lends(part.chips)]
    if not loans.by_id(tier).usual:
        zones = [zone for zone in zones if tier in zone.tiers]
    verdict = known.possible(part.generation, framework, tier, "", part.chips)
    why = verdict.why or ("" if zones else f"No zone lends {chips(part.chips)} of {part.generation} like that.")
    return Option(part.accelerator_type, words, verdict.possible and bool(zones), why)


def _tiers(known: Catalogue, generation: str, count: int | None) -> tuple[Option, ...]:
    told = []
    for key, words in TIERS:
        verdict = known.possible(generation, "", key, "", count) if generation else None
        told.append(Option(key, words, verdict is None or verdict.possible, verdict.why if verdict else ""))
    return tuple(told)


def _regions(known: Catalogue, generation: Generation, part: Slice, tier: str) -> tuple[Option, ...]:
    told: list[tuple[float, Option]] = []
    for region in dict.fromkeys(zone.region for zone in generation.zones):
        zones = [zone for zone in generation.zones if zone.region == region]
        fitting = [zone for zone in zones if zone.lends(part.chips)]
        offered = [zone for zone in fitting if loans.by_id(tier).usual or tier in zone.tiers]
        price = known.price(generation.id, part.chips, region, tier)
        words = f"{region} · {figures.money(price.usd_per_hour(part.chips))} an hour" if price else region
        why = "" if offered else f"Not lent like that in {region}."
        told.append((price.usd_per_chip_hour if price else 1e9, Option(region, words, bool(offered), why)))
    return tuple(option for _, option in sorted(told, key=lambda row: (not row[1].enabled, row[0], row[1].key)))


def _zone(known: Catalogue, part: Slice, framework: str, tier: str, zone: str) -> Option:
    verdict = known.possible(part.generation, framework, tier, zone, part.chips)
    return Option(zone, zone, verdict.possible, verdict.why)


def _lenders(known: Catalogue, part: Slice) -> tuple[Option, ...]:
    """Through which of Google's services *part* can be rented."""
    size, lent = f"{part.generation} with {chips(part.chips)}", known.lenders(part)
    why = {"tpu-api": f"Google's Cloud TPU service does not lend {part.generation}."}
    if not known.generation(part.generation).compute_image:
        why["compute-engine"] = f"Compute Engine does not lend {part.generation}."
    elif "compute-engine" not in lent:
        why["compute-engine"] = f"Compute Engine lends {part.generation} as one machine only, and {size} is several."
    return tuple(Option(key, words, key in lent, "" if key in lent else why[key]) for key, words in LENDERS)


def offers_age(known: Catalogue, today: date) -> str:
    """Whose list areas and sizes come from, and of which day."""
    asked = max((zone.as_of for one in known.offered() for zone in one.zones), default="")
    if asked:
        return f"Zones and sizes: from your account, {day_words(asked, today)}."
    return f"Zones and sizes: built in, {day_words(known.built_in)}."


def price_words(plan: Plan, part: Slice) -> str:
    """`$9.60 an hour: 8 chips at $1.20`, or that the price is unknown."""
    told = plan.price
    if told is None or not told.usd_per_hour:
        return "The price is not known, so no cost limit can hold. Choose another size, zone or tier."
    hourly = figures.money(told.usd_per_hour)
    would = "would be " if places.by_id(plan.place).rehearses else ""
    if told.from_job:
        return f"{would}{hourly} an hour, the price in the job".capitalize()
    each = told.usd_per_chip_hour
    parts = f": {chips(part.chips)} at {figures.money(each)} each" if each and part.chips > 1 else ""
    return f"{would}{hourly} an hour{parts}".capitalize() if would else f"{hourly} an hour{parts}"


def price_age(plan: Plan, today: date, trouble: str = "") -> str:
    """`From Google's price list, 21 Nov 2026, read today`, and *trouble*: why it is no newer."""
    told = plan.price
    if told is None or told.from_job or not told.as_of:
        return ""
    try:
        day = date.fromisoformat(told.as_of)
    except ValueError:
        return f"Price of {told.as_of}."
    days = max(0, (today - day).days)
    is_live = told.source == "live"
    recent = ("read today", "read yesterday") if is_live else ("today's", "1 day old")
    age = recent[days] if days < 2 else f"{days} days old"
    list_of = "the practice cloud's" if places.by_id(plan.place).rehearses else "Google's"
    live = f"{list_of} price list" if is_live else "the table that came with the program"
    why = f" {trouble}" if trouble and places.by_id(plan.place).charges else ""
    more = (
        "Taxes come on top; what else is charged is listed apart."
        if plan.extras
        else ("Taxes, storage and traffic come on top.")
    )
    return f"From {live}, {day.day} {day:%b %Y}, {age}.{why} {more}"


def moved(job: Job, place: str) -> Mapping[str, Any]:
    """What changes with the place: what belonged to a rented one goes, when the job comes back to this computer."""
    if places.by_id(place).local:
        gone = ("where.place", "where.accelerator", "where.tier", "where.zones", "where.backend")
        return dict.fromkeys(gone)
    return {"where.place": place, "where.usd_per_hour": None}


def generation_changes(job: Job, generation: str) -> Mapping[str, object]:
    """The smallest slice of *generation*; "" is the recommended TPU again. Areas and loan go where they cannot stay."""
    if not generation:
        return {"where.accelerator": None, "where.zones": None, "where.backend": None}
    known = catalogue_at(job.where.place)
    part = known.slices(generation)[0]
    tier = job.where.tier
    stays = known.possible(generation, "", tier, "", part.chips).possible
    kept = {} if stays else {"where.tier": None}
    return {**slice_changes(job, part.accelerator_type), **kept}


def slice_changes(job: Job, accelerator: str) -> Mapping[str, object]:
    """One size; the areas that lend it are chosen anew, and a lender that does not have it goes."""
    lent = catalogue().lenders(catalogue().slice(accelerator))
    kept = {} if job.where.backend in (None, *lent) else {"where.backend": None}
    return {"where.accelerator": accelerator, "where.zones": None, **kept}


def region_changes(view: WhereView, region: str) -> Mapping[str, object]:
    """All its areas that lend the slice."""
    known = catalogue_at(view.place)
    part = known.slice(view.size)
    zones = [
        zone.zone
        for zone in known.generation(part.generation).zones
        if zone.region == region and known.possible(part.generation, "", view.tier, zone.zone, part.chips).possible
    ]
    return {"where.zones": zones or None}


def zone_changes(view: WhereView, zone: str, on: bool) -> Mapping[str, object]:
    """One area more or less; without any, the recommended ones come back."""
    kept = [one.key for one in view.zones if (one.key in view.chosen_zones or (on and one.key == zone))]
    zones = [one for one in kept if on or one != zone]
    return {"where.zones": zones or None}


def choices(job: Job, planning: Planning, look: Look, now: float) -> tuple[SliceChoice, ...]:
    """A good first one, the fastest that is not far dearer, and the cheapest by the hour: a plan each, which rests on
    all that the plan rests on."""
    plan, known_of_it = planning.plan, planning.known
    bare = draft.edited(job, {"where.accelerator": None, "where.zones": None})
    first = _planned(bare, look, known_of_it, now)
    if first is None or not first.time_s:
        return ()
    found = {first.accelerator: first}
    framework, tier = plan.framework, job.where.tier
    known = catalogue_at(plan.place)
    for one in known.offered():
        for part in one.slices:
            if part.vms > 1 or part.accelerator_type in found or one.control_plane != "cloud-tpu":
                continue
            verdict = known.possible(one.id, framework, tier)
            if verdict.state != "documented" or not _size(known, part, framework, tier).enabled:
                continue
            made = _planned(
                draft.edited(job, {"where.accelerator": part.accelerator_type, "where.zones": None}),
                look,
                known_of_it,
                now,
            )
            if made is not None and not made.faults and made.fits and made.time_s and made.cost_usd:
                found[part.accelerator_type] = made
    told = [(first, "Good first choice")]
    others = [made for name, made in found.items() if name != first.accelerator]
    dearest = 3.0 * (first.cost_usd.expected if first.cost_usd else float("inf"))

    def add(rank: Callable[[Plan], tuple[float, float]], words: Callable[[Plan], str]) -> None:
        left = [made for made in others if all(made is not known for known, _ in told)]
        if left:
            best = min(left, key=rank)
            told.append((best, words(best)))

    add(lambda made: (_high(made.cost_usd) > dearest, made.time_s.expected if made.time_s else 0.0), _faster(first))
    add(lambda made: ((made.price.usd_per_hour if made.price else 0.0) or 1e9, 0.0), _next)
    return tuple(_choice(made, words) for made, words in told[:CHOICES])


def _high(cost: Any) -> float:
    return float(cost.expected) if cost else float("inf")


def _faster(first: Plan) -> Callable[[Plan], str]:
    def words(made: Plan) -> str:
        if places.by_id(made.place).rehearses:
            return "Another kind of chip"  # the machine is this computer whatever it is called
        assert first.time_s is not None and made.time_s is not None
        times = first.time_s.expected / max(made.time_s.expected, 1e-9)
        return f"{times:.0f} times as fast" if times >= 1.8 else "A little faster" if times > 1.1 else "Not much faster"

    return words


def _next(made: Plan) -> str:
    return f"{chips(catalogue().slice(made.accelerator).chips).capitalize()} together"


def _choice(made: Plan, words: str) -> SliceChoice:
    time = planwords.about_time(made.time_s) if made.time_s else ""
    cost = planwords.money_range(made.cost_usd) if made.cost_usd else ""
    return SliceChoice(made.accelerator, title_of(made.accelerator), words, " · ".join(p for p in (time, cost) if p))


def _planned(job: Job, look: Look, known: Known, now: float) -> Plan | None:
    from tpu_studio.planner.make import make_plan

    try:
        return make_plan(job, look, known, now=now, advise=False)
    except StudioError:
        return None
