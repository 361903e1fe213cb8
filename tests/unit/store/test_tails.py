"""Resumes without end: what they cost, and that the points are those that one after the other would leave."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.store.conftest import Write, metric
from tpu_studio.store import columns
from tpu_studio.store.index import Index
from tpu_studio.store.tails import Tails


class Opened:
    """How often a column's file is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files, real = 0, os.open

        def counted(path: Any, *given: Any, **named: Any) -> int:
            self.files += str(path).endswith(".rows")
            return real(path, *given, **named)

        monkeypatch.setattr(os, "open", counted)


@pytest.mark.parametrize("between", ["nothing", "a point"])
def test_a_run_of_resumes_without_end_opens_no_column_for_each_of_them(
    index: Index, folder: Path, write: Write, monkeypatch: pytest.MonkeyPatch, between: str
) -> None:
    """163 KB of them, in somebody's folder, held the list of all runs and the index for 18 seconds."""
    many = 100
    write(metric(1.0, list(range(many * 10)), **{f"m{n}": [0.5] * many * 10 for n in range(many)}))
    index.follow(folder).poll()
    for step in range(many * 10 - 1, many * 8, -1):
        write({"t": 2.0, "kind": "resume", "step": step})
        if between == "a point":
            write(metric(2.0, [step + 1], m0=[1.0]))
    following, opened = index.follow(folder), Opened(monkeypatch)
    following.poll(60.0)
    last = many * 8 + (2 if between == "a point" else 1)
    assert following.curve("m0").last() == ((last, 2.0, 1.0) if between == "a point" else (last, 1.0, 0.5))
    assert following.curve("m1").last() == (many * 8 + 1, 1.0, 0.5)
    assert opened.files < 5 * many


def test_a_resume_at_a_step_that_no_number_holds_is_one(index: Index, folder: Path, write: Write) -> None:
    write(metric(1.0, [1, 2], loss=[1.0, 2.0]), b'{"t":2.0,"kind":"resume","step":1%s}\n' % (b"0" * 300))
    write(metric(3.0, [3], loss=[3.0]))
    following = index.follow(folder)
    following.poll()
    assert following.curve("loss").last() == (3, 3.0, 3.0)


_STEPS = st.integers(-3, 12)
_PARTS = st.one_of(_STEPS, st.tuples(st.sampled_from("ab"), st.lists(_STEPS, min_size=1, max_size=5)))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(_PARTS, max_size=8), max_size=4))
@example([[("b", [1])], [("a", [0]), 0]])
def test_the_points_are_those_that_one_after_the_other_would_leave(batches: list[list[Any]]) -> None:
    expected: dict[str, list[tuple[int, float]]] = {}
    lengths: dict[str, tuple[int, int]] = {}
    value = 0.0
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)

        def last_step(_metric: str, number: int, length: int) -> int:
            return columns.last_step(folder, number, length)

        for batch in batches:
            tails = Tails(folder, lengths, last_step)
            for part in batch:
                if isinstance(part, int):
                    tails.resume(part)
                    expected = {name: [one for one in kept if one[0] <= part] for name, kept in expected.items()}
                    continue
                name, steps = part
                value += 1
                tails.add(name, np.array([(step, 0.0, value) for step in steps], columns.ROW), 2)
                kept = expected.setdefault(name, [])
                for step in steps:
                    if not kept or step > kept[-1][0]:
                        kept.append((step, value))
            lengths = tails.write()
        for name, kept in expected.items():
            number, length = lengths[name]
            data = Path(columns.rows_file(folder, number)).read_bytes() if length else b""
            rows = np.frombuffer(data, columns.ROW)[:length]
            assert [(int(row["step"]), float(row["value"])) for row in rows] == kept
