"""The list of runs: rows in words, sorting and finding, deleting with undo, and what is told when a run ends."""

import datetime
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.plans import plan
from tests.fakes.tasks import LaterTasks
from tpu_studio.domain import figures
from tpu_studio.domain.mark import noted, tagged
from tpu_studio.viewmodels import runs
from tpu_studio.viewmodels.runrows import row_of
from tpu_studio.viewmodels.runs import RunsView, RunsViewModel
from tpu_studio.wire.errors import NotReady, RunError
from tpu_studio.workflow.background import InlineTasks
from tpu_studio.workflow.bringing import Imported
from tpu_studio.workflow.ports import RunSummary
from tpu_studio.workflow.trash import Deleted

DONE = RunSummary(
    "digits-k3f7",
    "digits",
    Path("/runs/digits-k3f7"),
    1000.0,
    model="small-cnn",
    framework="jax",
    status="finished",
    reason="completed",
    over=True,
    step=100,
    steps_planned=100,
    key_metric=("val_accuracy", 0.986),
    losses=(2.3, 0.4),
    duration_s=29.0,
)
LIVE = replace(
    DONE,
    run="hands-2222",
    name="hands",
    created=2000.0,
    status="training",
    reason="",
    over=False,
    alive=True,
    step=62,
    key_metric=("val_accuracy", 0.5),
    duration_s=100.0,
)
WAITING = replace(
    LIVE, run="plays-3333", name="plays", created=3000.0, status="queued", step=0, key_metric=None, losses=()
)


class FakeRuns:
    """Runs in a list; deleting and bringing back work, *refuses* raises for that run."""

    def __init__(self, *rows, refuses=None):
        self.rows, self.trash, self.refuses, self.calls = list(rows), [], refuses or {}, []

    def list(self, told):
        for read in range(len(self.rows)):
            told(read, len(self.rows))
        return list(self.rows)

    def reconcile(self):
        self.calls.append("reconcile")
        self.rows = [
            replace(row, status="failed", reason="guardian-gone", over=True) if not row.over and not row.alive else row
            for row in self.rows
        ]

    def delete(self, run):
        if run in self.refuses:
            raise self.refuses[run]
        gone = next(row for row in self.rows if row.run == run)
        self.rows.remove(gone)
        self.trash.append(gone)

    def undo_delete(self, run):
        back = next(row for row in self.trash if row.run == run)
        self.trash.remove(back)
        self.rows.append(back)

    def deleted(self):
        return [Deleted(row.run, row.name, 4000.0) for row in reversed(self.trash)]

    def empty_trash(self):
        count = len(self.trash)
        self.trash.clear()
        return count

    def extend(self, run, epochs):
        if "extend" in self.refuses:
            raise self.refuses.pop("extend")
        self.calls.append(("extend", run, epochs))

    def stop(self, run, keep=True):
        self.calls.append(("stop", run, keep))

    def rename(self, run, name):
        self.rows = [replace(row, name=name) if row.run == run else row for row in self.rows]
        return name

    def _mark(self, run, how):
        before = next(row for row in self.rows if row.run == run).mark
        self.rows = [replace(row, mark=how(row.mark)) if row.run == run else row for row in self.rows]
        return before, how(before)

    def tag(self, run, add=(), remove=()):
        return self._mark(run, lambda mark: tagged(mark, add, remove))

    def note(self, run, text):
        return self._mark(run, lambda mark: noted(mark, text))

    def star(self, run, on=True):
        return self._mark(run, lambda mark: replace(mark, star=on))

    def shown_plan(self, run):
        return plan(name=next(row.name for row in self.rows if row.run == run))

    def resume(self, run):
        self.calls.append(("resume", run))

    def import_folder(self, folder, *, replace=False):
        if "import" in self.refuses and not replace:
            raise self.refuses["import"]
        return Imported(self.rows[0].run, replaced="digits-b2b2-2") if replace else self.rows[0]

    def export(self, run, destination):
        return destination / run


def watched(runs, clock=None):
    model = RunsViewModel(InlineTasks(), clock or (lambda: 5000.0))
    told = []
    model.tell = lambda title, text="", **more: told.append((title, text, more))
    model.tell_problem = lambda problem: told.append((problem.title, problem.text, {"problem": problem.id}))
    model.connect(runs)
    return model, told


