"""The Run page's state: what it says while a run goes on, when it is over, and when its model is tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.tasks import InlineTasks
from tests.fakes.views import view_of
from tpu_studio.domain.folding import apply
from tpu_studio.domain.run import End, RunView, Span
from tpu_studio.domain.sentences import say_notice
from tpu_studio.viewmodels import runchips
from tpu_studio.viewmodels.run import RunViewModel
from tpu_studio.viewmodels.runfacts import facts_of
from tpu_studio.viewmodels.runhappened import what_happened
from tpu_studio.viewmodels.runnumbers import numbers
from tpu_studio.viewmodels.runstages import stages
from tpu_studio.wire.errors import NotReady, RunError
from tpu_studio.wire.events import decode, encode, event
from tpu_studio.wire.job import parse
from tpu_studio.wire.phases import Phase
from tpu_studio.wire.plan import Plan
from tpu_studio.wire.planparts import Basis, PlanLimits
from tpu_studio.wire.reasons import Reason
from tpu_studio.wire.records import read
from tpu_studio.workflow.ports import Changes, Curve

PLAN = Plan(
    job=parse(
        {
            "name": "hands",
            "model": {"name": "small-cnn"},
            "data": {"kind": "images", "path": "/d/hands"},
            "training": {"epochs": 5, "global_batch": 32},
        }
    ),
    task="classification",
    framework="tensorflow",
    steps=100,
    steps_per_epoch=20,
    data={"classes": [["one", 10], ["two", 12]]},
    limits=PlanLimits(None, 1.0),
)


class Watched:
    """A run whose events are told one by one."""

    def __init__(self) -> None:
        self.view = RunView()
        self.folder = Path("/nowhere")
        self.plan = PLAN
        self.metrics: Sequence[str] = ()
        self.waiting: list[dict[str, Any]] = []
        self.closed = False

    def tell(self, *records: dict[str, Any]) -> None:
        self.waiting += records

    def poll(self) -> Changes:
        for record in self.waiting:
            seen = decode(encode(record))
            assert seen is not None
            self.view = apply(self.view, seen)
        self.waiting = []
        return Changes()

    def curve(self, metric: str) -> Curve:
        raise KeyError(metric)

    def close(self) -> None:
        self.closed = True


class Verbs:
    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.refuse: RunError | None = None

    def stop(self, run: str, keep: bool = True) -> None:
        self._do("stop", run, keep)

    def extend(self, run: str, epochs: float) -> None:
        self._do("extend", run, epochs)

    def resume(self, run: str) -> None:
        self._do("resume", run)

    def profile(self, run: str) -> None:
        self._do("profile", run)

    def export(self, run: str, destination: Path) -> Path:
        self._do("export", run, destination)
        return destination / run

    def _do(self, *what: Any) -> None:
        if self.refuse:
            raise self.refuse
        self.done.append(what)


class Oracle:
    """A predictor that answers when told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[Mapping[str, Any], Callable[[Mapping[str, Any]], None]]] = []
        self.cancelled = 0
        self.closed = False

    def ask(self, question: Mapping[str, Any], on_answer: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        self.asked.append((question, on_answer))

        def cancel() -> None:
            self.cancelled += 1

        return cancel

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def oracle() -> Oracle:
    return Oracle()


@pytest.fixture
def verbs() -> Verbs:
    return Verbs()


@pytest.fixture
def page(watched: Watched, verbs: Verbs, oracle: Oracle) -> RunViewModel:
    return RunViewModel(
        "hands-ab12", Path("/nowhere"), PLAN, lambda: watched, verbs, InlineTasks(), lambda: oracle, clock=lambda: 200.0
    )


def training(step: int = 40) -> list[dict[str, Any]]:
    return [
        event("phase", t=100, phase="setting-up", attempt=1),
        event("target", t=101, steps=100),
        event("phase", t=110, phase="compiling"),
        event("phase", t=115, phase="training"),
        event("metric", t=190, step=[step], loss=[0.5]),
        event(
            "speed",
            t=190,
            step=step,
            steps=step,
            examples=32 * step,
            seconds=10.0,
            waiting_for_data_s=4.0,
            device_s=5.0,
        ),
    ]


def chips(t: float, worker: int, duty: float, used: float) -> dict[str, Any]:
    return event("device", t=t, worker=worker, duty_cycle=duty, hbm_used_bytes=used, hbm_total_bytes=1.6e10)


def test_a_live_run_tells_its_stage_its_speed_and_the_time_left(page: RunViewModel, watched: Watched):
    watched.tell(*training())
    page.open()
    state = page.state.value
    assert [stage.state for stage in state.stages] == ["done", "done", "done", "current", "ahead"]
    assert state.pill == ("Training 40%", "accent")
    loss, speed, _, left = state.numbers
    assert loss.value == "0.500"
    assert (speed.value, speed.unit, speed.tone) == (
        "128",
        "pictures/s",
        "warn",
    )  # 1,280 pictures in 10 s, 40 % of it waiting
    assert left.value == "1 min 52 s"  # 60 steps at 4 a second, in 75 s for every 10 s of steps


def test_before_training_its_stage_tells_the_time_of_the_training_alone():
    plan = replace(PLAN, basis=read(Basis, {"training_s": {"low": 5.0, "expected": 9.0, "high": 16.0}}, "basis"))
    assert stages(facts_of(plan), RunView(), 0)[3].caption == "about 9 s"
    assert stages(facts_of(PLAN), RunView(), 0)[3].caption == ""  # a plan of an older version does not say


def test_a_run_that_broke_off_while_compiling_does_not_say_that_training_was_not_needed():
    spans = {Phase.COMPILING: Span(1.0, 9.0), Phase.SAVING: Span(9.0, 9.3)}
    broke = Reason.TRAINER_STUCK
    end = End(9.3, broke.status, broke, steps=0, final={}, facts={})
    told = {one.title: one for one in stages(facts_of(PLAN), RunView(spans=spans, end=end), 10.0)}
    assert (told["Training"].state, told["Training"].caption) == ("ahead", "")
    whole = replace(end, status=Reason.COMPLETED.status, reason=Reason.COMPLETED)
    told = {one.title: one for one in stages(facts_of(PLAN), RunView(spans=spans, end=whole), 10.0)}
    assert (told["Training"].state, told["Training"].caption) == ("done", "not needed")  # taken up after its last step


def test_a_run_on_this_computer_says_nothing_of_chips(page: RunViewModel, watched: Watched):
    watched.tell(*training(), event("device", t=190, worker=0, memory_used_bytes=4e8, memory_total_bytes=8e9))
    page.open()
    assert [(number.more, number.hover) for number in page.state.value.numbers] == [("", "")] * 4


def test_beside_the_speed_stands_how_busy_the_tpu_is_and_that_it_waits_for_data(page: RunViewModel, watched: Watched):
    watched.tell(*training(), chips(190, 0, 0.52, 9.1e9))
    page.open()
    speed = page.state.value.numbers[1]
    assert speed.context == "waits for data 40% of the time"
    assert speed.more == "TPU busy 52%\nmemory 9.1 of 16.0 GB"
    assert "the next examples are made ready too slowly" in speed.hover


def test_before_how_busy_stands_mfu_with_what_it_means(page: RunViewModel, watched: Watched):
    watched.tell(*({**told, "mfu": 0.412} if told["kind"] == "speed" else told for told in training()))
    watched.tell(chips(190, 0, 0.71, 9.1e9))
    page.open()
    speed = page.state.value.numbers[1]
    assert speed.more == "MFU 41%, TPU busy 71%\nmemory 9.1 of 16.0 GB"
    assert "MFU (model FLOP utilisation) is the part of the chips’ peak" in speed.hover
    plan = replace(PLAN, basis=read(Basis, {"mfu": {"low": 0.31, "expected": 0.4, "high": 0.52}}, "basis"))
    planned = numbers(facts_of(plan), page.state.value.view, 200.0)[1].hover
    assert "The plan expected 31–52%." in planned and "plan expected" not in speed.hover  # one of before says nothing
    silent = replace(page.state.value.view, devices={}, busy=(0.0, 0), memory_most=(0.0, 0.0))
    assert runchips.words(silent, "cloud") == "MFU 41%"
    assert "counts what the chips idle" not in runchips.explained(silent, "cloud")  # they told nothing of themselves


def test_over_several_machines_the_least_and_the_most_busy_are_told(page: RunViewModel, watched: Watched):
    watched.tell(*training(), chips(190, 0, 0.71, 9.1e9), chips(190, 1, 0.504, 6.4e8), chips(190, 2, 0.9, 1e9))
    page.open()
    speed = page.state.value.numbers[1]
    assert speed.more == "TPU busy 50–90%\nmemory 9.1 of 16.0 GB"
    assert "Of 3 machines worker 1 is least busy, 50%, and worker 2 most, 90%." in speed.hover


def test_afterwards_the_whole_run_counts(page: RunViewModel, watched: Watched):
    watched.tell(*training(), chips(150, 0, 0.6, 9.6e9), chips(190, 0, 0.8, 2e9))
    watched.tell(event("end", t=195, status="finished", reason="completed", steps=100, final={}))
    page.open()
    assert page.state.value.numbers[1].more == "TPU busy 70% on average\nmemory up to 9.6 of 16.0 GB"  # (0.6 + 0.8) / 2


def test_a_rehearsal_tells_no_figures_of_a_tpu_that_is_not_there():
    view = RunView(devices={0: {"duty_cycle": 0.22, "hbm_used_bytes": 4.1e8, "hbm_total_bytes": 1.72e10}})
    assert runchips.words(view, "cloud") == "TPU busy 22%, memory 410 MB of 17.2 GB"
    said = (runchips.words(view, "practice"), runchips.explained(view, "practice"), runchips.starving(view, "practice"))
    assert said == ("", "", "")
    assert "TPU" not in say_notice("input-bound", {"share": 0.34, "duty_cycle": 0.2, "place": "practice"}).meaning


def test_a_busy_tpu_is_not_said_to_wait():
    view = RunView(devices={0: {"duty_cycle": 0.97}})
    assert runchips.starving(view, "cloud") == ""
    assert "wait" not in runchips.explained(view, "cloud")
    assert say_notice("input-bound", {"share": 0.34, "duty_cycle": 0.97}).meaning.count("TPU") == 0
    idle = say_notice("input-bound", {"share": 0.34, "duty_cycle": 0.52})
    assert "The TPU itself computed 52% of the time." in idle.meaning


@pytest.mark.parametrize("place", ["cloud", "computer"])
def test_a_machines_word_that_it_was_told_to_stop_keeps_nobody_from_stopping_it(page: RunViewModel, place: str):
    page.open()
    state = replace(page.state.value, view=RunView(stopping=True))
    assert replace(state, facts=replace(state.facts, place=place)).may_stop is (place == "cloud")


def test_a_tick_shows_what_was_written_since(page: RunViewModel, watched: Watched):
    page.open()
    watched.tell(
        *training(),
        event("end", t=195, status="finished", reason="completed", steps=100, final={"val_accuracy": 0.987}),
    )
    page.tick()
    state = page.state.value
    assert state.over and state.pill == ("Finished", "ok")
    assert "98.7% of unseen pictures" in state.finding
    assert state.may_extend and not state.may_stop and not state.may_resume


@pytest.mark.parametrize(
    ("kept", "reason", "value", "context"),
    [
        (0.94, "completed", "94%", "saved model; best 98.7% at step 64"),
        (0.987, "early-stopped", "98.7%", "saved model"),
        (0.94, "discarded", "94%", "best 98.7% at step 64"),
        (0.94, "disk-full", "94%", "best 98.7% at step 64"),
    ],
)
def test_the_report_says_which_model_was_kept(kept: float, reason: str, value: str, context: str):
    view = RunView(
        last={"val_accuracy": 0.94},
        best={"val_accuracy": (0.987, 64)},
        end=End(1.0, Reason(reason).status, reason, steps=100, final={"val_accuracy": kept}, facts={}),
    )
    facts = facts_of(PLAN)
    quality = numbers(facts, view, 2.0)[2]
    assert (quality.value, quality.context) == (value, context)


def test_a_resumed_run_that_wrote_no_model_says_that_the_one_from_before_is_there(
    page: RunViewModel, watched: Watched, tmp_path: Path
):
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "model.keras").write_bytes(b"weights")
    (tmp_path / "result" / "model.json").write_text('{"format": 1, "trained": {"steps": 400}}')
    watched.tell(
        *training(), event("end", t=195, status="stopped", reason="money-limit", steps=807, facts={"result": False})
    )
    page.open()
    state = page.state.value
    for place in ("computer", "practice"):
        ended = replace(state, folder=tmp_path, facts=replace(state.facts, place=place)).ending
        assert ended is not None and ended.title == "The cost limit was reached before a new model was written"
        assert "The model of step 400 from before is still on this computer." in ended.meaning
        without = replace(state, folder=tmp_path / "other", facts=replace(state.facts, place=place)).ending
        assert without is not None and without.title == "The cost limit was reached before a model was written"


