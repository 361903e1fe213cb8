"""The bad input of the manual: pictures and folders that are not as they should be, each with its clear answer."""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tpu_studio.data.imaging import BrokenImage, decode, probe
from tpu_studio.data.look import look
from tpu_studio.data.sources import open_data
from tpu_studio.domain.sentences import say_finding
from tpu_studio.wire.errors import DataError


def refused(job) -> DataError:
    with pytest.raises(DataError) as by_look:
        look(job)
    with pytest.raises(DataError) as by_opening:
        open_data(job)
    assert by_look.value.id == by_opening.value.id
    return by_look.value


def test_a_missing_folder_and_a_file_in_place_of_one(job_of, tmp_path):
    (tmp_path / "file").write_text("x")

    assert refused(job_of("images", tmp_path / "nowhere")).id == "data-missing"
    assert refused(job_of("images", tmp_path / "file")).id == "data-not-a-folder"


def test_an_empty_folder(job_of, tmp_path):
    assert refused(job_of("images", tmp_path)).id == "data-empty"


def test_pictures_that_are_not_sorted_into_folders(job_of, picture, tmp_path):
    picture(1).save(tmp_path / "a.png")

    error = refused(job_of("images", tmp_path))

    assert (error.id, error.facts["pictures"]) == ("data-no-classes", 1)


def test_one_class_is_nothing_to_tell_apart(job_of, picture_folder):
    error = refused(job_of("images", picture_folder({"cats": 10})))

    assert (error.id, error.facts["name"], error.facts["count"]) == ("data-one-class", "cats", 10)


def test_one_picture_is_too_few(job_of, picture_folder):
    assert refused(job_of("images", picture_folder({"cats": 1}))).id == "data-one-class"
    error = refused(job_of("images", picture_folder({"cats": 1, "dogs": 1}, name="two")))
    assert (error.id, error.facts["count"], error.facts["needed"]) == ("data-too-few", 2, 4)


@pytest.fixture
def good_folder(picture_folder) -> Path:
    return picture_folder({"cats": 30, "dogs": 30})


def left_out(job) -> dict[str, str]:
    """Name → why of what is left out, which look and opening must agree on."""
    seen, opened, small = look(job), open_data(job), open_data(job, memory_budget_bytes=1)
    assert seen.broken_count == opened.broken_count == len(seen.broken)
    assert len(opened.train) + len(opened.validation) == seen.examples
    for source in (small.train, small.validation):
        assert source.batch(np.arange(len(source)))["x"].shape[1:] == seen.input_shape
    return {item.item: item.why for item in seen.broken}


