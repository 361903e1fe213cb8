"""The full log of a run: the last of its lines, whoever wrote however many."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpu_studio.viewmodels import runlog
from tpu_studio.wire.events import encode, event


def written(run: Path, name: str, *times: float) -> None:
    (run / "events").mkdir(exist_ok=True)
    lines = [encode(event("log", t=t, text=f"{name} at {t:g}")) for t in times]
    (run / "events" / f"{name}.jsonl").write_bytes(b"".join([*lines, encode(event("metric", t=times[-1], step=[1]))]))


def test_words_of_all_files_stand_in_the_order_of_their_times(tmp_path: Path) -> None:
    written(tmp_path, "a0001-w000", 1.0, 4.0)
    written(tmp_path, "desk-aaaa", 2.0)
    written(tmp_path, "a0002-w000", 3.0, 5.0)
    found = [line.partition("  ")[2] for line in runlog.read_log(tmp_path).splitlines()]
    assert found == [
        "a0001-w000 at 1",
        "desk-aaaa at 2",
        "a0002-w000 at 3",
        "a0001-w000 at 4",
        "a0002-w000 at 5",
    ]


def test_of_files_without_end_the_newest_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 60):
        written(tmp_path, f"a{number:04d}-w000", *(number + part / 100 for part in range(50)))
    monkeypatch.setattr(runlog, "BYTES_AT_MOST", 10_000)
    monkeypatch.setattr(runlog, "LINES_AT_MOST", 120)
    lines = runlog.read_log(tmp_path).splitlines()
    assert len(lines) == 120 and lines[-1].endswith("a0059-w000 at 59.49")
    assert not any("a0050" in line for line in lines)
