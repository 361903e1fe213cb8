"""A person's runs, from the frozen plan and the events in their folders to the next plan."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.looks import DIGITS, HANDS, LAPTOP, NOW, job
from tests.fakes.making import estimate_of, make_plan
from tpu_studio.planner.own import OwnRuns
from tpu_studio.planner.public import plan_to_public_json
from tpu_studio.planner.timing import Timing
from tpu_studio.store.index import Index
from tpu_studio.wire.events import encode, event
from tpu_studio.wire.plan import Plan, dumps, loads
from tpu_studio.wire.runfolder import PLAN
from tpu_studio.workflow import desk, forgetting

WORK = job("mlp", "digits", training={"epochs": 5})


class Person:
    """A home with run folders. Nothing trains: events say how long steps took."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.index = Index(home)

    def plan(self, wanted: Any = WORK, **more: Any) -> Plan:
        return make_plan(wanted, DIGITS, now=NOW, computer=LAPTOP, own=self.taught(), **more)

    def taught(self) -> OwnRuns:
        if not (self.home / "runs").is_dir():
            return OwnRuns()
        return forgetting.own_runs(forgetting.rows_of(self.home, self.index))

    def runs(
        self, name: str, plan: Plan, step_s: float, *, steps: int = 200, waiting: float = 0.0, over: bool = True
    ) -> Path:
        folder = self.home / "runs" / name
        (folder / "events").mkdir(parents=True)
        (folder / PLAN).write_bytes(dumps(plan.launched(name, NOW, "test")))
        desk.write_owner(folder, desk.install_id(self.home), t=NOW)
        t = NOW
        lines = [
            event("target", t=t, steps=plan.steps),
            event("phase", t=t, phase="setting-up", attempt=1),
            event("phase", t=t + 20, phase="compiling"),
            event("phase", t=t + 32, phase="training"),
            event("speed", t=t + 32, step=0, steps=10, examples=320, seconds=9.0, compiles=1),
        ]
        for number in range(1, 11):
            each = steps // 10
            seconds = each * step_s
            t += seconds
            lines.append(
                event(
                    "speed",
                    t=t + 32,
                    step=number * each,
                    steps=each,
                    examples=32 * each,
                    seconds=seconds,
                    waiting_for_data_s=waiting * seconds,
                    device_s=0.9 * seconds,
                    compiles=1,
                )
            )
        if over:
            lines.append(event("phase", t=t + 34, phase="saving", detail="result"))
            lines.append(event("end", t=t + 40, status="finished", reason="completed", steps=steps, final={}))
        (folder / "events" / "a0001-w000.jsonl").write_bytes(b"".join(encode(line) for line in lines))
        return folder


@pytest.fixture
def person(tmp_path: Path):
    someone = Person(tmp_path)
    yield someone
    someone.index.close()


def step_range(plan: Plan) -> tuple[float, float, float]:
    rate, batch = plan.examples_per_s, int(plan.job["training.global_batch"])
    assert rate is not None
    return batch / rate.high, batch / rate.expected, batch / rate.low


def test_without_own_runs_a_plan_is_what_it_was(person: Person):
    bare = make_plan(WORK, DIGITS, now=NOW, computer=LAPTOP)
    assert person.plan() == bare
    assert "estimate_from" not in plan_to_public_json(bare)


def test_the_second_plan_of_the_same_work_is_narrow_close_to_what_was_measured_and_says_so(person: Person):
    first = person.plan()
    truth = 3 * step_range(first)[1]
    person.runs("digits-aaaa", first, truth)
    second = person.plan()
    low, expected, high = step_range(second)
    assert low < truth < high and expected == pytest.approx(truth, rel=0.15)
    assert high / low < 0.5 * step_range(first)[2] / step_range(first)[0]
    told = plan_to_public_json(second)["estimate_from"]
    assert told["by"] == "own-runs" and told["runs"] == told["same"] == 1 and told["newest"] == "2026-11-21"
    assert second.reasons["estimate"].startswith("From 1 of your own runs, of 21 Nov 2026.")


def test_setting_up_compiling_and_saving_are_learned_too(person: Person):
    before = estimate_of(WORK, DIGITS, computer=LAPTOP)
    for number in range(3):
        person.runs(f"digits-aaa{number}", person.plan(), 0.01)  # 20 s to set up, 12 s to compile, 6 s to save
    after = estimate_of(WORK, DIGITS, computer=LAPTOP, own=person.taught())
    assert after.setup_s.expected == pytest.approx(32, rel=0.1)
    assert after.setup_s.high / after.setup_s.low < before.setup_s.high / before.setup_s.low
    saved_sooner = OwnRuns([replace(run, measured={**run.measured, "result_s": 0.6}) for run in person.taught().runs])
    sooner = estimate_of(WORK, DIGITS, computer=LAPTOP, own=saved_sooner)
    assert after.training_s.expected - sooner.training_s.expected == pytest.approx(6.0 - 0.6, rel=0.1)


def test_own_runs_of_the_very_work_spare_a_timing_and_plan_like_one(person: Person):
    step_s = 0.5
    for number in range(2):
        person.runs(f"digits-aaa{number}", person.plan(), step_s)
    made = person.plan()
    timed = make_plan(WORK, DIGITS, now=NOW, computer=LAPTOP, timing=Timing(step_s))
    assert made.basis.own["well"]
    assert made.job["training.checkpoint_every"] == timed.job["training.checkpoint_every"]
    assert made.basis.traits["key"] == person.plan().basis.traits["key"]


