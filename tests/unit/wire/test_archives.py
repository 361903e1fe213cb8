"""Zips that somebody else has made: their lists of files are bounded before they are taken apart."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest

from tpu_studio.wire import archives


def with_entries(path: Path, count: int) -> Path:
    """A zip whose list names *count* files, all with the same bytes."""
    entry = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, 0, 0, 33, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0)
    listed = b"".join(entry + b"%04x" % (at % 65_536) for at in range(count))
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 0, 0, 33, 0, 0, 0, 4, 0) + b"0000"
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count % 65_536, count % 65_536, len(listed), len(local), 0)
    path.write_bytes(local + listed + end)
    return path


def test_a_list_of_files_without_end_is_not_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "DIRECTORY_BYTES", 1_000)
    with archives.open_zip(with_entries(tmp_path / "few.zip", 20)) as archive:
        assert len(archive.infolist()) == 20
    many = archives.open_zip(with_entries(tmp_path / "many.zip", 21))
    with pytest.raises(zipfile.BadZipFile, match="longer than that of any run"), many:
        pass


def test_what_is_in_a_zip_may_be_as_large_as_one_likes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "DIRECTORY_BYTES", 1_000)
    with zipfile.ZipFile(tmp_path / "large.zip", "w") as archive:
        archive.writestr("a", b"x" * 100_000)
    with archives.open_zip(tmp_path / "large.zip") as archive:
        assert archive.read("a") == b"x" * 100_000


def test_fifty_thousand_files_with_long_names_are_no_more_than_is_read() -> None:
    assert archives.DIRECTORY_BYTES > 50_000 * (46 + 300 + 32)
