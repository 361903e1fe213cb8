"""A window whose program was upgraded or removed under it says so, once."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QApplication

from tpu_studio.app.renewal import REMOVED, UPDATED, RenewalWatch


def test_an_upgrade_is_told_once(qapp: QApplication, tmp_path: Path):
    program, told = tmp_path / "tpu-studio", []
    program.write_text("one")
    watch = RenewalWatch(program, lambda title, text: told.append((title, text)))
    watch.look()
    assert told == []
    (tmp_path / "new").write_text("two")
    (tmp_path / "new").rename(program)  # as dpkg does it
    watch.look()
    watch.look()
    assert told == [UPDATED]


def test_removal_is_told(qapp: QApplication, tmp_path: Path):
    program, told = tmp_path / "tpu-studio", []
    program.write_text("one")
    watch = RenewalWatch(program, lambda title, text: told.append((title, text)))
    program.unlink()
    watch.look()
    assert told == [REMOVED]
