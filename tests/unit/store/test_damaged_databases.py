"""Bytes of index, columns and journal that are not those that were written: begun anew, or put aside, never raised.

Whatever bytes: the target ``databases`` of `make fuzz`. Here is what it has found.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.fuzz.runs import Databases
from tests.fakes.fuzz.target import chance_of
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
