"""`tpu-studio compare` on runs that were made, and what it refuses."""

from __future__ import annotations

import argparse

from tests.fakes.terminal import JOB, Terminal
from tpu_studio.cli.parser import parser


def test_two_runs_are_compared_by_what_differs_in_them(terminal: Terminal) -> None:
    one = terminal.json("run", JOB)[1]["run"]
    other = terminal.json("run", JOB, "--set", "training.global_batch=64")[1]["run"]
    code, told = terminal.json("compare", one, other)
    assert code == 0
    assert "training.global_batch" in told["differing"] and "name" not in told["differing"]
    assert [row["settings"]["training.global_batch"] for row in told["runs"]][1] == 64
    assert told["finding"]["title"]
    said = terminal.run("compare", one, other).stdout
    assert "Batch size" in said and one in said and "global_batch" not in said


def test_a_run_is_named_as_it_is_called_now(terminal: Terminal) -> None:
    """“digits” meant several, though one is called so, and what was renamed was not found."""
    one, other = (terminal.json("run", JOB)[1]["run"] for _ in range(2))
    name = terminal.json("show", one)[1]["name"]
    told = terminal.json("compare", name, f"{name} (2)")[1]
    assert [row["run"] for row in told["runs"]] == [one, other]
    terminal.run("rename", one, "My first")
    assert terminal.json("show", "My first")[1]["run"] == one
    assert terminal.json("show", f"{name} (2)")[1]["run"] == other


def test_one_run_or_none_of_that_name_is_refused(terminal: Terminal) -> None:
    one = terminal.json("run", JOB)[1]["run"]
    assert terminal.run("compare", one).returncode == 2
    assert terminal.run("compare", one, "nothing-like-it").returncode == 1


def test_its_help_names_no_format_that_it_does_not_make() -> None:
    (verbs,) = (one.choices for one in parser()._actions if isinstance(one, argparse._SubParsersAction))
    told = {name: " ".join(verbs[name].format_help().split()) for name in ("compare", "export")}
    assert "where that file goes" in told["compare"] and "Hugging Face" not in told["compare"]
    assert "or a Hugging Face folder" in told["export"]
    assert all("or the beginning of it, its name, or its folder" in one for one in told.values())
