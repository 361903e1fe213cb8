"""The table of what the program assumes of Google: whole, its page made from it, and played where it says so."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tpu_studio.domain.doubts import doubts, read_doubt, read_table
from tpu_studio.wire.errors import BadInput
from tpu_studio.wire.resources import resource_path

ROOT = Path(__file__).resolve().parents[3]
ASKED = re.compile(r"doubts\.(?:way|get)\(\s*\"([^\"]+)\"")


@pytest.fixture
def raw() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(resource_path("doubts.json").read_text("utf-8"))
    return table


def asked_in_practice() -> set[str]:
    code = "".join(path.read_text("utf-8") for path in (ROOT / "tpu_studio" / "practice").rglob("*.py"))
    return set(ASKED.findall(code))


def test_the_page_of_live_checks_is_what_the_table_says():
    made = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "make_doubts.py"), "--check"], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr


def test_practice_asks_for_exactly_the_doubts_that_the_table_says_it_can_play():
    assert asked_in_practice() == {one.id for one in doubts().values() if one.by_practice}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", "Not A Slug"),
        ("others", []),
        ("others", ["other-than-in-ways"]),
        ("playable", "perhaps"),
        ("playable", "no: "),
        ("used_in", ""),
        ("unheard", 1),
    ],
)
def test_an_entry_that_is_not_whole_is_refused(raw: dict[str, Any], key: str, value: object):
    wrong = copy.deepcopy(raw)
    played = next(one for one in wrong["doubts"] if one["playable"] == "practice")
    played[key] = value
    with pytest.raises(ValueError, match="doubt"):
        read_table(wrong)


@pytest.mark.parametrize(
    "id",
    [
        "flex-end",
        "suspended-means-gone",
        "suspended-holds-quota",
        "tasks-far-ahead",
        "compute-max-run-tiers",
        "flex-serving-zone",
        "lifecycle-lag",
        "queue-tombstone",
        "host-maintenance",
        "billing-off-machine",
    ],
)
def test_what_google_or_others_wrote_of_a_doubt_is_named(id: str):
    assert doubts()[id].source


def test_an_id_stands_there_once(raw: dict[str, Any]):
    with pytest.raises(ValueError, match="twice"):
        read_table({**raw, "doubts": [*raw["doubts"], raw["doubts"][0]]})


def test_a_doubt_is_read_with_its_first_other_way_or_the_one_that_is_named():
    played = next(one for one in doubts().values() if one.by_practice and len(one.others) > 0)
    assert read_doubt(played.id) == (played, played.others[0])
    assert read_doubt(f"{played.id}={played.others[-1]}") == (played, played.others[-1])


def test_an_unknown_doubt_names_the_nearest_and_an_unplayable_one_says_why():
    with pytest.raises(BadInput) as unknown:
        read_doubt("task-name-re-use")
    assert unknown.value.id == "doubt-unknown" and "task-name-reuse" in unknown.value.facts["nearest"]
    with pytest.raises(BadInput) as wrong:
        read_doubt("task-name-reuse=perhaps")
    assert wrong.value.id == "doubt-way-unknown" and wrong.value.facts["known"] == ["allowed"]
    with pytest.raises(BadInput) as never:
        read_doubt("colab-size")
    assert never.value.id == "doubt-unplayable" and "Colab" in str(never.value.facts["why"])
