"""The part of the Account page's view-model that signs people in and out, and waits for the browser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_studio.domain.observable import Observable
from tpu_studio.domain.sentences.account import signing_out
from tpu_studio.viewmodels.accountside import AccountLike, AccountSide
from tpu_studio.viewmodels.accountview import AccountView, Person
from tpu_studio.viewmodels.problem import problem_of
from tpu_studio.viewmodels.signin import SignInGuide, Waiting
from tpu_studio.wire.errors import SignedOut
from tpu_studio.workflow.account.ports import Result

if TYPE_CHECKING:
    from tpu_studio.workflow.ports import Tasks


class People:
    """What `AccountViewModel` inherits; the rest of it shows, looks and repairs."""

    state: Observable[AccountView]
    _tasks: Tasks
    _now: Callable[[], float]
    _results: dict[str, Result]

    def __init__(self) -> None:
        self.waiting = Waiting(0.0)  # the sign-in under way, or the last one
        self.rented: Callable[[str], Sequence[str]] = lambda place: ()  # names of the runs that go on at a place
        self._cancelled = False
        self._again = False  # somebody shall sign in again once the side is there

    @property
    def side(self) -> AccountSide | None:
        raise NotImplementedError

    def show(self, place: str) -> None:
        raise NotImplementedError

    def look(self, *, quota: bool = True) -> None:
        raise NotImplementedError

    def _failed(self, error: Exception, asked: int | None = None) -> None:
        raise NotImplementedError

    def _change(self, **changes: object) -> None:
        raise NotImplementedError

    def sign_in(self, client_text: str = "") -> None:
        """Open the browser. *client_text*: the OAuth client's JSON, where the person brings one."""
        side = self.side
        if side is None or self.state.value.signing_in:
            return
        self._cancelled = False
        self.waiting = Waiting(self._now())
        self._change(signing_in=True, address="", problem=None)

        def told(url: str, opened: bool) -> None:  # in the thread that waits; the sheet looks each second
            self.waiting = replace(self.waiting, address=url, opened=opened)

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
                client,
                side.open_browser,
                cancelled=lambda: self._cancelled,
                hint=known.email if known else "",
                told=told,
            )

        self._signed(work)

    def cancel_sign_in(self) -> None:
        self._cancelled = True

    def open_again(self) -> None:
        """Open the page of the sign-in that is waited for once more."""
        side, waiting = self.side, self.waiting
        if side is not None and waiting.address:
            address = waiting.address

            def opened(is_open: bool) -> None:
                if self.waiting.address == address:
                    self.waiting = replace(self.waiting, opened=is_open)

            self._tasks.submit(lambda: side.open_browser(address), done=opened, failed=self._failed)

    def sign_in_again(self, place: str) -> None:
        """Sign in anew at *place* as the same account: in the browser at once, or by the guide where it is another's
        to renew (gcloud, a key file)."""
        self._again = True
        if self.state.value.place == place and self.side is not None:
            self._renew()
        else:
            self.show(place)

    def _renew(self) -> None:
        side, self._again = self.side, False
        if side is None:
            return

        def known(active: AccountLike | None) -> None:
            if active is not None and active.kind == "oauth":
                self.sign_in()
            else:
                self._change(asks_way=True)

        self._tasks.submit(side.signing.active, done=known, failed=self._failed)

    def way_shown(self) -> None:
        """The guide that was asked for is open."""
        self._change(asks_way=False)

    def guide(self) -> SignInGuide:
        """The ways in, step by step, for one sheet."""
        return SignInGuide(self, self._tasks)

    def now(self) -> float:
        return self._now()

    def use_gcloud(self) -> None:
        if (side := self.side) is not None:
            self._signed(side.signing.add_gcloud)

    def use_key(self, path: Path) -> None:
        if (side := self.side) is not None:
            self._signed(lambda: side.signing.add_key(path))

    def use(self, id: str) -> None:
        if (side := self.side) is not None:
            self._signed(lambda: side.signing.use(id))

    def goes_on(self, person: Person) -> str:
        """What signing *person* out means for the runs that go on; "" where none does."""
        return signing_out(self.state.value.place, self.rented(self.state.value.place)) if person.active else ""

    def sign_out(self, id: str) -> None:
        """Forget the account and tell Google so. Runs that go on end at their limits."""
        side = self.side
        if side is None:
            return

        person = next((one for one in self.state.value.people if one.id == id), None)

        def done(revoked: bool) -> None:
            self._results = {}
            self._change(rows=(), quota=(), requests=(), checking=False)
            self.look()
            if not revoked and person is not None and person.kind == "oauth":
                self._change(problem=problem_of(SignedOut("not-revoked", account=person.email)))

        self._tasks.submit(lambda: side.signing.remove(id), done=done, failed=self._failed)

    def _signed(self, work: Callable[[], object]) -> None:
        def done(_: object) -> None:
            self._results = {}
            self._change(signing_in=False, address="", rows=(), quota=(), requests=(), checking=False)
            self.look()

        def failed(error: Exception) -> None:
            address = str(error.facts.get("url", "")) if isinstance(error, SignedOut) else ""
            quiet = isinstance(error, SignedOut) and error.id == "sign-in-cancelled"
            self._change(signing_in=False, address=address, problem=None if quiet else problem_of(error))

        self._tasks.submit(work, done=done, failed=failed)