def test_a_killed_run_says_why_and_may_be_resumed(page: RunViewModel, watched: Watched, verbs: Verbs):
    watched.tell(*training(), event("end", t=195, status="failed", reason="trainer-killed", steps=40))
    page.open()
    state = page.state.value
    assert state.may_resume and state.ending is not None and state.ending.action
    assert state.stages[3].state == "failed"
    page.resume()
    assert verbs.done == [("resume", "hands-ab12")]


def test_a_failed_run_offers_its_next_step(page: RunViewModel, watched: Watched):
    asked: list[Any] = []
    page.planned_again = asked.append
    page.plan = replace(PLAN, job=PLAN.job.with_values({"training.learning_rate": 0.03}))
    page.state.set(replace(page.state.value, plan=page.plan))
    watched.tell(*training())
    page.open()
    assert page.state.value.repair is None  # it goes on
    watched.tell(event("end", t=195, status="failed", reason="loss-not-finite", steps=40))
    page.refresh()
    assert page.state.value.repair is not None
    assert page.state.value.repair.press == "Plan it with a rate of 0.003"
    page.repair()
    assert asked[0].training.learning_rate == 0.003
    assert page.plan.job.training.learning_rate == 0.03  # this run stays as it was


def test_a_failed_run_whose_cause_is_unknown_has_its_log_explained(page: RunViewModel, watched: Watched):
    asked: list[str] = []
    page.ask_explain = asked.append
    watched.tell(*training(), event("end", t=195, status="failed", reason="trainer-killed", steps=40))
    page.open()
    assert page.state.value.repair is not None and page.state.value.repair.press == "Explain its log"
    page.repair()
    assert len(asked) == 1


