"""The review of a rented run before it starts: what will be made, where, at what price, and how it surely ends. Pure.

It tells of the very plan that is launched, and of nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from tpu_studio.domain import figures
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.planner.places.rented import margin_boot_s
from tpu_studio.planner.report import besides, travels
from tpu_studio.planner.report.worst import WorstCase, worst_case
from tpu_studio.viewmodels import planwords
from tpu_studio.viewmodels.planwhere import chips, price_age, price_words, title_of
from tpu_studio.wire import loans, places
from tpu_studio.wire.extras import all_in_usd_per_hour
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.stops import OFFSETS_S

PRACTICE = "Practice: nothing here is real"
STOPS_AT = "Stops at"
WAIT_KEY = "limits.wait_hours"
COSTS = ("Would cost", "Cost")
SHORT_WAIT_H = 0.5  # so short that waiting adds nothing: the next of the hourly stops comes no sooner


@dataclass(frozen=True)
class Fact:
    label: str
    value: str
    more: str = ""


@dataclass(frozen=True)
class Net:
    """One of those that end the bill. *holds*: it will be there for this run."""

    title: str
    text: str
    holds: bool = True


@dataclass(frozen=True)
class Lower:
    """A way to a lower worst case: what it says, the key that does it, its button, and what that changes of the job.
    No button: words only, the person chooses how much."""

    words: str
    key: str
    button: str = ""
    changes: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True)
class Review:
    title: str
    sentence: str
    practice: bool
    facts: tuple[Fact, ...]
    nets: tuple[Net, ...]
    end: tuple[str, ...]
    charge: str
    warning: str
    verb: str
    blocked: bool = False
    worst: WorstCase | None = None
    """As large on screen as the cap."""
    lower: tuple[Lower, ...] = ()
    outlives: str = ""
    """The sign-in ends before the run may: what that means. "": it does not."""
    armed: str = ""
    """What will go wrong on the practice cloud, "" where nothing is armed."""
    besides: tuple[Fact, ...] = ()
    """Each thing that is charged besides the chips, what it costs at most and how that is worked out."""
    told: tuple[str, ...] = ()
    """What is true of them all: where machine and bucket are, what is in no figure."""

    @property
    def stops(self) -> Fact:
        """The cap: its figure stands beside the worst case's."""
        return next(fact for fact in self.facts if fact.label == STOPS_AT)

    @property
    def cap_figure(self) -> str:
        """The limit of money, else of time."""
        return self.stops.value.partition(",")[0]

    @property
    def cap_words(self) -> str:
        limit = self.stops.value.partition(", or ")[2]
        return f"or after {limit}, whichever comes first" if limit else "of time; no limit of money is set"

    @property
    def worst_figure(self) -> str:
        """`$6.03`, or `$28.80 a day` where nothing but a person ends it."""
        worst = self.worst
        if worst is None:
            return "–"
        if worst.endless:
            return f"{figures.money(worst.usd_per_day)} a day" if worst.usd_per_day else "without end"
        return figures.money(worst.usd) if worst.usd is not None else "not known"

    @property
    def worst_words(self) -> str:
        if self.worst is not None and self.worst.endless:
            return "until somebody deletes it, should the machine hang: there are no shut-off timers"
        hang = "if the machine hangs before training starts while this computer is off"
        return f"{self.worst.made_of}, {hang}" if self.worst is not None and self.worst.made_of else hang


@dataclass(frozen=True)
class Newer:
    """What the plan says by now, while an older review is open: that one is not launched any more."""

    title: str
    text: str
    button: str


def newer_than(shown: Plan, now: Plan | None, missing: str = "") -> Newer | None:
    """None: every figure of the review of *shown* still stands. *missing*: what keeps the plan of *now* from starting.

    Prices arrive, steps are timed and checks answer also while the review is open.
    """
    if now is None or missing:
        words = f"{missing or 'It cannot start any more'}. Nothing was rented."
        return Newer("The plan changed while you read", words, "Back to the plan")
    if now == shown:
        return None
    before, after = _figures(shown), _figures(now)
    changed = [
        f"{label}: {before.get(label) or 'none'} → {after.get(label) or 'none'}"
        for label in {**before, **after}
        if before.get(label) != after.get(label)
    ]
    if not changed:
        return None
    words = f"{'; '.join(changed)}. What you see below is older, and is not started."
    return Newer("The figures changed while you read", words, "Show the new figures")


