"""Home puts together what the engine and the runs know."""

from dataclasses import replace

import pytest

from tests.unit.viewmodels.test_runs import DONE, LIVE, WAITING
from tpu_studio.viewmodels.engine import Bar, EngineView, EngineViewModel
from tpu_studio.viewmodels.home import CloudKnown, Computer, HomeView, HomeViewModel, this_computer
from tpu_studio.viewmodels.runrows import row_of
from tpu_studio.viewmodels.runs import RunsView, RunsViewModel
from tpu_studio.workflow.background import InlineTasks

HERE = Computer(8, 16 * 2**30)


def test_this_computer_has_cores_and_says_so():
    assert this_computer().cores >= 1
    assert HERE.words == "8 cores, 17.2 GB memory"
    assert Computer(1, 0).words == "1 core"


@pytest.mark.parametrize(
    ("engine", "line"),
    [
        (EngineView("ready"), ("circle-check", "ok", "Ready · 8 cores, 17.2 GB memory")),
        (EngineView("missing"), ("package", "neutral", "8 cores, 17.2 GB memory · one-time setup first")),
        (EngineView("broken"), ("circle-alert", "warn", "The training engine needs repair")),
        (
            EngineView("missing", doing="install", bar=Bar(0.34, "", "")),
            ("package", "accent", "Training engine being created 34%"),
        ),
    ],
)
def test_the_ready_line_is_honest_about_the_engine(engine, line):
    assert HomeView(HERE, engine=engine).ready_line == line


def test_the_strip_shows_what_trains_before_what_waits_and_at_most_two():
    rows = tuple(row_of(known) for known in (WAITING, LIVE, replace(WAITING, run="x-1", created=1.0), DONE))
    assert [row.name for row in HomeView(HERE, runs=RunsView(rows)).live] == ["hands", "plays"]


def test_home_is_empty_only_when_the_list_was_read_and_is():
    assert not HomeView(HERE).empty
    assert HomeView(HERE, runs=RunsView(())).empty


def test_changes_of_the_engine_and_the_runs_reach_home():
    engine, runs = EngineViewModel(InlineTasks()), RunsViewModel(InlineTasks())
    home = HomeViewModel(engine, runs)
    engine.state.set(EngineView("ready"))
    runs.state.set(RunsView((row_of(DONE),)))
    assert home.state.value.engine.ready and home.state.value.recent[0].name == "digits"


SIGNED_IN = CloudKnown(True, "ada@example.org", "flowers-lab", prepared=True)


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (HomeView(HERE), "Sign in to Google first"),
        (HomeView(HERE, known=CloudKnown(True)), "Choose a project first"),
        (HomeView(HERE, known=CloudKnown(True, project="flowers-lab")), "Create the storage bucket first"),
        (HomeView(HERE, known=SIGNED_IN), ""),
        (HomeView(HERE, known=SIGNED_IN, left=2, failing=("quota", "billing")), "Turn billing on first"),
        (HomeView(HERE, known=SIGNED_IN, left=1, failing=("quota",)), ""),  # another area may still lend one
    ],
)
def test_what_the_account_needs_first_is_what_is_known_and_no_more(view, words):
    assert view.account_missing == words


def test_the_shipped_examples_are_offered():
    names = [
        example.name
        for example in HomeViewModel(EngineViewModel(InlineTasks()), RunsViewModel(InlineTasks())).state.value.examples
    ]
    assert names == ["digits", "sign-digits", "diamonds", "shakespeare"]


def test_a_new_practice_account_is_to_be_set_up_before_it_rehearses_a_run():
    ready = HomeView(HERE, engine=EngineView(status="ready"))
    assert (ready.practice.words, ready.practice.leads_to) == ("Ready · no sign-in needed", "plan")
    bare = replace(ready, known=CloudKnown(practice_bare=True))
    assert bare.practice.words == "A new account · set it up first" and bare.practice.leads_to == "account"
    assert (ready.practice_missing, bare.practice_missing) == ("", "Set up the practice account first")
