"""The Account page: who is signed in, what Google still needs, its repairs, the map of quota, and requests for more.

One side for Google Cloud and one for the practice cloud: the same page, two `AccountSide`s. Everything is asked away
from the window; what is known stays on screen while it is asked again. What is shown is ``viewmodels.accountview``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tpu_studio.domain.observable import Observable
from tpu_studio.domain.sentences.account import TITLES
from tpu_studio.viewmodels import draft
from tpu_studio.viewmodels.accountpeople import People
from tpu_studio.viewmodels.accountside import AccountSide
from tpu_studio.viewmodels.accountview import AccountView, Person, groups, rows_of
from tpu_studio.viewmodels.problem import problem_of
from tpu_studio.wire import kinds, places
from tpu_studio.wire.errors import CloudRefused, StudioError
from tpu_studio.wire.job import Job
from tpu_studio.wire.records import items
from tpu_studio.workflow.account.naming import project_id
from tpu_studio.workflow.account.ports import Allowance, Choices, QuotaRequest, Result

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Handle, Tasks

FRESH_S = 60.0
SETTLING_S = 600.0
"""How long Google may need until a service that was switched on works."""
_TRIES = 3


class AccountViewModel(People):
    """Commands: `open`, `show`, `look`, `sign_in`, `cancel_sign_in`, `use_gcloud`, `use_key`, `use`, `sign_out`,
    `fix`, `hear`, `stop_waiting`, `undo`, `choose_project`, `search_projects`, `create_project`,
    `add_alert`, `write_request`, `ask_quota`, `dismiss`."""

    def __init__(self, tasks: Tasks, *, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.state = Observable(AccountView())
        self._tasks, self._now = tasks, now
        self._sides: dict[str, AccountSide] = {}
        self._make: dict[str, Callable[[], AccountSide]] = {}
        self._asked = 0
        self._running: Handle | None = None
        self._results: dict[str, Result] = {}
        self._fixing = ""
        self._said, self._stop = "", False  # by the work that is under way; to it
        self._settling_since: float | None = None
        self.practice_is_bare: Callable[[], bool] = lambda: False  # a new person's, in which nothing is set up

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
                self._sides.setdefault(place, side)  # shown twice before the first was there: one side
                if self.state.value.place == place:
                    self._shown(place)

            self._tasks.submit(self._make[place], done=made, failed=self._failed)

    def _shown(self, place: str) -> None:
        self._change(connected=True)
        self.look()
        if self._again:
            self._renew()

    # -------------------------------------------------------------------------------------------------------- looking

    def look(self, *, quota: bool = True) -> None:
        """Check everything again."""
        side = self.side
        if side is None or self.state.value.checking:
            return
        self._asked += 1
        asked = self._asked
        self._change(checking=True, problem=None)

        place = self.state.value.place

        def work() -> tuple[tuple[Person, ...], bool, bool, str, Choices, bool]:
            active = side.signing.active()
            people = tuple(
                Person(one.id, one.email, one.kind, active is not None and one.id == active.id, one.since, one.until)
                for one in side.signing.all()
            )
            choices = side.choices.of(active.id if active else "")
            needs_client = side.own_client() is None
            where = side.secrets_where() if any(one.kind == "oauth" for one in people) else ""
            bare = places.by_id(place).rehearses and self.practice_is_bare()
            return people, side.signing.offered() is not None, needs_client, where, choices, bare

        def known(found: tuple[tuple[Person, ...], bool, bool, str, Choices, bool]) -> None:
            if asked != self._asked:
                return
            people, offered, needs_client, where, choices, bare = found
            self._change(
                people=people,
                offers_gcloud=offered,
                needs_client=needs_client,
                secrets_where=where,
                choices=choices,
                bare=bare,
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
            settling = any(one.facts.get("recent") for one in self._results.values())
            if not settling or self._settling_since is None:
                self._settling_since = self._now() if settling else None
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

    # -------------------------------------------------------------------------------------------------------- repairs

    def fix(self, id: str, *, choices: Choices | None = None, **given: Any) -> None:
        """Do the repair of a row (`Row.fix`); the checks that hang on it are made again. *choices*: changed for it."""
        side, view = self.side, self.state.value
        if side is None or self._fixing:
            return
        wanted = choices or view.choices
        self._begin(id)

        def work() -> Choices:
            made = side.doctor().fix(id, wanted, say=self._heard, cancelled=lambda: self._stop, **given)
            side.choices.keep(self._active_id(side), made)
            return made

        def done(choices: Choices) -> None:
            self._fixing = ""
            row = next((one for one in self.state.value.rows if one.fix == id), None)
            self._change(choices=choices, doing="", undo=id if row is not None and row.undo else "")
            self.look(quota=id in ("enable-services", "link-billing"))

        self._tasks.submit(work, done=done, failed=self._fix_failed)

    def _begin(self, id: str) -> None:
        self._fixing, self._said, self._stop = id, "", False
        self._draw_rows(problem=None, undo="", doing="")

    def _fix_failed(self, error: Exception) -> None:
        fix, self._fixing = self._fixing, ""
        page = error.facts.get("page") if isinstance(error, StudioError) else None
        if page:  # what only a person can put right there: its row leads there
            self._results |= {
                id: replace(one, facts={**one.facts, "page": page})
                for id, one in self._results.items()
                if one.fix == fix
            }
        self._draw_rows(problem=problem_of(error), doing="")

    def _heard(self, text: str) -> None:
        """On the worker's thread; `hear` brings it to the window."""
        self._said = text

    def hear(self) -> None:
        """What the repair under way waits for, if that is news; asked by the page's timer."""
        if self._fixing and self._said != self.state.value.doing:
            self._draw_rows(doing=self._said)

    def stop_waiting(self) -> None:
        """The repair under way ends at its next try; what was made stays."""
        self._stop = True

    @property
    def settles(self) -> bool:
        """Something that was switched on just now will show by itself: look again in a while, for ten minutes."""
        since = self._settling_since
        return since is not None and self._now() - since < SETTLING_S

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
        self._choose(replace(self.state.value.choices, project=id, bucket="", runner="", stopper=""))

    def add_alert(self, amount: float) -> None:
        """*amount*: a month, in the billing account's currency."""
        self.fix("make-alert", choices=replace(self.state.value.choices, monthly=amount))

    @property
    def alert_currency(self) -> str:
        """ISO 4217; "" where Google does not tell."""
        row = self._results.get("alert")
        return str(row.facts.get("currency", "")) if row is not None else ""

    def _choose(self, choices: Choices) -> None:
        side = self.side
        if side is None:
            return

        def done(_: None) -> None:
            self._change(choices=choices, checking=False)
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
        project = self.state.value.choices.project
        if (side := self.side) is not None:
            self._tasks.submit(
                lambda: tuple(side.doctor().billing_accounts(project)),
                done=lambda found: self._change(billing_accounts=found),
                failed=self._failed,
            )

    def create_project(self, name: str) -> None:
        """A new project, chosen at once. Its id is made of the name and a few random letters; one that is taken
        somewhere in the world is tried with others."""
        side = self.side
        if side is None or self._fixing:
            return
        self._begin("choose-project")

        def work() -> str:
            for left in reversed(range(_TRIES)):
                try:
                    made = side.doctor().create_project(
                        project_id(name), name, say=self._heard, cancelled=lambda: self._stop
                    )
                    return made.id
                except CloudRefused as error:
                    if error.id != "exists" or not left:
                        raise
            raise AssertionError("unreachable")

        def done(id: str) -> None:
            self._fixing = ""
            self._change(doing="")
            self.choose_project(id)

        self._tasks.submit(work, done=done, failed=self._fix_failed)

    def write_request(self) -> None:
        """The text to send to the project's owner."""
        side, view = self.side, self.state.value
        facts = self._results["permissions"].facts if "permissions" in self._results else {}
        missing = [str(one) for name in ("missing", "set_up") for one in items(facts.get(name))]
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
        view = self.state.value
        practice = places.by_id(view.place).rehearses
        self._change(rows=rows_of(self._results, self._fixing, more.get("doing", view.doing), practice), **more)

    def _failed(self, error: Exception, asked: int | None = None) -> None:
        if asked is None or asked == self._asked:
            self._change(checking=False, problem=problem_of(error))

    def _change(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))


def test_loan(place: str) -> Job:
    """The job of "borrow a TPU for one minute": the built-in sample on the smallest slice."""
    return draft.edited(
        draft.empty(),
        {
            "name": "test-loan",
            "model.name": "small-cnn",
            "data.kind": kinds.first(lambda kind: kind.is_built_in).id,
            "training.steps": 60,
            "where.place": place,
            "where.accelerator": "v5litepod-1",
            "limits.money_usd": 0.5,
        },
    )
