"""What is armed is read from the practice cloud's disk: without its server, and after a restart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tpu_studio.domain.learning.chapters import chapters
from tpu_studio.places.faults import PracticeFaults
from tpu_studio.practice.clock import Clock
from tpu_studio.practice.faults import Faults, armed_in
from tpu_studio.practice.settings import Settings
from tpu_studio.practice.state import Database
from tpu_studio.viewmodels.faults import rows_of


def test_armed_faults_outlive_the_server_and_no_server_is_started_to_know_them(tmp_path: Path):
    port = PracticeFaults(tmp_path)
    assert port.peek() == {"faults": [], "armed": []}  # no practice cloud was ever begun
    file = Settings(tmp_path / "practice").database
    file.parent.mkdir()
    db = Database(file)
    faults = Faults(db, Clock(db, 1.0))
    faults.arm("stockout-for-ever")
    faults.arm("vm-hung", times=2)
    told = port.peek()
    assert [row.name for row in rows_of(told) if row.armed] == ["stockout-for-ever", "vm-hung"]
    faults.disarm("vm-hung")
    db.close()
    assert [one["name"] for one in port.peek()["armed"]] == ["stockout-for-ever"]
    assert not (tmp_path / "practice" / "server.json").exists()


def test_a_database_that_cannot_be_read_names_nothing(tmp_path: Path):
    assert armed_in(tmp_path / "none.db") == []
    (tmp_path / "broken.db").write_bytes(b"no database" * 100)
    assert armed_in(tmp_path / "broken.db") == []


def test_a_fault_is_armed_with_its_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple[str, object]] = []

    def call(self: PracticeFaults, method: str, body: object = None, query: str = "") -> Mapping[str, object]:
        asked.append((method, body))
        return {}

    monkeypatch.setattr(PracticeFaults, "_call", call)
    PracticeFaults(tmp_path).arm("preempted-at-step:step=600")
    PracticeFaults(tmp_path).arm("vm-hung")
    assert asked == [("POST", {"name": "preempted-at-step", "step": 600}), ("POST", {"name": "vm-hung"})]


def test_what_a_chapter_lets_happen_is_a_fault_that_the_practice_cloud_has(tmp_path: Path):
    db = Database(tmp_path / "faults.db")
    wanted = [step.fault for chapter in chapters() for step in chapter.steps if step.fault]
    for fault in wanted:
        Faults(db, Clock(db, 1.0)).arm_text(fault)
    assert wanted
    db.close()
