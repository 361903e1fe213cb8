"""What is worth a notification: only what came true since the last reading of the list, a line for each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.viewmodels.test_rented_words import row
from tpu_studio.viewmodels.news import KINDS, Lately, news, read_last
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
        (replace(GOING, usd=7.9, usd_limit=10.0), replace(GOING, usd=8.0, usd_limit=10.0), ["near-cap"]),
        (replace(GOING, usd=8.0, usd_limit=10.0), replace(GOING, usd=9.0, usd_limit=10.0), []),
        (replace(GOING, usd=8.0, usd_limit=10.0), replace(GOING, usd=8.1, usd_limit=20.0), []),  # it was raised
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


def test_a_run_that_is_still_being_read_is_news_once_it_is_read_and_only_where_it_was_known() -> None:
    part, over = replace(GOING, unread=True, live=False), replace(GOING, over=True, live=False, tone="ok")
    assert read_last({}, [part]) == {} and news({}, [over]) == ()
    known = read_last({"a": GOING}, [replace(over, unread=True)])
    assert known == {"a": GOING} and news({"a": GOING}, [replace(over, unread=True)]) == ()
    assert [one.kind for one in news(known, [over])] == ["ended"]


def test_a_run_that_ends_without_end_is_told_once_a_minute() -> None:
    lately, over = Lately(), replace(GOING, over=True, live=False, tone="bad")
    told = [lately.new(news({"a": GOING}, [over]), at) for at in (0.0, 4.0, 59.0, 60.0, 61.0)]
    assert [len(one) for one in told] == [1, 0, 0, 1, 0]
    other = replace(over, run="b", tone="ok")
    assert [one.run for one in lately.new(news({"a": GOING, "b": GOING}, [over, other]), 62.0)] == ["b"]
    assert [one.kind for one in lately.new(news({"a": GOING}, [replace(over, tone="ok")]), 62.0)] == ["ended"]
