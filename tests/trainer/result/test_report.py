"""The report page: one file, nothing fetched, everything from outside escaped, small however long the run was."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tpu_studio.trainer.result import curves, happenings, report
from tpu_studio.trainer.result.points import Points
from tpu_studio.wire.job import parse
from tpu_studio.wire.plan import Plan

EVIL = "<script>alert('x')</script>&\"{0}"


class Parsed(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, Any]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data


def page(
    name: str = "digits", classes: tuple[str, ...] = ("0", "1"), steps: int = 400, ended: str = "completed"
) -> Parsed:
    job = parse(
        {"name": name, "model": {"name": "mlp"}, "data": {"kind": "digits"}, "training": {"precision": "float32"}}
    )
    plan = Plan(job=job, task="classification", framework="jax", reasons={"training.precision": EVIL})
    at = np.arange(1, steps + 1)
    checked = at % 50 == 0
    columns = {
        "loss": 1.0 / at,
        "val_loss": 1.1 / at,
        "accuracy": at / steps,
        "val_accuracy": at / steps,
        "learning_rate": at * 1e-6,
    }
    points = Points(at, at * 1.0, columns, {key: checked if key.startswith("val") else at > 0 for key in columns})
    final = {"loss": 0.1234, "val_loss": 0.2, "val_accuracy": 0.9876}
    card = {
        "classes": list(classes),
        "params": 1234,
        "model": "mlp",
        "own": None,
        "data": {},
        "versions": {"keras": "3"},
        "trained": {"ended": ended, "steps": steps, "final": final},
        "use": {"keras": "k", "tensorflow": "t"},
    }
    happened = happenings.Happenings(
        began=1.7e9, last=1.7e9, notices=[(1.7e9, "input-bound", "warning", {"share": EVIL})]
    )
    return Parsed(report.page(plan, card, points, happened))


def test_what_comes_from_outside_is_shown_as_it_is_and_never_run() -> None:
    parsed = page(name=EVIL, classes=(EVIL, "b"))
    assert "script" not in {tag for tag, _ in parsed.tags}
    assert parsed.words.count(EVIL) >= 4  # title, heading, classes, reason, notice


def test_each_label_has_its_line_and_what_was_never_said_has_no_precision() -> None:
    told = [
        {"name": EVIL, "precision": 0.875, "recall": 0.5, "examples": 1400},
        {"name": "dog", "precision": None, "recall": 0.0, "examples": 3},
    ]
    words = report._labels(told)
    assert "&lt;script&gt;" in words and "<script>" not in words
    assert "<td>87.5 %</td><td>50 %</td><td>1,400</td>" in words
    assert "<th>dog</th><td>–</td><td>0 %</td><td>3</td>" in words
    assert report._labels(None) == report._labels([]) == ""
    assert "Labels on unseen data" not in page().words


def test_nothing_is_fetched_from_anywhere() -> None:
    parsed = page()
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in parsed.tags}
    assert not [attributes for _, attributes in parsed.tags if {"src", "href"} & set(attributes)]


def test_the_main_number_and_how_it_ended_stand_on_top() -> None:
    assert "98.8 %" in page().words
    assert "Stopped, model kept" in page(ended="stopped-by-user").words


def test_every_curve_says_in_words_what_it_shows() -> None:
    drawn = [attributes for tag, attributes in page().tags if tag == "svg"]
    assert len(drawn) == 4 or len(drawn) == 3
    assert all(" ends at " in str(attributes["aria-label"]) for attributes in drawn)


def test_a_million_steps_make_no_larger_a_page() -> None:
    lines = [curves.Line("loss", np.arange(n), np.random.default_rng(0).random(n), "s1") for n in (1_000, 1_000_000)]
    small, large = (len(curves.picture("Loss", [line], str)) for line in lines)
    assert large < 2 * small


def test_thinning_keeps_a_single_spike() -> None:
    values = np.zeros(1_000_000)
    values[345_678] = 9.0
    steps, kept = curves.thinned(np.arange(1_000_000), values)
    assert len(kept) <= 2 * curves.COLUMNS + 2
    assert steps[np.argmax(kept)] == 345_678


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.0, 1.0, [0.0, 0.25, 0.5, 0.75, 1.0]),
        (0.3, 4.7, [0.0, 2.0, 4.0, 6.0]),
        (2.0, 2.0, [1.8, 1.9, 2.0, 2.1, 2.2]),
    ],
)
def test_axes_have_round_numbers(low: float, high: float, ticks: list[float]) -> None:
    assert curves.nice_ticks(low, high) == pytest.approx(ticks)


def test_a_curve_of_nothing_but_undefined_values_is_left_out() -> None:
    assert curves.picture("Loss", [curves.Line("loss", np.arange(3), np.full(3, np.nan), "s1")], str) == ""


def test_a_tpu_that_told_how_busy_it_was_has_its_line_and_practice_has_none() -> None:
    job = parse({"name": "d", "model": {"name": "mlp"}, "data": {"kind": "digits"}})
    plan = Plan(job=job, task="classification", framework="jax", place="cloud")
    happened = happenings.Happenings()
    for t, busy, used in ((1.0, 0.6, 9.1e9), (3.0, 0.8, 9.6e9), (5.0, None, 2e9)):
        told = {"duty_cycle": busy} if busy else {}
        happened.see({"t": t, "kind": "device", **told, "hbm_used_bytes": used, "hbm_total_bytes": 1.6e10})
    told = "computed 70% of the time, at most 9.6 of 16.0 GB of a chip’s memory in use"
    assert report._chips(plan, happened) == [("TPU", told)]
    assert report._chips(plan, happenings.Happenings()) == []
    assert report._chips(replace(plan, place="practice"), happened) == []
    for seconds, mfu in ((10.0, 0.30), (30.0, 0.50)):
        happened.see({"t": 6.0, "kind": "speed", "step": 1, "examples": 1, "seconds": seconds, "mfu": mfu})
    assert report._chips(plan, happened)[0][1].startswith("45% MFU (model FLOP utilisation)")  # (3 + 15) / 40


def test_phases_are_timed_and_interruptions_told(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    records = [
        {"t": 1.0, "kind": "phase", "phase": "training"},
        {"t": 11.0, "kind": "resume", "step": 40, "attempt": 2},
        {"t": 12.0, "kind": "speed", "step": 2, "steps": 2, "examples": 64, "seconds": 2.0, "waiting_for_data_s": 0.5},
        {"t": 21.0, "kind": "phase", "phase": "saving"},
    ]
    lines = b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)
    (tmp_path / "events" / "a0001-w000.jsonl").write_bytes(lines)
    found = happenings.read(tmp_path)
    assert found.phases == {"training": 20.0}
    assert list(found.resumes) == [(11.0, 40)]
    assert (found.examples_per_s, found.waited_share) == (32.0, 0.25)


def test_a_profile_that_was_made_tells_where_the_time_of_a_step_went() -> None:
    happened = happenings.Happenings()
    assert report._profile(happened) == []
    shares = {"matrix": 0.46, "memory": 0.31, "collectives": 0.0, "data": 0.05, "host": 0.18, "compile": 0.0}
    for state, told in (("begun", {}), ("done", {"shares": shares}), ("failed", {"why": "stopped"})):
        happened.see({"t": 6.0, "kind": "profile", "state": state, "step": 1, **told})
    said = "46% multiplying matrices, 31% the rest of its program, 5% waiting for data, 18% waiting for the program"
    assert report._profile(happened) == [("Time of a step", said)]


def test_what_a_terminal_obeys_or_turns_letters_around_is_in_no_name() -> None:
    parsed = page(name="ab\u202ecd", classes=("x\x07\x1b]0;title\x07y", "b"))
    assert parsed.words.count("abcd") >= 2 and "xy" in parsed.words
    assert not set(parsed.words) & set("\x1b\x9b\x07\u202e")
