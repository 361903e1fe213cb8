"""A few worlds of `make doubts`: Google answers otherwise than is assumed, and the program ends well all the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tools import doubts as playing
from tools.chaos_judge import KINDS
from tools.doubts_cells import SCENES, alone, pairs, ways
from tpu_studio.domain.doubts import doubts

WORLDS = (
    "billing-begins=ready",
    "suspended-means-gone=node-stays (preempted-at-step, spot)",
    "terms-in-operation=http, new",
)
MORE = (
    "billing-ends=asked",
    "off-not-charged=charged (preempted-at-step, spot)",
    "list-all-zones=refused #2, lists",
    "second-delete=refused #1",
    "service-lag=minutes #1, account",
    "two-step-words=nameless, signin",
    "install-sources=blocked (another plan)",
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="practice machines need Linux")
@pytest.mark.parametrize("names", [WORLDS, pytest.param(MORE, marks=pytest.mark.thorough)], ids=["few", "more"])
def test_the_program_ends_well_where_an_assumption_is_wrong(tmp_path: Path, names: tuple[str, ...]) -> None:
    every = {cell.name: (kind, cell) for kind, cell in alone()}
    worlds = [every[name] for name in names]
    player = playing.Worlds(worlds, tmp_path / "cells", tmp_path / "left", 1.0, False)
    records = player.play_all([cell for _, cell in worlds], jobs=2)
    wrong = [record for record in records if playing.failed(record)]
    assert wrong == [], json.dumps(wrong, indent=1)
    assert {"cost", "cap", "leaked"} <= set(records[0]["judged"])


def test_every_playable_doubt_is_played_each_other_way() -> None:
    played = {text for _, cell in alone() for text in cell.doubts}
    assert played == {f"{one.id}={way}" for one in doubts().values() if one.by_practice for way in one.others}
    assert len(played) == len(ways())


def test_a_doubt_that_no_scene_meets_is_told() -> None:
    met, unmet = {"name": "a", "passed": True, "doubts_met": ["one"]}, {"name": "b", "passed": True, "doubts_met": []}
    found = playing.by_doubt([(("one=x",), met), (("one=x",), unmet), (("two=y",), unmet), (("one=x", "two=y"), met)])
    assert playing.never_met(found) == ["two=y"] and (found["one=x"].met, found["one=x"].played) == (1, 2)
    rows = playing.markdown([(("one=x",), "a run", {**met, "reason": "completed", "billed": 0.1, "cap": 1.0})])
    assert rows.splitlines()[-1] == "| `one=x` | a run | completed | $0.100 | $1.000 | yes |"


def test_pairs_are_different_and_the_same_for_the_same_seed() -> None:
    two = [cell for _, cell in pairs(60, 1)]
    assert len({cell.name for cell in two}) == 60 and all(len(set(cell.doubts)) == 2 for cell in two)
    assert [cell.name for _, cell in pairs(60, 1)] == [cell.name for cell in two]


def test_scenes_are_of_doubts_that_there_are_and_names_are_given_once() -> None:
    assert set(SCENES) <= set(doubts())
    names = [cell.name for _, cell in alone()]
    assert len(names) == len(set(names)) and "rent" in KINDS


@pytest.mark.parametrize("holds", [True, False])
def test_a_world_that_does_not_hold_is_the_exit_code_and_the_table_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds: bool
) -> None:
    def play_all(self: object, cells: list[object], jobs: int) -> list[dict[str, object]]:
        return [
            {"name": cell.name, "passed": holds or number > 0, "doubts_met": [], "seconds": 1.0}  # type: ignore[attr-defined]
            for number, cell in enumerate(cells)
        ]

    monkeypatch.setattr(playing.Worlds, "play_all", play_all)
    monkeypatch.setattr(playing.signal, "signal", lambda *_: None)
    told = tmp_path / "out" / "doubts.json"
    monkeypatch.setattr(sys, "argv", ["doubts.py", "--sample", "3", "--seed", "1", "--json", str(told)])
    assert playing.main() == (0 if holds else 1)
    assert len(json.loads(told.read_text())["worlds"]) == 3 and told.with_suffix(".md").exists()
