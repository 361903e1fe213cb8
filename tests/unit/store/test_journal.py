"""The journal keeps intents through everything but its own deletion."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tpu_studio.store.journal import JournalFile
from tpu_studio.wire.errors import NotReady


def test_an_intent_stays_open_until_it_is_closed(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.db")
    first = journal.open("launch", "digits-k3f7", {"attempt": 1}, 10.0)
    journal.open("stop", "digits-k3f7", {}, 11.0)
    journal.close(first, "started", 12.0)
    assert [(intent.action, intent.run) for intent in journal.open_intents()] == [("stop", "digits-k3f7")]
    journal.disconnect()


def test_another_process_sees_the_intent_at_once(tmp_path: Path) -> None:
    one, two = JournalFile(tmp_path / "journal.db"), JournalFile(tmp_path / "journal.db")
    one.open("launch", "a-aaaa", {"beside": True}, 1.0)
    intent = two.open_intents()[0]
    assert (intent.run, intent.facts, intent.at) == ("a-aaaa", {"beside": True}, 1.0)
    one.disconnect()
    two.disconnect()


def test_every_commit_waits_for_the_disk(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.db")
    assert journal._db.execute("PRAGMA synchronous").fetchone()[0] == 2  # FULL
    journal.disconnect()


def test_a_journal_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "journal.db") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(NotReady) as caught:
        JournalFile(tmp_path / "journal.db")
    assert caught.value.id == "journal-newer"


def test_a_journal_that_is_no_database_is_told_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_bytes(b"no database" * 100)
    with pytest.raises(NotReady) as caught:
        JournalFile(tmp_path / "journal.db")
    assert caught.value.id == "journal-unreadable"
    assert (tmp_path / "journal.db").read_bytes().startswith(b"no database")
