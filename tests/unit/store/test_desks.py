"""Events of many desktops in one run: how much of them is held at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.store.conftest import Write
from tpu_studio.store import follower as followers
from tpu_studio.store import index as indexes
from tpu_studio.store.index import Index
from tpu_studio.wire.errors import RunError

_MANY = 40


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Of each merge, the lines of desktops that were waiting for it, and their bytes."""
    seen: list[list[int]] = []
    real: Callable[..., Any] = followers._merged

    def merged(found: list[object], desk: Any, cursor: dict[str, int], **named: Any) -> list[object]:
        seen.append([len(desk), sum(len(line) for line, *_ in desk)])
        return real(found, desk, cursor, **named)

    monkeypatch.setattr(followers, "_merged", merged)
    return seen


def test_of_all_desktops_together_no_more_is_held_than_a_piece(
    index: Index, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch, held: list[list[int]]
) -> None:
    """A zip of 27 KB took 2.4 GB: a piece of each of its files was kept before any of it was placed."""
    monkeypatch.setattr(indexes, "_GLANCE_S", 0.0)
    monkeypatch.setattr(followers, "_PIECE", 1000)
    for number in range(_MANY):
        told = ({"t": 1.0 + number, "kind": "notice", "id": f"d{number}-{one}"} for one in range(20))
        write(*told, name=f"desk-{number:08d}")
    write({"t": 900.0, "kind": "end", "status": "finished", "reason": "completed", "steps": 1})
    while index.glance(folder).unread:
        pass
    assert len(held) > _MANY / 2
    assert max(size for _, size in held) <= 2000
    told = [str(event.get("id")) for event in index.follow(folder).poll().events if event.kind == "notice"]
    assert not told  # the glances have read them all


def test_empty_lines_of_desktops_are_none(index: Index, folder: Path, write: Write, held: list[list[int]]) -> None:
    for number in range(_MANY):
        write(b"\n" * 5000, name=f"desk-{number:08d}")
    write(b"\n" * 500, {"t": 1.0, "kind": "notice", "id": "one"}, b" \n" * 500, name="desk-00000007")
    following = index.follow(folder)
    assert [event.get("id") for event in following.poll().events] == ["one"]
    assert max(lines for lines, _ in held) == 1
    assert following.poll().events == () and following._cursor == following._sizes()


def test_a_line_of_a_desktop_without_an_end_is_passed(
    index: Index, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followers, "LINE_BYTES", 1000)
    write(b"x" * 5500 + b"\n", {"t": 1.0, "kind": "notice", "id": "behind"}, name="desk-abcdefgh")
    assert [event.get("id") for event in index.follow(folder).poll().events] == ["behind"]


def test_more_desktops_than_any_run_has_are_a_row_that_says_so(index: Index, folder: Path) -> None:
    for number in range(followers._DESKS + 1):
        (folder / "events" / f"desk-{number:08d}.jsonl").write_text(json.dumps({"t": 1.0, "kind": "opened"}) + "\n")
    assert index.glance(folder).problem == "run-unreadable"
    with pytest.raises(RunError) as refused:
        index.follow(folder).poll()
    assert "more than 200 computers" in str(refused.value.facts)
    (folder / "events" / "desk-00000000.jsonl").unlink()
    assert index.glance(folder).problem == ""