def test_a_copy_says_where_it_lies(page: RunViewModel, verbs: Verbs):
    told: list[tuple[str, str]] = []
    page.tell = lambda title, text="", **more: told.append((title, text))
    page.open()
    page.export(Path("/chosen"))
    assert told == [("A copy of hands is saved", "The model and its curves are in /chosen/hands-ab12.")]
    verbs.refuse = RunError("export-exists", folder="/chosen")
    page.export(Path("/chosen"))
    assert len(told) == 1 and page.state.value.problem is not None


def test_numbers_that_stand_still_are_called_old(page: RunViewModel, watched: Watched):
    watched.tell(*training()[:-2], event("metric", t=150, step=[3], loss=[1.0]))
    page.open()
    assert page.state.value.stale and page.state.value.silent_s == 50


def test_a_verb_that_is_refused_says_so_and_nothing_stays_busy(page: RunViewModel, watched: Watched, verbs: Verbs):
    watched.tell(*training())
    page.open()
    verbs.refuse = RunError("run-elsewhere", run="hands-ab12")
    page.stop()
    assert page.state.value.problem is not None and page.state.value.busy == ""


def test_an_answer_to_an_older_question_is_not_shown(page: RunViewModel, oracle: Oracle):
    page.open()
    page.ask({"image": "/a.png"})
    page.ask({"image": "/b.png"})
    (_, first), (_, second) = oracle.asked
    assert oracle.cancelled == 1
    first({"classes": [{"name": "one", "probability": 0.9}]})
    assert page.state.value.trial.classes == ()
    second({"classes": [{"name": "two", "probability": 0.8}]})
    assert page.state.value.trial.classes == (("two", 0.8),) and not page.state.value.trial.asking