def test_a_timing_that_contradicts_own_runs_makes_the_range_span_both(person: Person):
    for number in range(2):
        person.runs(f"digits-aaa{number}", person.plan(), 0.1)
    low, expected, high = step_range(person.plan(timing=Timing(0.4)))
    assert low < 0.1 < 0.4 < high and expected == pytest.approx(0.4)
    agreeing = step_range(person.plan(timing=Timing(0.12)))
    assert agreeing[0] > 0.07 and agreeing[2] < 0.15


@pytest.mark.parametrize(("ran", "planned"), [("computer", "practice"), ("practice", "computer")])
def test_this_computer_and_practice_are_kept_apart(person: Person, ran: str, planned: str):
    at = {place: job("mlp", "digits", where={"place": place}) for place in ("computer", "practice", "cloud")}
    person.runs("digits-aaaa", person.plan(at[ran]), 0.9)
    for place in (planned, "cloud"):
        bare = make_plan(at[place], DIGITS, now=NOW, computer=LAPTOP)
        assert (person.plan(at[place]).time_s, person.plan(at[place]).basis) == (bare.time_s, bare.basis)
    assert person.plan(at[ran]).basis.own["runs"] == 1


def test_a_rented_tpu_teaches_plans_for_rented_tpus_and_only_those(person: Person):
    rented = job("mlp", "digits", where={"place": "cloud", "accelerator": "v5litepod-8"})
    first = person.plan(rented)
    slower = 1.5 * step_range(first)[1]
    person.runs("digits-aaaa", first, slower)
    second = person.plan(rented)
    low, expected, high = step_range(second)
    assert low < slower < high and expected == pytest.approx(slower, rel=0.1)
    assert high / low < step_range(first)[2] / step_range(first)[0]
    assert "published measurements" in second.reasons["estimate"]
    assert step_range(person.plan()) == step_range(make_plan(WORK, DIGITS, now=NOW, computer=LAPTOP))


def test_a_chip_that_waited_for_data_says_nothing_of_its_speed(person: Person):
    rented = job("mlp", "digits", where={"place": "cloud", "accelerator": "v5litepod-8"})
    first = person.plan(rented)
    person.runs("digits-aaaa", first, 1.0, waiting=0.8)
    assert step_range(person.plan(rented)) == step_range(first)


def test_too_few_steps_teach_nothing(person: Person):
    person.runs("digits-aaaa", person.plan(), 0.9, steps=40)
    assert not person.taught()


def test_a_strangers_run_teaches_nothing(person: Person, tmp_path: Path):
    folder = person.runs("digits-aaaa", person.plan(), 0.9)
    assert person.taught().names == {"digits-aaaa"}
    stranger = person.home / "runs" / "digits-bbbb"
    shutil.copytree(folder, stranger)
    desk.write_owner(stranger, desk.install_id(person.home), t=NOW, imported=True)
    another = person.home / "runs" / "digits-cccc"
    shutil.copytree(folder, another)
    desk.write_owner(another, "someoneelse", t=NOW)
    elsewhere = person.home / "runs" / "digits-dddd"  # this installation, on another computer
    shutil.copytree(folder, elsewhere)
    owner = json.loads((elsewhere / "owner.json").read_text())
    desk.put_owner(elsewhere, {**owner, "host": "another-host"})
    assert person.taught().names == {"digits-aaaa"}


def test_a_deleted_run_takes_what_it_taught_with_it(person: Person):
    folder = person.runs("digits-aaaa", person.plan(), 0.9)
    assert person.taught()
    shutil.rmtree(folder)
    assert not person.taught()


def test_forgetting_lets_the_runs_stay_and_later_ones_count(person: Person):
    person.runs("digits-aaaa", person.plan(), 0.9)
    forgetting.forget(person.home, person.taught().names)
    assert not person.taught() and (person.home / "runs" / "digits-aaaa" / PLAN).exists()
    person.runs("digits-bbbb", person.plan(), 0.5)
    assert person.taught().names == {"digits-bbbb"}


@pytest.mark.parametrize("content", [b"", b"[]", b'{"runs": 3}', b'{"runs": [1, null]}', b"\xff"])
def test_a_damaged_note_of_what_is_forgotten_forgets_nothing(person: Person, content: bytes):
    (person.home / forgetting.FILE).write_bytes(content)
    assert forgetting.forgotten(person.home) == frozenset()


@pytest.mark.parametrize(
    "basis",
    [{}, {"traits": {}}, {"traits": {"place": 3}}, {"traits": None, "modelled": 7}, {"traits": {"place": "computer"}}],
)
def test_a_plan_whose_basis_makes_no_sense_teaches_nothing_and_breaks_nothing(person: Person, basis: dict[str, Any]):
    plan = person.plan()
    tree = {**plan.to_json(), "basis": basis}
    person.runs("digits-aaaa", loads(json.dumps(tree).encode()), 0.9)
    assert not person.taught()
    person.plan()


def test_hands_teach_digits_little(person: Person):
    other = make_plan(job("small-cnn", "images"), HANDS, now=NOW, computer=LAPTOP)
    person.runs("hands-aaaa", other, 30 * step_range(other)[1])
    bare = step_range(make_plan(WORK, DIGITS, now=NOW, computer=LAPTOP))
    assert step_range(person.plan())[1] == pytest.approx(bare[1], rel=0.5)
