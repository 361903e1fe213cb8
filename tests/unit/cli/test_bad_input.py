"""What a person may hand over by mistake, from the command line: exit code 2, what is wrong in which file, line or
field, and what to do; never a traceback, never an endless wait."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tpu_studio.cli.main import main

JOB = """format = 1
name = "j"
[model]
name = "{model}"
[data]
kind = "{kind}"
path = "data"
{more}[training]
{training}"""
ROWS = "".join(f"{n},{n % 7},{'xyz'[n % 3]},{n * 2}\n" for n in range(60))
MODELS = {"table": "mlp", "images": "small-cnn", "text": "gpt-nano"}


def job(kind: str = "table", *, model: str = "", more: str = "", training: str = "steps = 4\n") -> str:
    return JOB.format(kind=kind, model=model or MODELS[kind], more=more, training=training)


def pictures(folder: Path, kinds: str = "ab", each: int = 8) -> None:
    for place, kind in enumerate(kinds):
        (folder / kind).mkdir(parents=True)
        for number in range(each):
            noise = np.random.default_rng(100 * place + number).integers(0, 255, (12, 12, 3), dtype=np.uint8)
            Image.fromarray(noise).save(folder / kind / f"{number}.png")


def table(text: str | bytes) -> Callable[[Path], object]:
    return lambda data: data.write_bytes(text if isinstance(text, bytes) else text.encode())


def endless(folder: Path) -> None:
    pictures(folder, "a")
    (folder / "b").symlink_to(".")


GOOD = table("n,m,k,y\n" + ROWS)
WRONG: dict[str, tuple[str | bytes, Callable[[Path], object], tuple[str, ...]]] = {
    "job: empty": ("", GOOD, ("“j.tpujob” is empty",)),
    "job: bytes": (b"\xff\xfe\x00\x81" * 50, GOOD, ("“j.tpujob” is not a job file",)),
    "job: unknown key": (job(training="epocs = 3\n"), GOOD, ("j.tpujob, line 9", "training.epochs")),
    "job: unknown table": (job() + "[trainning]\nx = 1\n", GOOD, ("line 10", "[trainning]", "“training”")),
    "job: wrong type": (job(training='epochs = "many"\n'), GOOD, ("line 9", "training.epochs", "needs a number")),
    "job: true for a number": (job(training="epochs = true\n"), GOOD, ("line 9", "not true")),
    "job: negative epochs": (job(training="epochs = -3\n"), GOOD, ("line 9", "cannot be -3", "more than 0")),
    "job: not a number": (job(training="epochs = nan\n"), GOOD, ("line 9", "needs a number")),
    "job: twice": (job(training="steps = 4\nsteps = 5\n"), GOOD, ("line 10", "“steps” is there twice")),
    "job: no TOML": (job(training="steps = = 4\n"), GOOD, ("line 9", "cannot be understood")),
    "job: format 99": (job().replace("format = 1", "format = 99"), GOOD, ("line 1", "format 99", "newer version")),
    "job: a batch above the data": (job(training="steps = 4\nglobal_batch = 4096\n"), GOOD, ("4,096", "48 rows")),
    "job: no such column": (job(more='target = "Y"\n'), GOOD, ("Did you mean “y”?",)),
    "job: unknown option": (job().replace('"mlp"', '"mlp"\noptions = { widht = 3 }'), GOOD, ("widht", "“width”")),
    "model: no such file": (job().replace('name = "mlp"', 'file = "my.py"'), GOOD, ("“my.py” is not there",)),
    "model: a pipe that nobody fills": (
        job().replace('name = "mlp"', 'file = "my.py"'),
        lambda data: (GOOD(data), os.mkfifo(data.with_name("my.py"))),
        ("“my.py” is not there",),
    ),
    "job: a path with a zero": (job().replace('"data"', '"a\\u0000b"'), GOOD, ("line 7", "needs text without zeros")),
    "data: at somebody unknown": (job().replace('"data"', '"~nobody-of-here/d.csv"'), GOOD, ("“d.csv” is not there",)),
    "data: a long name": (job().replace('"data"', f'"{"n" * 4000}"'), GOOD, (f"“{'n' * 255}…” is not there",)),
    "data: a name without end": (job().replace('"data"', f'"{"n" * 5000}"'), GOOD, ("line 7", "4,096 letters at most")),
    "data: not there": (job(), lambda data: None, ("“data” is not there",)),
    "table: empty": (job(), table(""), ("“data” holds nothing",)),
    "table: names only": (job(), table("n,m,k,y\n"), ("“data” holds nothing",)),
    "table: bytes": (job(), table(bytes(range(256)) * 20), ("“data” is not text",)),
    "table: one column": (job(), table("y\n1\n2\n3\n"), ("one column only",)),
    "table: one answer": (job(more='target = "c"\n'), table("a,c\n" + "1,5\n2,5\n" * 30), ("“c” is always 5",)),
    "table: ragged": (job(more="max_broken_share = 0\n"), table("n,m,k,y\n" + ROWS + "1,2\n"), ("1 of 61", "line 62")),
    "table: a field of 10 million letters": (
        job(more="max_broken_share = 0\n"),
        table("n,m,k,y\n" + ROWS + f"1,2,{'q' * 10_000_000},4\n"),
        ("line 62", "a field is far too long"),
    ),
    "table: a folder": (job(), Path.mkdir, ("“data” is not a file",)),
    "table: a pipe that nobody fills": (job(), os.mkfifo, ("“data” is not a file",)),
    "text: ten letters": (job("text"), table("0123456789"), ("only 10",)),
    "text: zeros": (job("text"), table(b"\0" * 20_000), ("“data” is not text",)),
    "text: nothing": (job("text"), table(""), ("“data” holds nothing",)),
    "pictures: a file": (job("images"), table("a,b\n1,2\n"), ("“data” is not a folder",)),
    "pictures: an empty folder": (job("images"), Path.mkdir, ("“data” holds nothing",)),
    "pictures: one kind": (job("images"), lambda data: pictures(data, "a"), ("of one class: a",)),
    "pictures: one picture": (job("images"), lambda data: pictures(data, "a", 1), ("of one class: a",)),
    "pictures: a folder in itself": (job("images"), endless, ("of one class: a",)),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_told_what_is_wrong_and_nothing_begins(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text, make, told = WRONG[name]
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    make(tmp_path / "data")
    (tmp_path / "j.tpujob").write_bytes(text if isinstance(text, bytes) else text.encode())

    assert main(["plan", str(tmp_path / "j.tpujob"), "--no-measure"]) == 2

    said = " ".join("".join(capfd.readouterr()).split())
    assert [words for words in told if words not in said] == [], said
    assert "Traceback" not in said and "went wrong" not in said
    assert "Nothing was charged" in said
    assert not (tmp_path / "home" / "runs").exists()


def test_a_job_that_is_a_pipe_is_no_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    os.mkfifo(tmp_path / "j.tpujob")
    assert main(["plan", str(tmp_path / "j.tpujob")]) == 2
    assert "“j.tpujob” cannot be read.\n  The system says: It is a pipe or a device" in capsys.readouterr().err


def test_names_that_a_terminal_would_obey_are_shown_without_their_power(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TPU_STUDIO_HOME", str(tmp_path / "home"))
    (tmp_path / "data").write_text("\x1b[2J\x1b]0;mine\x07red\u202e,m,k,y\n" + ROWS)
    (tmp_path / "j.tpujob").write_text(job(more='target = "y"\n'))
    assert main(["plan", str(tmp_path / "j.tpujob"), "--no-measure"]) == 0
    said = "".join(capsys.readouterr())
    assert "“red” counts the rows" in said
    assert not {"\x1b", "\x07", "\u202e"} & set(said)


def test_a_limit_with_two_readings_is_refused_with_both(capsys: pytest.CaptureFixture[str]):
    for limit in ("--money", "--hours"):
        assert main(["extend", "some-run", limit, "2,500"]) == 2
        assert "“2,500” can mean 2.5 or 2500: write the one you mean" in capsys.readouterr().err
    assert main(["live-check", "--on", "practice", "--max-usd", "2,500"]) == 2
    assert "“2,500” can mean 2.5 or 2500: write the one you mean" in capsys.readouterr().err
