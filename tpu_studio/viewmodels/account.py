"""The Account page: who is signed in, what Google still needs, its repairs, the map of quota, and requests for more.

One side for Google Cloud and one for the practice cloud: the same page, two `AccountSide`s. Everything is asked away
from the window; what is known stays on screen while it is asked again.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tpu_studio.domain.observable import Observable
from tpu_studio.domain.sentences.account import FIXES, TITLES, say_account
from tpu_studio.viewmodels import draft
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire.errors import SignedOut
from tpu_studio.wire.job import Job
from tpu_studio.workflow.account.ports import (
    Allowance,
    BillingAccount,
    Choices,
    Doctor,
    ProjectSeen,
    QuotaRequest,
    Result,
)

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Handle, Tasks

OPTIONAL = ("alert", "test-loan")
FRESH_S = 60.0
GENERATIONS = {
    "v5e": "best for learning",
    "v6e": "fast",
    "v5p": "large models",
    "v4": "older, large models",
    "v2": "old",
}


class AccountLike(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def email(self) -> str: ...
    @property
    def client_id(self) -> str: ...


class Signing(Protocol):
    """``cloud.signin.accounts.Accounts``."""

    def all(self) -> Sequence[AccountLike]: ...
    def active(self) -> AccountLike | None: ...
    def offered(self) -> Any: ...
    def use(self, id: str) -> AccountLike: ...
    def sign_in(
        self, client: Any, open_browser: Callable[[str], bool], *, cancelled: Callable[[], bool], hint: str = ""
    ) -> AccountLike: ...
    def add_gcloud(self) -> AccountLike: ...
    def add_key(self, path: Path) -> AccountLike: ...
    def remove(self, id: str) -> bool: ...
    def client(self, client_id: str) -> Any: ...


class ChoicesLike(Protocol):
    def of(self, account: str) -> Choices: ...
    def keep(self, account: str, choices: Choices) -> None: ...


class AccountSide(Protocol):
    """One cloud with its accounts.

    Attributes:
        place: ``cloud`` or ``practice``.
        secrets_where: ``keyring``, ``file`` or ``session``: said on the page; asking may take a moment.
    """

    place: str
    signing: Signing
    choices: ChoicesLike

    def doctor(self) -> Doctor: ...
    def parse_client(self, text: str) -> Any:
        """The OAuth client in a file's text. Raises SignedOut ``client-unreadable``."""
        ...

    def own_client(self) -> Any:
        """The client that this side signs in with when none was given; None where the person must bring one."""
        ...

    def open_browser(self, url: str) -> bool: ...
    def secrets_where(self) -> str: ...


@dataclass(frozen=True)
class Row:
    """One line of the checklist. *button* is what its repair is called; *primary*: the page's one filled button."""

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


@dataclass(frozen=True)
class QuotaRow:
    allowance: Allowance

    @property
    def zone(self) -> str:
        return self.allowance.zone

    @property
    def tier(self) -> str:
        return "Spot" if self.allowance.tier == "spot" else "Standard"

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
    def share(self) -> float | None:
        """Used share, 0 to 1; None for "none allowed" and unknown."""
        one = self.allowance
        return None if not one.limit else min(1.0, (one.used or 0) / one.limit)


@dataclass(frozen=True)
class QuotaGroup:
    """A generation; *left* is the most that one area has left, in *unit*."""

    generation: str
    about: str
    rows: tuple[QuotaRow, ...]
    unit: str = "chips"

    @property
    def left(self) -> int:
        return max((row.allowance.left or 0 for row in self.rows), default=0)


@dataclass(frozen=True)
class Person:
    id: str
    email: str
    kind: str
    active: bool


