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


@pytest.mark.parametrize("damage", [b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000, b"\0" * 4096])
def test_a_damaged_journal_is_kept_aside_and_a_new_one_begun(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(damage)
    first, second = JournalFile(path), JournalFile(path)
    assert first.put_aside is not None
    assert first.put_aside.read_bytes() == damage
    assert (first.fresh, second.fresh, second.put_aside) == (True, False, None)
    first.open("launch", "digits-k3f7", {}, 1.0)
    assert [one.run for one in second.open_intents()] == ["digits-k3f7"]
    first.disconnect()
    second.disconnect()


def test_damaged_under_the_hands_of_a_program_it_is_put_aside_too(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = JournalFile(path)
    number = journal.open("create", "digits-k3f7", {}, 1.0)
    path.write_bytes(b"junk" * 4000)
    again = journal.open("delete", "digits-k3f7", {}, 2.0)
    assert journal.put_aside is not None and again > number
    journal.close(number, "of the old one", 3.0)
    path.unlink()
    journal.open("delete", "digits-k3f7", {}, 4.0)
    other = JournalFile(path)
    assert len(other.open_intents()) == 1
    other.disconnect()
    journal.disconnect()


def test_the_plan_of_a_run_is_known_after_its_intents_are_closed(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.db")
    journal.close(journal.open("launch", "digits-k3f7", {"plan": {"run": "digits-k3f7"}}, 1.0), "frozen", 2.0)
    journal.open("stop", "digits-k3f7", {}, 3.0)
    assert journal.plan_of("digits-k3f7") == {"run": "digits-k3f7"}
    assert journal.plan_of("other-aaaa") is None
    journal.disconnect()


def test_where_a_run_was_begun_is_known_as_the_latest_intent_tells_it(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / "journal.db")
    journal.open("launch", "digits-k3f7", {"plan": {}}, 1.0)
    assert journal.begun_at("digits-k3f7") is None
    journal.open("open", "digits-k3f7", {"project": "one", "bucket": "b1"}, 2.0)
    journal.open("take-over", "digits-k3f7", {"project": "two", "bucket": "b2"}, 3.0)
    journal.open("create", "digits-k3f7", {"name": "ts-digits-k3f7-a1-t1"}, 4.0)  # by an earlier version
    journal.open("stop", "digits-k3f7", {"project": "three", "bucket": "b3"}, 5.0)
    assert journal.begun_at("digits-k3f7") == ("two", "b2")
    assert journal.begun_at("other-aaaa") is None
    assert journal.was_taken_over("digits-k3f7") and not journal.was_taken_over("other-aaaa")
    journal.disconnect()
