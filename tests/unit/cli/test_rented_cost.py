"""`show` of a rented run: its cost, and the range where no record tells when a machine went."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.unit.viewmodels.test_rented_words import ASKED, UNSEEN, plan_at, view_of
from tests.unit.viewmodels.test_runs import DONE
from tpu_studio.cli.keeping import _as_text


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("cloud", "$0.00–$1.11: no record tells it exactly, and the bill lies in between"),
        ("practice", "practice $0.00–$1.11: no record tells it exactly, and the bill lies in between; nothing"),
    ],
)
def test_show_names_the_range_and_why(place: str, line: str) -> None:
    row = replace(DONE, place=place, usd=0.0)
    view = view_of(*ASKED, *UNSEEN)
    assert f"Cost    {line}" in _as_text(row, SimpleNamespace(view=view, plan=plan_at(place)))
    certain = SimpleNamespace(view=replace(view, usd_between=None), plan=plan_at(place))
    assert "$0.30" in _as_text(replace(row, usd=0.3), certain)
    assert "no record" not in _as_text(replace(row, usd=0.3), certain)
