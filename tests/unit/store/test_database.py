"""The index is made anew when it is damaged, but not because the disk refuses."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tpu_studio.store.database import Database
from tpu_studio.wire.errors import RunError


def test_a_damaged_index_is_made_anew(tmp_path: Path):
    (tmp_path / "index.db").write_bytes(b"not a database" * 100)
    (tmp_path / "columns").mkdir()
    Database(tmp_path).close()
    assert not (tmp_path / "columns").exists()


def test_a_disk_that_refuses_is_named_and_what_was_read_before_stays(tmp_path: Path):
    (tmp_path / "index.db").mkdir()  # SQLite: "unable to open database file"
    (tmp_path / "columns").mkdir()
    with pytest.raises(RunError) as caught:
        Database(tmp_path)
    assert caught.value.id == "folder-unwritable"
    assert (tmp_path / "columns").exists()


def test_a_full_disk_is_called_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(self: Path, *rest: object, **more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(RunError) as caught:
        Database(tmp_path / "home")
    assert caught.value.id == "disk-full"