def test_until_the_first_list_has_come_it_is_loading_and_then_rows_are_newest_first():
    assert RunsView().loading
    model, _ = watched(FakeRuns(DONE, WAITING, LIVE))
    assert [row.name for row in model.state.value.rows] == ["plays", "hands", "digits"]


@pytest.mark.parametrize(
    ("known", "status", "tone"),
    [
        (DONE, "Finished", "ok"),
        (LIVE, "Training 62%", "accent"),
        (WAITING, "Waiting its turn", "accent"),
        (replace(DONE, status="stopped", reason="stopped-by-user"), "Stopped by you", "neutral"),
        (replace(DONE, status="stopped", reason="time-limit"), "Stopped by a limit", "warn"),
        (replace(DONE, status="failed", reason="out-of-memory"), "Failed", "bad"),
        (replace(DONE, problem="plan-unreadable"), "Cannot be read", "bad"),
    ],
)
def test_the_status_of_a_run_is_a_word_and_a_tone(known, status, tone):
    row = row_of(known)
    assert (row.status, row.tone) == (status, tone)


def test_a_row_says_model_framework_place_figure_time_and_cost():
    row = row_of(DONE, now=DONE.created + 60.0)
    assert (row.subtitle, row.place, row.metric, row.metric_name, row.time, row.cost) == (
        "Small CNN, JAX",
        "This computer",
        "98.6%",
        "accuracy",
        "29 s",
        "$0.00",
    )
    assert row.when == f"today {figures.clock(DONE.created)}"
    assert row.spoken == (
        f"digits, Small CNN, JAX, Finished, This computer, accuracy 98.6%, time 29 s, cost $0.00, started {row.when}"
    )


def test_the_list_offers_to_go_on_with_no_rented_run_of_somebody_elses(tmp_path):
    (tmp_path / "owner.json").write_text('{"install":"ours","imported":true}')
    mine = replace(DONE, place="cloud", reason="stopped-by-user", folder=Path("/no"))
    theirs = replace(mine, folder=tmp_path)
    assert row_of(mine).may_extend and row_of(mine).may_resume
    assert not row_of(theirs).may_extend and not row_of(theirs).may_resume


def test_a_run_that_waits_for_its_turn_has_no_time_yet():
    assert row_of(replace(WAITING, duration_s=0.0)).time == "–"


def test_a_text_model_is_told_by_its_perplexity_as_on_its_page():
    row = row_of(replace(DONE, key_metric=("val_nats_per_token", 2.4849)))
    assert (row.metric, row.metric_name) == ("12.0", "perplexity")
    assert row.metric_value == 2.4849


def test_a_damaged_run_keeps_its_row_and_says_why():
    row = row_of(replace(DONE, problem="plan-unreadable", model="", framework=""))
    assert row.subtitle and not row.live and not row.may_extend
    assert (row.place, row.cost) == ("Unknown", "–")  # it may have been rented


def test_what_goes_on_is_what_trains_and_what_waits_in_the_order_of_their_turn():
    view = RunsView(tuple(row_of(known) for known in (WAITING, LIVE, DONE)))
    assert [row.name for row in view.going_on] == ["hands", "plays"]
    assert [row.name for row in view.live] == ["hands"]


def test_rows_are_found_by_any_words_in_any_order():
    view = RunsView(tuple(row_of(known) for known in (WAITING, LIVE, DONE)))
    assert [row.name for row in view.shown("jax finished")] == ["digits"]
    assert [row.name for row in view.shown("JAX small")] == ["plays", "hands", "digits"]
    assert view.shown("tensorflow") == ()


def test_a_row_is_put_into_words_once_a_search(monkeypatch):
    """Thirty thousand words that were pasted made the words of each row thirty thousand times."""
    view, asked = RunsView(tuple(row_of(known) for known in (WAITING, LIVE, DONE))), []
    words = runs._searched
    monkeypatch.setattr(runs, "_searched", lambda row: asked.append(row.run) or words(row))
    assert len(view.shown("a s " * 10_000)) == 3 and len(asked) == 3
    assert len(view.shown("")) == 3 and len(asked) == 3


