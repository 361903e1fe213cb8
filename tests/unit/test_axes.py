"""The ratchet of `axes`: how often an id of an axis is spelled outside its home. The numbers may only fall."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.unit.axes import AXES, Axis, literals
from tpu_studio.domain.catalogue import catalogue
from tpu_studio.wire import families, frameworks, kinds, loans, metrics, places, tasks

MOST = {"place": 0, "kind": 0, "task": 0, "family": 0, "framework": 0, "metric": 0, "generation": 0, "tier": 0}
BY_NAME = {axis.name: axis for axis in AXES}


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_no_more_ids_are_spelled_than_before(axis: Axis) -> None:
    spelled = literals(axis)
    files = Counter(one.file for one in spelled).most_common(8)
    words = f"{len(spelled)} literals of a {axis.name} where {MOST[axis.name]} were; most in {files}"
    assert len(spelled) <= MOST[axis.name], f"{words}: ask its record instead"


def test_the_ratchet_sees_each_way_of_spelling_an_id(tmp_path: Path) -> None:
    ways = {
        "comparison": 'if place == "colab": pass',
        "set": 'if plan.place in ("cloud", "practice"): pass',
        "case": 'match job["where.place"]:\n    case "colab": pass',
        "table": 'WORDS = {"computer": 1, "cloud": 2}',
        "call": 'start("colab")',
        "value": 'fix = {"where.place": "cloud"}',
        "pair": 'fix = (("where.place", "cloud"),)',
        "default": 'def start(at="computer"): pass',
        "constant": 'HERE = "computer"',
        "part": 'if place.endswith("lab"): pass',
        "imported": "from tpu_studio.wire.places import FREE",
        "attribute": "if place == places.FIRST: pass",
    }
    (tmp_path / "wire").mkdir()
    home = '_ALL = (Place("cloud"), Place("colab"))\nFREE = Place("colab")\nFIRST = _ALL[0].id\nIDS = tuple(_ALL)\n'
    (tmp_path / "wire" / "places.py").write_text(home)
    for name, source in ways.items():
        (tmp_path / f"{name}.py").write_text(source)
    (tmp_path / "practice").mkdir()
    (tmp_path / "practice" / "other.py").write_text('open_table("practice")\n')
    (tmp_path / "asked.py").write_text("from tpu_studio.wire.places import IDS\nplaces.by_id(place).charges\n")
    seen = {one.file.removesuffix(".py") for one in literals(BY_NAME["place"], tmp_path)}
    assert seen == set(ways)


def test_of_an_ordinary_word_the_neighbours_decide(tmp_path: Path) -> None:
    for name, source in {
        "value": 'fix = {"data.kind": "text"}',
        "pair": 'fix = (("data.kind", "text"),)',
        "comparison": 'if look.kind == "text": pass',
        "tone": 'tone = "text"\nink("text")\nfacts = {"text": line}',
    }.items():
        (tmp_path / f"{name}.py").write_text(source)
    assert {one.file for one in literals(BY_NAME["kind"], tmp_path)} == {"value.py", "pair.py", "comparison.py"}


def test_the_ratchet_knows_the_ids_that_the_records_have() -> None:
    assert BY_NAME["task"].ids == set(tasks.IDS)
    assert BY_NAME["kind"].ids == set(kinds.IDS)
    assert BY_NAME["place"].ids == set(places.IDS)
    assert BY_NAME["framework"].ids == set(frameworks.IDS)
    assert BY_NAME["family"].ids == {family.id for family in families.all_families()}
    assert BY_NAME["metric"].ids == {metric.id for metric in metrics.all_metrics()}
    assert BY_NAME["generation"].ids == set(catalogue().generations)
    assert BY_NAME["tier"].ids == {loan.word for loan in (*loans.LOANS, loans.reserved())}
