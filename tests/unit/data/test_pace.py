"""How long a picture takes to be read: timed with pictures as they lie there, broken ones left out."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from tpu_studio.data.convert import convert
from tpu_studio.data.look import look
from tpu_studio.data.pace import seconds_a_picture
from tpu_studio.wire.job import Job, parse


def job_on(folder: Path) -> Job:
    return parse({"model": {"name": "small-cnn"}, "data": {"kind": "images", "path": str(folder)}}, base=str(folder))


def pictures(folder: Path, side: int, count: int = 12) -> Path:
    for kind in ("cat", "dog"):
        (folder / kind).mkdir(parents=True)
        for number in range(count):
            Image.effect_noise((side, side), 60).convert("RGB").save(folder / kind / f"{number}.jpg")
    return folder


def test_large_pictures_take_longer_than_small_ones(tmp_path: Path):
    small = seconds_a_picture(job_on(pictures(tmp_path / "small", 24)), 16, 3, seconds=0.05)
    large = seconds_a_picture(job_on(pictures(tmp_path / "large", 900, 5)), 16, 3, seconds=0.05)
    assert small is not None
    assert large is not None
    assert 0 < small < large


def test_where_no_picture_can_be_read_nothing_is_told(tmp_path: Path):
    for kind in ("cat", "dog"):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "broken.jpg").write_bytes(b"\xff\xd8\xff no picture")
    assert seconds_a_picture(job_on(tmp_path), 16, 3) is None


def test_pixels_that_were_decoded_once_are_read_in_less_time(tmp_path: Path):
    photos = pictures(tmp_path / "photos", 400)
    convert(job_on(photos), tmp_path / "pixels", decoded=True, workers=1)
    pixels = parse({"model": {"name": "small-cnn"}, "data": {"kind": "tfrecord", "path": str(tmp_path / "pixels")}})

    side = int(look(pixels).image_size or 0)
    before = seconds_a_picture(job_on(photos), side, 3, seconds=0.1)
    after = seconds_a_picture(pixels, side, 3, seconds=0.1)
    assert before is not None and after is not None
    assert 0 < 2 * after < before
