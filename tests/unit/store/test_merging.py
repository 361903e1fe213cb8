"""Events of several files, of desktops and of a slice's workers, told as one story and looked through once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_studio.store import follower as follower_module
from tpu_studio.store.index import Index

Write = Callable[..., None]


class Counted:
    """A function of the follower's, and how often it was called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.calls, self._real = 0, getattr(follower_module, name)
        monkeypatch.setattr(follower_module, name, self)

    def __call__(self, *given: Any) -> Any:
        self.calls += 1
        return self._real(*given)


def test_as_many_events_of_a_desktop_as_of_an_attempt_are_not_each_held_against_each(
    index: Index, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """213 KB of somebody's folder kept the list of all runs from being read for half a minute."""
    many = 1500
    write(*({"t": float(n), "kind": "notice", "id": f"a{n}"} for n in range(many)))
    write(*({"t": many - 1.5, "kind": "notice", "id": f"d{n}"} for n in range(many)), name="desk-abcdefgh")
    asked = Counted(monkeypatch, "_time_of")
    following = index.follow(folder)
    told = [str(event.get("id")) for event in following.poll().events]
    assert told == [*(f"a{n}" for n in range(many - 1)), *(f"d{n}" for n in range(many)), f"a{many - 1}"]
    assert asked.calls < 4 * many


def test_a_slice_of_many_workers_is_looked_through_once_and_not_once_for_each_of_them(
    index: Index, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1,000 files of a line each took most of a minute, at each start of the program without its index."""
    for worker in range(200):
        write({"t": 1.0 + worker, "kind": "notice", "id": f"w{worker}"}, name=f"a0001-w{worker:03d}")
    write({"t": 50.5, "kind": "notice", "id": "desk"}, b'{"t":60.0,"kind', name="desk-abcdefgh")
    write(b'{"t":2.5,"kind":"not', name="a0001-w001")
    asked = Counted(monkeypatch, "events_names")
    following = index.follow(folder)
    told = [str(event.get("id")) for event in following.poll().events]
    assert told == [*(f"w{n}" for n in range(50)), "desk", *(f"w{n}" for n in range(50, 200))]
    assert asked.calls < 20


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 9).map(lambda t: round(t, 1)), max_size=5).map(sorted), max_size=4),
    st.lists(st.floats(0, 9).map(lambda t: round(t, 1)), max_size=6),
)
def test_events_of_a_desktop_stand_before_the_first_that_is_later_of_the_file_they_fall_into(
    attempts: list[list[float]], desk: list[float]
) -> None:
    lines = [json.dumps({"t": t, "desk": n}).encode() for n, t in enumerate(desk)]
    waiting = follower_module.deque((line, "desk", n + 1) for n, line in enumerate(lines))
    cursor: dict[str, int] = {}
    merged: list[dict[str, Any]] = []
    for number, times in enumerate(attempts):
        here = [{"t": t} for t in times]
        merged += follower_module._merged(here, waiting, cursor, is_last=number == len(attempts) - 1)
    merged += follower_module._merged([], waiting, cursor, is_last=True)
    expected: list[dict[str, Any]] = []
    left = [json.loads(line) for line in lines]
    for number, times in enumerate([*attempts, []]):
        here = [{"t": t} for t in times]
        while left:
            place = next((at for at, one in enumerate(here) if one["t"] > left[0]["t"]), len(here))
            if place == len(here) and number < len(attempts) - 1:
                break
            here.insert(place, left.pop(0))
        expected += here
    assert merged == expected
    assert cursor == ({"desk": len(desk)} if desk else {})
