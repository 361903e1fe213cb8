"""Agreements to run a person's own code, remembered by content."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tpu_studio.local.consents import Consents


def test_an_agreement_holds_for_the_content_and_not_for_the_place(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("def build_model(job): ...")
    Consents(tmp_path / "home").agree(hashlib.sha256(file.read_bytes()).hexdigest(), str(file))
    moved = file.rename(tmp_path / "other.py")
    assert Consents(tmp_path / "home").agreed(hashlib.sha256(moved.read_bytes()).hexdigest())
    moved.write_text("import os  # changed")
    assert not Consents(tmp_path / "home").agreed(hashlib.sha256(moved.read_bytes()).hexdigest())


def test_an_agreement_for_this_computer_holds_for_practice_and_not_for_a_rented_machine(tmp_path: Path) -> None:
    consents = Consents(tmp_path)
    consents.agree("a" * 64, "/m.py", "practice")
    assert [consents.agreed("a" * 64, place) for place in ("computer", "practice", "cloud", "colab")] == [
        True,
        True,
        False,
        False,
    ]
    consents.agree("a" * 64, "/m.py", "cloud")
    assert consents.agreed("a" * 64, "cloud") and not consents.agreed("a" * 64, "colab")


def test_what_an_earlier_version_wrote_holds_for_this_computer_alone(tmp_path: Path) -> None:
    record = {"format": 1, "files": {"a" * 64: {"path": "/m.py", "agreed": 1.0}}}
    (tmp_path / "consent.json").write_text(json.dumps(record))
    assert Consents(tmp_path).agreed("a" * 64)
    assert not Consents(tmp_path).agreed("a" * 64, "cloud")


def test_an_agreement_can_be_taken_back(tmp_path: Path) -> None:
    consents = Consents(tmp_path)
    consents.agree("a" * 64, "/m.py")
    consents.agree("b" * 64, "/n.py")
    consents.revoke("a" * 64)
    assert [(one.sha256[0], one.path) for one in consents.all()] == [("b", "/n.py")]
    assert not consents.agreed("a" * 64)


def test_a_damaged_file_holds_no_agreement(tmp_path: Path) -> None:
    (tmp_path / "consent.json").write_text('{"files": ["everything"]}')
    consents = Consents(tmp_path)
    assert not consents.agreed("a" * 64)
    assert not consents.agreed("")
    assert consents.all() == []