@dataclass(frozen=True)
class AccountView:
    """*signing_in*: the browser is open; *address*: to open by hand. *quota_done*: areas read, areas in all."""

    place: str = "cloud"
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
    address: str = ""
    projects: tuple[ProjectSeen, ...] | None = None
    billing_accounts: tuple[BillingAccount, ...] | None = None
    request_text: str = ""
    undo: str = ""
    problem: Problem | None = None

    @property
    def signed_in(self) -> bool:
        return any(person.active for person in self.people)

    @property
    def who(self) -> str:
        return next((one.email or one.id for one in self.people if one.active), "")

    @property
    def needed(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.id not in OPTIONAL)

    @property
    def passed(self) -> int:
        return sum(row.state == "pass" for row in self.needed)

    @property
    def ready(self) -> bool:
        """Everything that a launch needs is there, as far as Google tells."""
        return bool(self.rows) and all(row.state == "pass" for row in self.needed)

    @property
    def heading(self) -> str:
        """How much is left, in words."""
        if not self.rows:
            return "Looking at your account" if self.checking else "Not looked at yet"
        if not self.signed_in:
            return "Sign in to begin"
        left = len(self.needed) - self.passed
        if left == 0:
            return "Everything is ready"
        unsure = all(row.state in ("pass", "unknown") for row in self.needed)
        if unsure:
            return "Ready, as far as Google tells"
        words = {1: "One thing is", 2: "Two things are", 3: "Three things are", 4: "Four things are"}
        return f"{words.get(left, f'{left} things are')} left before you can train"

    def row(self, id: str) -> Row | None:
        return next((row for row in self.rows if row.id == id), None)


