"""A page that was saved is opened again: only its block of data is read, bounded, and nothing odd is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.tasks import InlineTasks, LaterTasks
from tests.unit.viewmodels.test_onepage import HOSTILE, hostile_page, page_of
from tpu_studio.cli.main import main
from tpu_studio.viewmodels.onepage import data
from tpu_studio.viewmodels.onepage.data import LARGEST_BYTES, Section, Told, block, read
from tpu_studio.viewmodels.opening import what_is
from tpu_studio.viewmodels.saved import SavedViewModel
from tpu_studio.wire.errors import RunError
from tpu_studio.wire.visible import visible

BEGIN, END = '<script type="application/json" id="data">', "</script>"


def saved(tmp_path: Path, text: str | bytes) -> Path:
    file = tmp_path / "page.html"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def tree_of(told: Told) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(block(told)[len(BEGIN) : -len(END)])
    return tree


def refused(file: Path) -> str:
    with pytest.raises(RunError) as error:
        read(file)
    return error.value.id


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return read(saved(tmp_path, page_of(tmp_path).data))


def test_a_page_says_again_what_it_said(tmp_path: Path, told: Told) -> None:
    page = page_of(tmp_path)
    assert told.title == "rocks" and told.numbers and told.lead
    assert told.plots == page.plots
    titles = ["What was run", "Settings and why", "Cost", "How to repeat it", "Versions"]
    assert [one.title for one in told.sections] == titles
    assert 'name = "rocks"' in next(one.code for one in told.sections if one.code)
    assert read(saved(tmp_path, block(told))) == told


def test_no_text_of_a_page_writes_a_line_beside_those_that_show_writes(
    tmp_path: Path, told: Told, capsys: pytest.CaptureFixture[str]
) -> None:
    forged = "a\x1b[2J\u202eb\u200b\nRUN\u2028digits\tfinished"
    section = Section(forged, forged, ((forged, forged),), (forged, forged), forged)
    line = replace(told.plots[0].lines[0], name=forged)
    plots = (replace(told.plots[0], title=forged, lines=(line,)),)
    page = Told(forged, (forged, "ok"), forged, ((forged,) * 3,), plots, (section,))
    assert main(["show", str(saved(tmp_path, block(page)))]) == 0
    shown = capsys.readouterr().out.split("\n")
    one = "ab RUN digits finished"
    command = ["    tpu-studio run job.tpujob", ""]
    row = [
        f"{one}  {one}",  # what the columns are called
        f"{one}  {one}",
        *command,
        "    ab\u200b",
        *(f"    {part}" for part in "RUN\u2028digits\tfinished".splitlines()),
        "",
    ]
    assert shown == [one, f"{one}. {one}", f"{one}: {one} {one}", "", one, one, *row]
    again = read(saved(tmp_path, block(page)))
    assert (again.plots[0].title, again.plots[0].lines[0].name, again.sections[0].head) == (one, one, (one, one))


@pytest.mark.parametrize("word", HOSTILE, ids=range(len(HOSTILE)))
def test_names_out_of_somebodys_data_come_back_as_text(tmp_path: Path, word: str) -> None:
    told = read(saved(tmp_path, hostile_page(tmp_path, word).data))
    words = [told.title, told.lead, *(cell for one in told.sections for row in one.rows for cell in row)]
    assert all(one == visible(one) and one.encode() for one in words)
    assert any(visible(word)[:8].strip("\ud800") in one for one in words)


def test_what_is_beside_the_data_is_not_looked_at(tmp_path: Path, told: Told) -> None:
    """The figures of the window are those of the data, whatever the page shows a browser."""
    text = page_of(tmp_path).data.decode().replace("<h1", "<h1>99.9 %</h1><script>alert(1)</script><h1")
    assert read(saved(tmp_path, text)) == told


@pytest.mark.parametrize("text", ["", "<html>", "a" * 1000, "\0" * 1000, "<script id=data>{}</script>"])
def test_another_page_is_none_of_ours(tmp_path: Path, text: str) -> None:
    assert refused(saved(tmp_path, text)) == "page-not-ours"


def test_a_page_of_gigabytes_a_folder_and_a_pipe_are_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.html"
    with large.open("wb") as file:
        file.truncate(LARGEST_BYTES + 1)
    assert refused(large) == "page-not-ours"
    assert refused(tmp_path) == "page-not-ours"
    assert refused(tmp_path / "missing.html") == "page-unreadable"


def test_a_page_of_a_newer_version_says_so(tmp_path: Path, told: Told) -> None:
    tree = tree_of(told) | {"format": 2, "new": {"shape": [1]}}
    assert refused(saved(tmp_path, f"{BEGIN}{json.dumps(tree)}{END}")) == "page-newer"


def test_a_page_that_was_edited_by_hand_or_cut_short_is_refused(tmp_path: Path, told: Told) -> None:
    text = block(told)
    assert refused(saved(tmp_path, text.replace('"rocks"', '"gems"', 1))) == "page-changed"
    assert refused(saved(tmp_path, text[: len(text) // 2])) == "page-changed"
    assert refused(saved(tmp_path, f"{BEGIN}{'[' * 100_000}{END}")) == "page-changed"
    assert refused(saved(tmp_path, f"{BEGIN}{'[' * 5_000_000}{END}")) == "page-changed"


ODD: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("another tone", lambda tree: tree.update(pill=["Done", "blue"])),
    ("a number for a title", lambda tree: tree.update(title=7)),
    ("half a letter", lambda tree: tree.update(title="\ud800")),
    ("a title of a million letters", lambda tree: tree.update(title="a" * 1_000_000)),
    ("no plots", lambda tree: tree.pop("plots")),
    ("many plots", lambda tree: tree.update(plots=tree["plots"] * 50)),
    ("many sections", lambda tree: tree.update(sections=tree["sections"] * 50)),
    ("a row that is none", lambda tree: tree["sections"][0].update(rows=["ab"])),
    ("an empty line", lambda tree: tree["plots"][0]["lines"][0].update(points=[])),
    ("steps that fall", lambda tree: tree["plots"][0]["lines"][0].update(points=[[2, 1.0], [1, 1.0]])),
    ("a value beyond all measure", lambda tree: tree["plots"][0]["lines"][0].update(points=[[1, 10**400]])),
    ("a value that is a text", lambda tree: tree["plots"][0]["lines"][0].update(points=[[1, "high"]])),
    ("a point of three", lambda tree: tree["plots"][0]["lines"][0].update(points=[[1, 2, 3]])),
    ("points without end", lambda tree: tree["plots"][0]["lines"][0].update(points=[[1, 2.0]] * 10_000)),
    ("colour 0", lambda tree: tree["plots"][0]["lines"][0].update(tone=0)),
    ("true for a count", lambda tree: tree["plots"][0]["lines"][0].update(count=True)),
]


@pytest.mark.parametrize(("name", "spoil"), ODD, ids=[name for name, _ in ODD])
def test_what_does_not_stand_where_it_should_refuses_the_whole(
    tmp_path: Path, told: Told, name: str, spoil: Callable[[dict[str, Any]], object]
) -> None:
    """With a sum that is right, as somebody can make it who wants to."""
    tree = tree_of(told)
    tree.pop("sum")
    spoil(tree)
    tree["sum"] = data._sum(tree)
    assert refused(saved(tmp_path, f"{BEGIN}{json.dumps(tree)}{END}")) == "page-changed"


def test_it_is_opened_like_a_job_or_a_run(tmp_path: Path) -> None:
    file = saved(tmp_path, page_of(tmp_path).data)
    assert what_is(file).kind == "page" and what_is(file.rename(tmp_path / "A.HTM")).kind == "page"


def test_one_that_was_opened_meanwhile_stays(tmp_path: Path) -> None:
    file, bad = saved(tmp_path, page_of(tmp_path).data), tmp_path / "bad.html"
    bad.write_text("nothing")
    tasks = LaterTasks()
    model = SavedViewModel(tasks)
    model.open(bad)
    model.open(file)
    tasks.finish_all()
    assert model.state.value.title == "rocks" and model.state.value.problem is None
    model = SavedViewModel(InlineTasks())
    model.open(bad)
    problem = model.state.value.problem
    assert problem is not None and "no page of TPU Studio" in problem.title and model.state.value.title == "bad.html"
