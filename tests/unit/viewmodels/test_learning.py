"""Learn: steps tick themselves by what really happens, are kept, and survive a damaged file and a lost run."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.viewmodels.test_rented_words import row
from tpu_studio.domain.learning.chapters import Step
from tpu_studio.viewmodels import learning_file
from tpu_studio.viewmodels.learning import AGAIN, FIRST, LearnViewModel, StepView
from tpu_studio.viewmodels.runrows import RunRow

START, LOSS, UNSEEN, USE = (f"{FIRST}/{name}" for name in ("start", "loss", "unseen", "use"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "learn.json"


@pytest.fixture
def model(path: Path) -> LearnViewModel:
    return LearnViewModel(path, clock=lambda: 7.0)


def run_row(run: str = "r1", **changes: object) -> RunRow:
    going_on = {"over": False, "finished": False, "tone": "accent"}
    return replace(row("computer", 0.0, 0.0), run=run, **{**going_on, **changes})  # type: ignore[arg-type]


def step(model: LearnViewModel, key: str) -> StepView:
    return next(one for view in model.state.value.chapters for one in view.steps if one.key == key)


FINISHED = {"over": True, "finished": True, "tone": "ok"}


def test_a_button_plans_and_ticks_nothing(model: LearnViewModel) -> None:
    acts: list[tuple[Step, tuple[str, ...]]] = []
    model.perform = lambda *told: acts.append(told)
    model.press(START)
    assert [(one.key, runs) for one, runs in acts] == [(START, ())]
    assert not step(model, START).done
    assert model.state.value.active == FIRST


def test_the_first_chapter_is_done_by_a_run_an_answer_and_a_try(model: LearnViewModel) -> None:
    model.runs_now([])
    model.started(START, "r1")
    assert [step(model, key).state for key in (START, LOSS, USE)] == ["done", "going", "ahead"]
    model.runs_now([run_row(**FINISHED)])
    assert step(model, LOSS).done
    model.answer(UNSEEN, 0)
    assert step(model, UNSEEN).wrong and not step(model, UNSEEN).done
    model.answer(UNSEEN, 1)
    assert step(model, UNSEEN).done and not step(model, UNSEEN).wrong
    model.happened("tried", run="another")
    assert not step(model, USE).done
    model.happened("tried", run="r1")
    first = model.state.value.first
    assert first is not None and first.is_over and first.word == "Done"


def test_it_is_taken_up_at_the_next_start(model: LearnViewModel, path: Path) -> None:
    model.started(START, "r1")
    model.press(START)
    again = LearnViewModel(path)
    assert again.state.value.active == FIRST
    assert [step(again, key).state for key in (START, LOSS)] == ["done", "unknown"]
    again.runs_now([run_row()])
    assert step(again, LOSS).state == "going"
    again.runs_now([run_row(**FINISHED)])
    assert step(LearnViewModel(path), LOSS).done


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([], "gone"),
        ([run_row(over=True, tone="bad")], "failed"),
        ([run_row(over=True, tone="neutral")], "stopped"),
    ],
)
def test_a_lost_run_says_so_and_offers_another(
    model: LearnViewModel, path: Path, rows: list[RunRow], state: str
) -> None:
    model.started(START, "r1")
    model = LearnViewModel(path)
    model.runs_now(rows)
    lost = step(model, LOSS)
    assert (lost.state, lost.button) == (state, AGAIN) and lost.note
    acts: list[str] = []
    model.perform = lambda step, runs: acts.append(step.key)
    model.press(LOSS)
    assert acts == [START]
    model.started(START, "r2")
    model.runs_now([*rows, run_row("r2", **FINISHED)])
    assert step(model, LOSS).done


def test_a_run_that_came_back_from_a_preemption_is_seen(model: LearnViewModel) -> None:
    model.started("cost-and-end/start", "r1")
    model.runs_now([run_row(resumed=False)])
    assert step(model, "cost-and-end/taken").state == "going"
    model.runs_now([run_row(resumed=True)])
    assert step(model, "cost-and-end/taken").done
    assert step(model, "cost-and-end/end").state == "going"


def test_a_goal_of_a_widget_ticks_its_own_step_alone(model: LearnViewModel) -> None:
    model.happened("widget", subject="padding/full")
    assert step(model, "batches-and-padding/full").done
    assert not step(model, "batches-and-padding/empty").done


def test_a_verdict_counts_for_the_job_that_it_is_about(model: LearnViewModel) -> None:
    model.happened("verdict", subject="own")
    assert step(model, "worth-it/yours").done and not step(model, "worth-it/small").done
    model.happened("verdict", subject="worth-it/small")
    assert step(model, "worth-it/small").done


def test_a_chapter_is_left_and_begun_anew(model: LearnViewModel) -> None:
    model.happened("widget", subject="padding/full")
    model.show("batches-and-padding")
    assert model.state.value.active == "batches-and-padding"
    model.leave()
    assert model.state.value.active == "" and step(model, "batches-and-padding/full").done
    model.begin_anew("batches-and-padding")
    assert not step(model, "batches-and-padding/full").done
    model.show("no-such-chapter")
    assert model.state.value.shown == ""


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '"x"', "\x00\x01", '{"deeds": ', "[" * 5000, '{"format": 1, "deeds": {"a": 1}}']
)
def test_a_damaged_file_begins_anew_and_is_kept(path: Path, text: str) -> None:
    path.write_text(text)
    kept, problem = learning_file.load(path)
    assert kept == learning_file.Kept()
    learning_file.save(path, learning_file.Kept(active=FIRST))
    assert learning_file.load(path)[0].active == FIRST
    assert path.with_name("learn.json.broken").exists() == bool(problem)


def test_single_damaged_deeds_are_left_out_and_a_newer_file_keeps_its_keys(path: Path) -> None:
    deeds = [7, {"step": 3}, {"step": START, "kind": "dreamt"}, {"step": START, "kind": "done", "at": "x", "run": 5}]
    path.write_text(json.dumps({"format": 9, "new": {"a": 1}, "active": 4, "put_off": "yes", "deeds": deeds}))
    kept, problem = learning_file.load(path)
    assert not problem
    assert [(one.key, one.kind, one.run, one.at) for one in kept.deeds] == [(START, "done", "", 0.0)]
    assert (kept.active, kept.put_off) == ("", False)
    learning_file.save(path, kept)
    tree = json.loads(path.read_text())
    assert (tree["format"], tree["new"]) == (9, {"a": 1})


@pytest.mark.parametrize("at", ["1" + "0" * 400, "-1" + "0" * 400, "1e400", "NaN", "true", "1e308"])
def test_a_time_that_no_clock_shows_is_left_out_and_its_deed_counts(path: Path, at: str) -> None:
    path.write_text(f'{{"deeds": [{{"step": "{START}", "kind": "done", "at": {at}}}]}}')
    kept, _ = learning_file.load(path)
    assert [(one.key, one.at) for one in kept.deeds] == [(START, 0.0)]


def test_a_disk_that_refuses_is_told_and_the_step_counts(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    model = LearnViewModel(tmp_path / "file" / "learn.json")
    model.happened("widget", subject="padding/full")
    assert step(model, "batches-and-padding/full").done
    assert model.state.value.problem is not None


Refuse = Callable[[int], None]


@pytest.fixture
def refuse_reading(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Call it with an errno, 0 to have it read again."""
    real = learning_file.read_json
    why = 0

    def read(*arguments: Any) -> Any:
        if why:
            raise OSError(why, os.strerror(why))
        return real(*arguments)

    def refuse(number: int) -> None:
        nonlocal why
        why = number

    monkeypatch.setattr(learning_file, "read_json", read)
    return refuse


