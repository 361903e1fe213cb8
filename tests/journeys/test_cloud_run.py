"""A run on the practice cloud: real HTTP, real machines (processes), the real guardian; a trainer that only counts.

What the same journey is with the real trainer stands in ``make demo``. The practice clock runs ten times as fast, so
that waiting for machines takes seconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.engines import counting_engine
from tests.fakes.looks import DIGITS, LAPTOP, job
from tests.fakes.making import make_plan
from tests.fakes.practices import Start
from tests.fakes.waiting import PATIENCE_S
from tpu_studio.cloud.connection import practice_side
from tpu_studio.cloud.preparing import Preparation
from tpu_studio.practice.main import Practice
from tpu_studio.practice.meter import whole_usd
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import StudioError
from tpu_studio.wire.events import Event, complete_lines, decode
from tpu_studio.wire.plan import Plan
from tpu_studio.workflow.cloudruns.deskevents import desk_events
from tpu_studio.workflow.cloudruns.driver import Driver
from tpu_studio.workflow.cloudruns.ports import CloudPlace, CloudSide
from tpu_studio.workflow.ports import RunSummary
from tpu_studio.workflow.runs import Runs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux")
SPEED = 10.0
DEADLINE_S = PATIENCE_S


class Desk:
    """This computer, before a practice cloud."""

    def __init__(self, home: Path, practice: Practice) -> None:
        self.home, self.practice = home, practice
        self.start()

    def start(self) -> None:
        settings = self.practice.cloud.settings
        side = practice_side(self.practice.url, self.practice.token, settings.project, settings.bucket)
        self.journal, self.index = JournalFile(self.home / "journal.db"), Index(self.home)
        self.drive(lambda plan: side)

    def drive(self, side: Callable[[Plan], CloudSide]) -> None:
        """See to runs by what *side* connects to."""
        places = {"practice": CloudPlace(side, Preparation())}
        self.driver = Driver(self.home, places=places, journal=self.journal)
        self.runs = Runs(self.home, places={}, journal=self.journal, index=self.index, driver=self.driver)

    def die(self) -> None:
        self.journal.disconnect()
        self.index.close()

    def launch(self, **where: object) -> str:
        look_job = job("mlp", "digits", where={"place": "practice", **where}, training={"epochs": 2})
        return self.runs.launch(make_plan(look_job, DIGITS, now=time.time(), computer=LAPTOP))

    def until(self, run: str, condition: Callable[[RunSummary], bool] = lambda row: row.settled) -> RunSummary:
        give_up = time.monotonic() + DEADLINE_S
        while time.monotonic() < give_up:
            row = self.runs.summary(run)
            if condition(row):
                return row
            self.driver.watch(run)
            time.sleep(min(self.driver.turn(run), 0.2))
        raise AssertionError(f"{self.runs.summary(run)}\n{self.tell(run)}")

    def until_told(self, run: str, id: str) -> StudioError:
        """The problem of this id, which keeps the run from being seen to."""
        give_up = time.monotonic() + DEADLINE_S
        while (problem := self.driver.problems.get(run)) is None or problem.id != id:
            assert time.monotonic() < give_up, problem
            self.driver.watch(run)
            time.sleep(min(self.driver.turn(run), 0.2))
        return problem

    def ends_as_if_undisturbed(self, run: str) -> None:
        """One machine, each of its 30 steps once, no complaint, and nothing is left."""
        row = self.until(run)
        assert row.reason == "completed", self.tell(run)
        assert self.steps(run, 1) == list(range(1, 31))
        assert run not in self.driver.problems
        assert [one["name"] for one in self.receipt(run)["made"]] == [f"ts-{run}-a1-t1"]
        self.nothing_is_left(run)

    def receipt(self, run: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.runs.folder(run) / "result" / "receipt.json").read_bytes())
        return told

    def tell(self, run: str) -> str:
        """Everything the run said, for whoever reads a failure."""
        files = sorted((self.home / "runs" / run / "events").glob("*.jsonl"))
        return "\n".join(f"{path.name}\n{path.read_text()[-4000:]}" for path in files)

    def said(self, run: str, attempt: int) -> list[Event]:
        lines, _ = complete_lines((self.home / "runs" / run / "events" / f"a{attempt:04d}-w000.jsonl").read_bytes())
        return [event for line in lines if (event := decode(line)) is not None]

    def steps(self, run: str, attempt: int) -> list[int]:
        return [step for event in self.said(run, attempt) if event.kind == "metric" for step in event.get("step")]

    def nothing_is_left(self, run: str) -> None:
        side = self.driver.side(self.runs.plan(run))
        assert list(side.machines["tpu"].find({"tpu-studio": "run"})) == []
        for machine in self.driver.state(run).machines:
            assert side.machines["tpu"].look(machine.ref) is None
            assert dict(side.stops.of(machine.ref)) == {}
        assert self.journal.open_intents() == []

    def billed(self) -> float:
        lines = self.practice.cloud.meter.bill()
        assert not any(line.get("open") for line in lines)
        return sum(float(line["usd"] or 0.0) for line in lines if str(line.get("name", "")).find("ts-") >= 0)


@pytest.fixture
def practice(tmp_path: Path, start_practice: Start, monkeypatch: pytest.MonkeyPatch) -> Start:
    """With machines, whose trainer counts."""

    def start(
        *faults: str, trainer: tuple[str, ...] = ("--steps", "30", "--step-s", "0.02"), speed: float = SPEED
    ) -> Practice:
        monkeypatch.setenv("TPU_STUDIO_ENGINE", os.fspath(counting_engine(tmp_path / "engine", *trainer)))
        return start_practice(*faults, machines=True, speed=speed)

    return start


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[[Practice], Desk]]:
    made: list[Desk] = []

    def start(practice: Practice) -> Desk:
        made.append(Desk(tmp_path / "home", practice))
        return made[-1]

    yield start
    for one in made:
        one.die()


def test_from_launch_to_receipt(practice: Callable[..., Practice], desk: Callable[[Practice], Desk]) -> None:
    here = desk(practice())
    run = here.launch()
    row = here.until(run)
    assert (row.status, row.reason) == ("finished", "completed"), here.tell(run)
    assert here.steps(run, 1) == list(range(1, 31))
    here.nothing_is_left(run)
    folder = here.runs.folder(run)
    receipt = json.loads((folder / "result" / "receipt.json").read_bytes())
    assert [one["proof"] for one in receipt["made"]] == ["GET by name answered 404"]
    late_s = 10.0 * SPEED  # a loaded computer sees the end late; at real speed it is a second or two
    assert receipt["usd"] == pytest.approx(here.billed(), abs=receipt["usd_per_hour"] / 3600 * late_s)
    assert (folder / "claims" / "a0001.json").exists()
    assert len(list((folder / "result").iterdir())) > 1


def test_the_receipts_parts_are_those_of_the_bill_and_sum_up_to_it(
    practice: Callable[..., Practice], desk: Callable[[Practice], Desk]
) -> None:
    here = desk(practice())
    run = here.launch()
    assert here.until(run).reason == "completed", here.tell(run)
    told, lines = here.receipt(run), here.practice.cloud.meter.bill()
    parts = {part["id"]: part["usd"] for part in told["parts"]}
    assert told["usd"] == pytest.approx(sum(parts.values()), abs=1e-5)
    assert told["usd_at_least"] <= told["usd"] <= told["usd_at_most"]
    [machine] = [line for line in lines if "/ts-" in line["name"]]
    assert parts["chips"] == pytest.approx(machine["usd"], rel=0.01, abs=1e-6)
    [address] = machine["besides"]
    assert address["sku"].startswith("External IP Charge")
    assert parts["address"] == pytest.approx(address["usd"], rel=0.01, abs=1e-6)
    billed = {kind: sum(line["usd"] for line in lines if f"Class {kind}" in line["sku"]) for kind in ("A", "B")}
    asked = billed["A"] + billed["B"]  # some come after the ledger
    assert parts["operations"] == pytest.approx(asked, rel=0.25, abs=1e-6)
    lying = sum(line.get("usd_to_come", 0.0) + line["usd"] for line in lines if "Standard Storage" in line["sku"])
    assert parts["storage"] == pytest.approx(lying, rel=0.05, abs=1e-6)  # told to a millionth of a dollar
    traffic = sum(line["usd"] for line in lines if line["sku"] == "Download Worldwide Destinations")
    assert parts["traffic"] == pytest.approx(traffic, rel=0.25, abs=1e-6) and traffic > 0.0
    whole = whole_usd(lines, to_come=True)
    assert told["usd"] == pytest.approx(whole, rel=0.01, abs=5e-6)
    plan = here.runs.plan(run)
    reserved = {part.id: part.usd for part in plan.extras.parts}
    assert all(parts[id] <= reserved[id] + 1e-6 for id in ("operations", "storage", "traffic", "address"))
    spent = [event.get("usd") for event in here.said(run, 1) if event.kind == "money"]
    assert spent and min(spent) >= plan.extras.reserved_usd - 1e-4  # reserved from the start


def test_the_desktop_dies_while_it_trains_and_another_process_finishes(
    practice: Callable[..., Practice], desk: Callable[[Practice], Desk]
) -> None:
    here = desk(practice(trainer=("--steps", "60", "--step-s", "0.05")))
    run = here.launch()
    here.until(run, lambda row: row.step >= 5)
    here.die()
    here.start()
    row = here.until(run)
    assert row.reason == "completed", here.tell(run)
    assert here.steps(run, 1) == list(range(1, 61))
    assert len(here.driver.state(run).machines) == 1
    here.nothing_is_left(run)


def test_taken_back_at_a_step_it_goes_on_from_its_last_copy(
    practice: Callable[..., Practice], desk: Callable[[Practice], Desk]
) -> None:
    trainer = ("--steps", "60", "--step-s", "0.05", "--save-every", "5")
    here = desk(practice("preempted-at-step:step=20", trainer=trainer))
    run = here.launch(tier="spot")
    row = here.until(run)
    assert row.reason == "completed", here.tell(run)
    assert row.attempt == 2
    assert here.steps(run, 2)[-1] == 60
    assert here.steps(run, 2)[0] > 5
    assert [event.get("reason") for event in desk_events(here.runs.folder(run)) if event.kind == "attempt-over"] == [
        "preempted"
    ]
    here.nothing_is_left(run)
    following = here.runs.follow(run)
    following.poll()
    (told,) = following.view.interruptions
    following.close()
    assert told.preempted and told.warned and told.zone and told.resumed is not None
    assert told.resumed <= told.step < 60 and told.t < (told.asked or 0.0) < (told.since or 0.0)


def test_stop_and_keep(practice: Callable[..., Practice], desk: Callable[[Practice], Desk]) -> None:
    here = desk(practice(trainer=("--steps", "5000", "--step-s", "0.05")))
    run = here.launch()
    here.until(run, lambda row: row.step >= 3)
    here.runs.stop(run)
    row = here.until(run)
    assert (row.status, row.reason) == ("stopped", "stopped-by-user"), here.tell(run)
    here.nothing_is_left(run)


def test_no_capacity_is_waited_for(practice: Callable[..., Practice], desk: Callable[[Practice], Desk]) -> None:
    here = desk(practice("stockout-at-submit:times=1", speed=60.0))
    run = here.launch()
    row = here.until(run)
    assert row.reason == "completed", here.tell(run)
    waiting = [event for event in desk_events(here.runs.folder(run)) if event.kind == "waiting"]
    assert waiting
    assert waiting[0].get("why") == "no-capacity"
    here.nothing_is_left(run)
