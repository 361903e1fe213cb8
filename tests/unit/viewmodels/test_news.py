"""What is worth a notification: only what came true since the last reading of the list, a line for each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.viewmodels.test_rented_words import row
from tpu_studio.viewmodels.news import KINDS, news
from tpu_studio.viewmodels.runrows import RunRow

GOING = replace(row("cloud", 0.0, 0.0), run="a", name="hands", over=False, live=True, waiting=False, tone="accent")
WAITING = replace(GOING, live=False, waiting=True)


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        (GOING, replace(GOING, over=True, live=False, tone="ok"), ["ended"]),
        (GOING, replace(GOING, over=True, live=False, tone="bad"), ["failed"]),
        (WAITING, GOING, ["granted"]),
        (GOING, replace(GOING, resumed=True), ["taken-back"]),
        (GOING, replace(GOING, over=True, live=False, tone="ok", unproved=True), ["ended", "unproved"]),
        (GOING, GOING, []),
        (replace(WAITING, place_id="computer"), replace(GOING, place_id="computer"), []),
    ],
)
def test_what_came_true_is_told_once(before: RunRow, after: RunRow, kinds: list[str]) -> None:
    told = news({"a": before}, [after])
    assert [one.kind for one in told] == kinds and set(kinds) <= set(KINDS)
    assert all("hands" in one.title and one.text for one in told)
    assert news({"a": after}, [after]) == ()


def test_a_run_that_was_not_on_the_list_before_is_no_news() -> None:
    assert news({}, [replace(GOING, over=True, live=False)]) == ()