@pytest.mark.parametrize("why", [errno.EMFILE, errno.EIO, errno.EACCES])
def test_a_file_that_cannot_be_read_for_a_moment_is_not_written_over(
    path: Path, why: int, refuse_reading: Refuse
) -> None:
    """It counted as damaged, and the next save wrote over all of it."""
    LearnViewModel(path, clock=lambda: 1.0).started(START, "r1")
    written = path.read_bytes()
    refuse_reading(why)
    model = LearnViewModel(path, clock=lambda: 2.0)
    assert "cannot be read now" in model.note and os.strerror(why) in model.note
    model.happened("widget", subject="padding/full")
    assert step(model, "batches-and-padding/full").done
    assert model.state.value.problem is not None and "cannot be read now" in model.state.value.problem.title
    assert path.read_bytes() == written
    refuse_reading(0)
    model.happened("widget", subject="padding/empty")
    assert model.state.value.problem is None and step(model, START).done
    keys = [START, "batches-and-padding/full", "batches-and-padding/empty"]
    assert [deed.key for deed in learning_file.load(path)[0].deeds] == keys
    assert [one.name for one in path.parent.iterdir()] == ["learn.json"]


def test_a_chapter_begun_anew_is_so_when_the_file_can_be_read_again(path: Path, refuse_reading: Refuse) -> None:
    LearnViewModel(path).happened("widget", subject="padding/full")
    refuse_reading(errno.EIO)
    model = LearnViewModel(path)
    model.put_off()
    refuse_reading(0)
    model.begin_anew("batches-and-padding")
    assert learning_file.load(path)[0] == learning_file.Kept(put_off=True)
    assert model.state.value.problem is None


def test_a_file_that_can_be_read_no_more_at_a_save_stays(path: Path, refuse_reading: Refuse) -> None:
    model = LearnViewModel(path)
    model.started(START, "r1")
    written = path.read_bytes()
    refuse_reading(errno.EIO)
    model.put_off()
    assert path.read_bytes() == written and model.state.value.problem is not None
    refuse_reading(0)
    model.put_off()
    assert learning_file.load(path)[0].put_off and model.state.value.problem is None


