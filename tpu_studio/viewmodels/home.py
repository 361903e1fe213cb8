"""Home: ways to run with what is ready, the examples to start from, what goes on, and the latest runs.

Holds nothing that others know: it puts together the engine's and the runs' states. What this computer has is read once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tpu_studio.domain import figures
from tpu_studio.domain.observable import Observable
from tpu_studio.domain.sentences.account import FIRST
from tpu_studio.viewmodels.engine import EngineView, EngineViewModel
from tpu_studio.viewmodels.examples import Example, shipped
from tpu_studio.viewmodels.runrows import RunRow
from tpu_studio.viewmodels.runs import RunsView, RunsViewModel

RECENT = 5


@dataclass(frozen=True)
class Computer:
    """What this computer offers a run: cores this process may use, and memory in bytes (0 when unknown)."""

    cores: int
    memory_bytes: int

    @property
    def words(self) -> str:
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        memory = f", {figures.size(self.memory_bytes)} memory" if self.memory_bytes else ""
        return cores + memory


def this_computer() -> Computer:
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 0
    return Computer(cores, memory)


@dataclass(frozen=True)
class CloudKnown:
    """What this computer remembers of the account at Google. *prepared*: a place for results was made, in *region*.
    *kept_days*: so long that place keeps what was deleted. *kind*, *until*: how it is signed in, and when Google ends
    that by its own word, seconds since 1970; 0: no end. *practice_bare*: the practice cloud is that of a new person,
    who has set up nothing there, *practice_kept_days*: as *kept_days*, of the bucket there."""

    signed_in: bool = False
    email: str = ""
    project: str = ""
    prepared: bool = False
    monthly_usd: float | None = None
    region: str = ""
    kind: str = ""
    until: float = 0.0
    practice_bare: bool = False
    kept_days: int = 0
    practice_kept_days: int = 0


NEEDED = {
    id: FIRST[id].rstrip(".")
    for id in ("project", "billing", "services", "permissions", "network", "bucket", "runner", "outside-stop")
}
"""Checks of the account without which no launch works, as a button says it. Quota and an organisation's policies
depend on the zone that is asked, so only Google's answer counts there."""


@dataclass(frozen=True)
class Way:
    """A way to run besides this computer: its readiness line, its button and where that leads, and what it costs."""

    icon: str
    tone: str
    words: str
    button: str
    leads_to: str
    pill: str = ""


@dataclass(frozen=True)
class HomeView:
    computer: Computer
    examples: tuple[Example, ...] = ()
    engine: EngineView = field(default_factory=EngineView)
    runs: RunsView = field(default_factory=RunsView)
    known: CloudKnown = CloudKnown()
    left: int | None = None
    failing: tuple[str, ...] = ()
    from_usd: float | None = None

    @property
    def practice(self) -> Way:
        if sys.platform == "win32":
            return Way("circle-alert", "neutral", "Practice machines need Linux or a Mac", "", "")
        if self.engine.status in ("missing", "broken"):
            return Way("package", "neutral", "No sign-in · one-time setup first", "Rehearse a cloud run", "plan")
        if self.known.practice_bare:
            return Way("circle-alert", "neutral", "A new account · set it up first", "Set up the account", "account")
        return Way("circle-check", "ok", "Ready · no sign-in needed", "Rehearse a cloud run", "plan")

    @property
    def cloud(self) -> Way:
        pill = f"From about {figures.money(self.from_usd)} an hour" if self.from_usd else "Paid by the second"
        if not self.known.signed_in:
            return Way("clock", "neutral", "Not signed in yet", "Sign in", "account", pill)
        if self.left:
            things = "1 thing" if self.left == 1 else f"{self.left} things"
            return Way("circle-alert", "warn", f"Signed in · {things} to fix", "Finish setting up", "account", pill)
        if not self.known.project or not self.known.prepared:
            return Way("circle-alert", "warn", "Signed in · not set up yet", "Finish setting up", "account", pill)
        return Way("circle-check", "ok", f"Ready · {self.known.project}", "Train on a Cloud TPU", "plan", pill)

    @property
    def account_missing(self) -> str:
        """What is known to keep Google from lending a TPU, the first of it as a button says it; "" when nothing is."""
        if not self.known.signed_in:
            return "Sign in to Google first"
        first = next((NEEDED[check] for check in self.failing if check in NEEDED), "")
        if first or self.left is not None:
            return first
        return NEEDED["project"] if not self.known.project else NEEDED["bucket"] if not self.known.prepared else ""

    @property
    def practice_missing(self) -> str:
        """The same of the practice cloud."""
        return "Set up the practice account first" if self.known.practice_bare else ""

    @property
    def ready_line(self) -> tuple[str, str, str]:
        """Icon, tone and words under "This computer"."""
        engine = self.engine
        if engine.doing in ("install", "repair"):
            share = f" {figures.share(engine.bar.share, 0)}" if engine.bar else ""
            return "package", "accent", f"Training engine {engine.word.lower()}{share}"
        if engine.status == "missing":
            return "package", "neutral", f"{self.computer.words} · one-time setup first"
        if engine.status == "broken":
            return "circle-alert", "warn", "The training engine needs repair"
        if engine.status == "unknown":
            return "laptop", "neutral", self.computer.words
        if engine.status == "installing":
            return "package", "accent", engine.word
        return "circle-check", "ok", f"Ready · {self.computer.words}"

    @property
    def recent(self) -> tuple[RunRow, ...]:
        return (self.runs.rows or ())[:RECENT]

    @property
    def live(self) -> tuple[RunRow, ...]:
        """What the strip shows: what trains, then what waits; at most two, the rest is in Runs."""
        going_on = self.runs.going_on
        return tuple(sorted(going_on, key=lambda row: row.waiting))[:2]

    @property
    def empty(self) -> bool:
        return self.runs.rows == ()


class HomeViewModel:
    def __init__(self, engine: EngineViewModel, runs: RunsViewModel) -> None:
        self.state = Observable(HomeView(this_computer(), shipped()))
        engine.state.subscribe(lambda seen: self.state.set(replace(self.state.value, engine=seen)))
        runs.state.subscribe(lambda seen: self.state.set(replace(self.state.value, runs=seen)))

    def know(self, known: CloudKnown, from_usd: float | None = None) -> None:
        """What is remembered of the account, and the lowest price of an hour."""
        view = self.state.value
        self.state.set(replace(view, known=known, from_usd=from_usd or view.from_usd))

    def account_looked(self, left: int | None, failing: Sequence[str] = ()) -> None:
        """The Account page has looked: how many things are left to do, None where that is not known, and the ids of
        the checks that failed."""
        self.state.set(replace(self.state.value, left=left, failing=tuple(failing)))


def lowest_usd_per_hour() -> float | None:
    """Of the smallest TPUs that can be had on demand."""
    from tpu_studio.domain.catalogue import catalogue

    known = catalogue()
    found = [
        prices[0].usd_per_hour(one.slices[0].chips)
        for one in known.offered()
        if one.slices and (prices := known.prices(one.id, one.slices[0].chips))
    ]
    return min(found, default=None)
