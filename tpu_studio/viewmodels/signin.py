"""Signing in, guided: the ways in with their steps, what of them is done, and what the browser's page may say.

The sheets of ``gui.account.signin`` draw `GuideView`. Google is asked by ``viewmodels.account`` only; what is looked at
here is this computer: whether gcloud is on it, has left credentials, and whether a file is a client.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpu_studio.domain import figures
from tpu_studio.domain.observable import Observable
from tpu_studio.domain.sentences.signin import BLOCKED, GCLOUD_COMMAND, TESTING_DAYS
from tpu_studio.viewmodels.problem import Problem, problem_of
from tpu_studio.wire import places
from tpu_studio.wire.errors import SignedOut
from tpu_studio.wire.plainfiles import plainly, write_named

if TYPE_CHECKING:
    from tpu_studio.viewmodels.accountpeople import People
    from tpu_studio.workflow.ports import Tasks

GCLOUD_PAGE = "https://cloud.google.com/sdk/docs/install"
PROJECT_PAGE = "https://console.cloud.google.com/projectcreate"
AUDIENCE_PAGE = "https://console.cloud.google.com/auth/audience"
CLIENTS_PAGE = "https://console.cloud.google.com/auth/clients"
KEYS_PAGE = "https://console.cloud.google.com/iam-admin/serviceaccounts"
START_PAGE = "https://console.cloud.google.com/freetrial"
SECURITY_PAGE = "https://myaccount.google.com/security"
WAYS = (
    ("none", "No account yet"),
    ("gcloud", "With gcloud"),
    ("client", "With your own client"),
    ("key", "With a key file"),
)
WAIT_S = 300.0  # how long the browser's answer is waited for (``cloud.signin.browser``)
_LARGEST = 1 << 20  # bytes; a client's file is a few hundred
_DAY_S = 86400.0


@dataclass(frozen=True)
class Step:
    """One numbered step. *link*: a page, and what its button says; *command*: to be typed, with a button to copy it;
    *drop*: a file is wanted here; *done*: it is behind the person."""

    title: str
    text: str
    link: str = ""
    link_words: str = ""
    command: str = ""
    drop: str = ""
    done: bool = False


@dataclass(frozen=True)
class GuideView:
    """*found*: whose credentials gcloud has left here ("" where the file does not tell), None: none. *looked*: "I have
    done it" was pressed and nothing was there. *client*: the name of an accepted client file."""

    place: str = field(default_factory=lambda: places.charging().id)
    way: str = "gcloud"
    has_gcloud: bool = False
    found: str | None = None
    looked: bool = False
    where: str = ""
    keeps_client: bool = False
    client: str = ""
    key: str = ""
    problem: Problem | None = None

    @property
    def practice(self) -> bool:
        return places.by_id(self.place).rehearses

    @property
    def title(self) -> str:
        return "Sign in to the practice cloud" if self.practice else "Sign in to Google Cloud"

    @property
    def sentence(self) -> str:
        return (
            "TPU Studio asks for the right to use Google Cloud in your name, and never sees your password. Signing in "
            "costs nothing."
        )

    @property
    def steps(self) -> tuple[Step, ...]:
        match self.way:
            case "gcloud":
                return _gcloud_steps(self)
            case "client":
                return _client_steps(self)
            case "key":
                return _key_steps(self)
            case _:
                return _account_steps()

    @property
    def about(self) -> str:
        """What this way is good for, above its steps."""
        match self.way:
            case "gcloud":
                return "The shortest way: one program of Google's, one command. Nothing is set up in the console."
            case "client":
                return "Without gcloud: a sign-in client in a project of your own. Set up once, in about ten minutes."
            case "key":
                return (
                    "For machines and companies. Organisations made since 2024 forbid key files by default, and "
                    "a key can neither create projects nor turn billing on."
                )
            case _:
                return "Google Cloud is paid by use. You can look round here, and rehearse everything, without it."

    @property
    def verb(self) -> str:
        """What the filled button says; what it does is `SignInGuide.go`."""
        match self.way:
            case "gcloud":
                return "Use these credentials" if self.found is not None else "I have done it"
            case "client":
                return "Sign in in the browser"
            case "key":
                return "Use this key"
            case _:
                return "I have an account now"

    @property
    def may_go(self) -> bool:
        match self.way:
            case "gcloud":
                return not self.practice
            case "client":
                return bool(self.client) or self.keeps_client
            case "key":
                return bool(self.key)
            case _:
                return True

    @property
    def ends(self) -> bool:
        """The filled button signs in, rather than looking or leading on."""
        return self.may_go and (self.way in ("client", "key") or (self.way == "gcloud" and self.found is not None))

    @property
    def missing(self) -> str:
        """Beside a filled button that cannot be pressed yet, or was pressed in vain: why."""
        match self.way:
            case "gcloud" if self.practice:
                return "gcloud knows Google only. Here, sign in with a client; the steps are for later."
            case "gcloud" if self.looked and self.found is None:
                return f"Nothing is at {self.where} yet. Has the command come to its end, and as this user?"
            case "client" if not self.may_go:
                return "Give the client's file first."
            case "key" if not self.may_go:
                return "Give the key file first."
            case _:
                return ""