def test_empty_and_truncated_and_foreign_files_are_counted_named_and_left_out(job_of, good_folder, picture):
    (good_folder / "cats" / "empty.jpg").write_bytes(b"")
    picture(500, (64, 64)).save(good_folder / "dogs" / "cut.jpg")
    whole = (good_folder / "dogs" / "cut.jpg").read_bytes()
    (good_folder / "dogs" / "cut.jpg").write_bytes(whole[: len(whole) // 2])
    (good_folder / "dogs" / "words.png").write_text("I am no picture")

    assert left_out(job_of("images", good_folder)) == {
        "cats/empty.jpg": "empty-file",
        "dogs/cut.jpg": "truncated",
        "dogs/words.png": "not-an-image",
    }


def test_more_broken_pictures_than_the_job_puts_up_with_stop_it(job_of, good_folder):
    for number in range(10):
        (good_folder / "cats" / f"empty{number}.png").write_bytes(b"")

    error = refused(job_of("images", good_folder))

    assert (error.id, error.facts["count"], error.facts["of"]) == ("data-too-broken", 10, 70)
    assert error.facts["first"][0] == ["cats/empty0.png", "empty-file"]
    assert look(job_of("images", good_folder, max_broken_share=0.2)).broken_count == 10


def test_a_single_broken_picture_never_stops_a_run_unless_none_at_all_is_allowed(job_of, picture_folder):
    root = picture_folder({"a": 3, "b": 3})
    (root / "a" / "0.png").write_bytes(b"")

    assert look(job_of("images", root)).examples == 5
    assert refused(job_of("images", root, max_broken_share=0.0)).id == "data-too-broken"


def test_a_picture_that_breaks_while_training_is_replaced_counted_and_named(job_of, good_folder):
    job = job_of("images", good_folder)
    opened = open_data(job, memory_budget_bytes=1)
    everything = np.arange(len(opened.train))
    before = opened.train.batch(everything)
    (good_folder / "cats" / "3.png").write_bytes(b"broken now")

    after = opened.train.batch(everything)

    assert after["x"].shape == before["x"].shape
    assert [(item.item, item.why) for item in opened.broken] == [("cats/3.png", "not-an-image")]
    assert (before["x"] != after["x"]).any(axis=(1, 2, 3)).sum() == 1


def test_a_png_named_jpg_works_and_is_told(job_of, good_folder, picture):
    picture(500).save(good_folder / "cats" / "really.jpg", format="PNG")

    seen = look(job_of("images", good_folder))

    assert (seen.examples, seen.broken_count) == (61, 0)
    told = [finding.facts["first"] for finding in seen.findings if finding.id == "misnamed-files"]
    assert told == ["cats/really.jpg"]


def test_cmyk_16_bit_animated_palette_and_transparent_pictures_become_8_bit_rgb(tmp_path, picture):
    red = Image.new("RGB", (8, 8), (200, 0, 0))
    red.convert("CMYK").save(tmp_path / "cmyk.jpg", quality=100)
    Image.fromarray(np.full((8, 8), 51400, dtype=np.uint16)).save(tmp_path / "deep.png")
    frames = [Image.new("RGB", (8, 8), colour) for colour in ((200, 0, 0), (0, 0, 200))]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    Image.new("1", (8, 8), 1).save(tmp_path / "bits.png")

    def colour(name: str) -> list[int]:
        pixels = decode(str(tmp_path / name), 8, 3)
        assert pixels.dtype == np.uint8
        return pixels[4, 4].tolist()

    np.testing.assert_allclose(colour("cmyk.jpg"), [200, 0, 0], atol=4)
    assert colour("deep.png") == [200, 200, 200]  # 51400 / 257
    assert colour("moving.gif") == [200, 0, 0]
    assert colour("clear.png") == [255, 255, 255]
    assert colour("bits.png") == [255, 255, 255]


def test_a_photo_that_the_camera_noted_as_lying_on_its_side_stands_upright(tmp_path):
    lying = Image.new("RGB", (8, 8), (0, 0, 0))
    lying.paste((255, 255, 255), (0, 0, 4, 8))  # white on its left
    noted = Image.Exif()
    noted[0x0112] = 6  # turn right to see it
    lying.save(tmp_path / "side.jpg", exif=noted, quality=100)

    upright = decode(str(tmp_path / "side.jpg"), 8, 1)[..., 0]

    assert upright[:3].min() > 200
    assert upright[5:].max() < 50


def test_a_long_picture_keeps_its_middle_and_its_proportions(tmp_path):
    wide = Image.new("L", (30, 10), 0)
    wide.paste(255, (10, 0, 20, 10))
    wide.save(tmp_path / "wide.png")

    assert decode(str(tmp_path / "wide.png"), 10, 1).min() == 255


def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path):
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")

    for act in (probe, lambda data: decode(data, 8, 3)):
        with pytest.raises(BrokenImage) as caught:
            act(bomb)
        assert caught.value.why == "too-many-pixels"


def test_names_with_spaces_emoji_newlines_and_undecodable_bytes(job_of, picture):
    def make(root: Path) -> None:
        for label in ("two words", "emoji 🖐"):
            for number in range(4):
                (root / label).mkdir(exist_ok=True, parents=True)
                picture(number + len(label)).save(root / label / f"new\nline {number} 🎉.png")

    root = Path(os.environ["TPU_STUDIO_HOME"]) / "strange"
    make(root)
    raw = os.fsdecode(os.fsencode(root / "two words") + b"/\xff\xfe.png")
    picture(77).save(raw, format="PNG")

    seen, opened = look(job_of("images", root)), open_data(job_of("images", root))

    assert (seen.examples, seen.broken_count) == (9, 0)
    assert len(opened.train) + len(opened.validation) == 9


def test_a_link_that_leads_in_a_circle_is_told_and_passed_by(job_of, good_folder, tmp_path):
    (good_folder / "cats" / "again").symlink_to(good_folder, target_is_directory=True)
    (good_folder / "cats" / "self.png").symlink_to(good_folder / "cats" / "self.png")

    seen = look(job_of("images", good_folder))

    assert seen.examples == 60
    assert {(item.item, item.why) for item in seen.broken} == {
        ("cats/again", "link-loop"),
        ("cats/self.png", "link-loop"),
    }


def test_folders_full_of_links_to_each_other_are_read_once(job_of, good_folder):
    """As below /proc, where the ways through such links are more than anybody can walk."""
    knots = [good_folder / "cats" / f"knot {number}" for number in range(12)]
    for knot in knots:
        knot.mkdir()
    for knot in knots:
        for other in knots:
            (knot / other.name).symlink_to(other, target_is_directory=True)
        (knot / "up").symlink_to(good_folder.parent, target_is_directory=True)

    seen = look(job_of("images", good_folder))

    assert seen.examples == 60
    assert {item.why for item in seen.broken} == {"link-loop", "link-outside", "read-already"}


def test_data_that_is_itself_a_circle_of_links(job_of, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    assert refused(job_of("images", tmp_path / "loop")).id == "data-loop"


def test_an_unreadable_folder_is_told_and_an_unreadable_root_refused(job_of, good_folder, monkeypatch):
    # Root may read everything, so the system's refusal is played.
    scandir = os.scandir

    def refuse(name: str):
        def guarded(path):
            if not isinstance(path, int) and Path(path).name == name:
                raise PermissionError(13, "Permission denied", str(path))
            return scandir(path)

        monkeypatch.setattr(os, "scandir", guarded)

    (good_folder / "birds").mkdir()
    refuse("birds")
    seen = look(job_of("images", good_folder))
    assert [(item.item, item.why) for item in seen.broken] == [("birds", "unreadable-folder")]
    told = [say_finding(one.id, one.facts) for one in seen.findings if one.level == "warning"]
    assert "1 folder cannot be read: birds" in [one.title for one in told]
    assert not any("Nothing in" in one.title or "broken" in one.title for one in told)
    refuse(good_folder.name)
    assert refused(job_of("images", good_folder)).id == "data-unreadable"


def test_nothing_but_broken_pictures(job_of, tmp_path):
    for label in ("a", "b"):
        (tmp_path / label).mkdir()
        for number in range(3):
            (tmp_path / label / f"{number}.jpg").write_bytes(b"nonsense")

    assert refused(job_of("images", tmp_path)).id == "data-too-broken"


def test_a_pipe_with_the_name_of_a_picture_is_left_out_and_never_waited_for(job_of, picture_folder):
    root = picture_folder({"cats": 40, "dogs": 40})
    os.mkfifo(root / "cats" / "pipe.png")

    found = look(job_of("images", root))

    assert found.examples == 80
    assert [(item.item, item.why) for item in found.broken] == [("cats/pipe.png", "special-file")]


@pytest.mark.parametrize("kind", ["images", "table", "text", "tfrecord"])
def test_a_pipe_or_device_is_no_data(job_of, tmp_path, kind):
    os.mkfifo(tmp_path / "pipe")

    assert refused(job_of(kind, tmp_path / "pipe")).id == "data-not-a-file"


def test_a_class_whose_name_is_no_text_gets_one_that_can_be_written(job_of, good_folder):
    os.rename(os.fsencode(good_folder / "cats"), os.fsencode(good_folder) + b"/caf\xe9")

    seen, opened = look(job_of("images", good_folder)), open_data(job_of("images", good_folder))

    assert [name for name, _ in seen.classes] == opened.description["classes"] == ["café", "dogs"]
    assert len(opened.train) + len(opened.validation) == 60
    assert opened.train.batch(np.arange(2))["x"].shape[0] == 2


def test_kinds_that_differ_by_nothing_one_sees_are_pointed_out(job_of, good_folder, picture_folder):
    assert "alike-classes" not in {found.id for found in look(job_of("images", good_folder)).findings}
    alike = picture_folder({"caf\u00e9": 30, "Cafe\u0301": 30, "tea": 30}, name="alike")

    seen = look(job_of("images", alike))

    told = next(found for found in seen.findings if found.id == "alike-classes")
    assert {*told.facts["classes"]} == {"caf\u00e9", "Cafe\u0301"}
    assert len(seen.classes) == 3


def test_a_deep_picture_is_unpacked_without_copies_of_all_its_pixels(tmp_path: Path) -> None:
    """180 KB of it were 180 MB of pixels, and 2.4 GB of copies; 25 million pixels are 50 MB."""
    side = 5000
    pixels = np.zeros((side, side), dtype=np.uint16)
    pixels[:, side // 2 :] = 65535
    stored = io.BytesIO()
    Image.fromarray(pixels).save(stored, "PNG")
    del pixels
    tracemalloc.start()
    shown = decode(stored.getvalue(), 32, 3)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60 << 20  # what Python and numpy hold; Pillow has the picture itself
    assert shown[:, :12].max() == 0 and shown[:, 20:].min() == 255
