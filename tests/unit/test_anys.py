"""The ratchet of `anys`: how much of the program mypy cannot see into. The numbers may only fall."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.unit.anys import Module, by_name, crossing, modules, per_1000, with_aliases

MOST_PER_1000 = 4.9
MOST_PER_1000_WITH_ALIASES = 8.7
CROSSING = {
    # an answer of Google's as it stands: each of 25 callers reads its own fields of it, and refuses what it lacks
    "cloud.session.Api.get",
    "cloud.session.Api.post",
    # what a data set says of itself for `predict` later, one shape by kind: a record of all of them had every field
    # optional, and each reader would ask again
    "data.opened.Opened.description",
    # a JSON file of ours, held to its shape by tests: its readers make the records
    "domain.catalogue.Catalogue.file",
}
"""Tables of Any that a package takes from another, and why each stays."""


@pytest.fixture(scope="module")
def found() -> list[Module]:
    return modules()


def test_no_more_is_any_than_before(found: list[Module]) -> None:
    for most, counted in ((MOST_PER_1000, by_name(found)), (MOST_PER_1000_WITH_ALIASES, with_aliases(found))):
        share, worst = per_1000(counted, found), Counter(counted).most_common(8)
        assert share <= most, f"{share:.2f} Any in 1,000 lines where {most} were; most in {worst}: say `object`"


def test_no_table_of_any_crosses_a_package_but_for_a_reason(found: list[Module]) -> None:
    assert set(crossing(found)) == CROSSING, "give it a record, or `object` for its values"


def test_the_ratchet_sees_any_under_each_of_its_names(tmp_path: Path) -> None:
    put(tmp_path, "wire/records.py", "from typing import Any\nTable = dict[str, Any]\nclass Other: ...\n")
    put(tmp_path, "data/look.py", "import typing\ndef look(x: typing.Any) -> list[typing.Any]: ...\n")
    source = "from tpu_studio.wire.records import Other, Table\ndef make(t: Table) -> Other: ...\n"
    put(tmp_path, "planner/make.py", source)
    put(tmp_path, "trainer/step.py", "import jax\nfrom typing import Any\ndef step(x: Any) -> Any: ...\n")
    assert by_name(modules(tmp_path)) == {"wire.records": 1, "data.look": 2, "planner.make": 0}
    assert with_aliases(modules(tmp_path)) == {"wire.records": 1, "data.look": 2, "planner.make": 1}


def test_a_table_of_any_counts_where_another_package_takes_it(tmp_path: Path) -> None:
    source = """
from typing import Any
from collections.abc import Mapping
def asked(tree: Mapping[str, Any]) -> dict[str, Any]: ...
def by_module(*, tree: dict[str, Any]) -> None: ...
def own(tree: dict[str, Any]) -> None: ...
class Taken:
    facts: Mapping[str, Any]
    name: str
    def to_json(self) -> dict[str, Any]: ...
    def _inner(self, tree: dict[str, Any]) -> None: ...
"""
    put(tmp_path, "wire/plan.py", source)
    put(tmp_path, "wire/beside.py", "from tpu_studio.wire.plan import own\n")
    put(
        tmp_path,
        "planner/make.py",
        "from tpu_studio.wire import plan\nfrom tpu_studio.wire.plan import Taken, asked\nplan.by_module(tree={})\n",
    )
    assert crossing(modules(tmp_path)) == [
        "wire.plan.asked.tree",
        "wire.plan.asked",
        "wire.plan.by_module.tree",
        "wire.plan.Taken.facts",
        "wire.plan.Taken.to_json",
    ]


def put(root: Path, name: str, source: str) -> None:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(source, "utf-8")