def test_sorting_puts_unknown_values_last_whichever_way_it_goes():
    view = RunsView(tuple(row_of(known) for known in (WAITING, LIVE, DONE)))
    assert [row.name for row in view.shown("", "metric", True)] == ["digits", "hands", "plays"]
    assert [row.name for row in view.shown("", "metric", False)] == ["hands", "digits", "plays"]
    assert [row.name for row in view.shown("", "name", False)] == ["digits", "hands", "plays"]


def test_a_deleted_run_can_be_brought_back_from_the_notice():
    runs = FakeRuns(DONE)
    model, told = watched(runs)
    model.delete(["digits-k3f7"])
    assert model.state.value.rows == ()
    title, _, more = told[-1]
    assert title == "digits is deleted" and more["action"] == "Undo"
    more["act"]()
    assert [row.name for row in model.state.value.rows] == ["digits"]
    assert told[-1][0] == "digits is back"


def test_a_deleted_run_stands_in_the_list_of_the_deleted_until_it_is_brought_back():
    """The notice is gone after six seconds; the run is not."""
    model, told = watched(FakeRuns(DONE))
    assert model.state.value.deleted == ()
    model.delete([DONE.run])
    assert [one.name for one in model.state.value.deleted] == [DONE.name]
    assert "kept for a week under “Deleted”" in told[-1][1]
    model.bring_back(model.state.value.deleted[0])
    assert (model.state.value.deleted, [row.run for row in model.state.value.rows]) == ((), [DONE.run])


def test_what_was_deleted_is_removed_for_good_when_asked_to():
    model, told = watched(FakeRuns(DONE, LIVE))
    model.delete([DONE.run])
    model.empty_trash()
    assert model.state.value.deleted == () and told[-1][0] == "1 run is removed for good"


def test_several_are_deleted_and_brought_back_together():
    runs = FakeRuns(DONE, replace(DONE, run="b-2222", name="b"))
    model, told = watched(runs)
    model.delete(["digits-k3f7", "b-2222"])
    assert told[-1][0] == "2 runs are deleted"
    told[-1][2]["act"]()
    assert len(model.state.value.rows) == 2


def test_when_one_of_several_refuses_the_others_can_still_be_brought_back():
    runs = FakeRuns(DONE, LIVE, refuses={"hands-2222": RunError("run-goes-on", run="hands-2222")})
    model, told = watched(runs)
    model.delete(["digits-k3f7", "hands-2222"])
    assert told[0][0] == "digits is deleted" and told[0][2]["action"] == "Undo"
    assert told[1][2] == {"problem": "run-goes-on"}


def test_the_end_of_a_run_that_was_seen_going_on_is_told_once():
    runs = FakeRuns(LIVE)
    model, told = watched(runs)
    assert told == []
    runs.rows = [replace(DONE, run=LIVE.run, name="hands")]
    model.look()
    model.look()
    assert [(title, more["tone"]) for title, _, more in told] == [("hands: finished", "ok")]


def test_the_end_of_the_run_whose_page_is_shown_needs_no_notice():
    runs = FakeRuns(LIVE)
    model, told = watched(runs)
    model.watched = lambda: LIVE.run
    runs.rows = [replace(DONE, run=LIVE.run)]
    model.look()
    assert told == []


def test_runs_that_were_over_at_the_start_are_not_told():
    _, told = watched(FakeRuns(DONE))
    assert told == []


def test_the_time_left_follows_from_the_pace_that_was_seen():
    now = [5000.0]
    runs = FakeRuns(replace(LIVE, step=20))
    model, _ = watched(runs, lambda: now[0])
    assert model.state.value.rows[0].left == ""
    now[0] += 10
    runs.rows = [replace(LIVE, step=40)]  # 20 of 100 steps in 10 s: 60 more take 30 s
    model.look()
    assert model.state.value.rows[0].left == "about 30 s left"


def test_the_list_is_read_every_second_while_a_run_goes_on_and_seldom_otherwise():
    now = [5000.0]
    runs = FakeRuns(LIVE)
    model, _ = watched(runs, lambda: now[0])
    now[0] += 1.1
    assert model.due
    runs.rows = [DONE]
    model.look()
    now[0] += 1.1
    assert not model.due
    now[0] += 4
    assert model.due


