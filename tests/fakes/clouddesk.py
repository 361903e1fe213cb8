"""A desktop for runs in the fake cloud (``tests.fakes.skies``): folder, journal and driver, killed and started anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.fakes.skies import Sky, cloud_plan
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.events import Event, complete_lines, decode, encode
from tpu_studio.wire.plan import Plan, dumps
from tpu_studio.wire.runfolder import PLAN, create_once
from tpu_studio.workflow import desk
from tpu_studio.workflow.cloudruns import believed
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.state import State
from tpu_studio.workflow.cloudruns.verbs import CloudVerbs

RUN = "digits-k3f7"


class HookedJournal(JournalFile):
    """Tells the sky's hook before and after each write, so that a test can end the process there."""

    def __init__(self, path: Path, sky: Sky) -> None:
        self._sky = sky
        super().__init__(path)

    def open(self, action: str, run: str, facts: Mapping[str, Any], at: float) -> int:
        self._sky.hook("journal", False)
        number = super().open(action, run, facts, at)
        self._sky.hook("journal", True)
        return number

    def close(self, number: int, outcome: str, at: float) -> None:
        self._sky.hook("journal", False)
        super().close(number, outcome, at)
        self._sky.hook("journal", True)


class CloudDesk:
    def __init__(self, home: Path, sky: Sky, plan: Plan | None = None, *, run: str = RUN) -> None:
        self.home, self.sky, self.run = home, sky, run
        self.plan = (plan or cloud_plan()).launched(run, sky.now, "test")
        self.folder = home / "runs" / run
        create_once(self.folder / PLAN, dumps(self.plan))
        desk.write_owner(self.folder, desk.install_id(home), t=sky.now)
        self._launch()
        self.start()

    def _launch(self) -> None:
        """What the journal knows of the launch, by which the run is this desktop's."""
        journal = JournalFile(self.home / "journal.db")
        number = journal.open("launch", self.run, {"plan": self.plan.to_json()}, self.sky.now)
        journal.close(number, "started", self.sky.now)
        journal.disconnect()

    def start(self) -> None:
        """A fresh process: nothing is remembered but what stands on the disk."""
        self.journal = HookedJournal(self.home / "journal.db", self.sky)
        self.driver = Driver(self.home, places={"practice": self.sky.place()}, journal=self.journal)

    def die(self) -> None:
        self.journal.disconnect()

    def turn(self) -> float:
        """One turn; then its wait passes."""
        wait = self.driver.turn(self.run)
        self.sky.pass_time(max(5.0, wait))
        return wait

    def until(self, condition: str = "settled", turns: int = 2000) -> State:
        for _ in range(turns):
            state = self.driver.state(self.run)
            if getattr(state, condition):
                return state
            self.turn()
        raise AssertionError(f"not {condition}: {self.driver.state(self.run)}")

    @property
    def state(self) -> State:
        return self.driver.state(self.run)

    def stop(self, *, keep: bool = True) -> None:
        believed.ask(self.folder, {"verb": "stop", "keep": keep, "attempt": self.state.attempt})

    def said(self, kind: str) -> list[Event]:
        return [event for event in desk_events(self.folder) if event.kind == kind]

    def mirrored(self, attempt: int = 1) -> list[Event]:
        path = self.folder / "events" / f"a{attempt:04d}-w000.jsonl"
        lines, _ = complete_lines(path.read_bytes())
        return [event for line in lines if (event := decode(line)) is not None]


class Killed(BaseException):
    """The process ends here."""


@contextmanager
def killed_at(sky: Sky, call: int) -> Iterator[None]:
    """What is done in it ends at the *call*th call of Google, before or after that was carried out; 1 is the first."""
    left = [call]

    def die(name: str, done: bool) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed

    sky.hook = die
    with suppress(Killed):
        yield
    sky.hook = lambda name, done: None


def trains(desk: CloudDesk) -> None:
    while not (desk.folder / "events" / "a0001-w000.jsonl").exists():
        desk.turn()


def ends(desk: CloudDesk, reason: str = "completed") -> None:
    state = desk.until()
    assert state.end is not None
    assert state.end.get("reason") == reason
    assert desk.sky.nodes == {} and desk.sky.tasks == {}
    assert len(desk.sky.created_names) == len(set(desk.sky.created_names))
    assert desk.journal.open_intents() == []


class Second:
    """Another computer, which takes the run of *desk* over."""

    def __init__(self, home: Path, desk: CloudDesk) -> None:
        self.home, self.desk, self.sky = home, desk, desk.sky
        self.journal = JournalFile(home / "journal.db")
        self.start()

    def start(self) -> None:
        """The program, anew."""
        self.journal.disconnect()
        self.journal = JournalFile(self.home / "journal.db")
        self.driver = Driver(self.home, places={"practice": self.sky.place()}, journal=self.journal)

    def take_over(self) -> None:
        CloudVerbs(self.home, self.driver, self.journal).take_over(self.desk.plan, RUN)

    def turns(self, number: int) -> None:
        for _ in range(number):
            self.sky.pass_time(max(5.0, self.driver.turn(RUN)))

    def lay(self, *lines: Mapping[str, object]) -> None:
        """Whoever writes to the bucket, behind another desktop's events."""
        self.sky._put(f"runs/{RUN}/events/desk-zzzzzzzz/000000000000.jsonl", b"".join(encode(one) for one in lines))
