"""The job file: mistakes are named with their line, comments survive."""

from __future__ import annotations

import cProfile
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_studio.domain import jobfile
from tpu_studio.wire.errors import JobError
from tpu_studio.wire.job import parse, set_values

TEXT = """# what I try on Sunday
format = 1
name = "hands"

[model]
name = "small-cnn"  # the small one

[data]
kind = "images"
path = "pictures"

[training]
epochs = 3  # three is enough
"""


@pytest.mark.parametrize(
    ("text", "id", "line"),
    [
        ("", "job-file-empty", None),
        ("a = ", "job-file-syntax", 1),
        (TEXT + "epoch = 3\n", "job-unknown-key", 14),
        (TEXT.replace("epochs = 3", "epochs = -3"), "job-out-of-range", 13),
        (TEXT.replace("[model]", "[modle]"), "job-unknown-table", 5),
        (TEXT.replace("format = 1", "format = 99"), "job-format", 2),
        (TEXT.replace("format = 1", 'format = "1"'), "job-wrong-type", 2),
        (TEXT + "epochs = 4\n", "job-file-twice", 14),
        (TEXT + "[data]\n", "job-file-twice", 14),
        (TEXT + "epochs.x = 4\n", "job-file-twice", 14),
        (TEXT + "x = {a = 1, a = 2}\n", "job-file-twice", 14),
        (TEXT + f"x = {'9' * 5000}\n", "job-file-syntax", None),
        (TEXT + f"x = {'[' * 5000}\n", "job-file-syntax", None),
        (TEXT.replace('"images"', "7"), "job-wrong-type", 9),
        (TEXT + "model.x = 1\n", "job-unknown-key", None),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, id: str, line: int | None):
    with pytest.raises(JobError) as caught:
        jobfile.loads(text, file="a.tpujob")
    assert caught.value.id == id
    if line:
        assert caught.value.facts["line"] == line


def test_files_that_cannot_be_read_are_named(tmp_path: Path):
    binary = tmp_path / "b.tpujob"
    binary.write_bytes(bytes(range(256)))
    table, prose = tmp_path / "Strom.csv", tmp_path / "diary.txt"
    table.write_text("Straße;kWh\nAm Bühl;1,5\n", "latin-1")
    prose.write_text("Today I went out.\n")
    for path, id in (
        (table, "job-file-is-data"),
        (prose, "job-file-is-data"),
        (tmp_path / "none.tpujob", "job-file-missing"),
        (tmp_path, "job-file-is-data"),
        (binary, "job-file-not-text"),
    ):
        with pytest.raises(JobError) as caught:
            jobfile.load(path)
        assert caught.value.id == id


def test_saving_keeps_comments_and_changes_only_what_changed(tmp_path: Path):
    file = tmp_path / "a.tpujob"
    file.write_text(TEXT)
    jobfile.save(set_values(jobfile.load(file), {"training.epochs": 5}), file)
    assert file.read_text() == TEXT.replace("epochs = 3", "epochs = 5")


def test_a_job_saved_elsewhere_still_finds_its_data(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    (here / "a.tpujob").write_text(TEXT)
    jobfile.save(jobfile.load(here / "a.tpujob"), there / "a.tpujob")
    assert jobfile.load(there / "a.tpujob")["data.path"] == str(here / "pictures")


@given(st.text(max_size=200))
def test_any_text_is_a_job_or_a_named_mistake(text: str):
    try:
        jobfile.loads(text, file="x")
    except JobError as error:
        assert error.id.startswith("job-")


@given(st.text(min_size=1, max_size=30).filter(lambda name: name.strip() and "\0" not in name), st.floats(0.001, 1e4))
def test_what_is_saved_reads_back_equal(name: str, epochs: float):
    job = set_values(jobfile.loads(TEXT), {"name": name, "training.epochs": epochs})
    assert jobfile.loads(jobfile.dumps(job)).values == job.values


@pytest.mark.parametrize(
    ("name", "text", "id"),
    [
        ("blanks behind a bracket", f"x = [\n[{' ' * 50_000}1,\n]]\n[where]\n[zzz]\n", "job-unknown-key"),
        ("blanks, twice", f"zones = [\n[{' ' * 50_000}1,\n]]\nepochs = 3\n", "job-file-twice"),
        ("a thousand keys in keys", "".join(f"a.b{n}.c = 1\n" for n in range(1900)), "job-unknown-key"),
        ("more than any job has", "".join(f"a.b{n}.c = 1\n" for n in range(40_000)), "job-file-syntax"),
        ("a key without end", f"{'.'.join('a' * 100_000)} = 1\n", "job-file-syntax"),
    ],
)
def test_no_job_file_takes_minutes_or_all_memory(name: str, text: str, id: str, tmp_path: Path) -> None:
    """The window stood still, for ever, over a file of three kilobytes that somebody had sent."""
    file = tmp_path / "a.tpujob"
    file.write_text(TEXT + text)
    with pytest.raises(JobError) as caught:
        jobfile.load(file)
    assert caught.value.id == id
    jobfile.save(jobfile.loads(TEXT), file)  # over it: what is kept of it is looked at, too
    assert jobfile.load(file)["training.epochs"] == 3


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("seed = 0x" + "f" * 20_000, "beyond all measure"),
        ("[model.options]\nwidth = [[0x" + "f" * 20_000 + "]]", "beyond all measure"),
        ("[model.options]\nwhen = {x = [2026-11-29T10:00:00Z]}", "quotation marks"),
        ("epochs = 2026-11-29", "quotation marks"),
    ],
)
def test_what_no_plan_can_be_written_with_is_named(line: str, word: str) -> None:
    """“Something in TPU Studio itself went wrong”."""
    with pytest.raises(JobError) as caught:
        jobfile.loads(f"{TEXT}\n[own]\n{line}\n", file="a.tpujob")
    assert caught.value.id == "job-file-syntax" and word in str(caught.value.facts["raw"])
    assert caught.value.facts["file"] == "a.tpujob"