def _gcloud_steps(view: GuideView) -> tuple[Step, ...]:
    there = "gcloud is on this computer." if view.has_gcloud else "Google's own program, free; about 10 minutes."
    came = "Back here it is noticed by itself; nothing has to be chosen."
    if view.found is not None:
        came = f"They are on this computer{f': {view.found}' if view.found else ''}."
    return (
        Step("Install gcloud", there, GCLOUD_PAGE, "Open its page", done=view.has_gcloud),
        Step(
            "Run this in a terminal",
            "Your browser opens: choose your account and press Continue. Google may ask you to turn on two-step "
            "verification first.",
            command=GCLOUD_COMMAND,
            done=view.found is not None,
        ),
        Step("Come back", came, done=view.found is not None),
    )


def _client_steps(view: GuideView) -> tuple[Step, ...]:
    drop = "Drop the client's file here"
    kept = "The client that you gave before is kept here." if view.keeps_client else ""
    if view.practice:
        kept = "The practice cloud has a client of its own; rehearse with a file, or go on without."
    if view.client:
        kept = f"{view.client} is a client of the right type."
    return (
        Step(
            "Create or choose a project",
            "The client belongs to it. One that will hold your TPUs will do.",
            PROJECT_PAGE,
            "Open projects",
        ),
        Step(
            "Set up who may sign in",
            "Press Get started; the audience is External. Then press Publish app: Google will once warn that it has "
            "not verified the app, which is your own (Advanced, then Go to …). Or stay on Testing and add your own "
            f"address as a test user: then each sign-in ends after {TESTING_DAYS} days, also in the middle of a run.",
            AUDIENCE_PAGE,
            "Open audience",
        ),
        Step(
            "Create a client of the type “Desktop app”",
            "Create client, Desktop app, Create; then Download JSON at once: later its secret is not shown any more.",
            CLIENTS_PAGE,
            "Open clients",
        ),
        Step("Give us the file", kept, drop=drop, done=bool(view.client) or view.keeps_client),
    )


def _key_steps(view: GuideView) -> tuple[Step, ...]:
    given = f"{Path(view.key).name} is chosen." if view.key else "It stays where it is; we read it from there."
    return (
        Step(
            "Create a service account and a key",
            "Open the account, then Keys, Add key, JSON. Give the account the roles that the Account page will name. "
            "“Key creation is not allowed on this service account” means that the organisation forbids it: use gcloud.",
            KEYS_PAGE,
            "Open accounts",
        ),
        Step("Give us the key", given, drop="Drop the key file here", done=bool(view.key)),
    )


def _account_steps() -> tuple[Step, ...]:
    return (
        Step(
            "Have a Google account with two-step verification",
            "An ordinary one will do, as for Gmail. Google Cloud asks for two-step verification.",
            SECURITY_PAGE,
            "Open security",
        ),
        Step(
            "Begin with Google Cloud",
            "It asks for a payment card and offers new customers a free trial with credit. Do not count on a TPU in "
            "the trial: most TPU limits of a new project are zero, and Google raises limits for paid accounts only. "
            "Upgrading to a paid account keeps what is left of the credit.",
            START_PAGE,
            "Open Google Cloud",
        ),
        Step(
            "Then come back",
            "What a run costs is said before it starts and capped. Without an account: rehearse on the practice cloud, "
            "train on this computer, or use a free Colab TPU.",
        ),
    )


