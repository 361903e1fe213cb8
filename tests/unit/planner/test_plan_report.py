"""A plan as one page: everything in it, nothing fetched, nothing of a stranger's taken for markup."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.fakes.looks import DIAMONDS, DIGITS, LAPTOP, NOW, PLAYS, job
from tests.fakes.making import make_plan
from tpu_studio.data.looked import Look
from tpu_studio.planner.report.page import page
from tpu_studio.planner.report.plot import Point, plot
from tpu_studio.planner.report.printed import printed
from tpu_studio.wire.job import Job, set_values
from tpu_studio.wire.plan import Plan

FLOAT32: dict[str, Any] = {"steps": 100_000, "precision": "float32"}
LARGE: dict[str, Any] = {"training": {"steps": 100_000}, "where": {"place": "cloud"}}


def planned(job: Job, look: Look) -> Plan:
    return make_plan(job, look, now=NOW, computer=LAPTOP)


class _Tags(HTMLParser):
    VOID = ("meta", "br", "line", "circle", "polyline")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = _Tags()
    parser.feed(text)
    assert parser.open == []
    return parser.seen


@pytest.mark.parametrize(
    ("model", "kind", "look", "more"),
    [
        ("small-cnn", "digits", DIGITS, {}),
        ("mlp", "table", DIAMONDS, {"where": {"place": "practice"}}),
        ("gpt-124m", "text", PLAYS, LARGE),
    ],
)
def test_the_page_holds_everything_and_fetches_nothing(model: str, kind: str, look: Look, more: dict[str, Any]):
    plan = planned(job(model, kind, **more), look)
    text = page(plan)
    found = tags(text)
    assert not {tag for tag, _ in found} & {"script", "link", "img", "iframe", "object"}
    assert not re.search(r"(src|href)=|url\(|https?://", text)
    assert "prefers-color-scheme: dark" in text
    for title in ("Is a TPU worth it?", "Time against money", "Where else", "What will be run", "Settings and why"):
        assert title in text
    assert str(plan.verdict.why).split(";")[0] in text
    assert text.count("<tr class=") == len(plan.alternatives)


def test_advice_and_checks_stand_apart_with_what_to_set():
    text = page(planned(job("gpt-124m", "text", where={"place": "cloud"}, training=FLOAT32), PLAYS))
    advice = text[text.index("<h2>Advice") : text.index("<h2>What will be run")]
    assert "<code>training.precision = &quot;bfloat16&quot;</code>" in advice
    assert "saves about" in advice


def test_the_cap_stands_beside_what_may_lie_beyond_it_and_a_tpu_under_its_title():
    plan = planned(job("gpt-nano", "text", where={"place": "cloud", "accelerator": "v5litepod-1"}), PLAYS)
    text = page(plan)
    run = text[text.index("<h2>What will be run") : text.index("<h2>Settings and why")]
    assert f"${plan.limits.money_usd:.2f}, and up to $0.41 (20 min) more if the machine hangs" in run
    assert "v5e · 1 chip (v5litepod-1)" in run
    assert text.count("v5litepod-1") == 1


def test_names_from_outside_are_words_not_markup_and_folders_stay_private():
    named = set_values(job("mlp", "table"), {"name": "<script>x</script>", "data.path": "/home/eve/<b>secret</b>.csv"})
    text = page(planned(named, DIAMONDS))
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "/home/eve" not in text
    tags(text)


def test_what_a_terminal_obeys_is_in_no_name_of_the_page_and_of_the_printed_one():
    plan = planned(set_values(job("mlp", "table"), {"name": "ab\u202ec"}), DIAMONDS)
    for text in (page(plan), printed(plan).text):
        assert "abc" in text
        assert not set(text) & set("\x1b\u202e")


def test_a_plan_of_an_older_version_without_alternatives_has_a_page():
    text = page(make_plan(job("mlp", "table"), DIAMONDS, now=NOW, computer=LAPTOP, advise=False))
    assert "Time against money" not in text
    tags(text)


def test_quicker_is_left_dearer_is_above_and_free_lies_on_its_line():
    drawn = plot([Point("slow", 1000, 1.0, front=True), Point("quick", 100, 5.0, planned=True), Point("free", 5000, 0)])
    root = ElementTree.fromstring(drawn)
    at = {
        (one.findtext("title") or "").split(":")[0]: (float(one.attrib["cx"]), float(one.attrib["cy"]))
        for one in root.iter("circle")
    }
    assert at["quick"][0] < at["slow"][0] < at["free"][0]
    assert at["quick"][1] < at["slow"][1] < at["free"][1]
    assert {one.text for one in root.iter("text")} >= {"slow", "quick", "free"}


def test_free_places_only_and_one_single_place_can_be_drawn():
    assert ElementTree.fromstring(plot([Point("here", 60, 0.0, front=True, planned=True)])).tag == "svg"
    assert ElementTree.fromstring(plot([Point("v5e", 60, 0.004, front=True)])).tag == "svg"
    assert plot([]) == ""


def test_names_do_not_lie_on_each_other():
    points = [Point(f"place {n}", 100 + n, 1.0 + n / 100, front=True) for n in range(8)]
    root = ElementTree.fromstring(plot(points))
    names = [one for one in root.iter("text") if one.attrib.get("class") == "name"]
    at = [(float(one.attrib["x"]), float(one.attrib["y"])) for one in names]
    assert len(at) == 8
    for (x, y), (other_x, other_y) in itertools.combinations(at, 2):
        assert abs(x - other_x) >= 40 or abs(y - other_y) >= 13