def _figures(plan: Plan) -> dict[str, str]:
    """What a person agrees to, without the words around it and without a price's age."""
    review = review_of(plan, date.min)
    told = {fact.label: fact.value for fact in review.facts}
    time = "".join(fact.more for fact in review.facts if fact.label in COSTS)
    told |= {"Time": time, "Worst case": review.worst_figure}
    return told | {fact.label: fact.value for fact in review.besides}


def review_of(
    plan: Plan,
    today: date,
    price_trouble: str = "",
    missing: str = "",
    *,
    outlives: str = "",
    armed: str = "",
    account: tuple[str, str] = ("", ""),
) -> Review:
    """*missing*: what the account needs first, as a button says it; pressing it leads there, and nothing is rented.
    *outlives*, *armed*: as in `Review`. *account*: the project and the bucket that it goes to."""
    practice = places.by_id(plan.place).rehearses
    part = catalogue().slice(plan.accelerator)
    zones = list(plan.job.where.zones)
    tier = plan.job.where.tier
    facts = [
        Fact("TPU", title_of(plan.accelerator), _machines(part.vms, tier)),
        Fact(
            "Zones to try" if len(zones) > 1 else "Zone",
            ", then ".join(zones),
            "In this order, never two at once." if len(zones) > 1 else "",
        ),
        *_account(*account, practice),
        Fact("Price", price_words(plan, part), price_age(plan, today, price_trouble)),
    ]
    if plan.cost_usd and plan.price:
        time = planwords.time_range(plan.time_s) if plan.time_s else ""
        facts.append(Fact(COSTS[0] if practice else COSTS[1], planwords.money_range(plan.cost_usd), time))
    if besides.total(plan):
        held = besides.reserved(plan)
        more = f"Listed below; counted in the cap, {held} of it from the start." if held else "Counted in the cap."
        facts.append(Fact("Besides the chips", besides.total(plan).capitalize(), more))
    facts.append(_cap(plan))
    facts.append(_waits(plan))
    facts += [Fact(one.label, one.path, one.words) for one in travels.brought(plan)]
    return Review(
        title=f"Start {plan.job.name} on the practice cloud?"
        if practice
        else f"Rent {chips(part.chips)} and start {plan.job.name}?",
        sentence="What would be made, what it would cost, and how it would end, as on Google Cloud. Nothing is charged."
        if practice
        else "This is what will be made, what it costs, and how it ends.",
        practice=practice,
        facts=tuple(facts),
        nets=_nets(plan, tier),
        end=_end(plan, practice, tier),
        charge="Charging would begin when the TPU VM exists, not while you wait, and end when it is deleted."
        if practice
        else "Charging begins when the TPU VM exists, not while you wait, and ends when it is deleted.",
        warning="" if plan.price else "The price is not known: only the time limit ends it.",
        verb=missing or ("Start the rehearsal" if practice else f"Rent {chips(part.chips)} & train"),
        blocked=bool(missing),
        worst=worst_case(plan),
        lower=lower_of(plan),
        outlives="" if practice else outlives,
        armed=armed if practice else "",
        besides=tuple(Fact(one.title, one.cost.capitalize(), one.how) for one in besides.besides(plan)),
        told=(besides.places(plan), besides.OWN_CODE) if plan.extras else (),
    )


def _account(project: str, bucket: str, practice: bool) -> list[Fact]:
    """Whose bill it is on, and where the data goes."""
    if not project:
        return []
    kept = f"Data, saved copies and the result go to its bucket {bucket}." if bucket else ""
    pays = "It is of the practice cloud: nothing is charged." if practice else "Its billing account pays."
    return [Fact("Google Cloud project", project, f"{pays} {kept}".rstrip())]


def _waits(plan: Plan) -> Fact:
    away = plan.limits.wait_hours_away
    more = (
        f" Google ends such a request after {_hours(float(away))}. It is asked for again while this computer is on, or "
        f"back before the wait is over; with it off, the wait is {_hours(float(away))} at most."
        if away
        else ""
    )
    most = _hours(plan.limits.wait_hours)
    return Fact("Waits for a TPU", f"{most} at most", f"Waiting is free.{more}")


def _machines(vms: int, tier: str) -> str:
    return f"{vms} machines, {tier}" if vms > 1 else f"1 machine, {tier}"


def _cap(plan: Plan) -> Fact:
    money, hours = plan.limits.money_usd, (plan.limits.hours or 0.0)
    value = f"{figures.money(float(money))}, or {_hours(hours)}" if money is not None else _hours(hours)
    return Fact(STOPS_AT, value, _beyond(plan))


def longest_s(plan: Plan) -> float:
    """How long the run may last from now: waiting, its time limit, and what lies beyond in the worst case, seconds."""
    hours = plan.limits.wait_hours + (plan.limits.hours or 0.0)
    return hours * 3600.0 + plan.limits.margin_s