def test_a_first_list_that_takes_long_says_how_far_it_is_and_is_not_read_again_at_once():
    now, tasks, seen = [5000.0], LaterTasks(), []
    model = RunsViewModel(tasks, lambda: now[0])
    model.connect(FakeRuns(LIVE, DONE, WAITING))
    model._take(1, 3)
    model.tick()
    assert model.state.value.reading is None  # nobody wonders yet
    now[0] += 2
    model.tick()
    assert model.state.value.reading == (1, 3)
    model.state.subscribe(seen.append, now=False)
    tasks.finish()
    now[0] += 19
    model.tick()
    assert len(seen) == 1 and len(seen[0].rows) == 3 and not tasks.waiting  # reading took 2 s: 20 s of rest
    now[0] += 1
    model.tick()
    assert len(tasks.waiting) == 1


def test_an_action_that_needs_the_engine_asks_for_it_and_goes_on_once_it_is_there():
    runs = FakeRuns(DONE, refuses={"extend": NotReady("engine-not-ready", status="missing")})
    model, told = watched(runs)
    asked, opened = [], []
    model.engine_needed, model.opened = asked.append, opened.append
    model.extend("digits-k3f7", 2.0)
    assert told == [] and len(asked) == 1 and opened == []
    asked[0]()
    assert runs.calls == [("extend", "digits-k3f7", 2.0)] and opened == ["digits-k3f7"]


def test_a_list_that_cannot_be_read_is_a_problem_with_words_and_the_old_rows_stay():
    runs = FakeRuns(DONE)
    model, _ = watched(runs)
    runs.list = lambda: (_ for _ in ()).throw(PermissionError(13, "Permission denied", "/runs"))
    model.look()
    assert model.state.value.problem is not None and len(model.state.value.rows) == 1


def test_a_run_that_nobody_guards_any_more_is_given_its_end_while_the_window_is_open():
    model, _ = watched(FakeRuns(replace(LIVE, alive=False)))
    assert [row.status for row in model.state.value.rows] == ["Failed"]


def test_guarded_runs_are_left_alone():
    runs = FakeRuns(LIVE, DONE)
    watched(runs)
    assert runs.calls == []


def test_before_the_runs_are_known_an_action_says_one_moment():
    model = RunsViewModel(InlineTasks())
    told = []
    model.tell = lambda title, text="": told.append(title)
    model.stop("digits-k3f7")
    assert told == ["One moment"]


def test_a_run_counts_as_resumed_only_once_a_later_attempt_trains():
    def row(attempt: int, status: str, over: bool = False):
        return row_of(RunSummary("r", "r", Path("/r"), 0.0, attempt=attempt, status=status, over=over))

    assert [row(2, "queued").resumed, row(2, "training").resumed, row(1, "training").resumed] == [False, True, False]
    assert row(2, "finished", over=True).resumed and not row(2, "failed", over=True).resumed
    assert row(1, "finished", over=True).finished and not row(1, "stopped", over=True).finished


def test_a_notebook_that_waits_for_its_zip_takes_nobodys_turn():
    notebook = replace(LIVE, run="digits-9999", place="colab", status="queued")
    model, _ = watched(FakeRuns(LIVE, notebook))
    assert [row.run for row in model.state.value.going_on] == [LIVE.run]
    assert model.state.value.row("digits-9999").may_stop  # it can be given up all the same


def test_a_run_that_is_still_being_read_is_told_as_that_and_its_old_end_is_no_notice():
    part = replace(LIVE, alive=False, unread=1000)
    runs = FakeRuns(part)
    model, told = watched(runs)
    (row,) = model.state.value.rows
    assert (row.status, row.tone, row.live, row.may_stop, row.over) == ("Being read", "neutral", False, False, False)
    assert not row_of(replace(DONE, unread=1000)).may_extend
    runs.rows = [replace(LIVE, alive=False, over=True, status="finished", reason="completed")]
    model.look()
    assert model.state.value.rows[0].status == "Finished" and told == []
    assert row_of(replace(LIVE, unread=1000)).live  # a guardian guards it


def test_runs_are_found_by_the_day_they_were_started():
    now = datetime.datetime(2026, 11, 27, 15, 0).timestamp()
    older = replace(DONE, run="plays-old", created=datetime.datetime(2025, 3, 9, 8, 0).timestamp())
    before = replace(DONE, run="plays-day", created=now - 86_400)
    model, _ = watched(FakeRuns(replace(DONE, created=now - 60), before, older), clock=lambda: now)
    view = model.state.value
    assert [row.when for row in view.rows] == ["today 14:59", "yesterday 15:00", "9 Mar 2025"]
    assert [row.run for row in view.shown("yesterday")] == ["plays-day"]
    assert [row.run for row in view.shown("2025-03-09")] == [row.run for row in view.shown("9 Mar")] == ["plays-old"]