def test_a_question_without_an_engine_is_answered_with_what_is_missing(page: RunViewModel):
    def no_engine() -> Oracle:
        raise NotReady("engine-not-ready", status="missing", problem="", folder="/e")

    page.trying.learned.make = no_engine
    page.open()
    page.ask({"image": "/a.png"})
    trial = page.state.value.trial
    assert trial.problem is not None and trial.problem.action and not trial.asking


def test_text_grows_as_it_is_written(page: RunViewModel, oracle: Oracle):
    page.open()
    page.ask({"prompt": "To be"})
    for answer in ({"text": ", or", "done": False}, {"text": " not", "done": True}):
        oracle.asked[-1][1](answer)
    trial = page.state.value.trial
    assert trial.text == ", or not" and not trial.asking


def test_closing_ends_the_watching_but_not_the_run(page: RunViewModel, watched: Watched, verbs: Verbs):
    page.open()
    page.close()
    assert watched.closed and verbs.done == []


def test_of_copies_that_follow_one_another_the_newest_is_told(page: RunViewModel, watched: Watched):
    watched.tell(*training())
    for step in (40, 60, 80):
        watched.tell(
            event("checkpoint", t=190 + step, step=step),
            event("metric", t=190.5 + step, step=[step], val_accuracy=[step / 100]),
        )
    watched.tell(event("phase", t=300, phase="saving"), event("checkpoint", t=301, step=100))
    page.open()
    copies = [line.text for line in page.state.value.happened if "Saved a checkpoint" in line.text]
    assert copies == ["Saved a checkpoint (step 100)", "Saved a checkpoint (step 80)"]


