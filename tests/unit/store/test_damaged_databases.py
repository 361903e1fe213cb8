"""Bytes of index, columns and journal that are not those that were written: begun anew, or put aside, never raised.

Whatever bytes: the target ``databases`` of `make fuzz`. Here is what it has found.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.fakes.fuzz.runs import Databases, finished
from tests.fakes.fuzz.target import chance_of
from tpu_studio.store.index import Index
from tpu_studio.store.journal import JournalFile

WRITE_VERSION = 18  # of a database's header: a larger number than 2 forbids SQLite to write


def forbid(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[WRITE_VERSION] = 3
    path.write_bytes(bytes(data))


def test_a_journal_whose_header_forbids_writing_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    JournalFile(path).disconnect()
    forbid(path)
    journal = JournalFile(path)
    journal.close(journal.open("launch", "r", {}, 1.0), "done", 2.0)
    assert journal.put_aside is not None and journal.put_aside.exists()
    journal.disconnect()


@pytest.mark.parametrize("number", [233])
def test_what_the_fuzzing_has_found(tmp_path: Path, number: int) -> None:
    target = Databases(tmp_path)
    target.one(chance_of("Databases", 1, number))
    target.close()


ROWS = {
    "no text": b"\xff\xfe{",
    "no JSON": b'{"plan": {',
    "nested for ever": b"[" * 100_000,
    "another value": b"[1, 2]",
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_other_bytes_in_the_journal_costs_what_it_told_and_no_other_row(tmp_path: Path, name: str) -> None:
    path = tmp_path / "journal.db"
    journal = JournalFile(path)
    hurt = journal.open("launch", "bad-aaaa", {"plan": {"format": 1}}, 1.0)
    whole = journal.open("launch", "good-bbbb", {"plan": {"format": 2}}, 2.0)
    journal.disconnect()
    with sqlite3.connect(path) as db:  # SQLite finds nothing wrong with it
        db.execute("UPDATE intents SET facts = CAST(? AS TEXT) WHERE number = ?", (ROWS[name], hurt))
    db.close()
    journal = JournalFile(path)
    assert [(one.number, one.run) for one in journal.open_intents()] == [(hurt, "bad-aaaa"), (whole, "good-bbbb")]
    assert (journal.plan_of("bad-aaaa"), journal.plan_of("good-bbbb")) == (None, {"format": 2})
    assert journal.put_aside is None
    journal.disconnect()


@pytest.mark.parametrize("column", ["runs SET cursor", "runs SET snapshot_cursor", "summaries SET row"])
@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_other_bytes_in_the_index_is_read_from_the_run_again(tmp_path: Path, name: str, column: str) -> None:
    run = finished(tmp_path)
    first = Index(tmp_path / "home")
    known = first.summary(run)
    first.close()
    with sqlite3.connect(tmp_path / "home" / "index.db") as db:
        assert db.execute(f"UPDATE {column} = CAST(? AS TEXT)", (ROWS[name],)).rowcount == 1
    db.close()
    index = Index(tmp_path / "home")
    assert index.summary(run) == known and not known.problem
    following = index.follow(run)
    following.poll()
    assert following.view.over
    following.close()
    index.close()
