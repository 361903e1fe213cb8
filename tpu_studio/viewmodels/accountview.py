"""What the Account page shows: the checklist's rows, the map of quota by generation, who is signed in. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tpu_studio.domain.catalogue import catalogue
from tpu_studio.domain.generations import SERVING, TRAINING
from tpu_studio.domain.quota import sizes
from tpu_studio.domain.sentences.account import FIXES, say_account
from tpu_studio.viewmodels.problem import Problem
from tpu_studio.wire import loans, places
from tpu_studio.workflow.account.ports import (
    Allowance,
    BillingAccount,
    Choices,
    ProjectSeen,
    QuotaRequest,
    Result,
)

OPTIONAL = ("alert", "test-loan")
GOOGLES = tuple(f"https://{one}.google.com/" for one in ("console.cloud", "console.developers", "myaccount"))
"""Pages that a row may lead to; no other address is opened from what an answer says."""


@dataclass(frozen=True)
class Row:
    """One line of the checklist. *button* is what its repair is called; *primary*: the page's one filled button.
    *page*: an address of Google's where it is put right by hand; *recent*: what it needs was switched on just now."""

    id: str
    state: str
    title: str
    text: str
    action: str = ""
    fix: str = ""
    button: str = ""
    primary: bool = False
    busy: bool = False
    undo: bool = False
    details: str = ""
    page: str = ""
    recent: bool = False


@dataclass(frozen=True)
class QuotaRow:
    allowance: Allowance

    @property
    def zone(self) -> str:
        return self.allowance.zone

    @property
    def tier(self) -> str:
        return loans.title(self.allowance.tier)

    @property
    def words(self) -> str:
        """`8 of 16 in use`, or what zero and unknown mean."""
        one = self.allowance
        if one.limit is None:
            return "not known"
        if one.limit == 0:
            return "none allowed" if one.limited_by == "zone" else "none allowed in the region"
        return f"{one.used if one.used is not None else '?'} of {one.limit} in use"

    @property
    def least(self) -> int:
        """What is asked for to begin with: the smallest TPU that draws this limit, or 8."""
        return 16 if self.allowance.use == TRAINING else 8

    @property
    def share(self) -> float | None:
        """Used share, 0 to 1; None for "none allowed" and unknown."""
        one = self.allowance
        return None if not one.limit else min(1.0, (one.used or 0) / one.limit)


@dataclass(frozen=True)
class QuotaGroup:
    """A generation, of v5e one of its two limits; *left* is the most that one zone has left, in *unit*.

    *sizes*: the TPUs that the limit is for, where it isn't for all: `1, 4 or 8 chips`.
    """

    generation: str
    about: str
    rows: tuple[QuotaRow, ...]
    unit: str = "chips"
    sizes: str = ""

    @property
    def name(self) -> str:
        return f"{self.generation} · {self.sizes}" if self.sizes else self.generation

    @property
    def least(self) -> int:
        """What is asked for to begin with."""
        return self.rows[0].least

    @property
    def left(self) -> int:
        return max((row.allowance.left or 0 for row in self.rows), default=0)


ANSWERED = "Google decides by itself: some requests within minutes, others after days, and it may say no."


def quota_words(row: QuotaRow) -> str:
    """What is asked for by a request for more, and what becomes of it."""
    one = row.allowance
    where = next(iter(one.dimensions.values()), row.zone)
    called = {
        SERVING: " Google calls this limit “serving”; a program that trains may use it.",
        TRAINING: " Google calls this limit “training”.",
    }.get(one.use, "")
    what = f", for TPUs of {one.sizes}" if one.sizes else ""
    return (
        f"In {where}, {row.tier.lower()}{what}.{called} Asking is free. {ANSWERED} An account in its free trial is "
        "granted no more until it is upgraded to a paid one; some TPUs are offered only to projects that Google has "
        "approved."
    )


def request_words(one: QuotaRequest) -> str:
    """What was asked for, in Google's unit: `16 v5e chips, spot, in us-west4-a`; of these `8 of 16 …` where so many
    were granted."""
    many = f"{one.wanted:,}" if one.state != "partly" else f"{one.granted:,} of {one.wanted:,}"
    what = f"{one.generation} {one.unit}" if one.generation else one.quota_id
    if one.use:
        what += f" for TPUs of {sizes(one.generation, one.use)}"
    kind = ", spot," if loans.by_id(one.tier).spare else ""
    return f"{many} {what}{kind} in {' and '.join(one.dimensions.values()) or 'every zone'}"


