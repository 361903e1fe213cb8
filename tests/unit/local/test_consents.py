"""Agreements to run a person's own code, remembered by content."""

from __future__ import annotations

from pathlib import Path

from tpu_studio.local.consents import Consents, sha256_of


def test_an_agreement_holds_for_the_content_and_not_for_the_place(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("def build_model(job): ...")
    Consents(tmp_path / "home").agree(sha256_of(file), str(file))
    moved = file.rename(tmp_path / "other.py")
    assert Consents(tmp_path / "home").agreed(sha256_of(moved))
    moved.write_text("import os  # changed")
    assert not Consents(tmp_path / "home").agreed(sha256_of(moved))


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