class SignInGuide:
    """Commands: `choose`, `look`, `check`, `take_client`, `take_key`, `go`, `save_practice_file`."""

    def __init__(self, account: People, tasks: Tasks) -> None:
        seen = account.state.value
        way = "client" if places.by_id(seen.place).rehearses or not seen.needs_client else "gcloud"
        self.state = Observable(GuideView(seen.place, way, keeps_client=not seen.needs_client))
        self._account, self._tasks = account, tasks
        self._client_text = ""
        self._looking = False
        self.look()

    def choose(self, way: str) -> None:
        self._change(way=way, problem=None)

    def look(self) -> None:
        """Whether gcloud and its credentials are on this computer; asked every few seconds while the sheet is open."""
        side = self._account.side
        if side is None or self._looking or self.state.value.practice:
            return
        self._looking = True

        def work() -> tuple[bool, str | None, str]:
            found = side.gcloud_credentials()
            return side.has_gcloud(), found, side.gcloud_file()

        def done(seen: tuple[bool, str | None, str]) -> None:
            self._looking = False
            has, found, where = seen
            self._change(has_gcloud=has, found=found, where=where)

        def failed(error: Exception) -> None:
            self._looking = False
            self._change(problem=problem_of(error))

        self._tasks.submit(work, done=done, failed=failed)

    def check(self) -> None:
        """ "I have done it": look, and say so where nothing has come."""
        self._change(looked=True)
        self.look()

    def take_client(self, path: Path) -> None:
        """The file of an OAuth client; one that is something else is told, and the one before stays."""
        side = self._account.side
        if side is None:
            return

        def work() -> str:
            text = _text_of(path)
            side.parse_client(text)
            return text

        def done(text: str) -> None:
            self._client_text = text
            self._change(client=path.name, problem=None)

        self._tasks.submit(work, done=done, failed=lambda error: self._change(problem=problem_of(error)))

    def take_key(self, path: Path) -> None:
        self._change(key=str(path), problem=None)

    def save_practice_file(self, folder: Path) -> None:
        """A client's file to rehearse with, as the console offers it for download; it is taken at once."""
        side = self._account.side
        if side is None:
            return

        def work() -> Path:
            path = folder / "client_secret_practice.json"
            write_named(path, side.practice_client().encode())
            return path

        self._tasks.submit(work, done=self.take_client, failed=lambda error: self._change(problem=problem_of(error)))

    def go(self) -> None:
        """The filled button (`GuideView.verb`)."""
        view = self.state.value
        match view.way:
            case "gcloud" if view.found is None:
                self.check()
            case "gcloud":
                self._account.use_gcloud()
            case "client":
                self._account.sign_in(self._client_text)
            case "key":
                self._account.use_key(Path(view.key))
            case _:
                self.choose("gcloud")

    def _change(self, **changes: Any) -> None:
        self.state.set(replace(self.state.value, **changes))


def _text_of(path: Path) -> str:
    """Raises SignedOut ``client-unreadable``."""
    try:
        with open(path, "rb", opener=plainly) as file:
            return file.read(_LARGEST).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SignedOut("client-unreadable", what="other", raw=str(error)) from None


# ------------------------------------------------------------------------------------------------- while it is waited


@dataclass(frozen=True)
class Waiting:
    """The browser's page is open. *address*: to be opened again or copied, "" until it is known; *opened*: a browser
    took it; *since*: seconds since 1970."""

    since: float
    address: str = ""
    opened: bool = True

    @property
    def sentence(self) -> str:
        if self.address and not self.opened:
            return "No browser could be opened. Copy the link and open it in a browser on this computer."
        return "Choose your account on Google's page and press Continue. This goes on by itself; nothing is charged."

    def words(self, now: float) -> str:
        """How long it has been waited, and for how long it will be."""
        waited = min(max(0.0, now - self.since), WAIT_S)
        return f"Waiting for {figures.duration(float(round(waited)))} of {figures.duration(WAIT_S)} at most"


UNVERIFIED = (
    "“Google hasn't verified this app” is about your own client: press Advanced, then “Go to …”. “Access blocked” "
    "never comes back here by itself: choose what the page says."
)


def page_errors() -> tuple[tuple[str, str, str], ...]:
    """What Google's page may say instead of asking: code, its meaning, what ends it."""
    return tuple((code, meaning, action) for code, (meaning, action) in BLOCKED.items())


# ----------------------------------------------------------------------------------------------- how long it will last


def lasts_words(kind: str, since: float, until: float, now: float) -> str:
    """How old a sign-in is and when it ends, for the line that names it; "" for credentials that are not ours."""
    if kind != "oauth" or not since:
        return ""
    told = f"signed in {_ago(since, now)}"
    if until and now >= until:
        return f"{told}; ended by Google {day_and_time(until)}: sign in again"
    if until:
        return f"{told}; ends {day_and_time(until)}, for its client is on Testing"
    return f"{told}; should its client be on Testing, it ends {day_and_time(since + TESTING_DAYS * _DAY_S)}"


def outlives(kind: str, until: float, now: float, longest_s: float) -> str:
    """What a launch should know of a sign-in that ends before the run may, *longest_s* from now; "": it does not."""
    if kind != "oauth" or not until or now + longest_s <= until:
        return ""
    ends = "ended" if now >= until else "ends"
    return (
        f"Your sign-in {ends} {day_and_time(until)}; this run may last until {day_and_time(now + longest_s)}. Without "
        "it this computer can neither follow nor stop the run; the machine's own limit and the shut-off timers still "
        "do. Sign in again first, or publish the client's app so that its sign-ins last."
    )


def day_and_time(t: float) -> str:
    """`on Sat 21 Nov at 14:02`, local time."""
    return f"on {time.strftime('%a %d %b', time.localtime(t)).replace(' 0', ' ')} at {figures.clock(t)}"


def _ago(since: float, now: float) -> str:
    days = int(max(0.0, now - since) // _DAY_S)
    return "today" if days == 0 else "yesterday" if days == 1 else f"{days} days ago"