def test_a_second_damaged_file_is_kept_beside_the_first(path: Path) -> None:
    for number, name in enumerate(["learn.json.broken", "learn.json.broken-2", "learn.json.broken-3"]):
        path.write_text(f"{{damaged {number}")
        model = LearnViewModel(path)
        assert f"kept as {name}." in model.note
        model.put_off()
        assert path.with_name(name).read_text() == f"{{damaged {number}"
    assert path.with_name("learn.json.broken").read_text() == "{damaged 0"


def test_a_damaged_file_that_was_mended_meanwhile_counts(path: Path) -> None:
    path.write_text("{damaged")
    model = LearnViewModel(path)
    LearnViewModel(path.with_name("copy")).started(START, "r1")
    path.with_name("copy").replace(path)
    model.put_off()
    assert [deed.key for deed in learning_file.load(path)[0].deeds] == [START]


def test_what_a_newer_version_has_written_stays(path: Path) -> None:
    mine = {"step": START, "kind": "done", "run": "r1", "at": 1.0, "stars": 3}
    skipped = {"step": START, "kind": "skipped", "at": 2.0}
    deeds = [skipped, mine, "a word", {"step": UNSEEN, "kind": "done", "run": "", "at": 3.0, "stars": 1}]
    path.write_text(json.dumps({"format": 9, "active": {"chapter": FIRST}, "put_off": "later", "deeds": deeds}))
    model = LearnViewModel(path, clock=lambda: 7.0)
    model.happened("widget", subject="padding/full")
    tree = json.loads(path.read_text())
    new = {"step": "batches-and-padding/full", "kind": "done", "run": "", "at": 7.0}
    assert tree == {"format": 9, "active": {"chapter": FIRST}, "put_off": "later", "deeds": [*deeds, new]}
    model.show(FIRST)
    model.put_off()
    model.begin_anew(FIRST)
    tree = json.loads(path.read_text())
    assert tree == {"format": 9, "active": FIRST, "put_off": True, "deeds": [skipped, "a word", new]}


def test_a_file_that_a_newer_version_has_filled_is_not_written_over(path: Path) -> None:
    path.write_text(json.dumps({"new": "x" * (learning_file.LARGEST_BYTES - 20)}))
    written = path.read_bytes()
    model = LearnViewModel(path)
    model.put_off()
    assert model.state.value.problem is not None and model.state.value.problem.id == "learn-full"
    assert path.read_bytes() == written


def test_a_full_disk_says_what_it_says_everywhere(model: LearnViewModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(learning_file, "write_atomically", full)
    model.put_off()
    problem = model.state.value.problem
    assert problem is not None and problem.title == "The disk is full" and "Free some space" in problem.action


def test_a_chapter_that_is_over_does_not_go_along_at_the_next_start(model: LearnViewModel, path: Path) -> None:
    model.show("batches-and-padding")
    for goal in ("empty", "full"):
        model.happened("widget", subject=f"padding/{goal}")
    model.answer("batches-and-padding/split", 0)
    assert LearnViewModel(path).state.value.active == "batches-and-padding"
    model.answer("batches-and-padding/rate", 1)
    assert model.state.value.active == "batches-and-padding"  # its end is told first
    assert LearnViewModel(path).state.value.active == ""


def test_the_offer_on_home_is_put_off_for_good(model: LearnViewModel, path: Path) -> None:
    model.put_off()
    assert LearnViewModel(path).state.value.put_off


def told(model: LearnViewModel, key: str, *checks: str, looked: bool = True) -> None:
    model.plan_says(key, checks, lambda _: looked)


def test_a_mistake_is_seen_and_mended_on_the_plan_page(model: LearnViewModel) -> None:
    see, mend = "broken-jobs/shapes", "broken-jobs/shapes-mended"
    told(model, see)
    assert [step(model, key).state for key in (see, mend)] == ["ready", "ahead"]  # not checked yet
    told(model, see, "model-shapes", "advice-spot")
    assert [step(model, key).state for key in (see, mend)] == ["done", "ready"]
    told(model, see, "advice-spot", looked=False)  # changed, and not checked again
    assert not step(model, mend).done
    told(model, see, "shapes-meet")
    assert step(model, mend).done and not step(model, "broken-jobs/operation-mended").done


def test_a_job_that_is_opened_anew_is_not_mended_because_nothing_was_looked_at_yet(model: LearnViewModel) -> None:
    see, mend = "feeding/see", "feeding/mend"
    told(model, see, "advice-tpu-waits")
    model.press(mend)
    told(model, mend)
    assert not step(model, mend).done
    told(model, mend, "advice-tpu-waits")
    told(model, mend)
    assert step(model, mend).done


def test_what_the_plan_of_another_chapters_job_says_ticks_nothing(model: LearnViewModel) -> None:
    told(model, "broken-jobs/slow", "advice-tpu-waits")
    assert step(model, "broken-jobs/slow").done and not step(model, "feeding/see").done
    told(model, "", "advice-tpu-waits")
    assert not step(model, "feeding/see").done