@dataclass(frozen=True)
class Person:
    id: str
    email: str
    kind: str
    active: bool
    since: float = 0.0
    until: float = 0.0


@dataclass(frozen=True)
class AccountView:
    """*doing*: what the repair under way waits for. *signing_in*: the browser is open; *address*: to open by hand;
    *asks_way*: the guide is asked for. *quota_done*: zones read, zones in all. *bare*: the practice cloud is that of a
    new person, who has set up nothing there."""

    place: str = field(default_factory=lambda: places.charging().id)
    connected: bool = False
    people: tuple[Person, ...] = ()
    offers_gcloud: bool = False
    needs_client: bool = True
    secrets_where: str = ""
    choices: Choices = field(default_factory=Choices)
    rows: tuple[Row, ...] = ()
    checking: bool = False
    checked_at: float | None = None
    quota: tuple[QuotaGroup, ...] = ()
    quota_reading: bool = False
    quota_done: tuple[int, int] = (0, 0)
    requests: tuple[QuotaRequest, ...] = ()
    signing_in: bool = False
    asks_way: bool = False
    address: str = ""
    projects: tuple[ProjectSeen, ...] | None = None
    billing_accounts: tuple[BillingAccount, ...] | None = None
    request_text: str = ""
    undo: str = ""
    doing: str = ""
    problem: Problem | None = None
    bare: bool = False

    @property
    def signed_in(self) -> bool:
        return any(person.active for person in self.people)

    @property
    def welcomes(self) -> bool:
        """Nobody is signed in, and that has been looked at: the page leads to the one thing to do."""
        return bool(self.rows) and not self.signed_in

    @property
    def who(self) -> str:
        return next((one.email or one.id for one in self.people if one.active), "")

    @property
    def needed(self) -> tuple[Row, ...]:
        """As many from the first look to the last: what turns out not to be needed counts as done."""
        return tuple(row for row in self.rows if row.id not in OPTIONAL)

    @property
    def passed(self) -> int:
        return sum(row.state in ("pass", "optional") for row in self.needed)

    @property
    def ready(self) -> bool:
        """Everything that a launch needs is there, as far as Google tells."""
        return bool(self.rows) and all(row.state in ("pass", "optional") for row in self.needed)

    @property
    def heading(self) -> str:
        """How much is left, in words."""
        if not self.rows:
            return "Checking your account" if self.checking else "Not checked yet"
        if not self.signed_in:
            return "Sign in to begin"
        left = len(self.needed) - self.passed
        if left == 0:
            return "Everything is ready"
        unsure = all(row.state in ("pass", "optional", "unknown") for row in self.needed)
        if unsure and not any(row.recent or row.fix for row in self.needed if row.state == "unknown"):
            return "Ready, as far as Google tells"
        words = {1: "One thing is", 2: "Two things are", 3: "Three things are", 4: "Four things are"}
        return f"{words.get(left, f'{left} things are')} left before you can train"

    @property
    def row_to_press(self) -> Row | None:
        """The one with the page's filled button."""
        return next((row for row in self.rows if row.primary and row.button and not row.busy), None)

    @property
    def next_press(self) -> str:
        """What to press now, in words; "" while nobody knows."""
        if not self.rows:
            return ""
        if self.doing or any(row.busy for row in self.rows):
            return "Working; nothing to press."
        if (row := self.row_to_press) is not None:
            return f"Next: {row.button}."
        if any(row.recent for row in self.rows):
            return "Nothing to press: Google needs a few minutes, and this checks again by itself."
        return f"Next: {self.plan_words}." if self.ready else "Next: Check again."

    @property
    def plan_words(self) -> str:
        """The button that leads on from an account that is ready."""
        return f"Plan a run on {'the practice cloud' if places.by_id(self.place).rehearses else 'Google Cloud'}"

    @property
    def leads_on(self) -> bool:
        """Nothing that a launch needs is known to be missing, and nothing is under way."""
        sure = all(row.state in ("pass", "optional", "unknown") and not row.recent for row in self.needed)
        return self.signed_in and bool(self.rows) and sure and self.row_to_press is None and not self.doing

    def row(self, id: str) -> Row | None:
        return next((row for row in self.rows if row.id == id), None)


@dataclass(frozen=True)
class WelcomeWords:
    """What the page says before anybody has signed in. *second*: "" offers nothing else. *facts*: three, title and text
    each."""

    title: str
    text: str
    button: str
    second: str
    facts: tuple[tuple[str, str], tuple[str, str], tuple[str, str]]