def lower_of(plan: Plan) -> tuple[Lower, ...]:
    """What lowers the worst case, with the figure it would be then."""
    worst = worst_case(plan)
    if worst is None or worst.usd is None or worst.cap_usd is None:
        return ()
    told = []
    wait, rate = plan.limits.wait_hours, all_in_usd_per_hour(plan.price, plan.extras) or 0.0
    platform = plan.limits.platform
    if not platform and wait > SHORT_WAIT_H:
        saved = plan.limits.margin_boot_s - margin_boot_s(SHORT_WAIT_H, platform=False)
        then = worst.usd - rate * saved / 3600.0
        if then <= worst.usd - 0.01:
            short = _hours(SHORT_WAIT_H)
            words = f"Wait {short} at most for a TPU, instead of {_hours(wait)}: {figures.money(then)} at worst."
            told.append(Lower(words, WAIT_KEY, f"Wait {short}", ((WAIT_KEY, SHORT_WAIT_H),)))
    if worst.hours_bind:
        words = f"A lower time limit lowers it by {figures.money(rate)} an hour"
        words += f"; so does a cost limit below {figures.money(worst.cap_usd)}."
        told.append(Lower(words, "limits.hours"))
    else:
        told.append(Lower("A lower cost limit lowers it by as much.", "limits.money_usd"))
    return tuple(told)


def _beyond(plan: Plan) -> str:
    """What a machine that hangs may cost beyond that, and what ends it then."""
    rate = all_in_usd_per_hour(plan.price, plan.extras) or 0.0

    def late(seconds: float) -> str:
        most = f", {figures.money(rate * seconds / 3600.0)} more at most" if rate else ""
        return f"up to {figures.duration(seconds)} later{most}"

    platform = plan.limits.platform
    if plan.limits.without_outside_stop:
        if not platform:
            return "If the machine hangs while this computer is off, nothing ends it."
        return f"If the machine hangs, Google's own limit ends it: {late(plan.limits.margin_boot_s)}."
    told = f"If the machine hangs, the shut-off timers delete it: {late(plan.limits.margin_s)}."
    if boot_s := plan.limits.margin_boot_s:
        ends = "Google's own limit ends it" if platform else "the timers run out later"
        told += f"\nIf it hangs before training starts while this computer is off, {ends}: {late(boot_s)}."
    return told


def _hours(hours: float) -> str:
    return planwords.hours(hours)


def _nets(plan: Plan, tier: str) -> tuple[Net, ...]:
    outside = "outside" in plan.limits.stops and not plan.limits.without_outside_stop
    if outside:
        words = (
            f"{len(OFFSETS_S)} deletion timers at Google (Cloud Tasks), verified before the TPU is requested. They "
            "fire at the deadline, 10 and 20 minutes later, then each hour for a day, as Google refuses a "
            "deletion while it is still creating the TPU. They delete it even if it hangs and this computer is off. "
            "They act as the service account tpu-studio-stopper or, until the Account page has created it, as that of "
            "the TPU VM."
        )
    else:
        words = "None: you chose to go without. A machine that hangs is charged until somebody deletes it."
    nets = [
        Net(
            "The TPU VM itself",
            "It counts the money and deletes itself at the cap, at the end, or when nobody can be reached. It first "
            "proves that it can.",
        ),
        Net("Independent shut-offs", words, outside),
        Net(
            "This computer",
            "While TPU Studio is open, and at each start: it checks the cloud and deletes what should not be there.",
        ),
        Net(
            "The sweep",
            "“Find billable resources” lists it, by its label, in every zone, whenever you ask.",
        ),
    ]
    if plan.limits.platform:
        nets.insert(2, Net("Google's own limit", "Google ends the machine at its longest running time."))
    return tuple(nets)


def _end(plan: Plan, practice: bool, tier: str) -> tuple[str, ...]:
    told = [
        "The model, its curves and the report are copied to this computer.",
        "The TPU VM is deleted and we verify it is gone; the receipt says when.",
    ]
    whose, costs = ("the practice", "would cost") if practice else ("your", "costs")
    told.append(
        f"The results stay in {whose} bucket for 30 days, then its own rule deletes them there; what that {costs} is "
        "counted above."
    )
    if loans.by_id(tier).spare:
        told.append(
            "If Google takes the machine back, the model is saved; the run goes on with the next one while this app "
            "is open, and waits at no cost while it is closed."
        )
    else:
        told.append("You may close the app or switch the computer off: it ends by itself.")
    return tuple(told)
