"""What tells that data is what it was: the fingerprint of a look, and the stamp of the files as they are now."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image

from tpu_studio.data.fingerprints import fingerprint_of, stamp_of
from tpu_studio.wire.errors import DataError
from tpu_studio.wire.job import Job, parse


def job(kind: str, path: Path | None) -> Job:
    data = {"kind": kind} | ({"path": str(path)} if path else {})
    return parse({"format": 1, "model": {"name": "mlp"}, "data": data})


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        for number in range(3):
            Image.new("RGB", (16, 16), (number * 40, 90, 30)).save(tmp_path / label / f"{number}.bmp")
    return tmp_path


@pytest.mark.parametrize("hidden", [False, True])
def test_a_picture_that_is_edited_to_equal_size_has_another_stamp(photos: Path, hidden: bool) -> None:
    """Its fingerprint is of names and sizes: what a network had seen in the picture before was taken for what is there
    now. A tool that sets the time of writing back, as `touch` can, changes nothing of that."""
    mine = job("images", photos)
    print_before, stamp = fingerprint_of(mine), stamp_of(mine)
    assert stamp_of(mine) == stamp
    path = photos / "cat" / "1.bmp"
    seen = path.stat()
    Image.new("RGB", (16, 16), (255, 0, 0)).save(path)
    if hidden:
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert path.stat().st_size == seen.st_size and fingerprint_of(mine) == print_before
    assert stamp_of(mine) != stamp


def test_a_picture_in_the_place_of_another_has_another_stamp(photos: Path) -> None:
    mine = job("images", photos)
    stamp = stamp_of(mine)
    (photos / "cat" / "0.bmp").rename(photos / "cat" / "x")
    (photos / "cat" / "1.bmp").rename(photos / "cat" / "0.bmp")
    (photos / "cat" / "x").rename(photos / "cat" / "1.bmp")
    assert stamp_of(mine) != stamp


def test_what_comes_with_the_program_needs_none_and_what_is_gone_is_said(tmp_path: Path) -> None:
    assert stamp_of(job("digits", None)) == stamp_of(job("digits", None))
    with pytest.raises(DataError, match="data-missing"):
        stamp_of(job("images", tmp_path / "nowhere"))
