"""The window around the pages: where to go, what an opened path leads to, notices, and finding things."""

import pytest

from tpu_studio.viewmodels.problem import problem_of
from tpu_studio.viewmodels.shell import NOTICES_AT_MOST, Command, ShellViewModel, found
from tpu_studio.wire.errors import RunError


def test_it_begins_at_home_and_goes_where_it_is_told():
    shell = ShellViewModel()
    assert shell.state.value.page == "home"
    shell.go("settings")
    assert shell.state.value.section == "settings"


def test_a_run_belongs_to_runs_and_a_plan_to_new_run():
    shell = ShellViewModel()
    shell.open_run("digits-k3f7", "digits")
    assert (shell.state.value.page, shell.state.value.section, shell.state.value.run_name) == ("run", "runs", "digits")
    shell.new_run()
    assert (shell.state.value.page, shell.state.value.section) == ("plan", "new")


def test_back_walks_the_way_that_was_come():
    shell = ShellViewModel()
    shell.go("runs")
    shell.open_run("a-1111")
    shell.open_run("b-2222")
    shell.go("settings")
    seen = []
    for _ in range(5):
        shell.back()
        seen.append((shell.state.value.page, shell.state.value.run))
    assert seen == [("run", "b-2222"), ("run", "a-1111"), ("runs", "a-1111"), ("home", "a-1111"), ("home", "a-1111")]


def test_each_new_run_is_a_request_of_its_own_even_when_the_plan_page_is_shown_already():
    shell = ShellViewModel()
    shell.new_run()
    first = shell.state.value.request.number
    shell.new_run()
    assert shell.state.value.request.number != first


def test_a_job_and_data_open_on_the_plan_page(tmp_path):
    shell = ShellViewModel()
    (tmp_path / "a.tpujob").write_text("format = 1")
    shell.open_path(tmp_path / "a.tpujob")
    assert shell.state.value.page == "plan"
    assert shell.state.value.request.job == tmp_path / "a.tpujob"
    (tmp_path / "b.csv").write_text("x,y")
    shell.open_path(str(tmp_path / "b.csv"))
    assert (shell.state.value.request.data, shell.state.value.request.data_kind) == (tmp_path / "b.csv", "table")


def test_a_run_folder_that_was_handed_over_at_the_start_is_opened_once_the_runs_are_known(tmp_path):
    shell, opened = ShellViewModel(), []
    (tmp_path / "plan.json").write_text("{}")
    shell.open_path(tmp_path)
    assert opened == []
    shell.runs_ready(opened.append)
    shell.open_path(tmp_path)
    assert opened == [tmp_path, tmp_path]


def test_what_cannot_be_opened_is_said_and_the_page_stays(tmp_path):
    shell = ShellViewModel()
    shell.go("runs")
    shell.open_path(tmp_path / "gone.csv")
    assert shell.state.value.page == "runs"
    assert "not there any more" in shell.state.value.notices[0].text


def test_notices_are_few_and_the_latest_stay():
    shell = ShellViewModel()
    for number in range(NOTICES_AT_MOST + 3):
        shell.notify(str(number))
    assert [notice.title for notice in shell.state.value.notices] == ["3", "4", "5", "6"]
    shell.close_notice(shell.state.value.notices[0].number)
    assert [notice.title for notice in shell.state.value.notices] == ["4", "5", "6"]


def test_the_same_words_again_do_not_fill_the_window_but_each_undo_stays():
    shell = ShellViewModel()
    for _ in range(3):
        shell.notify("The plan cannot be read", "It is damaged.", lasting=True)
    assert len(shell.state.value.notices) == 1
    for _ in range(2):
        shell.notify("Deleted", action="Undo", act=lambda: None)
    assert [notice.title for notice in shell.state.value.notices][1:] == ["Deleted", "Deleted"]


def test_a_problem_is_a_lasting_notice_with_words_for_people_and_details_for_support():
    shell = ShellViewModel()
    shell.tell_problem(problem_of(RunError("disk-full", folder="/x", raw="[Errno 28]")))
    notice = shell.state.value.notices[0]
    assert notice.lasting and notice.tone == "bad" and "[Errno 28]" in notice.details
    assert "Errno" not in notice.title + notice.text


def test_a_fault_of_the_program_never_shows_its_traceback_outside_the_details():
    try:
        raise KeyError("nonsense with hf_" + "a1B2" * 9)
    except KeyError as error:
        problem = problem_of(error)
    assert "nonsense with …" in problem.details and "a1B2a1B2" not in problem.details
    assert "Traceback" in problem.details and "Traceback" not in problem.title + problem.text
    assert "nothing was charged" in problem.text


@pytest.mark.parametrize(
    ("typed", "best"),
    [
        ("set", "Settings"),
        ("new", "New run"),
        ("train", "New run"),
        ("dark", "Switch light and dark"),
        ("digits fin", "digits"),
        ("stg", "Settings"),
    ],
)
def test_a_few_letters_find_the_page_run_or_command(typed, best):
    def nothing() -> None: ...

    commands = [
        Command("New run", "Run", "plus", nothing, also="train start"),
        Command("Settings", "Page", "settings", nothing),
        Command("digits", "Run, finished", "activity", nothing),
        Command("digits-2", "Run, failed", "activity", nothing),
        Command("Switch light and dark", "Command", "moon", nothing),
    ]
    assert found(commands, typed)[0].title == best
    assert found(commands, "zebra") == []
    assert len(found(commands, "", 3)) == 3


def test_letters_count_within_a_word_of_the_title_only() -> None:
    def nothing() -> None: ...

    also = "a long hint with dark and all the letters of help in it"
    names = ("gedicht", "shapes", "digits", "Batch size")
    commands = [Command(name, "Run, finished", "activity", nothing, also=also[:6]) for name in names]
    assert found(commands, "help") == [] and found(commands, "drk") == []
    assert [one.title for one in found(commands, "dgts")] == ["digits"]
    assert [one.title for one in found(commands, "btch")] == ["Batch size"]
