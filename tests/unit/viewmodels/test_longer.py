"""What training a rented run longer says of money."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.views import view_of
from tests.unit.viewmodels.test_rented_words import END, THERE, plan_at
from tests.unit.viewmodels.test_runs import DONE
from tpu_studio.viewmodels import runfacts
from tpu_studio.viewmodels.runnumbers import extension_words
from tpu_studio.viewmodels.runrows import row_of


@pytest.mark.parametrize("place", ["cloud", "practice"])
def test_the_run_page_says_the_price_of_an_hour_and_what_is_left_of_the_limit(place: str):
    facts = replace(runfacts.facts_of(plan_at(place)), usd_limit=4.0)
    told = extension_words(facts, view_of(*THERE), 1)
    assert "It costs $1.20 an hour" in told and "of its limit of $4.00, $3.99 are left" in told
    assert ("nothing is charged" in told) == (place == "practice")
    unknown = extension_words(replace(facts, usd_per_hour=None, usd_limit=None), view_of(END), 1)
    assert "What it costs an hour is not known" in unknown
    assert "$" not in extension_words(runfacts.facts_of(plan_at("computer")), view_of(*THERE), 1)


@pytest.mark.parametrize("place", ["cloud", "practice"])
def test_so_does_the_list_of_runs(place: str):
    told = row_of(replace(DONE, place=place, usd_per_hour=1.2)).extension_price
    assert "$1.20 an hour" in told and ("nothing is charged" in told) == (place == "practice")
    assert row_of(replace(DONE, place="computer")).extension_price == ""