def test_a_run_is_renamed_and_begins_the_next_one_from_its_row():
    model, _ = watched(FakeRuns(DONE, LIVE))
    model.rename("digits-k3f7", "with warm-up")
    assert model.state.value.row("digits-k3f7").name == "with warm-up"
    begun = []
    model.planned_again = begun.append
    model.plan_again("hands-2222")  # it goes on
    assert [job.name for job in begun] == ["hands"]


def test_runs_are_found_by_their_tags_and_notes_and_those_with_a_star_alone():
    model, told = watched(FakeRuns(DONE, LIVE))
    model.tag("digits-k3f7", ["Baseline"])
    model.note("digits-k3f7", "falls apart\nabove 0.01")
    model.star("hands-2222", True)
    view = model.state.value
    assert [row.run for row in view.shown("baseline")] == [row.run for row in view.shown("ABOVE")] == ["digits-k3f7"]
    assert [row.run for row in view.shown(starred=True)] == ["hands-2222"]
    assert view.shown("baseline", starred=True) == ()
    assert view.shown("", "star", True)[0].run == "hands-2222"
    assert view.tags == ("Baseline",) and told == []
    assert "tags Baseline" in view.row("digits-k3f7").spoken and "note: falls apart" in view.row("digits-k3f7").spoken
    assert "starred" in view.row("hands-2222").spoken


def test_a_tag_that_was_taken_and_a_note_that_was_changed_come_back_by_a_button():
    model, told = watched(FakeRuns(DONE, LIVE))
    model.tag("digits-k3f7", ["a", "b"])
    model.tag("digits-k3f7", ["c"], ["a"])
    title, _, more = told.pop()
    assert title == "The tag “a” is removed" and more["action"] == "Undo"
    more["act"]()
    assert model.state.value.row("digits-k3f7").mark.tags == ("b", "c", "a")
    model.note("digits-k3f7", "one")
    assert told == []
    model.note("digits-k3f7", "")
    title, _, more = told.pop()
    assert title == "The note is removed"
    more["act"]()
    assert model.state.value.row("digits-k3f7").mark.note == "one" and told == []


def test_a_copy_that_differs_from_the_run_here_takes_its_place_by_a_button_and_the_other_comes_back_by_one():
    facts = {"here_step": 73, "there_step": 132, "here_model": "damaged", "there_model": "whole"}
    runs = FakeRuns(DONE, refuses={"import": RunError("import-differs", run="digits-k3f7", **facts)})
    runs.trash.append(replace(DONE, run="digits-b2b2-2"))
    model, told = watched(runs)
    opened = []
    model.opened = opened.append
    model.open_folder(Path("/stick/digits-k3f7"))
    title, text, more = told.pop()
    assert "digits-k3f7" in title and more["action"] == "Take the copy" and opened == []
    assert "ends at step 73, the copy at step 132. Its model is damaged here, and is whole in the copy." in text
    more["act"]()
    title, text, more = told.pop()
    assert title == "The copy is here now" and "digits-b2b2-2" in text and opened == ["digits-k3f7"]
    more["act"]()
    assert [row.run for row in runs.rows] == ["digits-k3f7", "digits-b2b2-2"]


def test_on_a_full_disk_the_row_of_a_rented_run_says_so_and_those_of_others_do_not():
    rented = replace(LIVE, place="practice", settled=False)
    assert (row_of(rented).status, row_of(rented, disk_full=True).status) == ("Training 62%", "Disk full here")
    assert row_of(rented, disk_full=True).tone == "bad"
    for other in (LIVE, DONE, replace(rented, over=True, status="finished", reason="completed", settled=True)):
        assert row_of(other, disk_full=True).status == row_of(other).status


def test_the_list_looks_at_the_disk_that_the_runs_lie_on(monkeypatch):
    rented = replace(LIVE, place="practice", settled=False)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(1 << 40, 0, 170 << 10))
    model, _ = watched(FakeRuns(rented))
    assert [row.status for row in model.state.value.rows] == ["Disk full here"]