def test_twice_as_many_columns_are_twice_the_work() -> None:
    """Of 10,000 a stranger's run took 23 s to show as a job; counted in calls, which no other program slows."""
    calls = []
    for count in (400, 800):
        columns = {f'c{at} "ü"': "number" for at in range(count)}
        tree = {"model": {"name": "mlp"}, "data": {"kind": "table", "path": "a.csv", "target": "t", "columns": columns}}
        job = parse({"format": 1, "name": "wide", **tree})
        profile = cProfile.Profile()
        text = profile.runcall(jobfile.dumps, job)
        assert jobfile.loads(text)["data.columns"] == columns
        calls.append(sum(one.callcount for one in profile.getstats()))
    assert calls[1] < 2.2 * calls[0]


@pytest.mark.parametrize("odd", ["a\ud800b", "caf\udce9"])
def test_a_name_that_no_text_file_can_hold_is_refused_and_nothing_is_written(tmp_path: Path, odd: str) -> None:
    """Half a letter in a stranger's plan; a file whose name is not UTF-8. `make fuzz`, seed 14."""
    job = parse({"name": "x", "model": {"name": "mlp"}, "data": {"kind": "table", "path": odd}})
    with pytest.raises(JobError) as caught:
        jobfile.save(job, tmp_path / "x.tpujob")
    assert caught.value.id == "job-file-unwritable" and "no text file can hold" in str(caught.value.facts["raw"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
def test_a_pipe_is_no_job_and_comments_behind_a_link_are_not_this_jobs(tmp_path: Path):
    """Whoever may write into the folder too may lay either."""
    os.mkfifo(tmp_path / "pipe.tpujob")
    with pytest.raises(JobError, match="job-file-unreadable"):
        jobfile.load(tmp_path / "pipe.tpujob")
    private = tmp_path / "private.toml"
    private.write_text('# my own words\nname = "diary"\n')
    (tmp_path / "it.tpujob").symlink_to(private)
    job = parse({"model": {"name": "mlp"}, "data": {"kind": "digits"}})
    jobfile.save(job, tmp_path / "it.tpujob")
    assert "my own words" not in (tmp_path / "it.tpujob").read_text()
    assert private.read_text().startswith("# my own words") and not (tmp_path / "it.tpujob").is_symlink()