def welcome_of(place: str, bare: bool = False) -> WelcomeWords:
    """*bare*: nothing is set up in a new person's practice account, so no practice run can start."""
    if places.by_id(place).rehearses:
        runs = "Practice runs start without any of it."
        if bare:
            runs = "This account is a new one: practice runs start once it is set up."
        return WelcomeWords(
            "Rehearse the way to a Google Cloud account",
            "Sign in at the practice cloud and go through every step that Google will ask for. Nothing leaves this "
            "computer.",
            "Sign in to practise…",
            "" if bare else "Plan a practice run",
            (
                ("What it is for", f"To know the steps before they are real. {runs}"),
                ("What it costs", "Nothing. There is no account, no card and no bill."),
                ("What comes then", "A project, billing, APIs, a bucket, quota: each by one press, as at Google."),
            ),
        )
    return WelcomeWords(
        "Sign in to rent TPUs on Google Cloud",
        "You are led step by step, also if you have no Google Cloud account yet.",
        "Sign in…",
        "Rehearse it first",
        (
            ("What it is for", "TPU Studio rents, watches and deletes TPUs in your name. It never sees your password."),
            (
                "What it costs",
                "Nothing. You pay Google for a TPU only while a run has one: its price and its cap are shown before.",
            ),
            (
                "What comes then",
                "A list of checks, most of them repaired by one press: about ten minutes. Google may take days to "
                "grant TPU quota.",
            ),
        ),
    )


TERMS: Mapping[str, str] = {
    "signed-in": "sign-in",
    "project": "project",
    "services": "api",
    "billing": "billing-account",
    "permissions": "iam",
    "org-policy": "organisation-policy",
    "network": "vpc-network",
    "bucket": "bucket",
    "runner": "service-account",
    "outside-stop": "shut-off-timers",
    "quota": "quota",
    "alert": "budget-alert",
    "test-loan": "capacity",
}
"""The glossary's term of each row of the checklist: what F1 explains there."""


def rows_of(results: dict[str, Result], fixing: str = "", doing: str = "", practice: bool = False) -> tuple[Row, ...]:
    """The checklist. The first row that can be put right here has the page's one filled button."""
    broken = [one for one in results.values() if one.state in ("fail", "unknown") and one.fix]
    blocking = broken[0].id if broken else ""
    busy = next((one.id for one in results.values() if fixing and one.fix == fixing), "")
    return tuple(_row(one, one.id == blocking, one.id == busy, doing, practice) for one in results.values())


def _row(one: Result, primary: bool, busy: bool, doing: str, practice: bool) -> Row:
    said = say_account(one.id, one.state, {**one.facts, "cost_usd": one.cost_usd, "rehearsed": practice})
    page = str(one.facts.get("page", ""))
    return Row(
        one.id,
        one.state,
        said.title,
        doing if busy and doing else said.meaning,
        said.action,
        one.fix,
        FIXES.get(one.fix, "") if one.state in ("fail", "optional", "unknown") else "",
        primary,
        busy,
        one.undo,
        str(one.facts.get("raw", "")),
        page if one.state in ("fail", "unknown") and page.startswith(GOOGLES) else "",
        bool(one.facts.get("recent")),
    )


def groups(allowances: Sequence[Allowance], region: str = "") -> tuple[QuotaGroup, ...]:
    """Generations that are looked at first lead; within one: what can be used first, then the person's own region."""
    found = []
    kinds = list(dict.fromkeys((one.generation, one.use) for one in allowances))
    known = [one for id in dict.fromkeys(id for id, _ in kinds) if (one := catalogue().find(id)) is not None]
    for generation, about in ((one.id, one.in_short) for one in sorted(known, key=lambda one: one.rank)):
        for use in sorted(use for id, use in kinds if id == generation):  # serving before training
            rows = [QuotaRow(one) for one in allowances if (one.generation, one.use) == (generation, use)]
            rows.sort(
                key=lambda row: (
                    not row.allowance.left,
                    not row.zone.startswith(region),
                    row.zone.partition("-")[0] != region.partition("-")[0],
                    row.zone,
                    row.tier,
                )
            )
            what = "several machines together" if use == TRAINING else about
            first = rows[0].allowance
            found.append(QuotaGroup(generation, what, tuple(rows), first.unit, first.sizes))
    return tuple(found)