class AccountViewModel:
    """Commands: `open`, `show`, `look`, `sign_in`, `cancel_sign_in`, `use_gcloud`, `use_key`, `use`, `sign_out`,
    `fix`, `undo`, `choose_project`, `search_projects`, `create_project`, `choose_region`, `write_request`,
    `ask_quota`, `dismiss`."""

    def __init__(self, tasks: Tasks, *, now: Callable[[], float] = time.time) -> None:
        self.state = Observable(AccountView())
        self._tasks, self._now = tasks, now
        self._sides: dict[str, AccountSide] = {}
        self._make: dict[str, Callable[[], AccountSide]] = {}
        self._asked = 0
        self._cancelled = False
        self._running: Handle | None = None
        self._results: dict[str, Result] = {}
        self._fixing = ""

    def connect(self, makers: dict[str, Callable[[], AccountSide]]) -> None:
        """What makes a side by its place; making one may start the practice cloud, so it is done when first shown.

        Nothing is asked of any cloud before `open`.
        """
        self._make = dict(makers)

    def open(self) -> None:
        """The page is shown: look, unless that was done a moment ago."""
        view = self.state.value
        if not view.connected:
            self.show(view.place)
        elif view.checked_at is None or self._now() - view.checked_at > FRESH_S:
            self.look()

    def show(self, place: str) -> None:
        """Turn to the other cloud."""
        self._asked += 1
        self._results = {}
        self.state.set(AccountView(place=place, connected=False))
        if place in self._sides:
            self._shown(place)
        elif place in self._make:

            def made(side: AccountSide) -> None:
                self._sides[place] = side
                if self.state.value.place == place:
                    self._shown(place)

            self._tasks.submit(self._make[place], done=made, failed=self._failed)

    def _shown(self, place: str) -> None:
        self._change(connected=True)
        self.look()

    # -------------------------------------------------------------------------------------------------------- looking

    def look(self, *, quota: bool = True) -> None:
        """Check everything again."""
        side = self.side
        if side is None or self.state.value.checking:
            return
        self._asked += 1
        asked = self._asked
        self._change(checking=True, problem=None)

        def work() -> tuple[tuple[Person, ...], bool, bool, str, Choices]:
            active = side.signing.active()
            people = tuple(
                Person(one.id, one.email, one.kind, active is not None and one.id == active.id)
                for one in side.signing.all()
            )
            choices = side.choices.of(active.id if active else "")
            needs_client = side.own_client() is None
            where = side.secrets_where() if any(one.kind == "oauth" for one in people) else ""
            return people, side.signing.offered() is not None, needs_client, where, choices

        def known(found: tuple[tuple[Person, ...], bool, bool, str, Choices]) -> None:
            if asked != self._asked:
                return
            people, offered, needs_client, where, choices = found
            self._change(
                people=people, offers_gcloud=offered, needs_client=needs_client, secrets_where=where, choices=choices
            )
            if not self.state.value.signed_in:
                self._results = {
                    id: Result(id, "waiting", {"after": "signed-in"}) for id in TITLES if id != "signed-in"
                }
                self._results = {"signed-in": Result("signed-in", "fail", {}, fix="sign-in"), **self._results}
                self._draw_rows(checking=False, checked_at=self._now())
                return
            self._check(side, asked, choices)
            if quota and choices.project:
                self._read_quota(side, asked, choices)

        self._tasks.submit(work, done=known, failed=lambda error: self._failed(error, asked))

    def _check(self, side: AccountSide, asked: int, choices: Choices, only: Sequence[str] = ()) -> None:
        def done(found: Sequence[Result]) -> None:
            if asked != self._asked:
                return
            self._results = {**self._results, **{one.id: one for one in found}}
            self._draw_rows(checking=False, checked_at=self._now())

        self._tasks.submit(
            lambda: side.doctor().check(choices, only=only), done=done, failed=lambda error: self._failed(error, asked)
        )

    def _read_quota(self, side: AccountSide, asked: int, choices: Choices) -> None:
        self._change(quota_reading=True, quota_done=(0, 0))

        def work() -> tuple[Sequence[Allowance], Sequence[QuotaRequest]]:
            doctor = side.doctor()
            return doctor.allowances(choices.project), doctor.quota_requests(choices.project)

        def done(found: tuple[Sequence[Allowance], Sequence[QuotaRequest]]) -> None:
            if asked == self._asked:
                self._change(quota=groups(found[0], choices.region), requests=tuple(found[1]), quota_reading=False)

        def failed(error: Exception) -> None:
            if asked == self._asked:
                self._change(quota_reading=False)  # the checklist says why

        self._tasks.submit(work, done=done, failed=failed)

    # --------------------------------------------------------------------------------------------------------- people

    def sign_in(self, client_text: str = "") -> None:
        """Open the browser. *client_text*: the OAuth client's JSON, where the person brings one."""
        side = self.side
        if side is None or self.state.value.signing_in:
            return
        self._cancelled = False
        self._change(signing_in=True, address="", problem=None)

        def browse(url: str) -> bool:
            return side.open_browser(url)

        def work() -> AccountLike:
            known = next((one for one in side.signing.all() if one.client_id), None)
            client = (
                side.parse_client(client_text)
                if client_text
                else side.own_client() or (side.signing.client(known.client_id) if known else None)
            )
            if client is None:
                raise SignedOut("client-unreadable")
            return side.signing.sign_in(
                client, browse, cancelled=lambda: self._cancelled, hint=known.email if known else ""
            )

        self._signed(work)

    def cancel_sign_in(self) -> None:
        self._cancelled = True

    def use_gcloud(self) -> None:
        if (side := self.side) is not None:
            self._signed(side.signing.add_gcloud)

    def use_key(self, path: Path) -> None:
        if (side := self.side) is not None:
            self._signed(lambda: side.signing.add_key(path))

    def use(self, id: str) -> None:
        if (side := self.side) is not None:
            self._signed(lambda: side.signing.use(id))

    def sign_out(self, id: str) -> None:
        """Forget the account and tell Google so. Runs that go on end at their limits."""
        side = self.side
        if side is None:
            return

        def done(revoked: bool) -> None:
            self._results = {}
            self._change(rows=(), quota=(), requests=(), checking=False)
            self.look()

        self._tasks.submit(lambda: side.signing.remove(id), done=done, failed=self._failed)

    def _signed(self, work: Callable[[], Any]) -> None:
        def done(_: Any) -> None:
            self._results = {}
            self._change(signing_in=False, address="", rows=(), quota=(), requests=(), checking=False)
            self.look()

        def failed(error: Exception) -> None:
            address = str(error.facts.get("url", "")) if isinstance(error, SignedOut) else ""
            quiet = isinstance(error, SignedOut) and error.id == "sign-in-cancelled"
            self._change(signing_in=False, address=address, problem=None if quiet else problem_of(error))

        self._tasks.submit(work, done=done, failed=failed)

    # -------------------------------------------------------------------------------------------------------- repairs

    def fix(self, id: str, **given: Any) -> None:
        """Do the repair of a row (`Row.fix`); the checks that hang on it are made again."""
        side, view = self.side, self.state.value
        if side is None or self._fixing:
            return
        self._fixing = id
        self._draw_rows(problem=None, undo="")

        def work() -> Choices:
            choices = side.doctor().fix(id, view.choices, **given)
            side.choices.keep(self._active_id(side), choices)
            return choices

        def done(choices: Choices) -> None:
            self._fixing = ""
            row = next((one for one in self.state.value.rows if one.fix == id), None)
            self._change(choices=choices, undo=id if row is not None and row.undo else "")
            self.look(quota=id in ("enable-services", "link-billing"))

        def failed(error: Exception) -> None:
            self._fixing = ""
            self._draw_rows(problem=problem_of(error))

        self._tasks.submit(work, done=done, failed=failed)

    def undo(self) -> None:
        """Take the last repair back."""
        side, view = self.side, self.state.value
        if side is None or not view.undo:
            return
        id = view.undo
        self._change(undo="")

        def work() -> Choices:
            choices = side.doctor().undo(id, view.choices)
            side.choices.keep(self._active_id(side), choices)
            return choices

        def done(choices: Choices) -> None:
            self._change(choices=choices)
            self.look(quota=False)

        self._tasks.submit(work, done=done, failed=self._failed)

    def choose_project(self, id: str) -> None:
        self._choose(replace(self.state.value.choices, project=id, bucket="", runner=""))

    def choose_region(self, region: str) -> None:
        """The area for TPU, bucket and outside stop; a bucket elsewhere stays, and a new one is made near the TPU."""
        self._choose(replace(self.state.value.choices, region=region, bucket=""))

    def set_monthly(self, usd: float) -> None:
        self._choose(replace(self.state.value.choices, monthly_usd=usd), look=False)

    def _choose(self, choices: Choices, *, look: bool = True) -> None:
        side = self.side
        if side is None:
            return

        def done(_: None) -> None:
            self._change(choices=choices, checking=False)
            if look:
                self.look()

        self._tasks.submit(lambda: side.choices.keep(self._active_id(side), choices), done=done, failed=self._failed)

    def search_projects(self, text: str = "") -> None:
        if (side := self.side) is not None:
            self._tasks.submit(
                lambda: tuple(side.doctor().projects(text)),
                done=lambda found: self._change(projects=found),
                failed=self._failed,
            )

    def list_billing_accounts(self) -> None:
        if (side := self.side) is not None:
            self._tasks.submit(
                lambda: tuple(side.doctor().billing_accounts()),
                done=lambda found: self._change(billing_accounts=found),
                failed=self._failed,
            )

    def create_project(self, name: str) -> None:
        """A new project, chosen at once. Its id is made of the name and a few random letters."""
        side = self.side
        if side is None:
            return
        self._tasks.submit(
            lambda: side.doctor().create_project(project_id(name), name),
            done=lambda project: self.choose_project(project.id),
            failed=self._failed,
        )

    def write_request(self) -> None:
        """The text to send to the project's owner."""
        side, view = self.side, self.state.value
        missing = self._results["permissions"].facts.get("missing", ()) if "permissions" in self._results else ()
        if side is not None:
            self._tasks.submit(
                lambda: side.doctor().request_text(view.choices, missing),
                done=lambda text: self._change(request_text=text),
                failed=self._failed,
            )

    def ask_quota(self, allowance: Allowance, wanted: int, why: str, email: str) -> None:
        """Ask Google for *wanted* in all; the request appears in the list."""
        side, view = self.side, self.state.value
        if side is None:
            return

        def work() -> Sequence[QuotaRequest]:
            doctor = side.doctor()
            doctor.ask_quota(view.choices.project, allowance, wanted, why, email)
            return doctor.quota_requests(view.choices.project)

        self._tasks.submit(work, done=lambda found: self._change(requests=tuple(found)), failed=self._failed)

    def dismiss(self) -> None:
        self._change(problem=None, request_text="", projects=None, billing_accounts=None)

    # -------------------------------------------------------------------------------------------------------- private

    @property
    def side(self) -> AccountSide | None:
        """What the shown place is asked through; None until it is there."""
        return self._sides.get(self.state.value.place)

    @property
    def busy(self) -> bool:
        """A repair or a sign-in is under way."""
        return bool(self._fixing) or self.state.value.signing_in

    @staticmethod
    def _active_id(side: AccountSide) -> str:
        active = side.signing.active()
        return active.id if active else ""

    def _draw_rows(self, **more: Any) -> None:
        self._change(rows=rows_of(self._results, self._fixing), **more)

    def _failed(self, error: Exception, asked: int | None = None) -> None:
        if asked is None or asked == self._asked:
            self._change(checking=False, problem=problem_of(error))

    def _change(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))