def test_a_best_that_reads_the_same_is_told_once(page: RunViewModel, watched: Watched):
    watched.tell(*training())
    for t, value in ((200, 0.9), (210, 0.9701), (220, 0.9704), (230, 0.98)):
        watched.tell(event("metric", t=t, step=[t], val_accuracy=[value]))
    page.open()
    told = [line.text.rpartition(" ")[2] for line in page.state.value.happened if "New best" in line.text]
    assert told == ["98.0%"]  # of those that follow one another the newest, checkpoints between them or not
    watched.tell(event("checkpoint", t=235, step=235), event("metric", t=236, step=[236], val_accuracy=[0.981]))
    watched.tell(event("notice", t=240, id="recompiling", level="warning", facts={}))
    watched.tell(event("metric", t=250, step=[250], val_accuracy=[0.9811]))
    watched.tell(event("metric", t=260, step=[260], val_accuracy=[0.99]))
    watched.tell(event("notice", t=270, id="recompiling", level="warning", facts={}))
    watched.tell(event("metric", t=280, step=[280], val_accuracy=[0.9902]))
    page.refresh()
    told = [line.text.rpartition(" ")[2] for line in page.state.value.happened if "New best" in line.text]
    assert told == ["99.0%", "98.1%"]


def test_a_best_of_a_text_is_told_as_its_curve_tells_it():
    plan = replace(PLAN, task="language-model")
    nats = ((0.0, 1.9), (1.0, math.log(5.2)))
    view = view_of(*((t, "metric", {"step": [t], "val_nats_per_token": [value]}) for t, value in nats))
    (line,) = what_happened(facts_of(plan), view)
    assert line.text == "New best validation perplexity: 5.20"


def test_a_report_tells_the_loss_at_the_start_not_how_long_ago(page: RunViewModel, watched: Watched):
    watched.tell(*training())
    for t in (200, 210, 220, 230):
        watched.tell(event("metric", t=t, step=[t], loss=[1.0 / t]))
    watched.tell(event("end", t=240, status="finished", reason="completed", steps=100))
    page.open()
    assert page.state.value.numbers[0].context.endswith("at the start")