def rows_of(results: dict[str, Result], fixing: str = "") -> tuple[Row, ...]:
    """The checklist. The first row that blocks has the page's one filled button."""
    blocking = next((one.id for one in results.values() if one.state == "fail" and one.fix), "")
    rows = []
    for one in results.values():
        said = say_account(one.id, one.state, {**one.facts, "cost_usd": one.cost_usd})
        rows.append(
            Row(
                one.id,
                one.state,
                said.title,
                said.meaning,
                said.action,
                one.fix,
                FIXES.get(one.fix, "") if one.state in ("fail", "optional") else "",
                one.id == blocking,
                bool(fixing) and one.fix == fixing,
                one.undo,
                str(one.facts.get("raw", "")),
            )
        )
    return tuple(rows)


def groups(allowances: Sequence[Allowance], region: str = "") -> tuple[QuotaGroup, ...]:
    """By generation in the order of `GENERATIONS`; within one: what can be used first, then the person's own area."""
    found = []
    for generation, about in GENERATIONS.items():
        rows = [QuotaRow(one) for one in allowances if one.generation == generation]
        rows.sort(
            key=lambda row: (
                not row.allowance.left,
                not row.zone.startswith(region),
                row.zone.partition("-")[0] != region.partition("-")[0],
                row.zone,
                row.tier,
            )
        )
        if rows:
            found.append(QuotaGroup(generation, about, tuple(rows), rows[0].allowance.unit))
    return tuple(found)


def project_id(name: str) -> str:
    """A project id as Google takes it: 6 to 30 lower-case letters, digits and hyphens, unique in the world."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:22].strip("-")
    if not stem or not stem[0].isalpha():
        stem = f"tpu-{stem}".strip("-")
    return f"{stem}-{secrets.token_hex(3)}"


def test_loan(place: str) -> Job:
    """The job of "borrow a TPU for one minute": the built-in sample on the smallest slice."""
    return draft.edited(
        draft.empty(),
        {
            "name": "test-loan",
            "model.name": "small-cnn",
            "data.kind": "digits",
            "training.steps": 60,
            "where.place": place,
            "where.accelerator": "v5litepod-1",
            "limits.money_usd": 0.5,
        },
    )
